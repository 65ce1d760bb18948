//! The figures of an answer: workloads in rows if there are few choices, otherwise choices in rows.

use cryptbench_catalog::Presentation;
use cryptbench_catalog::{BUILTIN, Family};
use cryptbench_estimate::class::Class;
use cryptbench_estimate::cpu::Measure;
use cryptbench_estimate::device::moves_bytes;
use cryptbench_estimate::ranking::{Mean, judged, mean_kept};
use cryptbench_estimate::verdict::is_open;
use cryptbench_record::{Arm, Verdict, Workload};

use crate::answer::View;
use crate::kinds::{kind, kinds};
use crate::names::{capitalised, cipher, family};
use crate::opening::OpeningRow;
use crate::quantity::{self, fraction, headline};

/// With more choices than this, each choice is a row.
const MOST_COLUMNS: usize = 3;

/// With more workloads than this, each row is a kind of work.
const MOST_ROWS: usize = 10;

/// Maximum length of a name under the heading of the CPU time.
const LONGEST_CPU: usize = 10;

/// Maximum number of kinds of work in a row of choices.
const MOST_KINDS: usize = 4;

/// The content.
pub enum Figure<'a> {
    /// For few choices.
    Columns(Columns),
    /// For many choices.
    Ladder(Ladder<'a>),
    /// The figure of a run that opens volumes.
    Openings(Vec<OpeningRow>),
    /// Only plain storage, or nothing.
    Nothing,
}

/// One row per workload, or per kind of work.
pub struct Columns {
    /// The choices, the floor last.
    pub columns: Vec<Column>,
    /// In the order of [`in_order`].
    pub rows: Vec<Row>,
    /// The common part of all columns: `AES-256 alone`; empty if the columns are systems.
    pub title: Option<String>,
    /// Text columns before the choices, the most important first.
    pub before: Vec<Beside>,
    /// The columns after the choices; the last column is dropped first.
    pub behind: Vec<Beside>,
}

/// A column in addition to the choices.
pub struct Beside {
    /// Its heading, in lines.
    pub heading: String,
    /// One entry for each row; empty text if the row has no figure.
    pub fields: Vec<String>,
}

/// A choice, or the floor.
pub struct Column {
    /// Identifier of its arm.
    pub arm: String,
    /// Its name for users.
    pub name: String,
    /// The cipher, if it is the engine in this process.
    pub cipher: Option<String>,
    /// Whether the choice is the engine in this process, which cannot be installed.
    pub is_engine: bool,
    /// Whether no system was faster than this choice.
    pub is_floor: bool,
}

/// A workload or a kind of work.
pub struct Row {
    /// Its name for users.
    pub name: String,
    /// One for each column.
    pub values: Vec<Value>,
    /// The measured difference between plain storage and itself, as a fraction.
    pub noise: Option<f64>,
    /// Whether a new request size or operation starts with this row.
    pub begins: bool,
}

/// A share of plain speed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Value {
    /// The share of plain speed, if the share is known.
    pub kept: Option<Mean>,
    /// Its verdict.
    pub mark: Mark,
}

/// The verdict on a percentage of plain speed. A mark never contradicts its interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// Slower than plain.
    Slower,
    /// Faster than plain.
    Faster,
    /// Equivalent within the margin.
    Same,
    /// No loss was found, and the interval is narrow compared with plain storage's noise.
    NoLoss,
    /// The interval is too wide, or suggests a difference that is not proven.
    Undecided,
    /// The data came from a cache.
    Cached,
    /// The file system compressed the data, so the disk received less than was written.
    Compressed,
    /// Too few repeats.
    Unmeasured,
}

impl Mark {
    fn of(verdict: Option<&Verdict>) -> Self {
        match verdict {
            Some(verdict) if is_open(verdict) => Self::Undecided,
            Some(Verdict::Costs { .. }) => Self::Slower,
            Some(Verdict::Gains { .. }) => Self::Faster,
            Some(Verdict::Equivalent { .. }) => Self::Same,
            Some(Verdict::Cached) => Self::Cached,
            Some(Verdict::TooFewPairs) | None => Self::Unmeasured,
            Some(_) => Self::NoLoss,
        }
    }

