//! The table: one column per arm while that fits the width, else one row per arm.

use comfy_table::{Cell as Field, CellAlignment, ContentArrangement, LineStyle, Table, TableStyle};
use cryptbench_record::{Arm, Cell, Record, Results, Verdict, Workload};

use crate::analysis::{cell, plain_arm};
use crate::cpu::Measure;
use crate::quantity::{NONE, cpu, headline, kept, percent};
use crate::wording::{compared, verdict_mark};

const LINES: TableStyle =
    TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));

/// Columns between two columns.
const GAP: u16 = 2;

/// Widest heading of an arm before it is broken into lines.
const ARM_HEADING: usize = 16;

/// The table in at most `width` columns.
pub(super) fn table(record: &Record, results: &Results, width: usize) -> String {
    let view = View { record, results, measure: Measure::of(record) };
    let wide = text(&by_workload(&view));
    if widest(&wide) <= width {
        return wide;
    }
    let mut long = by_arm(&view);
    long.set_width(u16::try_from(width).unwrap_or(u16::MAX));
    long.set_content_arrangement(ContentArrangement::Dynamic);
    text(&long)
}

struct View<'a> {
    record: &'a Record,
    results: &'a Results,
    measure: Measure,
}

impl View<'_> {
    fn cell(&self, workload: &Workload, arm: &Arm) -> Option<&Cell> {
        cell(self.results, &workload.id, &arm.id)
    }

    fn plain(&self, workload: &Workload) -> Option<&Cell> {
        self.cell(workload, plain_arm(self.record)?)
    }

    fn speed(&self, workload: &Workload, cell: Option<&Cell>) -> String {
        cell.filter(|c| c.trials > 0)
            .map_or_else(|| NONE.to_owned(), |c| headline(workload, c.bandwidth, c.iops))
    }

    fn noise(&self, workload: &Workload) -> String {
        let floor = self.plain(workload).and_then(|c| c.noise_of_mean);
        floor.map_or_else(|| NONE.to_owned(), |f| percent(f * 100.0))
    }

    fn cpu(&self, cell: Option<&Cell>) -> String {
        cell.filter(|c| c.trials > 0)
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

fn by_workload(view: &View<'_>) -> Table {
    let arms = compared(&view.record.plan.arms);
    let mut headings = vec!["workload".to_owned(), "plain".to_owned(), "noise".to_owned()];
    headings.extend(arms.iter().map(|a| heading(&clean(&a.label))));
    let mut table = empty(headings);
    for workload in &view.record.plan.workloads {
        let plain = view.plain(workload);
        let mut speeds =
            vec![clean(&workload.label), view.speed(workload, plain), view.noise(workload)];
        let mut cpu = vec!["  CPU s/GiB".to_owned(), view.cpu(plain), String::new()];
        for arm in &arms {
            let cell = view.cell(workload, arm);
            speeds.push(judged(cell));
            // Under the number, not under its mark.
            cpu.push(view.cpu(cell) + "  ");
        }
        add(&mut table, speeds);
        add(&mut table, cpu);
    }
    table
}

fn by_arm(view: &View<'_>) -> Table {
    let mut table = empty(["workload", "speed", "kept", "CPU s/GiB"].map(str::to_owned).into());
    for workload in &view.record.plan.workloads {
        let plain = view.plain(workload);
        let noise = format!("noise {}  ", view.noise(workload));
        let speed = view.speed(workload, plain);
        add(&mut table, vec![clean(&workload.label), speed, noise, view.cpu(plain)]);
        for arm in compared(&view.record.plan.arms) {
            let cell = view.cell(workload, arm);
            let label = format!("  {}", clean(&arm.label));
            add(&mut table, vec![label, view.speed(workload, cell), judged(cell), view.cpu(cell)]);
        }
    }
    table
}

/// Breaks a label into as few lines as [`ARM_HEADING`] needs, then as narrow as those lines allow:
/// `AES-256-XTS` over `512 B`, not `AES-256-XTS 512` over `B`.
fn heading(label: &str) -> String {
    let broken = |width: usize| {
        let options = textwrap::Options::new(width)
            .break_words(false)
            .word_splitter(textwrap::WordSplitter::NoHyphenation);
        textwrap::fill(label, options)
    };
    let wide = broken(ARM_HEADING);
    let lines = wide.lines().count();
    (1..ARM_HEADING)
        .map(broken)
        .find(|narrow| narrow.lines().count() <= lines && widest(narrow) <= widest(&wide))
        .unwrap_or(wide)
}

fn empty(headings: Vec<String>) -> Table {
    let mut table = Table::new();
    table.load_style(LINES);
    table.set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(aligned(headings));
    let columns = table.column_count();
    for (i, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, if i + 1 == columns { 0 } else { GAP }));
    }
    table
}

fn add(table: &mut Table, row: Vec<String>) {
    table.add_row(aligned(row));
}

/// Names to the left, numbers to the right.
fn aligned(row: Vec<String>) -> Vec<Field> {
    row.into_iter()
        .enumerate()
        .map(|(i, content)| {
            let side = if i == 0 { CellAlignment::Left } else { CellAlignment::Right };
            Field::new(content).set_alignment(side)
        })
        .collect()
}

fn text(table: &Table) -> String {
    table.trim_fmt()
}

fn widest(text: &str) -> usize {
    text.lines().map(textwrap::core::display_width).max().unwrap_or(0)
}

fn clean(label: &str) -> String {
    label.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}
