//! Two-sided bars: writes extend to the left and reads to the right, with one row per block size and arm.

use cryptbench_answer::picture::bars::TwoSided;
use cryptbench_answer::quantity::{binary_bytes, digits};
use cryptbench_answer::reading::Reading;

use super::layout::{clean, left, right};
use super::picture::share;
use super::wrap;

/// Widths in columns: of the speed, of the share of plain speed and of the block size.
const SPEED: usize = 6;
const SHARE: usize = 5;
const MIDDLE: usize = 9;

/// Minimum width in columns that leaves space for the percentages of plain speed.
const LEAST_WITH_SHARES: usize = 60;

/// Longer bars would not show more detail.
const LONGEST: usize = 60;

/// The characters of a bar: its body, and the half column at its free end, for the left and the right side.
struct Brush {
    body: char,
    left_half: char,
    right_half: char,
}

const PLAIN: Brush = Brush { body: '█', left_half: '▐', right_half: '▌' };
const OTHER: Brush = Brush { body: '━', left_half: '╺', right_half: '╸' };

pub(super) fn draw(chart: &TwoSided<'_>, width: usize) -> String {
    // A narrow terminal shows bars and numbers; the table below contains the shares of plain speed.
    let shares = width >= LEAST_WITH_SHARES;
    let fixed = 2 * (SPEED + 2 + if shares { SHARE + 1 } else { 0 }) + MIDDLE;
    let longest = (width.saturating_sub(fixed) / 2).clamp(1, LONGEST);
    let mut lines = Vec::new();
    let of = if chart.title.is_empty() { String::new() } else { format!(" ({})", chart.title) };
    let outside = if shares { "; % of plain outside" } else { "" };
    let title =
        format!("Speed by block size{of}, MB/s: writes to the left, reads to the right{outside}.");
    lines.push(wrap(&title, "", "  ", width));
    lines.push(wrap(&legend(chart), "", "  ", width));
    lines.push(String::new());
    let writes = right("write", longest);
    // Without the column of shares, nothing precedes the speeds.
    let first = |text: &str| if shares { right(text, SHARE) + " " } else { String::new() };
    let share = |text: &str| if shares { right(text, SHARE) } else { String::new() };
    let head = format!(
        "{}{} {writes} {:^MIDDLE$} {} {} {}",
        first("%"),
        right("MB/s", SPEED),
        "block",
        left("read", longest),
        right("MB/s", SPEED),
        share("%")
    );
    lines.push(head.trim_end().to_owned());
    for row in &chart.rows {
        for (i, [write, read]) in row.arms.iter().enumerate() {
            if i > 0 && write.is_none() && read.is_none() {
                continue;
            }
            let middle = if i == 0 { binary_bytes(row.block_size) } else { letter(i) };
            let brush = if i == 0 { &PLAIN } else { &OTHER };
            let bar = |side: &Option<Reading>| half_columns(side, chart.most, longest);
            let line = format!(
                "{}{} {} {middle:^MIDDLE$} {} {} {}",
                first(&kept(write)),
                right(&speed(write), SPEED),
                right(&leftward(brush, bar(write)), longest),
                left(&rightward(brush, bar(read)), longest),
                right(&speed(read), SPEED),
                share(&kept(read)),
            );
            lines.push(line.trim_end().to_owned());
        }
    }
    lines.join("\n")
}

fn legend(chart: &TwoSided<'_>) -> String {
    let others: Vec<String> = chart
        .arms
        .iter()
        .enumerate()
        .skip(1)
        .map(|(i, arm)| format!("━ {} {}", letter(i), clean(&arm.label)))
        .collect();
    let plain = chart.arms.first().map_or("plain", |arm| &arm.label);
    [vec![format!("█ {}", clean(plain))], others].concat().join(", ")
}

/// `a` for the first arm after plain.
fn letter(arm: usize) -> String {
    char::from(b'a' + u8::try_from(arm.saturating_sub(1) % 26).unwrap_or(0)).to_string()
}

fn speed(side: &Option<Reading>) -> String {
    side.map_or_else(String::new, |r| digits(r.bandwidth / 1e6))
}

fn kept(side: &Option<Reading>) -> String {
    side.map_or_else(String::new, |r| share(r.ratio, r.mark))
}

/// Length of a bar in half columns, at least one for a speed above zero.
fn half_columns(side: &Option<Reading>, most: f64, longest: usize) -> usize {
    let Some(speed) = side.map(|r| r.bandwidth).filter(|v| v.is_finite() && *v > 0.0) else {
        return 0;
    };
    let full = 2 * longest;
    ((full as f64 * speed / most).round() as usize).clamp(1, full)
}

fn rightward(brush: &Brush, halves: usize) -> String {
    let mut bar = String::from(brush.body).repeat(halves / 2);
    if halves % 2 == 1 {
        bar.push(brush.right_half);
    }
    bar
}

fn leftward(brush: &Brush, halves: usize) -> String {
    let body = String::from(brush.body).repeat(halves / 2);
    if halves % 2 == 1 { format!("{}{body}", brush.left_half) } else { body }
}