    /// The character behind the figure.
    pub fn char(self) -> char {
        match self {
            Self::Slower => '▼',
            Self::Faster => '▲',
            Self::Same => '=',
            Self::Undecided => '?',
            Self::NoLoss | Self::Cached | Self::Compressed | Self::Unmeasured => ' ',
        }
    }

    /// The meaning of the mark; empty if the figure itself shows the meaning.
    pub fn words(self, margin: f64) -> String {
        match self {
            Self::Slower => "slower".to_owned(),
            Self::Faster => "faster".to_owned(),
            Self::Same => format!("within {}", fraction(margin)),
            Self::NoLoss => "no loss found".to_owned(),
            Self::Undecided => "undecided".to_owned(),
            Self::Cached => "served from a cache".to_owned(),
            Self::Compressed => "the file system compressed the data".to_owned(),
            Self::Unmeasured => "not measured".to_owned(),
        }
    }
}

/// One row per choice.
pub struct Ladder<'a> {
    /// Names of the kinds of work, in columns.
    pub kinds: Vec<String>,
    /// The choices, the fastest first.
    pub rungs: Vec<Rung<'a>>,
    /// The engine in this process, which is not ranked.
    pub floor: Option<Rung<'a>>,
    /// Whether no system was faster than the engine.
    pub is_floor: bool,
    /// Workloads that the mean covers.
    pub over: usize,
    /// Workloads in all.
    pub workloads: usize,
}

/// One choice.
pub struct Rung<'a> {
    /// The arm.
    pub arm: &'a Arm,
    /// Its name for users.
    pub name: String,
    /// The rank; `None` if the choice is not ranked, for the reason in `unranked`.
    pub place: Option<usize>,
    /// The family of its system.
    pub family: Family,
    /// Whether it should be avoided.
    pub avoid: bool,
    /// Mean over the workloads of the ranking.
    pub all: Option<Mean>,
    /// The mean for each kind of work; a kind that was served from a cache has no mean.
    pub kinds: Vec<Value>,
    /// CPU seconds per GiB, the mean over workloads that transfer data.
    pub cpu: Option<f64>,
    /// Why it has no rank.
    pub unranked: Option<Unranked>,
}

/// Why a choice has no rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unranked {
    /// The choice was served from a cache.
    Cached,
    /// A check of its data failed.
    Failed,
    /// Fewer than half of its workloads are decided, or were also measured for the other choices.
    Undecided,
}

impl Unranked {
    /// The reason in a word or two.
    pub fn words(self) -> &'static str {
        match self {
            Self::Cached => "cache",
            Self::Failed => "failed",
            Self::Undecided => "undecided",
        }
    }
}

/// The form of the figure for this number of choices.
pub(crate) fn figure<'a>(view: &View<'a, '_>) -> Figure<'a> {
    // CPU time is in the column of the floor.
    let shown = match view.lookup.record.plan.form() {
        Presentation::Server => view.cast.spoken().to_vec(),
        _ => view.cast.shown(),
    };
    match view.cast.spoken().len() {
        0 => Figure::Nothing,
        n if n <= MOST_COLUMNS => match columns(view, &shown) {
            // No trial was measured, so there is no speed to print.
            columns if columns.rows.is_empty() => Figure::Nothing,
            columns => Figure::Columns(columns),
        },
        _ => Figure::Ladder(ladder(view)),
    }
}

