//! Speed by number of requests in flight at the disk. Plain storage is a line, and cells are marks on or below
//! it.

use cryptbench_answer::quantity::requests;

use super::scale::{Scale, across, upwards};
use super::{Area, Drawing, Entry, Mark, Role, WIDTH};

/// The labels of the vertical scale are left of this position, and those of the horizontal scale are below
/// [`BOTTOM`].
const LEFT: f64 = 48.0;
const BOTTOM: f64 = 190.0;
const HEIGHT: f64 = 210.0;

/// Half the side length of the square around a mark in which the mark's reading is shown.
const NEAR: f64 = 8.0;

/// A cell in the chart.
pub(crate) struct Cell {
    /// Arm and workload.
    pub(crate) label: String,
    /// Name in the legend.
    pub(crate) arm: String,
    /// Requests in flight at the disk.
    pub(crate) in_flight: f64,
    /// Disk requests per second.
    pub(crate) rate: f64,
    /// Its colour.
    pub(crate) role: Role,
}

/// A chart of requests per second by number of requests in flight, both on logarithmic scales.
pub(crate) struct Depth {
    /// Its content.
    pub(crate) title: String,
    /// Plain storage: the number of requests in flight and the requests per second, in ascending order of the
    /// number.
    pub(crate) plain: Vec<(f64, f64)>,
    /// The cells to compare with plain storage.
    pub(crate) cells: Vec<Cell>,
}

impl Depth {
    /// The chart; `None` if plain storage has fewer than two points.
    pub(crate) fn draw(&self) -> Option<Drawing> {
        let cells = || self.cells.iter().map(|c| (c.in_flight, c.rate));
        let all: Vec<_> = self.plain.iter().copied().chain(cells()).filter(is_positive).collect();
        if self.plain.iter().filter(|p| is_positive(p)).count() < 2 {
            return None;
        }
        let range = |of: fn(&(f64, f64)) -> f64| {
            let ends = all.iter().map(of);
            [ends.clone().fold(f64::INFINITY, f64::min) / 1.4, ends.fold(0.0, f64::max) * 1.4]
        };
        let mut drawing = Drawing::new(&self.title, HEIGHT);
        let x = Scale::log(range(|p| p.0), [LEFT, WIDTH - 10.0]);
        let y = Scale::log(range(|p| p.1), [BOTTOM, 8.0]);
        across(&mut drawing, &x, [8.0, BOTTOM], x.ticks(6).into_iter().map(|v| (v, short(v))));
        upwards(&mut drawing, &y, [LEFT, WIDTH], y.ticks(5).into_iter().map(|v| (v, short(v))));
        let plain: Vec<_> = self.plain.iter().filter(|p| is_positive(p)).collect();
        let points: Vec<_> = plain.iter().map(|(k, rate)| (x.at(*k), y.at(*rate))).collect();
        for pair in points.windows(2) {
            drawing.line(Role::Plain, 2.0, [pair[0], pair[1]]);
        }
        for ((k, rate), at) in plain.iter().zip(&points) {
            drawing.mark(Role::Plain, Mark::Disc, *at, 3.0);
            drawing.reading(near(*at), format!("plain: {} with {k:.1} in flight", requests(*rate)));
        }
        drawing.legend.push(entry("plain", Role::Plain, Mark::Disc));
        for cell in self.cells.iter().filter(|c| is_positive(&(c.in_flight, c.rate))) {
            let at = (x.at(cell.in_flight), y.at(cell.rate));
            drawing.mark(cell.role, Mark::Triangle, at, 4.5);
            let words = format!(
                "{}: {} with {:.1} in flight",
                cell.label,
                requests(cell.rate),
                cell.in_flight
            );
            drawing.reading(near(at), words);
            if drawing.legend.iter().all(|e| e.name != cell.arm) {
                drawing.legend.push(entry(&cell.arm, cell.role, Mark::Triangle));
            }
        }
        Some(drawing)
    }
}

fn entry(name: &str, role: Role, mark: Mark) -> Entry {
    Entry { name: name.to_owned(), role, mark }
}

fn is_positive(point: &(f64, f64)) -> bool {
    point.0 > 0.0 && point.1 > 0.0 && point.0.is_finite() && point.1.is_finite()
}

fn near((x, y): (f64, f64)) -> Area {
    Area { left: x - NEAR, top: y - NEAR, width: 2.0 * NEAR, height: 2.0 * NEAR }
}

/// `0.5`, `32`, `20k`: a short form is sufficient, because ticks are round.
fn short(value: f64) -> String {
    if value >= 1000.0 { format!("{}k", value / 1000.0) } else { value.to_string() }
}

#[cfg(test)]
mod tests {
    use super::super::Shape;
    use super::*;

    #[test]
    fn cells_lie_beside_the_line_and_what_is_not_positive_is_left_out() {
        let cell = |in_flight, rate| Cell {
            label: "a, small reads".to_owned(),
            arm: "a".to_owned(),
            in_flight,
            rate,
            role: Role::Encrypted(0),
        };
        let plain = vec![(1.0, 16_000.0), (8.0, 67_000.0), (f64::NAN, 1.0)];
        let cells = vec![cell(0.7, 9_500.0), cell(0.0, 9_500.0), cell(0.8, 10_000.0)];
        let depth = Depth { title: String::new(), plain, cells };
        let drawing = depth.draw().unwrap();
        let marks = drawing.shapes.iter().filter(|s| matches!(s, Shape::Mark { .. })).count();
        assert_eq!((marks, drawing.legend.len(), drawing.readings.len()), (4, 2, 4));
        assert_eq!(drawing.readings[2].words, "a, small reads: 9,500 IOPS with 0.7 in flight");
        assert!(Depth { plain: vec![(1.0, 2.0)], ..depth }.draw().is_none());
        assert_eq!([0.5, 32.0, 20_000.0].map(short), ["0.5", "32", "20k"]);
    }
}
