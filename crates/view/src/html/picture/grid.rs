//! The grid of tests, with one chart for each arm; the table also contains requests and response times.

use cryptbench_answer::picture::grid;
use cryptbench_answer::picture::grid::{Grid, GridCell};
use cryptbench_answer::quantity::{NONE, digits, latency, rate};
use maud::{Markup, html};

use super::{Figure, Part, Picture, View, folded, kept, numbers};
use crate::drawing::{Cells, Number, arm_role};

pub(super) fn picture(view: &View<'_>) -> Option<Picture> {
    let grid = grid::grid(view.lookup)?;
    let charts = grid
        .arms
        .iter()
        .enumerate()
        .map(|(i, arm)| {
            let rows = grid.tests.iter().map(|test| {
                let numbers = test.cells[i].iter().map(|cell| cell.as_ref().map(number));
                (test.name.clone(), numbers.collect())
            });
            let cells = Cells {
                title: format!("MB/s by test, {}", arm.label),
                columns: grid.columns.iter().map(|c| format!("{c} MB/s")).collect(),
                rows: rows.collect(),
                role: arm_role(view.arms(), arm),
            };
            Figure { caption: arm.label.clone(), drawing: cells.draw() }
        })
        .collect();
    Some(Picture {
        heading: "Tests".to_owned(),
        about: html! {
            "Median of the trials in MB/s; below it, as a number and as a line, the percentage of plain speed."
        },
        left_out: grid.left_out,
        charts: vec![Part::Charts(charts)],
        table: folded("Response time, IOPS and MB/s as a table", &table(&grid)),
    })
}

fn number(cell: &GridCell) -> Number {
    Number {
        text: digits(cell.reading.bandwidth / 1e6),
        fill: cell.reading.ratio.unwrap_or(1.0),
        below: kept(Some(&cell.reading)),
    }
}

fn table(grid: &Grid<'_>) -> Markup {
    let mut headings = vec!["Test".to_owned()];
    for column in &grid.columns {
        headings.extend([
            format!("{column} response"),
            format!("{column} IOPS"),
            format!("{column} MB/s"),
            "% of plain".to_owned(),
        ]);
    }
    let mut rows = Vec::new();
    for test in &grid.tests {
        for (arm, cells) in grid.arms.iter().zip(&test.cells) {
            let fields = cells.iter().flat_map(|cell| match cell {
                Some(c) => [
                    c.response_us.map_or_else(|| NONE.to_owned(), latency),
                    rate(c.reading.iops),
                    digits(c.reading.bandwidth / 1e6),
                    kept(Some(&c.reading)),
                ],
                None => [NONE, NONE, NONE, ""].map(str::to_owned),
            });
            rows.push((format!("{}, {}", test.name, arm.label), fields.collect()));
        }
    }
    numbers(&headings, &rows)
}
