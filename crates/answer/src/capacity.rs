//! The load at which all CPUs are busy, with and without encryption, which matters for servers. Also whether plain
//! storage was limited by a CPU instead of by the disk.

use cryptbench_catalog::Presentation;
use cryptbench_estimate::arms::plain_arm;
use cryptbench_estimate::binding::asking as asking_share;
use cryptbench_estimate::cpu::processors;
use cryptbench_record::{Arm, Workload};
use cryptbench_stats::bottleneck::FULL;

use crate::answer::{Open, View};
use crate::command::Command;
use crate::figure::mean_cpu;
use crate::place::cpus_in_words;
use crate::quantity::{binary_bytes, megabytes, requests};
use crate::wording::list;

/// Requests of at least this size are counted in bytes, smaller requests individually.
const LARGE: u64 = 64 << 10;

const GIB: f64 = (1_u64 << 30) as f64;

/// The sentence about that load, if the profile requests it and the data is sufficient.
pub(crate) fn said(view: &View<'_, '_>) -> Option<String> {
    let record = view.lookup.record;
    if record.plan.form() != Presentation::Server {
        return None;
    }
    let arm = view.taken().or(view.cast.spoken().last().copied());
    let (plain, arm) = (plain_arm(record)?, arm?);
    let mut sizes: Vec<u64> = view.lookup.workloads().iter().map(|w| w.block_size).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let parts: Vec<String> = sizes
        .into_iter()
        .filter_map(|size| {
            let [plain, own] = [plain, arm].map(|arm| full_at(view, arm, size));
            let words = |rate: f64| match size >= LARGE {
                true => megabytes(rate * size as f64),
                false => requests(rate),
            };
            let (own, plain) = (words(own?), words(plain?));
            Some(format!("{own} of {} (plain {plain})", binary_bytes(size)))
        })
        .collect();
    (!parts.is_empty()).then(|| {
        let cpus = cpus_in_words(processors(record));
        let of = if cpus == "1" { "CPU" } else { "CPUs" };
        format!(
            "By the CPU time per request, {cpus} {of} would be fully used at about {} with {}.",
            parts.join(" and "),
            view.names.arm(arm)
        )
    })
}

/// Workloads in which plain storage was limited by a load thread, and not by the disk.
pub(crate) fn asking(view: &View<'_, '_>) -> Option<Open> {
    let is_full = |w: &&Workload| asking_share(view.lookup, w).is_some_and(|share| share >= FULL);
    let bound: Vec<&str> =
        view.lookup.workloads().iter().filter(is_full).map(|w| view.names.workload(w)).collect();
    let processors = processors(view.lookup.record);
    let is_server = view.lookup.record.plan.form() == Presentation::Server;
    let more = match view.lookup.workloads().iter().map(|w| w.threads.unwrap_or(1)).max() {
        Some(most) if f64::from(most) < processors && !is_server => {
            " With more threads and as many requests:"
        }
        _ => "",
    };
    (!bound.is_empty()).then(|| {
        let text = format!(
            "A core that issues requests was fully used, so the disk may sustain more: {}.{more}",
            list(&bound, 2)
        );
        let command = (!more.is_empty()).then(|| Command::new("cryptbench run --profile server"));
        Open { text, command }
    })
}

/// Number of requests per second, of one size, with which an arm would use all CPUs fully.
fn full_at(view: &View<'_, '_>, arm: &Arm, size: u64) -> Option<f64> {
    let workloads = view.lookup.workloads().iter();
    let members: Vec<&Workload> = workloads.filter(|w| w.block_size == size).collect();
    let seconds = mean_cpu(view, &members, arm)? * size as f64 / GIB;
    (seconds > 0.0).then(|| processors(view.lookup.record) / seconds)
}
