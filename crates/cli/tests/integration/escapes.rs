//! Text written by others never reaches a terminal or a page with control characters.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::sandbox::{Sandbox, skipped, text};
use serde_json::Value;

/// Clears the screen, sets a title, changes colours, breaks the line (with 7-bit and 8-bit codes), and reverses the
/// direction of text.
const EVIL: &str = "\u{1b}[2J\u{1b}]0;owned\u{7}\u{1b}[31m\r\n\u{9b}31m\u{202e}";

/// The same for a file name, which may contain all of this.
const EVIL_NAME: &str = "evil\u{1b}[2J\u{9b}31m\u{202e}\n.json";

fn steers(c: char) -> bool {
    (c.is_control() && !"\n\t".contains(c)) || ('\u{202a}'..='\u{202e}').contains(&c)
}

#[track_caller]
fn is_printable(what: &str, bytes: &[u8]) {
    let said = text(bytes);
    let at = said.char_indices().find(|(_, c)| steers(*c));
    let around = at.map(|(at, _)| said[at..].chars().take(60).collect::<String>());
    assert!(around.is_none(), "{what}: {around:?}");
}

#[track_caller]
fn harmless(s: &Sandbox, args: &[&str]) -> Output {
    let done = s.run(args);
    is_printable(&format!("{args:?}, standard output"), &done.stdout);
    is_printable(&format!("{args:?}, standard error"), &done.stderr);
    for said in [text(&done.stdout), text(&done.stderr)] {
        // The text after the line break in the name.
        assert!(!said.contains("\n.json"), "{args:?}: a forged line: {said}");
    }
    done
}

#[track_caller]
fn works(s: &Sandbox, args: &[&str]) -> Output {
    let done = harmless(s, args);
    assert!(done.status.success(), "{args:?}: {}", text(&done.stderr));
    done
}

fn fixture(name: &str) -> String {
    let at = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/readme.json");
    let foreign =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../foreign/tests/fixtures").join(name);
    fs::read_to_string(if name.is_empty() { at } else { foreign }).unwrap()
}

/// Appends `EVIL` to every string that does not affect the meaning of a record.
fn spoil(value: &mut Value, key: &str) {
    const MEANING: [&str; 15] = [
        "schema",
        "id",
        "role",
        "workload",
        "arm",
        "null_layer",
        "operation",
        "pattern",
        "headline",
        "reason",
        "started",
        "rest",
        "randomness",
        "names",
        "sizes",
    ];
    match value {
        Value::String(text) if !MEANING.contains(&key) => text.push_str(EVIL),
        Value::Array(values) => values.iter_mut().for_each(|value| spoil(value, key)),
        Value::Object(fields) => fields.iter_mut().for_each(|(name, value)| spoil(value, name)),
        _ => {}
    }
}

/// A record in which every free text is hostile, under a hostile name.
fn record(s: &Sandbox) -> PathBuf {
    let mut record: Value = serde_json::from_str(&fixture("")).unwrap();
    spoil(&mut record, "");
    record["notes"] = Value::from(vec![EVIL]);
    record[EVIL] = Value::from(EVIL);
    let path = s.out().join(EVIL_NAME);
    write(record, &path);
    path
}

/// Writes a record, which must start with its schema.
fn write(mut record: Value, path: &Path) {
    let schema = record.as_object_mut().unwrap().remove("schema").unwrap();
    let rest = record.to_string();
    fs::write(path, format!("{{\"schema\":{schema},{}", &rest[1..])).unwrap();
}

