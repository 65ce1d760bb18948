//! fio's JSON (`--output-format=json` and `json+`), including the text that fio prints around the JSON.
//!
//! The fields are those of fio 2 and 3. fio 3 has `bw_bytes` and latencies in nanoseconds (`lat_ns`, `clat_ns`); fio 2
//! has `bw` in KiB/s and latencies in microseconds (fio's HOWTO, section "JSON output"). Values that are missing from
//! the JSON remain unknown: fio's defaults are not assumed.

mod job;
mod size;

use cryptbench_record::limits::{Counter, Limits};
use serde_json::Value;

use crate::error::Fault;
use crate::read::{Found, Observation};
use job::Job;

/// Limits for fio's JSON. Latency histograms (json+) have up to 1,900 values per direction of a job.
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
            "{interim} interim reports (--status-interval) were left out, because the last one includes their requests"
        ));
    }
    for (line, document) in finals {
        let (observations, remarks) = jobs(*line, document)?;
        found.observations.extend(observations);
        for remark in remarks {
            if !found.remarks.contains(&remark) {
                found.remarks.push(remark);
            }
        }
    }
    Ok(found)
}

/// Every JSON object that starts in the first column of a line, with its line number.
fn documents(text: &str) -> Result<Vec<(usize, Value)>, Fault> {
    let mut found = Vec::new();
    let mut counter = Counter::new(LIMITS);
    let (mut at, mut line) = (0, 1);
    while let Some(start) = next_object(text, at) {
        line += text[at..start].matches('\n').count();
        let too_large = |what| {
            format!(
                "the JSON that begins in line {line} is refused: {what}, which is more than any fio run produces"
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

/// The documents that are not superseded by a later document. With `--status-interval`, fio prints the same document
/// repeatedly: the start time stays the same and the byte count never decreases.
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
    jobs.flat_map(|job| ["read", "write", "trim", "mixed"].map(|name| &job[name]))
}

fn jobs(line: usize, document: &Value) -> Result<(Vec<Observation>, Vec<String>), Fault> {
    let fault = |reason: String| Fault::line(line, reason, "fio's JSON");
    let Some(jobs) = document["jobs"].as_array() else {
        let reason =
            "has no `jobs`; in fio's client and server mode, use the results of each client";
        return Err(fault(reason.into()));
    };
    let mut found: Vec<(Process<'_>, Job)> = Vec::new();
    for job in jobs {
        let name = job["jobname"].as_str().unwrap_or("");
        if number(job, "error") != 0.0 {
            return Err(fault(format!("job {name:?} ended with error {}", job["error"])));
        }
        let results = Job::read(job, &document["global options"])
            .map_err(|reason| fault(format!("job {name:?}: {reason}")))?;
        let process = Process { name, group: &job["groupid"], options: &job["job options"] };
        match found.iter_mut().find(|(known, _)| *known == process) {
            Some((_, sum)) => sum.add(results),
            None => found.push((process, results)),
        }
    }
    let remarks = found.iter().filter_map(|(process, job)| job.remark(process.name)).collect();
    Ok((found.into_iter().flat_map(|(_, job)| job.results()).collect(), remarks))
}

/// Properties shared by the processes of one job (`numjobs=`), which run simultaneously. fio 3.3 and older do not print
/// `numjobs`.
#[derive(PartialEq)]
struct Process<'a> {
    name: &'a str,
    group: &'a Value,
    options: &'a Value,
}

fn number(value: &Value, name: &str) -> f64 {
    value[name].as_f64().unwrap_or(0.0)
}
