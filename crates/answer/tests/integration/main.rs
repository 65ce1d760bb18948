//! What `answer` promises its users, one module for each subject.

mod advice;
mod claims;
#[path = "../../../estimate/tests/integration/fixture/mod.rs"]
mod fixture;
