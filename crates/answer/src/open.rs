//! Undecided, unmeasured or disturbed results, with the command that settles them.

use cryptbench_estimate::budget::{Need, repeats, rounded, to_part};
use cryptbench_estimate::disturbance::{Crowd, Disturbance};
use cryptbench_estimate::doubt::{Doubt, hides_caches};
use cryptbench_estimate::ranking::{Ranked, between, level};
use cryptbench_record::{
    Arm, ArmRole, LeftOut, StopReason, Verdict, Workload, WorkloadStop, budget_option,
};
use cryptbench_stats::paired::FEWEST_PAIRS;

use crate::answer::{Open, View};
use crate::avoid::is_avoided;
use crate::capacity;
use crate::command::{Command, budget_for_all, command, options};
use crate::kinds::kinds;
use crate::names::{capitalised, lowered, of_system};
use crate::quantity::{duration, fraction, thousands};
use crate::wording::list;

/// Minimum share of disturbed trials for which disturbances are reported.
const OFTEN: f64 = 0.05;

/// Maximum number of workloads listed individually.
const MOST_NAMED: usize = 2;

pub(crate) fn open(view: &View<'_, '_>) -> Vec<Open> {
    let undecided = undecided(view);
    let mut found: Vec<Open> = Vec::new();
    found.extend(interrupted(view));
    found.extend(no_system(view));
    found.extend(settled(view, &undecided));
    found.extend(only_read(view));
    found.extend(without_time(view));
    found.extend(fewer_files(view));
    found.extend(left_out(view));
    found.extend(cached(view));
    found.extend(uncounted(view));
    found.extend(too_few(view));
    found.extend(capacity::asking(view));
    found.extend(undecided.beyond.into_iter().map(Open::new));
    found.extend(against_itself(view));
    found
}

/// The results that an hour would decide, with the command, and the disturbances of this run. They are separate
/// entries, so that one entry can be shown if there is no room for both entries.
fn settled(view: &View<'_, '_>, undecided: &Undecided<'_>) -> Vec<Open> {
    let disturbed = disturbed(view);
    let (text, also) = match undecided.within.is_empty() {
        true => (disturbed, None),
        false => (Some(undecided.within.join(" ")), disturbed),
    };
    let record = view.lookup.record;
    let with_command = |text: String| {
        let Some(options) = options(record, &undecided.needs) else { return Open::new(text) };
        match command(record, &undecided.arms, &options) {
            Some(command) => {
                Open { text: format!("{text} On an idle machine:"), command: Some(command) }
            }
            None => Open::new(format!("{text} Repeat this run with {options}.")),
        }
    };
    text.map(with_command).into_iter().chain(also.map(Open::new)).collect()
}

/// A run that can be resumed: it was interrupted, or its budget ended before the requested number of repeats.
fn interrupted(view: &View<'_, '_>) -> Option<Open> {
    let record = view.lookup.record;
    // If a run was killed, the reason why its workloads ended is not recorded.
    let ended = |stop: &WorkloadStop| stop.reason != StopReason::Interrupted;
    let by_itself = !record.stops.is_empty() && record.stops.iter().all(ended);
    let so_far = match record.plan.fixed_trials() {
        _ if !record.partial => return None,
        _ if !by_itself => format!("The run ended early, after {}.", duration(record.elapsed_s)),
        Some(_) => {
            let most = record.plan.max_pairs;
            let short = record.stops.iter().filter(|stop| stop.pairs < most).count();
            let all = record.stops.len();
            format!("The budget ran out before {short} of {all} workloads had all {most} repeats.")
        }
        // Another run like this one would end just as early.
        None => return None,
    };
    let sudo = if view.in_use().is_some() { "sudo " } else { "" };
    Some(Open {
        text: format!("{so_far} To continue:"),
        command: Some(Command::of_run(format!("{sudo}cryptbench run --resume"))),
    })
}

fn no_system(view: &View<'_, '_>) -> Option<Open> {
    let record = view.lookup.record;
    if !view.cast.choices.is_empty() || record.target.paired.is_some() {
        return None;
    }
    // The first system needs the least time, or is a preferred system.
    let Some(enough_s) = record.plan.left_out.iter().find_map(|out| out.enough_s) else {
        return Some(Open {
            text: "No system was measured. To see what can run here:".to_owned(),
            command: Some(Command::new("cryptbench systems")),
        });
    };
    let no_time = "No system was measured: there was no time to set one up";
    let option = budget_option(enough_s);
    Some(match command(record, &[], &option) {
        Some(command) => {
            Open { text: format!("{no_time}. To measure one:"), command: Some(command) }
        }
        None => Open::new(format!("{no_time}; use {option}.")),
    })
}