#[test]
fn a_record_and_its_name() {
    let s = Sandbox::new();
    let path = record(&s);
    let record = path.to_str().unwrap();
    let [page, charts] = ["page.html", "charts"].map(|name| s.out().join(name));
    let (page, charts_in) = (page.to_str().unwrap(), charts.to_str().unwrap());
    works(&s, &["report", record, "--output", page]);
    works(&s, &["report", record, "--output", page, "--charts", charts_in]);
    is_printable("the page", &fs::read(page).unwrap());
    for chart in fs::read_dir(&charts).unwrap() {
        let chart = chart.unwrap().path();
        if chart.extension().is_some_and(|e| e == "svg") {
            is_printable("a chart", &fs::read(chart).unwrap());
        }
    }
    for format in ["json", "csv", "markdown"] {
        for table in ["trials", "cells"] {
            let args = ["report", record, "--format", format, "--table", table];
            works(&s, &args);
        }
    }
    // A page that is requested on standard output is written there unchanged.
    works(&s, &["report", record, "--output", "/dev/stdout"]);
    harmless(&s, &["report", record, "--explain", "seq-read-1m-q1"]);
    harmless(&s, &["report", record, "--explain", EVIL]);
    works(&s, &["compare", record, record]);
    for more in ["--json", "--csv", "--all"] {
        works(&s, &["compare", record, record, more]);
    }
    harmless(&s, &["compare", record, record, "--arm", EVIL]);
    harmless(&s, &["studies", "A", "--beside", record]);
    harmless(&s, &["predict", "--validate", record]);
    harmless(&s, &["predict", "--device", record, "--cipher-rate", "1000"]);
    for args in [
        vec!["add", record],
        vec!["list"],
        vec!["list", "--json"],
        vec!["show", "1"],
        vec!["show", "1", "--json"],
        vec!["check"],
        vec!["check", "--json"],
        vec!["check", record],
        vec!["regressions"],
        vec!["remove", "1"],
    ] {
        works(&s, &[&["history"], &args[..]].concat());
    }
}

#[test]
fn names_of_files_that_are_no_such_thing_and_arguments() {
    let s = Sandbox::new();
    let path = s.out().join(EVIL_NAME);
    let at = path.to_str().unwrap();
    for args in [
        vec!["report", at],
        vec!["report", at, at],
        vec!["compare", at, at],
        vec!["history", "add", at],
        vec!["history", "--database", at, "list"],
        vec!["run", "--destroy", at, at],
        vec!["run", "--profile", at],
        vec!["run", "--emulate", at],
        vec!["run", "--cipher", at],
        vec!["predict", "--device", at],
        vec!["predict", "--ciphers-from", at],
        vec!["volume", "info", at],
        vec!["profiles", at],
        vec![at],
    ] {
        for there in [false, true] {
            let _ = fs::remove_file(&path);
            if there {
                fs::write(&path, format!("{{\"{EVIL}\": [\"{EVIL}\"")).unwrap();
            }
            let done = harmless(&s, &args);
            assert!(there || !done.status.success(), "{args:?}: {}", text(&done.stdout));
        }
    }
    // The message still shows what it is about.
    let said = text(&harmless(&s, &["report", at]).stderr);
    assert!(said.contains("evil\\u{1b}[2J\\u{9b}31m\\u{202e}"), "{said}");
}

/// The prompt for a passphrase is written directly to the terminal.
#[test]
fn the_prompt_for_a_passphrase() {
    let s = Sandbox::new();
    let name = "a\nb\u{1b}[2J\u{9b}x";
    let create =
        ["volume", "create", name, "--size", "3MiB", "--format", "luks1", "--unlock-time", "1ms"];
    fs::write(s.out().join("secret"), "a secret").unwrap();
    let secret = s.out().join("secret");
    works(&s, &[&create[..], &["--passphrase-file", secret.to_str().unwrap()]].concat());
    for args in
        ["volume dump \"$NAME\" plain", "volume create \"$NAME.new\" --size 3MiB --format luks1"]
    {
        let line = format!("'{}' {args}", env!("CARGO_BIN_EXE_cryptbench"));
        let mut script = Command::new("script");
        script.args(["-qec", &line, "/dev/null"]).current_dir(s.target()).env("NAME", name);
        script.env("XDG_STATE_HOME", s.out());
        let Ok(mut child) = script.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn() else {
            return skipped("no script of util-linux");
        };
        child.stdin.take().unwrap().write_all(&b"wrong\nwrong too\n".repeat(3)).unwrap();
        let said = text(&child.wait_with_output().unwrap().stdout);
        let prompt = said.lines().find(|line| line.contains("Passphrase for")).unwrap_or_default();
        assert!(prompt.contains("a\\u{a}b\\u{1b}[2J\\u{9b}x"), "{said:?}");
        assert!(!said.contains(['\u{1b}', '\u{9b}']), "{said:?}");
    }
}

