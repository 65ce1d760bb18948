//! Speed over the surface of a disk as lines, and access times as dots on a separate axis.

use cryptbench_answer::quantity::{digits, latency, thousands};

use super::scale::{Scale, across, upwards};
use super::strips::{self, strips};
use super::{Anchor, Drawing, Entry, Mark, Point, Role, TICK, WIDTH, look};

/// Height of the chart in CSS pixels, and the upper and lower sides of the plot area within it.
const HEIGHT: f64 = 230.0;
const DOWN: [f64; 2] = [8.0, HEIGHT - 20.0];

/// One arm.
pub(crate) struct Trace {
    /// Name.
    pub(crate) label: String,
    /// Offset in bytes and speed in MB/s, in ascending order of offsets.
    pub(crate) points: Vec<Point>,
    /// Offset in bytes, and the lowest and the highest speed of the trials at that offset.
    pub(crate) between: Vec<(f64, [f64; 2])>,
    /// Offset in bytes and access time in microseconds.
    pub(crate) dots: Vec<Point>,
    /// Colour of line and dots.
    pub(crate) role: Role,
}

/// A chart of a few arms over the surface of one disk.
pub(crate) struct Surface {
    /// Its content.
    pub(crate) title: String,
    /// The arms, the last one on top.
    pub(crate) traces: Vec<Trace>,
    /// Size of the surface in bytes, above 0.
    pub(crate) extent: f64,
    /// End of the speed axis in MB/s, above 0.
    pub(crate) fastest: f64,
    /// End of the access time axis in microseconds; 0 without dots.
    pub(crate) slowest_us: f64,
}

impl Surface {
    /// The chart.
    pub(crate) fn draw(&self) -> Drawing {
        let mut drawing = Drawing::new(&self.title, HEIGHT);
        drawing.told = self.traces.iter().map(told).collect();
        let has_dots = self.slowest_us > 0.0 && self.slowest_us.is_finite();
        let sides = [40.0, WIDTH - if has_dots { 52.0 } else { 12.0 }];
        let (unit, name) = place_unit(self.extent);
        let x = Scale::linear([0.0, self.extent], sides);
        let y = Scale::linear([0.0, self.fastest * 1.05], [DOWN[1], DOWN[0]]);
        let units = Scale::linear([0.0, self.extent / unit], sides).ticks(5);
        let place = |v: f64| format!("{} {name}", of_axis(v));
        across(&mut drawing, &x, DOWN, units.into_iter().map(|v| (v * unit, place(v))));
        upwards(&mut drawing, &y, sides, y.ticks(6).into_iter().map(|v| (v, of_axis(v))));
        if has_dots {
            self.dots(&mut drawing, &x);
        }
        for trace in &self.traces {
            for (at, ends) in &trace.between {
                drawing.line(trace.role, 0.6, ends.map(|v| (x.at(*at), y.at(v))));
            }
            drawing.line(trace.role, 1.8, trace.points.iter().map(|(at, v)| (x.at(*at), y.at(*v))));
        }
        let place = |bytes: f64| format!("{} {name}", digits(bytes / unit));
        let mut traces = Vec::new();
        for trace in &self.traces {
            let Trace { label, points, dots, role, .. } = trace;
            traces.push(strips::Trace {
                name: label.clone(),
                points,
                value: &digits,
                unit: " MB/s",
            });
            drawing.legend.push(Entry { name: label.clone(), role: *role, mark: Mark::Square });
            if has_dots && !dots.is_empty() {
                let name = format!("{label}, access time");
                traces.push(strips::Trace {
                    name: name.clone(),
                    points: dots,
                    value: &latency,
                    unit: "",
                });
                drawing.legend.push(Entry { name, role: *role, mark: Mark::Disc });
            }
        }
        drawing.readings = strips(&x, HEIGHT, &place, &traces);
        drawing
    }

    /// The access times, with their scale on the right. Outliers are drawn at the end of the scale instead of
    /// being omitted.
    fn dots(&self, drawing: &mut Drawing, x: &Scale) {
        let y = Scale::linear([0.0, self.slowest_us * 1.05], [DOWN[1], DOWN[0]]);
        for us in y.ticks(6).into_iter().filter(|us| *us > 0.0) {
            let place = (x.pixels()[1] + 6.0, y.at(us));
            drawing.text(look(Role::Muted, TICK, Anchor::Start), place, latency(us));
        }
        for trace in &self.traces {
            for (at, us) in &trace.dots {
                drawing.mark(trace.role, Mark::Disc, (x.at(*at), y.at(*us)), 1.2);
            }
        }
    }
}

fn told(trace: &Trace) -> String {
    let speeds = || trace.points.iter().map(|(_, v)| *v);
    let (low, high) = (speeds().fold(f64::INFINITY, f64::min), speeds().fold(0.0, f64::max));
    match low.is_finite() {
        true => format!("{}: {} to {} MB/s", trace.label, digits(low), digits(high)),
        false => format!("{}: no samples", trace.label),
    }
}

/// The largest binary unit, in bytes, that is not larger than the surface, and its name.
fn place_unit(extent: f64) -> (f64, &'static str) {
    let units =
        [(1024.0_f64.powi(4), "TiB"), (1024.0_f64.powi(3), "GiB"), (1024.0_f64.powi(2), "MiB")];
    units.into_iter().find(|(bytes, _)| extent >= *bytes).unwrap_or((1024.0, "KiB"))
}

/// `0`, `500`, `1,500`: without unnecessary decimals.
fn of_axis(value: f64) -> String {
    if value == value.round() { thousands(value) } else { digits(value) }
}

#[cfg(test)]
mod tests {
    use super::super::Shape;
    use super::*;

    #[test]
    fn speeds_are_a_line_and_access_times_dots_on_their_own_scale() {
        let gib = 1024.0_f64.powi(3);
        let trace = Trace {
            label: "a".to_owned(),
            points: vec![(0.0, 200.0), (gib, 150.0), (2.0 * gib, 100.0)],
            between: vec![(gib, [140.0, 170.0])],
            dots: vec![(gib, 50.0), (gib, 9_000.0)],
            role: Role::Plain,
        };
        let surface = Surface {
            title: String::new(),
            traces: vec![trace],
            extent: 2.0 * gib,
            fastest: 200.0,
            slowest_us: 100.0,
        };
        let drawing = surface.draw();
        let line = drawing.shapes.iter().find_map(|s| match s {
            Shape::Line { role: Role::Plain, points, width } if *width > 1.0 => {
                Some(points.clone())
            }
            _ => None,
        });
        let upright = drawing.shapes.iter().any(|s| {
            matches!(s, Shape::Line { role: Role::Plain, points, .. } if points[0].0 == points[1].0)
        });
        assert!(upright, "the range of the trials");
        let [a, b, c] = line.unwrap()[..] else { panic!() };
        assert!((b.0 - a.0 - (c.0 - b.0)).abs() < 1e-9 && (b.1 - a.1 - (c.1 - b.1)).abs() < 1e-9);
        let dots: Vec<Point> = drawing
            .shapes
            .iter()
            .filter_map(|s| match s {
                Shape::Mark { at, .. } => Some(*at),
                _ => None,
            })
            .collect();
        assert_eq!(dots[0].0, b.0);
        assert_eq!(dots[1].1, DOWN[0], "an outlier lies at the end of the scale");
        assert_eq!(drawing.told, ["a: 100 to 200 MB/s"]);
        assert_eq!(
            drawing.readings[1].words,
            "1.00 GiB: a 150 MB/s; a, access time 50.0 µs to 9.00 ms"
        );
    }
}
