//! `cryptbench doctor`: its output is correct at every width, and its exit code is the one that a run would have.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Output;

use crate::sandbox::disk::{Mount, did};
use crate::sandbox::{Sandbox, skipped, text};
use serde_json::Value;

fn json(done: &Output) -> Value {
    serde_json::from_slice(&done.stdout)
        .unwrap_or_else(|e| panic!("{e}: {}{}", text(&done.stdout), text(&done.stderr)))
}

fn finding<'a>(report: &'a Value, section: &str, name: &str) -> &'a Value {
    let sections = report["sections"].as_array().unwrap();
    let section = sections.iter().find(|s| s["title"] == section).expect(section);
    let findings = section["findings"].as_array().unwrap();
    findings.iter().find(|f| f["name"] == name).unwrap_or_else(|| panic!("{name} in {section:#}"))
}

#[test]
fn it_ends_well_where_a_run_can_be_made_although_systems_lack() {
    let sandbox = Sandbox::new();
    let done = sandbox.run(&["doctor", "--json"]);
    let report = json(&done);
    assert!(done.status.success(), "{report:#}");
    assert_eq!(report["schema"], "cryptbench.doctor/1");
    assert_eq!(report["can_run"], true);
    assert_eq!(report["exit_code"], 0);
    assert!(sandbox.left_behind().is_empty(), "its probe of direct I/O leaves no file");
}

#[test]
fn it_says_of_each_system_what_the_registry_says() {
    let report = json(&Sandbox::new().run(&["doctor", "--json"]));
    let here = text(&Sandbox::new().run(&["systems"]).stdout);
    let (available, _) = here.split_once("\nCannot be measured here:").unwrap_or((&here, ""));
    let mut names = BTreeSet::new();
    for system in cryptbench_system::systems() {
        let state = &finding(&report, "Systems", system.name())["state"];
        let listed = available.lines().any(|l| l.split_whitespace().next() == Some(system.name()));
        assert_eq!(*state == "ok", listed, "{}: {state}", system.name());
        names.insert(system.name());
    }
    let sections = report["sections"].as_array().unwrap();
    let systems = sections.iter().find(|s| s["title"] == "Systems").unwrap();
    assert_eq!(systems["findings"].as_array().unwrap().len(), names.len());
}

#[test]
fn what_lacks_comes_with_what_to_do() {
    let report = json(&Sandbox::new().run(&["doctor", "--json"]));
    for section in report["sections"].as_array().unwrap() {
        for finding in section["findings"].as_array().unwrap() {
            let lacks = finding["state"] == "lacking" && section["title"] == "Systems";
            assert!(!lacks || finding["remedy"].is_string(), "{finding:#}");
            assert!(!finding["says"].as_str().unwrap().is_empty(), "{finding:#}");
        }
    }
}

#[test]
fn the_command_has_every_package_that_a_remedy_asks_for() {
    let sandbox = Sandbox::new();
    // Everything that is only found through PATH is then missing, and the remedy is checked here.
    let done = sandbox.command(&["doctor", "--json"]).env("PATH", "/nonexistent").output().unwrap();
    let report = json(&done);
    let command = report["install"]["command"].as_str().unwrap_or_default();
    let installed: Vec<&str> = command.split_whitespace().collect();
    let sections = report["sections"].as_array().unwrap();
    let systems = sections.iter().find(|s| s["title"] == "Systems").unwrap();
    let mut asked = 0;
    for finding in systems["findings"].as_array().unwrap() {
        // It also needs a module of this kernel.
        if finding["name"] == "zfs" {
            continue;
        }
        let remedy = finding["remedy"].as_str().unwrap_or_default();
        let Some((_, rest)) = remedy.split_once("apt install ") else { continue };
        let package = rest.split([' ', ';', ',']).next().unwrap();
        assert!(installed.contains(&package), "{package} for {finding} in {command}");
        asked += 1;
    }
    if asked == 0 {
        skipped("every package that `doctor` could name is installed, or this is no Debian");
    }
}

