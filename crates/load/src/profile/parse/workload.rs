//! Reads the work of one workload from the keys of its table.

use super::super::work::{MAX_SAMPLES, MAX_SMALL_FILE};
use super::super::{
    BlockWork, Cache, FileAction, FileSizes, FileUse, FileWork, Headline, ProfileError, UnlockWork,
    Work, WorkAmount,
};
use super::fields::{At, Fields};
use crate::{
    Content, Direction, Flush, MAX_BLOCK_SIZE, MAX_QUEUE_DEPTH, MAX_THREADS, Pattern, Rate, SECTOR,
    Start,
};

/// Size in bytes of the largest file that a workload can request: 1 PiB.
const MAX_FILE_SIZE: u64 = 1 << 50;

#[derive(Clone, Copy)]
enum Kind {
    Block,
    Files,
    Unlock,
}

/// Reads all keys of a workload except its identifier and label.
pub(super) fn read(fields: &mut Fields<'_>) -> Result<(Work, Headline), ProfileError> {
    let kinds = [("block", Kind::Block), ("files", Kind::Files), ("unlock", Kind::Unlock)];
    let kind = fields.choice("kind", &kinds)?.map_or(Kind::Block, |k| k.value);
    let headlines: Vec<_> = Headline::ALL.iter().map(|h| (h.as_str(), *h)).collect();
    let headline = fields.required(|f, key| f.choice(key, &headlines), "headline")?;
    let work = match kind {
        Kind::Block => Work::Block(block(fields)?),
        Kind::Files => Work::Files(files(fields)?),
        Kind::Unlock => Work::Unlock(unlock(fields)?),
    };
    let per_file = matches!(headline.value, Headline::Files);
    if per_file != matches!(work, Work::Files(_))
        && (per_file || headline.value != Headline::Seconds)
    {
        let problem = format!("{:?} does not fit such a workload", headline.value.as_str());
        let remedy =
            "use \"files\" for small files, \"seconds\" for anything, the others for requests";
        return Err(fields.source().invalid("headline", headline.at, problem, remedy));
    }
    if matches!(work, Work::Unlock(_)) && headline.value != Headline::Seconds {
        let problem = format!("{:?} does not fit such a workload", headline.value.as_str());
        return Err(fields.source().invalid("headline", headline.at, problem, "use \"seconds\""));
    }
    Ok((work, headline.value))
}

fn block(fields: &mut Fields<'_>) -> Result<BlockWork, ProfileError> {
    let direction = direction(fields)?;
    let pattern = pattern(fields)?;
    let block_size =
        fields.required(|f, key| f.size(key, SECTOR as u64, MAX_BLOCK_SIZE), "block_size")?;
    let depth = fields.count("queue_depth", 1, MAX_QUEUE_DEPTH)?.map_or(1, |n| n.value);
    let threads = fields.count_or("threads", (1, MAX_THREADS), ("cpus", cpus()))?;
    let threads = threads.map_or(1, |n| n.value);
    let starts = [("seeded", Start::Seeded), ("first", Start::First)];
    let (file, file_size) = file(fields, direction, &block_size)?;
    let amount = amount(fields, &file.value, file_size)?;
    let flush = flush(fields, direction, amount)?;
    let caches = [("cold", Cache::Cold), ("warm", Cache::Warm)];
    let work = BlockWork {
        start: fields.choice("start", &starts)?.map(|s| s.value).unwrap_or_default(),
        threads,
        amount: amount.map(|a| a.value).unwrap_or_default(),
        flush,
        content: content(fields)?,
        rate: rate(fields)?,
        samples: fields.count("samples", 0, MAX_SAMPLES)?.map_or(0, |n| n.value),
        file: file.value,
        cache: fields.choice("cache", &caches)?.map(|c| c.value).unwrap_or_default(),
        ..BlockWork::new(direction, pattern, block_size.value, depth)
    };
    let stdio = fields.flag("stdio")?;
    if let Some(At { at, value: true }) = stdio
        && let Some(problem) = no_stdio(&work)
    {
        let remedy = "use one sequential read or write after the other with a stdio buffer";
        return Err(fields.source().invalid("stdio", at, problem, remedy));
    }
    let work = BlockWork { stdio: stdio.is_some_and(|s| s.value), ..work };
    check_room(fields, &work, &file, amount)?;
    Ok(work)
}

/// One thread per CPU, up to the number of threads that keeps a disk busy.
fn cpus() -> u32 {
    const MOST: usize = 16;
    std::thread::available_parallelism().map_or(1, usize::from).min(MOST) as u32
}

/// The reason why this work cannot be executed through a stdio buffer, if there is one.
fn no_stdio(work: &BlockWork) -> Option<&'static str> {
    if (work.queue_depth, work.threads) != (1, 1) {
        Some("cannot queue requests")
    } else if work.pattern != Pattern::Sequential {
        Some("requires the sequential pattern")
    } else if matches!(work.direction, Direction::Mixed { .. }) {
        Some("cannot mix reads and writes")
    } else if !matches!(work.flush, Flush::Never | Flush::AtEnd) {
        Some("must be flushed at the end or never")
    } else {
        None
    }
}

