//! Predictions as text in 80 columns.

use cryptbench_text::human;
use cryptbench_view::wrap;

use super::validate::Group;
use super::{Cell, Prediction};

pub(super) fn prediction(p: &Prediction) -> String {
    let kind = if p.emulated { "EMULATED, PREDICTED" } else { "PREDICTED" };
    let mut lines = vec![wrap(
        &format!("cryptbench predict: {kind}; nothing was measured on {}", p.device),
        "",
        "  ",
        80,
    )];
    let fact =
        |name: &str, words: &str| wrap(&format!("{name:<13}{words}"), "", "             ", 80);
    lines.push(fact("plain times", &p.plain_from));
    let rate = |c: &super::CipherRate| {
        format!("{} {} B {:.0}/{:.0} MB/s", c.cipher, c.data_unit, c.encrypt_mb_s, c.decrypt_mb_s)
    };
    let rates: Vec<_> = p.ciphers.iter().map(rate).collect();
    lines.push(fact(
        "ciphers",
        &format!("{} (encrypt/decrypt), {}", rates.join(", "), p.ciphers_from),
    ));
    let each = if p.serial_piece.is_some() { "per piece" } else { "per request" };
    lines.push(fact(each, &format!("{:.2} µs, {}", p.per_request_us, p.per_request_from)));
    lines.extend(p.serial_piece.map(|piece| {
        let words = "one request at a time, in pieces of";
        let human = human(piece);
        fact("driver", &format!("{words} {human}; device and cipher wait for each other"))
    }));
    let mut heading = String::new();
    for cell in &p.cells {
        let title = format!("{}, {} B", cell.cipher, cell.data_unit);
        if title != heading {
            lines.push(String::new());
            lines.push(format!(
                "{title:<34}{:>10}{:>12}{:>9}{:>12}",
                "plain", "encrypted", "keeps", "adds"
            ));
            heading = title;
        }
        lines.push(row(cell));
    }
    if !p.cells.is_empty() {
        lines.push(
            "Rates in MiB/s; keeps: % of plain speed; adds: CPU time per request.".to_owned(),
        );
    }
    lines.push(String::new());
    lines.extend(p.remarks.iter().map(|r| wrap(r, "", "", 80)));
    lines.join("\n")
}

fn row(cell: &Cell) -> String {
    let label = format!("{} {} QD{}", cell.workload, human(cell.block_size), cell.queue_depth);
    format!(
        "{label:<34}{:>10}{:>12}{:>7.0} %{:>9.1} µs",
        rate(cell.plain_mib_s),
        rate(cell.encrypted_mib_s),
        cell.keeps_percent,
        cell.extra_us
    )
}

pub(super) fn validation(groups: &[Group]) -> String {
    let mut lines = vec![wrap(
        "Relative error of the predicted rate of encrypted requests: median and largest magnitude, and number of \
         cells within 11 %.",
        "",
        "",
        80,
    )];
    lines.push(String::new());
    lines.push(format!("{:<49}{:>6}{:>8}{:>8}{:>9}", "", "cells", "median", "worst", "≤ 11 %"));
    for group in groups {
        for operation in ["read", "write"] {
            let mut errors: Vec<f64> = group
                .cells
                .iter()
                .filter(|c| c.operation == operation)
                .map(|c| c.error().abs())
                .collect();
            errors.sort_unstable_by(f64::total_cmp);
            let (Some(worst), Some(median)) = (errors.last(), cryptbench_stats::median(&errors))
            else {
                continue;
            };
            let within = errors.iter().filter(|e| **e <= 0.11).count();
            let name = clipped(&format!("{} {operation}", group.name), 48);
            lines.push(format!(
                "{name:<49}{:>6}{:>6.1} %{:>6.0} %{:>9}",
                errors.len(),
                median * 100.0,
                worst * 100.0,
                within
            ));
        }
        lines.push(format!("  {}", group.by));
    }
    lines.join("\n")
}

fn rate(mib_s: f64) -> String {
    let digits = if mib_s < 10.0 { 2 } else { usize::from(mib_s < 100.0) };
    format!("{mib_s:.digits$}")
}

fn clipped(text: &str, width: usize) -> String {
    match text.chars().count() {
        n if n <= width => text.to_owned(),
        n => format!("…{}", text.chars().skip(n - width + 1).collect::<String>()),
    }
}