#[test]
fn a_foreign_result_and_its_name() {
    let s = Sandbox::new();
    let mut paths = Vec::new();
    for (which, name) in [("plain", "a"), ("layered", "b")] {
        let mut result: Value =
            serde_json::from_str(&fixture(&format!("fio/{which}/run-1.json"))).unwrap();
        // Two jobs with the same work are distinguished by their names.
        let jobs = result["jobs"].as_array_mut().unwrap();
        let mut again = jobs[0].clone();
        again["jobname"] = Value::from(format!("again{EVIL}"));
        again["groupid"] = Value::from(1);
        jobs[0]["jobname"] = Value::from(format!("job{EVIL}"));
        jobs.push(again);
        let path = s.out().join(format!("{name}{EVIL_NAME}"));
        fs::write(&path, serde_json::to_string_pretty(&result).unwrap()).unwrap();
        paths.push(path);
    }
    let [a, b] = [0, 1].map(|i| paths[i].to_str().unwrap());
    let done = harmless(&s, &["compare", a, b]);
    assert!(
        text(&done.stdout).contains("(job\\u{1b}[2J"),
        "{}{}",
        text(&done.stdout),
        text(&done.stderr)
    );
    for more in ["--json", "--csv", "--all"] {
        works(&s, &["compare", a, b, more]);
    }
    // The error for a damaged file quotes the line.
    let broken = s.out().join("broken");
    for content in [
        format!("{{\n\"fio version\": \"x\",\n{EVIL}\n"),
        format!("1+0 records in\n1+0 records out\n{EVIL} bytes copied\n"),
        format!("Iozone: Performance Test of File I/O\n KB reclen write\n 4 4 {EVIL}\n"),
    ] {
        fs::write(&broken, content).unwrap();
        harmless(&s, &["compare", broken.to_str().unwrap(), b]);
    }
}

#[test]
fn a_profile_of_somebody_elses() {
    let s = Sandbox::new();
    let job = s.out().join("job.fio");
    let content =
        format!("[job{}]\ndescription=x{}\nrw=read\nbs=4k\nsize=16m\n", "\u{1b}[2J", "\u{9b}31m");
    fs::write(&job, content).unwrap();
    harmless(&s, &["run", "--profile", job.to_str().unwrap(), "--dry-run"]);
    harmless(&s, &["run", "--profile", job.to_str().unwrap(), "--dry-run", "--json"]);
}

#[test]
fn the_directory_that_is_measured() {
    let s = Sandbox::new();
    let target = s.target().join("t\u{1b}[2J\u{9b}31m");
    fs::create_dir(&target).unwrap();
    let [at, out] = [&target, &s.out()].map(|path| path.display().to_string());
    let args = s.tiny(&[&at, "--output", &out, "--cipher", "aes-256-xts", "--data-unit", "4096"]);
    let done = harmless(&s, &args);
    assert!(done.status.success(), "{}", text(&done.stderr));
    is_printable("the page", &fs::read(s.out().join("report.html")).unwrap());
    is_printable("the record", &fs::read(s.out().join("record.json")).unwrap());
}

