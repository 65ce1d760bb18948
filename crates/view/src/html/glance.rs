//! The table at a glance: each arm's share of plain speed, with its verdict in words.

use cryptbench_answer::quantity::{NONE, count, fraction, headline, kept_parts, unbroken};
use cryptbench_answer::wording::{verdict_class, verdict_mark, verdict_words};
use cryptbench_catalog::Presentation;
use cryptbench_estimate::arms::{compared, plain_arm};
use cryptbench_record::{Arm, Cell, Verdict, Workload};
use maud::{Markup, html};

use super::trials::to_trials;
use super::{Section, View, scrolling};

/// With more arms than this, the workloads become the columns.
const MOST_COLUMNS: usize = 5;

pub(super) fn section(view: &View<'_>) -> Option<Section> {
    let arms = compared(view.arms());
    let unlock = view.record.plan.form() == Presentation::Unlock;
    if arms.is_empty() || view.workloads().is_empty() || unlock {
        return None;
    }
    let table = match arms.len() <= MOST_COLUMNS {
        true => by_workload(view, &arms),
        false => by_arm(view, &arms),
    };
    let cells =
        view.lookup.cells.iter().filter(|c| c.kept.is_some() && arms.iter().any(|a| a.id == c.arm));
    let finding =
        format!("{} with intervals and verdicts", count(cells.count(), "figure", "figures"));
    let content = html! {
            p.about {
                "Percent of plain speed with its "
                (fraction(view.record.plan.confidence)) " interval. "
                span.nobreak { "Noise" } " is the difference of plain storage from itself. Each number links to its \
                raw trials."
            }
            (scrolling("Percent of plain speed by workload and choice", &table))
    };
    Some(Section::text("glance", "% of plain speed", finding, content))
}

fn by_workload(view: &View<'_>, arms: &[&Arm]) -> Markup {
    let columns = ["Plain", "Noise"].into_iter().chain(arms.iter().map(|a| a.label.as_str()));
    let rows = html! {
        @for workload in view.workloads() {
            (row(&workload.label, html! {
                (field("Plain", &speed(view, workload)))
                (field("Noise", &noise(view, workload)))
                @for arm in arms { (judged(view, &arm.label, view.cell(workload, arm))) }
            }))
        }
    };
    table("Workload", columns, &rows)
}

fn by_arm(view: &View<'_>, arms: &[&Arm]) -> Markup {
    let each = |content: &dyn Fn(&Workload) -> Markup| -> Markup {
        html! { @for workload in view.workloads() { (content(workload)) } }
    };
    let rows = html! {
        (row("Plain", each(&|w| field(&w.label, &speed(view, w)))))
        (row("Noise", each(&|w| field(&w.label, &noise(view, w)))))
        @for arm in arms {
            (row(&arm.label, each(&|w| judged(view, &w.label, view.cell(w, arm)))))
        }
    };
    table("Choice", view.workloads().iter().map(|w| w.label.as_str()), &rows)
}

/// A table that narrow screens show as lists of column names and values, one per row. The ARIA roles are
/// explicit, because some browsers drop them if a table has a different layout.
fn table<'a>(first: &str, columns: impl Iterator<Item = &'a str>, rows: &Markup) -> Markup {
    html! {
        table.glance role="table" {
            thead role="rowgroup" {
                tr role="row" {
                    th scope="col" role="columnheader" { (first) }
                    @for column in columns {
                        th.number scope="col" role="columnheader" { (column) }
                    }
                }
            }
            tbody role="rowgroup" { (rows) }
        }
    }
}

#[allow(clippy::needless_pass_by_value, reason = "markup is built in place")]
fn row(name: &str, fields: Markup) -> Markup {
    html! { tr role="row" { th scope="row" role="rowheader" { (name) } (fields) } }
}

fn field(column: &str, text: &str) -> Markup {
    html! { td.number role="cell" data-label=(column) { (text) } }
}

fn speed(view: &View<'_>, workload: &Workload) -> String {
    plain_arm(view.record)
        .and_then(|plain| view.cell(workload, plain))
        .filter(|c| c.trials > 0)
        .map_or_else(|| NONE.to_owned(), |c| headline(workload, c))
}

fn noise(view: &View<'_>, workload: &Workload) -> String {
    plain_arm(view.record)
        .and_then(|plain| view.cell(workload, plain)?.noise_of_mean)
        .map_or_else(|| NONE.to_owned(), fraction)
}

fn judged(view: &View<'_>, column: &str, cell: Option<&Cell>) -> Markup {
    let Some((cell, verdict)) = cell.and_then(|c| Some((c, c.verdict.as_ref()?))) else {
        return field(column, NONE);
    };
    let (ratio, interval) = match (&cell.kept, verdict) {
        (_, Verdict::Cached) | (None, _) => (NONE.to_owned(), String::new()),
        (Some(estimate), _) => kept_parts(estimate),
    };
    html! {
        td.number.judged.(verdict_class(verdict)) role="cell" data-label=(column) {
            div {
                span.kept { b { (to_trials(view, cell, &ratio)) } " " span.interval { (interval) } }
                span.words {
                    @if !matches!(verdict, Verdict::Cached | Verdict::TooFewPairs) {
                        span.mark aria-hidden="true" { (verdict_mark(verdict)) } " "
                    }
                    (unbroken(&verdict_words(verdict)))
                }
            }
        }
    }
}
