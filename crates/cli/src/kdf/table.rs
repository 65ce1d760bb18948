//! The study as tables for a terminal.

use cryptbench_answer::quantity::thousands;
use cryptbench_view::columns::compact;
use cryptbench_view::terminal::Style;
use cryptbench_view::wrap;

use super::study::Study;
use super::wording::{
    asked, assumptions, bits, cost, figures, hardware, known, linearity, method, name, span,
    threads, verdicts,
};

/// The title of a table, its subject, column names and rows.
pub struct Section {
    pub title: String,
    pub about: String,
    pub heading: Vec<String>,
    pub rows: Vec<Vec<String>>,
}

/// Number of entropies side by side in an 80-column table.
const ABREAST: usize = 3;

/// The complete output: machine, tables, conclusions and their basis.
pub fn render(study: &Study, style: Style) -> String {
    let width = style.width;
    let heading = |text: &str| match style.colour {
        true => format!("\x1b[1m{text}\x1b[0m"),
        false => text.to_owned(),
    };
    let list = |lines: Vec<String>| {
        lines
            .iter()
            .map(|line| "\n".to_owned() + &wrap(line, "- ", "  ", width))
            .collect::<String>()
    };
    let mut parts = vec![header(study, width), wrap(&method(study), "", "", width)];
    for section in sections(study) {
        let about = match section.about.is_empty() {
            true => String::new(),
            false => format!("\n{}", wrap(&section.about, "", "", width)),
        };
        parts.push(format!(
            "{}{about}\n\n{}",
            heading(&section.title),
            compact(section.heading, section.rows, |i| i == 0, width)
        ));
    }
    parts.push(heading("What it means") + &list(verdicts(study)));
    let mut rests = assumptions(study);
    rests.push(linearity(study) + ".");
    parts.push(heading("What it rests on") + &list(rests));
    parts.join("\n\n")
}

fn header(study: &Study, width: usize) -> String {
    let s = &study.speeds;
    let cpus = match s.cpus {
        1 => "1 CPU".to_owned(),
        n => format!("{n} CPUs"),
    };
    let tier = s.tier;
    let mut lines = vec![
        wrap(&format!("{}, {cpus}", s.cpu_model), "CPU       ", "          ", width),
        wrap(&s.cpu_features.join(" "), "features  ", "          ", width),
        wrap(&format!("tier {tier} (CRYPTBENCH_CPU limits it)"), "kernels   ", "", width),
    ];
    lines.extend(kernels(study).into_iter().map(|(kernel, names)| {
        wrap(&format!("{kernel}: {}", names.join(", ")), "          ", "            ", width)
    }));
    lines.join("\n")
}

/// The kernels used to unlock and, if different, the kernels used to guess, each with its functions.
pub fn kernels(study: &Study) -> Vec<(String, Vec<String>)> {
    let mut kernels: Vec<(String, Vec<String>)> = Vec::new();
    let mut add =
        |kernel: String, name: String| match kernels.iter_mut().find(|(known, _)| *known == kernel)
        {
            Some((_, names)) => names.push(name),
            None => kernels.push((kernel, vec![name])),
        };
    for row in &study.speeds.rows {
        match row.kernel == row.guess_kernel {
            true => add(row.kernel.clone(), name(row)),
            false => {
                add(row.kernel.clone(), format!("{} unlocking", name(row)));
                add(row.guess_kernel.clone(), format!("{} guessing", name(row)));
            }
        }
    }
    kernels
}

/// The tables, in reading order.
pub fn sections(study: &Study) -> Vec<Section> {
    let mut sections = vec![defaults(study)];
    if !study.question.pims.is_empty() {
        sections.push(pims(study));
        sections.push(largest(study));
    }
    sections.push(rates(study));
    sections.extend(study.question.bits.chunks(ABREAST).map(|bits| attacks(study, bits)));
    sections
}

fn defaults(study: &Study) -> Section {
    let row = |row: &&cryptbench_microbench::kdf::KdfSpeed| {
        let time = study.default_time(row);
        let us = row.us_per_iteration();
        vec![
            name(row),
            cost(&row.default),
            marked(time.seconds, time.measured),
            format!("{:.1}", row.long.spread_percent),
            us.map_or_else(none, figures),
            us.map_or_else(none, |us| thousands((1e6 / us) as u64)),
            span(row.guess_seconds(&row.default)),
        ]
    };
    Section {
        title: "At the default cost, fastest first".to_owned(),
        about: String::new(),
        heading: [
            "function",
            "cost",
            "time",
            "IQR",
            "µs per\niteration",
            "iterations\nper s",
            "guess,\n1 thread",
        ]
        .map(str::to_owned)
        .into(),
        rows: study.by_default().iter().map(row).collect(),
    }
}

