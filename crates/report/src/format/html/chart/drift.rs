//! Every trial as a mark over time, which shows drift, steps and outliers.

use maud::{Markup, html};
use plotters::prelude::*;

use super::plot::{Across, Plot, Trace};
use super::{DrawResult, Frame, SCALE, in_house_style, px, svg};
use crate::format::html::palette::Colour;
use crate::quantity::duration;

/// Height of the chart in CSS pixels.
const HEIGHT: i32 = 180;

/// The shape of a series' marks, for readers who cannot distinguish the colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::format::html) enum Shape {
    /// A ring.
    Ring,
    /// A disc.
    Disc,
    /// A triangle.
    Triangle,
    /// A cross.
    Cross,
}

impl Shape {
    /// The character that stands for it in a legend.
    pub fn glyph(self) -> &'static str {
        match self {
            Self::Ring => "○",
            Self::Disc => "●",
            Self::Triangle => "▲",
            Self::Cross => "✕",
        }
    }
}

/// The trials of one arm.
pub(in crate::format::html) struct Series {
    /// Name.
    pub label: String,
    /// (seconds since the start of the run, speed in percent of plain's median).
    pub points: Vec<(f64, f64)>,
    /// How they look.
    pub shape: Shape,
    /// Their colour.
    pub colour: Colour,
}

/// A chart of trials over time.
pub(in crate::format::html) struct Drift {
    /// Unique identifier within the page.
    pub id: String,
    /// The title for readers who cannot see it.
    pub title: String,
    /// One series per arm.
    pub series: Vec<Series>,
}

impl Drift {
    /// The chart, or nothing if no trial can be drawn.
    pub fn draw(&self) -> Option<Markup> {
        let ((x0, x1), (y0, y1)) = self.ranges()?;
        let description = format!(
            "Trials from {} to {} into the run; speed between {y0:.0} and {y1:.0} percent of the \
             median of plain storage.",
            duration(x0),
            duration(x1)
        );
        let frame = Frame {
            id: &self.id,
            title: &self.title,
            told: vec![description],
            height: HEIGHT,
            rows: None,
        };
        Some(html! {
            (svg(&frame, |canvas| self.plot(canvas, x0..x1, y0..y1)))
            (self.interactive().block())
        })
    }

    fn interactive(&self) -> Plot {
        let trace = |s: &Series| Trace {
            name: s.label.clone(),
            colour: s.colour,
            dots: Some(s.shape.glyph()),
            second: false,
            points: s.points.clone(),
            intervals: Vec::new(),
        };
        Plot {
            across: Across::Clock,
            unit: "% of plain",
            second_unit: "",
            ends: None,
            reference: Some(100.0),
            traces: self.series.iter().map(trace).collect(),
        }
    }

    fn points(&self) -> impl Iterator<Item = (f64, f64)> {
        let all = self.series.iter().flat_map(|s| s.points.iter().copied());
        all.filter(|(x, y)| x.is_finite() && y.is_finite())
    }

    /// Ranges of time and speed with some room around the marks.
    fn ranges(&self) -> Option<((f64, f64), (f64, f64))> {
        let start = self.points().next()?;
        let (mut x, mut y) = ((start.0, start.0), (start.1, start.1));
        for (at, speed) in self.points() {
            x = (x.0.min(at), x.1.max(at));
            y = (y.0.min(speed), y.1.max(speed));
        }
        let room = |(low, high): (f64, f64), least: f64| {
            let pad = ((high - low) * 0.06).max(least);
            ((low - pad).max(0.0), high + pad)
        };
        Some((room(x, 0.5), room(y, 1.0)))
    }

    fn plot(
        &self,
        canvas: &super::Canvas<'_>,
        x: std::ops::Range<f64>,
        y: std::ops::Range<f64>,
    ) -> DrawResult {
        let mut chart = ChartBuilder::on(canvas)
            .margin_top(px(8.0))
            .margin_right(px(12.0))
            .x_label_area_size(20 * SCALE)
            .y_label_area_size(34 * SCALE)
            .build_cartesian_2d(x, y)?;
        in_house_style(&mut chart.configure_mesh())
            .x_labels(5)
            .y_labels(5)
            .x_label_formatter(&|v| clock(*v))
            .y_label_formatter(&|v| format!("{v:.0}"))
            .draw()?;
        for series in &self.series {
            let colour = series.colour.marker();
            let line = colour.stroke_width(px(1.3).unsigned_abs());
            let r = px(3.0);
            let points =
                series.points.iter().copied().filter(|(a, b)| a.is_finite() && b.is_finite());
            match series.shape {
                Shape::Ring => chart.draw_series(points.map(|p| Circle::new(p, r, line)))?,
                Shape::Disc => {
                    chart.draw_series(points.map(|p| Circle::new(p, r, colour.filled())))?
                }
                Shape::Triangle => chart.draw_series(
                    points.map(|p| TriangleMarker::new(p, r + px(0.8), colour.filled())),
                )?,
                Shape::Cross => chart.draw_series(points.map(|p| Cross::new(p, r, line)))?,
            };
        }
        Ok(())
    }
}

/// Time into the run: `0:45`, `12:30`.
fn clock(seconds: f64) -> String {
    let whole = seconds.max(0.0).round() as u64;
    format!("{}:{:02}", whole / 60, whole % 60)
}
