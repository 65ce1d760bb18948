//! The bottleneck of a system, in words, and its remedy.

use cryptbench_estimate::binding::{AtDisk, Binding, Bound};
use cryptbench_record::{Arm, Workload};
use cryptbench_stats::bottleneck::{Bottleneck, Cause, TOLERANCE};

use crate::answer::View;
use crate::kinds::kind;
use crate::names::capitalised;
use crate::quantity::{binary_bytes, latency, percent, requests};

/// Maximum number of systems whose bottlenecks are in the answer.
const MOST: usize = 3;

/// The bottleneck of each system in the answer: one line per system, for its largest loss.
pub(crate) fn lines(view: &View<'_, '_>, bindings: &[Bound<'_>]) -> Vec<String> {
    let of = |arm: &Arm| {
        let own = bindings.iter().filter(|(_, a, _)| a.id == arm.id);
        let named = own.filter_map(|(w, _, b)| Some((*w, b, b.bottleneck.as_ref()?)));
        let loss = |b: &Binding| b.asked.plain_rate / b.asked.rate;
        named.max_by(|(_, a, _), (_, b, _)| loss(a).total_cmp(&loss(b)))
    };
    let ranked = view.cast.ranked().map(|row| row.arm);
    let line = |arm| {
        let (workload, binding, bottleneck) = of(arm)?;
        let name = view.names.arm(arm);
        Some(format!("{name}, {}: {}.", asked(workload), cause(binding, bottleneck)))
    };
    ranked.filter_map(line).take(MOST).collect()
}

/// `small reads, 32 at once`.
fn asked(workload: &Workload) -> String {
    match workload.in_flight() {
        1 => format!("{}, one at a time", kind(workload)),
        n => format!("{}, {n} at once", kind(workload)),
    }
}

/// A thread that waits for a CPU for less than this share of the time is not said to wait.
const SHORT_WAITS: f64 = 0.1;

/// The cause with its figures, to follow a colon.
pub fn cause(binding: &Binding, bottleneck: &Bottleneck) -> String {
    let depth = binding.asked.depth;
    match bottleneck.cause {
        Cause::FewerInFlight { in_flight } => {
            let share = binding.disk.as_ref().and_then(|disk| disk.plain_with_so_many);
            let so = match share {
                Some(share) => {
                    format!("; with so few, plain reaches {} of its speed", percent(100.0 * share))
                }
                None => String::new(),
            };
            format!("only {in_flight:.1} of {depth} requests are at the disk at once{so}")
        }
        Cause::CoreFull { share, waits } if waits < SHORT_WAITS => {
            format!("one core is fully used ({})", percent(100.0 * share.min(1.0)))
        }
        Cause::CoreFull { share, waits } => format!(
            "one thread works for {} of the time and waits for a free CPU for {}",
            percent(100.0 * share.min(1.0)),
            percent(100.0 * waits.min(1.0))
        ),
        Cause::ProcessorsFull { share } => {
            format!("all CPUs are fully used ({})", percent(100.0 * share.min(1.0)))
        }
        Cause::Pieces { bytes, pieces, work_s } => {
            let work = work_s.map_or_else(String::new, |work_s| {
                format!(", which use {} of CPU time", latency(1e6 * work_s))
            });
            format!(
                "each request is split into {pieces:.1} requests of {}{work}",
                binary_bytes(bytes.round() as u64)
            )
        }
        Cause::MoreRequests { per_request, per_byte } => format!(
            "each request causes {per_request:.1} disk requests and {per_byte:.1} times its bytes"
        ),
        Cause::ReadsFirst { per_request, bytes, seconds } => format!(
            "each write first reads {per_request:.1} × {} from the disk, in {}",
            binary_bytes(bytes.round() as u64),
            latency(1e6 * seconds)
        ),
        Cause::OneAtATime { alone } => format!(
            "it is no faster with {depth} requests at once ({}) than with one ({})",
            requests(binding.asked.rate),
            requests(alone)
        ),
        Cause::AddedTime { seconds, work_s } => {
            let work = work_s.map_or_else(String::new, |work_s| {
                format!(", of which {} is CPU time", latency(1e6 * work_s))
            });
            format!("each request takes {} longer{work}", latency(1e6 * seconds))
        }
        Cause::Cipher { seconds } => {
            format!("the cipher takes {} of each request on one core", latency(1e6 * seconds))
        }
        Cause::Cache { per_byte } => format!(
            "served from a cache: {} of the bytes come from the disk",
            percent(100.0 * per_byte)
        ),
    }
}

/// The user's remedy for a cause. If the run did not try the remedy, the text says that it was not measured.
pub fn change(cause: &Cause) -> &'static str {
    match cause {
        Cause::FewerInFlight { .. } | Cause::OneAtATime { .. } => {
            "Several files or programs at once may help (not measured)."
        }
        Cause::CoreFull { waits, .. } if *waits >= SHORT_WAITS => {
            "Fewer programs at the same time, or more CPUs, would help (not measured)."
        }
        Cause::CoreFull { .. } => {
            "A CPU with faster cores would help (not measured); more requests at once would not."
        }
        Cause::ProcessorsFull { .. } => {
            "More or faster CPUs would help (not measured); a faster disk would not."
        }
        Cause::Pieces { work_s: None, .. } => {
            "Requests of that size are not split, and may lose less (not measured)."
        }
        Cause::Pieces { .. } => "A CPU with faster cores would shorten it (not measured).",
        Cause::MoreRequests { .. } => {
            "Requests in whole units of the system, such as 4 KiB, may help (not measured)."
        }
        Cause::ReadsFirst { .. } => {
            "A file that is in memory has nothing to read first (not measured)."
        }
        Cause::AddedTime { seconds, work_s: Some(work_s) } if *work_s >= seconds / 2.0 => {
            "A CPU with faster cores would shorten it (not measured); a faster disk would not."
        }
        Cause::AddedTime { .. } => {
            "Most of it is waiting, or is not counted: a faster CPU may not help."
        }
        Cause::Cipher { .. } => "A faster cipher, or a CPU with instructions for it, would help.",
        Cause::Cache { .. } => "To measure the disk, use more data than the cache holds.",
    }
}

