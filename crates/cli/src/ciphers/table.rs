//! The speeds as tables for a terminal.

use cryptbench_cipher::{CipherError, CipherInfo, find_to_measure};
use cryptbench_microbench::cipher::{Bottleneck, Speeds, Throughput, by_mean};
use cryptbench_view::columns::compact;
use cryptbench_view::wrap;

use super::{CAVEAT, classes, kernels, method, rate, thread_counts, threads};

/// Lists the registered ciphers without measuring them; `names` filters the list.
pub fn list(names: &[String], width: usize) -> anyhow::Result<String> {
    let tier = cryptbench_cipher::tier()?;
    let chosen: Vec<&CipherInfo> = match names {
        [] => cryptbench_cipher::ciphers().iter().chain(cryptbench_cipher::history()).collect(),
        names => names.iter().map(|n| find_to_measure(n)).collect::<Result<_, CipherError>>()?,
    };
    let row = |cipher: &CipherInfo| {
        [cipher.name, cipher.label, &(cipher.key_bytes * 8).to_string()].map(str::to_owned).into()
    };
    let headings = ["cipher", "name", "key bits"].map(str::to_owned).into();
    let table = compact(headings, chosen.into_iter().map(row).collect(), |_| true, width);
    Ok(format!("{table}\n\ninstruction-set tier in use: {tier} (CRYPTBENCH_CPU limits it)"))
}

/// The complete output: machine, table, conclusions.
pub fn render(speeds: &Speeds, bottlenecks: &[Bottleneck], width: usize) -> String {
    let parts = [
        header(speeds, width),
        wrap(&method(speeds), "", "", width),
        rates(speeds, width),
        "What it means".to_owned()
            + &bottlenecks.iter().map(|m| meant(m, width)).collect::<String>(),
        wrap(CAVEAT, "", "", width),
    ];
    parts.join("\n\n")
}

fn header(speeds: &Speeds, width: usize) -> String {
    let cpus = match speeds.cpus {
        1 => "1 CPU".to_owned(),
        n => format!("{n} CPUs"),
    };
    let tier = speeds.tier;
    let mut lines = vec![
        wrap(&format!("{}, {cpus}", speeds.cpu_model), "CPU       ", "          ", width),
        wrap(&speeds.cpu_features.join(" "), "features  ", "          ", width),
        wrap(&format!("tier {tier} (CRYPTBENCH_CPU limits it)"), "kernels   ", "", width),
    ];
    lines.extend(kernels(speeds).into_iter().map(|(kernel, ciphers)| {
        wrap(&format!("{kernel}: {}", ciphers.join(", ")), "          ", "            ", width)
    }));
    lines.join("\n")
}

fn rates(speeds: &Speeds, width: usize) -> String {
    let counts = thread_counts(speeds);
    let Some((&first, others)) = counts.split_first() else { return String::new() };
    let mut heading: Vec<String> =
        ["cipher", "unit", "encrypt", "decrypt", "mean", "IQR"].map(str::to_owned).into();
    for count in others {
        heading.extend([format!("mean,\n{}", threads(*count)), "IQR".to_owned()]);
    }
    heading[4] = format!("mean,\n{}", threads(first));
    // The longest cascade leaves no room for its mode, so a mode that all ciphers have in common is printed above
    // the table.
    let mode = common_mode(speeds);
    if !mode.is_empty() {
        heading[0] = format!("cipher\n(mode {mode})");
    }
    let suffix = format!("-{mode}");
    let mut rows = Vec::new();
    for row in by_mean(&speeds.rows, first) {
        let mut cells = vec![
            row.label.strip_suffix(&suffix).unwrap_or(row.label).to_owned(),
            row.data_unit.to_string(),
            rate(row.encrypt.mb_s),
            rate(row.decrypt.mb_s),
        ];
        let mut mean = |r: Throughput| cells.extend([rate(r.mb_s), spread(r.spread_percent)]);
        mean(row.mean);
        for count in others {
            let same = |s: &&cryptbench_microbench::cipher::Speed| {
                (s.cipher, s.data_unit, s.threads) == (row.cipher, row.data_unit, *count)
            };
            if let Some(other) = speeds.rows.iter().find(same) {
                mean(other.mean);
            }
        }
        rows.push(cells);
    }
    compact(heading, rows, |i| i == 0, width)
}

