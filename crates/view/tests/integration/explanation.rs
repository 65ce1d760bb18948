//! The time added per request and per byte, and the losses in layer and cipher, are recovered from records in
//! which they are known.

use cryptbench_answer::Labelled;
use cryptbench_record::{Operation, Pattern, Record, Workload};
use cryptbench_view::terminal::{Style, render};

use crate::analyse;
use crate::fixture::{Fixture, encrypted, null_layer, plain, plain_again};

const SIZES: [u64; 8] = [4096, 8192, 16_384, 32_768, 65_536, 131_072, 262_144, 1_048_576];

/// Seconds of a plain request.
fn plain_s(bytes: u64) -> f64 {
    60e-6 + 0.5e-9 * bytes as f64
}

fn sweep() -> Vec<Workload> {
    let workload = |bytes: u64| Workload {
        id: format!("read-{bytes}"),
        label: format!("random read {} KiB QD1", bytes / 1024),
        operation: Operation::Read,
        pattern: Pattern::Random,
        block_size: bytes,
        queue_depth: 1,
        headline: "iops".to_owned(),
        ..Workload::default()
    };
    SIZES.map(workload).into()
}

/// A run over the sizes, in which an arm adds `extra_s` seconds to a request of a given size.
fn swept(extra_s: impl Fn(u64) -> f64) -> Record {
    let ratio = |bytes: &u64| plain_s(*bytes) / (plain_s(*bytes) + extra_s(*bytes));
    let ratios: Vec<f64> = SIZES.iter().map(ratio).collect();
    Fixture {
        workloads: sweep(),
        arms: vec![
            plain(),
            plain_again(),
            null_layer(&[1.0]),
            encrypted("AES-256-XTS 512 B", 512, &ratios, 0.3),
        ],
        noise_sd: 0.004,
        drift_sd: 0.01,
        base: |w| 1.0 / plain_s(w.block_size),
        ..Fixture::default()
    }
    .record()
}

fn shown(record: &Record) -> String {
    render(&Labelled::of(record).report(), Style { width: 100, colour: false })
}

#[test]
fn an_addition_per_request_and_per_byte_is_found_and_said() {
    let record = swept(|bytes| 15e-6 + 0.30e-9 * bytes as f64);
    let results = analyse(&record);
    let said = results.sentences.iter().find(|s| s.contains("to each request of")).unwrap();
    // "AES-256-XTS 512 B adds 15.0 µs [14.8, 15.3] to each request of random reads (one at a time) and 0.30 ns ..."
    let value = |unit: &str| -> f64 {
        let before = said.split(&format!(" {unit} [")).next().unwrap();
        before.rsplit(' ').next().unwrap().parse().unwrap()
    };
    assert!((value("µs") - 15.0).abs() < 1.5, "{said}");
    assert!((value("ns") - 0.30).abs() < 0.03, "{said}");
    let text = shown(&record).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("Why small requests lose less than large ones"), "{text}");
    // 16.2 of 62 microseconds at 4 KiB.
    assert!(text.contains("4 KiB a plain request takes 62") && text.contains("26 %"), "{text}");
    assert!(text.contains("Why devices differ"), "{text}");
}

#[test]
fn what_is_no_line_is_called_so() {
    let step = |bytes: u64| if bytes >= 65_536 { 400e-6 } else { 5e-6 };
    let results = analyse(&swept(step));
    let said = results.sentences.iter().find(|s| s.contains("not linear in the block size"));
    assert!(said.is_some(), "{:#?}", results.sentences);
    assert!(!results.sentences.iter().any(|s| s.contains("to each request of")));
}

#[test]
fn nothing_added_is_not_told_as_something() {
    let record = swept(|_| 0.0);
    let results = analyse(&record);
    let of_sweep = results.sentences.iter().find(|s| s.contains("random reads (one at a time)"));
    let told =
        of_sweep.is_none_or(|s| s.contains("no measurable time") || s.contains("not linear"));
    assert!(told, "{:#?}", results.sentences);
    assert!(!shown(&record).contains("Why small requests"));
}

#[test]
fn layer_and_cipher_are_taken_apart() {
    let arms = vec![
        plain(),
        plain_again(),
        null_layer(&[0.90]),
        encrypted("AES-256-XTS 512 B", 512, &[0.72], 0.3),
    ];
    let text = shown(&Fixture { arms, ..Fixture::default() }.record());
    let begin = text.find("Loss of path (pass-through) and cipher of AES-256 alone").unwrap();
    let row = text[begin..].lines().find(|l| l.starts_with("Small reads, one at a time")).unwrap();
    let number = |i: usize| -> f64 {
        let words: Vec<&str> =
            row["Small reads, one at a time".len()..].split_whitespace().collect();
        words[i].parse().unwrap()
    };
    // Columns: layer [low, high] cipher [low, high] share %.
    assert!((number(0) - 10.0).abs() <= 1.0 && (number(3) - 20.0).abs() <= 1.0, "{row}");
    // ln(0.8) / ln(0.72) = 68 %.
    assert!((number(6) - 68.0).abs() <= 4.0, "{row}");
}
