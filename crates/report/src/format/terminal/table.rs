//! The table: one column per arm while that fits the width, else one row per arm.

use comfy_table::Table;
use cryptbench_record::{Arm, Cell, Verdict, Workload};

use super::layout::{add, clean, empty, fitted, heading, text, widest};
use super::{MOST_NAMED, wrap};
use crate::cpu::Measure;
use crate::device::moves_bytes;
use crate::lookup::Lookup;
use crate::quantity::{NONE, cpu, headline, kept, percent};
use crate::wording::{compared, list, verdict_mark};

/// The table in at most `width` columns, of the workloads that were come to.
pub(super) fn table(lookup: &Lookup<'_>, width: usize) -> String {
    let view = View { lookup, measure: Measure::of(lookup.record) };
    let (measured, not): (Vec<&Workload>, Vec<&Workload>) =
        lookup.workloads().iter().partition(|w| view.is_measured(w));
    let wide = text(&by_workload(&view, &measured));
    let table = match widest(&wide) <= width {
        true => wide,
        false => fitted(by_arm(&view, &measured), width),
    };
    if not.is_empty() {
        return table;
    }
    let labels: Vec<&str> = not.iter().map(|w| w.label.as_str()).collect();
    let rest = format!("Not come to: {}.", list(&labels, MOST_NAMED));
    format!("{table}\n{}", wrap(&rest, "", "  ", width))
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
            // Under the number, not under its mark.
            cpu.push(view.cpu(workload, cell) + "  ");
        }
        add(&mut table, speeds);
        add(&mut table, cpu);
    }
    table
}

fn by_arm(view: &View<'_, '_>, workloads: &[&Workload]) -> Table {
    let mut table = empty(["workload", "speed", "kept", "CPU s/GiB"].map(str::to_owned).into());
    for workload in workloads {
        let plain = view.plain(workload);
        let noise = format!("noise {}  ", view.noise(workload));
        let speed = view.speed(workload, plain);
        add(&mut table, vec![clean(&workload.label), speed, noise, view.cpu(workload, plain)]);
        for arm in compared(&view.lookup.record.plan.arms) {
            let cell = view.cell(workload, arm);
            let label = format!("  {}", clean(&arm.label));
            add(
                &mut table,
                vec![label, view.speed(workload, cell), judged(cell), view.cpu(workload, cell)],
            );
        }
    }
    table
}
