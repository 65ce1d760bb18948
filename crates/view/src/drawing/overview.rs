//! The overview: a row for each workload or choice, with a mark for each value on a common scale, like the
//! first screen of the page.

use super::scale::Scale;
use super::{Anchor, Area, Drawing, Entry, LABEL, Mark, Role, TICK, look, shortened};

/// Widths in CSS pixels: of the whole chart, of the names on the left and of the figures on the right.
const WIDTH: f64 = 720.0;
const NAMES: f64 = 220.0;
const FIGURES: f64 = 96.0;

/// Heights in CSS pixels: of the axis, of a value, and of the space above and below the values of a row.
const AXIS: f64 = 24.0;
const VALUE: f64 = 17.0;
const AROUND: f64 = 5.0;

/// Percent of plain speed at the right end of the axis, as on the page.
const END: f64 = 125.0;

/// Forms of the marks, so that they can be distinguished without colour.
const MARKS: [Mark; 4] = [Mark::Disc, Mark::Triangle, Mark::Square, Mark::Cross];

/// A value with its interval, as fractions of plain speed, and its text.
pub(crate) struct Shown {
    /// The ratio and the ends of its interval; `None` if they must not be shown.
    pub(crate) at: Option<[f64; 3]>,
    /// `85 ±2 ▼`.
    pub(crate) words: String,
}

/// A row.
pub(crate) struct Row {
    pub(crate) name: String,
    /// In smaller letters below the name.
    pub(crate) beside: String,
    /// Difference between the two measurements of plain storage, as a fraction.
    pub(crate) noise: Option<f64>,
    /// One value per series.
    pub(crate) values: Vec<Shown>,
}

/// The chart.
pub(crate) struct Overview {
    /// The answer in a sentence.
    pub(crate) title: String,
    /// Names of the series, and whether each series is only the cipher, not a system.
    pub(crate) series: Vec<(String, bool)>,
    pub(crate) rows: Vec<Row>,
}

impl Overview {
    pub(crate) fn draw(&self) -> Drawing {
        let heights: Vec<f64> = self
            .rows
            .iter()
            .map(|row| VALUE * row.values.len().max(2) as f64 + 2.0 * AROUND)
            .collect();
        let bottom = AXIS + heights.iter().sum::<f64>();
        let mut drawing = Drawing::new(&self.title, bottom);
        drawing.area.width = WIDTH;
        let x = Scale::linear([0.0, END], [NAMES, WIDTH - FIGURES - 16.0]);
        for tick in [0.0, 25.0, 50.0, 75.0, 100.0] {
            let is_plain = tick == 100.0;
            let words = if is_plain { "plain = 100 %".to_owned() } else { format!("{tick:.0}") };
            let role = if is_plain { Role::Ink } else { Role::Muted };
            drawing.text(look(role, TICK, Anchor::Middle), (x.at(tick), AXIS * 0.4), words);
        }
        let mut top = AXIS;
        for (row, height) in self.rows.iter().zip(&heights) {
            self.row(&mut drawing, &x, row, [top, top + height]);
            top += height;
        }
        drawing.legend = self.legend();
        drawing
    }

    fn row(&self, drawing: &mut Drawing, x: &Scale, row: &Row, y: [f64; 2]) {
        let [top, bottom] = y;
        if let Some(noise) = row.noise.filter(|n| n.is_finite() && *n < 1.0) {
            let band = [100.0 * (1.0 - noise), 100.0 / (1.0 - noise)].map(|v| x.at(v));
            drawing.area(Role::Band, band, y);
        }
        for tick in [0.0, 25.0, 50.0, 75.0] {
            drawing.line(Role::Grid, 1.0, [(x.at(tick), top), (x.at(tick), bottom)]);
        }
        drawing.line(Role::Ink, 1.5, [(x.at(100.0), top), (x.at(100.0), bottom)]);
        drawing.line(Role::Grid, 1.0, [(0.0, top), (WIDTH, top)]);
        let name = look(Role::Ink, LABEL, Anchor::Start);
        drawing.text(name, (0.0, top + AROUND + VALUE * 0.5), shortened(&row.name, NAMES - 8.0));
        let beside = look(Role::Muted, TICK, Anchor::Start);
        drawing.text(beside, (0.0, top + AROUND + VALUE * 1.4), &row.beside);
        for (i, shown) in row.values.iter().enumerate() {
            let y = top + AROUND + VALUE * (i as f64 + 0.5);
            let (role, mark) = self.look_of(i);
            if let Some([ratio, low, high]) = shown.at.map(|all| all.map(|v| x.at(100.0 * v))) {
                drawing.line(role, 2.0, [(low, y), (high, y)]);
                drawing.mark(role, mark, (ratio, y), 4.5);
            }
            drawing.mark(role, mark, (WIDTH - FIGURES, y), 3.5);
            let figure = look(Role::Ink, LABEL, Anchor::Start);
            drawing.text(figure, (WIDTH - FIGURES + 9.0, y), &shown.words);
        }
        let words: Vec<String> = (self.series.iter().zip(&row.values))
            .map(|((name, _), shown)| format!("{name} {}", shown.words))
            .collect();
        let area = Area { left: 0.0, top, width: WIDTH, height: bottom - top };
        drawing.reading(area, format!("{}: {}", row.name, words.join(", ")));
    }

    fn look_of(&self, i: usize) -> (Role, Mark) {
        match self.series.get(i) {
            Some((_, true)) => (Role::Plain, Mark::Ring),
            _ => (Role::Encrypted(i), MARKS[i.min(MARKS.len() - 1)]),
        }
    }

    fn legend(&self) -> Vec<Entry> {
        let entry = |(i, (name, _)): (usize, &(String, bool))| {
            let (role, mark) = self.look_of(i);
            Entry { name: name.clone(), role, mark }
        };
        let mut legend: Vec<Entry> = self.series.iter().enumerate().map(entry).collect();
        legend.push(Entry {
            name: "noise: plain compared with itself; lines are 95 % intervals".to_owned(),
            role: Role::Band,
            mark: Mark::Square,
        });
        legend
    }
}

#[cfg(test)]
mod tests {
    use super::super::Shape;
    use super::*;

    #[test]
    fn marks_are_to_scale_and_every_row_can_be_read() {
        let value =
            |ratio: f64| Shown { at: Some([ratio, ratio - 0.05, ratio + 0.05]), words: "w".into() };
        let row = |name: &str, values| Row {
            name: name.into(),
            beside: String::new(),
            noise: Some(0.02),
            values,
        };
        let none = Shown { at: None, words: "–".into() };
        let chart = Overview {
            title: "t".into(),
            series: vec![("LUKS2".into(), false), ("AES-256 alone".into(), true)],
            rows: vec![row("a", vec![value(0.5), value(1.0)]), row("b", vec![none, value(0.25)])],
        };
        let drawing = chart.draw();
        let marks: Vec<f64> = drawing
            .shapes
            .iter()
            .filter_map(|s| match s {
                Shape::Mark { at, radius, .. } if *radius > 4.0 => Some(at.0),
                _ => None,
            })
            .collect();
        assert_eq!(marks.len(), 3);
        // 25 % to 50 % is half as far as 50 % to 100 %.
        assert!(((marks[1] - marks[0]) / (marks[0] - marks[2]) - 2.0).abs() < 1e-9, "{marks:?}");
        assert_eq!(drawing.readings.len(), 2);
        assert_eq!(drawing.readings[1].words, "b: LUKS2 –, AES-256 alone w");
        assert_eq!(drawing.legend.len(), 3);
    }
}
