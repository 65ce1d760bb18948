//! fio's JSON (`--output-format=json` and `json+`), including the text that fio prints around it.
//!
//! The fields are those of fio 2 and 3. fio 3 has `bw_bytes` and latencies in nanoseconds
//! (`lat_ns`, `clat_ns`); fio 2 has `bw` in KiB/s and latencies in microseconds (fio's HOWTO,
//! section "JSON output").

use cryptbench_catalog::Pattern;
use cryptbench_record::limits::{Counter, Limits};
use serde_json::Value;

use crate::cell::Key;
use crate::error::Fault;
use crate::number::{positive, size};
use crate::read::{Found, Observation};

/// The most that fio's JSON may hold. Latency histograms (json+) have up to 1,900 values a direction of a job.
const LIMITS: Limits = Limits {
    values: 4_000_000,
    texts: 1_000_000,
    text_bytes: 1 << 20,
    list: 10_000,
    long_lists: &[],
    free_maps: &[],
};

pub(crate) fn parse(text: &str) -> Result<Found, Fault> {
    let mut found = Found::default();
    let documents = documents(text)?;
    let finals = finals(&documents);
    let interim = documents.len() - finals.len();
    if interim > 0 {
        found.remarks.push(format!(
            "{interim} interim reports (--status-interval) left out: the last has their requests as well"
        ));
    }
    for (line, document) in finals {
        found.observations.extend(jobs(*line, document)?);
    }
    Ok(found)
}

/// Every JSON object that starts at the beginning of a line, with its line number.
fn documents(text: &str) -> Result<Vec<(usize, Value)>, Fault> {
    let mut found = Vec::new();
    let mut counter = Counter::new(LIMITS);
    let (mut at, mut line) = (0, 1);
    while let Some(start) = next_object(text, at) {
        line += text[at..start].matches('\n').count();
        let too_large = |what| {
            format!(
                "the JSON that begins in line {line} is refused: {what}, which exceeds every run of fio"
            )
        };
        counter.add(&text[start..]).map_err(too_large).map_err(Fault::file)?;
        let mut stream = serde_json::Deserializer::from_str(&text[start..]).into_iter::<Value>();
        match stream.next() {
            Some(Ok(document)) => {
                at = start + stream.byte_offset();
                let begun = line;
                line += text[start..at].matches('\n').count();
                found.push((begun, document));
            }
            Some(Err(e)) => {
                let bad = line + e.line().saturating_sub(1);
                let shown = text.lines().nth(bad - 1).unwrap_or("");
                return Err(Fault::line(
                    bad,
                    format!("the JSON that begins in line {line} is broken: {e}"),
                    shown,
                ));
            }
            None => break,
        }
    }
    found.retain(|(_, document)| document.get("fio version").is_some());
    Ok(found)
}

fn next_object(text: &str, from: usize) -> Option<usize> {
    if from == 0 && text.starts_with('{') {
        return Some(0);
    }
    text[from..].find("\n{").map(|i| from + i + 1)
}

/// The documents that no later one repeats. With `--status-interval` fio prints the same document
/// repeatedly: its start time stays the same and its byte count never falls.
fn finals(documents: &[(usize, Value)]) -> Vec<&(usize, Value)> {
    let bytes = |d: &Value| -> f64 { each_direction(d).map(|x| number(x, "io_bytes")).sum() };
    let runtime = |d: &Value| -> f64 { each_direction(d).map(|x| number(x, "runtime")).sum() };
    let start = |d: &Value| {
        let elapsed =
            d["jobs"].as_array().and_then(|j| j.first()).map_or(0.0, |j| number(j, "elapsed"));
        number(d, "timestamp") - elapsed
    };
    let is_interim = |pair: &[(usize, Value)]| {
        let (this, next) = (&pair[0].1, &pair[1].1);
        let again = bytes(this) == bytes(next) && runtime(this) == runtime(next);
        (start(this) - start(next)).abs() <= 2.0 && (bytes(this) < bytes(next) || again)
    };
    let keep = documents.windows(2).map(|pair| !is_interim(pair)).chain([true]);
    documents.iter().zip(keep).filter(|(_, keep)| *keep).map(|(d, _)| d).collect()
}

fn each_direction(document: &Value) -> impl Iterator<Item = &Value> {
    let jobs = document["jobs"].as_array().into_iter().flatten();
    jobs.flat_map(|job| DIRECTIONS.iter().map(move |(name, _)| &job[*name]))
}

/// Names of the parts of a job's result, and the index of each in `bs=a,b,c`.
const DIRECTIONS: [(&str, usize); 3] = [("read", 0), ("write", 1), ("trim", 2)];

