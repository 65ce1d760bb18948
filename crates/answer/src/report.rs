//! Everything that is shown about a record, created once.

use cryptbench_estimate::binding::{Bound, bindings};
use cryptbench_estimate::lookup::Lookup;
use cryptbench_record::{Record, Results};

use crate::answer::{Answer, answer};
use crate::explanation::additions;
use crate::names::{Names, relabelled};
use crate::sentences::sentences;

/// A record with the catalogue's names as labels. Stored labels stay unchanged, so that they remain comparable with
/// those in older records.
pub struct Labelled<'r> {
    stored: &'r Record,
    shown: Record,
    names: Names,
}

impl<'r> Labelled<'r> {
    /// Applies the current names to a record of any version.
    pub fn of(stored: &'r Record) -> Self {
        let (shown, names) = relabelled(stored);
        Self { stored, shown, names }
    }

    /// The results of the record's trials. The same trials give the same report.
    pub fn report(&self) -> Report<'_> {
        let record = &self.shown;
        let lookup = Lookup::of(record);
        let names = self.names.clone();
        let bindings = bindings(&lookup);
        let answer = answer(&lookup, &names, &bindings);
        let sentences = sentences(&lookup);
        Report { stored: self.stored, record, lookup, names, bindings, answer, sentences }
    }
}

/// A record, its cells, and the statements about them; every output format shows this content.
pub struct Report<'r> {
    /// The record as stored, for programs.
    pub stored: &'r Record,
    /// The record as users see it.
    pub record: &'r Record,
    /// Its cells and trials.
    pub lookup: Lookup<'r>,
    /// Names of workloads and arms for users.
    pub names: Names,
    /// The bottlenecks of its arms.
    pub bindings: Vec<Bound<'r>>,
    /// The answer.
    pub answer: Answer<'r>,
    /// The verdict in sentences: the cost, then its reliability.
    pub sentences: Vec<String>,
}

impl Report<'_> {
    /// The record as stored, with its results.
    pub fn document(&self) -> Record {
        Record { results: Some(self.results()), ..self.stored.clone() }
    }

    /// The results that are stored with the record, for readers of the JSON.
    pub fn results(&self) -> Results {
        Results {
            cells: self.lookup.cells.clone(),
            headline: self.answer.headline.clone(),
            sentences: self.sentences.clone(),
            advice: self.answer.advice().cloned().collect(),
            additions: additions(&self.lookup),
        }
    }
}
