//! The public behaviour of `view`, one module per subject.

mod answer;
mod evidence;
mod explanation;
#[path = "../../../estimate/tests/integration/fixture/mod.rs"]
mod fixture;
mod formats;
mod html;
mod parquet;
mod pictures;
mod terminal;
mod trouble;

use cryptbench_answer::Labelled;
use cryptbench_record::{Record, Results};

fn analyse(record: &Record) -> Results {
    Labelled::of(record).report().results()
}
