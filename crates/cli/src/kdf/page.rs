//! The study as an HTML page: the input of the view crate.

use cryptbench_view::pages::kdf::{KdfBar, KdfChart, KdfPage, KdfTable, kdf_page};

use super::study::Study;
use super::table::{kernels, sections};
use super::wording::{assumptions, figures, linearity, method, name, span, verdicts};

/// The whole page.
pub fn page(study: &Study) -> String {
    let s = &study.speeds;
    let mut facts = vec![
        ("CPU".to_owned(), format!("{}; CPUs: {}", s.cpu_model, s.cpus)),
        ("CPU features".to_owned(), s.cpu_features.join(" ")),
    ];
    facts.extend(
        kernels(study)
            .into_iter()
            .map(|(kernel, names)| (format!("kernel {kernel}"), names.join(", "))),
    );
    let bar = |label, value, words| KdfBar { label, value, words };
    let defaults = KdfChart {
        title: "Unlock time at the default cost".to_owned(),
        unit: "s",
        bars: study
            .by_default()
            .into_iter()
            .map(|row| {
                let seconds = study.default_time(row).seconds;
                bar(name(row), seconds, span(seconds))
            })
            .collect(),
    };
    let iterations = KdfChart {
        title: "Time per iteration".to_owned(),
        unit: "µs",
        bars: study
            .by_iteration()
            .into_iter()
            .map(|(row, us)| bar(name(row), us, format!("{} µs", figures(us))))
            .collect(),
    };
    let mut rests = assumptions(study);
    rests.push(linearity(study) + ".");
    kdf_page(&KdfPage {
        program_version: env!("CARGO_PKG_VERSION").to_owned(),
        method: method(study),
        facts,
        meaning: verdicts(study),
        charts: [defaults, iterations].into_iter().filter(|chart| !chart.bars.is_empty()).collect(),
        tables: sections(study)
            .into_iter()
            .map(|s| KdfTable { title: s.title, about: s.about, heading: s.heading, rows: s.rows })
            .collect(),
        assumptions: rests,
    })
}
