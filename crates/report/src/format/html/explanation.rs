//! The cost explained: the time added per request and per byte, and the losses in layer and cipher.

use cryptbench_record::Workload;
use cryptbench_stats::Step;
use maud::{Markup, html};

use super::chart::{Bar, Bars, Curve, Lines, Point};
use super::palette::arm_colour;
use super::picture::{folded, numbers};
use super::{View, fold, scrolling};
use crate::analysis::plain_arm;
use crate::cpu::Measure;
use crate::explanation::chain::{Chain, Row, chains, cipher_share, taken};
use crate::explanation::reasons::{addition, devices, per_byte, per_request, rounded, sizes};
use crate::explanation::sweep::{Added, Sweep, most_added, sweeps};
use crate::presentation::MOST_CHARTED;
use crate::quantity::{
    NONE, binary_bytes, digits, fraction, kept, latency, percent, percent_digits,
};

/// Sweeps with a table of their own.
const MOST_SWEEPS: usize = 16;

/// Arms in one chart of a sweep.
const MOST_CURVES: usize = 8;

/// Chains with charts of their own.
const MOST_CHAINS: usize = 4;

pub(super) fn sections(view: &View<'_>) -> Markup {
    html! {
        (added(view))
        (layer_and_cipher(view))
    }
}

fn added(view: &View<'_>) -> Markup {
    let sweeps = sweeps(&view.lookup);
    let found: Vec<(&Sweep<'_>, Vec<Added<'_>>)> =
        sweeps.iter().map(|s| (s, s.added(&view.lookup))).filter(|(_, a)| !a.is_empty()).collect();
    let Some((_, first)) = found.first() else { return html! {} };
    let told = most_added(first);
    let headings = ["Choice", "Per request", "Per byte", "Equal at", "Farthest from the line"];
    let headings = headings.map(str::to_owned);
    let content = html! {
            p.about {
                "The extra time of a request over the block sizes, fitted by a + b · size with "
                (fraction(view.record.plan.confidence))
                " intervals; the time of a request is what passes from one completion to the next. Where both parts are equal \
                 the software path and the work on the bytes weigh the same."
            }
            @if let Some(told) = told {
                @for reason in [sizes(told), devices(told)].into_iter().flatten() { p { (reason) } }
            }
            @for (i, (sweep, arms)) in found.iter().take(MOST_SWEEPS).enumerate() {
                h3 { (sweep.label()) }
                @if view.draws() { (kept_by_size(view, sweep, arms, i)) }
                ul { @for arm in arms { li { (addition(sweep, arm)) } } }
                @let rows: Vec<_> = arms.iter().map(|a| (a.arm.label.clone(), fields(a))).collect();
                (scrolling(&format!("Added to {}", sweep.label()), &numbers(&headings, &rows)))
            }
    };
    fold(
        "added",
        "What is added to a request",
        "Time per request and per byte, fitted over block sizes",
        &content,
    )
}

/// Share of plain speed of each arm at each size, with its interval.
fn kept_by_size(view: &View<'_>, sweep: &Sweep<'_>, arms: &[Added<'_>], i: usize) -> Markup {
    let curve = |added: &Added<'_>| Curve {
        label: added.arm.label.clone(),
        points: sweep
            .workloads
            .iter()
            .enumerate()
            .filter_map(|(at, w)| {
                let kept = view.cell(w, added.arm)?.kept.as_ref()?;
                let interval = Some((100.0 * kept.low, 100.0 * kept.high));
                Some(Point { at, value: 100.0 * kept.ratio, interval })
            })
            .collect(),
        colour: arm_colour(view.arms(), added.arm),
    };
    let lines = Lines {
        id: format!("sweep-{i}"),
        title: format!("Percent of plain speed by block size, {}", sweep.label()),
        places: sweep.workloads.iter().map(|w| binary_bytes(w.block_size)).collect(),
        curves: arms.iter().take(MOST_CURVES).map(curve).collect(),
        unit: "% of plain",
        reference: Some(100.0),
    };
    let Some(chart) = lines.draw() else { return html! {} };
    html! {
        div.wide {
            figure {
                figcaption { "Percent of plain speed by block size" }
                (chart)
                p.key {
                    @for curve in &lines.curves {
                        span.nobreak {
                            span.swatch style={ "color:var(" (curve.colour.property()) ")" } aria-hidden="true" { "■" }
                            " " (curve.label)
                        }
                        " "
                    }
                }
            }
        }
        @if arms.len() > MOST_CURVES {
            p.about { "Of " (arms.len()) " choices the first " (MOST_CURVES) " are drawn; the table has all." }
        }
        (folded(&format!("% of plain by block size, {}, as a table", sweep.label()), &kept_table(view, sweep, arms)))
    }
}

fn kept_table(view: &View<'_>, sweep: &Sweep<'_>, arms: &[Added<'_>]) -> Markup {
    let headings: Vec<String> =
        ["Block".to_owned()].into_iter().chain(arms.iter().map(|a| a.arm.label.clone())).collect();
    let field = |w: &Workload, a: &Added<'_>| {
        view.cell(w, a.arm).and_then(|c| c.kept.as_ref()).map_or_else(|| NONE.to_owned(), kept)
    };
    let row =
        |w: &&Workload| (binary_bytes(w.block_size), arms.iter().map(|a| field(w, a)).collect());
    let rows: Vec<(String, Vec<String>)> = sweep.workloads.iter().map(row).collect();
    numbers(&headings, &rows)
}

