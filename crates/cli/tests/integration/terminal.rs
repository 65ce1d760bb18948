//! Width and colour of the output: the width comes from COLUMNS, and there are no colours unless the output is a
//! terminal.

use std::path::Path;

use crate::sandbox::{Sandbox, text};

fn printed(args: &[&str], variables: &[(&str, &str)]) -> String {
    let sandbox = Sandbox::new();
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/readme.json");
    let page = sandbox.out().join("report.html");
    let mut all = vec!["report", fixture.to_str().unwrap()];
    all.extend(args);
    if !args.contains(&"--explain") {
        all.extend(["--output", page.to_str().unwrap()]);
    }
    let mut command = sandbox.command(&all);
    for name in ["COLUMNS", "NO_COLOR", "TERM"] {
        command.env_remove(name);
    }
    let done = command.envs(variables.iter().copied()).output().unwrap();
    assert!(done.status.success(), "{}", text(&done.stderr));
    text(&done.stdout)
}

/// Width of the widest line, except for the path of the page.
fn widest(printed: &str) -> usize {
    let lines = printed.lines().filter(|l| !l.ends_with("report.html"));
    lines.map(textwrap::core::display_width).max().unwrap()
}

#[test]
fn the_width_is_what_columns_says_and_80_without() {
    for columns in ["60", "80", "200"] {
        let most = columns.parse().unwrap();
        assert!(widest(&printed(&[], &[("COLUMNS", columns)])) <= most, "{columns}");
    }
    let printed = |_: &[&str], variables: &[(&str, &str)]| printed(&["--full"], variables);
    assert!(widest(&printed(&[], &[])) <= 80);
    assert!(widest(&printed(&[], &[("COLUMNS", "60")])) <= 60);
    let wide = widest(&printed(&[], &[("COLUMNS", "200")]));
    assert!((121..=200).contains(&wide), "{wide} columns: the table uses the width");
    for nonsense in ["0", "-5", "wide", ""] {
        assert!(widest(&printed(&[], &[("COLUMNS", nonsense)])) <= 80, "{nonsense:?}");
    }
}

#[test]
fn the_answer_of_a_real_record_fits_a_screen_and_has_all_that_it_must() {
    let shown = printed(&[], &[]);
    assert!(shown.lines().count() <= 24, "{shown}");
    for expected in ["% of plain", "± 95 % interval", "Open ", "More "] {
        assert!(shown.contains(expected), "no {expected:?} in:\n{shown}");
    }
    for never in ["take AES", "null layer", "kept", "QD1"] {
        assert!(!shown.contains(never), "{never:?} in:\n{shown}");
    }
}

#[test]
fn nothing_that_is_piped_is_coloured() {
    for variables in [&[][..], &[("NO_COLOR", "1")], &[("TERM", "dumb")]] {
        assert!(!printed(&[], variables).contains('\u{1b}'));
        assert!(!printed(&["--explain", "seq read 1 MiB qd1"], variables).contains('\u{1b}'));
    }
}

/// In a separate terminal, created by `script`.
fn in_a_terminal(variables: &[(&str, &str)]) -> Option<String> {
    let sandbox = Sandbox::new();
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/readme.json");
    let line = format!(
        "{} report {} --output {}",
        env!("CARGO_BIN_EXE_cryptbench"),
        fixture.display(),
        sandbox.out().join("report.html").display()
    );
    let mut command = std::process::Command::new("script");
    command.args(["--quiet", "--return", "--command", &line, "/dev/null"]);
    for name in ["COLUMNS", "NO_COLOR"] {
        command.env_remove(name);
    }
    command.env("TERM", "xterm").envs(variables.iter().copied());
    let done = command.stdin(std::process::Stdio::null()).output().ok()?;
    done.status.success().then(|| text(&done.stdout))
}

#[test]
fn a_terminal_is_coloured_unless_it_is_dumb_or_asks_for_none() {
    let Some(coloured) = in_a_terminal(&[]) else {
        crate::sandbox::skipped("script(1) cannot be run here, so there is no terminal");
        return;
    };
    assert!(coloured.contains("\u{1b}["), "{coloured}");
    for variables in [&[("NO_COLOR", "1")][..], &[("TERM", "dumb")]] {
        assert!(!in_a_terminal(variables).unwrap().contains('\u{1b}'), "{variables:?}");
    }
}
