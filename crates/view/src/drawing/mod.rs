//! Drawings as data: lines, areas, marks and texts in CSS pixels, from which SVG, PDF and PNG files are
//! written.

mod bars;
mod cells;
mod depth;
mod drift;
mod heat;
mod lines;
mod overview;
mod pdf;
mod percentiles;
#[cfg(feature = "png")]
mod png;
mod role;
mod scale;
mod strips;
mod surface;
mod svg;
mod two_sided;

pub(crate) use bars::{Bar, Bars};
pub(crate) use cells::{Cells, Number};
pub(crate) use depth::{Cell, Depth};
pub(crate) use drift::{Drift, Series};
pub(crate) use heat::{SHADES, heat, number as heat_number};
pub(crate) use lines::{Curve, Lines, Point as Place};
pub(crate) use overview::{Overview, Row as OverviewRow, Shown};
pub(crate) use pdf::pdf;
pub(crate) use percentiles::{Ladder, Percentiles};
#[cfg(feature = "png")]
pub(crate) use png::png;
pub use role::Role;
pub(crate) use role::{arm_role, hues, rules};
pub(crate) use surface::{Surface, Trace};
pub(crate) use svg::{Ink, svg};
pub(crate) use two_sided::{Block, Side, TwoSided};

/// The marker that identifies SVG, PDF and PNG files written by this program.
pub const MARK: &str = "cryptbench chart";

/// Width of every chart in CSS pixels, which fits a phone's screen.
const WIDTH: f64 = 344.0;

/// Type sizes in CSS pixels.
const LABEL: f64 = 12.5;
const TICK: f64 = 11.0;

/// Horizontal and vertical position in CSS pixels.
pub type Point = (f64, f64);

/// A drawing, with everything that a page or a file shows.
#[derive(Clone, Debug, PartialEq)]
pub struct Drawing {
    /// Its content.
    pub title: String,
    /// The part of the plane that is visible.
    pub area: Area,
    /// The description for readers who cannot see the drawing; if empty, the readings are used.
    pub told: Vec<String>,
    /// The readings for the pointer and for keyboard steps, in the order of the steps.
    pub readings: Vec<Reading>,
    /// The meaning of its colours and marks.
    pub legend: Vec<Entry>,
    /// The shapes, later ones on top.
    pub shapes: Vec<Shape>,
}

/// A rectangle in CSS pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Area {
    /// Left side.
    pub left: f64,
    /// Upper side.
    pub top: f64,
    /// From left to right.
    pub width: f64,
    /// From top to bottom.
    pub height: f64,
}

/// A part of a drawing with its values in words.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// The area in which the reading is shown.
    pub area: Area,
    /// The values.
    pub words: String,
}

/// A line of a legend.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Name of the series.
    pub name: String,
    /// Its colour.
    pub role: Role,
    /// Its mark.
    pub mark: Mark,
}

/// The form of a mark, for readers who cannot distinguish the colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// A ring.
    Ring,
    /// A disc.
    Disc,
    /// A triangle.
    Triangle,
    /// A cross.
    Cross,
    /// A square, which represents a line or an area.
    Square,
}

impl Mark {
    /// The character that represents it in text.
    pub fn glyph(self) -> char {
        match self {
            Self::Ring => '○',
            Self::Disc => '●',
            Self::Triangle => '▲',
            Self::Cross => '✕',
            Self::Square => '■',
        }
    }

    /// Width of the lines of a ring or a cross.
    fn width(radius: f64) -> f64 {
        0.43 * radius
    }

    /// The lines of a cross, or the corners of a filled mark; `None` for round marks.
    fn outline(self, (x, y): Point, radius: f64) -> Option<Vec<Vec<Point>>> {
        let at = |(dx, dy): Point| (x + dx * radius, y + dy * radius);
        let outline = match self {
            Self::Ring | Self::Disc => return None,
            Self::Triangle => vec![vec![(0.0, -1.25), (1.08, 0.62), (-1.08, 0.62)]],
            Self::Cross => vec![vec![(-0.9, -0.9), (0.9, 0.9)], vec![(-0.9, 0.9), (0.9, -0.9)]],
            Self::Square => vec![vec![(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)]],
        };
        Some(outline.into_iter().map(|points| points.into_iter().map(at).collect()).collect())
    }
}

/// The part of a text to which its position refers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    /// The first letter.
    Start,
    /// The middle.
    Middle,
    /// The last letter.
    End,
}

/// The style of a text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Look {
    /// Its colour.
    pub role: Role,
    /// Size of its letters in CSS pixels.
    pub size: f64,
    /// The part of the text to which its position refers.
    pub anchor: Anchor,
}

/// A part of a drawing.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// Points joined by lines.
    Line {
        /// Colour.
        role: Role,
        /// Width of the line in CSS pixels.
        width: f64,
        /// At least two points.
        points: Vec<Point>,
    },
    /// A filled rectangle.
    Area {
        /// Colour.
        role: Role,
        /// The rectangle.
        area: Area,
    },
    /// A mark.
    Mark {
        /// Colour.
        role: Role,
        /// Form.
        mark: Mark,
        /// Middle.
        at: Point,
        /// From the middle to the edge, in CSS pixels.
        radius: f64,
    },
    /// A line of text.
    Text {
        /// Colour, size and anchor.
        look: Look,
        /// The position of the anchor, at half the height of the letters.
        at: Point,
        /// The text.
        words: String,
    },
}

const fn look(role: Role, size: f64, anchor: Anchor) -> Look {
    Look { role, size, anchor }
}