fn columns(view: &View<'_, '_>, arms: &[&Arm]) -> Columns {
    let lookup = view.lookup;
    let only_engines = view.cast.choices.is_empty();
    // Shows only the sector sizes if all columns have the same cipher.
    let ciphers: Vec<Option<String>> = arms.iter().map(|a| cipher(a)).collect();
    let common = only_engines && ciphers.windows(2).all(|pair| pair[0] == pair[1]);
    let title = match (common, ciphers.first()) {
        (true, Some(Some(cipher))) => Some(format!("{cipher} alone")),
        _ => None,
    };
    let name = |arm: &Arm| match (&title, arm.data_unit) {
        (Some(_), Some(unit)) => format!("{unit} B"),
        _ if arm.system == BUILTIN.name && !only_engines => {
            format!("{} alone", cipher(arm).unwrap_or_else(|| arm.label.clone()))
        }
        _ => view.names.arm(arm).to_owned(),
    };
    let column = |arm: &&Arm| {
        let is_engine = arm.system == BUILTIN.name;
        Column {
            arm: arm.id.clone(),
            name: name(arm),
            cipher: cipher(arm).filter(|_| is_engine),
            is_engine,
            is_floor: is_engine && view.cast.is_floor,
        }
    };
    let columns: Vec<Column> = arms.iter().map(column).collect();
    let cpu_arm = view.taken().or(arms.last().copied());
    let measured = |w: &&Workload| {
        lookup.arms().iter().any(|arm| lookup.cell(w, arm).is_some_and(|c| c.trials > 0))
    };
    let workloads: Vec<&Workload> = lookup.workloads().iter().filter(measured).collect();
    // Ordered by size, then by operation, each in the order of its first appearance in the profile.
    let workloads: Vec<&Workload> =
        sizes(&workloads).into_iter().flat_map(|(_, members)| members).collect();
    let is_by_kind = workloads.len() > MOST_ROWS;
    let rows = match is_by_kind {
        true => by_kind(view, arms, &workloads),
        false => by_workload(view, arms, &workloads),
    };
    // A kind of work combines workloads with different speeds, so its row has no plain speed.
    let plain = (!is_by_kind).then(|| plain_speed(view, &workloads)).flatten();
    let members: Vec<Vec<&Workload>> = match is_by_kind {
        true => sizes(&workloads).into_iter().map(|(_, members)| members).collect(),
        false => workloads.iter().map(|w| vec![*w]).collect(),
    };
    let choices = columns.iter().filter(|column| !column.is_engine).count();
    let name = |arm: &Arm| match (&title, arm.data_unit) {
        (Some(_), Some(unit)) => unit.to_string(),
        _ => name(arm),
    };
    let cpu = cpu_arm.and_then(|arm| cpu_time(view, &members, arm, (&name(arm), choices)));
    let (first, behind) = match lookup.record.plan.form() {
        Presentation::Server => (cpu, None),
        _ => (None, cpu),
    };
    let before = first.into_iter().chain(plain).collect();
    Columns { columns, rows, title, before, behind: behind.into_iter().collect() }
}

/// The speed of plain storage.
fn plain_speed(view: &View<'_, '_>, workloads: &[&Workload]) -> Option<Beside> {
    let speed = |w: &&Workload| {
        let plain = view.lookup.plain(w).filter(|c| c.trials > 0);
        plain.map_or_else(String::new, |c| headline(w, c))
    };
    let fields: Vec<String> = workloads.iter().map(speed).collect();
    let heading = "plain speed".to_owned();
    fields.iter().any(|f| !f.is_empty()).then_some(Beside { heading, fields })
}

/// CPU seconds per GiB for plain storage and an arm, for each row of workloads, and the arm's name unless it is too
/// long.
fn cpu_time(
    view: &View<'_, '_>,
    rows: &[Vec<&Workload>],
    arm: &Arm,
    (name, choices): (&str, usize),
) -> Option<Beside> {
    let of = match choices {
        _ if name.len() <= LONGEST_CPU => name,
        0 | 1 => "encrypted",
        _ => "fastest",
    };
    let field = |(plain, own): (f64, f64)| {
        let [plain, own] = [plain, own].map(quantity::cpu);
        format!("{plain} → {own}")
    };
    let times: Vec<Option<(f64, f64)>> = rows.iter().map(|row| cpu(view, row, Some(arm))).collect();
    times.iter().any(Option::is_some).then(|| Beside {
        heading: format!("CPU s/GiB\nplain → {of}"),
        fields: times.into_iter().map(|time| time.map_or_else(String::new, field)).collect(),
    })
}

