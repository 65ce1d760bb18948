//! A drawing as pixels, with a font that is contained in the program, so that it looks the same everywhere.

use std::sync::LazyLock;

use ab_glyph_rasterizer::{Rasterizer, point};
use png::{BitDepth, ColorType, Compression, Encoder, EncodingError};
use ttf_parser::{Face, OutlineBuilder};

use super::{Anchor, Area, Drawing, Look, MARK, Mark, Point, Role, Shape};

/// Letters of European languages, Greek, and the symbols that charts use (crates/view/vendor/dejavu). Other
/// characters of a label are blank in a PNG, but present in the SVG.
const FONT: &[u8] = include_bytes!("../../vendor/dejavu/DejaVuSans-subset.ttf");

/// Pixels of the image per CSS pixel of the drawing.
const DENSITY: f64 = 3.0;

/// Number of line segments for a circle, and for each curve of a letter.
const OF_A_CIRCLE: usize = 32;
const OF_A_CURVE: usize = 6;

static FACE: LazyLock<Face<'static>> =
    LazyLock::new(|| Face::parse(FONT, 0).expect("the font that the program carries"));

/// The drawing with its title and its legend, as a PNG file with three pixels per CSS pixel.
pub(crate) fn png(drawing: &Drawing) -> Result<Vec<u8>, EncodingError> {
    let framed = drawing.framed();
    let canvas = framed.shapes.iter().fold(Canvas::new(framed.area), Canvas::with);
    let mut out = Vec::new();
    let mut encoder = Encoder::new(&mut out, canvas.width as u32, canvas.height as u32);
    encoder.set_color(ColorType::Rgb);
    encoder.set_depth(BitDepth::Eight);
    encoder.set_compression(Compression::High);
    encoder.add_text_chunk("Software".to_owned(), MARK.to_owned())?;
    encoder.add_itxt_chunk("Title".to_owned(), drawing.title.clone())?;
    encoder.write_header()?.write_image_data(&canvas.pixels)?;
    Ok(out)
}

/// Corners of a closed area; those of a hole have the opposite winding.
type Outline = Vec<Point>;

/// The image: red, green and blue of each pixel, row by row.
struct Canvas {
    area: Area,
    width: usize,
    height: usize,
    pixels: Vec<u8>,
}

impl Canvas {
    fn new(area: Area) -> Self {
        let [width, height] = [area.width, area.height].map(|v| (v * DENSITY).ceil() as usize);
        Self { area, width, height, pixels: vec![255; width * height * 3] }
    }

    fn with(mut self, shape: &Shape) -> Self {
        let (role, outlines) = match shape {
            Shape::Line { role, width, points } => (*role, stroke(points, *width)),
            Shape::Area { role, area } => (*role, vec![corners(*area)]),
            Shape::Mark { role, mark, at, radius } => (*role, of_mark(*mark, *at, *radius)),
            Shape::Text { look, at, words } => (look.role, letters(*look, *at, words)),
        };
        self.fill(role, &outlines);
        self
    }

    /// Fills the area that the outlines enclose: blends the colour into each pixel in proportion to the covered
    /// part of the pixel.
    fn fill(&mut self, role: Role, outlines: &[Outline]) {
        let place =
            |(x, y): &Point| ((x - self.area.left) * DENSITY, (y - self.area.top) * DENSITY);
        let all = || outlines.iter().flatten().map(place);
        let [x0, y0] =
            all().fold([f64::MAX; 2], |[x0, y0], (x, y)| [x0.min(x), y0.min(y)]).map(f64::floor);
        let [x1, y1] =
            all().fold([f64::MIN; 2], |[x1, y1], (x, y)| [x1.max(x), y1.max(y)]).map(f64::ceil);
        let within =
            |low: f64, high: f64, size: usize| (high - low) < 2.0 * size as f64 && low < high;
        if !within(x0, x1, self.width) || !within(y0, y1, self.height) {
            return;
        }
        let mut cover = Rasterizer::new((x1 - x0) as usize + 1, (y1 - y0) as usize + 1);
        let corner = |p: &Point| {
            let (x, y) = place(p);
            point((x - x0) as f32, (y - y0) as f32)
        };
        for outline in outlines {
            let next = outline.iter().cycle().skip(1);
            outline.iter().zip(next).for_each(|(a, b)| cover.draw_line(corner(a), corner(b)));
        }
        let colour = rgb(role);
        cover.for_each_pixel_2d(|x, y, part| {
            let (x, y) = (f64::from(x) + x0, f64::from(y) + y0);
            if part > 0.0
                && x >= 0.0
                && y >= 0.0
                && (x as usize) < self.width
                && (y as usize) < self.height
            {
                let at = 3 * (y as usize * self.width + x as usize);
                for (below, colour) in self.pixels[at..at + 3].iter_mut().zip(colour) {
                    let mixed =
                        f32::from(*below) + (f32::from(colour) - f32::from(*below)) * part.min(1.0);
                    *below = mixed.round() as u8;
                }
            }
        });
    }
}

