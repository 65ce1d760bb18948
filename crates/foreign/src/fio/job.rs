//! The results of one job, of all its processes, or of a group that fio has summed.

use cryptbench_catalog::Pattern;
use serde_json::Value;

use super::{number, size};
use crate::cell::Key;
use crate::number::positive;
use crate::read::Observation;

/// Names of the parts of a job's result, each with its index in `bs=a,b,c`. With `unified_rw_reporting`, all parts
/// are in `mixed`.
const DIRECTIONS: [(&str, usize); 3] = [("read", 0), ("write", 1), ("trim", 2)];

/// The data of one object in fio's `jobs`, or of several objects of the same job.
pub(super) struct Job {
    results: Vec<Observation>,
    /// Number of objects.
    processes: u32,
    /// Whether the JSON contains the job's options, so that an absent option is known to be unset.
    has_options: bool,
    /// Whether one object describes several jobs (`group_reporting`): its name is that of the first job, and its
    /// options are those of the last job.
    summed: bool,
}

impl Job {
    pub(super) fn read(job: &Value, global: &Value) -> Result<Self, String> {
        let options = Options { job: &job["job options"], global };
        let parts = parts(job);
        if parts.is_empty() {
            return Err("moved nothing".into());
        }
        let kind = options.get(&["rw", "readwrite"]).map(Kind::of);
        let threads: Option<u32> = options.whole("numjobs")?;
        let summed = is_sum(job, &options, kind.as_ref(), &parts, threads);
        let kind = kind.filter(|_| !summed);
        // Synchronous engines have only one request in flight, regardless of the options.
        let one = number(&job["iodepth_level"], "1") >= 99.0;
        let queue_depth = match one {
            true => Some(1),
            false => options.whole("iodepth")?.filter(|_| !summed),
        };
        let counted = counted_reads(&parts);
        let mut results = Vec::new();
        for (direction, place, part) in &parts {
            let stated = options.size(*place)?;
            let varied = options.get(&["bsrange", "blocksize_range", "bssplit"]).is_some();
            let block_size = (!varied).then(|| size::of_requests(part, stated, summed)).flatten();
            let operation = operation(direction, kind.as_ref(), counted.filter(|_| !summed));
            let mixed = operation.starts_with("mixed");
            let read_percent = mixed.then(|| options.read_percent(counted)).flatten();
            let pattern = kind.as_ref().and_then(|k| options.pattern(k));
            results.push(Observation {
                half: None,
                key: Key {
                    pattern: pattern.map_or(String::new(), |p| p.as_str().into()),
                    operation,
                    block_size,
                    queue_depth,
                    threads: threads.filter(|_| !summed),
                    read_percent,
                    ..Key::default()
                },
                name: job["jobname"].as_str().map(str::to_owned),
                bandwidth: Some(
                    bandwidth(part).ok_or("transferred bytes in less time than fio can measure")?,
                ),
                iops: positive(number(part, "iops")),
                latency_us: latency(part),
                line: None,
            });
        }
        let has_options = options.job.is_object() || options.global.is_object();
        Ok(Self { results, processes: 1, has_options, summed })
    }

    /// Adds another process of the job, which ran simultaneously: speeds add up, and latencies are averaged, weighted
    /// by the number of requests.
    pub(super) fn add(&mut self, more: Self) {
        self.processes += more.processes;
        self.summed |= more.summed;
        for more in more.results {
            match self.results.iter_mut().find(|r| r.key.operation == more.key.operation) {
                Some(sum) => add(sum, &more),
                None => self.results.push(more),
            }
        }
    }

    /// The results, with the number of processes if this number is known but is not in the options.
    pub(super) fn results(mut self) -> Vec<Observation> {
        let known = !self.summed && (self.processes > 1 || self.has_options);
        for result in self.results.iter_mut().filter(|_| known) {
            result.key.threads.get_or_insert(self.processes);
        }
        self.results
    }

