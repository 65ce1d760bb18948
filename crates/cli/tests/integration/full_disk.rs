//! Output that cannot be written is an error: on a full disk, no command reports success.

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};

use crate::every_command::commands;
use crate::sandbox::disk::{Mount, did};
use crate::sandbox::{Sandbox, text};

/// What a command does with standard output, and its arguments for this test.
enum Does {
    /// Prints. Each of these fails if it cannot print.
    Prints(&'static [&'static str]),
    /// Prints nothing, and therefore succeeds.
    IsSilent(&'static str),
    /// Has a separate test, or needs none for this reason.
    Elsewhere(&'static str),
}

/// The arguments of a short run, inserted for `TINY`.
const TINY: &str =
    "--builtin-only --size 16MiB --trial 10ms --max-pairs 6 --budget 60s --profile ../tiny.toml";

/// Every new command needs a line here. Later commands use the results of earlier ones.
fn does(command: &str) -> Does {
    use Does::{Elsewhere, IsSilent, Prints};
    match command {
        "run" => Prints(&["--dry-run", "--dry-run --json", "TINY", "TINY --json", "TINY --quiet"]),
        "report" => Prints(&[
            "record.json --output page.html",
            "record.json --output page.html --full",
            "record.json --output page.html --quiet",
            "record.json --json",
            "record.json --format csv",
            "record.json --format markdown",
            "record.json --format answer",
            "record.json --explain seq-read-1m-q1",
        ]),
        "schema" | "systems" | "cleanup" => Prints(&[""]),
        "doctor" => Prints(&["", "--json"]),
        "ciphers" => Prints(&["--list"]),
        "kdf" => Prints(&["--prf sha-512 --seconds 0.1"]),
        "profiles" => Prints(&["", "quick"]),
        "predict" => Prints(&["--cipher-rate 1000", "--cipher-rate 1000 --json"]),
        "studies" => Prints(&["", "A", "A --json"]),
        "compare" => Prints(&[
            "record.json record.json",
            "record.json record.json --json",
            "record.json record.json --csv",
        ]),
        "history add" => Prints(&["record.json"]),
        "history list" | "history check" | "history regressions" => Prints(&["", "--json"]),
        "history show" => Prints(&["1", "1 --json"]),
        "history remove" => Prints(&["1"]),
        "fleet plan" => Prints(&["plan.toml --for ssh"]),
        "fleet report" => Prints(&["fleet", "fleet --json", "fleet --csv", "fleet --html"]),
        "fleet collect" => Prints(&["fleet --output dataset"]),
        "volume create" => {
            IsSilent("v --size 4MiB --format luks1 --unlock-time 1ms --passphrase-file secret")
        }
        "volume info" => Prints(&["v", "v --json"]),
        "volume dump" => Prints(&["v - --passphrase-file secret"]),
        "volume key add" | "volume key change" => {
            IsSilent("v --passphrase-file secret --new-passphrase-file secret --unlock-time 1ms")
        }
        "volume key remove" => IsSilent("v --passphrase-file secret --keyslot 1"),
        "volume header-backup" => IsSilent("v saved --passphrase-file secret"),
        "volume header-restore" => IsSilent("v saved --passphrase-file secret --force"),
        "completions" => Prints(&["bash", "zsh", "fish"]),
        "manual" => Prints(&["man"]),
        "serve" => Elsewhere("it ends by a signal"),
        "volume mount" | "volume umount" | "volume export" | "volume keep" => {
            Elsewhere("they need FUSE or end by a signal, and print nothing")
        }
        "keep-run" => Elsewhere("this program reads its output, and misses what is not there"),
        _ => panic!("{command:?} is new: say here what it prints"),
    }
}

/// The files that the commands use.
fn furnished() -> Sandbox {
    let s = Sandbox::new();
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let put = |name: &str, to: &str| fs::copy(fixtures.join(name), s.target().join(to)).unwrap();
    put("readme.json", "record.json");
    fs::create_dir(s.target().join("fleet")).unwrap();
    put("builtin-only.json", "fleet/node1.json");
    fs::write(s.target().join("secret"), "a secret").unwrap();
    let plan = "nodes = [\"n[1-3]\"]\nsystems = [\"builtin\"]\nbudget = \"1m\"\ntarget = \"/tmp\"\nfleet = \"/f\"\n";
    fs::write(s.target().join("plan.toml"), plan).unwrap();
    s
}

fn words<'a>(command: &'a str, arguments: &'a str) -> Vec<&'a str> {
    let all = command.split(' ').chain(arguments.split_whitespace());
    all.flat_map(|word| if word == "TINY" { TINY } else { word }.split(' ')).collect()
}

fn into(s: &Sandbox, args: &[&str], stdout: impl Into<Stdio>) -> Output {
    let child = s.command(args).stdout(stdout).stderr(Stdio::piped()).spawn();
    child.unwrap().wait_with_output().unwrap()
}

fn full() -> File {
    File::options().write(true).open("/dev/full").unwrap()
}

/// A pipe without a reader.
fn closed() -> std::io::PipeWriter {
    std::io::pipe().unwrap().1
}

#[test]
fn every_command_fails_where_its_output_is_lost_but_not_where_nobody_reads_it() {
    let s = furnished();
    let mut faults = Vec::new();
    let mut tried = |args: &[&str], fails: i32, names_it: bool, to_pipe: bool| {
        let done = into(&s, args, full());
        let said = text(&done.stderr);
        let named =
            said.matches("cannot write to standard output: No space left on device").count();
        let line = format!("{:<60} {:?}", args.join(" "), done.status.code());
        if done.status.code() != Some(fails) || (named == 1) != names_it {
            faults.push(format!("{line} on a full disk: {said}"));
        }
        if to_pipe {
            let done = into(&s, args, closed());
            let said = text(&done.stderr);
            if !done.status.success() || said.contains("pipe") || said.contains("standard output") {
                faults.push(format!("{line}, {:?} into a closed pipe: {said}", done.status.code()));
            }
        }
        eprintln!("{line}");
    };
    for command in commands() {
        tried(&words(command, "--help"), 1, true, true);
        match does(command) {
            Does::Prints(all) => {
                // These commands cannot be repeated.
                let again = !["history remove", "fleet collect"].contains(&command);
                all.iter().for_each(|more| tried(&words(command, more), 1, true, again));
            }
            Does::IsSilent(with) => tried(&words(command, with), 0, false, false),
            Does::Elsewhere(why) => eprintln!("{command:<60} {why}"),
        }
    }
    for args in [&["--help"][..], &["--version"], &["help"], &["help", "volume", "key"]] {
        tried(args, 1, true, true);
    }
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}

#[test]
fn a_code_that_says_more_is_kept_and_standard_error_does_not_matter() {
    let s = furnished();
    // Another error is printed first, and determines the exit code.
    let done = into(&s, &["report", "record.json", "--charts", "record.json", "--json"], full());
    let said = text(&done.stderr);
    assert_eq!(done.status.code(), Some(1), "{said}");
    assert!(said.contains("record.json") && said.contains("standard output"), "{said}");
    let done = into(&s, &["volume", "info", "no-such-volume"], full());
    assert_eq!(done.status.code(), Some(3), "{}", text(&done.stderr));
    let args = ["report", "record.json", "--output", "page.html"];
    let child = s.command(&args).stdout(Stdio::null()).stderr(full()).spawn();
    assert!(child.unwrap().wait().unwrap().success());
    let child = s.command(&words("run", "TINY")).stdout(Stdio::null()).stderr(full()).spawn();
    assert!(child.unwrap().wait().unwrap().success());
}

fn served(child: &mut Child, port: u16) {
    let until = Instant::now() + Duration::from_secs(20);
    loop {
        assert!(Instant::now() < until && child.try_wait().unwrap().is_none(), "it does not serve");
        let answer = TcpStream::connect(("127.0.0.1", port)).and_then(|mut stream| {
            stream.write_all(b"GET / HTTP/1.0\r\n\r\n")?;
            stream.read(&mut [0; 16])
        });
        match answer {
            Ok(1..) => return,
            _ => std::thread::sleep(Duration::from_millis(20)),
        }
    }
}

#[test]
fn the_page_s_address_that_nobody_got_is_an_error_at_its_end() {
    let s = furnished();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let number = port.to_string();
    let mut command = s.command(&["serve", "--port", &number]);
    let mut child = command.stdout(full()).stderr(Stdio::piped()).spawn().unwrap();
    served(&mut child, port);
    rustix::process::kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let done = child.wait_with_output().unwrap();
    let said = text(&done.stderr);
    assert_eq!(done.status.code(), Some(1), "{said}");
    assert!(said.contains("cannot write to standard output: No space left on device"), "{said}");
}

/// Files in and below a directory with their sizes, except those of a database, which protects itself from damage.
fn files(at: &Path) -> Vec<(String, u64)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(at).unwrap().flatten() {
        match entry.file_type().unwrap().is_dir() {
            true => found.extend(files(&entry.path())),
            false if entry.path().display().to_string().contains(".sqlite") => {}
            false => {
                let size = entry.metadata().unwrap().len();
                found.push((entry.path().display().to_string(), size));
            }
        }
    }
    found.sort();
    found
}

