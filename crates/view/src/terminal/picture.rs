//! The familiar picture of the record's profile, if it has one.

use cryptbench_answer::picture;
use cryptbench_answer::picture::left_out_words;
use cryptbench_answer::wording::Sign;
use cryptbench_catalog::Presentation;
use cryptbench_estimate::lookup::Lookup;

use super::{bars, copies, curve, files, grid, heatmap, unlock, wrap};

/// The picture, at most `width` columns wide; `None` if the record does not request one or contains too little
/// data.
pub(super) fn picture(lookup: &Lookup<'_>, width: usize) -> Option<String> {
    let (text, left_out) = match lookup.record.plan.form() {
        Presentation::Table | Presentation::Server => return None,
        Presentation::Bars => {
            let charts = picture::bars::bars(lookup);
            let drawn: Vec<String> = charts.iter().map(|c| bars::draw(c, width)).collect();
            (drawn.join("\n\n"), charts.first()?.left_out)
        }
        Presentation::Curve => {
            let data = picture::curve::curve(lookup)?;
            (curve::draw(&data, width), data.left_out)
        }
        Presentation::Grid => {
            let data = picture::grid::grid(lookup)?;
            (grid::draw(&data, width), data.left_out)
        }
        Presentation::Heatmap => {
            let data = picture::heatmap::heatmap(lookup)?;
            (heatmap::draw(&data, width), data.left_out)
        }
        Presentation::Copies => {
            let data = picture::copies::copies(lookup);
            if data.is_empty() {
                return None;
            }
            (copies::draw(&data, picture::copies::rule_words(lookup), width), 0)
        }
        Presentation::Files => {
            let data = picture::files::files(lookup)?;
            (files::draw(&data, width), data.left_out)
        }
        Presentation::Unlock => (unlock::draw(&picture::unlock::unlock(lookup)?, width), 0),
    };
    let mut parts = vec![text];
    parts.extend(left_out_words(left_out).map(|words| wrap(&words, "", "  ", width)));
    Some(parts.join("\n"))
}

/// A ratio to plain storage as a percentage with its mark: `86▼`, limited to `999+▲`.
pub(super) fn share(ratio: Option<f64>, mark: Option<Sign>) -> String {
    let percent = ratio.map(|r| r * 100.0).filter(|p| p.is_finite());
    let number = percent.map_or_else(String::new, |p| match p {
        // A larger value occurs only if a trial of plain storage stalled, and the column is too narrow for it.
        p if p > 999.0 => "999+".to_owned(),
        p => format!("{}", p.round()),
    });
    format!("{number}{}", mark.map_or(' ', Sign::char))
}
