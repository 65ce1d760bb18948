//! What `estimate` promises its users, one module for each subject.

mod bursts;
mod fixture;
mod verdicts;
