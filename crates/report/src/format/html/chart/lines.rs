//! Curves over a few named places, such as block sizes, with the interval of each point as a whisker.

use maud::{Markup, html};
use plotters::prelude::*;

use super::plot::{Across, Plot, Trace};
use super::{DrawResult, Frame, SCALE, in_house_style, px, svg};
use crate::format::html::palette::{Colour, MUTED};

/// Height of the chart in CSS pixels.
const HEIGHT: i32 = 220;

/// Names of places that fit beside each other.
const MOST_TICKS: usize = 6;

/// One point of a curve.
#[derive(Clone, Copy, Debug)]
pub(in crate::format::html) struct Point {
    /// Place, from 0.
    pub at: usize,
    /// Its value.
    pub value: f64,
    /// Ends of the whisker.
    pub interval: Option<(f64, f64)>,
}

/// One curve.
pub(in crate::format::html) struct Curve {
    /// Name.
    pub label: String,
    /// Ascending places.
    pub points: Vec<Point>,
    /// Colour of line and whiskers.
    pub colour: Colour,
}

/// A chart of curves.
pub(in crate::format::html) struct Lines {
    /// Unique identifier within the page.
    pub id: String,
    /// The title for readers who cannot see it.
    pub title: String,
    /// Names of the places.
    pub places: Vec<String>,
    /// The curves, the last one on top.
    pub curves: Vec<Curve>,
    /// Unit of the values.
    pub unit: &'static str,
    /// A line to compare with, such as 100 %.
    pub reference: Option<f64>,
}

impl Lines {
    /// The chart, or nothing where there is no point.
    pub fn draw(&self) -> Option<Markup> {
        let end = self.end()?;
        let frame = Frame {
            id: &self.id,
            title: &self.title,
            told: self.told(),
            height: HEIGHT,
            rows: None,
        };
        Some(html! {
            (svg(&frame, |canvas| self.plot(canvas, end)))
            (self.interactive().block())
        })
    }

    /// A range that includes every value, and whiskers up to twice the highest.
    fn end(&self) -> Option<f64> {
        let points = || self.curves.iter().flat_map(|c| &c.points).filter(|p| p.value.is_finite());
        let highest =
            points().map(|p| p.value).reduce(f64::max)?.max(self.reference.unwrap_or(0.0));
        let whisker = points().filter_map(|p| p.interval).map(|(_, high)| high);
        let whiskers = whisker.filter(|h| h.is_finite()).fold(highest, f64::max);
        Some(whiskers.min(2.0 * highest) * 1.04).filter(|end| *end > 0.0)
    }

    fn told(&self) -> Vec<String> {
        let value = |p: &Point| {
            let place = self.places.get(p.at).map_or("", String::as_str);
            format!("{place} {:.0}", p.value)
        };
        let words = |c: &Curve| {
            let values: Vec<String> = c.points.iter().map(value).collect();
            format!("{}: {} {}", c.label, values.join(", "), self.unit)
        };
        self.curves.iter().map(words).collect()
    }

    fn interactive(&self) -> Plot {
        let trace = |c: &Curve| Trace {
            name: c.label.clone(),
            colour: c.colour,
            dots: None,
            second: false,
            points: c.points.iter().map(|p| (p.at as f64, p.value)).collect(),
            intervals: c.points.iter().map(|p| p.interval).collect(),
        };
        Plot {
            across: Across::Names(self.places.clone()),
            unit: self.unit,
            second_unit: "",
            ends: None,
            reference: self.reference,
            traces: self.curves.iter().map(trace).collect(),
        }
    }

    fn plot(&self, canvas: &super::Canvas<'_>, end: f64) -> DrawResult {
        let last = self.places.len().saturating_sub(1).max(1) as f64;
        let step = self.places.len().div_ceil(MOST_TICKS).max(1);
        // Only a logarithmic axis accepts given ticks, so places are drawn at their exponential.
        let x = |place: f64| place.exp2();
        let ticks: Vec<f64> = (0..self.places.len()).step_by(step).map(|i| x(i as f64)).collect();
        let mut chart = ChartBuilder::on(canvas)
            .margin_top(px(8.0))
            .margin_right(px(18.0))
            .x_label_area_size(20 * SCALE)
            .y_label_area_size(34 * SCALE)
            .build_cartesian_2d(
                (x(-0.2)..x(last + 0.2)).log_scale().with_key_points(ticks),
                0.0..end,
            )?;
        in_house_style(&mut chart.configure_mesh())
            .x_labels(MOST_TICKS + 1)
            .y_labels(5)
            .x_label_formatter(&|v| {
                self.places.get(v.log2().round() as usize).cloned().unwrap_or_default()
            })
            .y_label_formatter(&|v| format!("{v:.0}"))
            .draw()?;
        if let Some(at) = self.reference {
            let line = MUTED.marker().stroke_width(px(1.0).unsigned_abs());
            chart
                .draw_series([PathElement::new(vec![(x(-0.2), at), (x(last + 0.2), at)], line)])?;
        }
        for curve in &self.curves {
            let colour = curve.colour.marker();
            let finite: Vec<&Point> = curve.points.iter().filter(|p| p.value.is_finite()).collect();
            let line: Vec<(f64, f64)> =
                finite.iter().map(|p| (x(p.at as f64), p.value.min(end))).collect();
            let stroke = colour.stroke_width(px(1.8).unsigned_abs());
            chart.draw_series([PathElement::new(line.clone(), stroke)])?;
            chart.draw_series(line.iter().map(|p| Circle::new(*p, px(2.5), colour.filled())))?;
            let whisker = colour.stroke_width(px(1.2).unsigned_abs());
            let ends = finite.iter().filter_map(|p| Some((x(p.at as f64), p.interval?)));
            let ends = ends.filter(|(_, (low, high))| low.is_finite() && high.is_finite());
            let clamp = |v: f64| v.clamp(0.0, end);
            chart.draw_series(ends.map(|(at, (low, high))| {
                PathElement::new(vec![(at, clamp(low)), (at, clamp(high))], whisker)
            }))?;
        }
        Ok(())
    }
}
