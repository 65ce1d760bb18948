//! A table in the form in which a study's readers know it.

use serde::Serialize;

/// Headings and rows of text; how it is drawn is the reader's affair.
#[derive(Clone, Debug, Serialize)]
pub struct Table {
    /// What it shows, with its unit.
    pub title: String,
    /// Headings, one for each column.
    pub headings: Vec<&'static str>,
    /// Rows of as many fields.
    pub rows: Vec<Vec<String>>,
    /// What a reader must know of it; may be empty.
    pub note: &'static str,
}
