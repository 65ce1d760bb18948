//! Speed over the surface as lines, access times as dots on an axis of their own.

use maud::{Markup, html};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};

use super::plot::{Across, Plot, Trace};
use super::{DrawResult, Frame, SCALE, TICK, in_house_style, px, svg, text};
use crate::format::html::palette::{Colour, MUTED};
use crate::quantity::{digits, latency};

/// Height of the chart in CSS pixels.
const HEIGHT: i32 = 230;

/// One arm.
pub(in crate::format::html) struct Line {
    /// Name.
    pub label: String,
    /// Place in bytes and speed in MB/s, ascending places.
    pub points: Vec<(f64, f64)>,
    /// Place in bytes and access time in microseconds.
    pub dots: Vec<(f64, f64)>,
    /// Colour of line and dots.
    pub colour: Colour,
}

/// A chart of a few arms over one surface.
pub(in crate::format::html) struct Surface {
    /// Unique identifier within the page.
    pub id: String,
    /// The title for readers who cannot see it.
    pub title: String,
    /// The arms, the last one on top.
    pub lines: Vec<Line>,
    /// Bytes, above 0.
    pub extent: f64,
    /// End of the axis of speed, MB/s, above 0.
    pub fastest: f64,
    /// End of the axis of access times in microseconds; 0 without dots.
    pub slowest_us: f64,
}

impl Surface {
    /// The chart.
    pub fn draw(&self) -> Markup {
        let frame = Frame {
            id: &self.id,
            title: &self.title,
            told: self.told(),
            height: HEIGHT,
            rows: None,
        };
        html! {
            (svg(&frame, |canvas| self.plot(canvas)))
            (self.interactive().block())
        }
    }

    fn interactive(&self) -> Plot {
        let (unit, name) = place_unit(self.extent);
        let scaled = |points: &[(f64, f64)]| points.iter().map(|(at, v)| (at / unit, *v)).collect();
        let trace = |line: &Line, dots: bool| Trace {
            name: if dots { format!("{}, access time", line.label) } else { line.label.clone() },
            colour: line.colour,
            dots: dots.then_some("·"),
            second: dots,
            points: scaled(if dots { &line.dots } else { &line.points }),
            intervals: Vec::new(),
        };
        let dots = self.lines.iter().filter(|l| !l.dots.is_empty()).map(|l| trace(l, true));
        Plot {
            across: Across::Unit(name.to_owned()),
            unit: "MB/s",
            second_unit: "µs",
            ends: Some((self.fastest * 1.05, self.slowest_us * 1.05)),
            reference: None,
            traces: self.lines.iter().map(|l| trace(l, false)).chain(dots).collect(),
        }
    }

    fn told(&self) -> Vec<String> {
        let words = |line: &Line| {
            let speeds = || line.points.iter().map(|(_, v)| *v);
            let (low, high) =
                (speeds().fold(f64::INFINITY, f64::min), speeds().fold(0.0, f64::max));
            match low.is_finite() {
                true => format!("{}: {} to {} MB/s", line.label, digits(low), digits(high)),
                false => format!("{}: no samples", line.label),
            }
        };
        self.lines.iter().map(words).collect()
    }

    fn plot(&self, canvas: &super::Canvas<'_>) -> DrawResult {
        let has_dots = self.slowest_us > 0.0 && self.slowest_us.is_finite();
        let slowest = if has_dots { self.slowest_us * 1.05 } else { 1.0 };
        let (unit, name) = place_unit(self.extent);
        let end = self.extent / unit;
        let mut chart = ChartBuilder::on(canvas)
            .margin_top(px(8.0))
            .margin_right(px(if has_dots { 0.0 } else { 12.0 }))
            .x_label_area_size(20 * SCALE)
            .y_label_area_size(38 * SCALE)
            .right_y_label_area_size(if has_dots { 44 * SCALE } else { 0 })
            .build_cartesian_2d(0.0..end, 0.0..self.fastest * 1.05)?
            .set_secondary_coord(0.0..end, 0.0..slowest);
        in_house_style(&mut chart.configure_mesh())
            .x_labels(5)
            .y_labels(5)
            .x_label_formatter(&|v| format!("{} {name}", digits_of_axis(*v)))
            .y_label_formatter(&|v| digits_of_axis(*v))
            .draw()?;
        if has_dots {
            chart
                .configure_secondary_axes()
                .y_labels(5)
                .axis_style(TRANSPARENT)
                .label_style(text(TICK, MUTED, HPos::Left, VPos::Center))
                .y_label_formatter(&|us| if *us > 0.0 { latency(*us) } else { String::new() })
                .draw()?;
            for line in &self.lines {
                // Outliers are drawn at the end of the scale instead of being dropped.
                let dots = line.dots.iter().map(|(at, us)| (at / unit, us.min(slowest)));
                let marks = dots.map(|p| Circle::new(p, px(1.2), line.colour.marker().filled()));
                chart.draw_secondary_series(marks)?;
            }
        }
        for line in &self.lines {
            let style = line.colour.marker().stroke_width(px(1.8).unsigned_abs());
            let finite = line.points.iter().filter(|(_, v)| v.is_finite());
            let points: Vec<(f64, f64)> = finite.map(|(at, v)| (at / unit, *v)).collect();
            chart.draw_series([PathElement::new(points, style)])?;
        }
        Ok(())
    }
}

/// The largest binary unit that is not larger than the surface, in bytes, and its name.
fn place_unit(extent: f64) -> (f64, &'static str) {
    let units =
        [(1024.0_f64.powi(4), "TiB"), (1024.0_f64.powi(3), "GiB"), (1024.0_f64.powi(2), "MiB")];
    units.into_iter().find(|(bytes, _)| extent >= *bytes).unwrap_or((1024.0, "KiB"))
}

/// `0`, `500`, `1,500`: no unnecessary decimals.
fn digits_of_axis(mb: f64) -> String {
    if mb == mb.round() { crate::quantity::thousands(mb) } else { digits(mb) }
}
