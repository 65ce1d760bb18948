//! The words and marks for verdicts, stop reasons and arms, which are the same in every format.

use cryptbench_estimate::cpu::Measure;
use cryptbench_estimate::verdict::TELLING_MARGIN_PERCENT;
use cryptbench_record::{ArmRole, Operation, Pattern, StopReason, Verdict, Workload};

use crate::quantity::{binary_bytes, count, percent, thousands};

/// The verdict in words that are clear outside a table, without a full stop.
pub fn verdict_words(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Costs { percent: p } => format!("slower by {}", percent(*p)),
        Verdict::Gains { percent: p } => format!("faster by {}", percent(*p)),
        Verdict::LikelyCosts { percent: p } => {
            format!("likely slower by {}, not proven", percent(*p))
        }
        Verdict::LikelyGains { percent: p } => {
            format!("likely faster by {}, not proven", percent(*p))
        }
        Verdict::Equivalent { within_percent } => {
            let weak = if *within_percent > TELLING_MARGIN_PERCENT { "only " } else { "" };
            format!("same {weak}within {}", percent(*within_percent))
        }
        Verdict::WithinNoise { noise_percent } => {
            format!("no loss found: below {} would hardly show", percent(*noise_percent))
        }
        Verdict::Inconclusive { more_pairs: u32::MAX } => "undecided".to_owned(),
        Verdict::Inconclusive { more_pairs } => {
            format!("undecided: needs about {} repeats", thousands(f64::from(*more_pairs)))
        }
        Verdict::Cached => "cached: no verdict".to_owned(),
        Verdict::TooFewPairs => "too few repeats".to_owned(),
    }
}

/// A verdict without its numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// Slower than plain.
    Costs,
    /// Faster than plain.
    Gains,
    /// Likely slower, not proven.
    LikelyCosts,
    /// Likely faster, not proven.
    LikelyGains,
    /// The same speed, within the margin.
    Equivalent,
    /// No loss found.
    WithinNoise,
    /// Undecided.
    Inconclusive,
    /// The data came from a cache.
    Cached,
    /// Too few repeats.
    TooFewPairs,
}

impl Sign {
    /// The sign of a verdict.
    pub fn of(verdict: &Verdict) -> Self {
        match verdict {
            Verdict::Costs { .. } => Self::Costs,
            Verdict::Gains { .. } => Self::Gains,
            Verdict::LikelyCosts { .. } => Self::LikelyCosts,
            Verdict::LikelyGains { .. } => Self::LikelyGains,
            Verdict::Equivalent { .. } => Self::Equivalent,
            Verdict::WithinNoise { .. } => Self::WithinNoise,
            Verdict::Inconclusive { .. } => Self::Inconclusive,
            Verdict::Cached => Self::Cached,
            Verdict::TooFewPairs => Self::TooFewPairs,
        }
    }

    /// One character that distinguishes verdicts without colour; tables explain the marks that they use.
    pub fn char(self) -> char {
        match self {
            Self::Costs => '▼',
            Self::Gains => '▲',
            Self::LikelyCosts => '▽',
            Self::LikelyGains => '△',
            Self::Equivalent => '=',
            Self::WithinNoise => '~',
            Self::Inconclusive => '?',
            Self::Cached => 'c',
            Self::TooFewPairs => '·',
        }
    }

    /// Whether the mark distinguishes cells even if many cells are close together.
    pub fn is_telling(self) -> bool {
        matches!(self, Self::Costs | Self::Gains | Self::Cached)
    }
}

/// The character of a verdict.
pub fn verdict_mark(verdict: &Verdict) -> char {
    Sign::of(verdict).char()
}

/// The marks of [`verdict_mark`] and their meaning, in the order of a legend.
pub const LEGEND: [(char, &str); 9] = [
    ('▼', "slower"),
    ('▲', "faster"),
    ('▽', "likely slower"),
    ('△', "likely faster"),
    ('=', "same as plain, within the margin"),
    ('~', "no loss found"),
    ('?', "undecided: the interval is too wide"),
    ('c', "served from a cache"),
    ('·', "too few repeats"),
];

/// Identifier of a verdict for style sheets.
pub fn verdict_class(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::WithinNoise { .. } => "noise",
        Verdict::TooFewPairs => "few",
        other => other.word(),
    }
}

/// Why a workload stopped, to follow "ended".
pub fn stop_words(reason: StopReason) -> &'static str {
    match reason {
        StopReason::Precision => "when precise enough",
        StopReason::PairCap => "at the maximum number of repeats",
        StopReason::Budget => "at the end of the time budget",
        StopReason::Interrupted => "by interruption",
    }
}

/// The role of an arm in a comparison.
pub fn role_words(role: ArmRole) -> &'static str {
    match role {
        ArmRole::Plain => "plain storage, the baseline",
        ArmRole::PlainAgain => "plain storage, repeated: how far plain differs from itself",
        ArmRole::NullLayer => "pass-through: the same path without the cipher",
        ArmRole::Encrypted => "encrypted storage",
    }
}

