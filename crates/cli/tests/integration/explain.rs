//! `cryptbench report RECORD --explain CELL`: the text for a command line, and names that are not cells.

use std::path::Path;
use std::process::Output;

use crate::sandbox::{Sandbox, text};

fn explained(cell: &str, columns: &str) -> Output {
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/builtin-only.json");
    let sandbox = Sandbox::new();
    let args = ["report", fixture.to_str().unwrap(), "--explain", cell];
    let done = sandbox.command(&args).env("COLUMNS", columns).output().unwrap();
    assert!(sandbox.left_behind().is_empty(), "no page is written");
    done
}

#[test]
fn everything_about_one_cell_of_a_real_record() {
    let record = cryptbench_record::read(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/builtin-only.json"),
    )
    .unwrap();
    let cells = cryptbench_estimate::cells::cells(&record);
    for cell in cells.iter().filter(|c| c.kept.is_some()) {
        let done = explained(&format!("{}/{}", cell.workload, cell.arm), "200");
        let shown = text(&done.stdout);
        assert!(done.status.success(), "{}", text(&done.stderr));
        let verdict = cryptbench_answer::wording::verdict_words(cell.verdict.as_ref().unwrap());
        assert!(shown.contains(&verdict), "{verdict} in {shown}");
        let kept = format!("{:.0} % [", 100.0 * cell.kept.unwrap().ratio);
        assert!(shown.contains(&kept), "{kept} in {shown}");
        for words in ["why", "noise", "chance", "p99", "process", "device", "% of plain"] {
            assert!(shown.contains(words), "{words} in {shown}");
        }
        let blocks = record.trials_of(&cell.workload, &cell.arm).len();
        let rows = shown.lines().rev().take_while(|l| !l.starts_with('─')).count();
        assert_eq!(rows, blocks, "a row for each block: {shown}");
    }
}

#[test]
fn a_workload_alone_tells_all_of_its_arms() {
    let shown = text(&explained("rand. read 4 KiB QD1", "80").stdout);
    for arm in ["pass-through (", "AES-256 alone, 512 B (", "AES-256 alone, 4096 B ("] {
        assert!(shown.lines().any(|l| l.starts_with(arm)), "{arm} in {shown}");
    }
    assert!(shown.lines().all(|l| textwrap::core::display_width(l) <= 80), "{shown}");
}

#[test]
fn what_is_no_cell_or_several_is_a_fault_of_the_command_line() {
    for (cell, words) in [
        ("nothing of the kind", "unknown workload"),
        ("read", "matches several workloads"),
        ("rand. read 4 KiB QD1/aes", "matches several choices"),
    ] {
        let done = explained(cell, "80");
        let said = text(&done.stderr);
        assert_eq!(done.status.code(), Some(2), "{said}");
        assert!(said.contains(words) && said.lines().count() > 2, "{said}");
        assert!(done.stdout.is_empty());
    }
}
