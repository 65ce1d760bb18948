//! The cron line in docs/start.md and the systemd units in packaging/, tested as printed.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::sandbox::{Sandbox, skipped, text};

/// The code blocks of docs/start.md in this language.
fn blocks(language: &str) -> Vec<String> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/start.md");
    let page = fs::read_to_string(page).unwrap();
    let opens = format!("```{language}\n");
    let after = page.split(&opens).skip(1);
    after.map(|rest| rest.split("```").next().unwrap().to_owned()).collect()
}

#[test]
fn the_line_for_cron_is_silent_until_something_got_slower() {
    let s = Sandbox::new();
    let [line] = &blocks("crontab")[..] else { panic!("one line") };
    let command = line.trim().splitn(6, ' ').last().unwrap().trim();
    let tiny = s.tiny(&[])[1..].join(" ");
    let here = command.replace("/srv", &format!("{} {tiny}", s.target().display()));
    assert_ne!(here, command);
    let shim = "#!/bin/sh\nexec \"$CRYPTBENCH\" \"$@\"\n";
    let done = s.shell(shim, &here);
    let said = (text(&done.stdout), text(&done.stderr));
    // There is no run before the first one.
    assert_eq!((done.status.code(), said.0.as_str()), (Some(11), ""), "{}", said.1);
    assert!(!said.1.contains("cryptbench:"), "{}", said.1);
    let listed = text(&s.run(&["history", "list"]).stdout);
    assert!(listed.contains("tiny"), "{listed}");
}

#[test]
fn systemd_takes_the_units() {
    let packaging = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/systemd");
    let dir = tempfile::tempdir().unwrap();
    let mut words = vec!["verify".to_owned()];
    for name in ["cryptbench.service", "cryptbench.timer"] {
        let unit = fs::read_to_string(packaging.join(name)).unwrap();
        // In this test the program has a different path.
        let program = format!("ExecStart={}", env!("CARGO_BIN_EXE_cryptbench"));
        let path = dir.path().join(name);
        fs::write(&path, unit.replace("ExecStart=cryptbench", &program)).unwrap();
        words.push(path.display().to_string());
    }
    let Ok(done) = Command::new("systemd-analyze").args(&words).output() else {
        return skipped("there is no systemd-analyze");
    };
    let said = text(&done.stderr);
    let ours = said.lines().filter(|line| line.contains("cryptbench.")).collect::<Vec<_>>();
    assert!(done.status.success() && ours.is_empty(), "{said}");
}
