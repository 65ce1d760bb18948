//! The errors in a file of published numbers.

/// A file of published numbers that cannot be read.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum DataError {
    /// No file has this name.
    #[error("no file of published numbers is called {0}")]
    NoSuchFile(String),
    /// The text is not comma-separated values.
    #[error("{file}, line {line}: {problem}")]
    Malformed {
        /// Name of the file.
        file: String,
        /// Line, from 1.
        line: usize,
        /// The defect.
        problem: String,
    },
    /// A column is missing.
    #[error("{file}: there is no column {column}")]
    NoColumn {
        /// Name of the file.
        file: String,
        /// Name of the column.
        column: String,
    },
    /// A field is not a number.
    #[error("{file}, line {line}, {column}: {value:?} is not a number")]
    NotANumber {
        /// Name of the file.
        file: String,
        /// Line, from 1.
        line: usize,
        /// Name of the column.
        column: String,
        /// The field's text.
        value: String,
    },
}
