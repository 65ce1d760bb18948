//! The speeds as an HTML page: the input of the view crate.

use cryptbench_microbench::cipher::{Bottleneck, Speeds, by_mean};
use cryptbench_view::pages::speed::{SpeedBar, SpeedChart, SpeedPage, speed_page};

use super::{CAVEAT, classes, kernels, method, rate, thread_counts, threads};

/// The whole page.
pub fn page(speeds: &Speeds, bottlenecks: &[Bottleneck]) -> String {
    let charts = thread_counts(speeds).into_iter().map(|count| SpeedChart {
        title: threads(count),
        bars: by_mean(&speeds.rows, count)
            .into_iter()
            .map(|row| SpeedBar {
                label: format!("{}, {} B", row.label, row.data_unit),
                kernel: row.kernel.to_owned(),
                encrypt_mb_s: row.encrypt.mb_s,
                decrypt_mb_s: row.decrypt.mb_s,
                mean_mb_s: row.mean.mb_s,
                spread_percent: row.mean.spread_percent,
            })
            .collect(),
    });
    let kernels = kernels(speeds).into_iter();
    let mut facts = vec![
        ("CPU".to_owned(), format!("{}; CPUs: {}", speeds.cpu_model, speeds.cpus)),
        ("CPU features".to_owned(), speeds.cpu_features.join(" ")),
    ];
    facts.extend(kernels.map(|(kernel, names)| (format!("kernel {kernel}"), names.join(", "))));
    speed_page(&SpeedPage {
        program_version: env!("CARGO_PKG_VERSION").to_owned(),
        method: method(speeds),
        facts,
        charts: charts.collect(),
        meaning: bottlenecks
            .iter()
            .map(|m| {
                let rate = rate(m.interface.mb_s);
                (format!("{}, {rate} MB/s", m.interface.name), classes(m))
            })
            .collect(),
        caveat: CAVEAT.replace('`', ""),
    })
}
