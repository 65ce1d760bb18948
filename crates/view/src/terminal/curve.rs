//! Speed over the surface of a disk as an area of block characters, with access times as braille dots below it.

use cryptbench_answer::picture::curve::{ArmCurve, Curve};
use cryptbench_answer::quantity::{binary_bytes, digits, latency, megabytes};

use super::layout::{add, clean, empty, fitted, heading, right};
use super::wrap;

/// Height in rows of the area and of the dots.
const AREA_ROWS: usize = 6;
const DOT_ROWS: usize = 4;

/// Width of the axis on the left, in columns.
const AXIS: usize = 8;

/// Wider drawings would not show more detail.
const WIDEST: usize = 160;

/// Eighths of a row, from the bottom.
const EIGHTHS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

pub(super) fn draw(curve: &Curve<'_>, width: usize) -> String {
    let columns = width.saturating_sub(AXIS + 1).clamp(8, WIDEST);
    let mut title = format!(
        "Speed over the surface ({}), MB/s, all on one scale; median of the trials at each position",
        clean(&curve.workload.label)
    );
    if let Some(access) = curve.access.filter(|_| curve.slowest_us > 0.0) {
        title.push_str(&format!(". Dots: individual requests of {}", clean(&access.label)));
    }
    let mut lines = vec![wrap(&(title + "."), "", "  ", width)];
    for arm in &curve.arms {
        lines.push(String::new());
        lines.push(wrap(&summary(arm), "", "  ", width));
        lines.extend(area(curve, arm, columns));
        if !arm.dots.is_empty() && curve.slowest_us > 0.0 {
            lines.extend(dots(curve, arm, columns));
        }
        lines.push(axis(curve, columns));
    }
    lines.push(String::new());
    lines.push(figures(curve, width));
    lines.join("\n")
}

fn summary(arm: &ArmCurve<'_>) -> String {
    let [least, average, most] = arm.range.map(megabytes);
    format!("{}: {average} on average, {least} to {most}", clean(&arm.arm.label))
}

/// The speed shown in each column: the mean over the offsets in it or, if there are none, the speed of the
/// previous column.
fn by_column(curve: &Curve<'_>, arm: &ArmCurve<'_>, columns: usize) -> Vec<Option<f64>> {
    let column = |at: u64| place(at, curve.extent, columns);
    let mut sums = vec![(0_u32, 0.0); columns];
    for (at, speed) in &arm.points {
        let (n, sum) = &mut sums[column(*at)];
        *n += 1;
        *sum += speed;
    }
    let mut last = None;
    sums.into_iter()
        .map(|(n, sum)| {
            last = if n > 0 { Some(sum / f64::from(n)) } else { last };
            last
        })
        .collect()
}

fn place(at: u64, extent: u64, columns: usize) -> usize {
    let column = at as f64 / extent.max(1) as f64 * columns as f64;
    (column as usize).min(columns - 1)
}

fn area(curve: &Curve<'_>, arm: &ArmCurve<'_>, columns: usize) -> Vec<String> {
    let levels: Vec<usize> = by_column(curve, arm, columns)
        .into_iter()
        .map(|speed| {
            let share = speed.unwrap_or(0.0) / curve.fastest;
            (share * (8 * AREA_ROWS) as f64).round().max(0.0) as usize
        })
        .collect();
    (0..AREA_ROWS)
        .map(|row| {
            let below = 8 * (AREA_ROWS - 1 - row);
            let body: String =
                levels.iter().map(|l| EIGHTHS[l.saturating_sub(below).min(8)]).collect();
            let label = if row == 0 { digits(curve.fastest / 1e6) } else { String::new() };
            labelled(&label, &body)
        })
        .collect()
}

fn dots(curve: &Curve<'_>, arm: &ArmCurve<'_>, columns: usize) -> Vec<String> {
    let (wide, high) = (2 * columns, 4 * DOT_ROWS);
    let mut cells = vec![0_u8; columns * DOT_ROWS];
    for (at, us) in &arm.dots {
        let x = place(*at, curve.extent, wide);
        let share = (us / curve.slowest_us).clamp(0.0, 1.0);
        let y = high - 1 - ((share * high as f64) as usize).min(high - 1);
        cells[(y / 4) * columns + x / 2] |= braille_dot(x % 2, y % 4);
    }
    cells
        .chunks(columns)
        .enumerate()
        .map(|(row, cells)| {
            let glyph = |bits: &u8| match bits {
                0 => ' ',
                bits => char::from_u32(0x2800 + u32::from(*bits)).unwrap_or(' '),
            };
            let label = if row == 0 { latency(curve.slowest_us) } else { String::new() };
            labelled(&label, &cells.iter().map(glyph).collect::<String>())
        })
        .collect()
}

/// The bit of a dot in a braille character (Unicode 15, block U+2800): two columns of four dots.
fn braille_dot(x: usize, y: usize) -> u8 {
    const BITS: [[u8; 4]; 2] = [[0x01, 0x02, 0x04, 0x40], [0x08, 0x10, 0x20, 0x80]];
    BITS[x][y]
}

fn labelled(label: &str, body: &str) -> String {
    let edge = if label.is_empty() { '│' } else { '┤' };
    format!("{}{edge}{body}", right(label, AXIS)).trim_end().to_owned()
}

fn axis(curve: &Curve<'_>, columns: usize) -> String {
    let end = binary_bytes(curve.extent);
    let line = "─".repeat(columns.saturating_sub(end.chars().count() + 1));
    format!("{}└{line} {end}", right("0", AXIS))
}

fn figures(curve: &Curve<'_>, width: usize) -> String {
    let labels = curve.arms.iter().map(|a| heading(&clean(&a.arm.label)));
    let mut table = empty([String::new()].into_iter().chain(labels).collect());
    for (name, values) in &curve.figures {
        let row = [clean(name)].into_iter().chain(values.iter().cloned()).collect();
        add(&mut table, row);
    }
    fitted(table, width)
}