fn by_workload(view: &View<'_, '_>, arms: &[&Arm], workloads: &[&Workload]) -> Vec<Row> {
    let lookup = view.lookup;
    let mut before: Option<String> = None;
    workloads
        .iter()
        .map(|w| {
            let plain = lookup.plain(w).filter(|c| c.trials > 0);
            let kind = kind(w);
            let begins = before.replace(kind.clone()).is_some_and(|before| before != kind);
            Row {
                name: view.names.workload(w).to_owned(),
                values: arms.iter().map(|arm| value(view, w, arm)).collect(),
                noise: plain.and_then(|c| c.noise_of_mean),
                begins,
            }
        })
        .collect()
}

fn by_kind(view: &View<'_, '_>, arms: &[&Arm], workloads: &[&Workload]) -> Vec<Row> {
    let row = |(name, members): (String, Vec<&Workload>)| Row {
        name: match members.len() {
            1 => capitalised(&name),
            n => format!("{} ({n})", capitalised(&name)),
        },
        values: arms.iter().map(|arm| of_kind(view, arm, &members)).collect(),
        noise: None,
        begins: false,
    };
    sizes(workloads).into_iter().map(row).collect()
}

/// A plan's workloads in the order of the answer: grouped by size, then by kind.
pub fn in_order(workloads: &[Workload]) -> Vec<&Workload> {
    let all: Vec<&Workload> = workloads.iter().collect();
    sizes(&all).into_iter().flat_map(|(_, members)| members).collect()
}

/// The kinds of these workloads, grouped by size.
fn sizes<'a>(workloads: &[&'a Workload]) -> Vec<(String, Vec<&'a Workload>)> {
    let mut kinds = kinds(workloads.iter().copied());
    let mut order: Vec<Class> = Vec::new();
    for w in workloads {
        if !order.contains(&Class::of(w)) {
            order.push(Class::of(w));
        }
    }
    let rank = |members: &[&Workload]| {
        members.first().and_then(|w| order.iter().position(|class| *class == Class::of(w)))
    };
    kinds.sort_by_key(|(_, members)| rank(members));
    kinds
}

/// The result of an arm in one workload.
pub(crate) fn value(view: &View<'_, '_>, workload: &Workload, arm: &Arm) -> Value {
    let cell = view.lookup.cell(workload, arm);
    let kept = cell.filter(|c| !c.cached).and_then(|c| c.kept);
    Value {
        kept: kept.map(|e| Mean { ratio: e.ratio, low: e.low, high: e.high }),
        mark: match Mark::of(cell.and_then(|c| c.verdict.as_ref())) {
            Mark::Cached if view.lookup.record.target.compresses(workload) => Mark::Compressed,
            mark => mark,
        },
    }
}

/// The combined result of an arm over several workloads. There is no mean if one of the workloads was served from a
/// cache, or if fewer than half of the workloads have figures.
pub(crate) fn of_kind(view: &View<'_, '_>, arm: &Arm, members: &[&Workload]) -> Value {
    let values: Vec<Value> = members.iter().map(|w| value(view, w, arm)).collect();
    let has = |mark: Mark| values.iter().any(|v| v.mark == mark);
    let estimated: Vec<&Workload> =
        members.iter().copied().filter(|w| judged(view.lookup, w, arm)).collect();
    let is_most = 2 * estimated.len() >= members.len();
    let plain_cached = |w: &&&Workload| view.lookup.plain(w).is_some_and(|c| c.cached);
    let all_cached = members.iter().filter(plain_cached).count();
    let is_cached = |v: &&Value| matches!(v.mark, Mark::Cached | Mark::Compressed);
    let cached = values.iter().filter(is_cached).count() > all_cached;
    let Some(kept) = mean_kept(view.lookup, arm, &estimated).filter(|_| !cached && is_most) else {
        let seen = [Mark::Cached, Mark::Compressed].into_iter().find(|mark| has(*mark));
        let mark = seen.unwrap_or(Mark::Unmeasured);
        return Value { kept: None, mark };
    };
    let excluded = kept.high < 1.0 || kept.low > 1.0;
    let mark = match () {
        () if kept.high < 1.0 && has(Mark::Slower) => Mark::Slower,
        () if kept.low > 1.0 && has(Mark::Faster) => Mark::Faster,
        () if excluded || has(Mark::Undecided) => Mark::Undecided,
        () if values.iter().all(|v| v.mark == Mark::Same) => Mark::Same,
        () => Mark::NoLoss,
    };
    Value { kept: Some(kept), mark }
}

