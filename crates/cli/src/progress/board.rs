//! The table that is filled during a run. It has an interval for each workload and choice or, if there are many
//! choices, for each choice.

use std::borrow::Cow;
use std::collections::BTreeMap;

use cryptbench_answer::figure::in_order;
use cryptbench_answer::names::Names;
use cryptbench_answer::quantity::share_words;
use cryptbench_catalog::BUILTIN;
use cryptbench_record::{Arm, ArmId, ArmRole, Plan, WorkloadId};
use cryptbench_view::columns::bare;
use cryptbench_view::json;
use serde_json::Value;

/// Maximum number of choices in columns; if there are more choices, each has a row.
const MOST_COLUMNS: usize = 4;

/// Maximum width of a column heading, so that three choices fit next to the names of the workloads.
const HEADING: usize = 14;

/// Number of rows that fit on a 24-line screen with the text around them.
const MOST_ROWS: usize = 17;

/// A share of plain speed with its interval.
type Share = (f64, f64, f64);

/// The newest estimates of a run.
#[derive(Default)]
pub struct Board {
    /// The rows or columns, in their order.
    workloads: Vec<WorkloadId>,
    choices: Vec<ArmId>,
    /// Label and name of each workload and choice, including pass-throughs.
    names: BTreeMap<String, (String, String)>,
    /// The names of workloads and choices, for rewording texts.
    wording: Names,
    shares: BTreeMap<(usize, usize), Share>,
}

/// The label and the name of a workload or arm.
pub struct Called<'a> {
    /// In tables of the record.
    pub label: Cow<'a, str>,
    /// For users.
    pub name: Cow<'a, str>,
}

impl Board {
    /// An empty board for a plan.
    pub fn of(plan: &Plan) -> Self {
        let names = Names::of(plan);
        let encrypted = || plan.arms.iter().filter(|arm| arm.role == ArmRole::Encrypted);
        let is_engine = |arm: &&Arm| arm.system == BUILTIN.name;
        let id = |arm: &Arm| arm.id.clone().into();
        let systems = encrypted().filter(|arm| !is_engine(arm));
        let called = |id: &str, label: &str, name: &str| {
            (id.to_owned(), (label.to_owned(), name.to_owned()))
        };
        let arms = plan.arms.iter().map(|a| called(&a.id, &a.label, names.arm(a)));
        let workloads = plan.workloads.iter().map(|w| called(&w.id, &w.label, names.workload(w)));
        Self {
            choices: systems.chain(encrypted().filter(is_engine)).map(id).collect(),
            names: arms.chain(workloads).collect(),
            workloads: in_order(&plan.workloads).into_iter().map(|w| w.id.clone().into()).collect(),
            shares: BTreeMap::new(),
            wording: names,
        }
    }

    /// A note with names in place of labels.
    pub fn reworded(&self, note: &str) -> String {
        self.wording.reworded(note)
    }

    fn called<'a>(&'a self, id: &'a str) -> Called<'a> {
        let (label, name) =
            self.names.get(id).map_or((id, id), |(label, name)| (label.as_str(), name.as_str()));
        Called { label: label.into(), name: name.into() }
    }

    /// The name of a workload.
    pub fn workload<'a>(&'a self, id: &'a WorkloadId) -> Called<'a> {
        self.called(id)
    }

    /// The name of an arm.
    pub fn arm<'a>(&'a self, id: &'a ArmId) -> Called<'a> {
        self.called(id)
    }

    /// The names of a trial's arms. Interleaved arms are not listed individually.
    pub fn arms<'a>(&'a self, ids: &'a [ArmId]) -> Called<'a> {
        match ids {
            [id] => self.arm(id),
            all => Called {
                label: format!("{} arms by turns", all.len()).into(),
                name: "all choices interleaved".into(),
            },
        }
    }

    /// The name of an arm that may not be in the plan.
    pub fn name_of<'a>(&'a self, id: &ArmId, label: &'a str) -> &'a str {
        self.names.get(id.as_str()).map_or(label, |(_, name)| name)
    }

    /// Adds an estimate, except an estimate for the repeated plain storage or for a pass-through.
    pub fn add(&mut self, workload: &WorkloadId, choice: &ArmId, share: Share) {
        let row = self.workloads.iter().position(|id| id == workload);
        let column = self.choices.iter().position(|id| id == choice);
        if let (Some(row), Some(column)) = (row, column) {
            self.shares.insert((row, column), share);
        }
    }

    /// The table in at most `width` columns; empty before the first estimate, or if the table does not fit on a
    /// screen.
    pub fn text(&self, width: usize) -> String {
        if self.shares.is_empty() {
            return String::new();
        }
        let Table { mut headings, rows, .. } = self.table();
        if rows.len() > MOST_ROWS {
            return String::new();
        }
        for heading in &mut headings {
            *heading = textwrap::fill(heading, HEADING);
        }
        headings.insert(0, "% of plain speed so far".to_owned());
        let fields = |(name, shares): (String, Vec<Option<Share>>)| {
            std::iter::once(name).chain(shares.into_iter().map(words)).collect()
        };
        let count = headings.len();
        let text = bare(headings, rows.into_iter().map(fields).collect(), count, width);
        let fits = text.lines().count() <= MOST_ROWS + 4;
        if fits { text } else { String::new() }
    }

