//! A table in the form familiar to a study's readers.

use serde::Serialize;

/// Headings and rows of text; the caller decides how to draw them.
#[derive(Clone, Debug, Serialize)]
pub struct Table {
    /// Title, including the unit.
    pub title: String,
    /// Headings, one for each column.
    pub headings: Vec<&'static str>,
    /// Rows, each with one field per heading.
    pub rows: Vec<Vec<String>>,
    /// A note for the reader; may be empty.
    pub note: &'static str,
}