/// CPU seconds per GiB for plain storage and an arm: the mean over the workloads that transfer data.
fn cpu(view: &View<'_, '_>, members: &[&Workload], arm: Option<&Arm>) -> Option<(f64, f64)> {
    let plain = cryptbench_estimate::arms::plain_arm(view.lookup.record)?;
    Some((mean_cpu(view, members, plain)?, mean_cpu(view, members, arm?)?))
}

pub(crate) fn mean_cpu(view: &View<'_, '_>, members: &[&Workload], arm: &Arm) -> Option<f64> {
    let measure = Measure::of(view.lookup.record);
    let all: Vec<f64> = members
        .iter()
        .filter(|w| moves_bytes(w))
        .filter_map(|w| view.lookup.cell(w, arm).filter(|c| c.trials > 0))
        .map(|c| measure.seconds_per_gib(c))
        .filter(|s| s.is_finite())
        .collect();
    cryptbench_stats::mean(&all)
}

fn ladder<'a>(view: &View<'a, '_>) -> Ladder<'a> {
    let lookup = view.lookup;
    let over: Vec<&Workload> = match &view.cast.ranking {
        Some(ranking) if !ranking.over.is_empty() => ranking.over.clone(),
        _ => lookup.record.plan.workloads.iter().collect(),
    };
    let mut kinds = kinds(lookup.record.plan.workloads.iter());
    kinds.truncate(MOST_KINDS);
    let rung = |arm: &'a Arm, place: Option<usize>, unranked: Option<Unranked>| Rung {
        name: view.names.arm(arm).to_owned(),
        place,
        family: family(arm),
        avoid: crate::avoid::is_avoided(view, arm),
        all: view.cast.mean(lookup, arm).filter(|_| unranked.is_none()),
        kinds: kinds.iter().map(|(_, members)| of_kind(view, arm, members)).collect(),
        cpu: mean_cpu(view, &over, arm),
        unranked,
        arm,
    };
    let mut rungs = Vec::new();
    if let Some(ranking) = &view.cast.ranking {
        rungs.extend(ranking.rows.iter().map(|row| rung(row.arm, Some(row.place), None)));
        let others = [
            (&ranking.cached, Unranked::Cached),
            (&ranking.failed, Unranked::Failed),
            (&ranking.left_out, Unranked::Undecided),
        ];
        for (arms, why) in others {
            rungs.extend(arms.iter().map(|arm| rung(arm, None, Some(why))));
        }
    } else {
        rungs.extend(view.cast.engines.iter().map(|arm| rung(arm, None, None)));
        let kept = |rung: &Rung<'_>| rung.all.map_or(0.0, |mean| mean.ratio);
        rungs.sort_by(|a, b| kept(b).total_cmp(&kept(a)));
    }
    let floor = view.cast.floor.filter(|_| view.cast.ranking.is_some());
    Ladder {
        kinds: kinds.iter().map(|(name, _)| name.clone()).collect(),
        rungs,
        floor: floor.map(|arm| rung(arm, None, None)),
        is_floor: view.cast.is_floor,
        over: over.len(),
        workloads: lookup.workloads().len(),
    }
}