/// How a cell's speed follows from its steps, and the speed that the bottleneck predicts.
pub fn chain(binding: &Binding) -> Vec<String> {
    let Binding { asked, disk, bottleneck, .. } = binding;
    let mut lines = match disk {
        Some(disk) => at_disk(asked.depth, disk),
        None => {
            vec!["The disk's requests are unknown, or other programs used the disk.".to_owned()]
        }
    };
    if let Some(seconds) = asked.work_s {
        let more = latency(1e6 * seconds);
        lines.push(format!("Each request uses {more} more CPU time than on plain storage."));
    }
    if let Some(share) = asked.busiest_thread {
        let waits = match asked.waits {
            waits if waits < SHORT_WAITS => String::new(),
            waits => format!(" It waits for a free CPU {} of the time.", percent(100.0 * waits)),
        };
        let busy = percent(100.0 * share);
        lines.push(format!("Its busiest thread is busy {busy} of the time.{waits}"));
    }
    if let Some(share) = asked.processors {
        lines.push(format!("All CPUs together are busy {} of the time.", percent(100.0 * share)));
    }
    if let Some(seconds) = asked.cipher_s {
        lines.push(format!("The cipher takes {} for a request in RAM.", latency(1e6 * seconds)));
    }
    lines.push(match bottleneck {
        Some(b) => {
            let follows = b.predicted.map_or_else(String::new, |predicted| {
                format!(
                    " That predicts {}; measured: {}.",
                    requests(predicted),
                    requests(asked.rate)
                )
            });
            format!("{}.{follows} {}", capitalised(&cause(binding, b)), change(&b.cause))
        }
        None if !binding.loses() => {
            "It loses too little, or too uncertainly, to explain.".to_owned()
        }
        None => format!(
            "Not explained: no cause considered here predicts this speed within {}.",
            percent(100.0 * (TOLERANCE - 1.0))
        ),
    });
    lines
}

