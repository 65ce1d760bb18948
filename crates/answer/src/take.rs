//! What to use: only systems that can be installed or settings that can be changed, each with its supporting
//! figure.

use cryptbench_catalog::{BUILTIN_MOUNTED, BUILTIN_RAW, Family, VERACRYPT_LAYOUT};
use cryptbench_estimate::comparison::compare;
use cryptbench_estimate::ranking::{Mean, Ranked, between, judged, level};
use cryptbench_estimate::verdict::is_alike;
use cryptbench_record::{Arm, Verdict, Workload};

use crate::advice::{container, settings};
use crate::answer::View;
use crate::avoid::is_avoided;
use crate::figure::{Mark, value};
use crate::headline::{factor, of_workloads};
use crate::kinds::kinds;
use crate::names::{family, lowered};
use crate::quantity::percent_digits;
use crate::wording::list;

/// Maximum number of tied systems listed individually.
const MOST_NAMED: usize = 2;

pub(crate) fn take(view: &View<'_, '_>) -> Vec<String> {
    if view.cast.choices.is_empty() {
        return sector_size(view).into_iter().collect();
    }
    let usable: Vec<&Ranked<'_>> =
        view.cast.ranked().filter(|row| !is_avoided(view, row.arm)).collect();
    let mut lines = match usable[..] {
        [] => unranked(view).and_then(|arm| alone(view, arm)).into_iter().collect(),
        [only] if view.cast.choices.len() == 1 => alone(view, only.arm).into_iter().collect(),
        _ => by_family(view, &usable),
    };
    let sound: Vec<&Arm> = usable.iter().map(|row| row.arm).collect();
    lines.extend(settings::changes(view.lookup, view.names, &sound));
    lines.extend(container::places(view.lookup, &sound));
    lines
}

/// The only choice, if too few of its workloads are decided for a mean. A single figure then shows
/// what to expect.
fn unranked<'a>(view: &View<'a, '_>) -> Option<&'a Arm> {
    let [only] = view.cast.choices[..] else { return None };
    let left_out = |arm: &&Arm| arm.id == only.id;
    let is_left_out = view.cast.ranking.as_ref().is_some_and(|r| r.left_out.iter().any(left_out));
    (is_left_out && !is_avoided(view, only)).then_some(only)
}

/// The choices without a rank, because too few of their workloads are decided.
fn undecided<'a>(view: &View<'a, '_>) -> Vec<&'a Arm> {
    let is_left_out = |arm: &Arm| {
        view.cast.ranking.as_ref().is_some_and(|r| r.left_out.iter().any(|out| out.id == arm.id))
    };
    let of_cast = view.cast.choices.iter().copied();
    of_cast.filter(|arm| is_left_out(arm) && !is_avoided(view, arm)).collect()
}

/// The fastest system of each family, with the systems that share its rank and the systems without a rank.
fn by_family(view: &View<'_, '_>, usable: &[&Ranked<'_>]) -> Vec<String> {
    let families = [
        (Family::Volume, "One volume"),
        (Family::Files, "Separate files, as for syncing"),
        (Family::Place, "Of your locations"),
    ];
    let undecided = undecided(view);
    let present = |wanted: Family| {
        let mut arms = usable.iter().map(|row| row.arm).chain(undecided.iter().copied());
        arms.any(|arm| family(arm) == wanted)
    };
    let over = view.cast.ranking.as_ref().map_or(&[][..], |ranking| &ranking.over);
    let several = families.iter().filter(|(wanted, _)| present(*wanted)).count() > 1;
    families
        .iter()
        .filter_map(|(wanted, purpose)| {
            let purpose = if several { format!("{purpose}: ") } else { String::new() };
            let rows: Vec<_> = usable.iter().filter(|row| family(row.arm) == *wanted).collect();
            let open: Vec<&str> = undecided
                .iter()
                .filter(|arm| family(arm) == *wanted)
                .map(|arm| view.names.arm(arm))
                .collect();
            let open = match open.len() {
                0 => None,
                1 => Some(format!("{} is undecided", open[0])),
                _ => Some(format!("{} are undecided", list(&open, MOST_NAMED))),
            };
            let Some((first, rest)) = rows.split_first() else {
                return open.map(|open| format!("{purpose}{open}."));
            };
            let open = open.map_or_else(String::new, |open| format!("; {open}"));
            // All systems on a rank are tied with the first system on it, which may belong to another family or be a
            // system to avoid.
            let tied: Vec<&str> = rest
                .iter()
                .filter(|row| row.place == first.place)
                .filter(|row| level(view.lookup, row.arm, first.arm, over))
                .map(|row| view.names.arm(row.arm))
                .collect();
            let tied = match tied.is_empty() {
                true => String::new(),
                false => format!("; no difference from {} was found", list(&tied, MOST_NAMED)),
            };
            let name = view.names.arm(first.arm);
            let opens = opens_in(first.arm).map_or_else(String::new, |by| format!("; {by}"));
            let over = of_workloads(over.len(), view.lookup.workloads().len());
            Some(format!("{purpose}{name}, {}{over}{opens}{tied}{open}.", of_plain(&first.all)))
        })
        .collect()
}

/// `43 % (38-49)`; the headline states that this is the mean percentage of plain speed over the workloads.
fn of_plain(mean: &Mean) -> String {
    let of = [mean.ratio, mean.low, mean.high].map(|r| 100.0 * r);
    let [ratio, low, high] = apart(of);
    format!("{ratio} % ({low}-{high})")
}

/// A percentage and the ends of its interval, with a decimal if rounding would otherwise make the three equal.
fn apart(values: [f64; 3]) -> [String; 3] {
    let whole = values.map(percent_digits);
    match whole[1] == whole[2] {
        true => values.map(|v| format!("{v:.1}")),
        false => whole,
    }
}

/// Other programs that can open the volumes served by cryptbench's own mount.
fn opens_in(arm: &Arm) -> Option<&'static str> {
    if ![BUILTIN_MOUNTED.name, BUILTIN_RAW.name].contains(&arm.system.as_str()) {
        return None;
    }
    Some(match arm.layout.as_deref()? {
        VERACRYPT_LAYOUT => "opens in VeraCrypt",
        _ => "opens in cryptsetup",
    })
}

