//! The table: one column per arm while that fits the width, else one row per arm.

use comfy_table::Table;
use cryptbench_record::{Arm, Cell, Verdict, Workload};

use super::layout::{add, clean, empty, fitted, heading, text, widest};
use crate::cpu::Measure;
use crate::device::moves_bytes;
use crate::lookup::Lookup;
use crate::quantity::{NONE, cpu, headline, kept, percent};
use crate::wording::{compared, verdict_mark};

/// The table in at most `width` columns.
pub(super) fn table(lookup: &Lookup<'_>, width: usize) -> String {
    let view = View { lookup, measure: Measure::of(lookup.record) };
    let wide = text(&by_workload(&view));
    if widest(&wide) <= width {
        return wide;
    }
    fitted(by_arm(&view), width)
}

struct View<'a, 'r> {
    lookup: &'a Lookup<'r>,
    measure: Measure,
}

impl View<'_, '_> {
    fn cell(&self, workload: &Workload, arm: &Arm) -> Option<&Cell> {
        self.lookup.cell(workload, arm)
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

fn by_workload(view: &View<'_, '_>) -> Table {
    let arms = compared(&view.lookup.record.plan.arms);
    let mut headings = vec!["workload".to_owned(), "plain".to_owned(), "noise".to_owned()];
    headings.extend(arms.iter().map(|a| heading(&clean(&a.label))));
    let mut table = empty(headings);
    for workload in &view.lookup.record.plan.workloads {
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

fn by_arm(view: &View<'_, '_>) -> Table {
    let mut table = empty(["workload", "speed", "kept", "CPU s/GiB"].map(str::to_owned).into());
    for workload in &view.lookup.record.plan.workloads {
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