fn at_disk(depth: f64, disk: &AtDisk) -> Vec<String> {
    let AtDisk { plain, arm, factors, .. } = disk;
    let times = |ln: f64| format!("{:.2}", ln.exp());
    vec![
        format!(
            "At the disk: {:.2} of {depth} requests at once, plain {:.2}; {:.2} requests per request issued, plain \
             {:.2}; {} each, plain {}; {} per request, plain {}.",
            arm.in_flight,
            plain.in_flight,
            arm.per_request,
            plain.per_request,
            latency(1e6 * arm.residence_s()),
            latency(1e6 * plain.residence_s()),
            binary_bytes(arm.bytes.round() as u64),
            binary_bytes(plain.bytes.round() as u64),
        ),
        format!(
            "Plain is {} times as fast: {} from more at once × {} from fewer requests × {} from faster responses of \
             the disk (Little's law).",
            times(factors.in_flight + factors.requests + factors.residence),
            times(factors.in_flight),
            times(factors.requests),
            times(factors.residence),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use cryptbench_stats::bottleneck::{Asked, Factors, Flow};

    use super::*;

    fn binding() -> Binding {
        let plain =
            Flow { rate: 66_000.0, in_flight: 24.0, per_request: 1.0, bytes: 4096.0, busy: 1.0 };
        let arm =
            Flow { rate: 9_600.0, in_flight: 0.7, per_request: 1.01, bytes: 10_240.0, busy: 0.7 };
        let factors = Factors::of(&plain, &arm).unwrap();
        Binding {
            asked: Asked {
                depth: 32.0,
                bytes: 4096.0,
                reads: true,
                rate: arm.rate,
                plain_rate: plain.rate,
                alone: Some((9_400.0, 18_000.0)),
                pieces_alone: None,
                work_s: Some(45e-6),
                unshared_work_s: Some(23e-6),
                reads_first: None,
                processors: Some(0.33),
                busiest_thread: Some(0.42),
                waits: 0.0,
                cipher_s: Some(1.9e-6),
            },
            disk: Some(AtDisk { plain, arm, factors, plain_with_so_many: Some(0.15) }),
            is_certain: true,
            bottleneck: None,
        }
    }

    #[test]
    fn each_cause_is_one_clause() {
        let causes = [
            Cause::FewerInFlight { in_flight: 0.7 },
            Cause::FewerInFlight { in_flight: 1.9 },
            Cause::CoreFull { share: 0.97, waits: 0.0 },
            Cause::CoreFull { share: 0.57, waits: 0.4 },
            Cause::ProcessorsFull { share: 0.97 },
            Cause::Pieces { bytes: 131_072.0, pieces: 8.0, work_s: None },
            Cause::Pieces { bytes: 131_072.0, pieces: 8.0, work_s: Some(1.3e-3) },
            Cause::MoreRequests { per_request: 2.0, per_byte: 3.0 },
            Cause::ReadsFirst { per_request: 2.0, bytes: 4096.0, seconds: 78e-6 },
            Cause::OneAtATime { alone: 9_400.0 },
            Cause::AddedTime { seconds: 44e-6, work_s: Some(40e-6) },
            Cause::AddedTime { seconds: 44e-6, work_s: None },
            Cause::Cipher { seconds: 1.2e-3 },
            Cause::Cache { per_byte: 0.1 },
        ];
        let said = causes.map(|of| {
            let bottleneck = Bottleneck { cause: of, predicted: Some(9_000.0) };
            format!("{}. {}", cause(&binding(), &bottleneck), change(&of))
        });
        insta::assert_snapshot!(said.join("\n"));
    }

    #[test]
    fn a_chain_has_every_figure_and_says_what_it_cannot_explain() {
        let open = binding();
        let cause = Cause::FewerInFlight { in_flight: 0.7 };
        let named = Binding {
            bottleneck: Some(Bottleneck { cause, predicted: Some(9_900.0) }),
            ..open.clone()
        };
        insta::assert_snapshot!([chain(&open), chain(&named)].map(|c| c.join("\n")).join("\n\n"));
        let asked = Asked { waits: 0.25, ..open.asked };
        let waits = chain(&Binding { asked, ..open }).join(" ");
        let both = "busy 42 % of the time. It waits for a free CPU 25 % of the time.";
        assert!(waits.contains(both), "{waits}");
    }
}
