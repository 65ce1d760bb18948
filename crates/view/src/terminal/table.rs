//! The table. Depending on the width, it has one row per arm with all figures, one column per arm, or one row
//! per arm with few figures.

use comfy_table::Table;
use cryptbench_answer::quantity::{
    NONE, cpu, digits, headline, is_time, kept, latency, percent, rate,
};
use cryptbench_answer::wording::{list, verdict_mark};
use cryptbench_estimate::arms::compared;
use cryptbench_estimate::cpu::Measure;
use cryptbench_estimate::device::moves_bytes;
use cryptbench_estimate::lookup::Lookup;
use cryptbench_record::{Arm, ArmRole, Cell, Verdict, Workload};

use super::layout::{add, clean, empty, fitted, heading, text, widest};
use super::spark::{range, sparkline};
use super::{MOST_NAMED, wrap};

/// Minimum width in columns that leaves space for all figures of a cell.
const DETAILED: usize = 140;

/// Maximum width of a sparkline in a table, and the minimum width that still shows anything, both in columns.
const SPARK: usize = 32;
const LEAST_SPARK: usize = 6;

/// The table, and whether it contains all figures.
pub(super) struct Laid {
    pub(super) text: String,
    pub(super) detailed: bool,
}

/// The table, at most `width` columns wide, with the workloads that the run reached.
pub(super) fn table(lookup: &Lookup<'_>, width: usize) -> Laid {
    let view = View { lookup, measure: Measure::of(lookup.record) };
    let (measured, not): (Vec<&Workload>, Vec<&Workload>) =
        lookup.workloads().iter().partition(|w| view.is_measured(w));
    let detailed = (width >= DETAILED).then(|| detailed(&view, &measured, width)).flatten();
    let is_detailed = detailed.is_some();
    let table = detailed.unwrap_or_else(|| {
        let wide = text(&by_workload(&view, &measured));
        match widest(&wide) <= width {
            true => wide,
            false => fitted(by_arm(&view, &measured), width),
        }
    });
    if not.is_empty() {
        return Laid { text: table, detailed: is_detailed };
    }
    let labels: Vec<&str> = not.iter().map(|w| w.label.as_str()).collect();
    let rest = format!("Not reached: {}.", list(&labels, MOST_NAMED));
    Laid { text: format!("{table}\n{}", wrap(&rest, "", "  ", width)), detailed: is_detailed }
}

struct View<'a, 'r> {
    lookup: &'a Lookup<'r>,
    measure: Measure,
}

impl View<'_, '_> {
    fn cell(&self, workload: &Workload, arm: &Arm) -> Option<&Cell> {
        self.lookup.cell(workload, arm)
    }

    fn is_measured(&self, workload: &Workload) -> bool {
        self.lookup.arms().iter().any(|arm| self.cell(workload, arm).is_some_and(|c| c.trials > 0))
    }

    /// Requests per second of each trial, in block order.
    fn rates(&self, workload: &Workload, arm: &Arm) -> Vec<Option<f64>> {
        let trials = self.lookup.trials.of_cell(&workload.id, &arm.id);
        trials.iter().map(|t| Some(t.iops()).filter(|rate| rate.is_finite())).collect()
    }

    fn plain(&self, workload: &Workload) -> Option<&Cell> {
        self.lookup.plain(workload)
    }

    fn speed(&self, workload: &Workload, cell: Option<&Cell>) -> String {
        cell.filter(|c| c.trials > 0).map_or_else(|| NONE.to_owned(), |c| headline(workload, c))
    }

    fn noise(&self, workload: &Workload) -> String {
        let floor = self.plain(workload).and_then(|c| c.noise_of_mean);
        floor.map_or_else(|| NONE.to_owned(), |f| percent(f * 100.0))
    }

    /// The latency that 1 % of durable writes exceed; database users know it by this name.
    fn p99(cell: Option<&Cell>) -> String {
        let p99 = cell.filter(|c| c.trials > 0).and_then(|c| c.latency.p99_us);
        p99.map_or_else(|| NONE.to_owned(), latency)
    }

    fn cpu(&self, workload: &Workload, cell: Option<&Cell>) -> String {
        cell.filter(|c| c.trials > 0 && moves_bytes(workload))
            .map_or_else(|| NONE.to_owned(), |c| cpu(self.measure.seconds_per_gib(c)))
    }
}

/// `86 [83, 89] ▼`
fn judged(cell: Option<&Cell>) -> String {
    let Some(cell) = cell else { return NONE.to_owned() };
    let number = match (&cell.kept, &cell.verdict) {
        (_, Some(Verdict::Cached)) => "cached".to_owned(),
        (Some(estimate), _) => kept(estimate),
        (None, _) => NONE.to_owned(),
    };
    match &cell.verdict {
        Some(verdict) => format!("{number} {}", verdict_mark(verdict)),
        None => number,
    }
}

