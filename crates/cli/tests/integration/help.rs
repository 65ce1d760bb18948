//! The output of `--help`, so that changes to it are noticed.

use crate::sandbox::{Sandbox, text};

fn help(args: &[&str]) -> String {
    let done = Sandbox::new().run(args);
    assert!(done.status.success());
    text(&done.stdout)
}

#[test]
fn help_of_the_program() {
    insta::assert_snapshot!(help(&["--help"]));
}

#[test]
fn short_help_of_run_is_one_screen() {
    let text = help(&["run", "-h"]);
    assert!(text.lines().count() <= 40 && text.contains("Examples:"), "{text}");
    assert_eq!(help(&["-v", "run", "--budget", "1m", "-h"]), text);
    assert!(help(&["run", "--help", "-h"]).contains("--no-slices"));
}

#[test]
fn help_of_run() {
    insta::assert_snapshot!(help(&["run", "--help"]));
}
