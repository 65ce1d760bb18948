//! `cryptbench studies B --from RECORD`: prints the tables of `run --study` again.

use std::process::ExitCode;

use cryptbench_answer::names::relabelled;
use cryptbench_answer::surroundings::{is_emulated, labelled};
use cryptbench_estimate::cells::cells;
use cryptbench_record::Record;
use cryptbench_studies::here::{Tested, conclusions};
use cryptbench_studies::own::{answers, own};
use cryptbench_studies::{Answer, Letter, Table};
use cryptbench_view::columns::paragraph;
use cryptbench_view::studies::brief;
use cryptbench_view::table::{csv, latex, markdown};
use serde::Serialize;

use super::text;
use crate::args::{StudiesArgs, StudyFormatArg};
use crate::exit::Refusal;
use crate::report::{overview, written};
use crate::say::{print, print_json, print_text, terminal_style};

/// A study's tables from a user's records, and their interpretation.
#[derive(Serialize)]
pub struct Own {
    schema: &'static str,
    study: Letter,
    tables: Vec<Table>,
    /// The results of the study's models for these records.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    answers: Vec<Answer>,
    /// The study's conclusions, tested on these records.
    conclusions: Vec<Tested>,
    /// Why the conclusions about kinds of devices were not tested.
    #[serde(skip)]
    kind_not_known: Option<String>,
}

/// The reason why the conclusions from studies A and D about kinds of devices are not tested, if the kind of the
/// record's device is unknown.
fn kind_not_known(study: Letter, record: &Record) -> Option<String> {
    let found = record.target.device_kind.as_ref()?;
    (matches!(study, Letter::A | Letter::D) && found.kind.is_none()).then(|| {
        format!(
            "The study's conclusions about flash drives, SSDs and hard disks were not tested, because the kind of \
             this device could not be detected: {}. If you know it, specify it: run --device-kind KIND.",
            found.why
        )
    })
}

impl Own {
    pub fn of(study: Letter, records: &[Record]) -> Self {
        let records: Vec<Record> = records.iter().map(|record| relabelled(record).0).collect();
        let cells: Vec<_> = records.iter().map(cells).collect();
        let measured: Vec<_> = records.iter().zip(cells.iter().map(Vec::as_slice)).collect();
        let mut tables = own(study, &records);
        // Figures of a real and of an emulated device do not become real by being in one table.
        if let Some(record) = records.iter().find(|record| is_emulated(record)) {
            tables.iter_mut().for_each(|table| table.title = labelled(record, &table.title));
        }
        Self {
            schema: "cryptbench.study-tables/1",
            study,
            tables,
            answers: answers(study, &records),
            conclusions: conclusions(Some(study), &measured),
            kind_not_known: records.iter().find_map(|record| kind_not_known(study, record)),
        }
    }

    /// Tables, answers and conclusions, separated by empty lines.
    pub fn text(&self, width: usize) -> String {
        let tables = self.tables.iter().map(|table| text::table(table, width));
        let answers = self.answers.iter().map(|answer| text::answered(answer, width));
        let mut blocks: Vec<String> = tables.chain(answers).collect();
        if !self.conclusions.is_empty() {
            blocks.push(brief(&self.conclusions, width).trim_end().to_owned());
        }
        blocks.extend(self.kind_not_known.as_deref().map(|why| paragraph(why, width, 0)));
        blocks.join("\n\n")
    }

    pub fn into_parts(self) -> (Vec<Table>, Vec<Answer>, Vec<Tested>) {
        (self.tables, self.answers, self.conclusions)
    }

    pub fn tables(&self) -> &[Table] {
        &self.tables
    }
}

pub fn print_again(args: &StudiesArgs, study: Letter) -> anyhow::Result<ExitCode> {
    let records = args.from.iter().map(|path| cryptbench_record::read(path));
    let records = records.collect::<Result<Vec<_>, _>>()?;
    let own = Own::of(study, &records);
    if own.tables.is_empty() {
        let reason = format!(
            "no record has a profile of study {study}; use the records of cryptbench run --study {study}"
        );
        return Err(Refusal::input(&args.from[0], &reason).into());
    }
    if let Some(directory) = &args.charts {
        overview(&records, directory)?;
    }
    if args.json {
        print_json(&own)?;
        return Ok(ExitCode::SUCCESS);
    }
    let text = own.text(terminal_style(false).width);
    print_tables(args, &own.tables, Some(text))
}

/// Prints or writes tables in the chosen format; `text` replaces them on a terminal.
pub fn print_tables(
    args: &StudiesArgs,
    tables: &[Table],
    text: Option<String>,
) -> anyhow::Result<ExitCode> {
    let width = terminal_style(false).width;
    let text = || {
        text.unwrap_or_else(|| {
            tables.iter().map(|table| text::table(table, width)).collect::<Vec<_>>().join("\n\n")
        })
    };
    let shown = match args.format {
        StudyFormatArg::Text => text() + "\n",
        StudyFormatArg::Csv => joined(tables, as_csv),
        StudyFormatArg::Markdown => joined(tables, as_markdown),
        StudyFormatArg::Latex => latex::PREAMBLE.to_owned() + "\n" + &joined(tables, as_latex),
    };
    match &args.output {
        Some(file) => written(file, cryptbench_os::write_named(file, shown.as_bytes()))?,
        None if args.format == StudyFormatArg::Text => print(shown.trim_end()),
        None => print_text(&shown),
    }
    Ok(ExitCode::SUCCESS)
}

fn joined(tables: &[Table], of: fn(&Table) -> String) -> String {
    tables.iter().map(of).collect::<Vec<_>>().join("\n")
}

fn rows(table: &Table) -> impl Iterator<Item = Vec<String>> {
    let headings = table.headings.iter().map(ToString::to_string).collect();
    std::iter::once(headings).chain(table.lines())
}

fn as_csv(table: &Table) -> String {
    csv::lines(std::iter::once(vec![table.title.clone()]).chain(rows(table)))
}

fn as_markdown(table: &Table) -> String {
    let grid = markdown::grid(&rows(table).collect::<Vec<_>>());
    let note = match table.note {
        "" => String::new(),
        note => format!("\n{}\n", markdown::escaped(note)),
    };
    format!("**{}**\n\n{grid}{note}", markdown::escaped(&table.title))
}

fn as_latex(table: &Table) -> String {
    let headings = table.headings.iter().map(ToString::to_string).collect();
    let (title, note) = (table.title.clone(), table.note);
    latex::Plain { title, headings, rows: table.rows.clone(), note }.latex()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use cryptbench_record::EmulatedDevice;

    use super::*;

    #[test]
    fn an_emulated_devices_tables_are_labelled_in_every_format() {
        let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/readme.json");
        let mut record = cryptbench_record::read(&fixture).unwrap();
        record.plan.profile = "anvil".to_owned();
        let real = Own::of(Letter::D, &[record.clone()]);
        assert!(!real.tables.is_empty() && !real.text(80).contains("EMULATED"));
        let model = "sata-ssd".to_owned();
        record.target.emulated = Some(EmulatedDevice { model, ..EmulatedDevice::default() });
        let own = Own::of(Letter::D, &[record]);
        for table in &own.tables {
            for text in [as_csv(table), as_markdown(table), as_latex(table), text::table(table, 80)]
            {
                assert!(text.contains("EMULATED sata-ssd: "), "{text}");
            }
        }
    }
}
