//! What `--help` says, so that a change of it is seen.

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
fn help_of_run() {
    insta::assert_snapshot!(help(&["run", "--help"]));
}
