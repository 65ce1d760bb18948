//! Charts as inline SVG: one small chart per workload, all of one kind in the same form.
//!
//! Drawn at [`SCALE`] units per CSS pixel, because the backend rounds to whole units. Only finite
//! numbers reach the backend.

mod bars;
mod cells;
mod compact;
mod drift;
mod heat;
mod lines;
mod percentiles;
mod plot;
mod surface;
mod two_sided;

use maud::{Markup, PreEscaped, html};
use plotters::chart::MeshStyle;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::palette::{Colour, GRID, MUTED};

pub(super) use bars::{Bar, Bars};
pub(super) use cells::{Cells, Number};
pub(super) use drift::{Drift, Series, Shape};
pub(super) use heat::{heat, legend as heat_legend, number as heat_number};
pub(super) use lines::{Curve, Lines, Point};
pub(super) use percentiles::{Ladder, Percentiles};
pub(super) use plot::block as data_block;
pub(super) use surface::{Line, Surface};
pub(super) use two_sided::{Block, Side, TwoSided};

/// Units of the drawing per CSS pixel.
const SCALE: i32 = 4;

/// Width of every chart in CSS pixels, which fits a phone.
const WIDTH: i32 = 344;

/// Type sizes in CSS pixels.
const LABEL: f64 = 12.5;
const TICK: f64 = 11.0;

/// The canvas that charts are drawn on.
type Canvas<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;

/// The mesh of all charts: faint lines at the labels, no axes. Leaves disabled what a chart without a y axis disables.
fn in_house_style<'m, 'c, 'd, 'b, X: Ranged, Y: Ranged>(
    mesh: &'m mut MeshStyle<'c, 'd, X, Y, SVGBackend<'b>>,
) -> &'m mut MeshStyle<'c, 'd, X, Y, SVGBackend<'b>> {
    mesh.x_max_light_lines(0)
        .y_max_light_lines(0)
        .bold_line_style(GRID.marker().stroke_width(SCALE.unsigned_abs()))
        .axis_style(TRANSPARENT)
        .x_label_style(text(TICK, MUTED, HPos::Center, VPos::Top))
        .y_label_style(text(TICK, MUTED, HPos::Right, VPos::Center))
}

/// The backend's error. It writes to memory, so any error is a defect.
type DrawResult = Result<(), Box<dyn std::error::Error>>;

/// A chart's properties besides its drawing.
struct Frame<'a> {
    /// Unique within the page.
    id: &'a str,
    /// The title for readers who cannot see it.
    title: &'a str,
    /// The description for these readers: one entry for each row, if the chart has rows.
    told: Vec<String>,
    /// Height in CSS pixels.
    height: i32,
    /// Where its rows begin and how high each is, in CSS pixels, so that the page's script can find the row at the pointer.
    rows: Option<(f64, f64)>,
}

/// Draws into an SVG element with a title and a description for those who do not see it.
fn svg(frame: &Frame<'_>, draw: impl FnOnce(&Canvas<'_>) -> DrawResult) -> Markup {
    let (w, h) = (WIDTH * SCALE, frame.height * SCALE);
    let mut drawing = String::new();
    let drawn = {
        let size = (w.unsigned_abs(), h.unsigned_abs());
        let canvas = SVGBackend::with_string(&mut drawing, size).into_drawing_area();
        draw(&canvas).and_then(|()| Ok(canvas.present()?))
    };
    if drawn.is_err() {
        return html! { p.none { "This chart could not be drawn; the table has its numbers." } };
    }
    // The backend's own opening tag fixes a size; ours scales and carries the description.
    let inner = drawing.find('>').map_or("", |end| &drawing[end + 1..]);
    let rows = frame.rows.map(|(first, each)| format!("{} {}", px(first), px(each)));
    let id = frame.id;
    html! {
        svg.chart viewBox={ "0 0 " (w) " " (h) } role="img" data-rows=[rows]
            aria-labelledby={ (id) "-t " (id) "-d" } {
            title id={ (id) "-t" } { (frame.title) }
            desc id={ (id) "-d" } { (frame.told.join(";\n")) }
            (PreEscaped(compact::compact(inner)))
        }
    }
}

/// Text of a size in CSS pixels, anchored at a corner or side.
fn text(size: f64, colour: Colour, horizontal: HPos, vertical: VPos) -> TextStyle<'static> {
    // The backend divides by 1.24, the ratio of line to letter height that it assumes.
    ("sans-serif", size * f64::from(SCALE) * 1.24)
        .into_font()
        .color(&colour.marker())
        .pos(Pos::new(horizontal, vertical))
}

/// Whole units from CSS pixels.
fn px(pixels: f64) -> i32 {
    (pixels * f64::from(SCALE)).round() as i32
}

/// Shortens a label to about so many CSS pixels, judging by the average width of letters.
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
}
