//! Heat maps as numbers: percent difference from plain by file size and record size.

use cryptbench_answer::picture::heatmap::{ArmMaps, Difference, Heatmap, Map};
use cryptbench_answer::quantity::{percent_digits, short_bytes};
use cryptbench_answer::wording::Sign;

use super::layout::{beside, clean, right};
use super::wrap;

/// Widths in columns: of a file size, and of a cell (a sign, three digits and a mark).
const FILE: usize = 5;
const CELL: usize = 5;

pub(super) fn draw(heatmap: &Heatmap<'_>, width: usize) -> String {
    heatmap.arms.iter().map(|arm| of_arm(arm, width)).collect::<Vec<_>>().join("\n\n")
}

fn of_arm(arm: &ArmMaps<'_>, width: usize) -> String {
    let title = format!(
        "{}: speed difference as a percentage of plain speed (negative is slower), by file size (rows) and record \
         size (columns):",
        clean(&arm.arm.label)
    );
    let blocks: Vec<String> = arm.maps.iter().map(|map| block(map, width)).collect();
    format!("{}\n\n{}", wrap(&title, "", "  ", width), beside(&blocks, width))
}

fn block(map: &Map, width: usize) -> String {
    // If a terminal is too narrow for all columns, the first columns of each map are shown, followed by the
    // others.
    let room = (width.saturating_sub(FILE) / CELL).max(1);
    let columns: Vec<usize> = (0..map.records.len()).collect();
    let common = map.common_mark();
    let mut lines = caption(map);
    for part in columns.chunks(room) {
        let sizes: String = part.iter().map(|c| size(map.records[*c])).collect();
        lines.push(format!("{}{sizes}", " ".repeat(FILE)).trim_end().to_owned());
        for (i, file) in map.files.iter().enumerate() {
            let row = map.row(i);
            let cells: String = part.iter().map(|c| cell(row[*c].as_ref(), common)).collect();
            lines
                .push(format!("{}{cells}", right(&short_bytes(*file), FILE)).trim_end().to_owned());
        }
    }
    lines.join("\n")
}

/// Always two lines, so that maps side by side start at the same height.
fn caption(map: &Map) -> Vec<String> {
    let range = map.range().map_or_else(String::new, |[least, mean, most]| {
        let [least, mean, most] = [least, mean, most].map(percent_digits);
        format!("  {mean} on average, {least} to {most}")
    });
    let common = map.common_words().map_or_else(String::new, |words| format!(" ({words})"));
    vec![format!("{}{common}", clean(&map.operation)), range]
}

/// A column's heading, aligned with the digits in the column and not with their marks.
fn size(bytes: u64) -> String {
    format!("{} ", right(&short_bytes(bytes), CELL - 1))
}

fn cell(difference: Option<&Difference>, common: Option<Sign>) -> String {
    let Some(Difference { percent, mark }) = difference else { return " ".repeat(CELL) };
    let number = match percent.round() {
        p if p > 999.0 => "999+".to_owned(),
        p => format!("{:.0}", p + 0.0),
    };
    // Only the marks of cells with a difference are printed, so that they stand out.
    let shown = |mark: &Sign| mark.is_telling() && Some(*mark) != common;
    format!("{}{}", right(&number, CELL - 1), mark.filter(shown).map_or(' ', Sign::char))
}
