//! Tests what `load` promises its users, one module per subject.

mod engine;
mod files;
mod profiles;