fn direction(fields: &mut Fields<'_>) -> Result<Direction, ProfileError> {
    let choices = [
        ("read", Direction::Read),
        ("write", Direction::Write),
        ("mixed", Direction::Mixed { read_percent: 50 }),
    ];
    let direction = fields.required(|f, key| f.choice(key, &choices), "operation")?.value;
    if !matches!(direction, Direction::Mixed { .. }) {
        return Ok(direction);
    }
    let share = fields.required(|f, key| f.count(key, 1, 99), "read_percent")?;
    Ok(Direction::Mixed { read_percent: share.value as u8 })
}

fn pattern(fields: &mut Fields<'_>) -> Result<Pattern, ProfileError> {
    let choices = [
        Pattern::Sequential,
        Pattern::Random,
        Pattern::Zipf { theta: 0.0 },
        Pattern::Permutation,
        Pattern::Backward,
        Pattern::Strided { stride: 0 },
        Pattern::Same,
        Pattern::Sampled { points: 0, run: 0 },
    ]
    .map(|pattern| (pattern.as_str(), pattern));
    Ok(match fields.required(|f, key| f.choice(key, &choices), "pattern")?.value {
        Pattern::Zipf { .. } => {
            let theta = fields.required(|f, key| f.number(key, 0.01, 10.0), "theta")?.value;
            Pattern::Zipf { theta }
        }
        Pattern::Strided { .. } => {
            let stride = fields.required(|f, key| f.count(key, 2, u32::MAX), "stride")?.value;
            Pattern::Strided { stride }
        }
        Pattern::Sampled { .. } => Pattern::Sampled {
            points: fields.required(|f, key| f.count(key, 1, 1_000_000), "points")?.value,
            run: fields.required(|f, key| f.count(key, 1, 1_000_000), "run")?.value,
        },
        other => other,
    })
}

/// The file, the position of the key in the text, and the given size.
fn file(
    fields: &mut Fields<'_>,
    direction: Direction,
    block: &At<u64>,
) -> Result<(At<FileUse>, Option<u64>), ProfileError> {
    let file = fields.choice("file", &[("scratch", false), ("fresh", true)])?;
    let fresh_at = file.as_ref().filter(|f| f.value).map(|f| f.at);
    let size = |f: &mut Fields<'_>, key| f.size(key, SECTOR as u64, MAX_FILE_SIZE);
    let size = match fresh_at {
        Some(_) => Some(fields.required(size, "file_size")?),
        None => size(fields, "file_size")?,
    };
    if let Some(size) = &size
        && size.value < block.value
    {
        let remedy = "use a larger file or a smaller block_size";
        return Err(fields.source().invalid(
            "file_size",
            size.at,
            "is smaller than a block",
            remedy,
        ));
    }
    let given = size.as_ref().map(|s| s.value);
    let Some(at) = fresh_at else {
        let at = size.map_or(block.at, |s| s.at);
        return Ok((At { at, value: FileUse::Scratch(given) }, given));
    };
    if direction != Direction::Write {
        let remedy = "a new file is empty: use operation \"write\"";
        return Err(fields.source().invalid("file", at, "\"fresh\" cannot be read", remedy));
    }
    Ok((At { at, value: FileUse::Fresh(given.unwrap_or_default()) }, given))
}

fn amount(
    fields: &mut Fields<'_>,
    file: &FileUse,
    file_size: Option<u64>,
) -> Result<Option<At<WorkAmount>>, ProfileError> {
    let Some(At { at, value: text }) = fields.text("amount")? else { return Ok(None) };
    if text == "whole" {
        if *file != FileUse::Scratch(None) {
            let problem = "\"whole\" is all of the storage, and a file size is given";
            let remedy = "leave out file and file_size, or use amount \"file\"";
            return Err(fields.source().invalid("amount", at, problem, remedy));
        }
        return Ok(Some(At { at, value: WorkAmount::Whole }));
    }
    let value = if text == "file" {
        file_size.ok_or_else(|| {
            let remedy = "add a file_size, or use an amount in bytes such as \"128MiB\"";
            fields.source().invalid("amount", at, "\"file\" requires a file size", remedy)
        })?
    } else {
        fields.size_of("amount", at, &text)?
    };
    if value == 0 || value > MAX_FILE_SIZE {
        let remedy = "use a size up to 1 PiB, \"file\" for one pass over the file, or \"whole\" for all of the storage";
        return Err(fields.source().invalid(
            "amount",
            at,
            format!("{text:?} is out of range"),
            remedy,
        ));
    }
    Ok(Some(At { at, value: WorkAmount::Bytes(value) }))
}