#[test]
fn a_volume() {
    let s = Sandbox::new();
    let volume = s.target().join("v");
    fs::File::create(&volume).unwrap().set_len(20 << 20).unwrap();
    let cryptsetup = |args: &[&str], input: &str| {
        let mut child = Command::new("cryptsetup")
            .args(args)
            .arg(&volume)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        child.stdin.take()?.write_all(input.as_bytes()).ok()?;
        child.wait().ok().filter(std::process::ExitStatus::success)
    };
    let cheap = ["--pbkdf", "pbkdf2", "--pbkdf-force-iterations", "1000", "--batch-mode"];
    let format = [&["luksFormat", "--type", "luks2", "--label", "x\u{202e}y"], &cheap[..]].concat();
    let token = r#"{"type":"evil\u001b[2J\u009b31m","keyslots":[]}"#;
    if cryptsetup(&format, "secret").is_none()
        || cryptsetup(&["token", "import", "--json-file", "-"], token).is_none()
    {
        return skipped("no cryptsetup that makes LUKS2 (apt install cryptsetup-bin)");
    }
    let done = harmless(&s, &["volume", "info", "v"]);
    let said = text(&done.stdout);
    assert!(said.contains("x\\u{202e}y") && said.contains("evil\\u{1b}[2J"), "{said}");
    works(&s, &["volume", "info", "v", "--json"]);
}

/// On a terminal the only control sequences are those of colours.
#[test]
fn a_terminal_gets_our_own_colours_alone() {
    let s = Sandbox::new();
    let path = record(&s);
    let plain = s.target().join("record.json");
    fs::rename(path, &plain).unwrap();
    let command =
        format!("'{}' report record.json --output page.html", env!("CARGO_BIN_EXE_cryptbench"));
    let mut script = Command::new("script");
    script.args(["-qec", &command, "/dev/null"]).current_dir(s.target()).stdin(Stdio::null());
    script.env("TERM", "xterm").env_remove("NO_COLOR");
    let Ok(done) = script.output() else {
        return skipped("no script of util-linux");
    };
    let said = text(&done.stdout).replace("\r\n", "\n");
    assert!(done.status.success() && said.contains("\u{1b}[31m▼"), "no colours: {said}");
    let mut rest = said.as_str();
    while let Some(at) = rest.find(steers) {
        let ours = ["\u{1b}[0m", "\u{1b}[1m", "\u{1b}[31m", "\u{1b}[36m"];
        let own = ours.iter().find(|own| rest[at..].starts_with(**own));
        // The record also contains the sequence for red, which is only used for one mark.
        let red = own.is_some_and(|own| own.ends_with("31m"));
        let fits = own.is_some() && (!red || rest[at..].starts_with("\u{1b}[31m▼"));
        assert!(fits, "{:?}", rest[at..].chars().take(60).collect::<String>());
        rest = &rest[at + own.map_or(1, |own| own.len())..];
    }
}

/// Starts a new line with a forged message unless it is made printable.
const FORGES: &str = "evil\nforged: all is well\r\u{1b}[2J\u{9b}31m\u{202e}\u{2066}";

#[track_caller]
fn forges_no_line(s: &Sandbox, args: &[&str]) -> Output {
    let done = harmless(s, args);
    for said in [&done.stdout, &done.stderr] {
        let said = text(said);
        let line = said.lines().find(|line| line.trim_start().starts_with("forged"));
        assert!(line.is_none(), "{args:?}: {said}");
        assert!(!said.contains(['\r', '\u{2066}']), "{args:?}: {said}");
    }
    done
}

