//! A heat map: percent difference from plain by file size (rows) and record size (columns).

use cryptbench_answer::picture::heatmap::{Difference, Map};
use cryptbench_answer::quantity::{percent_digits, short_bytes};

use super::{Anchor, Drawing, Role, WIDTH, look};

/// Sizes in CSS pixels: the width of the row labels, and the heights of a row and of the column labels.
const NAME: f64 = 32.0;
const ROW: f64 = 17.0;
const HEAD: f64 = 16.0;

/// Letter sizes in CSS pixels: in a cell, and in the labels.
const CELL: f64 = 9.5;
const SIZE: f64 = 8.5;

/// The shades, each for differences up to this percentage, and their descriptions in the legend.
pub(crate) const SHADES: [(f64, &str); Role::SHADES] = [
    (-50.0, "-50 or less"),
    (-25.0, "-25"),
    (-10.0, "-10"),
    (-3.0, "-3"),
    (3.0, "about the same"),
    (10.0, "3"),
    (25.0, "10"),
    (f64::INFINITY, "25 or more"),
];

/// The map.
pub(crate) fn heat(title: &str, map: &Map) -> Drawing {
    let mut drawing = Drawing::new(title, HEAD + ROW * map.files.len() as f64);
    let range = map.range().unwrap_or([0.0; 3]).map(percent_digits);
    drawing.told = vec![format!(
        "{} percent on average, {} to {}; the table has each cell.",
        range[1], range[0], range[2]
    )];
    let wide = (WIDTH - NAME) / map.records.len().max(1) as f64;
    let mut cells: Vec<(usize, f64, f64, f64)> = Vec::new();
    for row in 0..map.files.len() {
        for (column, cell) in map.row(row).iter().enumerate() {
            let Some(Difference { percent, .. }) = cell else { continue };
            let (x, y) = (NAME + column as f64 * wide, HEAD + row as f64 * ROW);
            cells.push((shade(*percent), x, y, *percent));
        }
    }
    // Grouped by shade, so that a map with many cells needs only one path per shade.
    cells.sort_by_key(|(shade, ..)| *shade);
    for (shade, x, y, _) in &cells {
        drawing.area(Role::Shade(*shade), [*x, x + wide - 1.0], [*y, y + ROW - 1.0]);
    }
    for (shade, x, y, percent) in cells {
        let role = if [0, Role::SHADES - 1].contains(&shade) { Role::Page } else { Role::OnShade };
        let place = (x + wide / 2.0, y + ROW / 2.0);
        drawing.text(look(role, CELL, Anchor::Middle), place, number(percent));
    }
    for (i, size) in map.records.iter().enumerate() {
        let place = (NAME + (i as f64 + 0.5) * wide, 8.0);
        drawing.text(look(Role::Muted, SIZE, Anchor::Middle), place, short_bytes(*size));
    }
    for (i, size) in map.files.iter().enumerate() {
        let place = (NAME - 4.0, HEAD + (i as f64 + 0.5) * ROW);
        drawing.text(look(Role::Muted, SIZE, Anchor::End), place, short_bytes(*size));
    }
    drawing
}

/// The percentage as an integer, without a sign for gains; `999+` for anything that does not fit into a cell.
pub(crate) fn number(percent: f64) -> String {
    match percent.round() {
        p if p > 999.0 => "999+".to_owned(),
        p => format!("{:.0}", p + 0.0),
    }
}

fn shade(percent: f64) -> usize {
    let place = SHADES.iter().position(|(end, _)| match *end < 0.0 {
        true => percent <= *end,
        false => percent < *end,
    });
    place.unwrap_or(SHADES.len() - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shades_are_alike_on_both_sides_of_no_difference() {
        assert_eq!([-80.0, -50.0, -49.0, -10.0, -3.0].map(shade), [0, 0, 1, 2, 3]);
        assert_eq!([-2.9, 0.0, 2.9].map(shade), [4, 4, 4]);
        assert_eq!([3.0, 10.0, 25.0, 800.0].map(shade), [5, 6, 7, 7]);
        assert_eq!([-0.2, -80.4, 1_200.0].map(number), ["0", "-80", "999+"]);
    }
}
