//! What can be wrong with a file of published numbers.

/// A file of published numbers that cannot be read.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum DataError {
    /// No file of this name is known.
    #[error("no file of published numbers is called {0}")]
    NoSuchFile(String),
    /// The text is not comma-separated values.
    #[error("{file}, line {line}: {problem}")]
    Malformed {
        /// Name of the file.
        file: String,
        /// Line, from 1.
        line: usize,
        /// What is wrong.
        problem: String,
    },
    /// A column is missing.
    #[error("{file}: there is no column {column}")]
    NoColumn {
        /// Name of the file.
        file: String,
        /// Its name.
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
        /// What stands there.
        value: String,
    },
}
