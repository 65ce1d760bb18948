//! Turns the options of one job into a workload.

use super::super::size::format_size;
use super::super::{BlockWork, Cache, FileUse, Headline, ProfileError, WorkAmount};
use super::ini::Section;
use super::reader::{Read, Reader};
use super::{Remarks, Source};
use crate::{Direction, MAX_BLOCK_SIZE, MAX_QUEUE_DEPTH, MAX_THREADS, Pattern, Rate, SECTOR};

/// The settings of one section.
pub(super) struct Job {
    pub(super) work: BlockWork,
    pub(super) headline: Headline,
    pub(super) direct: bool,
    pub(super) size: Option<u64>,
    pub(super) runtime_s: Option<f64>,
    pub(super) ramp_s: Option<f64>,
    pub(super) stonewall: bool,
    pub(super) description: Option<String>,
}

pub(super) fn read(
    source: &Source<'_>,
    section: &Section,
    remarks: &mut Remarks,
) -> Result<Job, ProfileError> {
    let mut r = Reader { source, section, kb_base: 1024 };
    r.kb_base = match r.count("kb_base", 1000, 1024)?.unwrap_or(1024) {
        base @ (1000 | 1024) => base,
        _ => return Err(r.wrong("kb_base", "is neither 1000 nor 1024", "use one of the two")),
    };
    let (direction, random) = r.direction()?;
    let block_size = r.block_size()?;
    let threads = r.count("numjobs", 1, u64::from(MAX_THREADS))?.unwrap_or(1);
    let queue_depth = r.queue_depth(remarks)?;
    let size = r.size("size")?;
    if let Some(size) = size.filter(|size| *size < block_size) {
        let problem = format!(
            "of {} is smaller than a block of {}",
            format_size(size),
            r.text("bs")?.unwrap_or("4k")
        );
        return Err(r.wrong(
            if r.section.get("bs").is_some() { "bs" } else { "size" },
            problem,
            "change one of the two",
        ));
    }
    let runtime_s = r.runtime()?;
    let ramp_s = r.ramp(runtime_s.is_some())?;
    let amount = r.amount(size, runtime_s.is_some(), (block_size, threads))?;
    let mut work =
        BlockWork::new(direction, r.pattern(random, remarks)?, block_size, queue_depth as u32);
    work.threads = threads as u32;
    work.amount = amount;
    work.flush = r.flush(direction, amount, remarks)?;
    work.content = r.content()?;
    work.rate = r.rate(direction, threads)?;
    work.file = FileUse::Scratch(size);
    work.cache = if r.flag("invalidate")?.unwrap_or(true) { Cache::Cold } else { Cache::Warm };
    r.remark(&work, remarks);
    r.place(remarks)?;
    if r.flag("overwrite")? == Some(false) && direction.writes() {
        let remedy = "remove the line: writes go to a file that was filled before";
        return Err(r.wrong("overwrite", "must not be 0", remedy));
    }
    for flag in ["refill_buffers", "randrepeat", "group_reporting", "thread"] {
        r.flag(flag)?;
    }
    Ok(Job {
        work,
        headline: if random { Headline::Iops } else { Headline::Bandwidth },
        direct: r.direct()?,
        size,
        runtime_s,
        ramp_s,
        stonewall: r.flag("stonewall")?.unwrap_or(false),
        description: section.get("description").and_then(|s| s.value.clone()),
    })
}

