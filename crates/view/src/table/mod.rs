//! A record as tables for other programs.

pub mod csv;
pub mod latex;
pub mod markdown;
pub mod parquet;
mod tidy;

pub use tidy::Rows;
