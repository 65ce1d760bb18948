//! The forms in which a record is shown; each reads the record and its results, nothing else.

pub mod html;
mod surroundings;
pub mod terminal;
