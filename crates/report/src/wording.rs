//! The words and marks for verdicts, stop reasons and arms, the same in every format.

use cryptbench_record::{Arm, ArmRole, StopReason, Verdict};

use crate::quantity::{percent, thousands};

/// Above this margin "equivalent" says more about the noise of the disk than about encryption.
pub(crate) const TELLING_MARGIN_PERCENT: f64 = 10.0;

/// The verdict in words that need no table around them, without a full stop.
pub fn verdict_words(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Costs { percent: p } => format!("costs {}", percent(*p)),
        Verdict::Gains { percent: p } => format!("gains {}", percent(*p)),
        Verdict::Equivalent { within_percent } => {
            let weak = if *within_percent > TELLING_MARGIN_PERCENT { "only " } else { "" };
            format!("equivalent {weak}within {}", percent(*within_percent))
        }
        Verdict::WithinNoise { noise_percent } => {
            format!("within the noise of {}", percent(*noise_percent))
        }
        Verdict::Inconclusive { more_pairs: u32::MAX } => "inconclusive".to_owned(),
        Verdict::Inconclusive { more_pairs } => {
            format!("inconclusive: needs about {} pairs", thousands(f64::from(*more_pairs)))
        }
        Verdict::Cached => "cached: no verdict".to_owned(),
        Verdict::TooFewPairs => "too few pairs".to_owned(),
    }
}

/// One character that tells verdicts apart without colour; tables explain those they use.
pub fn verdict_mark(verdict: &Verdict) -> char {
    match verdict {
        Verdict::Costs { .. } => '▼',
        Verdict::Gains { .. } => '▲',
        Verdict::Equivalent { .. } => '=',
        Verdict::WithinNoise { .. } => '~',
        Verdict::Inconclusive { .. } => '?',
        Verdict::Cached => 'c',
        Verdict::TooFewPairs => '·',
    }
}

/// The marks of [`verdict_mark`] and what they mean, in the order in which a legend lists them.
pub(crate) const LEGEND: [(char, &str); 7] = [
    ('▼', "costs speed"),
    ('▲', "gains speed"),
    ('=', "equivalent to plain"),
    ('~', "within the noise"),
    ('?', "inconclusive"),
    ('c', "answered from a cache"),
    ('·', "too few pairs"),
];

/// Identifier of a verdict for style sheets.
pub(crate) fn verdict_class(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Costs { .. } => "costs",
        Verdict::Gains { .. } => "gains",
        Verdict::Equivalent { .. } => "equivalent",
        Verdict::WithinNoise { .. } => "noise",
        Verdict::Inconclusive { .. } => "inconclusive",
        Verdict::Cached => "cached",
        Verdict::TooFewPairs => "few",
    }
}

/// Why a workload ended, to follow "ended".
pub(crate) fn stop_words(reason: StopReason) -> &'static str {
    match reason {
        StopReason::Precision => "precise enough",
        StopReason::PairCap => "at the pair cap",
        StopReason::Budget => "at the end of the time budget",
        StopReason::Interrupted => "by interruption",
    }
}

/// What an arm is compared as.
pub(crate) fn role_words(role: ArmRole) -> &'static str {
    match role {
        ArmRole::Plain => "plain storage, the baseline",
        ArmRole::PlainAgain => "plain storage again, for the noise floor",
        ArmRole::NullLayer => "the layer without its cipher",
        ArmRole::Encrypted => "encrypted storage",
    }
}

/// Names joined as in a sentence: `a`, `a and b`, `a, b and c`; beyond `most`, the rest is counted.
pub(crate) fn list(names: &[&str], most: usize) -> String {
    match names {
        [] => String::new(),
        [one] => (*one).to_owned(),
        many if many.len() > most => {
            format!("{} and {} more", many[..most].join(", "), many.len() - most)
        }
        many => {
            let (last, rest) = many.split_last().expect("two or more names");
            format!("{} and {last}", rest.join(", "))
        }
    }
}

/// The arms that tables and charts compare: every arm but plain itself and its repetition.
pub(crate) fn compared(arms: &[Arm]) -> Vec<&Arm> {
    arms.iter().filter(|a| !matches!(a.role, ArmRole::Plain | ArmRole::PlainAgain)).collect()
}

/// The arms whose bars and percentiles are drawn: all but the repetition of plain.
pub(crate) fn drawn(arms: &[Arm]) -> Vec<&Arm> {
    arms.iter().filter(|a| a.role != ArmRole::PlainAgain).collect()
}
