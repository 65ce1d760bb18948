//! The bottleneck of each choice: the requests that reached the disk, the cause, and the speed of plain storage
//! by queue depth.

use cryptbench_answer::quantity::{NONE, binary_bytes, latency, percent, requests};
use cryptbench_answer::why::{cause, change};
use cryptbench_estimate::binding::{AtDisk, Bound, by_depth};
use cryptbench_record::{Operation, Pattern, Workload};
use cryptbench_stats::bottleneck::TOLERANCE;
use maud::html;

use super::picture::{folded, numbers};
use super::{Figure, Part, Section, View};
use crate::drawing::{Cell, Depth, arm_role};

pub(super) fn section(view: &View<'_>) -> Option<Section> {
    let is_told =
        |(_, _, b): &&Bound<'_>| b.loses() && (b.disk.is_some() || b.bottleneck.is_some());
    let found: Vec<_> = view.report.bindings.iter().filter(is_told).collect();
    if found.is_empty() {
        return None;
    }
    let named = found.iter().filter(|(_, _, b)| b.bottleneck.is_some()).count();
    let mut content = vec![Part::Text(html! {
        p.about {
            "Requests that reached the disk from each choice that loses speed, and the cause that they indicate. A \
             cause is given only if it predicts the measured speed within " (percent(100.0 * (TOLERANCE - 1.0))) ": \
            from plain storage's speed with \
             as many requests in flight, from the choice's own speed with one request at a time, or from the CPU time \
             per request. A fully used core, fully used CPUs and a cache are detected directly."
        }
    })];
    if view.draws() {
        let charts: Vec<Figure> = charts(view, &found).collect();
        if !charts.is_empty() {
            content.push(Part::Charts(charts));
        }
    }
    content.push(Part::Text(html! {
        ul { @for bound in &found { @if let Some(words) = told(view, bound) { li { (words) } } } }
        (folded("Requests that reached the disk, as a table", &table(view, &found)))
    }));
    let finding = format!("{named} of {} figures are explained", found.len());
    Some(Section::new("why", "Why", finding, content))
}

fn charts<'a>(view: &'a View<'_>, found: &'a [&Bound<'_>]) -> impl Iterator<Item = Figure> + 'a {
    by_depth(view.record).into_iter().filter_map(move |(operation, bytes, points)| {
        let what = match operation {
            Operation::Read => "reads",
            _ => "writes",
        };
        let alike = |w: &Workload| {
            w.operation == operation && w.block_size == bytes && w.pattern == Pattern::Random
        };
        let names = &view.report.names;
        let cell = |(w, arm, b): &&Bound<'_>| {
            let flow = b.disk?.arm;
            Some(Cell {
                label: format!("{}, {}", names.arm(arm), names.workload(w)),
                arm: names.arm(arm).to_owned(),
                in_flight: flow.in_flight,
                rate: flow.rate * flow.per_request,
                role: arm_role(view.arms(), arm),
            })
        };
        let cells = found.iter().filter(|(w, _, _)| alike(w)).filter_map(cell);
        let caption = format!(
            "Random {what} of {} a second, by requests in flight at the disk",
            binary_bytes(bytes)
        );
        let plain = points.iter().map(|p| (p.in_flight, p.rate)).collect();
        let depth = Depth { title: caption.clone(), plain, cells: cells.collect() };
        Some(Figure { caption, drawing: depth.draw()? })
    })
}

fn table(view: &View<'_>, found: &[&Bound<'_>]) -> maud::Markup {
    let headings = [
        "Choice and workload",
        "In flight",
        "Plain",
        "Disk requests per request",
        "Bytes per disk request",
        "Time per disk request",
        "Extra CPU time",
        "Busiest thread",
        "Predicted",
        "Measured",
    ];
    let rows: Vec<(String, Vec<String>)> = found.iter().map(|bound| row(view, bound)).collect();
    numbers(&headings.map(str::to_owned), &rows)
}

/// The cause as a sentence, and what would change it.
fn told(view: &View<'_>, (workload, arm, b): &Bound<'_>) -> Option<String> {
    let of = b.bottleneck.as_ref()?;
    let names = &view.report.names;
    let (arm, workload) = (names.arm(arm), names.workload(workload));
    Some(format!("{arm}, {workload}: {}. {}", cause(b, of), change(&of.cause)))
}

fn row(view: &View<'_>, (workload, arm, b): &Bound<'_>) -> (String, Vec<String>) {
    let names = &view.report.names;
    let name = format!("{}, {}", names.arm(arm), names.workload(workload));
    let none = || NONE.to_owned();
    let at = |of: &dyn Fn(&AtDisk) -> String| b.disk.as_ref().map_or_else(none, of);
    let values = vec![
        at(&|d| format!("{:.1} of {}", d.arm.in_flight, b.asked.depth)),
        at(&|d| format!("{:.1}", d.plain.in_flight)),
        at(&|d| format!("{:.2}", d.arm.per_request)),
        at(&|d| binary_bytes(d.arm.bytes.round() as u64)),
        at(&|d| latency(1e6 * d.arm.residence_s())),
        b.asked.work_s.map_or_else(none, |seconds| latency(1e6 * seconds)),
        b.asked.busiest_thread.map_or_else(none, |share| percent(100.0 * share)),
        b.bottleneck.and_then(|of| of.predicted).map_or_else(none, requests),
        requests(b.asked.rate),
    ];
    (name, values)
}
