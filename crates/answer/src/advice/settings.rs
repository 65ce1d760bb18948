//! The single setting to change, and the gain.

use std::collections::BTreeMap;

use cryptbench_estimate::comparison::compare;
use cryptbench_estimate::lookup::Lookup;
use cryptbench_record::{Arm, Verdict};

use super::container::PLACES;
use crate::names::{Names, capitalised};
use crate::quantity::{percent, percent_digits};

/// The name of an arm's data unit among its settings.
const SECTOR_SIZE: &str = "sector size";

/// Maximum number of sentences.
const MOST: usize = 3;

/// The only setting in which two arms of a system differ.
pub(super) struct Change<'a> {
    pub(super) setting: String,
    pub(super) from: String,
    pub(super) to: String,
    slower: &'a Arm,
    faster: &'a Arm,
}

/// The gains to show, one per setting, in descending order.
pub fn changes(lookup: &Lookup<'_>, names: &Names, arms: &[&Arm]) -> Vec<String> {
    let mut gains: Vec<(f64, String, String)> = Vec::new();
    for slower in arms {
        for faster in arms.iter().filter(|arm| arm.id != slower.id) {
            let Some(change) = difference(slower, faster) else { continue };
            // The location is not a setting to change: `container` has a sentence about the location.
            if !PLACES.contains(&change.setting.as_str()) {
                gains.extend(gain(lookup, names, &change));
            }
        }
    }
    gains.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut told: Vec<String> = Vec::new();
    let mut sentences = Vec::new();
    for (_, setting, sentence) in gains {
        if !told.contains(&setting) && sentences.len() < MOST {
            told.push(setting);
            sentences.push(sentence);
        }
    }
    sentences
}

/// The difference between two arms of one system, if there is exactly one.
pub(super) fn difference<'a>(slower: &'a Arm, faster: &'a Arm) -> Option<Change<'a>> {
    if slower.system != faster.system || slower.attachment != faster.attachment {
        return None;
    }
    let (a, b) = (all_settings(slower), all_settings(faster));
    let names: std::collections::BTreeSet<&String> = a.keys().chain(b.keys()).collect();
    let mut differing = names.into_iter().filter(|name| a.get(*name) != b.get(*name));
    let (Some(setting), None) = (differing.next(), differing.next()) else { return None };
    // Between two layouts, the sector size does not count as a setting.
    if setting == SECTOR_SIZE && slower.layout != faster.layout {
        return None;
    }
    let value = |of: &BTreeMap<String, String>| {
        of.get(setting).cloned().unwrap_or_else(|| "its default".to_owned())
    };
    Some(Change { setting: setting.clone(), from: value(&a), to: value(&b), slower, faster })
}

/// Cipher and sector size count as settings; the layout follows from the sector size.
fn all_settings(arm: &Arm) -> BTreeMap<String, String> {
    let mut all = arm.settings.clone();
    if let Some(cipher) = &arm.cipher {
        all.insert("cipher".to_owned(), cipher.clone());
    }
    if let Some(unit) = arm.data_unit {
        all.insert(SECTOR_SIZE.to_owned(), format!("{unit} B"));
    }
    all
}

/// The largest gain of a change that makes no workload slower, with the sort key of gains.
fn gain(lookup: &Lookup<'_>, names: &Names, change: &Change<'_>) -> Option<(f64, String, String)> {
    let Change { setting, from, to, slower, faster } = change;
    let compared = compare(lookup, &faster.id, &slower.id);
    if compared.iter().any(|c| matches!(c.verdict, Verdict::Costs { .. })) {
        return None;
    }
    let best = compared
        .iter()
        .filter(|c| matches!(c.verdict, Verdict::Gains { .. }))
        .max_by(|a, b| a.estimate.ratio.total_cmp(&b.estimate.ratio))?;
    let workload = lookup.workloads().iter().find(|w| w.id == best.workload)?;
    let e = &best.estimate;
    let [low, high] = [e.low, e.high].map(|r| percent_digits(100.0 * (r - 1.0)));
    let by = percent(100.0 * (e.ratio - 1.0));
    let sentence = format!(
        "{} {to} instead of {from} ({}): {by} ({low}-{high}) faster in {}, measurably slower in none.",
        capitalised(setting),
        names.arm(faster),
        names.workload(workload).to_lowercase(),
    );
    Some((e.ratio, setting.clone(), sentence))
}