#[test]
fn a_line_break_in_a_name_forges_no_line() {
    let s = Sandbox::new();
    let fleet = s.out().join(FORGES);
    fs::create_dir(&fleet).unwrap();
    let mut record: Value = serde_json::from_str(&fixture("")).unwrap();
    record["node"] = serde_json::json!({ "name": FORGES, "machine": "", "boot": "", "plan": "" });
    for key in ["cpu_model", "kernel"] {
        record["machine"][key] = FORGES.into();
    }
    let good = fleet.join(format!("{FORGES}.json"));
    write(record, &good);
    // A damaged record, a record with a name that is not UTF-8, and a record in another machine's directory.
    fs::write(fleet.join(format!("bad {FORGES}.json")), "{").unwrap();
    let latin = <std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(b"gr\xfc\xdfe.json");
    fs::write(fleet.join(latin), "{").unwrap();
    let within = fleet.join(format!("in {FORGES}"));
    fs::create_dir(&within).unwrap();
    fs::copy(&good, within.join(format!("{FORGES}.json"))).unwrap();
    let [at, good] = [&fleet, &good].map(|path| path.to_str().unwrap());
    for more in [&[][..], &["--full"], &["--csv"], &["--html"], &["--json"]] {
        let done = forges_no_line(&s, &[&["fleet", "report", at], more].concat());
        assert!(done.status.success(), "{more:?}: {}", text(&done.stderr));
    }
    let dataset = s.out().join(format!("dataset {FORGES}")).display().to_string();
    forges_no_line(&s, &["fleet", "collect", at, "--output", &dataset]);
    forges_no_line(&s, &["fleet", "collect", at, "--output", at]);
    let database = s.out().join(format!("history {FORGES}")).display().to_string();
    for args in [&["add", good][..], &["list"], &["show", "1"], &["check", good], &["remove", "9"]]
    {
        forges_no_line(&s, &[&["history", "--database", &database], args].concat());
    }
    for more in [&[][..], &["--all"], &["--csv"], &["--json"]] {
        let done = forges_no_line(&s, &[&["compare", good, good], more].concat());
        assert!(done.status.success(), "{more:?}: {}", text(&done.stderr));
        forges_no_line(&s, &[&["compare", good, at], more].concat());
    }
    forges_no_line(&s, &["compare", good, good, "--arm", FORGES]);
    assert!(forges_no_line(&s, &["compare", "--joint", good, good]).status.success());
    let none = s.out().join(format!("none {FORGES}")).display().to_string();
    for args in [
        &["report", &none][..],
        &["report", at],
        &["fleet", "report", &none],
        &["fleet", "plan", &none, "--for", "ssh"],
        &["fleet", "plan", good, "--for", "ssh"],
        &["history", "add", &none],
        &["history", "--database", &none, "list"],
        &["history", "--database", good, "list"],
        &["compare", &none, good],
        &["compare", good, good, "--arm", "a", "--arm", "b", "--arm", "c"],
        &["predict", "--ciphers-from", &none],
    ] {
        assert!(!forges_no_line(&s, args).status.success(), "{args:?}");
    }
}

#[test]
fn no_cell_of_a_table_for_a_spreadsheet_is_a_formula() {
    let s = Sandbox::new();
    let fleet = s.out().join("fleet");
    fs::create_dir(&fleet).unwrap();
    let formula = "=HYPERLINK(\"http://x\")";
    let mut record: Value = serde_json::from_str(&fixture("")).unwrap();
    record["machine"]["cpu_model"] = formula.into();
    record["plan"]["profile"] = formula.into();
    for arm in record["plan"]["arms"].as_array_mut().unwrap() {
        arm["label"] = format!("@{}", arm["label"].as_str().unwrap()).into();
    }
    for workload in record["plan"]["workloads"].as_array_mut().unwrap() {
        workload["label"] = format!("+1-{}", workload["label"].as_str().unwrap()).into();
    }
    let path = fleet.join("record.json");
    write(record, &path);
    let [at, record] = [&fleet, &path].map(|path| path.to_str().unwrap());
    let (mut texts, mut numbers) = (0, 0);
    for args in [
        &["report", record, "--format", "csv", "--table", "trials"][..],
        &["report", record, "--format", "csv", "--table", "cells"],
        &["fleet", "report", at, "--csv"],
        &["compare", record, record, "--csv"],
        &["compare", "--joint", record, record, "--csv"],
    ] {
        let said = text(&works(&s, args).stdout);
        let mut reader = csv::Reader::from_reader(said.as_bytes());
        for field in reader
            .records()
            .flat_map(|row| row.unwrap().iter().map(str::to_owned).collect::<Vec<_>>())
        {
            let is_number = field.parse::<f64>().is_ok();
            assert!(is_number || !field.starts_with(['=', '+', '-', '@']), "{args:?}: {field}");
            texts += usize::from(field.starts_with('\''));
            numbers += usize::from(is_number && field.starts_with('-'));
        }
    }
    assert!(texts > 10 && numbers > 0, "{texts}, {numbers}");
}
