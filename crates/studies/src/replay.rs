//! Replays a study: reads its numbers, derives its tables again, and checks its conclusions.

use serde::Serialize;

use crate::check::{Finding, Verdict};
use crate::error::DataError;
use crate::files::Files;
use crate::number::Rederived;
use crate::observation::Observation;
use crate::study::{About, Answer, Letter, Numbers, STUDIES, Study};
use crate::table::Table;

/// A study with everything derived from its numbers.
#[derive(Clone, Debug, Serialize)]
pub struct Replay {
    /// Description of the study.
    pub about: &'static About,
    /// Parameters of its measurements.
    pub parameters: Vec<Parameter>,
    /// Its tables, including our derivations.
    pub tables: Vec<Table>,
    /// Numbers that the study derived, together with ours.
    pub rederived: Vec<Rederived>,
    /// Its conclusions with their verdicts.
    pub conclusions: Vec<Replayed>,
    /// The study's open questions, answered from its numbers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<Answer>,
    /// Errors in the study.
    pub errors: Vec<PublishedError>,
    /// Its numbers.
    pub observations: Vec<Observation>,
}

/// A conclusion with its verdict.
#[derive(Clone, Debug, Serialize)]
pub struct Replayed {
    /// See [`Conclusion`](crate::Conclusion).
    pub id: &'static str,
    /// The study's statement.
    pub text: &'static str,
    /// Source of the statement.
    pub source: &'static str,
    /// How an ambiguous wording is interpreted; may be empty.
    pub note: &'static str,
    /// The verdict and the numbers behind it.
    #[serde(flatten)]
    pub finding: Finding,
}

/// One line of `parameters.csv`.
#[derive(Clone, Debug, Serialize)]
pub struct Parameter {
    /// The group, such as `ATTO`.
    pub group: String,
    /// Its name.
    pub name: String,
    /// Its value with its unit.
    pub value: String,
}

/// One line of `errors.csv`.
#[derive(Clone, Debug, Serialize)]
pub struct PublishedError {
    /// `E01` to `E58`.
    pub id: String,
    /// Document and lines.
    pub source: String,
    /// `contradiction`, `method flaw`, `overclaim` ...
    pub kind: String,
    /// The error.
    pub description: String,
    /// What a program should do instead; may be empty.
    pub instead: String,
}

impl Replay {
    /// Number of conclusions with this verdict.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.conclusions.iter().filter(|c| c.finding.verdict == verdict).count()
    }
}

/// Replays the studies with these letters, or all studies if the list is empty.
pub fn replay(files: &Files, letters: &[Letter]) -> Result<Vec<Replay>, DataError> {
    STUDIES
        .iter()
        .filter(|s| letters.is_empty() || letters.contains(&s.about.letter))
        .map(|study| one(files, study))
        .collect()
}

fn one(files: &Files, study: &Study) -> Result<Replay, DataError> {
    let Numbers { observations, rederived, tables, answers } = (study.read)(files)?;
    let conclusions = study
        .conclusions
        .iter()
        .map(|c| Replayed {
            id: c.id,
            text: c.text,
            source: c.source,
            note: c.note,
            finding: c.check.evaluate(&observations, &rederived),
        })
        .collect();
    let about = study.about;
    Ok(Replay {
        about,
        parameters: parameters(files, about)?,
        tables,
        rederived,
        conclusions,
        answers,
        errors: errors(files, about)?,
        observations,
    })
}

/// The errors of this study, including those that concern all studies.
fn errors(files: &Files, about: &About) -> Result<Vec<PublishedError>, DataError> {
    let csv = files.csv("errors")?;
    let mut found = Vec::new();
    for row in csv.rows() {
        let document = row.text("doc")?;
        if document != "cross" && !about.documents.contains(&document) {
            continue;
        }
        found.push(PublishedError {
            id: row.text("id")?.to_owned(),
            source: format!("{document}, {}", row.text("lines")?),
            kind: row.text("kind")?.to_owned(),
            description: row.text("description")?.to_owned(),
            instead: row.text("what_an_implementation_should_do")?.to_owned(),
        });
    }
    Ok(found)
}

/// Parameters of the study's own measurements, without those that it cites from other sources.
fn parameters(files: &Files, about: &About) -> Result<Vec<Parameter>, DataError> {
    let csv = files.csv("parameters")?;
    let mut found = Vec::new();
    for row in csv.rows() {
        let group = row.text("group")?;
        if !about.documents.contains(&row.text("doc")?) || group == "background" {
            continue;
        }
        found.push(Parameter {
            group: group.to_owned(),
            name: row.text("name")?.to_owned(),
            value: format!("{} {}", row.text("value")?, row.text("unit")?).trim().to_owned(),
        });
    }
    Ok(found)
}