/// Facts that a read-only run on a device in use cannot establish.
fn only_read(view: &View<'_, '_>) -> Option<Open> {
    let size = view.in_use()?.sector_size;
    Some(Open {
        text: format!(
            "Writes were not measured: a device in use is only read. Its sectors have {size} bytes. To measure other \
             sizes, in a directory on a plain disk:"
        ),
        command: Some(Command::new("sudo cryptbench run --system dm-crypt --sweep sector-size")),
    })
}

/// The preferred systems that the program could not choose.
fn left_out(view: &View<'_, '_>) -> Vec<Open> {
    let one = |out: &LeftOut| {
        // The details in parentheses are only for readers of the full report.
        let reason = out.reason.split(" (").next().unwrap_or(&out.reason);
        Open::new(format!("{}, not measured: {reason}.", of_system(&out.system)))
    };
    // Systems that a longer run would measure come before systems for which this machine lacks a component.
    let (late, lacking): (Vec<_>, Vec<_>) =
        view.lookup.record.plan.left_out.iter().partition(|out| out.enough_s.is_some());
    late.into_iter().chain(lacking).take(MOST_NAMED).map(one).collect()
}

/// The workloads that did not fit into the budget, and the budget that would suffice for them.
fn without_time(view: &View<'_, '_>) -> Option<Open> {
    let record = view.lookup.record;
    let option = budget_for_all(record)?;
    let is_out = |w: &&Workload| {
        record.stops.iter().any(|stop| stop.workload == w.id && stop.needs_s.is_some())
    };
    let names = view.lookup.workloads().iter().filter(is_out).map(|w| view.names.workload(w));
    let out: Vec<String> = names.map(lowered).collect();
    let out: Vec<&str> = out.iter().map(String::as_str).collect();
    let text = match any_pair(view) {
        false => "No workload was measured: there was no time for the minimum number of repeats"
            .to_owned(),
        true => format!("Not measured for lack of time: {}", list(&out, MOST_NAMED)),
    };
    Some(match command(record, &[], &option) {
        Some(command) => Open { text: format!("{text}. More time:"), command: Some(command) },
        None => Open::new(format!("{text}; use {option}.")),
    })
}

/// Sets of small files that were reduced below the profile's size for lack of time.
fn fewer_files(view: &View<'_, '_>) -> Option<Open> {
    let fewer = |w: &Workload| Some((w.files?, w.files_of_profile?));
    let (files, planned) = view.lookup.record.plan.workloads.iter().find_map(fewer)?;
    Some(Open::new(format!(
        "Each set has {} files instead of {}: the budget is too short for more.",
        thousands(files),
        thousands(planned)
    )))
}

/// Systems served from a cache where plain storage used the disk.
fn cached(view: &View<'_, '_>) -> Vec<Open> {
    let Some(ranking) = &view.cast.ranking else { return Vec::new() };
    let names: Vec<&str> = ranking.cached.iter().map(|arm| view.names.arm(arm)).collect();
    if names.is_empty() {
        return Vec::new();
    }
    let cached_in: Vec<String> = kinds(view.lookup.workloads())
        .into_iter()
        .filter(|(_, members)| {
            members.iter().any(|w| {
                let cell = |arm: &Arm| view.lookup.cell(w, arm);
                let is_cached = |arm: &&Arm| cell(arm).is_some_and(|c| c.cached);
                ranking.cached.iter().any(is_cached)
                    && !view.lookup.plain(w).is_some_and(|c| c.cached)
            })
        })
        .map(|(name, _)| name)
        .collect();
    let cached_in: Vec<&str> = cached_in.iter().map(String::as_str).collect();
    let remedy = match view.lookup.record.target.engine.direct {
        true => "; --buffered uses the page cache for all",
        false => "",
    };
    vec![Open::new(format!(
        "{}: served from a cache in {}{remedy}.",
        list(&names, MOST_NAMED),
        list(&cached_in, MOST_NAMED)
    ))]
}

/// Whether any workload has a repeat.
fn any_pair(view: &View<'_, '_>) -> bool {
    view.lookup.record.stops.iter().any(|stop| stop.pairs > 0)
}

/// A location where a cache below the systems would not be detected.
fn uncounted(view: &View<'_, '_>) -> Option<Open> {
    let target = &view.lookup.record.target;
    let arm = view.cast.spoken().iter().find(|arm| hides_caches(target, arm))?;
    let place = target.places().find(|place| place.arm == arm.id);
    let (filesystem, directory) = match place {
        Some(place) => (&place.filesystem, &place.directory),
        None => (&target.filesystem, &target.directory),
    };
    let name = if filesystem.is_empty() { directory } else { filesystem };
    Some(Open::new(format!(
        "{name}: a cache below this location cannot be detected, so figures above 100 % may be cache effects and are not \
         ranked."
    )))
}

