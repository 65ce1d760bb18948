//! Every trial as a mark over time, which shows drift, steps and outliers.

use cryptbench_answer::quantity::{digits, duration};

use super::scale::{Scale, across, upwards};
use super::strips::{Trace, strips};
use super::{Drawing, Entry, Point, Role, WIDTH, is_finite};

/// Height of the chart in CSS pixels, and the sides of the plot area within it.
const HEIGHT: f64 = 190.0;
const ACROSS: [f64; 2] = [34.0, WIDTH - 8.0];
const DOWN: [f64; 2] = [8.0, HEIGHT - 20.0];

/// The trials of one arm.
pub(crate) struct Series {
    /// Name, colour and mark.
    pub(crate) entry: Entry,
    /// Time in seconds since the start of the run, and speed as a percentage of plain storage's median.
    pub(crate) points: Vec<Point>,
}

/// A chart of trials over time.
pub(crate) struct Drift {
    /// Its content.
    pub(crate) title: String,
    /// One series per arm.
    pub(crate) series: Vec<Series>,
}

impl Drift {
    /// The chart; `None` if no trial can be drawn.
    pub(crate) fn draw(&self) -> Option<Drawing> {
        let [times, speeds] = self.ranges()?;
        let mut drawing = Drawing::new(&self.title, HEIGHT);
        drawing.told = vec![format!(
            "Trials from {} to {} into the run; speed between {:.0} and {:.0} percent of the plain median.",
            duration(times[0]),
            duration(times[1]),
            speeds[0],
            speeds[1]
        )];
        let x = Scale::linear(times, ACROSS);
        let y = Scale::linear(speeds, [DOWN[1], DOWN[0]]);
        across(&mut drawing, &x, DOWN, x.clock_ticks(6).into_iter().map(|v| (v, clock(v))));
        upwards(&mut drawing, &y, ACROSS, y.ticks(6).into_iter().map(|v| (v, format!("{v:.0}"))));
        if speeds[0] <= 100.0 && 100.0 <= speeds[1] {
            drawing.line(Role::Muted, 1.0, ACROSS.map(|x| (x, y.at(100.0))));
        }
        for Series { entry, points } in &self.series {
            for (at, speed) in points.iter().filter(|p| is_finite(p)) {
                drawing.mark(entry.role, entry.mark, (x.at(*at), y.at(*speed)), 3.0);
            }
        }
        drawing.legend = self.series.iter().map(|s| s.entry.clone()).collect();
        let traces = self.series.iter().map(|Series { entry, points }| Trace {
            name: entry.name.clone(),
            points,
            value: &digits,
            unit: " %",
        });
        let traces: Vec<Trace<'_>> = traces.collect();
        drawing.readings = strips(&x, HEIGHT, &clock, &traces);
        Some(drawing)
    }

    /// Ranges of time and speed, with some space around the marks.
    fn ranges(&self) -> Option<[[f64; 2]; 2]> {
        let points = || self.series.iter().flat_map(|s| &s.points).filter(|p| is_finite(p));
        let range = |of: fn(&Point) -> f64, least: f64| {
            let low = points().map(of).reduce(f64::min)?;
            let high = points().map(of).reduce(f64::max)?;
            let pad = ((high - low) * 0.06).max(least);
            Some([(low - pad).max(0.0), high + pad])
        };
        Some([range(|p| p.0, 0.5)?, range(|p| p.1, 1.0)?])
    }
}

/// Time since the start of the run: `0:45`, `12:30`.
fn clock(seconds: f64) -> String {
    let whole = seconds.max(0.0).round() as u64;
    format!("{}:{:02}", whole / 60, whole % 60)
}

#[cfg(test)]
mod tests {
    use super::super::{Mark, Shape};
    use super::*;

    #[test]
    fn every_finite_trial_is_a_mark_at_its_time() {
        let entry = |mark| Entry { name: "a".to_owned(), role: Role::Plain, mark };
        let series = |mark, points| Series { entry: entry(mark), points };
        let drift = Drift {
            title: String::new(),
            series: vec![
                series(Mark::Ring, vec![(0.0, 100.0), (50.0, 104.0), (100.0, 96.0)]),
                series(Mark::Cross, vec![(10.0, f64::NAN)]),
            ],
        };
        let drawing = drift.draw().unwrap();
        let marks: Vec<Point> = drawing
            .shapes
            .iter()
            .filter_map(|s| match s {
                Shape::Mark { at, mark, .. } => {
                    assert_eq!(*mark, Mark::Ring);
                    Some(*at)
                }
                _ => None,
            })
            .collect();
        let [start, middle, end] = marks[..] else { panic!("{marks:?}") };
        assert!(start.0 < middle.0 && middle.0 < end.0);
        assert!(middle.1 < start.1 && start.1 < end.1, "faster is higher");
        let words: Vec<&str> = drawing.readings.iter().map(|r| r.words.as_str()).collect();
        assert_eq!(words, ["0:00: a 100 %", "0:50: a 104 %", "1:40: a 96.0 %"]);
        assert_eq!(Drift { title: String::new(), series: Vec::new() }.draw(), None);
    }
}