/// Red, green and blue of the light scheme.
fn rgb(role: Role) -> [u8; 3] {
    let hex = role.light();
    [1, 3, 5].map(|i| u8::from_str_radix(&hex[i..i + 2], 16).expect("colours are #rrggbb"))
}

fn corners(Area { left, top, width, height }: Area) -> Outline {
    vec![(left, top), (left + width, top), (left + width, top + height), (left, top + height)]
}

fn circle((x, y): Point, radius: f64) -> Outline {
    let corner = |i: usize| {
        let (sin, cos) = (std::f64::consts::TAU * i as f64 / OF_A_CIRCLE as f64).sin_cos();
        (x + radius * cos, y + radius * sin)
    };
    (0..OF_A_CIRCLE).map(corner).collect()
}

fn of_mark(mark: Mark, at: Point, radius: f64) -> Vec<Outline> {
    let half = Mark::width(radius) / 2.0;
    match (mark, mark.outline(at, radius)) {
        (Mark::Cross, Some(strokes)) => {
            strokes.iter().flat_map(|points| stroke(points, 2.0 * half)).collect()
        }
        (_, Some(filled)) => filled,
        (Mark::Ring, None) => {
            let hole = circle(at, radius - half).into_iter().rev().collect();
            vec![circle(at, radius + half), hole]
        }
        (_, None) => vec![circle(at, radius)],
    }
}

/// A line with a width: a quadrilateral for each segment, all with the same winding, and round joins.
fn stroke(points: &[Point], width: f64) -> Vec<Outline> {
    let part = |ends: &[Point]| {
        let [(x0, y0), (x1, y1)] = [ends[0], ends[1]];
        let length = (x1 - x0).hypot(y1 - y0);
        let (dx, dy) = ((y1 - y0) / length * width / 2.0, (x0 - x1) / length * width / 2.0);
        (length > 0.0).then(|| {
            vec![(x0 + dx, y0 + dy), (x1 + dx, y1 + dy), (x1 - dx, y1 - dy), (x0 - dx, y0 - dy)]
        })
    };
    let joints = points.iter().skip(1).take(points.len().saturating_sub(2));
    points.windows(2).filter_map(part).chain(joints.map(|at| circle(*at, width / 2.0))).collect()
}

/// The outlines of a line of text.
fn letters(look: Look, (x, y): Point, words: &str) -> Vec<Outline> {
    let scale = look.size / f64::from(FACE.units_per_em());
    let glyphs: Vec<_> = words.chars().filter_map(|c| FACE.glyph_index(c)).collect();
    let advance = |glyph| f64::from(FACE.glyph_hor_advance(glyph).unwrap_or(0)) * scale;
    let width: f64 = glyphs.iter().copied().map(advance).sum();
    let left = match look.anchor {
        Anchor::Start => x,
        Anchor::Middle => x - width / 2.0,
        Anchor::End => x - width,
    };
    let mut pen = Pen { origin: (left, y + 0.36 * look.size), scale, outlines: Vec::new() };
    for glyph in glyphs {
        FACE.outline_glyph(glyph, &mut pen);
        pen.origin.0 += advance(glyph);
    }
    pen.outlines
}

/// Collects the outlines of letters, with curves converted to straight lines.
struct Pen {
    /// Start of the letter's baseline.
    origin: Point,
    scale: f64,
    outlines: Vec<Outline>,
}

impl Pen {
    fn place(&self, x: f32, y: f32) -> Point {
        (self.origin.0 + f64::from(x) * self.scale, self.origin.1 - f64::from(y) * self.scale)
    }

