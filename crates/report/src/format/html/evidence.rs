//! What lies on the disk: whether data came back, whether it is encrypted, and what shows all the same.

use cryptbench_record::Record;
use maud::{Markup, html};

use super::scrolling;
use crate::evidence::{Row, method, rows};

/// The section; nothing where no arm was looked at.
pub(super) fn section(record: &Record) -> Markup {
    let rows = rows(record);
    html! {
        @if !rows.is_empty() {
            section aria-labelledby="evidence" {
                h2 #evidence { "What lies on the disk" }
                @for said in method(record) { p { (said) } }
                (scrolling("What lies on the disk, by arm", &table(&rows)))
            }
        }
    }
}

fn table(rows: &[Row<'_>]) -> Markup {
    html! {
        table {
            thead {
                tr {
                    th scope="col" { "Arm" }
                    th.number scope="col" { "Read back" }
                    th scope="col" { "Plaintext" }
                    th.number scope="col" { "Bits/byte" }
                    th scope="col" { "What shows" }
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
