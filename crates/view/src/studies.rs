//! The conclusions of the published studies, in columns.

use cryptbench_answer::studies::{figures, statement, summary};
use cryptbench_studies::Letter;
use cryptbench_studies::here::Tested;

use crate::prose::wrap;

/// Maximum number of systems whose figures are shown for a conclusion.
const MOST_PARTS: usize = 6;

/// Width of a verdict in columns.
const VERDICT: usize = 16;

/// The conclusions with one figure each, for the end of the answer of a study.
pub fn brief(tested: &[Tested], width: usize) -> String {
    listed(tested, 1, width)
}

/// The conclusions with their figures.
pub fn full(tested: &[Tested], width: usize) -> Option<String> {
    (!tested.is_empty()).then(|| listed(tested, MOST_PARTS, width).trim_end().to_owned())
}

fn listed(tested: &[Tested], most: usize, width: usize) -> String {
    let mut lines = vec![wrap(
        &format!("The studies' conclusions on this machine ({})", summary(tested)),
        "",
        "  ",
        width,
    )];
    let rest = " ".repeat(VERDICT);
    for letter in [Letter::A, Letter::B, Letter::C, Letter::D] {
        for one in tested.iter().filter(|one| one.study == letter) {
            let first = format!("{:<VERDICT$}", one.told.to_string());
            lines.push(wrap(&statement(one), &first, &rest, width));
            lines.push(wrap(&figures(one, most), &rest, &rest, width));
        }
    }
    lines.join("\n") + "\n"
}
