//! What `answer` promises its users, one module for each subject.

mod advice;
#[path = "../../../estimate/tests/integration/fixture/mod.rs"]
mod fixture;
