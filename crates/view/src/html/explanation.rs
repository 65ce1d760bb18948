//! An explanation of the cost: the time added per request and per byte, and the losses caused by layer and
//! cipher.

use cryptbench_answer::explanation::{
    addition, devices, label, per_byte, per_request, rounded, sizes, taken,
};
use cryptbench_answer::picture::MOST_CHARTED;
use cryptbench_answer::quantity::{
    NONE, binary_bytes, digits, fraction, kept, latency, percent, percent_digits,
};
use cryptbench_answer::wording::measure_words;
use cryptbench_estimate::arms::plain_arm;
use cryptbench_estimate::chain::{Chain, Row, chains, cipher_share};
use cryptbench_estimate::cpu::Measure;
use cryptbench_estimate::sweep::{Added, Sweep, most_added, sweeps};
use cryptbench_record::Workload;
use cryptbench_stats::Step;
use maud::{Markup, html};

use super::picture::{folded, numbers};
use super::{Figure, Part, Section, View, scrolling};
use crate::drawing::{Bar, Bars, Curve, Drawing, Lines, Place, arm_role};

/// Maximum number of sweeps with a separate table.
const MOST_SWEEPS: usize = 16;

/// Maximum number of arms in one chart of a sweep.
const MOST_CURVES: usize = 8;

/// Maximum number of chains with separate charts.
const MOST_CHAINS: usize = 4;

pub(super) fn sections(view: &View<'_>) -> impl Iterator<Item = Section> {
    added(view).into_iter().chain(layer_and_cipher(view))
}

fn added(view: &View<'_>) -> Option<Section> {
    let sweeps = sweeps(view.lookup);
    let found: Vec<(&Sweep<'_>, Vec<Added<'_>>)> =
        sweeps.iter().map(|s| (s, s.added(view.lookup))).filter(|(_, a)| !a.is_empty()).collect();
    let told = most_added(&found.first()?.1);
    let mut content = vec![Part::Text(html! {
        p.about {
            "Extra time per request as a function of block size, fitted by a + b · size with "
            (fraction(view.record.plan.confidence))
            " intervals. The time of a request is the time from one completion to the next. Where both parts are \
             equal, the software path and the work per byte cost the same."
        }
        @if let Some(told) = told {
            @for reason in [sizes(told), devices(told)].into_iter().flatten() { p { (reason) } }
        }
    })];
    for (sweep, arms) in found.iter().take(MOST_SWEEPS) {
        content.push(Part::Text(html! { h3 { (label(sweep)) } }));
        if view.draws() {
            content.extend(kept_by_size(view, sweep, arms).into_iter().flatten());
        }
        content.push(Part::Text(of_sweep(sweep, arms)));
    }
    let finding = "Time per request and per byte, fitted over block sizes";
    Some(Section::new("added", "Time added to a request", finding, content))
}

/// The time added to the requests of one sweep, in sentences and as a table.
fn of_sweep(sweep: &Sweep<'_>, arms: &[Added<'_>]) -> Markup {
    let headings = ["Choice", "Per request", "Per byte", "Equal at", "Largest deviation"];
    let rows: Vec<_> = arms.iter().map(|a| (a.arm.label.clone(), fields(a))).collect();
    let table = numbers(&headings.map(str::to_owned), &rows);
    html! {
        ul { @for arm in arms { li { (addition(sweep, arm)) } } }
        (scrolling(&format!("Added to {}", label(sweep)), &table))
    }
}

