//! A chart without its page: colours, title and legend written into it.

use std::fmt::Write as _;

use serde_json::Value;

use super::{MARK, Piece, between};
use crate::format::html::light_colours;

/// Units of the drawing per CSS pixel, and the room around it in CSS pixels.
const SCALE: f64 = 4.0;
const MARGIN: f64 = 12.0;

/// Heights in CSS pixels: of the title and of a row of the legend.
const TITLE: f64 = 26.0;
const KEY: f64 = 18.0;

/// The family that PNGs are drawn with comes first; its measures are those of Verdana.
const FAMILY: &str = "DejaVu Sans, Verdana, sans-serif";

/// Colours of heat maps and sizes of their texts, which the page's style sheet gives in the page.
const HEAT: &str = ".l4{fill:#8f2f00}.l3{fill:#e08a55}.l2{fill:#f2bd99}.l1{fill:#fae3d3}.n{fill:#eef0f3}\
    .g1{fill:#d5e8f5}.g2{fill:#a3cdea}.g3{fill:#00628f}text{text-anchor:middle;fill:#1b1f24;font-size:9.5px}\
    text.on{fill:#ffffff}.sizes text{font-size:8.5px;fill:#5b636d}.sizes .row{text-anchor:end}";

/// The chart as a document.
pub(super) fn document(piece: &Piece<'_>, title: &str, run: &str) -> String {
    let mut size = between_quotes(piece.svg, "viewBox=\"").unwrap_or("0 0 1 1").split(' ').skip(2);
    let mut side = || size.next().and_then(|v| v.parse::<f64>().ok()).unwrap_or(1.0);
    let (w, h) = (side(), side());
    // Heat maps are drawn in pixels, all others in quarters of them.
    let heat = piece.svg.starts_with(" heat");
    let scale = if heat { 1.0 } else { SCALE };
    let keys = keys(piece.data);
    let (left, top) = (-MARGIN * scale, -(MARGIN + TITLE) * scale);
    let width = w + 2.0 * MARGIN * scale;
    let height = h + (2.0 * MARGIN + TITLE + KEY * keys.len() as f64) * scale;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{:.0}\" height=\"{:.0}\" \
         viewBox=\"{left:.0} {top:.0} {width:.0} {height:.0}\" font-family=\"{FAMILY}\">\n\
         <title>{}</title>\n<metadata>{MARK}, run {}</metadata>\n",
        width / scale,
        height / scale,
        escaped(title),
        escaped(run)
    );
    if let Some(told) = between(piece.svg, "<desc", "</desc>") {
        let _ = writeln!(out, "<desc>{told}</desc>");
    }
    if heat {
        let _ = writeln!(out, "<style>{HEAT}</style>");
    }
    let _ = writeln!(
        out,
        "<rect x=\"{left:.0}\" y=\"{top:.0}\" width=\"{width:.0}\" height=\"{height:.0}\" fill=\"#ffffff\"/>"
    );
    // About as wide as its letters, and never wider than the chart.
    let wanted = (w / scale / (title.chars().count() as f64 * 0.6)).min(13.0);
    let _ = writeln!(
        out,
        "<text x=\"0\" y=\"{:.0}\" font-weight=\"bold\" style=\"font-size:{:.1}px;text-anchor:start\" fill=\"#1b1f24\">{}</text>",
        -TITLE * scale * 0.45,
        wanted * scale,
        escaped(title)
    );
    out.push_str(&coloured(drawing(piece.svg)));
    for (i, (name, property, mark)) in keys.iter().enumerate() {
        let y = h + (KEY * (i as f64 + 0.9)) * scale;
        let colour = light_colours()
            .find(|(_, p, _)| p == property)
            .map_or("#1b1f24", |(_, _, light)| light);
        let _ = write!(
            out,
            "\n<g font-size=\"{:.0}\"><text x=\"0\" y=\"{y:.0}\" fill=\"{colour}\">{mark}</text>\
             <text x=\"{:.0}\" y=\"{y:.0}\" fill=\"#1b1f24\">{}</text></g>",
            11.0 * scale,
            14.0 * scale,
            escaped(name)
        );
    }
    out + "\n</svg>\n"
}

/// What follows title and description.
fn drawing(svg: &str) -> &str {
    svg.split_once("</desc>").map_or("", |(_, drawing)| drawing)
}

/// The colours that stand for roles replaced by those of the light scheme.
fn coloured(drawing: &str) -> String {
    light_colours()
        .fold(drawing.to_owned(), |text, (marker, _, light)| text.replace(&marker, light))
}

/// Name, colour and mark of each series.
fn keys(data: Option<&str>) -> Vec<(String, String, String)> {
    let Some(data) = data.and_then(|json| serde_json::from_str::<Value>(json).ok()) else {
        return Vec::new();
    };
    let series = data["series"].as_array().cloned().unwrap_or_default();
    let text = |v: &Value| v.as_str().map(str::to_owned);
    let one = |s: &Value| {
        let mark = text(&s["dots"]).unwrap_or_else(|| "■".to_owned());
        Some((text(&s["name"])?, text(&s["colour"])?, mark))
    };
    series.iter().filter_map(one).collect()
}

fn between_quotes<'a>(text: &'a str, open: &str) -> Option<&'a str> {
    text.split_once(open)?.1.split_once('"').map(|(value, _)| value)
}

fn escaped(text: &str) -> String {
    let plain: String = text.chars().filter(|c| !c.is_control()).collect();
    plain.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
