//! Two-sided bars: writes to the left of the block size, reads to the right, plain above one arm.

use maud::Markup;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};

use super::{DrawResult, Frame, TICK, WIDTH, px, svg, text};
use crate::format::html::palette::{Colour, INK, MUTED};

/// Heights in CSS pixels: of one bar, between two block sizes, and of the headings.
const BAR: f64 = 11.0;
const BETWEEN: f64 = 7.0;
const HEAD: f64 = 20.0;

/// Widths in CSS pixels: of the block size in the middle, and of the number beside a bar.
const MIDDLE: f64 = 62.0;
const NUMBER: f64 = 40.0;

/// Type size of the numbers in CSS pixels.
const SMALL: f64 = 10.0;

/// One side of one bar: its length as a share of the longest, and its number.
#[derive(Clone, Debug, Default)]
pub(in crate::format::html) struct Side {
    /// 0 to 1.
    pub share: f64,
    /// Written at the bar's free end.
    pub text: String,
}

/// One block size: of plain and of the arm, writes and reads.
pub(in crate::format::html) struct Block {
    /// Written in the middle.
    pub label: String,
    /// `[plain, arm]`, each `[write, read]`.
    pub bars: [[Side; 2]; 2],
}

/// A chart of one arm beside plain.
pub(in crate::format::html) struct TwoSided {
    /// Unique identifier within the page.
    pub id: String,
    /// The title for readers who cannot see it.
    pub title: String,
    /// From top to bottom.
    pub blocks: Vec<Block>,
    /// Colours of plain and of the arm.
    pub colours: [Colour; 2],
}

impl TwoSided {
    /// The chart.
    pub fn draw(&self) -> Markup {
        let row = 2.0 * BAR + BETWEEN;
        let frame = Frame {
            id: &self.id,
            title: &self.title,
            told: self.told(),
            height: (HEAD + self.blocks.len() as f64 * row).ceil() as i32,
            rows: Some((HEAD, row)),
        };
        svg(&frame, |canvas| self.plot(canvas))
    }

    fn told(&self) -> Vec<String> {
        let words = |block: &Block| {
            let [plain, arm] = &block.bars;
            format!(
                "{}: write {} plain, {}; read {} plain, {}",
                block.label, plain[0].text, arm[0].text, plain[1].text, arm[1].text
            )
        };
        self.blocks.iter().map(words).collect()
    }

    fn plot(&self, canvas: &super::Canvas<'_>) -> DrawResult {
        let middle = f64::from(WIDTH) / 2.0;
        let longest = middle - MIDDLE / 2.0 - NUMBER;
        let heading = |side: HPos| text(TICK, MUTED, side, VPos::Center);
        let at = |x: f64, y: f64| (px(x), px(y));
        let (left, right) = (middle - MIDDLE / 2.0, middle + MIDDLE / 2.0);
        canvas.draw(&Text::new("write, MB/s", at(left, 8.0), heading(HPos::Right)))?;
        canvas.draw(&Text::new("read, MB/s", at(right, 8.0), heading(HPos::Left)))?;
        for (i, block) in self.blocks.iter().enumerate() {
            let top = HEAD + i as f64 * (2.0 * BAR + BETWEEN);
            let label = text(TICK, INK, HPos::Center, VPos::Center);
            canvas.draw(&Text::new(block.label.clone(), at(middle, top + BAR), label))?;
            for (row, (sides, colour)) in block.bars.iter().zip(self.colours).enumerate() {
                let y0 = top + row as f64 * BAR;
                let y1 = y0 + BAR - 1.5;
                for (side, way) in sides.iter().zip([-1.0, 1.0]) {
                    if side.text.is_empty() {
                        continue;
                    }
                    let share =
                        if side.share.is_finite() { side.share.clamp(0.0, 1.0) } else { 0.0 };
                    let near = middle + way * MIDDLE / 2.0;
                    // A hair's breadth shows that there is a bar.
                    let far = near + way * (share * longest).max(1.0);
                    let area = [at(near.min(far), y0), at(near.max(far), y1)];
                    canvas.draw(&Rectangle::new(area, colour.marker().filled()))?;
                    let anchor = if way < 0.0 { HPos::Right } else { HPos::Left };
                    let number = text(SMALL, INK, anchor, VPos::Center);
                    let place = (px(far + way * 3.0), px(f64::midpoint(y0, y1)));
                    canvas.draw(&Text::new(side.text.clone(), place, number))?;
                }
            }
        }
        Ok(())
    }
}