/// The common mode of all rows with a mode, as spelt in labels; empty if the modes differ. Adiantum has no mode.
fn common_mode(speeds: &Speeds) -> String {
    let modes = speeds.rows.iter().map(cryptbench_microbench::cipher::Speed::mode);
    let mut modes = modes.filter(|mode| !mode.is_empty());
    match modes.next() {
        Some(first) if modes.all(|mode| mode == first) => first.to_ascii_uppercase(),
        _ => String::new(),
    }
}

fn spread(percent: f64) -> String {
    if percent < 9.95 { format!("{percent:.1}") } else { format!("{percent:.0}") }
}

fn meant(bottleneck: &Bottleneck, width: usize) -> String {
    let interface = &bottleneck.interface;
    let mut out = format!("\n  {}, {} MB/s", interface.name, rate(interface.mb_s));
    for (class, ciphers) in classes(bottleneck) {
        out.push('\n');
        out.push_str(&wrap(&format!("{class}: {ciphers}"), "    ", "      ", width));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    use cryptbench_cipher::Tier;
    use cryptbench_microbench::cipher::{Direction, Interface, Speed, bottleneck};

    fn speeds(threads: &[usize]) -> Speeds {
        let rate = |mb_s| Throughput { mb_s, spread_percent: 12.3 };
        let mut rows = Vec::new();
        let known = [
            ("slow-xts", "Slow-XTS", 40.0),
            ("kuznyechik-serpent-camellia-xts", "Kuznyechik(Serpent(Camellia))-XTS", 12345.0),
        ];
        for (cipher, label, speed) in known {
            for &threads in threads {
                let r = rate(speed * threads as f64);
                rows.push(Speed {
                    cipher,
                    label,
                    data_unit: 4096,
                    threads,
                    buffer: 1 << 20,
                    kernel: "soft",
                    encrypt: r,
                    decrypt: r,
                    mean: r,
                });
            }
        }
        Speeds {
            cpu_model: "A CPU\x1b[31m of the newest and longest kind, at 5.0 GHz, with a tail "
                .repeat(3),
            cpus: 64,
            cpu_features: vec!["avx512vbmi".to_owned(); 20],
            tier: Tier::Soft,
            buffer: 1 << 20,
            rounds: 5,
            elapsed: Duration::from_secs(20),
            rows,
        }
    }

    #[test]
    fn long_names_and_fast_machines_fit_eighty_columns() {
        for threads in [&[1, 64][..], &[1], &[1, 8, 64]] {
            let speeds = speeds(threads);
            let interface =
                Interface { name: "SATA 3".to_owned(), mb_s: 560.0, direction: Direction::Both };
            let bottlenecks = [bottleneck(&speeds.rows, interface)];
            let text = render(&speeds, &bottlenecks, 80);
            assert!(!text.contains('\x1b'));
            for line in text.lines() {
                assert!(textwrap::core::display_width(line) <= 80, "{line}\n{text}");
            }
        }
    }

    #[test]
    fn the_longest_cascade_stays_on_one_line() {
        // One of 64 threads has rates of six digits: wider than any in eighty columns.
        insta::assert_snapshot!(rates(&speeds(&[1, 64]), 80));
    }

    #[test]
    fn a_mode_that_not_all_have_stays_with_the_name() {
        let mut speeds = speeds(&[1]);
        speeds.rows[0].cipher = "slow-cbc";
        insta::assert_snapshot!(rates(&speeds, 80));
    }

    #[test]
    fn the_fastest_row_comes_first() {
        insta::assert_snapshot!(rates(&speeds(&[1, 2]), 200));
    }
}