fn by_workload(view: &View<'_, '_>, workloads: &[&Workload]) -> Table {
    let arms = compared(&view.lookup.record.plan.arms);
    let mut headings = vec!["workload".to_owned(), "plain".to_owned(), "noise".to_owned()];
    headings.extend(arms.iter().map(|a| heading(&clean(&a.label))));
    let mut table = empty(headings);
    for workload in workloads {
        let plain = view.plain(workload);
        let mut speeds =
            vec![clean(&workload.label), view.speed(workload, plain), view.noise(workload)];
        let mut cpu = vec!["  CPU s/GiB".to_owned(), view.cpu(workload, plain), String::new()];
        for arm in &arms {
            let cell = view.cell(workload, arm);
            speeds.push(judged(cell));
            // Aligned with the number, not with its mark.
            cpu.push(view.cpu(workload, cell) + "  ");
        }
        add(&mut table, speeds);
        if is_durable(workload) {
            let of_arms = arms.iter().map(|arm| View::p99(view.cell(workload, arm)) + "  ");
            let first = ["  p99".to_owned(), View::p99(plain), String::new()];
            add(&mut table, first.into_iter().chain(of_arms).collect());
        }
        add(&mut table, cpu);
    }
    table
}

/// Whether each write must reach stable storage before the next one.
fn is_durable(workload: &Workload) -> bool {
    workload.flush.as_deref() == Some("each-write")
}

fn by_arm(view: &View<'_, '_>, workloads: &[&Workload]) -> Table {
    let mut table =
        empty(["workload", "speed", "% of plain", "CPU s/GiB"].map(str::to_owned).into());
    for workload in workloads {
        let plain = view.plain(workload);
        let noise = format!("noise {}  ", view.noise(workload));
        let speed = view.speed(workload, plain);
        add(&mut table, vec![clean(&workload.label), speed, noise, view.cpu(workload, plain)]);
        let p99 = |table: &mut Table, cell| {
            if is_durable(workload) {
                let row = ["    p99".to_owned(), View::p99(cell), String::new(), String::new()];
                add(table, row.into());
            }
        };
        p99(&mut table, plain);
        for arm in compared(&view.lookup.record.plan.arms) {
            let cell = view.cell(workload, arm);
            let label = format!("  {}", clean(&arm.label));
            add(
                &mut table,
                vec![label, view.speed(workload, cell), judged(cell), view.cpu(workload, cell)],
            );
            p99(&mut table, cell);
        }
    }
    table
}

/// One row per arm with every figure. The remaining columns show its trials as a sparkline. `None` if not even
/// the figures fit.
fn detailed(view: &View<'_, '_>, workloads: &[&Workload], width: usize) -> Option<String> {
    let bare = widest(&text(&all_figures(view, workloads, None)));
    if bare > width {
        return None;
    }
    // Number of spaces between two columns of a table.
    let room = (width - bare).saturating_sub(2).min(SPARK);
    let spark = (room >= LEAST_SPARK).then_some(room);
    Some(text(&all_figures(view, workloads, spark)))
}

fn all_figures(view: &View<'_, '_>, workloads: &[&Workload], spark: Option<usize>) -> Table {
    let times = workloads.iter().any(|w| is_time(w));
    let mut headings = vec!["workload", "MB/s", "IOPS"];
    headings.extend(times.then_some("time"));
    headings.extend(["p50", "p99", "% of plain", "noise", "CPU s/GiB"]);
    headings.extend(spark.map(|_| "trials"));
    let headings: Vec<String> = headings.into_iter().map(str::to_owned).collect();
    let columns = headings.len();
    let mut table = empty(headings);
    for workload in workloads {
        let blanks = vec![String::new(); columns - 1];
        add(&mut table, [vec![clean(&workload.label)], blanks].concat());
        let plain = view.lookup.arms().iter().find(|arm| arm.role == ArmRole::Plain);
        let compared = compared(view.lookup.arms());
        let arms: Vec<&Arm> = plain.into_iter().chain(compared).collect();
        let rates: Vec<Vec<Option<f64>>> =
            arms.iter().map(|arm| view.rates(workload, arm)).collect();
        let scale = range(rates.iter().flatten().flatten().copied());
        for (arm, rates) in arms.iter().zip(&rates) {
            let cell = view.cell(workload, arm).filter(|c| c.trials > 0);
            let some =
                |words: &dyn Fn(&Cell) -> String| cell.map_or_else(|| NONE.to_owned(), words);
            let mut row = vec![
                format!("  {}", clean(&arm.label)),
                some(&|c| digits(c.bandwidth / 1e6)),
                some(&|c| rate(c.iops)),
            ];
            if times {
                row.push(if is_time(workload) {
                    view.speed(workload, cell)
                } else {
                    String::new()
                });
            }
            row.push(some(&|c| latency(c.latency.p50_us)));
            row.push(some(&|c| c.latency.p99_us.map_or_else(|| NONE.to_owned(), latency)));
            let is_plain = arm.role == ArmRole::Plain;
            row.push(if is_plain { String::new() } else { judged(cell) });
            row.push(if is_plain { view.noise(workload) } else { String::new() });
            row.push(view.cpu(workload, cell));
            if let Some(room) = spark {
                row.push(scale.map_or_else(String::new, |scale| sparkline(rates, scale, room)));
            }
            add(&mut table, row);
        }
    }
    table
}