    /// A curve from the last corner to the last of these points; the other points are its control points (de
    /// Casteljau).
    fn curve(&mut self, controls: &[Point]) {
        let Some(outline) = self.outlines.last_mut() else { return };
        let start = outline.last().copied();
        let all: Vec<Point> = start.into_iter().chain(controls.iter().copied()).collect();
        for i in 1..=OF_A_CURVE {
            let t = i as f64 / OF_A_CURVE as f64;
            let mut points = all.clone();
            while points.len() > 1 {
                let between =
                    |p: &[Point]| (p[0].0 + (p[1].0 - p[0].0) * t, p[0].1 + (p[1].1 - p[0].1) * t);
                points = points.windows(2).map(between).collect();
            }
            outline.extend(points);
        }
    }
}

impl OutlineBuilder for Pen {
    fn move_to(&mut self, x: f32, y: f32) {
        self.outlines.push(vec![self.place(x, y)]);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        let to = self.place(x, y);
        self.outlines.last_mut().into_iter().for_each(|outline| outline.push(to));
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        self.curve(&[self.place(x1, y1), self.place(x, y)]);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        self.curve(&[self.place(x1, y1), self.place(x2, y2), self.place(x, y)]);
    }

    fn close(&mut self) {}
}

#[cfg(test)]
mod tests {
    use super::super::look;
    use super::*;

    /// Area of the canvas covered by the shapes, in square CSS pixels.
    fn covered(shapes: &[Shape]) -> f64 {
        let area = Area { left: -10.0, top: -10.0, width: 40.0, height: 40.0 };
        let canvas = shapes.iter().fold(Canvas::new(area), Canvas::with);
        let [red, ..] = rgb(Role::Ink);
        let part = |p: &[u8]| f64::from(255 - p[0]) / f64::from(255 - red);
        canvas.pixels.chunks_exact(3).map(part).sum::<f64>() / (DENSITY * DENSITY)
    }

    #[test]
    fn shapes_cover_their_areas() {
        let role = Role::Ink;
        let area = Area { left: 0.25, top: 1.5, width: 10.0, height: 3.1 };
        let close = |shape: Shape, wanted: f64| {
            let found = covered(std::slice::from_ref(&shape));
            assert!((found / wanted - 1.0).abs() < 0.02, "{shape:?}: {found}, not {wanted}");
        };
        close(Shape::Area { role, area }, 31.0);
        let line = vec![(0.0, 0.0), (10.0, 0.0), (10.0, 10.0)];
        close(Shape::Line { role, width: 2.0, points: line }, 40.0);
        let mark = |mark| Shape::Mark { role, mark, at: (5.3, 5.1), radius: 6.0 };
        close(mark(Mark::Disc), 36.0 * std::f64::consts::PI);
        close(mark(Mark::Ring), 12.0 * std::f64::consts::PI * Mark::width(6.0));
        close(mark(Mark::Square), 4.0 * 36.0 * 0.81);
        let over_the_edge = Area { left: -30.0, top: -30.0, width: 30.0, height: 30.0 };
        close(Shape::Area { role, area: over_the_edge }, 100.0);
    }

    #[test]
    fn a_text_has_its_letters_at_its_anchor_and_unknown_ones_are_blank() {
        let text = |anchor, x, words: &str| Shape::Text {
            look: look(Role::Ink, 12.0, anchor),
            at: (x, 5.0),
            words: words.to_owned(),
        };
        let one = covered(&[text(Anchor::Start, 0.0, "I")]);
        assert!(one > 5.0, "{one}");
        assert!((covered(&[text(Anchor::Start, 0.0, "II")]) - 2.0 * one).abs() < 0.5);
        assert_eq!(covered(&[text(Anchor::Start, 0.0, "I漢")]), one);
        // The letter o has a hole.
        let disc = Shape::Mark { role: Role::Ink, mark: Mark::Disc, at: (3.6, 5.9), radius: 3.0 };
        assert!(covered(&[text(Anchor::Start, 0.0, "o")]) < covered(&[disc]));
        let outlines = |anchor| letters(look(Role::Ink, 12.0, anchor), (0.0, 0.0), "HH");
        let ends = |anchor| {
            let xs = outlines(anchor).into_iter().flatten().map(|p| p.0).collect::<Vec<_>>();
            (xs.iter().copied().fold(f64::MAX, f64::min), xs.into_iter().fold(f64::MIN, f64::max))
        };
        assert!(ends(Anchor::Start).0 > 0.0 && ends(Anchor::End).1 < 0.0);
        let (left, right) = ends(Anchor::Middle);
        assert!((left + right).abs() < 0.1, "{left} to {right}");
    }
}
