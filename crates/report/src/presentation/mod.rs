//! The familiar picture of a profile, as data: one function each from the record to what is drawn,
//! shared by all formats.

pub(crate) mod bars;
pub(crate) mod condensed;
pub(crate) mod copies;
pub(crate) mod curve;
pub(crate) mod files;
pub(crate) mod grid;
pub(crate) mod heatmap;
pub(crate) mod peers;
pub(crate) mod ranking;
pub(crate) mod unlock;

use cryptbench_record::{Arm, ArmRole, Record};

use crate::analysis::plain_arm;
use crate::lookup::Lookup;
use crate::wording::compared;

/// Up to this many workloads each has its own charts, and its row in tables; beyond it they are
/// condensed by series.
pub(crate) const MOST_CHARTED: usize = 16;

/// Up to this many workloads each has its row in the tables of the page.
pub(crate) const MOST_LISTED: usize = 100;

/// A picture, as [`Plan::presentation`](cryptbench_record::Plan) names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Table,
    Bars,
    Curve,
    Grid,
    Heatmap,
    Copies,
    Files,
    Unlock,
}

impl Form {
    /// The form that a record asks for; a table if this version does not know it.
    pub(crate) fn of(record: &Record) -> Self {
        match record.plan.presentation.as_deref() {
            Some("bars") => Self::Bars,
            Some("curve") => Self::Curve,
            Some("grid") => Self::Grid,
            Some("heatmap") => Self::Heatmap,
            Some("copies") => Self::Copies,
            Some("files") => Self::Files,
            Some("unlock") => Self::Unlock,
            _ => Self::Table,
        }
    }
}

/// The arms of a picture that has room for only some.
pub(crate) struct Chosen<'a> {
    /// Plain first, then encrypted arms (the layer without its cipher among them) in plan order.
    pub(crate) arms: Vec<&'a Arm>,
    /// How many were left out.
    pub(crate) left_out: usize,
}

/// Plain and at most `most` arms beside it: all of them, else the fastest and the slowest encrypted arms
/// by the mean over all workloads.
pub(crate) fn chosen<'a>(lookup: &Lookup<'a>, most: usize) -> Chosen<'a> {
    let all = compared(lookup.arms());
    let mut picked = all.clone();
    if all.len() > most {
        // The layer without its cipher is dropped first: it does not answer what encryption costs.
        let encrypted =
            all.iter().copied().filter(|a| a.role == ArmRole::Encrypted).collect::<Vec<_>>();
        picked =
            if encrypted.len() <= most { encrypted } else { extremes(lookup, encrypted, most) };
    }
    let left_out = all.len() - picked.len();
    let arms = plain_arm(lookup.record).into_iter().chain(picked).collect();
    Chosen { arms, left_out }
}

/// The fastest arms and the slowest ones, `most` in all, in the order given.
fn extremes<'a>(lookup: &Lookup<'a>, arms: Vec<&'a Arm>, most: usize) -> Vec<&'a Arm> {
    let mut ranked: Vec<(f64, &str)> =
        arms.iter().map(|a| (lookup.mean_ratio(a).unwrap_or(0.0), a.id.as_str())).collect();
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0));
    let fast = most.div_ceil(2);
    let slow = ranked.len() - (most - fast);
    let keep = |id: &str| ranked[..fast].iter().chain(&ranked[slow..]).any(|(_, kept)| *kept == id);
    arms.into_iter().filter(|a| keep(&a.id)).collect()
}

/// What a picture says about arms that it leaves out; nothing if it shows all.
pub(crate) fn left_out_words(left_out: usize) -> Option<String> {
    (left_out > 0).then(|| {
        format!(
            "{left_out} more {} not drawn: of many, the fastest and the slowest are.",
            if left_out == 1 { "choice is" } else { "choices are" }
        )
    })
}

/// A label without what varies within a series: sizes, their units, and numbers.
///
/// `reread 512M/16M` is of the series `reread`, `sequential write 1 MiB QD8` of `sequential write`.
pub(crate) fn series_name(label: &str) -> String {
    let is_unit = |word: &str| {
        matches!(
            word,
            "B" | "KB" | "MB" | "GB" | "KiB" | "MiB" | "GiB" | "K" | "M" | "G" | "/" | "x"
        )
    };
    let words: Vec<&str> = label
        .split_whitespace()
        .filter(|word| !word.bytes().any(|b| b.is_ascii_digit()) && !is_unit(word))
        .collect();
    if words.is_empty() { label.to_owned() } else { words.join(" ") }
}

#[cfg(test)]
mod tests {
    use super::series_name;

    #[test]
    fn a_series_is_a_label_without_its_numbers() {
        for (label, series) in [
            ("reread 512M/16M", "reread"),
            ("record rewrite 64K/4K", "record rewrite"),
            ("sequential write 1 MiB QD8", "sequential write"),
            ("write 512 B", "write"),
            ("4K", "4K"),
        ] {
            assert_eq!(series_name(label), series);
        }
    }
}
