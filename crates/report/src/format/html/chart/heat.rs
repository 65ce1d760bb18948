//! A heat map: percent difference to plain by file size (rows) and record size (columns).
//!
//! Written by hand, one path per shade: a page may hold 1,638 cells per arm.

use std::fmt::Write as _;

use maud::{Markup, PreEscaped, html};

use super::WIDTH;
use crate::presentation::heatmap::{Difference, Map};
use crate::quantity::{percent_digits, short_bytes};

/// Pixels: width of the row labels, height of a row and of the column labels.
const NAME: f64 = 32.0;
const ROW: f64 = 17.0;
const HEAD: f64 = 16.0;

/// The shades: classes of the style sheet, each up to this percent difference. Losses are `l4` (most) to
/// `l1`, about equal speeds `n`, gains `g1` to `g3`.
const SHADES: [(&str, f64); 8] = [
    ("l4", -50.0),
    ("l3", -25.0),
    ("l2", -10.0),
    ("l1", -3.0),
    ("n", 3.0),
    ("g1", 10.0),
    ("g2", 25.0),
    ("g3", f64::INFINITY),
];

/// The shades and what they stand for, as a legend.
pub(in crate::format::html) fn legend() -> Markup {
    let words = ["-50 or less", "-25", "-10", "-3", "about the same", "3", "10", "25 or more"];
    html! {
        @for ((class, _), words) in SHADES.iter().zip(words) {
            span.nobreak { span.shade.(*class) aria-hidden="true" {} " " (words) } " "
        }
    }
}

/// The map as an SVG with a title and a description for those who do not see it.
pub(in crate::format::html) fn heat(id: &str, title: &str, map: &Map) -> Markup {
    let height = HEAD + ROW * map.files.len() as f64;
    let wide = (f64::from(WIDTH) - NAME) / map.records.len().max(1) as f64;
    let mut shades = vec![String::new(); SHADES.len()];
    let mut numbers = String::new();
    for row in 0..map.files.len() {
        for (column, cell) in map.row(row).iter().enumerate() {
            let Some(Difference { percent, .. }) = cell else { continue };
            let (x, y) = (NAME + column as f64 * wide, HEAD + row as f64 * ROW);
            let shade = shade(*percent);
            let (w, h) = (wide - 1.0, ROW - 1.0);
            let _ = write!(shades[shade], "M{x:.1} {y:.0}h{w:.1}v{h:.0}h-{w:.1}z");
            let dark = if matches!(SHADES[shade].0, "l4" | "g3") { " class=\"on\"" } else { "" };
            let _ = write!(
                numbers,
                "<text x=\"{:.1}\" y=\"{:.1}\"{dark}>{}</text>",
                x + wide / 2.0,
                y + ROW * 0.68,
                number(*percent)
            );
        }
    }
    let range = map.range().unwrap_or([0.0; 3]).map(percent_digits);
    html! {
        svg.chart.heat viewBox={ "0 0 " (WIDTH) " " (height) } role="img"
            aria-labelledby={ (id) "-t " (id) "-d" } {
            title id={ (id) "-t" } { (title) }
            desc id={ (id) "-d" } {
                (range[1]) " percent on average, " (range[0]) " to " (range[2]) "; the table has each cell."
            }
            @for ((class, _), path) in SHADES.iter().zip(&shades) {
                @if !path.is_empty() { path.(*class) d=(path) {} }
            }
            g.sizes {
                @for (i, size) in map.records.iter().enumerate() {
                    text x=(format!("{:.1}", NAME + (i as f64 + 0.5) * wide)) y="11" { (short_bytes(*size)) }
                }
                @for (i, size) in map.files.iter().enumerate() {
                    text.row x=(NAME - 4.0) y=(format!("{:.1}", HEAD + (i as f64 + 0.68) * ROW)) {
                        (short_bytes(*size))
                    }
                }
            }
            g.cells { (PreEscaped(numbers)) }
        }
    }
}

/// Whole percent without a sign for gains; `999+` for anything that does not fit into a cell.
pub(in crate::format::html) fn number(percent: f64) -> String {
    match percent.round() {
        p if p > 999.0 => "999+".to_owned(),
        p => format!("{:.0}", p + 0.0),
    }
}

fn shade(percent: f64) -> usize {
    let place = SHADES.iter().position(|(class, end)| match class.starts_with('l') {
        true => percent <= *end,
        false => percent < *end,
    });
    place.unwrap_or(SHADES.len() - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shades_are_alike_on_both_sides_of_no_difference() {
        let class = |percent: f64| SHADES[shade(percent)].0;
        assert_eq!([-80.0, -50.0, -49.0, -10.0, -3.0].map(class), ["l4", "l4", "l3", "l2", "l1"]);
        assert_eq!([-2.9, 0.0, 2.9].map(class), ["n", "n", "n"]);
        assert_eq!([3.0, 10.0, 25.0, 800.0].map(class), ["g1", "g2", "g3", "g3"]);
        assert_eq!([-0.2, -80.4, 1_200.0].map(number), ["0", "-80", "999+"]);
    }
}
