//! Times to unlock volumes as bars, and as a table that also shows their parts.

use cryptbench_answer::picture::unlock;
use cryptbench_answer::picture::unlock::{Unlock, part_words};
use cryptbench_answer::quantity::{NONE, digits, seconds};
use cryptbench_record::Workload;
use maud::{Markup, html};

use super::{Figure, Part, Picture, View};
use crate::drawing::{Bar, Bars, Drawing, arm_role};
use crate::html::scrolling;

pub(super) fn picture(view: &View<'_>) -> Option<Picture> {
    let found = unlock::unlock(view.lookup)?;
    let charts = found.workloads.iter().enumerate().map(|(i, w)| {
        let drawing = chart(view, &found, i, w);
        Figure { caption: w.label.clone(), drawing }
    });
    let charts = vec![Part::Charts(charts.collect())];
    Some(Picture {
        heading: "Time to open a volume".to_owned(),
        about: html! {
            "Seconds from the passphrase to the first read (for a wrong passphrase, to the refusal): median of the \
             trials, with the interval of the median as whiskers. All charts have the same scale."
        },
        charts,
        table: scrolling("Time to open a volume", &table(&found)),
        left_out: 0,
    })
}

fn bars(view: &View<'_>, found: &Unlock<'_>, way: usize) -> Vec<Bar> {
    found
        .rows
        .iter()
        .filter_map(|row| {
            let o = row.times[way].as_ref()?;
            let role = arm_role(view.arms(), row.arm);
            let bar = Bar::new(&row.arm.label, seconds(o.median), role, o.median);
            Some(Bar { interval: Some((o.low, o.high)), ..bar })
        })
        .collect()
}

fn chart(view: &View<'_>, found: &Unlock<'_>, way: usize, workload: &Workload) -> Drawing {
    let all: Vec<Bar> = (0..found.workloads.len()).flat_map(|i| bars(view, found, i)).collect();
    let bars = Bars {
        title: format!("Seconds, {}", workload.label),
        end: Bars::end_for(&all, 0.0),
        rows: bars(view, found, way),
        reference: None,
        band: None,
        tick: &|s| if s > 0.0 { format!("{} s", digits(s)) } else { "0".to_owned() },
    };
    bars.draw()
}

fn table(found: &Unlock<'_>) -> Markup {
    let columns = 4 + found.parts.len();
    html! {
        table.numbers {
            thead {
                tr {
                    th scope="col" { "Volume" }
                    @for name in ["Median", "Interval", "Trials"] { th.number scope="col" { (name) } }
                    @for name in &found.parts { th.number scope="col" { (part_words(name)) } }
                }
            }
            @for (i, workload) in found.workloads.iter().enumerate() {
                tbody {
                    tr.workload { th colspan=(columns) scope="rowgroup" { (workload.label) } }
                    @for row in &found.rows {
                        @if let Some(o) = &row.times[i] {
                            tr {
                                th scope="row" { (row.arm.label) }
                                td.number { (seconds(o.median)) }
                                td.number { (seconds(o.low)) " to " (seconds(o.high)) }
                                td.number { (o.trials) }
                                @for part in &o.parts {
                                    td.number { (part.map_or_else(|| NONE.to_owned(), seconds)) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}
