//! `cargo xtask commits`: checks that new commits state what they change, and why (CONTRIBUTING.md).

use std::collections::BTreeSet;
use std::fs;

use anyhow::{Context as _, bail};

use crate::tools::said;

/// The last commit before this rule existed.
const BEFORE: &str = "f342c817fd30ce7856345a254ce11e87261877de";

/// Newer than the rule but older than this check: its subject has one column too many.
const LANDED: &[&str] = &["2be35a786ff03f5e6136becb9c553f0a25585a21"];

/// Maximum length of a subject, in columns.
const SUBJECT: usize = 72;

/// A commit that changes more lines than this has a body.
const LINES: u64 = 20;

/// Git's data on a commit.
struct Commit {
    hash: String,
    message: String,
    /// Added and removed lines; unknown for a merge, and if the clone does not contain the preceding commit.
    lines: Option<u64>,
}

/// Checks the commits that are in this clone and newer than the rule.
///
/// # Errors
/// A list of their faults, or git's error.
pub fn run() -> anyhow::Result<()> {
    if git(&["rev-parse", "--verify", "--quiet", "HEAD"]).is_err() {
        println!("SKIPPED: there is no history here");
        return Ok(());
    }
    let commits = commits(&range())?;
    let mut faults = 0;
    for commit in commits.iter().filter(|commit| !LANDED.contains(&&*commit.hash)) {
        for fault in commit.faults() {
            println!("{:.10}: {fault}", commit.hash);
            faults += 1;
        }
    }
    if faults > 0 {
        bail!("{faults} faults in the messages of {} commits; see CONTRIBUTING.md", commits.len());
    }
    if commits.is_empty() {
        println!("SKIPPED: no commit here is newer than the rule");
        return Ok(());
    }
    println!("{} messages of commits are as they should be", commits.len());
    Ok(())
}

/// The range for `git log`: everything since the rule or, in a shallow clone, everything that is not on the
/// main branch.
fn range() -> Vec<String> {
    let known = |commit: &str| git(&["cat-file", "-e", &format!("{commit}^{{commit}}")]).is_ok();
    if known(BEFORE) {
        return vec!["HEAD".to_owned(), format!("^{BEFORE}")];
    }
    match git(&["merge-base", "HEAD", "origin/main"]) {
        Ok(base) => vec!["HEAD".to_owned(), format!("^{}", base)],
        Err(_) => vec!["HEAD".to_owned()],
    }
}

fn commits(range: &[String]) -> anyhow::Result<Vec<Commit>> {
    let mut arguments = vec!["log", "--numstat", "--no-renames", "--format=%x1e%H%x1f%P%x1f%B%x1f"];
    arguments.extend(range.iter().map(String::as_str));
    let log = git(&arguments)?;
    // The oldest commits of a shallow clone, which would appear to change all files.
    let shallow = git(&["rev-parse", "--git-path", "shallow"])?;
    let shallow = fs::read_to_string(shallow).unwrap_or_default();
    let shallow = BTreeSet::from_iter(shallow.lines());
    log.split('\x1e').skip(1).map(|entry| parse(entry, &shallow)).collect()
}

fn parse(entry: &str, shallow: &BTreeSet<&str>) -> anyhow::Result<Commit> {
    let mut fields = entry.split('\x1f');
    let mut next = || fields.next().context("git log has another form");
    let (hash, parents, message, changes) = (next()?, next()?, next()?, next()?);
    let is_known = !parents.contains(' ') && !shallow.contains(hash);
    // For a binary file, git prints `-` instead of numbers.
    let numbers =
        changes.lines().flat_map(|line| line.split('\t').take(2)).flat_map(str::parse::<u64>);
    let lines = is_known.then(|| numbers.sum());
    Ok(Commit { hash: hash.to_owned(), message: message.trim_end().to_owned(), lines })
}

impl Commit {
    fn faults(&self) -> Vec<String> {
        let mut lines = self.message.lines();
        let subject = lines.next().unwrap_or_default();
        let mut faults = Vec::new();
        if !has_component(subject) {
            faults.push(format!("the subject is not `component: what changes`: {subject:?}"));
        }
        let columns = subject.chars().count();
        if columns > SUBJECT {
            faults.push(format!("the subject has {columns} columns, not {SUBJECT}: {subject:?}"));
        }
        if lines.next().is_some_and(|second| !second.is_empty()) {
            faults.push(format!("no empty line after the subject {subject:?}"));
        }
        let changed = self.lines.filter(|changed| *changed > LINES);
        if let Some(changed) = changed.filter(|_| lines.all(|line| line.trim().is_empty())) {
            faults.push(format!("{changed} lines changed, and no body says why: {subject:?}"));
        }
        faults
    }
}

/// Whether the subject begins with the changed component, as in `cli: ` or `docs, xtask: `.
fn has_component(subject: &str) -> bool {
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "_-./, ".contains(c);
    subject.split_once(": ").is_some_and(|(component, what)| {
        !component.is_empty() && component.chars().all(allowed) && !what.trim().is_empty()
    })
}

fn git(arguments: &[&str]) -> anyhow::Result<String> {
    said("git", arguments)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(message: &str, lines: Option<u64>) -> Vec<String> {
        Commit { hash: String::new(), message: message.to_owned(), lines }.faults()
    }

    #[test]
    fn a_message_has_a_component_a_short_subject_and_a_body_for_a_large_change() {
        assert_eq!(faults("cli: say which file is missing", Some(20)), [""; 0]);
        assert_eq!(faults("cli, docs: x\n\nBecause.", Some(21)), [""; 0]);
        assert!(faults("cli: x", Some(21))[0].contains("no body says why"));
        assert!(faults("cli: x\n\n  ", Some(21))[0].contains("no body says why"));
        assert_eq!(faults("cli: x", None), [""; 0]);
        assert!(faults("cli: x\nbecause", Some(1))[0].contains("no empty line"));
        for subject in ["Fix the build", "fix", "cli:", "cli: ", "fixup! cli: x", ""] {
            assert!(faults(subject, Some(1))[0].contains("component"), "{subject}");
        }
        let long = format!("cli: {}", "é".repeat(SUBJECT - 5));
        assert_eq!(faults(&long, Some(1)), [""; 0]);
        assert!(faults(&format!("{long}x"), Some(1))[0].contains("73 columns"));
    }

    #[test]
    fn the_lines_of_a_commit_are_added_up_where_they_are_known() {
        let changes = "\n3\t4\ta.rs\n-\t-\tb.png\n10\t0\tc d.rs\n";
        let of = |entry: &str| parse(entry, &BTreeSet::from(["old"])).unwrap();
        let commit = of(&format!("new\x1fp\x1fa: b\n\nc\n\x1f{changes}"));
        assert_eq!((commit.message.as_str(), commit.lines), ("a: b\n\nc", Some(17)));
        assert_eq!(of(&format!("old\x1fp\x1fa: b\n\x1f{changes}")).lines, None);
        assert_eq!(of("merge\x1fp q\x1fa: b\n\x1f").lines, None);
        assert!(parse("x", &BTreeSet::new()).is_err());
    }
}
