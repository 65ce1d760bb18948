//! The text that HD Tune's benchmark copies to the clipboard.
//!
//! Its lines are `HD Tune: MODEL Benchmark`, `Transfer Rate Minimum : 1.0 MB/sec`, likewise `Maximum` and `Average`,
//! `Access Time : 0.4 ms`, `Burst Rate : 196.7 MB/sec` and `CPU Usage : 27.2%`, as quoted in notes and forums (for
//! example by Quantum-Byte for a Samsung 840 EVO with HD Tune 2.55). HD Tune Pro writes `MB/s`, and precedes the
//! figures with `Test capacity: full` and `Read transfer rate` or `Write transfer rate`. MB is assumed to mean 10⁶
//! bytes. The keys are those of the profile `hdtune`: the surface in 64 KiB blocks, the access time of random
//! requests of 512 B, and the burst rate.

use cryptbench_catalog::Pattern;

use crate::cell::Key;
use crate::error::Fault;
use crate::number::{decimal, positive};
use crate::read::{Found, Observation};

const BLOCK: u64 = 64 << 10;

/// Whether the text is a report from HD Tune.
pub(crate) fn is_report(text: &str) -> bool {
    text.contains("HD Tune") && text.lines().any(|l| value(l).is_some_and(|(n, _)| is_rate(n)))
}

pub(crate) fn parse(text: &str) -> Result<Found, Fault> {
    let mut found = Found::default();
    let mut operation = "read";
    for (index, raw) in text.lines().enumerate() {
        let line = raw.trim().trim_start_matches('>').trim();
        let fault = |reason: &str| Fault::line(index + 1, reason, line);
        if line.is_empty() || line.contains("HD Tune") || line.starts_with("--") {
            continue;
        }
        if let Some(told) =
            ["Read", "Write"].into_iter().find(|o| line == format!("{o} transfer rate"))
        {
            operation = if told == "Read" { "read" } else { "write" };
            continue;
        }
        let Some((name, text)) = value(line) else {
            return Err(fault(
                "expected a line of HD Tune's benchmark, such as `Burst Rate : 92.4 MB/sec`",
            ));
        };
        let number = |unit: &str| {
            let digits = text.strip_suffix(unit).map(str::trim);
            digits.and_then(decimal).ok_or_else(|| fault(&format!("expected a number and {unit}")))
        };
        let rate = || {
            let unit = if text.ends_with("/s") { "MB/s" } else { "MB/sec" };
            number(unit).map(|rate| positive(rate * 1e6))
        };
        let key = |pattern: Pattern, block: u64, name: Option<&str>| Key {
            pattern: pattern.as_str().to_owned(),
            operation: operation.to_owned(),
            block_size: Some(block),
            queue_depth: Some(1),
            threads: Some(1),
            name: name.map(str::to_owned),
            ..Key::default()
        };
        let mut observation = Observation { line: Some(index + 1), ..Observation::default() };
        match name {
            "Transfer Rate Minimum" | "Transfer Rate Maximum" | "Transfer Rate Average" => {
                let of = match name {
                    "Transfer Rate Minimum" => Some("minimum"),
                    "Transfer Rate Maximum" => Some("maximum"),
                    _ => None,
                };
                observation.key = key(Pattern::Sampled, BLOCK, of);
                observation.bandwidth = rate()?;
            }
            "Burst Rate" => {
                observation.key = key(Pattern::Same, BLOCK, None);
                observation.bandwidth = rate()?;
            }
            "Access Time" => {
                observation.key = key(Pattern::Random, 512, None);
                observation.latency_us = positive(number("ms")? * 1e3);
            }
            "CPU Usage" => {
                let percent = number("%")?;
                found.remarks.push(format!(
                    "line {}: CPU usage {percent} %, which is not compared",
                    index + 1
                ));
                continue;
            }
            "Test capacity" if text == "full" => continue,
            "Test capacity" => {
                found.remarks.push(format!("line {}: only a part of the disk: {text}", index + 1));
                continue;
            }
            _ => return Err(fault("is not a figure of HD Tune's benchmark")),
        }
        if observation.bandwidth.is_none() && observation.latency_us.is_none() {
            let remark = format!("line {}: {name} of 0, left out", index + 1);
            found.remarks.push(remark);
            continue;
        }
        found.observations.push(observation);
    }
    Ok(found)
}

fn value(line: &str) -> Option<(&str, &str)> {
    let (name, text) = line.trim().trim_start_matches('>').split_once(':')?;
    Some((name.trim(), text.trim()))
}

fn is_rate(name: &str) -> bool {
    name.starts_with("Transfer Rate ")
}
