//! Copies as bars that show their speed, and as the table that the dd script prints.

use cryptbench_answer::picture::copies;
use cryptbench_answer::picture::copies::Copy;
use cryptbench_answer::quantity::{NONE, megabytes, seconds};
use cryptbench_record::Workload;
use maud::{Markup, html};

use super::{Figure, Part, Picture, View, kept};
use crate::drawing::{Bar, Bars, Drawing, arm_role};
use crate::html::scrolling;

pub(super) fn picture(view: &View<'_>) -> Option<Picture> {
    let found = copies::copies(view.lookup);
    let charts = found.iter().map(|(w, of_arms)| {
        let drawing = chart(view, w, of_arms);
        Figure { caption: w.label.clone(), drawing }
    });
    let charts = vec![Part::Charts(charts.collect())];
    (!found.is_empty()).then(|| Picture {
        heading: "Copies".to_owned(),
        about: html! {
            "Bytes of a copy divided by the mean time, " (copies::rule_words(view.lookup)) "; the whiskers are one \
             standard deviation of that time to each side. Each chart has its own scale. The % of plain speed is our \
             own estimate, from all trials."
        },
        charts,
        table: scrolling("Copies", &table(&found)),
        left_out: 0,
    })
}

fn chart(view: &View<'_>, workload: &Workload, of_arms: &[Copy<'_>]) -> Drawing {
    let rows: Vec<Bar> = of_arms
        .iter()
        .map(|copy| {
            let bytes = copy.speed.map(|speed| speed * copy.mean_s / 1e6);
            let at = |s: f64| bytes.map(|b| b / s);
            let interval = copy.sd_s.and_then(|sd| {
                let shortest = copy.mean_s - sd;
                at(copy.mean_s + sd).zip(at(shortest).filter(|_| shortest > 0.0))
            });
            let text = copy.speed.map_or_else(|| NONE.to_owned(), megabytes);
            let role = arm_role(view.arms(), copy.arm);
            let value = copy.speed.map(|s| s / 1e6);
            Bar { value, interval, ..Bar::new(&copy.arm.label, text, role, 0.0) }
        })
        .collect();
    let bars = Bars {
        title: format!("Speed, {}", workload.label),
        end: Bars::end_for(&rows, 0.0),
        rows,
        reference: None,
        band: None,
        tick: &crate::html::figures::compact,
    };
    bars.draw()
}

fn table(found: &[(&Workload, Vec<Copy<'_>>)]) -> Markup {
    html! {
        table.numbers {
            thead {
                tr {
                    th scope="col" { "Choice" }
                    @for name in ["Mean", "Standard deviation", "Speed", "Trials used", "Kept %"] {
                        th.number scope="col" { (name) }
                    }
                }
            }
            @for (workload, of_arms) in found {
                tbody {
                    tr.workload { th colspan="6" scope="rowgroup" { (workload.label) } }
                    @for copy in of_arms {
                        tr {
                            th scope="row" { (copy.arm.label) }
                            td.number { (seconds(copy.mean_s)) }
                            td.number { (copy.sd_s.map_or_else(|| NONE.to_owned(), seconds)) }
                            td.number { (copy.speed.map_or_else(|| NONE.to_owned(), megabytes)) }
                            td.number { (copy.used) " of " (copy.trials) }
                            td.number { (kept(Some(&copy.reading))) }
                        }
                    }
                }
            }
        }
    }
}
