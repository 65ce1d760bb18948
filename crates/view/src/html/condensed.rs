//! Many workloads in few rows: each arm's share of plain speed in each series.

use cryptbench_answer::picture::condensed::{Series, condensed};
use cryptbench_answer::quantity::{NONE, fraction, thousands};
use maud::{Markup, html};

use super::{Section, View, scrolling};

pub(super) fn section(view: &View<'_>) -> Option<Section> {
    let series = condensed(view.lookup);
    if series.iter().all(|s| s.arms.is_empty()) {
        return None;
    }
    let workloads = thousands(view.workloads().len() as f64);
    let finding = format!("{workloads} workloads in {} series", thousands(series.len() as f64));
    let content = html! {
            p.about {
                (workloads) " workloads. Those that differ only in sizes share a row: geometric mean of the percent \
                of plain speed, its minimum, and the number of verdicts of each kind (▼ slower, ▲ faster, ▽ △ \
                likely, = same within the margin, ~ no loss found, ? undecided, · too few repeats, c served from a \
                cache)."
            }
            (scrolling("Percent of plain speed by series and choice", &table(&series)))
    };
    Some(Section::text("glance", "% of plain speed", finding, content))
}

fn table(series: &[Series<'_>]) -> Markup {
    html! {
        table.numbers {
            thead {
                tr {
                    th scope="col" { "Choice" }
                    @for name in ["% of plain", "Least"] { th.number scope="col" { (name) } }
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