fn flush(
    fields: &mut Fields<'_>,
    direction: Direction,
    amount: Option<At<WorkAmount>>,
) -> Result<Flush, ProfileError> {
    let choices = [
        ("never", Flush::Never),
        ("each-write", Flush::EachWrite),
        ("every", Flush::Every { writes: 0, data_only: false, drained: true }),
        ("at-end", Flush::AtEnd),
    ];
    let Some(At { at, value }) = fields.choice("flush", &choices)? else { return Ok(Flush::Never) };
    let wrong = |problem, remedy| Err(fields.source().invalid("flush", at, problem, remedy));
    if value != Flush::Never && !direction.writes() {
        return wrong("has no effect: reads write nothing", "leave it out");
    }
    if value == Flush::AtEnd && amount.is_none() {
        return wrong(
            "\"at-end\" requires an end",
            "add an amount: the flush is part of the time for that number of bytes",
        );
    }
    Ok(match value {
        Flush::Every { .. } => Flush::Every {
            writes: fields.required(|f, key| f.count(key, 1, u32::MAX), "flush_writes")?.value,
            data_only: fields.flag("flush_data_only")?.is_some_and(|d| d.value),
            drained: true,
        },
        other => other,
    })
}

fn content(fields: &mut Fields<'_>) -> Result<Content, ProfileError> {
    let choices = [
        ("random", Content::Random),
        ("zeros", Content::Zeros),
        ("compressible", Content::Compressible { percent: 0 }),
    ];
    let content = fields.choice("content", &choices)?.map(|c| c.value).unwrap_or_default();
    if !matches!(content, Content::Compressible { .. }) {
        return Ok(content);
    }
    let percent = fields.required(|f, key| f.count(key, 1, 99), "compressible_percent")?;
    Ok(Content::Compressible { percent: percent.value as u8 })
}

fn rate(fields: &mut Fields<'_>) -> Result<Option<Rate>, ProfileError> {
    let bytes = fields.size("rate", 1, 1 << 50)?;
    let requests = fields.number("rate_iops", 0.001, 1e9)?;
    match (bytes, requests) {
        (Some(_), Some(requests)) => {
            let remedy = "keep one of the two";
            Err(fields.source().invalid(
                "rate_iops",
                requests.at,
                "cannot be combined with rate",
                remedy,
            ))
        }
        (Some(bytes), None) => Ok(Some(Rate::Bytes(bytes.value as f64))),
        (None, Some(requests)) => Ok(Some(Rate::Requests(requests.value))),
        (None, None) => Ok(None),
    }
}

/// Checks that the requests fit into the file.
fn check_room(
    fields: &Fields<'_>,
    work: &BlockWork,
    file: &At<FileUse>,
    amount: Option<At<WorkAmount>>,
) -> Result<(), ProfileError> {
    let wrong =
        |field, at, problem, remedy| Err(fields.source().invalid(field, at, problem, remedy));
    if let FileUse::Fresh(size) = file.value {
        if !size.is_multiple_of(work.block_size) {
            return wrong(
                "file",
                file.at,
                "\"fresh\" is not a whole number of blocks",
                "change file_size",
            );
        }
        match amount {
            None => {
                let remedy = "add an amount of bytes, or \"file\" for all of it";
                return wrong("file", file.at, "\"fresh\" would never be full", remedy);
            }
            Some(At { at, value: WorkAmount::Bytes(bytes) }) if bytes > size => {
                return wrong("amount", at, "is larger than the new file", "use at most file_size");
            }
            Some(_) => {}
        }
    }
    if let (Pattern::Sampled { .. }, FileUse::Scratch(Some(size))) = (work.pattern, file.value)
        && work.sampled_span() > size
    {
        let remedy = "use fewer points, a shorter run or a larger file";
        return wrong("file_size", file.at, "is smaller than all sampled blocks together", remedy);
    }
    Ok(())
}

fn files(fields: &mut Fields<'_>) -> Result<FileWork, ProfileError> {
    let actions: Vec<_> = FileAction::ALL.iter().map(|a| (a.as_str(), *a)).collect();
    let action = fields.required(|f, key| f.choice(key, &actions), "action")?.value;
    let count = fields.required(|f, key| f.count(key, 1, 1_000_000), "count")?.value;
    let fixed = fields.size("file_size", 0, MAX_SMALL_FILE)?;
    let median = fields.size("file_size_median", 1, MAX_SMALL_FILE)?;
    let sizes = match (fixed, median) {
        (Some(fixed), None) => FileSizes::Fixed(fixed.value),
        (None, Some(median)) => {
            let sigma = fields.required(|f, key| f.number(key, 0.01, 4.0), "file_size_sigma")?;
            FileSizes::LogNormal { median: median.value, sigma: sigma.value }
        }
        (Some(_), Some(median)) => {
            let remedy = "keep one of the two";
            let problem = "cannot be combined with file_size";
            return Err(fields.source().invalid("file_size_median", median.at, problem, remedy));
        }
        (None, None) => {
            let remedy = "add one, or file_size_median and file_size_sigma";
            return Err(fields.missing("file_size", remedy));
        }
    };
    Ok(FileWork { action, count, sizes })
}

fn unlock(fields: &mut Fields<'_>) -> Result<UnlockWork, ProfileError> {
    let passphrases = [("right", true), ("wrong", false)];
    let prfs = [("known", true), ("unknown", false)];
    Ok(UnlockWork {
        right: fields.required(|f, key| f.choice(key, &passphrases), "passphrase")?.value,
        prf_known: fields.required(|f, key| f.choice(key, &prfs), "prf")?.value,
    })
}