    /// The table for the local page, in the format of `report --format answer`. It exists even before the first
    /// estimate.
    pub fn json(&self) -> Value {
        let Table { corner, headings, rows } = self.table();
        let share = |share: Option<Share>| {
            share.map_or(Value::Null, |(kept, low, high)| json::share(kept, low, high))
        };
        let row = |(name, shares): (String, Vec<Option<Share>>)| {
            let values: Vec<Value> = shares.into_iter().map(share).collect();
            serde_json::json!({ "name": name, "values": values })
        };
        let rows: Vec<Value> = rows.into_iter().map(row).collect();
        let caption = "% of plain speed so far, with its interval";
        json::table(caption, corner, &headings, &rows, &[])
    }

    fn table(&self) -> Table {
        let by_choice = self.choices.len() > MOST_COLUMNS || self.workloads.len() > MOST_ROWS;
        if by_choice { self.by_choice() } else { self.by_workload() }
    }

    fn by_workload(&self) -> Table {
        let row = |(at, id): (usize, &WorkloadId)| {
            let shares = 0..self.choices.len();
            (
                self.workload(id).name.into_owned(),
                shares.map(|choice| self.shares.get(&(at, choice)).copied()).collect(),
            )
        };
        Table {
            corner: "Workload",
            headings: self.choices.iter().map(|id| self.arm(id).name.into_owned()).collect(),
            rows: self.workloads.iter().enumerate().map(row).collect(),
        }
    }

    /// The geometric mean of each choice, over the workloads that have an estimate so far.
    fn by_choice(&self) -> Table {
        let row = |(at, id): (usize, &ArmId)| {
            let own: Vec<Share> =
                self.shares.iter().filter(|((_, c), _)| *c == at).map(|(_, s)| *s).collect();
            (self.arm(id).name.into_owned(), vec![mean(&own)])
        };
        Table {
            corner: "Choice",
            headings: vec!["average".to_owned()],
            rows: self.choices.iter().enumerate().map(row).collect(),
        }
    }
}

/// The content that both forms of the table share.
struct Table {
    /// The kind of the rows.
    corner: &'static str,
    headings: Vec<String>,
    rows: Vec<(String, Vec<Option<Share>>)>,
}

/// The geometric mean. The half-widths are independent of each other, so the half-widths are added in quadrature.
fn mean(shares: &[Share]) -> Option<Share> {
    let n = shares.len() as f64;
    let mean = shares.iter().map(|(kept, ..)| kept.ln()).sum::<f64>() / n;
    let half = shares.iter().map(|(_, low, high)| ((high / low).ln() / 2.0).powi(2)).sum::<f64>();
    let half = half.sqrt() / n;
    let share = (mean.exp(), (mean - half).exp(), (mean + half).exp());
    (!shares.is_empty()).then_some(share)
}

fn words(share: Option<Share>) -> String {
    share.map_or_else(String::new, |(kept, low, high)| share_words(kept, low, high))
}

#[cfg(test)]
mod tests {
    use cryptbench_record::{Operation, Pattern, Workload};

    use super::*;

    fn plan(systems: usize) -> Plan {
        let arm = |i: usize| Arm {
            id: format!("system-{i}"),
            label: format!("system {i}"),
            role: ArmRole::Encrypted,
            system: format!("system-{i}"),
            ..Arm::default()
        };
        let engine = Arm { system: "builtin".to_owned(), ..arm(99) };
        let workload = |id: &str, queue_depth| Workload {
            id: id.to_owned(),
            label: format!("label of {id}"),
            operation: Operation::Read,
            pattern: Pattern::Sequential,
            block_size: 1 << 20,
            queue_depth,
            ..Workload::default()
        };
        Plan {
            workloads: vec![workload("a", 1), workload("b", 8)],
            arms: std::iter::once(engine).chain((0..systems).map(arm)).collect(),
            ..Plan::default()
        }
    }

    fn add(board: &mut Board, workload: &str, choice: &str, share: Share) {
        board.add(&workload.into(), &choice.into(), share);
    }

    #[test]
    fn estimates_fill_a_table_of_workloads_with_the_engine_last() {
        let mut board = Board::of(&plan(2));
        assert_eq!(board.text(80), "", "nothing is known yet");
        add(&mut board, "a", "system-1", (0.58, 0.566, 0.602));
        add(&mut board, "a", "plain-again", (1.0, 0.9, 1.1));
        insta::assert_snapshot!(board.text(80));
    }

    #[test]
    fn the_page_has_the_same_table_from_the_first_on() {
        let mut board = Board::of(&plan(1));
        let empty = board.json();
        assert_eq!(empty["rows"][1]["values"], serde_json::json!([null, null]));
        add(&mut board, "a", "system-0", (0.58, 0.566, 0.602));
        let table = board.json();
        assert_eq!(table["headings"].as_array().unwrap().len(), 2, "{table}");
        let field = &table["rows"][0]["values"][0];
        assert_eq!((&field["text"], &field["low"]), (&"58 ±2".into(), &0.566.into()), "{table}");
    }

    #[test]
    fn many_choices_are_rows_with_their_means() {
        let mut board = Board::of(&plan(9));
        for workload in ["a", "b"] {
            add(&mut board, workload, "system-3", (0.25, 0.2, 0.3));
        }
        insta::assert_snapshot!(board.text(80));
        assert!(Board::of(&plan(30)).text(80).is_empty());
    }
}
