//! What `runner` promises its users, one module for each subject.

mod failing_storage;
mod one_way;
mod request;
mod simulated_disk;
mod simulated_verdicts;
