//! The raw trials, and the record itself to take along.

use std::fmt::Write as _;

use cryptbench_record::{Record, Trial};
use maud::{Markup, html};

use super::{View, scrolling};
use crate::presentation::MOST_LISTED;
use crate::quantity::{NONE, digits, latency, thousands};

/// More rows than this make a page that nobody can open on a telephone.
const MOST_ROWS: usize = 1_000;

/// A larger record is not embedded.
const MOST_EMBEDDED_BYTES: usize = 512 << 10;

pub(super) fn section(view: &View<'_>) -> Markup {
    let trials = &view.record.trials;
    html! {
        section aria-labelledby="trials" {
            h2 #trials { "Raw trials" }
            @match embedded(view) {
                Some(link) => p {
                    a download={ (view.record.run_id) ".json" } href=(link) { "Save the record as JSON" }
                    ": the plan, every trial and these results."
                }
                None => p { "The record is too large to embed; it lies beside this page as " code { "record.json" } "." }
            }
            @if trials.is_empty() {
                p.none { "No trial was measured." }
            } @else if view.workloads().len() > MOST_LISTED {
                p {
                    (thousands(trials.len() as f64)) " trials of " (thousands(view.workloads().len() as f64))
                    " workloads: too many for a page. The record has each of them."
                }
            } @else {
                details {
                    summary {
                        "Show " (thousands(trials.len().min(MOST_ROWS) as f64)) " of "
                        (thousands(trials.len() as f64)) " trials in the order in which they ran"
                    }
                    (scrolling("Raw trials", &table(trials)))
                }
            }
        }
    }
}

fn table(trials: &[Trial]) -> Markup {
    html! {
        table.numbers {
            thead {
                tr {
                    @for name in ["#", "Block"] { th.number scope="col" { (name) } }
                    @for name in ["Workload", "Arm"] { th scope="col" { (name) } }
                    @for name in ["At s", "Measured s", "MB/s", "IOPS", "Median", "p99", "p99.9",
                        "CPU process s", "CPU machine s", "Device MB read", "Device MB written"] {
                        th.number scope="col" { (name) }
                    }
                }
            }
            tbody { @for trial in trials.iter().take(MOST_ROWS) { (row(trial)) } }
        }
    }
}

fn row(t: &Trial) -> Markup {
    let microseconds = |us: Option<f64>| us.map_or_else(|| NONE.to_owned(), latency);
    let moved =
        |bytes: Option<u64>| bytes.map_or_else(|| NONE.to_owned(), |b| digits(b as f64 / 1e6));
    html! {
        tr {
            td.number { (t.sequence) }
            td.number { (t.block.map_or_else(|| "discarded".to_owned(), |b| b.to_string())) }
            td { (t.workload) }
            td { (t.arm) }
            td.number { (digits(t.at_s)) }
            td.number { (digits(t.elapsed_s)) }
            td.number { (digits(t.bandwidth() / 1e6)) }
            td.number { (digits(t.iops())) }
            td.number { (latency(t.latency.p50_us)) }
            td.number { (microseconds(t.latency.p99_us)) }
            td.number { (microseconds(t.latency.p999_us)) }
            td.number { (digits(t.cpu_process_s)) }
            td.number { (digits(t.cpu_machine_s)) }
            td.number { (moved(t.device.map(|d| d.read_bytes))) }
            td.number { (moved(t.device.map(|d| d.written_bytes))) }
        }
    }
}

/// The record with its results as a `data:` link, unless it is too large.
fn embedded(view: &View<'_>) -> Option<String> {
    let record = Record { results: Some(view.results.clone()), ..view.record.clone() };
    let json = serde_json::to_string(&record).ok()?;
    (json.len() <= MOST_EMBEDDED_BYTES)
        .then(|| format!("data:application/json;charset=utf-8,{}", percent_encoded(&json)))
}

/// Percent-encodes all but the unreserved characters and some that data may hold (RFC 3986, 2.2-2.3).
fn percent_encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len() * 2);
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' | b',' | b':' => {
                out.push(char::from(byte));
            }
            other => {
                let _ = write!(out, "%{other:02X}");
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::percent_encoded;

    #[test]
    fn reserved_and_foreign_bytes_are_encoded() {
        assert_eq!(
            percent_encoded("{\"a\":1.5,\"µ\":\"<%#\"}"),
            "%7B%22a%22:1.5,%22%C2%B5%22:%22%3C%25%23%22%7D"
        );
    }
}
