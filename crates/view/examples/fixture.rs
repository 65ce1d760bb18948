//! Writes a synthetic record as an HTML page for visual inspection, and prints its text report.
//!
//! `cargo run -p cryptbench-view --example fixture -- <kind> <page.html> [columns]`, where the kind is `quick`,
//! `one`, `many`, `noisy`, `cached`, `partial`, `empty`, `systems`, `ranked`, or a published profile: `atto`,
//! `hdtune`, `crystaldiskmark`, `anvil`, `iozone`, `dd`, `small-files` or `mount`.

#[path = "../../estimate/tests/integration/fixture/mod.rs"]
mod fixture;

use std::io::Write as _;

use cryptbench_answer::Labelled;
use cryptbench_record::StopReason;
use cryptbench_view::html;
use cryptbench_view::terminal::{Style, render};
use fixture::{Fixture, encrypted, null_layer, plain, plain_again, system, ten_systems, volume};

fn main() -> std::io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let kind = arguments.first().map_or("quick", String::as_str);
    let published = fixture::profiles::all().into_iter().find(|(name, _)| *name == kind);
    let record = published.map_or_else(|| fixture(kind).record(), |(_, record)| record);
    let labelled = Labelled::of(&record);
    let report = labelled.report();
    if let Some(path) = arguments.get(1) {
        std::fs::write(path, html::page(&report))?;
    }
    let width = arguments.get(2).and_then(|w| w.parse().ok()).unwrap_or(100);
    let text = render(&report, Style { width, colour: false });
    std::io::stdout().write_all(text.as_bytes())
}

fn fixture(kind: &str) -> Fixture {
    let standard = Fixture::default();
    match kind {
        "one" => standard.one_workload(),
        "many" => Fixture { arms: many(), ..standard },
        "noisy" => Fixture { noise_sd: 0.15, blocks: 6, reason: StopReason::Budget, ..standard },
        "cached" => Fixture {
            cached: vec!["seq-read-1048576-q1".to_owned()],
            notes: vec!["The page cache could not be dropped here.".to_owned()],
            ..standard
        },
        "partial" => {
            Fixture { blocks: 2, partial: true, reason: StopReason::Interrupted, ..standard }
        }
        "empty" => Fixture { blocks: 0, arms: vec![plain()], workloads: Vec::new(), ..standard },
        "systems" => {
            let systems = vec![
                plain(),
                plain_again(),
                encrypted("AES-256-XTS 4096 B", 4096, &[0.58, 0.69, 0.79, 0.87, 1.0], 0.19),
                volume("dm-crypt", "LUKS2", 512, &[0.5, 0.6, 0.66, 0.7, 0.9, 0.93, 1.0]),
                volume("veracrypt", "VeraCrypt", 512, &[0.4, 0.5, 0.5, 0.6, 0.8, 0.8, 0.9]),
                system("gocryptfs", "aes-256-gcm", &[0.07, 0.09, 0.1, 0.1, 0.2, 0.2, 0.15], 4.0),
            ];
            Fixture { arms: systems, noise_sd: 0.05, ..standard }
        }
        "ranked" => Fixture { arms: ten_systems(), blocks: 6, noise_sd: 0.1, ..standard },
        _ => standard,
    }
}

fn many() -> Vec<fixture::FixtureArm> {
    let mut arms = vec![plain(), plain_again(), null_layer(&[0.99])];
    for i in 0..20_u32 {
        let ratio = 0.98 - 0.03 * f64::from(i);
        let label = format!("Cipher-{i:02}-XTS {} B", if i % 2 == 0 { 512 } else { 4096 });
        arms.push(encrypted(&label, 512, &[ratio], 0.1 + 0.05 * f64::from(i)));
    }
    arms
}