fn jobs(line: usize, document: &Value) -> Result<Vec<Observation>, Fault> {
    let fault = |reason: String| Fault::line(line, reason, "fio's JSON");
    let Some(jobs) = document["jobs"].as_array() else {
        let reason =
            "has no `jobs`; in fio's client and server mode, take the results of each client";
        return Err(fault(reason.into()));
    };
    let mut clones: Vec<(Clone<'_>, Vec<Observation>)> = Vec::new();
    for job in jobs {
        let name = job["jobname"].as_str().unwrap_or("");
        if number(job, "error") != 0.0 {
            return Err(fault(format!("job {name:?} ended with error {}", job["error"])));
        }
        let found = job_results(job, &document["global options"])
            .map_err(|reason| fault(format!("job {name:?}: {reason}")))?;
        let same = Clone { name, group: &job["groupid"], options: &job["job options"] };
        let numbered = option(job, &document["global options"], &["numjobs"]).is_some();
        match clones.iter_mut().find(|(c, _)| numbered && *c == same) {
            Some((_, sum)) => add(sum, found),
            None => clones.push((same, found)),
        }
    }
    Ok(clones.into_iter().flat_map(|(_, found)| found).collect())
}

/// Properties shared by the processes of one job (`numjobs=`).
#[derive(PartialEq)]
struct Clone<'a> {
    name: &'a str,
    group: &'a Value,
    options: &'a Value,
}

/// Adds results of one job's processes, which run at the same time: speeds add up, and latencies
/// are averaged by requests.
fn add(sum: &mut [Observation], more: Vec<Observation>) {
    for (sum, more) in sum.iter_mut().zip(more) {
        let both = |a: Option<f64>, b: Option<f64>| Some(a? + b?);
        let (old, new) = (sum.iops.unwrap_or(0.0), more.iops.unwrap_or(0.0));
        sum.latency_us = match (sum.latency_us, more.latency_us) {
            (Some(a), Some(b)) if old + new > 0.0 => Some((a * old + b * new) / (old + new)),
            _ => None,
        };
        sum.bandwidth = both(sum.bandwidth, more.bandwidth);
        sum.iops = both(sum.iops, more.iops);
    }
}

fn job_results(job: &Value, global: &Value) -> Result<Vec<Observation>, String> {
    let kind = option(job, global, &["rw", "readwrite"]).unwrap_or("read");
    let kind = kind.split(':').next().unwrap_or(kind);
    let pattern = if kind.starts_with("rand") { Pattern::Random } else { Pattern::Sequential };
    let mixed = matches!(kind, "rw" | "readwrite" | "randrw");
    let read_percent = mixed.then(|| {
        let given = |names: &[&str]| option(job, global, names).and_then(|v| v.parse::<u8>().ok());
        given(&["rwmixread"])
            .or_else(|| given(&["rwmixwrite"]).map(|w| 100 - w.min(100)))
            .unwrap_or(50)
    });
    let varied = ["bsrange", "blocksize_range", "bssplit"];
    let sizes: Vec<&str> = match option(job, global, &varied) {
        Some(_) => Vec::new(),
        None => option(job, global, &["bs", "blocksize"]).unwrap_or("4k").split(',').collect(),
    };
    let threads = match option(job, global, &["numjobs"]) {
        Some(text) => text.parse().map_err(|_| format!("numjobs={text} is not understood"))?,
        None => 1,
    };
    // Engines that wait for each request have one in flight, regardless of their options.
    let one = number(&job["iodepth_level"], "1") >= 99.0;
    let queue_depth = match option(job, global, &["iodepth"]) {
        Some(text) if !one => {
            text.parse().map_err(|_| format!("iodepth={text} is not understood"))?
        }
        _ => 1,
    };
    let mut found = Vec::new();
    for (direction, place) in DIRECTIONS {
        let part = &job[direction];
        if number(part, "total_ios") == 0.0 && number(part, "io_bytes") == 0.0 {
            continue;
        }
        // Missing sizes default to that of reads.
        let text = sizes.get(place).filter(|s| !s.is_empty()).or(sizes.first());
        let block_size = match text {
            Some(text) => Some(size(text).ok_or_else(|| format!("bs={text} is not understood"))?),
            None => None,
        };
        let bandwidth =
            positive(number(part, "bw_bytes")).or_else(|| positive(1024.0 * number(part, "bw")));
        found.push(Observation {
            key: Key {
                pattern: pattern.name().into(),
                operation: if mixed { format!("mixed {direction}") } else { direction.into() },
                block_size,
                queue_depth: Some(queue_depth),
                threads: Some(threads),
                read_percent,
                ..Key::default()
            },
            name: job["jobname"].as_str().map(str::to_owned),
            bandwidth: Some(bandwidth.ok_or("moved bytes in no time that fio could tell")?),
            iops: positive(number(part, "iops")),
            latency_us: latency(part),
            line: None,
        });
    }
    if found.is_empty() {
        return Err("moved nothing".into());
    }
    Ok(found)
}

/// Mean microseconds from submission to completion, or of completion alone if fio omitted the rest.
fn latency(part: &Value) -> Option<f64> {
    let mean = |name: &str, unit: f64| positive(number(&part[name], "mean") / unit);
    mean("lat_ns", 1000.0)
        .or_else(|| mean("clat_ns", 1000.0))
        .or_else(|| mean("lat", 1.0))
        .or_else(|| mean("clat", 1.0))
}

/// An option of the job, or else of all jobs.
fn option<'a>(job: &'a Value, global: &'a Value, names: &[&str]) -> Option<&'a str> {
    let of = |options: &'a Value| names.iter().find_map(|n| options.get(*n)?.as_str());
    of(&job["job options"]).or_else(|| of(global))
}

fn number(value: &Value, name: &str) -> f64 {
    value[name].as_f64().unwrap_or(0.0)
}