impl Reader<'_> {
    fn direction(&self) -> Result<(Direction, bool), ProfileError> {
        let text = self.text("rw")?.unwrap_or("read");
        let (mixed, random) = match text {
            "read" => return Ok((Direction::Read, false)),
            "write" => return Ok((Direction::Write, false)),
            "randread" => return Ok((Direction::Read, true)),
            "randwrite" => return Ok((Direction::Write, true)),
            "rw" | "readwrite" => (self.mix()?, false),
            "randrw" => (self.mix()?, true),
            _ => {
                let remedy = "use read, write, randread, randwrite, rw, readwrite or randrw";
                return Err(self.wrong("rw", format!("{text:?} is not supported"), remedy));
            }
        };
        Ok((mixed, random))
    }

    /// The share of reads. As in fio, the later one of `rwmixread` and `rwmixwrite` takes effect.
    fn mix(&self) -> Result<Direction, ProfileError> {
        let reads = self.count("rwmixread", 0, 100)?;
        let writes = self.count("rwmixwrite", 0, 100)?.map(|w| 100 - w);
        let last = if self.section.later("rwmixwrite", "rwmixread") { writes } else { reads };
        Ok(match last.unwrap_or(50) {
            0 => Direction::Write,
            100 => Direction::Read,
            percent => Direction::Mixed { read_percent: percent as u8 },
        })
    }

    fn block_size(&self) -> Result<u64, ProfileError> {
        let bytes = self.size("bs")?.unwrap_or(4096);
        let text = self.text("bs")?.unwrap_or_default();
        if !bytes.is_multiple_of(SECTOR as u64) {
            let also = match text.to_ascii_lowercase().contains("ib") && self.kb_base == 1024 {
                true => "; in fio, KiB means 1000 bytes unless kb_base=1000, so write 4k for 4096",
                false => "",
            };
            let problem = format!("{text:?} is {bytes} bytes, which is not a multiple of 512");
            return Err(self.wrong("bs", problem, format!("use whole sectors{also}")));
        }
        if bytes > MAX_BLOCK_SIZE {
            let remedy = format!("use at most {}", format_size(MAX_BLOCK_SIZE));
            return Err(self.wrong("bs", format!("{text:?} is too large"), remedy));
        }
        Ok(bytes)
    }

    /// Requests in flight per thread. With fio's synchronous engines this is 1, regardless of `iodepth`.
    fn queue_depth(&self, remarks: &mut Remarks) -> Result<u64, ProfileError> {
        let depth = self.count("iodepth", 1, u64::from(MAX_QUEUE_DEPTH))?.unwrap_or(1);
        let engine = self.text("ioengine")?;
        match engine.unwrap_or("psync") {
            "io_uring" | "libaio" => {
                if engine == Some("libaio") {
                    remarks.add(
                        "ioengine=libaio: cryptbench's own engine carries out the requests, with io_uring \
                         if the kernel has it, at the queue depth of the file.",
                    );
                }
                Ok(depth)
            }
            sync @ ("psync" | "sync" | "pvsync" | "pvsync2") => {
                remarks.add(match (engine, depth) {
                    (Some(_), 1) => format!(
                        "ioengine={sync}: cryptbench's own engine carries out the requests, one at a \
                         time per job as {sync} does."
                    ),
                    (None, 1) => return Ok(1),
                    (Some(_), _) => format!(
                        "ioengine={sync} keeps one request in flight per job: iodepth={depth} has no \
                         effect, neither in fio nor here."
                    ),
                    (None, _) => format!(
                        "Without ioengine fio uses psync, which keeps one request in flight per job: \
                         iodepth={depth} has no effect, neither in fio nor here (it has with ioengine=io_uring)."
                    ),
                });
                Ok(1)
            }
            other => {
                let remedy = "use io_uring, libaio, psync or sync";
                Err(self.wrong("ioengine", format!("{other:?} is not supported"), remedy))
            }
        }
    }

    /// The length of a trial if the job is `time_based`.
    fn runtime(&self) -> Read<f64> {
        let runtime = self.seconds("runtime")?.filter(|s| *s > 0.0);
        let time_based = self.flag("time_based")?.unwrap_or(false);
        match (runtime, time_based) {
            (Some(s), true) => Ok(Some(s)),
            (None, false) => Ok(None),
            (Some(_), false) => {
                let problem = "without time_based would end the job at size or runtime, whichever comes first";
                let remedy = "add time_based, or remove the runtime";
                Err(self.wrong("runtime", problem, remedy))
            }
            (None, true) => Err(self.wrong("time_based", "needs a runtime", "add runtime=…")),
        }
    }

    /// The unmeasured ramp, which requires a time-based job. If a size is given, fio measures only the part of a job
    /// after the ramp, which may be empty.
    fn ramp(&self, timed: bool) -> Read<f64> {
        let ramp = self.seconds("ramp_time")?;
        if timed || ramp.is_none_or(|s| s == 0.0) {
            return Ok(ramp);
        }
        let problem =
            format!("would hide part of the size that [{}] moves, or all of it", self.section.name);
        let remedy = "remove it, or make the job timed: time_based with runtime=…";
        Err(self.wrong("ramp_time", problem, remedy))
    }

    /// The total number of bytes of all jobs. Each clone of a job transfers either `io_size`, rounded up to whole
    /// blocks, or the number of whole blocks in its `size`.
    fn amount(
        &self,
        size: Option<u64>,
        timed: bool,
        (block_size, threads): (u64, u64),
    ) -> Result<WorkAmount, ProfileError> {
        if timed {
            if self.section.get("io_size").is_some() {
                let remedy = "keep one of the two";
                return Err(self.wrong("io_size", "cannot be combined with time_based", remedy));
            }
            return Ok(WorkAmount::Time);
        }
        let whole = |size: u64| size / block_size * block_size;
        let io_size = self.size("io_size")?.map(|bytes| bytes.next_multiple_of(block_size));
        match io_size.or(size.map(whole)) {
            Some(bytes) => Ok(WorkAmount::Bytes(bytes.saturating_mul(threads))),
            None => {
                let remedy = "add size=…, or runtime=… with time_based";
                Err(self.wrong("size", "is missing", remedy))
            }
        }
    }

    /// fio visits every block once before it repeats any of them, unless `norandommap` is set.
    fn pattern(&self, random: bool, remarks: &mut Remarks) -> Result<Pattern, ProfileError> {
        let norandommap = self.flag("norandommap")?.unwrap_or(false);
        let distribution = self.text("random_distribution")?;
        let pattern = match distribution {
            None | Some("random") if norandommap => Pattern::Random,
            None | Some("random") => Pattern::Permutation,
            Some(text) => {
                let theta = text.strip_prefix("zipf:").and_then(|t| t.parse::<f64>().ok());
                match theta.filter(|t| t.is_finite() && (0.01..=10.0).contains(t)) {
                    // fio's formula divides by 1 - theta.
                    Some(1.0) => {
                        let problem = format!("fio refuses {text:?}: theta must not be 1");
                        let remedy = "use a theta close to it, such as zipf:0.99 or zipf:1.01";
                        return Err(self.wrong("random_distribution", problem, remedy));
                    }
                    Some(theta) => Pattern::Zipf { theta },
                    None => {
                        let problem = format!("{text:?} is not supported");
                        let remedy = "use random, or zipf:theta with theta from 0.01 to 10";
                        return Err(self.wrong("random_distribution", problem, remedy));
                    }
                }
            }
        };
        if random {
            return Ok(pattern);
        }
        for option in ["random_distribution", "norandommap"] {
            if let Some(s) = self.section.get(option)
                && s.line > self.section.line
            {
                remarks.add(format!(
                    "{option} of [{}] has no effect on sequential requests, as in fio.",
                    self.section.name
                ));
            }
        }
        Ok(Pattern::Sequential)
    }

    /// fio limits each clone of a job separately, and reads and writes separately.
    fn rate(&self, direction: Direction, threads: u64) -> Read<Rate> {
        let bytes = self.size("rate")?;
        let requests = self.count("rate_iops", 1, u64::from(u32::MAX))?;
        let (option, rate) = match (bytes, requests) {
            (None, None) => return Ok(None),
            (Some(_), Some(_)) => {
                return Err(self.wrong(
                    "rate_iops",
                    "cannot be combined with rate",
                    "keep one of the two",
                ));
            }
            (Some(bytes), None) => ("rate", Rate::Bytes(bytes as f64 * threads as f64)),
            (None, Some(n)) => ("rate_iops", Rate::Requests(n as f64 * threads as f64)),
        };
        if matches!(direction, Direction::Mixed { .. }) {
            let problem = "limits reads and writes of a mixed job separately in fio, which cryptbench cannot do";
            return Err(self.wrong(option, problem, "remove it"));
        }
        Ok(Some(rate))
    }

    /// The later one of `direct` and `buffered` takes effect; fio's default is buffered.
    fn direct(&self) -> Result<bool, ProfileError> {
        let direct = self.flag("direct")?;
        let buffered = self.flag("buffered")?.map(|b| !b);
        let last = if self.section.later("buffered", "direct") { buffered } else { direct };
        Ok(last.unwrap_or(false))
    }

    /// Refuses paths, because the storage is specified on the command line. A file name without a path is harmless.
    fn place(&self, remarks: &mut Remarks) -> Result<(), ProfileError> {
        let remedy = "remove the line: the storage is the TARGET of the command line";
        if let Some(directory) = self.text("directory")? {
            let problem = format!("{directory:?} is not where cryptbench would run");
            return Err(self.wrong("directory", problem, remedy));
        }
        if let Some(filename) = self.text("filename")? {
            if filename.contains(['/', ':', '\\']) {
                let problem = format!("{filename:?} is not what cryptbench would measure");
                return Err(self.wrong("filename", problem, remedy));
            }
            remarks.add(format!(
                "filename={filename}: cryptbench uses a scratch file in the target of the command line instead."
            ));
        }
        self.text("name")?;
        Ok(())
    }

    /// Adds a remark for everything that cryptbench does differently from fio.
    fn remark(&self, work: &BlockWork, remarks: &mut Remarks) {
        if work.threads > 1 {
            remarks.add(format!(
                "numjobs={n} of [{}]: {n} threads share one file and one sequence of offsets; fio gives \
                 each job its own.",
                self.section.name,
                n = work.threads
            ));
        }
        if work.direction.writes() {
            remarks.add(
                "Writes go to a scratch file that has been filled before, as with fio's overwrite=1.",
            );
        }
        let names = self.section.settings().filter(|s| s.name == "name");
        for name in names.filter_map(|s| s.value.as_deref()).filter(|n| *n != self.section.name) {
            remarks.add(format!(
                "name={name} of [{}]: reports show the section's name.",
                self.section.name
            ));
        }
    }
}
