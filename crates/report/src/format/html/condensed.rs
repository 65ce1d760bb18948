//! Many workloads in few rows: what each arm keeps in each series.

use maud::{Markup, html};

use super::{View, scrolling};
use crate::presentation::condensed::{Series, condensed};
use crate::quantity::{NONE, fraction, thousands};

pub(super) fn section(view: &View<'_>) -> Markup {
    let series = condensed(&view.lookup);
    if series.iter().all(|s| s.arms.is_empty()) {
        return html! {};
    }
    let workloads = thousands(view.workloads().len() as f64);
    html! {
        section aria-labelledby="glance" {
            h2 #glance { "Speed kept" }
            p.about {
                (workloads) " workloads, those that differ in sizes only in one row: the geometric mean of the \
                 percent of plain speed that is kept, where it is least, and the verdicts counted (▼ costs, ▲ gains, \
                 = cannot be told from plain, ? open, c answered by a cache)."
            }
            (scrolling("Speed kept by series and arm", &table(&series)))
        }
    }
}

fn table(series: &[Series<'_>]) -> Markup {
    html! {
        table.numbers {
            thead {
                tr {
                    th scope="col" { "Arm" }
                    @for name in ["Kept", "Least kept"] { th.number scope="col" { (name) } }
                    th scope="col" { "Where" }
                    th.number scope="col" { "Verdicts" }
                }
            }
            @for one in series {
                tbody {
                    tr.workload {
                        th colspan="5" scope="rowgroup" {
                            (one.name)
                            span.interval { (thousands(one.workloads.len() as f64)) " workloads" }
                        }
                    }
                    @for tally in &one.arms {
                        tr {
                            th scope="row" { (tally.arm.label) }
                            td.number { (tally.mean_ratio.map_or_else(|| NONE.to_owned(), fraction)) }
                            td.number { (tally.worst.map_or_else(|| NONE.to_owned(), |(r, _)| fraction(r))) }
                            td { (tally.worst.map_or(NONE, |(_, w)| w.label.as_str())) }
                            td.number { (tally.marks()) }
                        }
                    }
                }
            }
        }
    }
}