    pub(super) fn remark(&self, name: &str) -> Option<String> {
        if self.summed {
            return Some(format!(
                "job {name:?}: the sum of several jobs (group_reporting), for which fio prints the options of the last; \
                 pattern, queue depth and processes are not known. Run them without group_reporting, or each after stonewall"
            ));
        }
        let unknown = self.results.iter().any(|r| r.key.pattern.is_empty());
        unknown.then(|| {
            format!(
                "job {name:?}: the JSON does not contain rw, so it is unknown whether the access was sequential or \
                random; other missing options are also unknown"
            )
        })
    }
}

/// The parts of the result in which data was transferred.
fn parts(job: &Value) -> Vec<(&'static str, usize, &Value)> {
    let moved = |part: &Value| number(part, "total_ios") > 0.0 || number(part, "io_bytes") > 0.0;
    let some = |(name, place): (&'static str, usize)| (name, place, &job[name]);
    let found: Vec<_> = DIRECTIONS.map(some).into_iter().filter(|(.., p)| moved(p)).collect();
    match found.is_empty() && moved(&job["mixed"]) {
        true => vec![("mixed", 0, &job["mixed"])],
        false => found,
    }
}

/// Whether the object is the sum of a group of several jobs. fio does not print group_reporting, so this is inferred
/// from another job's name, a direction that is not in `rw`, or a longer run time than `numjobs` processes can have.
fn is_sum(
    job: &Value,
    options: &Options<'_>,
    kind: Option<&Kind>,
    parts: &[(&str, usize, &Value)],
    threads: Option<u32>,
) -> bool {
    let named = options.job["name"].as_str();
    if named.is_some_and(|n| job["jobname"].as_str().is_some_and(|j| j != n)) {
        return true;
    }
    // Verification reads the data that a write job wrote.
    let verifies = options.starting("verify") || options.starting("do_verify");
    if !verifies && kind.is_some_and(|k| parts.iter().any(|(d, ..)| !k.has(d))) {
        return true;
    }
    let longest = parts.iter().map(|(.., p)| number(p, "runtime")).fold(0.0, f64::max);
    let all = number(job, "job_runtime");
    let expected = f64::from(threads.unwrap_or(1)) * longest;
    let ramps = options.starting("ramp_time");
    !verifies && !ramps && longest >= 100.0 && all > 1.5 * expected
}

/// The value of `rw=`.
struct Kind {
    pattern: Pattern,
    reads: bool,
    writes: bool,
    trims: bool,
}

impl Kind {
    fn of(text: &str) -> Self {
        let kind = text.split(':').next().unwrap_or(text).trim();
        let (pattern, what) = match kind.strip_prefix("rand") {
            Some(rest) => (Pattern::Random, rest),
            None => (Pattern::Sequential, kind),
        };
        let mixed = matches!(what, "rw" | "readwrite");
        Self {
            pattern,
            reads: mixed || what == "read",
            writes: mixed || what.ends_with("write"),
            trims: what.starts_with("trim"),
        }
    }

    fn has(&self, direction: &str) -> bool {
        match direction {
            "read" => self.reads,
            "write" => self.writes,
            "trim" => self.trims,
            _ => true,
        }
    }

    fn mixed(&self) -> bool {
        self.reads && self.writes
    }
}

/// Name of the work in one part of the result.
fn operation(direction: &str, kind: Option<&Kind>, counted: Option<f64>) -> String {
    let both = counted.is_some_and(|share| share > 0.0 && share < 100.0);
    match (direction, kind) {
        ("mixed", Some(k)) if !k.mixed() => {
            let only = DIRECTIONS.iter().find(|(name, _)| k.has(name));
            only.map_or("mixed", |(name, _)| name).into()
        }
        ("mixed", _) => "mixed".into(),
        ("read" | "write", Some(k)) if k.mixed() => format!("mixed {direction}"),
        ("read", Some(k)) if !k.reads => "verify read".into(),
        ("read" | "write", None) if both => format!("mixed {direction}"),
        _ => direction.into(),
    }
}

/// Reads as a percentage of all requests, if reads and writes are reported separately.
fn counted_reads(parts: &[(&str, usize, &Value)]) -> Option<f64> {
    let of = |name: &str| {
        parts.iter().find(|(d, ..)| *d == name).map_or(0.0, |(.., p)| number(p, "total_ios"))
    };
    let (reads, writes) = (of("read"), of("write"));
    (reads + writes > 0.0).then(|| 100.0 * reads / (reads + writes))
}

/// An option of the job or, if the job does not have it, the option for all jobs.
struct Options<'a> {
    job: &'a Value,
    global: &'a Value,
}