impl Area {
    fn between([x0, x1]: [f64; 2], [y0, y1]: [f64; 2]) -> Self {
        Self { left: x0.min(x1), top: y0.min(y1), width: (x1 - x0).abs(), height: (y1 - y0).abs() }
    }
}

/// Values that are not finite are not drawn, so that no number in a record can corrupt a file.
fn is_finite(point: &Point) -> bool {
    point.0.is_finite() && point.1.is_finite()
}

impl Drawing {
    fn new(title: &str, height: f64) -> Self {
        Self {
            title: title.to_owned(),
            area: Area { left: 0.0, top: 0.0, width: WIDTH, height },
            told: Vec::new(),
            readings: Vec::new(),
            legend: Vec::new(),
            shapes: Vec::new(),
        }
    }

    fn line(&mut self, role: Role, width: f64, points: impl IntoIterator<Item = Point>) {
        let points: Vec<Point> = points.into_iter().filter(is_finite).collect();
        if points.len() > 1 {
            self.shapes.push(Shape::Line { role, width, points });
        }
    }

    fn area(&mut self, role: Role, x: [f64; 2], y: [f64; 2]) {
        if x.iter().chain(&y).all(|v| v.is_finite()) {
            self.shapes.push(Shape::Area { role, area: Area::between(x, y) });
        }
    }

    fn mark(&mut self, role: Role, mark: Mark, at: Point, radius: f64) {
        if is_finite(&at) {
            self.shapes.push(Shape::Mark { role, mark, at, radius });
        }
    }

    fn text(&mut self, look: Look, at: Point, words: impl Into<String>) {
        if is_finite(&at) {
            self.shapes.push(Shape::Text { look, at, words: words.into() });
        }
    }

    /// A reading that is shown when the pointer is in the area.
    fn reading(&mut self, area: Area, words: String) {
        self.readings.push(Reading { area, words });
    }

    /// A reading for each row; the first row starts at `top`.
    fn rows(&mut self, top: f64, height: f64, words: impl IntoIterator<Item = String>) {
        let rows = words.into_iter().enumerate().map(|(i, words)| {
            let area = Area { left: 0.0, top: top + i as f64 * height, width: WIDTH, height };
            Reading { area, words }
        });
        self.readings.extend(rows);
    }

    /// The drawing in words, one entry per line.
    pub fn description(&self) -> String {
        let readings = || self.readings.iter().map(|r| r.words.as_str()).collect::<Vec<_>>();
        match self.told.is_empty() {
            true => readings().join(";\n"),
            false => self.told.join(";\n"),
        }
    }

    /// The same drawing with a background, a margin, its title and its legend, for a file.
    fn framed(&self) -> Self {
        /// Width of the margin, and heights of the title and of a legend entry.
        const MARGIN: f64 = 12.0;
        const TITLE: f64 = 26.0;
        const ENTRY: f64 = 18.0;
        let Area { left, top, width, height } = self.area;
        let foot = top + height;
        let area = Area {
            left: left - MARGIN,
            top: top - MARGIN - TITLE,
            width: width + 2.0 * MARGIN,
            height: height + 2.0 * MARGIN + TITLE + ENTRY * self.legend.len() as f64,
        };
        let mut framed = Self { area, shapes: Vec::new(), ..self.clone() };
        framed.shapes.push(Shape::Area { role: Role::Page, area });
        // The title has the usual size, or a smaller one if it would be wider than the chart.
        let size = (width / (self.title.chars().count() as f64 * 0.56)).min(14.0);
        let title = look(Role::Ink, size, Anchor::Start);
        framed.text(title, (left, top - TITLE * 0.65), &self.title);
        framed.shapes.extend_from_slice(&self.shapes);
        for (i, entry) in self.legend.iter().enumerate() {
            let y = foot + ENTRY * (i as f64 + 0.6);
            framed.mark(entry.role, entry.mark, (left + 5.0, y), 4.0);
            framed.text(look(Role::Ink, TICK, Anchor::Start), (left + 14.0, y), &entry.name);
        }
        framed
    }
}

/// Shortens a label to about this many CSS pixels, based on the average width of letters.
fn shortened(label: &str, pixels: f64) -> String {
    let most = (pixels / (LABEL * 0.54)).floor().max(4.0) as usize;
    if label.chars().count() <= most {
        return label.to_owned();
    }
    label.chars().take(most - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_labels_are_shortened_by_whole_characters() {
        assert_eq!(shortened("AES", 200.0), "AES");
        assert_eq!(shortened("Größenänderung der Blöcke", 60.0), "Größenä…");
    }

    #[test]
    fn what_is_not_finite_is_not_drawn() {
        let mut drawing = Drawing::new("", 10.0);
        drawing.line(Role::Ink, 1.0, [(0.0, f64::NAN), (1.0, 1.0), (f64::INFINITY, 2.0)]);
        drawing.area(Role::Ink, [0.0, f64::NAN], [0.0, 1.0]);
        drawing.mark(Role::Ink, Mark::Disc, (f64::NEG_INFINITY, 0.0), 1.0);
        drawing.text(look(Role::Ink, 9.0, Anchor::Start), (0.0, f64::NAN), "x");
        assert_eq!(drawing.shapes, []);
        drawing.area(Role::Ink, [4.0, 1.0], [0.0, 2.0]);
        let area = Area { left: 1.0, top: 0.0, width: 3.0, height: 2.0 };
        assert_eq!(drawing.shapes, [Shape::Area { role: Role::Ink, area }]);
    }
}