/// Systems without enough repeats for any figure.
fn too_few(view: &View<'_, '_>) -> Option<Open> {
    let without = |arm: &&&Arm| {
        let cells: Vec<_> =
            view.lookup.workloads().iter().filter_map(|w| view.lookup.cell(w, arm)).collect();
        !cells.is_empty()
            && cells.iter().all(|c| matches!(c.verdict, None | Some(Verdict::TooFewPairs)))
    };
    let arms: Vec<&Arm> = view.cast.spoken().iter().filter(without).copied().collect();
    let names: Vec<&str> = arms.iter().map(|arm| view.names.arm(arm)).collect();
    // Results that did not fit into the budget are listed with the budget that would suffice.
    if names.is_empty() || budget_for_all(view.lookup.record).is_some() && !any_pair(view) {
        return None;
    }
    let cells = arms
        .iter()
        .flat_map(|arm| view.lookup.workloads().iter().filter_map(|w| view.lookup.cell(w, arm)));
    let ran = cells.map(|cell| cell.trials).min().unwrap_or(0);
    let names = list(&names, MOST_NAMED);
    let fewest = u32::try_from(FEWEST_PAIRS).unwrap_or(u32::MAX);
    if ran >= fewest {
        return Some(Open::new(format!("{names}: no figure can be derived from its repeats.")));
    }
    let text = format!("{names}: {}; a figure needs at least {fewest}.", repeats_ran(ran));
    let record = view.lookup.record;
    if record.plan.fixed_trials().is_some() && ran < record.plan.max_pairs {
        // Only the budget was too short, and a resumed run has a new budget.
        return Some(Open::new(text));
    }
    // Repeats the whole run, or only these systems.
    let asked = if arms.len() < view.cast.spoken().len() { &arms[..] } else { &[] };
    let need = record.plan.min_pairs.max(fewest);
    let Some(options) = options(record, &[Need { ran, need }]) else {
        return Some(Open::new(text));
    };
    Some(match command(record, asked, &options) {
        Some(command) => Open { text: format!("{text} More repeats:"), command: Some(command) },
        None => Open::new(format!("{text} Repeat this run with {options}.")),
    })
}

/// The undecided results.
#[derive(Default)]
struct Undecided<'a> {
    /// The results that an additional hour would decide, in sentences, and the required time.
    within: Vec<String>,
    needs: Vec<Need>,
    /// The systems to which this applies, unless it applies to all.
    arms: Vec<&'a Arm>,
    /// The results that an additional hour would not decide.
    beyond: Vec<String>,
}

/// The fastest systems if these cannot be distinguished, then workloads whose figures are undecided.
fn undecided<'a>(view: &View<'a, '_>) -> Undecided<'a> {
    let mut found = Undecided::default();
    let is_within = |need: Need| options(view.lookup.record, &[need]).is_some();
    if let Some((who, need, tied)) = tie(view) {
        if is_within(need) {
            found.within.push(format!("{who}: {}.", words(need)));
            found.needs.push(need);
            found.arms.extend(tied);
        } else {
            found.beyond.push(format!("{who}: {}{TOO_NOISY}.", words(need)));
        }
    }
    // The order of the lower ranks does not matter.
    let asked: Vec<&Arm> = match view.cast.choices.len() > 3 {
        true => Vec::new(),
        false => view.cast.spoken().to_vec(),
    };
    let mut open: Vec<(&Workload, Need)> = view
        .lookup
        .workloads()
        .iter()
        .filter_map(|w| {
            let of = asked.iter().filter_map(|arm| repeats(view.lookup, w, arm));
            Some((w, of.max_by_key(|need| need.need)?))
        })
        .collect();
    open.sort_by_key(|(_, need)| std::cmp::Reverse(need.need));
    let (within, beyond): (Vec<_>, Vec<_>) =
        open.into_iter().partition(|(_, need)| is_within(*need));
    if let Some((_, most)) = within.first() {
        found.within.push(format!("{}: {}.", who(view, &within), words(*most)));
        found.needs.extend(within.iter().map(|(_, need)| *need));
    }
    if let Some((_, most)) = beyond.first() {
        found.beyond.push(format!("{}: {}{TOO_NOISY}.", who(view, &beyond), words(*most)));
    }
    found
}

/// The text if the required repeats would take more than an hour.
const TOO_NOISY: &str = ", but not within an hour: this disk is too noisy";

