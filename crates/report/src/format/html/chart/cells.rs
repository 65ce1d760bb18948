//! A grid of tests as its users know it: a number in each cell, filled by the share of plain speed.

use maud::Markup;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};

use super::{DrawResult, Frame, LABEL, TICK, WIDTH, px, shortened, svg, text};
use crate::format::html::palette::{BAND, Colour, INK, MUTED};

/// Heights in CSS pixels: of a row and of the headings.
const ROW: f64 = 48.0;
const HEAD: f64 = 20.0;

/// Width of the names in CSS pixels, and the gap between two cells.
const NAME: f64 = 110.0;
const GAP: f64 = 6.0;

/// One number.
#[derive(Clone, Debug)]
pub(in crate::format::html) struct Number {
    /// Written in the cell.
    pub text: String,
    /// Written small below it.
    pub below: String,
    /// How far the cell is filled, 0 to 1.
    pub fill: f64,
}

/// A chart of one arm.
pub(in crate::format::html) struct Cells {
    /// Unique identifier within the page.
    pub id: String,
    /// The title for readers who cannot see it.
    pub title: String,
    /// Headings of the columns.
    pub columns: Vec<String>,
    /// Name and numbers of each row.
    pub rows: Vec<(String, Vec<Option<Number>>)>,
    /// Colour of the filling.
    pub colour: Colour,
}

impl Cells {
    /// The chart.
    pub fn draw(&self) -> Markup {
        let frame = Frame {
            id: &self.id,
            title: &self.title,
            told: self.told(),
            height: (HEAD + ROW * self.rows.len() as f64).ceil() as i32,
            rows: Some((HEAD, ROW)),
        };
        svg(&frame, |canvas| self.plot(canvas))
    }

    fn told(&self) -> Vec<String> {
        let words = |(name, numbers): &(String, Vec<Option<Number>>)| {
            let parts: Vec<String> = self
                .columns
                .iter()
                .zip(numbers)
                .filter_map(|(column, n)| Some(format!("{column} {}", n.as_ref()?.text)))
                .collect();
            format!("{name}: {}", parts.join(", "))
        };
        self.rows.iter().map(words).collect()
    }

    fn plot(&self, canvas: &super::Canvas<'_>) -> DrawResult {
        let columns = self.columns.len().max(1) as f64;
        let wide = (f64::from(WIDTH) - NAME - GAP * (columns - 1.0)) / columns;
        let left = |column: usize| NAME + column as f64 * (wide + GAP);
        for (i, column) in self.columns.iter().enumerate() {
            let place = (px(left(i) + wide), px(8.0));
            let style = text(TICK, MUTED, HPos::Right, VPos::Center);
            canvas.draw(&Text::new(column.clone(), place, style))?;
        }
        for (i, (name, numbers)) in self.rows.iter().enumerate() {
            let top = HEAD + i as f64 * ROW;
            let bottom = top + ROW - GAP;
            let style = text(LABEL, INK, HPos::Left, VPos::Center);
            let place = (0, px(f64::midpoint(top, bottom)));
            canvas.draw(&Text::new(shortened(name, NAME - 4.0), place, style))?;
            for (column, number) in numbers.iter().enumerate() {
                let Some(number) = number else { continue };
                let (x0, x1) = (left(column), left(column) + wide);
                let fill = if number.fill.is_finite() { number.fill.clamp(0.0, 1.0) } else { 0.0 };
                let base = bottom - 4.0;
                let area = |x1: f64, y0: f64| [(px(x0), px(y0)), (px(x1), px(bottom))];
                canvas.draw(&Rectangle::new(area(x1, top), BAND.marker().filled()))?;
                let filled = self.colour.marker().filled();
                canvas.draw(&Rectangle::new(area(x0 + fill * wide, base), filled))?;
                let big = text(LABEL, INK, HPos::Right, VPos::Center);
                let small = text(TICK, MUTED, HPos::Right, VPos::Center);
                let (third, right) = ((base - top) / 3.0, px(x1 - 5.0));
                canvas.draw(&Text::new(number.text.clone(), (right, px(top + third)), big))?;
                let below = (right, px(base - third + 3.0));
                canvas.draw(&Text::new(number.below.clone(), below, small))?;
            }
        }
        Ok(())
    }
}