/// A single system, and what to expect of it. `None` if a figure that could show a loss is missing or undecided.
fn alone(view: &View<'_, '_>, arm: &Arm) -> Option<String> {
    let name = view.names.arm(arm);
    let slower: Vec<(&Workload, Mean)> = view
        .lookup
        .workloads()
        .iter()
        .filter_map(|w| {
            let value = value(view, w, arm);
            Some((w, value.kept.filter(|_| value.mark == Mark::Slower)?))
        })
        .collect();
    let worst = slower.iter().min_by(|a, b| a.1.ratio.total_cmp(&b.1.ratio));
    let is_open = |w: &Workload| {
        let mark = value(view, w, arm).mark;
        matches!(mark, Mark::Undecided | Mark::Cached | Mark::Compressed | Mark::Unmeasured)
    };
    let is_any_open = view.lookup.workloads().iter().any(is_open);
    Some(match worst {
        None if is_any_open => return None,
        None if view.in_use().is_some() => {
            format!("{name} as it is: no loss was found in any read.")
        }
        None => format!("{name}: no loss was found in any workload."),
        Some((workload, mean)) => {
            let is_worse = |w: &Workload| {
                let value = value(view, w, arm);
                value.mark == Mark::Undecided
                    && value.kept.is_some_and(|kept| kept.ratio < mean.ratio)
            };
            let decided = match view.lookup.workloads().iter().any(is_worse) {
                true => "decided ",
                false => "",
            };
            let [ratio, low, high] = apart([mean.ratio, mean.low, mean.high].map(|r| 100.0 * r));
            format!(
                "{name}, if its worst {decided}case is acceptable: {}, at {} % of plain speed ({}-{}), {} times as long.",
                lowered(view.names.workload(workload)),
                ratio,
                low,
                high,
                factor(1.0 / mean.ratio),
            )
        }
    })
}

/// The faster of two sector sizes with one cipher: the workloads in which this size is faster, and the fact that it is
/// never slower.
fn sector_size(view: &View<'_, '_>) -> Option<String> {
    let of_size = |unit: u32| view.cast.engines.iter().find(|a| a.data_unit == Some(unit));
    let (small, large) = (of_size(512)?, of_size(4096)?);
    if small.cipher != large.cipher {
        return None;
    }
    let compared = compare(view.lookup, &large.id, &small.id);
    if compared.iter().any(|c| matches!(c.verdict, Verdict::Costs { .. })) {
        return None;
    }
    // A workload in which plain storage was also served from a cache does not count as cached.
    let cached = |w: &&&Workload| view.lookup.plain(w).is_some_and(|c| c.cached);
    let uncached = |of: &[&Workload]| of.len() - of.iter().filter(cached).count();
    // The best of several kinds may be best by chance. At least one of its workloads must show a gain after correction
    // for the number of workloads.
    let gains_in = |members: &[&Workload]| {
        let of = |w: &&Workload| compared.iter().find(|c| c.workload == w.id);
        members.iter().filter_map(of).any(|c| matches!(c.verdict, Verdict::Gains { .. }))
    };
    let gains: Vec<(String, Mean)> = kinds(view.lookup.workloads())
        .into_iter()
        .filter(|(_, members)| gains_in(members))
        .filter_map(|(name, members)| {
            let both =
                |w: &&Workload| judged(view.lookup, w, small) && judged(view.lookup, w, large);
            let over: Vec<&Workload> = members.iter().copied().filter(both).collect();
            let mean = between(view.lookup, large, small, &over)?;
            Some((name, mean))
                .filter(|(_, mean)| mean.low > 1.0 && over.len() == uncached(&members))
        })
        .collect();
    let best = gains.iter().max_by(|a, b| a.1.ratio.total_cmp(&b.1.ratio));
    let Some((kind, mean)) = best else {
        let all = !compared.is_empty()
            && compared.len() == uncached(&view.lookup.workloads().iter().collect::<Vec<_>>())
            && compared.iter().all(|c| is_alike(&c.verdict));
        return all.then(|| {
            "Either sector size: no difference was found between 512 and 4096 bytes.".to_owned()
        });
    };
    let [by, low, high] = apart([mean.ratio, mean.low, mean.high].map(|r| 100.0 * (r - 1.0)));
    Some(format!(
        "4096-byte sectors if available (LUKS2 has them, VeraCrypt does not): {by} % ({low}-{high}) faster in \
         {kind}, nowhere proven slower."
    ))
}
