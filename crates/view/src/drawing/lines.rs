//! Curves over a few labelled positions, such as block sizes. The interval of each point is a whisker.

use cryptbench_answer::quantity::digits;

use super::scale::{Scale, across, upwards};
use super::{Area, Drawing, Entry, Mark, Reading, Role, WIDTH};

/// Height of the chart in CSS pixels, and the sides of the plot area within it.
const HEIGHT: f64 = 220.0;
const ACROSS: [f64; 2] = [34.0, WIDTH - 22.0];
const DOWN: [f64; 2] = [8.0, HEIGHT - 20.0];

/// Maximum number of labels that fit side by side.
const MOST_TICKS: usize = 6;

/// One point of a curve.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Point {
    /// Its position, counted from 0.
    pub(crate) at: usize,
    /// Its value.
    pub(crate) value: f64,
    /// Ends of the whisker.
    pub(crate) interval: Option<(f64, f64)>,
}

/// One curve.
pub(crate) struct Curve {
    /// Name.
    pub(crate) label: String,
    /// Ascending positions.
    pub(crate) points: Vec<Point>,
    /// Colour of line and whiskers.
    pub(crate) role: Role,
}

/// A chart of curves.
pub(crate) struct Lines {
    /// Its content.
    pub(crate) title: String,
    /// Labels of the positions.
    pub(crate) places: Vec<String>,
    /// The curves, the last one on top.
    pub(crate) curves: Vec<Curve>,
    /// Unit of the values.
    pub(crate) unit: &'static str,
    /// A reference line, such as 100 %.
    pub(crate) reference: Option<f64>,
}

impl Lines {
    /// The end of an axis that includes every value, and whiskers up to twice the highest value.
    fn end(&self) -> Option<f64> {
        let points = || self.curves.iter().flat_map(|c| &c.points).filter(|p| p.value.is_finite());
        let highest =
            points().map(|p| p.value).reduce(f64::max)?.max(self.reference.unwrap_or(0.0));
        let whisker = points().filter_map(|p| p.interval).map(|(_, high)| high);
        let whiskers = whisker.filter(|h| h.is_finite()).fold(highest, f64::max);
        Some(whiskers.min(2.0 * highest) * 1.04).filter(|end| *end > 0.0)
    }

    /// The chart; `None` if there are no points.
    pub(crate) fn draw(&self) -> Option<Drawing> {
        let mut drawing = Drawing::new(&self.title, HEIGHT);
        let last = self.places.len().saturating_sub(1).max(1) as f64;
        let x = Scale::linear([-0.2, last + 0.2], ACROSS);
        let y = Scale::linear([0.0, self.end()?], [DOWN[1], DOWN[0]]);
        let step = self.places.len().div_ceil(MOST_TICKS).max(1);
        let ticks = self.places.iter().enumerate().step_by(step);
        across(&mut drawing, &x, DOWN, ticks.map(|(i, name)| (i as f64, name.clone())));
        upwards(&mut drawing, &y, ACROSS, y.ticks(6).into_iter().map(|v| (v, format!("{v:.0}"))));
        if let Some(at) = self.reference {
            drawing.line(Role::Muted, 1.0, ACROSS.map(|x| (x, y.at(at))));
        }
        for curve in &self.curves {
            let finite = || curve.points.iter().filter(|p| p.value.is_finite());
            let place = |p: &Point| (x.at(p.at as f64), y.at(p.value));
            drawing.line(curve.role, 1.8, finite().map(place));
            finite().for_each(|p| drawing.mark(curve.role, Mark::Disc, place(p), 2.5));
            for (p, (low, high)) in finite().filter_map(|p| Some((p, p.interval?))) {
                drawing.line(curve.role, 1.2, [low, high].map(|v| (place(p).0, y.at(v))));
            }
            let entry = Entry { name: curve.label.clone(), role: curve.role, mark: Mark::Square };
            drawing.legend.push(entry);
        }
        drawing.readings = self.readings(&x);
        Some(drawing)
    }

    /// A reading for each position; its area extends half-way to the next position.
    fn readings(&self, x: &Scale) -> Vec<Reading> {
        let side = |i: usize| x.at(i as f64 - 0.5);
        let words = |(i, name): (usize, &String)| {
            let values = self.curves.iter().filter_map(|curve| {
                let point = curve.points.iter().find(|p| p.at == i && p.value.is_finite())?;
                let interval = point.interval.map_or_else(String::new, |(low, high)| {
                    format!(" [{}, {}]", digits(low), digits(high))
                });
                Some(format!("{} {}{interval}", curve.label, digits(point.value)))
            });
            let values: Vec<String> = values.collect();
            let area = Area::between([side(i), side(i + 1)], [0.0, HEIGHT]);
            let words = format!("{name}, {}: {}", self.unit, values.join("; "));
            (!values.is_empty()).then_some(Reading { area, words })
        };
        self.places.iter().enumerate().filter_map(words).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::Shape;
    use super::*;

    #[test]
    fn points_lie_at_their_places_and_are_read_with_their_intervals() {
        let point = |at, value| Point { at, value, interval: Some((value - 1.0, value + 2.0)) };
        let curve =
            |label: &str, points| Curve { label: label.to_owned(), points, role: Role::Plain };
        let lines = Lines {
            title: String::new(),
            places: ["4 KiB", "8 KiB", "16 KiB"].map(str::to_owned).to_vec(),
            curves: vec![
                curve("a", vec![point(0, 25.0), point(2, 50.0)]),
                curve("b", vec![point(0, 75.0), point(1, f64::NAN)]),
            ],
            unit: "% of plain",
            reference: Some(100.0),
        };
        let drawing = lines.draw().unwrap();
        let marks: Vec<super::super::Point> = drawing
            .shapes
            .iter()
            .filter_map(|s| match s {
                Shape::Mark { at, .. } => Some(*at),
                _ => None,
            })
            .collect();
        let [a0, a2, b0] = marks[..] else { panic!("{marks:?}") };
        assert_eq!(a0.0, b0.0);
        // Equal steps of 25 %.
        assert!((a0.1 - a2.1 - (a2.1 - b0.1)).abs() < 1e-9, "{marks:?}");
        let words: Vec<&str> = drawing.readings.iter().map(|r| r.words.as_str()).collect();
        assert_eq!(
            words,
            [
                "4 KiB, % of plain: a 25.0 [24.0, 27.0]; b 75.0 [74.0, 77.0]",
                "16 KiB, % of plain: a 50.0 [49.0, 52.0]"
            ]
        );
        assert_eq!(drawing.legend.len(), 2);
        let none = Lines { curves: Vec::new(), ..lines };
        assert_eq!(none.draw(), None);
    }
}
