//! Latency percentiles on a logarithmic axis: median, 99th and 99.9th per arm.

use cryptbench_answer::quantity::latency;

use super::bars::{AXIS, ROW, heading};
use super::scale::{Scale, across};
use super::{Drawing, Mark, Role, WIDTH};

/// The usual names of the percentiles.
const NAMES: [&str; 3] = ["median", "p99", "p99.9"];

/// The percentiles of one arm in microseconds.
pub(crate) struct Ladder {
    /// Name on the left.
    pub(crate) label: String,
    /// Median, 99th and 99.9th percentile; `None` if there are too few requests.
    pub(crate) values: [Option<f64>; 3],
    /// Colour of the marks.
    pub(crate) role: Role,
}

impl Ladder {
    fn told(&self) -> String {
        let part = |(name, v): (&&str, Option<f64>)| Some(format!("{name} {}", latency(v?)));
        let parts: Vec<String> = NAMES.iter().zip(self.values).filter_map(part).collect();
        format!("{}: {}", self.label, parts.join(", "))
    }

    fn drawable(&self) -> [Option<f64>; 3] {
        self.values.map(|value| value.filter(|v| v.is_finite() && *v > 0.0))
    }
}

/// A chart of the percentiles of arms, from top to bottom.
pub(crate) struct Percentiles {
    /// Its content.
    pub(crate) title: String,
    /// The arms from top to bottom.
    pub(crate) rows: Vec<Ladder>,
}

impl Percentiles {
    /// A range around all positive values.
    fn range(&self) -> [f64; 2] {
        let values = || self.rows.iter().flat_map(Ladder::drawable).flatten();
        let low = values().fold(f64::INFINITY, f64::min);
        let high = values().fold(0.0, f64::max);
        if low.is_finite() { [low / 1.3, (high * 1.3).max(low * 8.0)] } else { [1.0, 1000.0] }
    }

    /// The chart.
    pub(crate) fn draw(&self) -> Drawing {
        let bottom = self.rows.len().max(1) as f64 * ROW;
        let mut drawing = Drawing::new(&self.title, bottom + AXIS);
        let x = Scale::log(self.range(), [1.0, WIDTH - 12.0]);
        across(&mut drawing, &x, [0.0, bottom], x.ticks(6).into_iter().map(|v| (v, tick(v))));
        for (i, row) in self.rows.iter().enumerate() {
            let y = (i as f64 + 0.66) * ROW;
            let [median, p99, p999] = row.drawable().map(|value| value.map(|v| x.at(v)));
            let all = [median, p99, p999].into_iter().flatten();
            if let (Some(first), Some(last)) = (all.clone().next(), all.last()) {
                drawing.line(row.role, 2.0, [(first, y), (last, y)]);
            }
            if let Some(x) = median {
                drawing.mark(row.role, Mark::Disc, (x, y), 4.5);
            }
            if let Some(x) = p99 {
                drawing.mark(row.role, Mark::Triangle, (x, y), 4.5);
            }
            if let Some(x) = p999 {
                drawing.line(row.role, 2.5, [(x, y - 6.7), (x, y + 6.7)]);
            }
        }
        for (i, row) in self.rows.iter().enumerate() {
            let value = row.values[0].map_or_else(String::new, latency);
            heading(&mut drawing, i, &row.label, &value);
        }
        drawing.rows(0.0, ROW, self.rows.iter().map(Ladder::told));
        drawing
    }
}

/// A tick without unnecessary decimals: `100 µs`, `1 ms`.
fn tick(us: f64) -> String {
    let (value, unit) = match us {
        us if us >= 999_999.0 => (us / 1e6, "s"),
        us if us >= 999.9 => (us / 1e3, "ms"),
        us => (us, "µs"),
    };
    format!("{} {unit}", (value * 100.0).round() / 100.0)
}

#[cfg(test)]
mod tests {
    use super::super::Shape;
    use super::*;

    #[test]
    fn what_is_supported_is_drawn_and_told() {
        let row = |values| Ladder { label: "a".to_owned(), values, role: Role::Plain };
        let rows =
            vec![row([Some(100.0), Some(1_000.0), None]), row([None, Some(f64::NAN), Some(1e4)])];
        let drawing = Percentiles { title: String::new(), rows }.draw();
        let marks: Vec<f64> = drawing
            .shapes
            .iter()
            .filter_map(|s| match s {
                Shape::Mark { at, .. } => Some(at.0),
                _ => None,
            })
            .collect();
        assert_eq!(marks.len(), 2);
        // 1.3 times the ends are a little more than 2.1 decades apart; this is one of them.
        let decades = (1e4_f64 * 1.3 / (100.0 / 1.3)).log10();
        assert!(((marks[1] - marks[0]) * decades - (WIDTH - 13.0)).abs() < 1e-6, "{marks:?}");
        assert_eq!(drawing.readings[0].words, "a: median 100 µs, p99 1.00 ms");
        assert_eq!([50.0, 1e3, 2e6].map(tick), ["50 µs", "1 ms", "2 s"]);
    }
}