/// The workloads; the workload that needs the most repeats comes first.
fn who(view: &View<'_, '_>, open: &[(&Workload, Need)]) -> String {
    let name = |i: usize| view.names.workload(open[i].0);
    match open.len() {
        1 => name(0).to_owned(),
        n => format!("{n} workloads (worst: {})", lowered(name(0))),
    }
}

fn words(need: Need) -> String {
    let ran = repeats_ran(need.ran);
    match need.need {
        u32::MAX => format!("{ran}; no number of repeats would decide"),
        need => format!("{ran}; about {} would decide", thousands(rounded(need))),
    }
}

fn repeats_ran(ran: u32) -> String {
    match ran {
        0 => "no repeat ran".to_owned(),
        1 => "1 repeat ran".to_owned(),
        n => format!("{} repeats ran", thousands(n)),
    }
}

/// The first two systems of a ranking, if no difference was found between them.
fn tie<'a>(view: &View<'a, '_>) -> Option<(String, Need, Vec<&'a Arm>)> {
    let ranking = view.cast.ranking.as_ref()?;
    // It does not matter whether a system to avoid is equally fast.
    let mut usable = view.cast.ranked().filter(|row| !is_avoided(view, row.arm));
    let (first, second) = (usable.next()?, usable.next()?);
    let is_level = level(view.lookup, second.arm, first.arm, &ranking.over);
    if first.place != second.place || !is_level {
        return None;
    }
    let mean = between(view.lookup, first.arm, second.arm, &ranking.over)?;
    let need =
        to_part(mean.ratio.ln().abs(), (mean.high / mean.low).ln() / 2.0, pairs(view, first));
    let who = format!("{} or {}", view.names.arm(first.arm), view.names.arm(second.arm));
    Some((who, need, vec![first.arm, second.arm]))
}

/// The smallest number of repeats of an arm in any workload.
fn pairs(view: &View<'_, '_>, row: &Ranked<'_>) -> u32 {
    let cells = view.lookup.workloads().iter().filter_map(|w| view.lookup.cell(w, row.arm)?.kept);
    cells.map(|kept| kept.pairs).min().unwrap_or(0)
}

/// Other activity of the machine.
fn disturbed(view: &View<'_, '_>) -> Option<String> {
    let Disturbance { trials, crowded, short_of_memory, stolen } =
        Disturbance::of(view.lookup.record);
    let share = |crowd: &Crowd| crowd.trials as f64 / trials.max(1) as f64;
    let mut parts = Vec::new();
    for (what, share) in [
        ("Other programs competed for the CPUs", share(&crowded)),
        ("Memory was scarce", share(&short_of_memory)),
    ] {
        if share >= OFTEN {
            parts.push(format!("{what} in {} of trials.", fraction(share)));
        }
    }
    if let Some(stolen) = stolen {
        parts.push(format!("{} of CPU time was stolen by other guests.", fraction(stolen)));
    }
    match gains_of_others(view) {
        0 => {}
        1 => parts.push("1 figure above 100 % is attributed to other programs.".to_owned()),
        n => parts.push(format!("{n} figures above 100 % are attributed to other programs.")),
    }
    (!parts.is_empty()).then(|| parts.join(" "))
}

/// Gains that only disturbed repeats show.
fn gains_of_others(view: &View<'_, '_>) -> usize {
    let of = |arm: &Arm| {
        let doubt = |w: &&Workload| view.lookup.doubt(w, arm) == Some(Doubt::Disturbed);
        view.lookup.workloads().iter().filter(doubt).count()
    };
    view.cast.spoken().iter().map(|arm| of(arm)).sum()
}

/// Plain storage was judged different from itself: a warning about the run itself.
fn against_itself(view: &View<'_, '_>) -> Option<Open> {
    let again = view.lookup.arms().iter().find(|a| a.role == ArmRole::PlainAgain)?;
    let differs = |w: &&Workload| {
        let verdict = view.lookup.cell(w, again).and_then(|c| c.verdict.as_ref());
        matches!(verdict, Some(Verdict::Costs { .. } | Verdict::Gains { .. }))
    };
    let names: Vec<&str> =
        view.lookup.workloads().iter().filter(differs).map(|w| view.names.workload(w)).collect();
    (!names.is_empty()).then(|| {
        Open::new(capitalised(&format!(
            "{}: plain storage differed from itself there, so something other than encryption changed its speed.",
            list(&names, MOST_NAMED)
        )))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forecasts_have_two_figures() {
        assert_eq!([7, 19, 20, 101, 4321].map(rounded), [7, 19, 20, 110, 4400]);
        assert_eq!(words(Need { ran: 11, need: 20 }), "11 repeats ran; about 20 would decide");
        assert_eq!(
            words(Need { ran: 1, need: u32::MAX }),
            "1 repeat ran; no number of repeats would decide"
        );
    }
}
