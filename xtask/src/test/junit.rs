//! Reads the report that cargo-nextest writes: JUnit's XML, with everything that the tests printed.

use std::fs;
use std::path::Path;

use anyhow::Context as _;
use roxmltree::{Document, Node};

/// A test that was run, or that is ignored.
pub struct Case {
    /// Binary and name, as in `cryptbench::integration saving::a_page_is_saved`.
    pub name: String,
    pub seconds: f64,
    pub result: Result,
    /// Standard output and standard error of all attempts.
    pub output: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Result {
    Passed,
    /// Failed first and passed when it was repeated.
    Flaky,
    Failed,
    Ignored,
}

pub fn read(path: &Path) -> anyhow::Result<Vec<Case>> {
    let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
    parse(&text).with_context(|| path.display().to_string())
}

fn parse(text: &str) -> anyhow::Result<Vec<Case>> {
    let document = Document::parse(text)?;
    Ok(document.descendants().filter(|node| node.has_tag_name("testcase")).map(case).collect())
}

fn case(node: Node<'_, '_>) -> Case {
    let attribute = |name| node.attribute(name).unwrap_or_default();
    let has = |name| node.children().any(|child| child.has_tag_name(name));
    let result = if has("skipped") {
        Result::Ignored
    } else if has("failure") || has("error") {
        Result::Failed
    } else if has("flakyFailure") {
        Result::Flaky
    } else {
        Result::Passed
    };
    let is_output =
        |node: &Node<'_, '_>| node.has_tag_name("system-out") || node.has_tag_name("system-err");
    let mut output = String::new();
    for said in node.descendants().filter(is_output).filter_map(|node| node.text()) {
        output += said;
        output.push('\n');
    }
    Case {
        name: format!("{} {}", attribute("classname"), attribute("name")),
        seconds: attribute("time").parse().unwrap_or_default(),
        result,
        output,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="nextest-run" tests="4" failures="1" errors="0">
    <testsuite name="x" tests="4" disabled="1" errors="0" failures="1">
        <testcase name="a::b" classname="x" time="1.500">
            <system-out>running 1 test</system-out>
            <system-err>SKIPPED: no &lt;fio&gt;</system-err>
        </testcase>
        <testcase name="c" classname="x" time="0.1">
            <flakyFailure message="m" type="test failure"><system-err>first</system-err></flakyFailure>
            <system-err>second</system-err>
        </testcase>
        <testcase name="d" classname="x" time="300.0">
            <failure type="test timeout"/>
            <system-err>half</system-err>
        </testcase>
        <testcase name="e" classname="x" time="0"><skipped/></testcase>
    </testsuite>
</testsuites>"#;

    #[test]
    fn results_times_and_output_are_read() {
        let cases = parse(REPORT).unwrap();
        let results: Vec<_> = cases.iter().map(|case| case.result).collect();
        assert_eq!(results, [Result::Passed, Result::Flaky, Result::Failed, Result::Ignored]);
        assert_eq!((cases[0].name.as_str(), cases[0].seconds), ("x a::b", 1.5));
        assert_eq!(cases[0].output, "running 1 test\nSKIPPED: no <fio>\n");
        assert_eq!(cases[1].output, "first\nsecond\n");
        assert_eq!(cases[2].output, "half\n");
    }
}