#[test]
fn a_file_that_does_not_fit_is_an_error_and_no_part_of_it_stays() {
    let s = furnished();
    let small = s.target().join("small");
    let Some(_mounted) = Mount::new(&["-t", "tmpfs", "-o", "size=2m", "none"], &small) else {
        return;
    };
    assert!(s.run(&words("history", "--database small/h.sqlite add record.json")).status.success());
    assert!(
        s.run(&words(
            "volume create",
            "v --size 4MiB --format luks1 --unlock-time 1ms --passphrase-file secret"
        ))
        .status
        .success()
    );
    let mut filler = File::create(small.join("filler")).unwrap();
    while filler.write(&[7; 4096]).is_ok() {}
    drop(filler);
    let before = files(&small);
    let mut faults = Vec::new();
    let lines = [
        "report record.json --output small/page.html",
        "report record.json --output small/r.json --format json",
        "report record.json --output small/r.csv --format csv",
        "report record.json --output small/r.md --format markdown",
        "report record.json --share small/shared.json",
        "report record.json --output page.html --charts small",
        "report record.json --output page.html --charts small/charts",
        "report record.json --output /dev/full",
        "history --database small/h.sqlite add fleet/node1.json",
        "history --database small/other.sqlite add record.json",
        "fleet collect fleet --output small/dataset",
        "manual small/man",
        "volume create small/v --size 4MiB --passphrase-file secret --format luks1 --unlock-time 1ms",
        "volume dump v small/plain --passphrase-file secret",
        "volume header-backup v small/saved --passphrase-file secret",
    ];
    for line in lines {
        let done = s.run(&words(line, ""));
        let said = text(&done.stderr);
        let left = files(&small);
        eprintln!("{line:<90} {:?} {}", done.status.code(), said.trim());
        if done.status.success() || said.contains("panicked") || left != before {
            faults.push(format!("{line}: {:?} {said}\n{left:?}", done.status.code()));
        }
        let _ = did("rm", &["-rf", "small/charts", "small/man"]);
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    // A run's record is saved in a different location, and the exit code says so.
    let done = s.run(&words("run", "TINY --output small/out"));
    let said = text(&done.stderr);
    eprintln!("run {:?} {said}", done.status.code());
    assert!(!done.status.success() && said.contains("No space left on device"), "{said}");
    assert_eq!(files(&small), before);
    // The history still contains its earlier entries.
    fs::remove_file(small.join("filler")).unwrap();
    let done = s.run(&words("history", "--database small/h.sqlite list --json"));
    let listed: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!(listed.as_array().unwrap().len(), 1, "{listed}");
    assert!(
        s.run(&words("history", "--database small/other.sqlite add record.json")).status.success()
    );
}
