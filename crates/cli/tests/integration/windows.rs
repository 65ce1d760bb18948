//! A record that cryptbench.exe wrote (`cargo xtask cross windows`) is read and rendered here.

use std::path::Path;

use crate::sandbox::{Sandbox, text};

#[test]
fn a_record_made_under_wine_is_rendered_here() {
    let s = Sandbox::new();
    // A report is saved next to its record.
    let record = s.out().join("record.json");
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/wine/record.json");
    std::fs::copy(fixture, &record).unwrap();
    let record = record.to_str().unwrap();
    let said = |format: &str| {
        let done = s.run(&["report", record, "--format", format]);
        assert!(done.status.success(), "{format}: {}", text(&done.stderr));
        text(&done.stdout)
    };
    let told = s.run(&["report", record, "--full"]);
    let told = text(&told.stdout);
    for expected in [r"C:\measured\plain", "completion port", "FILE_FLAG_NO_BUFFERING", "Wine"] {
        assert!(told.contains(expected), "{expected}: {told}");
    }
    let page = s.target().join("page.html");
    let done = s.run(&["report", record, "--output", page.to_str().unwrap()]);
    assert!(done.status.success(), "{}", text(&done.stderr));
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("NTFS"));
    let csv = said("csv");
    assert!(csv.lines().count() > 3, "{csv}");
}
