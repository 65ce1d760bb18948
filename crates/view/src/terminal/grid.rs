//! The grid of tests: columns for reads and writes for each arm, then requests and response times.

use cryptbench_answer::picture::grid::{Grid, GridCell};
use cryptbench_answer::quantity::{NONE, digits, latency, rate};

use super::layout::{add, clean, empty, fitted, heading, text, widest};
use super::picture::share;
use super::wrap;

pub(super) fn draw(grid: &Grid<'_>, width: usize) -> String {
    let title = wrap("MB/s and % of plain speed:", "", "  ", width);
    let mut parts = vec![title];
    parts.extend(speeds(grid, width));
    parts.push(String::new());
    parts.push(wrap("Requests per second and their mean response time:", "", "  ", width));
    parts.push(fitted(responses(grid), width));
    parts.join("\n")
}

/// Tables, each with as many arms side by side as the width allows.
fn speeds(grid: &Grid<'_>, width: usize) -> Vec<String> {
    let mut tables = Vec::new();
    let mut first = 0;
    while first < grid.arms.len() {
        let mut last = grid.arms.len();
        while last > first + 1 && widest(&text(&speed_table(grid, first..last))) > width {
            last -= 1;
        }
        if !tables.is_empty() {
            tables.push(String::new());
        }
        tables.push(fitted(speed_table(grid, first..last), width));
        first = last;
    }
    tables
}

fn speed_table(grid: &Grid<'_>, arms: std::ops::Range<usize>) -> comfy_table::Table {
    let mut headings = vec!["test".to_owned()];
    for arm in arms.clone() {
        for column in &grid.columns {
            headings.push(format!("{}\n{column}", heading(&clean(&grid.arms[arm].label))));
        }
    }
    let mut table = empty(headings);
    for test in &grid.tests {
        let cells = test.cells[arms.clone()].iter().flatten();
        let row = [clean(&test.name)].into_iter().chain(cells.map(|c| speed(c.as_ref())));
        add(&mut table, row.collect());
    }
    table
}

fn speed(cell: Option<&GridCell>) -> String {
    let Some(GridCell { reading, .. }) = cell else { return NONE.to_owned() };
    let number = digits(reading.bandwidth / 1e6);
    match (reading.ratio, reading.mark) {
        (None, None) => number,
        (ratio, mark) => format!("{number} {:>4}", share(ratio, mark)),
    }
}

fn responses(grid: &Grid<'_>) -> comfy_table::Table {
    let mut headings = vec!["test".to_owned()];
    for column in &grid.columns {
        headings.extend(["IOPS", "time"].map(|what| format!("{column}\n{what}")));
    }
    let mut table = empty(headings);
    for test in &grid.tests {
        let blanks = vec![String::new(); 2 * grid.columns.len()];
        add(&mut table, [vec![clean(&test.name)], blanks].concat());
        for (arm, cells) in grid.arms.iter().zip(&test.cells) {
            let mut row = vec![format!("  {}", clean(&arm.label))];
            for cell in cells {
                row.push(cell.map_or_else(|| NONE.to_owned(), |c| rate(c.reading.iops)));
                let response = cell.and_then(|c| c.response_us);
                row.push(response.map_or_else(|| NONE.to_owned(), latency));
            }
            add(&mut table, row);
        }
    }
    table
}
