//! What is stored on the disk: whether data was read back intact, whether it is encrypted, and what remains visible.

use cryptbench_answer::evidence::{Row, method, rows};
use cryptbench_record::Record;
use maud::{Markup, html};

use super::{Section, scrolling};

/// The section; `None` if no arm was examined.
pub(super) fn section(record: &Record) -> Option<Section> {
    let rows = rows(record);
    if rows.is_empty() {
        return None;
    }
    let content = html! {
                @for said in method(record) { p { (said) } }
                (scrolling("Data stored on the disk, by choice", &table(&rows)))
    };
    let finding = match () {
        () if rows.iter().any(|row| row.wrong) => "A check failed",
        () if rows.iter().all(|row| row.plaintext != "not searched") => {
            "No plaintext found in encrypted data; written data was read back intact"
        }
        () => "All possible checks passed",
    };
    Some(Section::text("evidence", "Data stored on the disk", finding, content))
}

fn table(rows: &[Row<'_>]) -> Markup {
    html! {
        table {
            thead {
                tr {
                    th scope="col" { "Choice" }
                    th.number scope="col" { "Read back" }
                    th scope="col" { "Plaintext" }
                    th.number scope="col" { "Bits/byte" }
                    th scope="col" { "Visible" }
                }
            }
            tbody {
                @for row in rows {
                    tr {
                        th scope="row" { (row.arm.label) }
                        td.number { (row.read_back) }
                        td { @if row.wrong { strong { (row.plaintext) } } @else { (row.plaintext) } }
                        td.number { (row.entropy) }
                        td { (row.reveals) }
                    }
                }
            }
        }
    }
}
