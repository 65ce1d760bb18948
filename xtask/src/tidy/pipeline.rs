//! Checks that a run is a pipeline: the user's request is visible only until the plan is made, decisions query
//! nothing, the plan does not change, and the function that lists the stages stays short.

use std::path::Path;

/// Maximum number of lines of `run`, including its signature.
const LONGEST: usize = 60;

/// The files in which the user's request is visible.
const KNOW_THE_REQUEST: &[&str] =
    &["lib.rs", "run.rs", "request.rs", "look", "decide", "dry_run.rs"];

/// Calls that query the machine, which must happen before anything is decided.
const ASKS: &[&str] = &[
    "cryptbench_os",
    "fs",
    "File",
    "env",
    "process",
    "Instant",
    "SystemTime",
    "Timestamp",
    "getrandom",
    "Tree",
];

/// Finds everything in `text`, a file of `runner`, that violates the pipeline.
pub fn check(file: &Path, text: &str, faults: &mut Vec<String>) {
    let Ok(inside) = file.strip_prefix("crates/runner/src") else { return };
    let name = file.display();
    let tests = text.find("#[cfg(test)]").unwrap_or(text.len());
    let is_test = inside.ends_with("tests.rs");
    let knows = KNOW_THE_REQUEST.iter().any(|known| inside.starts_with(known));
    if !knows && !is_test && word(&text[..tests], "Request") {
        faults.push(format!("{name}: names Request, which ends at the plan"));
    }
    if inside.starts_with("decide")
        && let Some(asks) = ASKS.iter().find(|asks| calls(&text[..tests], asks))
    {
        faults.push(format!("{name}: names {asks}: what a decision needs is a fact (look/)"));
    }
    if word(text, "&mut Plan") {
        faults.push(format!("{name}: takes &mut Plan: what turns out late is a line of the log"));
    }
    if inside == Path::new("run.rs") {
        let body = text.split_once("pub fn run(").map_or("", |(_, body)| body);
        let lines = body.split_once("\n}\n").map_or(body, |(body, _)| body).lines().count();
        if lines > LONGEST {
            faults.push(format!("{name}: run() has {lines} lines, more than {LONGEST}"));
        }
    }
}

/// Whether `text` contains `wanted` as a word.
fn word(text: &str, wanted: &str) -> bool {
    text.match_indices(wanted)
        .any(|(at, _)| !text[..at].ends_with(part) && !text[at + wanted.len()..].starts_with(part))
}

/// Whether `text` refers to an item in the module or type `within`.
fn calls(text: &str, within: &str) -> bool {
    text.match_indices(&format!("{within}::")).any(|(at, _)| !text[..at].ends_with(part))
}

fn part(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(file: &str, text: &str) -> usize {
        let mut faults = Vec::new();
        check(&Path::new("crates/runner/src").join(file), text, &mut faults);
        faults.len()
    }

    #[test]
    fn the_request_ends_at_the_plan() {
        assert_eq!(faults("prepare/arms.rs", "fn f(request: &Request) {}"), 1);
        assert_eq!(faults("prepare/arms.rs", "fn f(t: &TargetRequest) {}"), 0);
        assert_eq!(faults("prepare/arms.rs", "fn f() {}\n#[cfg(test)]\nuse crate::Request;"), 0);
        assert_eq!(faults("decide/arms.rs", "fn f(request: &Request) {}"), 0);
    }

    #[test]
    fn what_decides_asks_nothing() {
        assert_eq!(faults("decide/arms.rs", "use std::fs;\nfn f() { fs::read(x) }"), 1);
        assert_eq!(faults("decide/arms.rs", "use cryptbench_os::user;"), 1);
        assert_eq!(faults("decide/arms.rs", "fn f() {}\n#[cfg(test)]\nuse std::fs::File;"), 0);
        assert_eq!(faults("look/mod.rs", "use cryptbench_os::user;"), 0);
    }

    #[test]
    fn the_plan_does_not_change_and_run_stays_short() {
        assert_eq!(faults("measure/mod.rs", "fn f(plan: &mut Plan) {}"), 1);
        let run =
            |lines| format!("pub fn run() {{\n{}}}\n\nfn other() {{}}\n", "x();\n".repeat(lines));
        assert_eq!((faults("run.rs", &run(59)), faults("run.rs", &run(60))), (0, 1));
    }
}