impl<'a> Options<'a> {
    fn get(&self, names: &[&str]) -> Option<&'a str> {
        let of = |options: &'a Value| names.iter().find_map(|n| options.get(*n)?.as_str());
        of(self.job).or_else(|| of(self.global))
    }

    fn starting(&self, with: &str) -> bool {
        let has = |options: &Value| {
            options.as_object().is_some_and(|o| o.keys().any(|name| name.starts_with(with)))
        };
        has(self.job) || has(self.global)
    }

    fn whole(&self, name: &str) -> Result<Option<u32>, String> {
        let Some(text) = self.get(&[name]) else { return Ok(None) };
        let number = match text.trim().strip_prefix("0x") {
            Some(digits) => u32::from_str_radix(digits, 16),
            None => text.trim().parse(),
        };
        number.map(Some).map_err(|_| format!("{name}={text} is not understood"))
    }

    /// The size in `bs=` for a direction; if it is missing, the size for reads.
    fn size(&self, place: usize) -> Result<Option<u64>, String> {
        let Some(all) = self.get(&["bs", "blocksize"]) else { return Ok(None) };
        let sizes: Vec<&str> = all.split(',').collect();
        let text = sizes.get(place).filter(|s| !s.is_empty()).or(sizes.first());
        let thousand = self.get(&["kb_base"]).is_some_and(|base| base.trim() == "1000");
        let understood = |text: &&str| {
            size::stated(text, thousand).ok_or_else(|| format!("bs={text} is not understood"))
        };
        text.map(understood).transpose()
    }

    /// The percentage of reads as specified or, if it is not specified, as counted: in an even mix, the count
    /// deviates from the setting by less than 1.5 by chance.
    fn read_percent(&self, counted: Option<f64>) -> Option<u8> {
        let stated = |name: &str| self.get(&[name]).map(|text| text.trim().parse::<f64>().ok());
        let percent = match (stated("rwmixread"), stated("rwmixwrite")) {
            (Some(reads), _) => reads?,
            (None, Some(writes)) => 100.0 - writes?,
            (None, None) => counted.map(|c| if (c - 50.0).abs() < 1.5 { 50.0 } else { c })?,
        };
        (0.0..=100.0).contains(&percent).then(|| percent.round() as u8)
    }

    /// Sequential or random; `None` if a job mixes both patterns.
    fn pattern(&self, kind: &Kind) -> Option<Pattern> {
        match self.get(&["percentage_random"]) {
            None => Some(kind.pattern),
            Some("100") => Some(kind.pattern),
            Some("0") => Some(Pattern::Sequential),
            Some(_) => None,
        }
    }
}

fn add(sum: &mut Observation, more: &Observation) {
    let both = |a: Option<f64>, b: Option<f64>| Some(a? + b?);
    let (old, new) = (sum.iops.unwrap_or(0.0), more.iops.unwrap_or(0.0));
    sum.latency_us = match (sum.latency_us, more.latency_us) {
        (Some(a), Some(b)) if old + new > 0.0 => Some((a * old + b * new) / (old + new)),
        _ => None,
    };
    sum.bandwidth = both(sum.bandwidth, more.bandwidth);
    sum.iops = both(sum.iops, more.iops);
    if sum.key.block_size != more.key.block_size {
        sum.key.block_size = None;
    }
    if sum.key.read_percent != more.key.read_percent {
        sum.key.read_percent = None;
    }
}

fn bandwidth(part: &Value) -> Option<f64> {
    positive(number(part, "bw_bytes")).or_else(|| positive(1024.0 * number(part, "bw")))
}

/// Mean time in microseconds from submission to completion, or only the completion latency if fio omitted the other
/// part.
fn latency(part: &Value) -> Option<f64> {
    let mean = |name: &str, unit: f64| positive(number(&part[name], "mean") / unit);
    mean("lat_ns", 1000.0)
        .or_else(|| mean("clat_ns", 1000.0))
        .or_else(|| mean("lat", 1.0))
        .or_else(|| mean("clat", 1.0))
}
