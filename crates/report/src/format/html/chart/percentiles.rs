//! Latency percentiles on a logarithmic axis: median, 99th and 99.9th per arm.

use maud::Markup;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};

use super::{DrawResult, Frame, LABEL, SCALE, WIDTH, in_house_style, px, shortened, svg, text};
use crate::format::html::palette::{Colour, INK};
use crate::quantity::latency;

/// Height of one row and of the axis in CSS pixels.
const ROW: i32 = 42;
const AXIS: i32 = 20;

/// The percentiles, as they are called.
const NAMES: [&str; 3] = ["median", "p99", "p99.9"];

/// Ticks whose labels fit beside each other.
const MOST_TICKS: usize = 6;

/// The percentiles of one arm in microseconds.
pub(in crate::format::html) struct Ladder {
    /// Name on the left.
    pub label: String,
    /// Median, 99th and 99.9th, where they are supported.
    pub values: [Option<f64>; 3],
    /// Colour of the marks.
    pub colour: Colour,
}

/// A chart of percentiles.
pub(in crate::format::html) struct Percentiles {
    /// Unique identifier within the page.
    pub id: String,
    /// The title for readers who cannot see it.
    pub title: String,
    /// The arms from top to bottom.
    pub rows: Vec<Ladder>,
}

impl Percentiles {
    /// The chart.
    pub fn draw(&self) -> Markup {
        let frame = Frame {
            id: &self.id,
            title: &self.title,
            told: self.told(),
            height: self.rows.len().max(1) as i32 * ROW + AXIS,
            rows: Some((0.0, ROW.into())),
        };
        svg(&frame, |canvas| self.plot(canvas))
    }

    fn told(&self) -> Vec<String> {
        let words = |row: &Ladder| {
            let parts: Vec<String> = NAMES
                .iter()
                .zip(row.values)
                .filter_map(|(name, v)| Some(format!("{name} {}", latency(v?))))
                .collect();
            format!("{}: {}", row.label, parts.join(", "))
        };
        self.rows.iter().map(words).collect()
    }

    /// A range of whole ticks around all positive values.
    fn range(&self) -> (f64, f64) {
        let values = || self.rows.iter().flat_map(|r| r.values).filter_map(drawable);
        let low = values().fold(f64::INFINITY, f64::min);
        let high = values().fold(0.0, f64::max);
        if low.is_finite() { (low / 1.3, (high * 1.3).max(low * 8.0)) } else { (1.0, 1000.0) }
    }

    fn plot(&self, canvas: &super::Canvas<'_>) -> DrawResult {
        let rows = self.rows.len().max(1) as f64;
        let (low, high) = self.range();
        let mut chart = ChartBuilder::on(canvas)
            .margin_left(px(1.0))
            .margin_right(px(12.0))
            .x_label_area_size(AXIS * SCALE)
            .build_cartesian_2d(
                (low..high).log_scale().with_key_points(ticks(low, high)),
                rows..0.0,
            )?;
        in_house_style(&mut chart.configure_mesh())
            .disable_y_mesh()
            .disable_y_axis()
            .x_labels(MOST_TICKS)
            .x_label_formatter(&|v| tick(*v))
            .draw()?;
        for (i, row) in self.rows.iter().enumerate() {
            let y = i as f64 + 0.66;
            let colour = row.colour.marker();
            let points: Vec<f64> = row.values.iter().copied().filter_map(drawable).collect();
            if let (Some(first), Some(last)) = (points.first(), points.last()) {
                let line = colour.stroke_width(px(2.0).unsigned_abs());
                chart.draw_series([PathElement::new(vec![(*first, y), (*last, y)], line)])?;
            }
            let radius = px(4.5);
            if let Some(median) = row.values[0].and_then(|v| drawable(Some(v))) {
                chart.draw_series([Circle::new((median, y), radius, colour.filled())])?;
            }
            if let Some(p99) = drawable(row.values[1]) {
                let mark = TriangleMarker::new((p99, y), radius + px(1.0), colour.filled());
                chart.draw_series([mark])?;
            }
            if let Some(p999) = drawable(row.values[2]) {
                let line = colour.stroke_width(px(2.5).unsigned_abs());
                let bar = PathElement::new(vec![(p999, y - 0.16), (p999, y + 0.16)], line);
                chart.draw_series([bar])?;
            }
            let (_, y) = chart.backend_coord(&(low, i as f64 + 0.28));
            let value = row.values[0].map_or_else(String::new, latency);
            let room = f64::from(WIDTH) - 12.0 - value.chars().count() as f64 * LABEL * 0.56;
            let name = text(LABEL, INK, HPos::Left, VPos::Center);
            canvas.draw(&Text::new(shortened(&row.label, room), (0, y), name))?;
            let number = text(LABEL, INK, HPos::Right, VPos::Center);
            canvas.draw(&Text::new(value, (WIDTH * SCALE, y), number))?;
        }
        Ok(())
    }
}

fn drawable(value: Option<f64>) -> Option<f64> {
    value.filter(|v| v.is_finite() && *v > 0.0)
}

/// 1, 2 and 5 times powers of ten; only the powers if those are too many.
fn ticks(low: f64, high: f64) -> Vec<f64> {
    let within = |factors: &[f64]| -> Vec<f64> {
        (-3..=9)
            .flat_map(|decade| factors.iter().map(move |f| f * 10_f64.powi(decade)))
            .filter(|v| (low..=high).contains(v))
            .collect()
    };
    let fine = within(&[1.0, 2.0, 5.0]);
    if fine.len() <= MOST_TICKS { fine } else { within(&[1.0]) }
}

/// A tick without unnecessary decimals: `100 µs`, `1 ms`.
fn tick(us: f64) -> String {
    let (value, unit) = match us {
        us if us >= 999_999.0 => (us / 1e6, "s"),
        us if us >= 999.9 => (us / 1e3, "ms"),
        us => (us, "µs"),
    };
    let rounded = (value * 100.0).round() / 100.0;
    format!("{rounded} {unit}")
}
