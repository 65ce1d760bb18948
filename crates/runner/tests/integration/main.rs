//! Tests what `runner` promises its users, one module per subject.

mod budgets;
mod course;
mod failing_storage;
mod machines;
mod one_way;
mod request;
mod simulated_disk;
mod simulated_verdicts;
