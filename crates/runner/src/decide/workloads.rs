//! The workloads of a profile in the form of the record.

use cryptbench_load::{
    BlockWork, Cache, Content, Direction, FileAction, FileUse, Flush, Pattern, Work, WorkAmount,
    WorkloadSpec,
};
use cryptbench_record::{self as record, Operation};

use super::storage::Buffered;
use crate::request::Request;

pub(super) fn record_workload(w: &WorkloadSpec, request: &Request) -> record::Workload {
    let why = if request.slices { whole_trials(&w.work, request) } else { None };
    record::Workload {
        id: w.id.clone(),
        label: w.label.clone(),
        headline: w.headline.as_str().to_owned(),
        unsliced: why.map(str::to_owned),
        ..describe(&w.work)
    }
}

/// Gives each set of small files the number of files that it had in an earlier run, which may not have had time for
/// more.
pub(super) fn keep_files(workloads: &mut [WorkloadSpec], earlier: &record::Plan) {
    for workload in workloads {
        let was = earlier.workloads.iter().find(|was| was.id == workload.id);
        if let (Work::Files(files), Some(count)) = (&mut workload.work, was.and_then(|w| w.files)) {
            files.count = count.min(files.count).max(1);
        }
    }
}

/// Records in a resumed run which of these sets were smaller in its earlier part than in the profile.
pub(super) fn keep_planned(workloads: &mut [record::Workload], earlier: &record::Plan) {
    for workload in workloads {
        let was = earlier.workloads.iter().find(|was| was.id == workload.id);
        workload.files_of_profile = was.and_then(|was| was.files_of_profile);
    }
}

/// Why the trials of a workload are not sliced, if they are not.
fn whole_trials(work: &Work, request: &Request) -> Option<&'static str> {
    let block = match work {
        Work::Block(block) => block,
        Work::Files(_) => return Some("a trial processes a set of files"),
        Work::Unlock(_) => return Some("a trial opens a volume once"),
    };
    let reasons = [
        (block.amount != WorkAmount::Time, "a trial transfers a fixed number of bytes"),
        (matches!(block.file, FileUse::Fresh(_)), "each trial writes a new file"),
        (block.rate.is_some(), "a rate limit paces its requests"),
        (matches!(block.flush, Flush::Every { .. }), "it flushes after a fixed number of writes"),
        (block.stdio, "its requests pass through a stdio buffer"),
        (block.samples > 0, "its individual requests are recorded"),
        (request.profile.estimator.is_some(), "users of the profile expect whole trials"),
        (request.profile.pause_s > 0.0, "there is a pause before each trial"),
        (request.verify, "written data is read back after each trial"),
        (Buffered::choose(request) != Buffered::No, "requests go through the page cache"),
    ];
    reasons.iter().find(|(applies, _)| *applies).map(|(_, why)| *why)
}

/// Describes the work for the record.
fn describe(work: &Work) -> record::Workload {
    match work {
        Work::Block(b) => describe_block(b),
        Work::Files(f) => record::Workload {
            operation: match f.action {
                FileAction::Create => Operation::Create,
                FileAction::Stat => Operation::Stat,
                FileAction::Read => Operation::Read,
                FileAction::Rename => Operation::Rename,
                FileAction::Delete => Operation::Delete,
            },
            pattern: record::Pattern::Files,
            block_size: f.sizes.mean(),
            queue_depth: 1,
            files: Some(f.count),
            ..record::Workload::default()
        },
        Work::Unlock(_) => record::Workload {
            operation: Operation::Unlock,
            pattern: record::Pattern::Unlock,
            queue_depth: 1,
            ..record::Workload::default()
        },
    }
}

fn describe_block(b: &BlockWork) -> record::Workload {
    let (file_bytes, fresh_file) = match b.file {
        FileUse::Scratch(bytes) => (bytes, false),
        FileUse::Fresh(bytes) => (Some(bytes), true),
    };
    record::Workload {
        operation: match b.direction {
            Direction::Read => Operation::Read,
            Direction::Write => Operation::Write,
            Direction::Mixed { .. } => Operation::Mixed,
        },
        pattern: match b.pattern {
            Pattern::Sequential => record::Pattern::Sequential,
            Pattern::Random => record::Pattern::Random,
            Pattern::Zipf { .. } => record::Pattern::Zipf,
            Pattern::Permutation => record::Pattern::Permutation,
            Pattern::Backward => record::Pattern::Backward,
            Pattern::Strided { .. } => record::Pattern::Strided,
            Pattern::Same => record::Pattern::Same,
            Pattern::Sampled { .. } => record::Pattern::Sampled,
        },
        block_size: b.block_size,
        queue_depth: b.queue_depth,
        threads: (b.threads > 1).then_some(b.threads),
        read_percent: match b.direction {
            Direction::Mixed { read_percent } => Some(read_percent),
            _ => None,
        },
        file_bytes,
        fresh_file,
        trial_bytes: match b.amount {
            WorkAmount::Bytes(bytes) => Some(bytes),
            WorkAmount::Time | WorkAmount::Whole => None,
        },
        flush: match b.flush {
            Flush::Never => None,
            Flush::EachWrite => Some("each-write".to_owned()),
            Flush::Every { writes, .. } => Some(format!("every {writes}")),
            Flush::AtEnd => Some("at-end".to_owned()),
        },
        content: match b.content {
            Content::Random => None,
            Content::Zeros => Some("zeros".to_owned()),
            Content::Compressible { percent } => Some(format!("compressible {percent} %")),
        },
        warm_cache: b.cache == Cache::Warm,
        stdio: b.stdio,
        ..record::Workload::default()
    }
}
