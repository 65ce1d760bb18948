//! What `foreign` promises its users, one module for each subject.

mod compare;
mod formats;
