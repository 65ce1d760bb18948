//! Passphrases typed at a terminal that `script` provides: there are three tries, and a weak passphrase causes a
//! warning.

use std::fs;
use std::io::{Read as _, Write as _};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::sandbox::{Sandbox, skipped, text};

/// Runs a command in a terminal and answers each prompt with the next line. Returns the exit code and everything
/// shown.
fn typed(s: &Sandbox, line: &str, answers: &[&str]) -> Option<(Option<i32>, String)> {
    // As a person would, after reading the prompt.
    typed_after(s, line, answers, Duration::from_millis(200))
}

fn typed_after(
    s: &Sandbox,
    line: &str,
    answers: &[&str],
    pause: Duration,
) -> Option<(Option<i32>, String)> {
    let line = format!("{} {line}", env!("CARGO_BIN_EXE_cryptbench"));
    let like = s.command(&[]);
    let mut command = Command::new("script");
    command.args(["--quiet", "--return", "--flush", "--command", &line, "/dev/null"]);
    for (name, value) in like.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.current_dir(s.target()).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().ok()?;
    let (mut input, mut output) = (child.stdin.take()?, child.stdout.take()?);
    let (mut shown, mut piece, mut asked) = (Vec::new(), [0; 4096], 0);
    loop {
        let got = output.read(&mut piece).unwrap_or(0);
        if got == 0 {
            break;
        }
        shown.extend_from_slice(&piece[..got]);
        let said = text(&shown);
        let prompts =
            said.matches("Passphrase for").count() + said.matches("Repeat the passphrase").count();
        if prompts > asked && said.trim_end().ends_with(':') {
            if let Some(answer) = answers.get(asked) {
                std::thread::sleep(pause);
                writeln!(input, "{answer}").unwrap();
            }
            asked = prompts;
        }
    }
    drop(input);
    Some((child.wait().ok()?.code(), text(&shown)))
}

#[test]
fn a_wrong_passphrase_can_be_typed_again_twice() {
    let s = Sandbox::new();
    fs::write(s.target().join("pass"), "old secret").unwrap();
    let made = s.run(&[
        "volume",
        "create",
        "v",
        "--format",
        "luks1",
        "--passphrase-file",
        "pass",
        "--size",
        "4MiB",
        "--unlock-time",
        "1ms",
    ]);
    assert!(made.status.success(), "{}", text(&made.stderr));
    let open = "volume info v --open";
    let Some((code, said)) = typed(&s, open, &["wrong", "wrong again", "old secret"]) else {
        return skipped("script(1) cannot be run here, so there is no terminal");
    };
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(said.matches("Passphrase for v").count(), 3, "{said}");
    assert!(said.contains("2 tries left") && said.contains("1 try left"), "{said}");
    let (code, said) = typed(&s, open, &["a", "b", "c", "d"]).unwrap();
    assert_eq!((code, said.matches("Passphrase for v").count()), (Some(7), 3), "{said}");
    assert_eq!(said.matches("no key fits").count(), 3, "{said}");
    // A passphrase from a file is tried once.
    fs::write(s.target().join("other"), "wrong").unwrap();
    let (code, said) = typed(&s, &format!("{open} --passphrase-file other"), &[]).unwrap();
    assert_eq!((code, said.matches("no key fits").count()), (Some(7), 1), "{said}");
}

#[test]
fn the_new_passphrase_is_typed_once_however_often_the_old_one_is_wrong() {
    let s = Sandbox::new();
    for (name, secret) in [("pass", "old secret"), ("wrong", "wrong")] {
        fs::write(s.target().join(name), secret).unwrap();
    }
    let create =
        "volume create v --format luks1 --passphrase-file pass --size 4MiB --unlock-time 1ms";
    let made = s.run(&create.split(' ').collect::<Vec<_>>());
    assert!(made.status.success(), "{}", text(&made.stderr));
    let change = "volume key change v --unlock-time 1ms";
    let new = "qvzkrwmtbxhdpfja";
    let answers = ["wrong", new, new, "wrong again", "old secret"];
    let Some((code, said)) = typed(&s, change, &answers) else {
        return skipped("script(1) cannot be run here, so there is no terminal");
    };
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(said.matches("Passphrase for v").count(), 3, "{said}");
    assert_eq!(said.matches("Passphrase for the new key").count(), 1, "{said}");
    // An old passphrase from a file is tried once, even if the new one is typed.
    let (code, said) =
        typed(&s, &format!("{change} --passphrase-file wrong"), &[new, new]).unwrap();
    assert_eq!((code, said.matches("no key fits").count()), (Some(7), 1), "{said}");
    fs::write(s.target().join("pass"), new).unwrap();
    let opened = s.run(&["volume", "info", "v", "--open", "--passphrase-file", "pass"]);
    assert!(opened.status.success(), "the new one opens it: {}", text(&opened.stderr));
}

#[test]
fn an_answer_at_the_moment_of_the_prompt_is_not_shown() {
    let s = Sandbox::new();
    let secret = "qvzkrwmtbxhdpfja";
    fs::write(s.target().join("pass"), secret).unwrap();
    let create =
        "volume create v --format luks1 --passphrase-file pass --size 4MiB --unlock-time 1ms";
    let made = s.run(&create.split(' ').collect::<Vec<_>>());
    assert!(made.status.success(), "{}", text(&made.stderr));
    for _ in 0..20 {
        let shown = typed_after(&s, "volume info v --open", &[secret], Duration::ZERO);
        let Some((code, said)) = shown else {
            return skipped("script(1) cannot be run here, so there is no terminal");
        };
        assert_eq!(code, Some(0), "{said}");
        assert!(!said.contains(secret), "{said}");
    }
}

#[test]
fn a_weak_passphrase_is_named_and_taken() {
    let s = Sandbox::new();
    let create = "volume create v --format luks1 --size 4MiB --unlock-time 1ms";
    let Some((code, said)) = typed(&s, create, &["sommer", "sommer"]) else {
        return skipped("script(1) cannot be run here, so there is no terminal");
    };
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("this passphrase is weak") && said.contains("created v"), "{said}");
    let strong = create.replace(" v ", " w ");
    let (code, said) = typed(&s, &strong, &["qvzkrwmtbxhdpfja", "qvzkrwmtbxhdpfja"]).unwrap();
    assert!(code == Some(0) && !said.contains("is weak"), "{said}");
}

#[test]
fn what_is_wrong_without_a_passphrase_is_told_before_one_is_asked_for() {
    let s = Sandbox::new();
    fs::write(s.target().join("tiny"), "hello").unwrap();
    fs::create_dir(s.target().join("full")).unwrap();
    fs::write(s.target().join("full/file"), "mine").unwrap();
    fs::write(s.target().join("v"), [7; 8192]).unwrap();
    insta::assert_snapshot!([
        s.refused(&["volume", "dump", "tiny", "out"]),
        s.refused(&["volume", "header-restore", "v", "tiny"]),
        s.refused(&["volume", "mount", "v", "full"]),
    ].concat(), @"
        $ cryptbench volume dump tiny out
        [5] cryptbench: tiny: too small for a volume: it is smaller than a sector
        $ cryptbench volume header-restore v tiny
        [5] cryptbench: v: the header backup is too small: it is smaller than a sector
        $ cryptbench volume mount v full
        [3] cryptbench: SANDBOX/target/full: the mount point is not empty, or something is mounted there
        ");
}