fn pims(study: &Study) -> Section {
    let pims = &study.question.pims;
    let row = |row: &&cryptbench_microbench::kdf::KdfSpeed| {
        let times = pims.iter().map(|&pim| match study.at(row.function, pim) {
            Some(at) => {
                let time = row.time(&at);
                marked(time.seconds, time.measured)
            }
            None => none(),
        });
        [name(row)].into_iter().chain(times).collect()
    };
    let names = pims.iter().map(|pim| format!("PIM\n{pim}"));
    Section {
        title: "Unlock time by PIM".to_owned(),
        about: String::new(),
        heading: ["function".to_owned()].into_iter().chain(names).collect(),
        rows: study.by_default().iter().map(row).collect(),
    }
}

fn largest(study: &Study) -> Section {
    let limit = asked(study.question.limit);
    let row = |row: &&cryptbench_microbench::kdf::KdfSpeed| {
        let default = span(study.default_time(row).seconds);
        match study.largest_pim(row).and_then(|pim| Some((pim, study.at(row.function, pim)?))) {
            Some((pim, at)) => {
                vec![name(row), thousands(pim), cost(&at), span(row.time(&at).seconds), default]
            }
            None => vec![name(row), "none".to_owned(), none(), none(), default],
        }
    };
    Section {
        title: format!("Largest PIM that unlocks within {limit} (--mount-limit)"),
        about: String::new(),
        heading: ["function", "PIM", "cost", "time", "time at default"].map(str::to_owned).into(),
        rows: study.by_default().iter().map(row).collect(),
    }
}

fn rates(study: &Study) -> Section {
    let many = study.speeds.threads;
    let other = study.question.hardware != cryptbench_microbench::kdf::Hardware::HERE;
    let mut heading = vec!["function".to_owned(), threads(1)];
    if many > 1 {
        heading.push(threads(many));
    }
    if other {
        heading.push("other hardware".to_owned());
    }
    let row = |row: &&cryptbench_microbench::kdf::KdfSpeed| {
        let [one, all, more] = study.guesses(row);
        let mut cells = vec![name(row), figures(one)];
        if many > 1 {
            cells.push(figures(all));
        }
        if other {
            cells.push(figures(more));
        }
        cells
    };
    let mut rows = study.by_default();
    rows.sort_by(|a, b| study.guesses(b)[2].total_cmp(&study.guesses(a)[2]));
    Section {
        title: format!("Guesses per second at {}", known(study)),
        about: String::new(),
        heading,
        rows: rows.iter().map(row).collect(),
    }
}

fn attacks(study: &Study, entropies: &[f64]) -> Section {
    let unknown = study.question.unknown;
    let row = |row: &&cryptbench_microbench::kdf::KdfSpeed| {
        let mut cells = vec![name(row)];
        for &bit in entropies {
            let attack = study.attack(row, bit);
            cells.push(span(attack.known));
            cells.extend(attack.unknown.map(span));
        }
        cells
    };
    let mut heading = vec!["function".to_owned()];
    for &bit in entropies {
        let bit = bits(bit);
        match unknown {
            Some(_) => {
                heading.push(format!("{bit} bits,\nPIM known"));
                heading.push(format!("{bit} bits,\nunknown"));
            }
            None => heading.push(format!("{bit} bits")),
        }
    }
    let about = match unknown {
        Some(highest) => format!(
            "Known: {}. Unknown: any PIM from 1 to {} (--unknown-pim).",
            known(study),
            thousands(highest)
        ),
        None => String::new(),
    };
    let mut rows = study.by_default();
    rows.sort_by(|a, b| study.attack(a, 40.0).known.total_cmp(&study.attack(b, 40.0).known));
    Section {
        title: format!("Expected time of an attack with {}", hardware(study)),
        about,
        heading,
        rows: rows.iter().map(row).collect(),
    }
}

fn none() -> String {
    "–".to_owned()
}

fn marked(seconds: f64, measured: bool) -> String {
    // Unmarked figures have a space in place of the mark, so that the digits line up.
    span(seconds) + if measured { "*" } else { " " }
}
