//! The workloads of a profile as a record has them.

use cryptbench_load::{
    BlockWork, Cache, Content, Direction, FileUse, Flush, Work, WorkAmount, WorkloadSpec,
};
use cryptbench_record as record;

pub(super) fn record_workload(w: &WorkloadSpec) -> record::Workload {
    record::Workload {
        id: w.id.clone(),
        label: w.label.clone(),
        headline: w.headline.as_str().to_owned(),
        ..describe(&w.work)
    }
}

/// The part of a record's workload that says what is done.
fn describe(work: &Work) -> record::Workload {
    match work {
        Work::Block(b) => describe_block(b),
        Work::Files(f) => record::Workload {
            operation: f.action.as_str().to_owned(),
            pattern: "files".to_owned(),
            block_size: f.sizes.mean(),
            queue_depth: 1,
            files: Some(f.count),
            ..record::Workload::default()
        },
        Work::Unlock(_) => record::Workload {
            operation: "unlock".to_owned(),
            pattern: "unlock".to_owned(),
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
        operation: b.direction.as_str().to_owned(),
        pattern: b.pattern.as_str().to_owned(),
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
            WorkAmount::Time => None,
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
