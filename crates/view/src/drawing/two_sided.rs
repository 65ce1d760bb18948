//! Two-sided bars: writes to the left of the block size and reads to the right, plain storage above one arm.

use super::{Anchor, Drawing, Role, TICK, WIDTH, look};

/// Heights in CSS pixels: of a bar, of the gap between two block sizes, and of the headings.
const BAR: f64 = 11.0;
const BETWEEN: f64 = 7.0;
const HEAD: f64 = 20.0;

/// Widths in CSS pixels: of the block size in the middle, and of the number next to a bar.
const MIDDLE: f64 = 62.0;
const NUMBER: f64 = 40.0;

/// Type size of the numbers in CSS pixels.
const SMALL: f64 = 10.0;

/// One side of a bar: its length as a share of the longest bar, and its number.
#[derive(Clone, Debug, Default)]
pub(crate) struct Side {
    /// 0 to 1.
    pub(crate) share: f64,
    /// Written at the bar's free end.
    pub(crate) text: String,
    /// The ends of its interval, as shares of the longest bar.
    pub(crate) interval: Option<[f64; 2]>,
}

/// One block size: writes and reads of plain and of the arm.
pub(crate) struct Block {
    /// Written in the middle.
    pub(crate) label: String,
    /// `[plain, arm]`, each `[write, read]`.
    pub(crate) bars: [[Side; 2]; 2],
}

impl Block {
    fn told(&self) -> String {
        let [plain, arm] = &self.bars;
        format!(
            "{}: write {} plain, {}; read {} plain, {}",
            self.label, plain[0].text, arm[0].text, plain[1].text, arm[1].text
        )
    }
}

/// A chart of plain storage and one arm.
pub(crate) struct TwoSided {
    /// Its content.
    pub(crate) title: String,
    /// From top to bottom.
    pub(crate) blocks: Vec<Block>,
    /// Colours of plain and of the arm.
    pub(crate) roles: [Role; 2],
}

impl TwoSided {
    /// The chart.
    pub(crate) fn draw(&self) -> Drawing {
        let row = 2.0 * BAR + BETWEEN;
        let mut drawing = Drawing::new(&self.title, HEAD + self.blocks.len() as f64 * row);
        let middle = WIDTH / 2.0;
        for (way, anchor, words) in
            [(-1.0, Anchor::End, "write, MB/s"), (1.0, Anchor::Start, "read, MB/s")]
        {
            let place = (middle + way * MIDDLE / 2.0, 8.0);
            drawing.text(look(Role::Muted, TICK, anchor), place, words);
        }
        for (i, block) in self.blocks.iter().enumerate() {
            let top = HEAD + i as f64 * row;
            let place = (middle, top + BAR);
            drawing.text(look(Role::Ink, TICK, Anchor::Middle), place, &block.label);
            for (n, (sides, role)) in block.bars.iter().zip(self.roles).enumerate() {
                bar(&mut drawing, role, top + n as f64 * BAR, sides);
            }
        }
        drawing.rows(HEAD, row, self.blocks.iter().map(Block::told));
        drawing
    }
}

/// Both sides of a bar with their numbers.
fn bar(drawing: &mut Drawing, role: Role, top: f64, sides: &[Side; 2]) {
    let middle = WIDTH / 2.0;
    let longest = middle - MIDDLE / 2.0 - NUMBER;
    let y = [top, top + BAR - 1.5];
    for (side, way, anchor) in [(&sides[0], -1.0, Anchor::End), (&sides[1], 1.0, Anchor::Start)] {
        if side.text.is_empty() {
            continue;
        }
        let share = if side.share.is_finite() { side.share.clamp(0.0, 1.0) } else { 0.0 };
        let near = middle + way * MIDDLE / 2.0;
        // A minimum width makes every bar visible.
        let far = near + way * (share * longest).max(1.0);
        drawing.area(role, [near, far], y);
        let middle = f64::midpoint(y[0], y[1]);
        let mut end = far;
        if let Some(ends) = side.interval.filter(|ends| ends.iter().all(|v| v.is_finite())) {
            let [low, high] = ends.map(|share| near + way * share.clamp(0.0, 1.0) * longest);
            drawing.line(Role::Ink, 1.0, [(low, middle), (high, middle)]);
            for x in [low, high] {
                drawing.line(Role::Ink, 1.0, [(x, middle - 2.5), (x, middle + 2.5)]);
            }
            end = if (high - near).abs() > (far - near).abs() { high } else { far };
        }
        let place = (end + way * 3.0, middle);
        drawing.text(look(Role::Ink, SMALL, anchor), place, &side.text);
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Area, Shape};
    use super::*;

    #[test]
    fn writes_lie_on_the_left_and_reads_on_the_right_to_scale() {
        let side = |share: f64| Side { share, text: "1".to_owned(), interval: None };
        let block = Block {
            label: "4 KiB".to_owned(),
            bars: [[side(1.0), side(0.5)], [side(f64::NAN), Side::default()]],
        };
        let roles = [Role::Plain, Role::Encrypted(0)];
        let drawing = TwoSided { title: String::new(), blocks: vec![block], roles }.draw();
        let areas: Vec<Area> = drawing
            .shapes
            .iter()
            .filter_map(|s| match s {
                Shape::Area { area, .. } => Some(*area),
                _ => None,
            })
            .collect();
        let [write, read, odd] = areas[..] else { panic!("{areas:?}") };
        assert!(write.left + write.width < WIDTH / 2.0 && read.left > WIDTH / 2.0);
        assert!((write.width - 2.0 * read.width).abs() < 1e-9);
        assert_eq!(odd.width, 1.0);
    }

    #[test]
    fn whiskers_end_where_the_interval_does_and_the_number_is_behind_them() {
        let side = Side { share: 0.5, text: "1".to_owned(), interval: Some([0.4, 0.7]) };
        let bars = [[Side::default(), Side::default()], [Side::default(), side]];
        let block = Block { label: "4 KiB".to_owned(), bars };
        let roles = [Role::Plain, Role::Encrypted(0)];
        let drawing = TwoSided { title: String::new(), blocks: vec![block], roles }.draw();
        let near = f64::midpoint(0.0, WIDTH) + MIDDLE / 2.0;
        let longest = WIDTH - near - NUMBER;
        let whisker = drawing.shapes.iter().find_map(|shape| match shape {
            Shape::Line { points, .. } => Some([points[0].0, points[1].0]),
            _ => None,
        });
        let [low, high] = whisker.unwrap().map(|x| (x - near) / longest);
        assert!((low - 0.4).abs() < 1e-9 && (high - 0.7).abs() < 1e-9, "{low} to {high}");
        let number = drawing.shapes.iter().find_map(|shape| match shape {
            Shape::Text { at, words, .. } if words == "1" => Some(at.0),
            _ => None,
        });
        assert!(number.unwrap() > near + 0.7 * longest);
    }
}
