//! A grid of tests in a familiar form: each cell contains a number and is filled in proportion to its
//! percentage of plain speed.

use super::{Anchor, Drawing, LABEL, Role, TICK, WIDTH, look, shortened};

/// Heights in CSS pixels: of a row and of the headings.
const ROW: f64 = 48.0;
const HEAD: f64 = 20.0;

/// Width of the names in CSS pixels, and of the gap between two cells.
const NAME: f64 = 110.0;
const GAP: f64 = 6.0;

/// One number.
#[derive(Clone, Debug)]
pub(crate) struct Number {
    /// Written in the cell.
    pub(crate) text: String,
    /// Written in small letters below the number.
    pub(crate) below: String,
    /// The filled part of the cell, 0 to 1.
    pub(crate) fill: f64,
}

/// A chart of one arm.
pub(crate) struct Cells {
    /// Its content.
    pub(crate) title: String,
    /// Headings of the columns.
    pub(crate) columns: Vec<String>,
    /// Name and numbers of each row.
    pub(crate) rows: Vec<(String, Vec<Option<Number>>)>,
    /// Colour of the filled part.
    pub(crate) role: Role,
}

impl Cells {
    /// The chart.
    pub(crate) fn draw(&self) -> Drawing {
        let mut drawing = Drawing::new(&self.title, HEAD + ROW * self.rows.len() as f64);
        let columns = self.columns.len().max(1) as f64;
        let wide = (WIDTH - NAME - GAP * (columns - 1.0)) / columns;
        let left = |column: usize| NAME + column as f64 * (wide + GAP);
        for (i, column) in self.columns.iter().enumerate() {
            drawing.text(look(Role::Muted, TICK, Anchor::End), (left(i) + wide, 8.0), column);
        }
        for (i, (name, numbers)) in self.rows.iter().enumerate() {
            let top = HEAD + i as f64 * ROW;
            let middle = top + (ROW - GAP) / 2.0;
            let name = shortened(name, NAME - 4.0);
            drawing.text(look(Role::Ink, LABEL, Anchor::Start), (0.0, middle), name);
            for (column, number) in numbers.iter().enumerate() {
                if let Some(number) = number {
                    self.cell(&mut drawing, [left(column), left(column) + wide], top, number);
                }
            }
        }
        drawing.rows(HEAD, ROW, self.rows.iter().map(|row| self.told(row)));
        drawing
    }

    fn cell(&self, drawing: &mut Drawing, [x0, x1]: [f64; 2], top: f64, number: &Number) {
        let bottom = top + ROW - GAP;
        let base = bottom - 4.0;
        let fill = if number.fill.is_finite() { number.fill.clamp(0.0, 1.0) } else { 0.0 };
        drawing.area(Role::Band, [x0, x1], [top, bottom]);
        drawing.area(self.role, [x0, x0 + fill * (x1 - x0)], [base, bottom]);
        let (third, right) = ((base - top) / 3.0, x1 - 5.0);
        let [big, small] =
            [(Role::Ink, LABEL), (Role::Muted, TICK)].map(|(r, s)| look(r, s, Anchor::End));
        drawing.text(big, (right, top + third), &number.text);
        drawing.text(small, (right, base - third + 3.0), &number.below);
    }

    fn told(&self, (name, numbers): &(String, Vec<Option<Number>>)) -> String {
        let part = |(column, n): (&String, &Option<Number>)| {
            Some(format!("{column} {}", n.as_ref()?.text))
        };
        let parts: Vec<String> = self.columns.iter().zip(numbers).filter_map(part).collect();
        format!("{name}: {}", parts.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::super::Shape;
    use super::*;

    #[test]
    fn cells_are_filled_by_their_share() {
        let number = |fill| Some(Number { text: "7".to_owned(), below: String::new(), fill });
        let cells = Cells {
            title: String::new(),
            columns: ["read", "write", "mix"].map(str::to_owned).to_vec(),
            rows: vec![("SEQ".to_owned(), vec![number(0.5), None, number(f64::NAN)])],
            role: Role::Encrypted(0),
        };
        let drawing = cells.draw();
        let widths = |role: Role| -> Vec<f64> {
            let width = |s: &Shape| match s {
                Shape::Area { role: r, area } if *r == role => Some(area.width),
                _ => None,
            };
            drawing.shapes.iter().filter_map(width).collect()
        };
        let whole = widths(Role::Band)[0];
        assert_eq!(widths(Role::Encrypted(0)), [whole / 2.0, 0.0]);
        assert_eq!(drawing.readings[0].words, "SEQ: read 7, mix 7");
    }
}
