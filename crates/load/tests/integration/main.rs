//! What `load` promises its users, one module for each subject.

mod engine;
mod files;
mod profiles;
