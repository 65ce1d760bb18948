//! The tables, which have a row for each of our kernels, with the ratio to the fastest peer.

use std::fmt::Write as _;

use cryptbench_stats::{estimate, median};

use crate::comparison::{Comparison, Speeds};
use crate::kernel;

/// Our speed divided by a peer's speed, over the rounds.
pub struct Ratio {
    /// The median of the ratios in all rounds.
    pub median: f64,
    /// Ends of the 95 % interval, if there are enough rounds.
    pub interval: Option<(f64, f64)>,
}

/// Compares round by round. The interval is based on the signed ranks of the logarithms, which match a median.
/// For fewer than six rounds, it does not exist and Student's t is used.
pub fn ratio(ours: &Speeds, theirs: &Speeds) -> Option<Ratio> {
    let d: Vec<f64> =
        ours.mb_s.iter().zip(&theirs.mb_s).map(|(ours, theirs)| (ours / theirs).ln()).collect();
    let interval = estimate(&d, 0.95).map(|e| e.signed_rank.unwrap_or((e.low, e.high)));
    Some(Ratio {
        median: median(&d)?.exp(),
        interval: interval.map(|(low, high)| (low.exp(), high.exp())),
    })
}

/// The table for one data unit size. The operating system's kernel has a column if it was measured.
pub fn markdown(data_unit: usize, comparisons: &[Comparison]) -> String {
    let has_kernel = comparisons.iter().any(|comparison| comparison.kernel.is_some());
    let last = |cell: String| if has_kernel { format!(" {cell} |") } else { String::new() };
    let mut table = format!(
        "**{data_unit}-byte data units**\n\n\
         | cipher | direction | ours, MB/s (kernel) | best peer, MB/s | ratio [95 %] | all peers, MB/s |{}\n\
         |---|---|---|---|---|---|{}\n",
        last(format!("{}, MB/s", kernel::COLUMN)),
        if has_kernel { "---|" } else { "" },
    );
    let mut faults = String::new();
    for comparison in comparisons.iter().filter(|c| c.data_unit == data_unit) {
        let Some(best) = comparison.peers.first() else { continue };
        let kernel = comparison.kernel.as_ref();
        let kernel = kernel.map_or_else(|| "-".to_owned(), |k| format!("{:.0}", k.median()));
        for ours in &comparison.ours {
            let all: Vec<_> = comparison
                .peers
                .iter()
                .map(|peer| format!("{} {:.0}", peer.name, peer.median()))
                .collect();
            let _ = writeln!(
                table,
                "| {} | {} | {:.0} ({}) | {:.0} {} | {} | {} |{}",
                comparison.cipher,
                comparison.direction,
                ours.median(),
                ours.name,
                best.median(),
                best.name,
                show(ratio(ours, best).as_ref()),
                all.join(", "),
                last(kernel.clone()),
            );
        }
        for fault in &comparison.faults {
            let _ = writeln!(faults, "- {} {}: {fault}", comparison.cipher, comparison.direction);
        }
    }
    if !faults.is_empty() {
        let _ = write!(table, "\n{faults}");
    }
    table
}

/// A row for each of our kernels; the header contains the units. No value needs quotes.
pub fn csv(comparisons: &[Comparison]) -> String {
    let mut table =
        "cipher,sector_size_bytes,direction,code,ours_mb_per_s,best_peer,best_peer_mb_per_s,\
                     ratio,ratio_low,ratio_high,all_peers_mb_per_s\n"
            .to_owned();
    for comparison in comparisons {
        let Some(best) = comparison.peers.first() else { continue };
        let all: Vec<_> = comparison
            .peers
            .iter()
            .map(|peer| format!("{} {:.0}", peer.name, peer.median()))
            .collect();
        for ours in &comparison.ours {
            let ratio = match ratio(ours, best) {
                None => ",,".to_owned(),
                Some(Ratio { median, interval: None }) => format!("{median:.2},,"),
                Some(Ratio { median, interval: Some((low, high)) }) => {
                    format!("{median:.2},{low:.2},{high:.2}")
                }
            };
            let _ = writeln!(
                table,
                "{},{},{},{},{:.0},{},{:.0},{ratio},{}",
                comparison.cipher,
                comparison.data_unit,
                comparison.direction,
                ours.name,
                ours.median(),
                best.name,
                best.median(),
                all.join("; "),
            );
        }
    }
    table
}

fn show(ratio: Option<&Ratio>) -> String {
    match ratio {
        None => "-".to_owned(),
        Some(Ratio { median, interval: None }) => format!("{median:.2}"),
        Some(Ratio { median, interval: Some((low, high)) }) => {
            format!("{median:.2} [{low:.2}, {high:.2}]")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_a_value_for_each_column() {
        let named = |name: &str, mb_s: f64| Speeds { name: name.to_owned(), mb_s: vec![mb_s; 9] };
        let mut comparison = Comparison {
            cipher: "aes-256-xts",
            data_unit: 512,
            direction: crate::contender::Direction::Encrypt,
            ours: vec![named("vaes-avx2", 200.0)],
            peers: vec![named("Botan", 100.0), named("OpenSSL", 50.0)],
            kernel: Some(named(kernel::COLUMN, 150.0)),
            faults: Vec::new(),
        };
        for (columns, end) in [(7, "50 | 150 |\n"), (6, "OpenSSL 50 |\n")] {
            let shown = markdown(512, std::slice::from_ref(&comparison));
            let mut rows = shown.lines().skip(2);
            assert!(rows.all(|row| row.matches('|').count() == columns + 1), "{shown}");
            assert!(shown.ends_with(end), "{shown}");
            comparison.kernel = None;
        }
        let table = csv(&[comparison]);
        let rows: Vec<Vec<&str>> = table.lines().map(|row| row.split(',').collect()).collect();
        assert_eq!(rows.len(), 2);
        assert_eq!(rows[0].len(), rows[1].len());
        assert_eq!(rows[1][3..8], ["vaes-avx2", "200", "Botan", "100", "2.00"]);
        assert_eq!(rows[1].last(), Some(&"Botan 100; OpenSSL 50"));
    }

    fn speeds(mb_s: &[f64]) -> Speeds {
        Speeds { name: "x".to_owned(), mb_s: mb_s.to_vec() }
    }

    #[test]
    fn ratios_are_taken_within_rounds() {
        // The machine halves its speed for two rounds. The ratio stays 2, and one extreme round affects neither
        // it nor the interval.
        let theirs = speeds(&[100.0, 100.0, 50.0, 50.0, 100.0, 100.0, 100.0, 100.0, 100.0]);
        let ours = speeds(&[200.0, 200.0, 100.0, 100.0, 200.0, 20.0, 200.0, 200.0, 200.0]);
        let ratio = ratio(&ours, &theirs).unwrap();
        assert!((ratio.median - 2.0).abs() < 1e-12);
        let (low, high) = ratio.interval.unwrap();
        assert!(low > 0.5 && low <= 2.0 + 1e-12 && (high - 2.0).abs() < 1e-12, "{low} {high}");
    }
}
