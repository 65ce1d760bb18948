//! Horizontal bars with interval whiskers: label and value above each bar.

use maud::Markup;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};

use super::{DrawResult, Frame, LABEL, SCALE, WIDTH, in_house_style, px, shortened, svg, text};
use crate::format::html::palette::{BAND, Colour, INK, MUTED};

/// Height of one row and of the axis in CSS pixels.
const ROW: i32 = 42;
const AXIS: i32 = 20;

/// Where label and bar lie within a row, as fractions of its height.
const LABEL_AT: f64 = 0.28;
const BAR: (f64, f64) = (0.52, 0.80);

/// One bar. Values that are not finite are drawn as nothing; the text remains.
pub(in crate::format::html) struct Bar {
    /// Name on the left, above the bar.
    pub label: String,
    /// Number on the right, above the bar.
    pub value_text: String,
    /// Additional text while the pointer is on the bar; may be empty.
    pub more: String,
    /// Where it begins: 0, except for the steps of a waterfall.
    pub from: f64,
    /// Where it ends.
    pub value: Option<f64>,
    /// Ends of the whisker.
    pub interval: Option<(f64, f64)>,
    /// Colour of the bar.
    pub colour: Colour,
}

impl Bar {
    fn told(&self) -> String {
        let gap = if self.more.is_empty() { "" } else { ", " };
        format!("{}: {}{gap}{}", self.label, self.value_text, self.more)
    }
}

/// A chart of bars.
pub(in crate::format::html) struct Bars {
    /// Unique identifier within the page.
    pub id: String,
    /// The title for readers who cannot see it.
    pub title: String,
    /// The bars from top to bottom.
    pub rows: Vec<Bar>,
    /// End of the axis; see [`Bars::end_for`].
    pub end: f64,
    /// A line to compare with, such as 100 %.
    pub reference: Option<f64>,
    /// A shaded range, such as the noise around the reference.
    pub band: Option<(f64, f64)>,
    /// How ticks are written.
    pub tick: fn(f64) -> String,
}

impl Bars {
    /// An axis end that shows every value and whisker, with `at_least` in any case. Whiskers may
    /// leave the axis where they reach beyond three times the longest bar.
    pub fn end_for<'a>(rows: impl IntoIterator<Item = &'a Bar>, at_least: f64) -> f64 {
        let mut bars = at_least;
        let mut whiskers = at_least;
        for row in rows {
            bars = row.value.filter(|v| v.is_finite()).unwrap_or(0.0).max(bars);
            let high = row.interval.map_or(0.0, |(_, high)| high);
            whiskers = if high.is_finite() { high.max(whiskers) } else { whiskers };
        }
        let end = whiskers.max(bars).min(bars * 3.0) * 1.04;
        if end.is_finite() && end > 0.0 { end } else { 1.0 }
    }

    /// The chart.
    pub fn draw(&self) -> Markup {
        let frame = Frame {
            id: &self.id,
            title: &self.title,
            told: self.rows.iter().map(Bar::told).collect(),
            height: self.rows.len().max(1) as i32 * ROW + AXIS,
            rows: Some((0.0, ROW.into())),
        };
        svg(&frame, |canvas| self.plot(canvas))
    }

    fn plot(&self, canvas: &super::Canvas<'_>) -> DrawResult {
        let rows = self.rows.len().max(1) as f64;
        let mut chart = ChartBuilder::on(canvas)
            .margin_left(px(1.0))
            .margin_right(px(12.0))
            .x_label_area_size(AXIS * SCALE)
            .build_cartesian_2d(0.0..self.end, rows..0.0)?;
        let clamp = |v: f64| v.clamp(0.0, self.end);
        in_house_style(&mut chart.configure_mesh())
            .disable_y_mesh()
            .disable_y_axis()
            .x_labels(5)
            .x_label_formatter(&|v| (self.tick)(*v))
            .draw()?;
        // Band and reference lie only behind and across the bars, so that labels stay legible.
        let strips =
            || (0..self.rows.len()).map(|i| (i as f64 + BAR.0 - 0.07, i as f64 + BAR.1 + 0.07));
        if let Some((low, high)) = self.band.filter(|(l, h)| l.is_finite() && h.is_finite()) {
            chart.draw_series(strips().map(|(top, bottom)| {
                let area = [(clamp(low), top), (clamp(high), bottom)];
                Rectangle::new(area, BAND.marker().filled())
            }))?;
        }
        for (i, row) in self.rows.iter().enumerate() {
            let top = i as f64;
            if let Some(value) = row.value.filter(|v| v.is_finite()) {
                let area = [(clamp(row.from), top + BAR.0), (clamp(value), top + BAR.1)];
                chart.draw_series([Rectangle::new(area, row.colour.marker().filled())])?;
            }
            let finite = |(low, high): &(f64, f64)| low.is_finite() && high.is_finite();
            if let Some((low, high)) = row.interval.filter(finite) {
                let line = INK.marker().stroke_width(px(1.5).unsigned_abs());
                let (y, x0, x1) = (top + f64::midpoint(BAR.0, BAR.1), clamp(low), clamp(high));
                let mut parts = vec![vec![(x0, y), (x1, y)], vec![(x0, y - 0.11), (x0, y + 0.11)]];
                if high <= self.end {
                    parts.push(vec![(x1, y - 0.11), (x1, y + 0.11)]);
                }
                chart.draw_series(parts.into_iter().map(|part| PathElement::new(part, line)))?;
            }
            let (_, y) = chart.backend_coord(&(0.0, top + LABEL_AT));
            let number = text(LABEL, INK, HPos::Right, VPos::Center);
            let right = (WIDTH * SCALE, y);
            canvas.draw(&Text::new(row.value_text.clone(), right, number))?;
            let room =
                f64::from(WIDTH) - 12.0 - row.value_text.chars().count() as f64 * LABEL * 0.56;
            let name = text(LABEL, INK, HPos::Left, VPos::Center);
            canvas.draw(&Text::new(shortened(&row.label, room), (0, y), name))?;
        }
        if let Some(reference) = self.reference.filter(|r| *r <= self.end) {
            let line = MUTED.marker().stroke_width(px(1.0).unsigned_abs());
            let across = |(top, bottom)| vec![(reference, top), (reference, bottom)];
            chart.draw_series(strips().map(|strip| PathElement::new(across(strip), line)))?;
        }
        Ok(())
    }
}
