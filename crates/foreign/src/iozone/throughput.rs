//! Throughput mode (`-t`): the total of all processes, per operation.

use cryptbench_catalog::Pattern;

use crate::cell::Key;
use crate::error::Fault;
use crate::number::positive;
use crate::read::Observation;

/// iozone's words for its processes, each with the operation and pattern in the profile `iozone`.
const WORKERS: [(&str, &str, Pattern); 13] = [
    ("initial writers", "write", Pattern::Sequential),
    ("rewriters", "rewrite", Pattern::Sequential),
    ("readers", "read", Pattern::Sequential),
    ("re-readers", "reread", Pattern::Sequential),
    ("reverse readers", "backward-read", Pattern::Backward),
    ("stride readers", "stride-read", Pattern::Strided),
    ("random readers", "random-read", Pattern::Permutation),
    ("mixed workload", "mixed", Pattern::Permutation),
    ("random writers", "random-write", Pattern::Permutation),
    ("fwriters", "fwrite", Pattern::Sequential),
    ("freaders", "fread", Pattern::Sequential),
    ("pwrite writers", "pwrite", Pattern::Sequential),
    ("pread readers", "pread", Pattern::Sequential),
];

const START: &str = "Children see throughput for";

pub(super) fn parse(text: &str) -> Result<Vec<Observation>, Fault> {
    let sizes = text.lines().find_map(sizes);
    let rows = text.lines().enumerate().filter(|(_, l)| l.trim_start().starts_with(START));
    rows.map(|(index, line)| {
        let fault = |reason: &str| Fault::line(index + 1, reason, line);
        let wanted = "expected `Children see throughput for N ... = SPEED kB/sec`";
        let rest = line.trim_start()[START.len()..].trim();
        let (work, speed) = rest.split_once('=').ok_or_else(|| fault(wanted))?;
        let (threads, workers) =
            work.trim().split_once(char::is_whitespace).ok_or_else(|| fault(wanted))?;
        let threads: u32 = threads.parse().map_err(|_| fault(wanted))?;
        let (_, operation, pattern) = WORKERS
            .iter()
            .find(|(name, ..)| *name == workers.trim())
            .ok_or_else(|| fault("an unknown operation"))?;
        let mut words = speed.split_whitespace();
        let value = words.next().and_then(|w| w.parse().ok()).and_then(positive);
        let value = value.ok_or_else(|| fault("expected a speed above 0"))?;
        let unit = words.next().unwrap_or("").to_ascii_lowercase();
        let kib = ["kb/sec", "kbytes/sec"].contains(&unit.as_str());
        let (file_size, block_size) = sizes.map_or((None, None), |(f, b)| (Some(f), Some(b)));
        let bandwidth = kib.then_some(value * 1024.0);
        let iops = match (kib, block_size) {
            (false, _) if unit == "ops/sec" => Some(value),
            (false, _) => return Err(fault("expected kB/sec or ops/sec")),
            (true, block) => block.map(|b| value * 1024.0 / b as f64),
        };
        Ok(Observation {
            key: Key {
                pattern: pattern.as_str().into(),
                operation: (*operation).into(),
                file_size,
                block_size,
                queue_depth: Some(1),
                threads: Some(threads),
                ..Key::default()
            },
            bandwidth,
            iops,
            line: Some(index + 1),
            ..Observation::default()
        })
    })
    .collect()
}

/// Parses `Each process writes a 1024 kByte file in 4 kByte records` into bytes.
fn sizes(line: &str) -> Option<(u64, u64)> {
    let rest = line.trim().strip_prefix("Each process writes a ")?;
    let mut numbers = rest.split_whitespace().filter_map(|w| w.parse::<u64>().ok());
    Some((numbers.next()?.checked_mul(1024)?, numbers.next()?.checked_mul(1024)?))
}
