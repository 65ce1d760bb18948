//! `cryptbench report --bundle FILE.zip`: a result that can be published, cited and checked.

use std::path::Path;

use cryptbench_answer::surroundings::labelled;
use cryptbench_answer::{Labelled, Report};
use cryptbench_record::{Record, to_share};
use cryptbench_view::charts::charts;
use cryptbench_view::html;
use cryptbench_view::table::{Rows, csv, latex, markdown};
use sha2::{Digest as _, Sha256};

use super::{charts::png, written, zip};

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Writes the archive, and returns the number of its files. All files in it are derived from its record, which is
/// identical to the output of `report --share`.
pub fn write(record: &Record, file: &Path) -> anyhow::Result<usize> {
    let shared = to_share(record);
    let labelled = Labelled::of(&shared);
    let report = labelled.report();
    let mut files = files(&report)?;
    let sums: String =
        files.iter().map(|(name, bytes)| format!("{}  {name}\n", sum(bytes))).collect();
    files.push(("SHA256SUMS".to_owned(), sums.into_bytes()));
    let archive = zip::archive(&files)?;
    written(file, cryptbench_os::write_named(file, &archive))?;
    Ok(files.len())
}

fn files(report: &Report<'_>) -> anyhow::Result<Vec<(String, Vec<u8>)>> {
    let document = cryptbench_record::to_json(&report.document());
    let source = &sum(document.as_bytes())[..16];
    let mut files: Vec<(String, Vec<u8>)> = [
        ("README.md", readme(report)),
        ("report.html", html::page(report)),
        ("tables.md", markdown::render(report)),
        ("tables.tex", latex::render(report)),
        ("cells.csv", csv::render(report, Rows::Cells)),
        ("trials.csv", csv::render(report, Rows::Trials)),
        ("methods.md", format!("{}\n", markdown::methods(report))),
        ("CITATION.cff", citation(report.record, source)),
        ("references.bib", bibliography(report.record, source)),
        ("record.json", document),
    ]
    .map(|(name, text)| (name.to_owned(), text.into_bytes()))
    .into();
    for chart in charts(report) {
        files.push((format!("charts/{}.svg", chart.name), chart.svg().into_bytes()));
        files.push((format!("charts/{}.pdf", chart.name), chart.pdf()));
        if let Some(picture) = png(&chart)? {
            files.push((format!("charts/{}.png", chart.name), picture));
        }
    }
    files.sort();
    Ok(files)
}

fn sum(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn title(record: &Record) -> String {
    let disk = record.target.device.as_ref().and_then(|device| device.model.clone());
    let disk = disk.map_or_else(String::new, |model| format!(" on {model}"));
    let title = format!("Cost of storage encryption{disk}, {}", record.machine.cpu_model);
    labelled(record, &title)
}

fn readme(report: &Report<'_>) -> String {
    let made = &report.record.program_version;
    format!(
        "# {}\n\n{}\n\nMeasured with cryptbench {made}; tables and charts by cryptbench {VERSION}. Everything is \
         derived from `record.json`, which contains every trial, but no host names and no serial \
         numbers:\n\n```sh\nsha256sum -c SHA256SUMS\n\
         cryptbench report record.json --format markdown                # tables.md\ncryptbench report record.json --format \
         latex                   # tables.tex\ncryptbench report record.json --format csv --table cells       # \
         cells.csv\ncryptbench report record.json --charts charts\ncryptbench run --like record.json                          \
         # measure it again\n```\n\nTo cite this result, add your name to `CITATION.cff` and `references.bib`. \
         `methods.md` is a paragraph for a paper.\n",
        markdown::escaped(&title(report.record)),
        markdown::escaped(&report.answer.headline.join(" ")),
    )
}

/// A YAML string. Every JSON string is a valid YAML string.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn citation(record: &Record, source: &str) -> String {
    let released =
        record.day().map_or_else(String::new, |day| format!("date-released: {}\n", quoted(day)));
    format!(
        "cff-version: 1.2.0\nmessage: Please cite this result and the program that measured it.\ntype: dataset\ntitle: {}\n\
         authors:\n  - name: \"(who measured it)\"\n{released}version: {source}\nreferences:\n  - type: software\n    \
         title: cryptbench\n    version: {}\n    authors:\n      - name: The cryptbench maintainers\n",
        quoted(&title(record)),
        quoted(&record.program_version),
    )
}

fn bibliography(record: &Record, source: &str) -> String {
    let day = record.day().unwrap_or("an unknown date");
    let year = record.day().map_or("n.d.", |day| &day[..4]);
    format!(
        "@misc{{cryptbench-result-{source},\n  author = {{(who measured it)}},\n  title = {{{}}},\n  year = \
         {{{year}}},\n  note = \
         {{Measured on {day} with cryptbench {}; record with SHA-256 {source}}}\n}}\n\n@software{{cryptbench,\n  author = {{{{The \
         cryptbench maintainers}}}},\n  title = {{cryptbench: what disk encryption costs}},\n  version = {{{}}}\n}}\n",
        latex::escaped(&title(record)),
        latex::escaped(&record.program_version),
        latex::escaped(&record.program_version),
    )
}

#[cfg(test)]
mod tests {
    use cryptbench_record::EmulatedDevice;

    use super::*;

    #[test]
    fn the_result_of_an_emulated_device_is_cited_as_that() {
        let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/readme.json");
        let mut record = cryptbench_record::read(&fixture).unwrap();
        let model = "sata-ssd".to_owned();
        record.target.emulated = Some(EmulatedDevice { model, ..EmulatedDevice::default() });
        for text in [citation(&record, "0"), bibliography(&record, "0")] {
            assert!(text.contains("EMULATED sata-ssd: Cost of storage encryption"), "{text}");
        }
        // Nobody can look up the run by the identifier of shared records.
        let methods = markdown::methods(&Labelled::of(&to_share(&record)).report());
        assert!(!methods.contains("shared") && !methods.contains("\\_64"), "{methods}");
    }
}