#[test]
fn a_place_that_no_run_can_use_has_the_code_that_a_run_has() {
    let sandbox = Sandbox::new();
    for place in ["/no/such/directory", "/proc"] {
        let done = sandbox.run(&["doctor", place]);
        let run = sandbox.run(&["run", place, "--dry-run"]);
        let shown = text(&done.stdout);
        if place == "/no/such/directory" {
            assert_eq!(done.status.code(), run.status.code(), "{shown}");
        }
        assert_eq!(done.status.code(), Some(3), "{place}: {shown}");
        assert!(shown.contains("cannot measure here"), "{shown}");
        let report = json(&sandbox.run(&["doctor", "--json", place]));
        assert_eq!(report["can_run"], false);
        assert!(report["why_not"].as_str().unwrap().contains(place), "{report:#}");
    }
}

#[test]
fn direct_io_is_tried_as_a_run_has_it_where_each_file_has_a_name() {
    let (sandbox, dir) = (Sandbox::new(), tempfile::tempdir().unwrap());
    let [store, at, secret] = ["store", "at", "secret"].map(|name| dir.path().join(name));
    for made in [&store, &at] {
        std::fs::create_dir(made).unwrap();
    }
    std::fs::write(&secret, "not a secret\n").unwrap();
    let [store, shown, secret] = [&store, &at, &secret].map(|path| path.display().to_string());
    let made = did("gocryptfs", &["-q", "-init", "-scryptn", "10", "-passfile", &secret, &store])
        && did("gocryptfs", &["-q", "-passfile", &secret, &store, &shown]);
    if !made {
        return skipped("gocryptfs does not work here (apt install gocryptfs)");
    }
    let _mounted = Mount::at(&at);
    let report = json(&sandbox.run(&["doctor", "--json", &shown]));
    let found = finding(&report, "Storage", "direct I/O");
    assert_eq!(found["state"], "ok", "{found:#}");
    assert_eq!(std::fs::read_dir(&at).unwrap().count(), 0, "its file is gone");
}

#[test]
fn a_mask_over_the_processor_is_told() {
    let sandbox = Sandbox::new();
    let masked = |tier: &str| {
        json(&sandbox.command(&["doctor", "--json"]).env("CRYPTBENCH_CPU", tier).output().unwrap())
    };
    let report = masked("soft");
    let kernels = finding(&report, "CPU", "cipher code");
    assert!(kernels["says"].as_str().unwrap().contains("soft"), "{kernels}");
    let report = masked("nonsense");
    assert_eq!(finding(&report, "CPU", "cipher code")["state"], "warning");
}

#[test]
fn it_can_be_read_in_any_width() {
    let sandbox = Sandbox::new();
    for width in ["60", "80", "200"] {
        let done = sandbox.command(&["doctor"]).env("COLUMNS", width).output().unwrap();
        let shown = text(&done.stdout);
        assert!(!shown.contains('\u{1b}'));
        for line in shown.lines().filter(|l| !l.contains(" install ")) {
            let columns = textwrap::core::display_width(line);
            assert!(columns <= width.parse().unwrap(), "{columns} columns: {line}");
        }
        for title in
            ["CPU", "Storage", "Privileges and kernel", "Systems: ", "Possible disturbances"]
        {
            assert!(shown.contains(&format!("\n{title}")), "{title} in {shown}");
        }
    }
}

#[test]
fn an_ordinary_user_is_told_what_takes_root() {
    if !rustix::process::geteuid().is_root() {
        skipped("only root can become another user for this test");
        return;
    }
    let sandbox = Sandbox::new();
    // A directory of that user, because the binary may be in a home directory without access for others.
    let place = tempfile::tempdir().unwrap();
    std::fs::set_permissions(place.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    std::os::unix::fs::chown(place.path(), Some(65_534), Some(65_534)).unwrap();
    let binary = place.path().join("cryptbench");
    // Copied by another process: a file that this process opened for writing may still be open in the child of
    // another test.
    let copied = std::process::Command::new("cp")
        .args([env!("CARGO_BIN_EXE_cryptbench").as_ref(), binary.as_os_str()])
        .status();
    assert!(copied.unwrap().success());
    let done = std::process::Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(&binary)
        .args(["doctor", "--json"])
        .arg(place.path())
        .env("HOME", place.path())
        .current_dir(place.path())
        .output();
    let Ok(done) = done else {
        skipped("there is no program setpriv");
        return;
    };
    drop(sandbox);
    let report = json(&done);
    let user = finding(&report, "Privileges and kernel", "user");
    assert!(user["says"].as_str().unwrap().starts_with("not root"), "{user}");
    assert_eq!(finding(&report, "Privileges and kernel", "loop devices")["state"], "lacking");
    assert_eq!(report["can_run"], true, "{report:#}");
}