fn fields(added: &Added<'_>) -> Vec<String> {
    let model = &added.model;
    let (worst, bytes) = model.worst;
    let balance = model.balance_bytes.map(|b| binary_bytes(rounded(b)));
    vec![
        per_request(model),
        per_byte(model),
        balance.unwrap_or_else(|| NONE.to_owned()),
        format!("{} at {}", percent(100.0 * worst), binary_bytes(bytes as u64)),
    ]
}

fn layer_and_cipher(view: &View<'_>) -> Markup {
    let chains = chains(&view.lookup);
    if chains.is_empty() || view.workloads().len() > MOST_CHARTED {
        return html! {};
    }
    let content = html! {
            p.about {
                "From plain over the path without its cipher to the encrypted choice: what each step takes. A step's loss \
                 is in percent of the speed before it, with its " (fraction(view.record.plan.confidence))
                " interval; its share is of the whole loss in logarithms, left out where it cannot be told: the \
                 whole from nothing, or the share from all of it. CPU is " (Measure::of(view.record).words()) ", of one request."
            }
            @for (i, chain) in chains.iter().enumerate() {
                h3 { (chain.arm.label) " over " (chain.layer.label) }
                @if i < MOST_CHAINS && view.draws() {
                    div.multiples {
                        @for (j, row) in chain.rows.iter().enumerate() {
                            figure {
                                figcaption { (row.workload.label) }
                                (waterfall(view, chain, row, format!("steps-{i}-{j}")))
                            }
                        }
                    }
                }
                (scrolling(&format!("Steps of {}", chain.arm.label), &table(chain)))
            }
    };
    fold("steps", "Path or cipher", &share_of_the_cipher(&chains), &content)
}

/// The share of the loss that the cipher causes, if it is known.
fn share_of_the_cipher(chains: &[Chain<'_>]) -> String {
    let shares: Vec<f64> = chains
        .iter()
        .flat_map(|c| &c.rows)
        .filter_map(|row| Some(cipher_share(row)?.value))
        .collect();
    let (Some(least), Some(most)) =
        (shares.iter().copied().reduce(f64::min), shares.iter().copied().reduce(f64::max))
    else {
        return "What each takes of the speed before it".to_owned();
    };
    let range = match percent(100.0 * least) == percent(100.0 * most) {
        true => percent(100.0 * most),
        false => format!("{} to {}", percent_digits(100.0 * least), percent(100.0 * most)),
    };
    format!("The cipher causes {range} of the loss, where that can be told")
}

fn waterfall(view: &View<'_>, chain: &Chain<'_>, row: &Row<'_>, id: String) -> Markup {
    let level = |i: usize| 100.0 * row.speed.levels[i].mean.exp();
    let interval = |i: usize| {
        let e = &row.speed.levels[i];
        Some((100.0 * e.low.exp(), 100.0 * e.high.exp()))
    };
    let colour = |arm| arm_colour(view.arms(), arm);
    let step = |name: &str, from: f64, to: usize, arm| Bar {
        label: name.to_owned(),
        value_text: format!("{} %", taken(&row.speed.steps[to])),
        more: String::new(),
        from,
        value: Some(level(to)),
        interval: interval(to),
        colour: colour(arm),
    };
    let mut rows = Vec::new();
    if let Some(plain) = plain_arm(view.record) {
        rows.push(Bar {
            label: plain.label.clone(),
            value_text: "100 %".to_owned(),
            more: String::new(),
            from: 0.0,
            value: Some(100.0),
            interval: None,
            colour: colour(plain),
        });
    }
    rows.push(step("path takes", 100.0, 0, chain.layer));
    rows.push(step("cipher takes", level(0), 1, chain.arm));
    rows.push(Bar {
        label: chain.arm.label.clone(),
        value_text: percent(level(1)),
        more: String::new(),
        from: 0.0,
        value: Some(level(1)),
        interval: interval(1),
        colour: colour(chain.arm),
    });
    let end = Bars::end_for(&rows, 104.0);
    let title = format!("Path and cipher, {}, {}", chain.arm.label, row.workload.label);
    let tick = |v: f64| format!("{v:.0}");
    Bars { id, title, rows, end, reference: Some(100.0), band: None, tick }.draw()
}

fn table(chain: &Chain<'_>) -> Markup {
    let headings = [
        "Workload",
        "Path, %",
        "Cipher, %",
        "Cipher's share",
        "CPU of the path",
        "CPU of the cipher",
    ];
    let rows: Vec<_> = chain
        .rows
        .iter()
        .map(|row| {
            let mut values: Vec<String> = row.speed.steps.iter().map(taken).collect();
            values.push(share(row));
            for i in 0..2 {
                let step = row.cpu.as_ref().map(|w| &w.steps[i]);
                values.push(step.map_or_else(|| NONE.to_owned(), cpu));
            }
            (row.workload.label.clone(), values)
        })
        .collect();
    numbers(&headings.map(str::to_owned), &rows)
}

fn share(row: &Row<'_>) -> String {
    cipher_share(row).map_or_else(
        || NONE.to_owned(),
        |s| {
            let [value, low, high] = [s.value, s.low, s.high].map(|v| percent_digits(100.0 * v));
            format!("{value} % [{low}, {high}]")
        },
    )
}

/// `+1.21 µs [1.10, 1.32]`.
fn cpu(step: &Step) -> String {
    let c = &step.change;
    let [low, high] = [c.low, c.high].map(|s| digits(1e6 * s));
    format!("{} [{low}, {high}]", latency(1e6 * c.mean))
}
