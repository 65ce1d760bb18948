//! Everything that is derived from the trials of a run, as records of it are shown and exported.

use cryptbench_estimate::cells::cells;
use cryptbench_estimate::lookup::Lookup;
use cryptbench_record::{Record, Results};

use crate::answer::answer;
use crate::explanation::additions;
use crate::names::relabelled;
use crate::sentences::sentences;

/// The cells, and what is said of them. The same trials give the same results.
pub fn analyse(record: &Record) -> Results {
    let record = &*relabelled(record);
    let cells = cells(record);
    let lookup = Lookup::new(record, &cells);
    let sentences = sentences(&lookup);
    let answer = answer(&lookup, None);
    let headline = answer.headline;
    let advice = answer.take.into_iter().chain(answer.avoid).collect();
    let additions = additions(&lookup);
    Results { cells, headline, sentences, advice, additions }
}