/// Each arm's share of plain speed at each size, with its interval, as a chart and as a table.
fn kept_by_size(view: &View<'_>, sweep: &Sweep<'_>, arms: &[Added<'_>]) -> Option<[Part; 2]> {
    let curve = |added: &Added<'_>| Curve {
        label: added.arm.label.clone(),
        points: sweep
            .workloads
            .iter()
            .enumerate()
            .filter_map(|(at, w)| {
                let kept = view.cell(w, added.arm)?.kept.as_ref()?;
                let interval = Some((100.0 * kept.low, 100.0 * kept.high));
                Some(Place { at, value: 100.0 * kept.ratio, interval })
            })
            .collect(),
        role: arm_role(view.arms(), added.arm),
    };
    let lines = Lines {
        title: format!("Percent of plain speed by block size, {}", label(sweep)),
        places: sweep.workloads.iter().map(|w| binary_bytes(w.block_size)).collect(),
        curves: arms.iter().take(MOST_CURVES).map(curve).collect(),
        unit: "% of plain",
        reference: Some(100.0),
    };
    let caption = "Percent of plain speed by block size".to_owned();
    let chart = Part::Charts(vec![Figure { caption, drawing: lines.draw()? }]);
    let table = format!("% of plain by block size, {}, as a table", label(sweep));
    let below = html! {
        @if arms.len() > MOST_CURVES {
            p.about { "Of " (arms.len()) " choices, the first " (MOST_CURVES) " are drawn; the table has all of them." }
        }
        (folded(&table, &kept_table(view, sweep, arms)))
    };
    Some([chart, Part::Text(below)])
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

fn layer_and_cipher(view: &View<'_>) -> Option<Section> {
    let chains = chains(view.lookup);
    if chains.is_empty() || view.workloads().len() > MOST_CHARTED {
        return None;
    }
    let mut content = vec![Part::Text(html! {
        p.about {
            "From plain through the path without its cipher to the encrypted choice: the cost of each step. A step's \
             loss is in percent of the speed before it, with its " (fraction(view.record.plan.confidence))
            " interval. Its share is of the whole loss on the log scale, and is left out where it cannot be \
             distinguished from 0 or 100 %. CPU is " (measure_words(Measure::of(view.record))) ", per request."
        }
    })];
    for (i, chain) in chains.iter().enumerate() {
        content.push(Part::Text(html! { h3 { (chain.arm.label) " over " (chain.layer.label) } }));
        if i < MOST_CHAINS && view.draws() {
            let figure = |row: &Row<'_>| {
                let drawing = waterfall(view, chain, row);
                Figure { caption: row.workload.label.clone(), drawing }
            };
            content.push(Part::Charts(chain.rows.iter().map(figure).collect()));
        }
        let name = format!("Steps of {}", chain.arm.label);
        content.push(Part::Text(scrolling(&name, &table(chain))));
    }
    Some(Section::new("steps", "Path or cipher", share_of_the_cipher(&chains), content))
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
        return "Loss of each step in percent of the speed before it".to_owned();
    };
    let range = match percent(100.0 * least) == percent(100.0 * most) {
        true => percent(100.0 * most),
        false => format!("{} to {}", percent_digits(100.0 * least), percent(100.0 * most)),
    };
    format!("The cipher causes {range} of the loss, where that can be determined")
}

fn waterfall(view: &View<'_>, chain: &Chain<'_>, row: &Row<'_>) -> Drawing {
    let level = |i: usize| 100.0 * row.speed.levels[i].mean.exp();
    let interval = |i: usize| {
        let e = &row.speed.levels[i];
        Some((100.0 * e.low.exp(), 100.0 * e.high.exp()))
    };
    let role = |arm| arm_role(view.arms(), arm);
    let step = |name: &str, from: f64, to: usize, arm| Bar {
        from,
        interval: interval(to),
        ..Bar::new(name, format!("{} %", taken(&row.speed.steps[to])), role(arm), level(to))
    };
    let mut rows = Vec::new();
    if let Some(plain) = plain_arm(view.record) {
        rows.push(Bar::new(&plain.label, "100 %".to_owned(), role(plain), 100.0));
    }
    rows.push(step("path takes", 100.0, 0, chain.layer));
    rows.push(step("cipher takes", level(0), 1, chain.arm));
    let left = Bar::new(&chain.arm.label, percent(level(1)), role(chain.arm), level(1));
    rows.push(Bar { interval: interval(1), ..left });
    let end = Bars::end_for(&rows, 104.0);
    let title = format!("Path and cipher, {}, {}", chain.arm.label, row.workload.label);
    let tick = |v: f64| format!("{v:.0}");
    Bars { title, rows, end, reference: Some(100.0), band: None, tick: &tick }.draw()
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
