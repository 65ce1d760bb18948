//! The studies, with their numbers and conclusions.

pub(crate) mod a;
mod b;
mod c;
mod d;

use std::fmt;

use serde::Serialize;

use crate::check::Conclusion;
use crate::error::DataError;
use crate::files::Files;
use crate::number::Rederived;
use crate::observation::Observation;
use crate::table::Table;

/// A study's letter, with which users select it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Letter {
    /// VeraCrypt on a flash drive, an SSD and a hard disk.
    A,
    /// An encrypted memory card on a Mac.
    B,
    /// LUKS, TrueCrypt, eCryptfs and EncFS on an old PC.
    C,
    /// Three ciphers in TrueCrypt and BestCrypt.
    D,
}

impl fmt::Display for Letter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

/// Description of a study.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct About {
    /// Its letter.
    pub letter: Letter,
    /// Its subject, in our words.
    pub title: &'static str,
    /// The study's author, as far as known.
    pub author: &'static str,
    /// The year, as far as known.
    pub year: &'static str,
    /// The study's language, and where it was published.
    pub source: &'static str,
    /// Names of its documents in `errors.csv` and `parameters.csv`.
    pub documents: &'static [&'static str],
    /// The devices measured.
    pub devices: &'static [&'static str],
    /// The encryption systems measured.
    pub systems: &'static [&'static str],
    /// The study's estimator, and the part of it that can be reproduced.
    pub estimator: &'static str,
}

/// The numbers published by a study, and the results derived from them.
#[derive(Default)]
pub(crate) struct Numbers {
    pub observations: Vec<Observation>,
    pub rederived: Vec<Rederived>,
    pub tables: Vec<Table>,
    pub answers: Vec<Answer>,
}

/// A question that a study leaves open, answered from its numbers.
#[derive(Clone, Debug, Serialize)]
pub struct Answer {
    /// The question.
    pub question: &'static str,
    /// The answer: one finding per line, with its residual and its certainty.
    pub lines: Vec<String>,
}

/// A study: one line of [`STUDIES`].
pub(crate) struct Study {
    pub about: &'static About,
    pub conclusions: &'static [Conclusion],
    pub read: fn(&Files) -> Result<Numbers, DataError>,
}

/// All studies, in the order of their letters.
pub fn abouts() -> impl Iterator<Item = &'static About> {
    STUDIES.iter().map(|study| study.about)
}

pub(crate) const STUDIES: [Study; 4] = [a::STUDY, b::STUDY, c::STUDY, d::STUDY];
