//! Reasons why a machine may differ from the other machines of its kind: the differences between their records.

use std::collections::BTreeMap;

use crate::Facts;

/// A machine is reported if, before the run, it was busier than usual by more than this value.
const BUSIER: f64 = 0.05;

/// A CPU is slow if its frequency is below this share of the usual frequency.
const SLOW: f64 = 0.85;

/// Steal time of at least this share is reported as a possible reason.
const STOLEN: f64 = 0.01;

/// The most frequent values in a group.
#[derive(Debug)]
pub(crate) struct Usual {
    features: Vec<String>,
    texts: [String; TEXTS.len()],
    busy_before: f64,
    frequency_mhz: Option<f64>,
    stolen_fraction: f64,
}

/// Values that are compared as text, with their names for use in a sentence.
type Text = (&'static str, fn(&Facts) -> &str);

const TEXTS: [Text; 6] = [
    ("kernel", |f| &f.kernel),
    ("I/O engine", |f| &f.engine),
    ("file system", |f| &f.filesystem),
    ("I/O scheduler", |f| &f.scheduler),
    ("write cache", |f| &f.write_cache),
    ("machine", |f| f.virtualisation.as_deref().unwrap_or("hardware")),
];

impl Usual {
    pub(crate) fn of<'a>(all: impl Iterator<Item = &'a Facts>) -> Self {
        let all: Vec<&Facts> = all.collect();
        let mut features: BTreeMap<&str, usize> = BTreeMap::new();
        for feature in all.iter().flat_map(|f| &f.cpu_features) {
            *features.entry(feature).or_default() += 1;
        }
        let in_most = features.into_iter().filter(|(_, n)| 2 * n > all.len());
        Self {
            features: in_most.map(|(name, _)| name.to_owned()).collect(),
            texts: TEXTS.map(|(_, of)| most_frequent(all.iter().map(|f| of(f)))),
            busy_before: middle(all.iter().map(|f| f.busy_before)).unwrap_or(0.0),
            frequency_mhz: middle(all.iter().filter_map(|f| f.frequency_mhz)),
            stolen_fraction: middle(all.iter().filter_map(|f| f.stolen_fraction)).unwrap_or(0.0),
        }
    }
}

/// The differences between a machine and the other machines, including the cipher driver, with the most informative
/// first.
pub(crate) fn reasons(facts: &Facts, (own, others): (&str, &str), usual: &Usual) -> Vec<String> {
    let mut found = Vec::new();
    let lacks = |name: &str| !facts.cpu_features.iter().any(|f| f == name);
    let lacking: Vec<&str> =
        usual.features.iter().map(String::as_str).filter(|name| lacks(name)).collect();
    if lacking.contains(&"aes") {
        found.push("its CPU has no AES instructions, or they are disabled".to_owned());
    } else if !lacking.is_empty() {
        found.push(format!("its CPU lacks {}", lacking.join(", ")));
    }
    if own != others && !own.is_empty() && !others.is_empty() {
        found.push(format!("its cipher driver is {own}, theirs {others}"));
    }
    if let (Some(own), Some(usual)) = (facts.frequency_mhz, usual.frequency_mhz)
        && own < SLOW * usual
    {
        found.push(format!("its CPU ran at {own:.0} MHz, theirs at {usual:.0}"));
    }
    if facts.busy_before > usual.busy_before + BUSIER {
        let busy = 100.0 * facts.busy_before;
        found.push(format!("other work kept {busy:.0} % of its CPU busy before the run"));
    }
    let stolen = facts.stolen_fraction.unwrap_or(0.0);
    if stolen > usual.stolen_fraction + STOLEN {
        found.push(format!("its hypervisor stole {:.0} % of CPU time", 100.0 * stolen));
    }
    for ((name, of), usual) in TEXTS.iter().zip(&usual.texts) {
        let own = of(facts);
        if own != usual && !own.is_empty() && !usual.is_empty() {
            found.push(format!("its {name} is {own}, theirs {usual}"));
        }
    }
    found
}

fn most_frequent<'a>(values: impl Iterator<Item = &'a str>) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for value in values {
        *counts.entry(value).or_default() += 1;
    }
    counts.into_iter().max_by_key(|(_, n)| *n).map(|(v, _)| v.to_owned()).unwrap_or_default()
}

fn middle(values: impl Iterator<Item = f64>) -> Option<f64> {
    let values: Vec<f64> = values.collect();
    cryptbench_stats::median(&values)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine() -> Facts {
        Facts {
            cpu_features: ["aes", "avx2", "vaes"].map(str::to_owned).into(),
            kernel: "Linux 6.12".to_owned(),
            engine: "io_uring, direct I/O".to_owned(),
            frequency_mhz: Some(3000.0),
            busy_before: 0.01,
            stolen_fraction: Some(0.0),
            ..Facts::default()
        }
    }

    #[test]
    fn a_machine_like_the_others_has_no_reason() {
        let all = vec![machine(); 7];
        assert!(reasons(&machine(), ("aesni", "aesni"), &Usual::of(all.iter())).is_empty());
    }

    #[test]
    fn what_is_missing_comes_before_what_is_merely_different() {
        let mut odd = machine();
        odd.cpu_features.retain(|f| f != "aes");
        odd.frequency_mhz = Some(1200.0);
        odd.busy_before = 0.4;
        odd.stolen_fraction = Some(0.2);
        odd.kernel = "Linux 6.1".to_owned();
        let mut all = vec![machine(); 7];
        all.push(odd.clone());
        let found = reasons(&odd, ("aes-generic", "aesni"), &Usual::of(all.iter()));
        let expected = [
            "its CPU has no AES instructions, or they are disabled",
            "its cipher driver is aes-generic, theirs aesni",
            "its CPU ran at 1200 MHz, theirs at 3000",
            "other work kept 40 % of its CPU busy before the run",
            "its hypervisor stole 20 % of CPU time",
            "its kernel is Linux 6.1, theirs Linux 6.12",
        ];
        assert_eq!(found, expected);
    }
}
