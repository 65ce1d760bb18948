//! What `estimate` promises its users, one module for each subject.

mod fixture;
mod verdicts;
