//! The forms in which a record is shown; each reads the record and its results, nothing else.

pub mod html;
pub(crate) mod html_kdf;
pub(crate) mod html_speed;
mod surroundings;
pub mod terminal;
