//! The forms in which a record is shown; each reads the record and its results, nothing else.

pub mod answer;
pub mod charts;
pub mod csv;
pub mod html;
pub(crate) mod html_forest;
pub(crate) mod html_kdf;
mod html_page;
pub(crate) mod html_speed;
pub mod markdown;
pub mod parquet;
mod surroundings;
pub mod terminal;
pub(crate) mod tidy;