/// The scope of a CPU time figure.
pub fn measure_words(measure: Measure) -> &'static str {
    match measure {
        Measure::Process => "CPU time of the measuring process, in which the ciphers run",
        Measure::Attributed => {
            "CPU time of the load, the systems' helper programs and the kernel's threads"
        }
        Measure::Machine => "busy time of the whole machine minus its idle baseline",
    }
}

/// Names joined as in a sentence: `a`, `a and b`, `a, b and c`; names beyond the first `most` are only counted.
pub fn list(names: &[&str], most: usize) -> String {
    match names {
        [] => String::new(),
        [one] => (*one).to_owned(),
        many => {
            // Many names contain a comma.
            let between = if many.iter().any(|name| name.contains(", ")) { "; " } else { ", " };
            if many.len() > most {
                return format!("{} and {} more", many[..most].join(between), many.len() - most);
            }
            let (last, rest) = many.split_last().expect("two or more names");
            format!("{} and {last}", rest.join(between))
        }
    }
}

/// Special properties of a workload other than direction, pattern, size and depth: files, flushes, content and caches;
/// empty for most workloads.
pub fn particulars(w: &Workload) -> String {
    let mut parts: Vec<String> = Vec::new();
    if let Some(files) = w.files {
        let size = binary_bytes(w.block_size);
        parts.push(format!("{}, {size} on average", count(files as usize, "file", "files")));
    }
    if let Some(percent) = w.read_percent {
        parts.push(format!("{percent} % reads"));
    }
    if let Some(threads) = w.threads.filter(|n| *n > 1) {
        parts.push(format!("{threads} threads"));
    }
    if w.fresh_file {
        parts.push("a new file for each trial".to_owned());
    }
    parts.extend(w.flush.as_deref().map(flush_words));
    if let Some(content) = &w.content {
        parts.push(content.clone());
    }
    if w.stdio {
        parts.push("through a stdio buffer".to_owned());
    }
    if w.warm_cache {
        parts.push("page cache as earlier trials left it".to_owned());
    }
    parts.join(", ")
}

fn flush_words(flush: &str) -> String {
    match (flush, flush.strip_prefix("every ")) {
        ("each-write", _) => "each write completes on stable storage".to_owned(),
        ("at-end", _) => "flushed within the measured time".to_owned(),
        (_, Some(n)) => format!("flushed after every {n} writes"),
        (other, None) => format!("flush {other}"),
    }
}

/// Pattern and direction: `random read`, `write of one block again and again`.
fn access_words(w: &Workload) -> String {
    let direction = match &w.operation {
        Operation::Mixed => "reads and writes",
        other => other.as_str(),
    };
    match &w.pattern {
        Pattern::Same => format!("repeated {direction} of one block"),
        Pattern::Sampled => format!("{direction} of runs of blocks at evenly spread offsets"),
        Pattern::Permutation => {
            format!("random {direction}, each block once before any block repeats")
        }
        pattern => format!("{pattern} {direction}"),
    }
}

/// The operation of a workload, in words: `random read, 4 KiB, 32 in flight, 16 threads`.
pub fn workload_words(w: &Workload) -> String {
    let mut parts = vec![match (w.files, &w.operation) {
        (Some(_), action) => format!("{action} small files"),
        (None, Operation::Unlock) => "open a volume and read its first block".to_owned(),
        (None, _) => format!(
            "{}, {}, {} in flight",
            access_words(w),
            binary_bytes(w.block_size),
            w.queue_depth
        ),
    }];
    if let Some(bytes) = w.file_bytes {
        parts.push(format!("file of {}", binary_bytes(bytes)));
    }
    let more = particulars(w);
    if !more.is_empty() {
        parts.push(more);
    }
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_a_workload_say_what_is_particular_about_it() {
        let workload = Workload {
            operation: Operation::Write,
            pattern: Pattern::Random,
            block_size: 4096,
            queue_depth: 32,
            threads: Some(16),
            ..Workload::default()
        };
        assert_eq!(workload_words(&workload), "random write, 4 KiB, 32 in flight, 16 threads");
        let again = Workload { pattern: Pattern::Same, threads: None, ..workload.clone() };
        assert_eq!(workload_words(&again), "repeated write of one block, 4 KiB, 32 in flight");
        let copy = Workload {
            pattern: Pattern::Sequential,
            queue_depth: 1,
            threads: None,
            fresh_file: true,
            flush: Some("at-end".to_owned()),
            content: Some("zeros".to_owned()),
            file_bytes: Some(128 << 20),
            ..workload
        };
        assert_eq!(
            workload_words(&copy),
            "sequential write, 4 KiB, 1 in flight, file of 128 MiB, a new file for each trial, flushed within the \
             measured time, zeros"
        );
        assert_eq!(particulars(&Workload::default()), "");
        assert_eq!(flush_words("every 32"), "flushed after every 32 writes");
    }
}
