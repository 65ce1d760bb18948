//! The studies: what each is, what it printed and what it concluded.

mod a;
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

/// A study's letter, by which it is asked for.
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

/// What a study is.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct About {
    /// Its letter.
    pub letter: Letter,
    /// What it is about, in our words.
    pub title: &'static str,
    /// Who wrote it, as far as it is known.
    pub author: &'static str,
    /// When, as far as it is known.
    pub year: &'static str,
    /// Its language and where it stands.
    pub source: &'static str,
    /// Names of its documents in `errors.csv` and `parameters.csv`.
    pub documents: &'static [&'static str],
    /// What was measured.
    pub devices: &'static [&'static str],
    /// What encrypted.
    pub systems: &'static [&'static str],
    /// How it condensed its trials, and what of that can be repeated.
    pub estimator: &'static str,
}

/// What a study printed.
pub(crate) struct Numbers {
    pub observations: Vec<Observation>,
    pub rederived: Vec<Rederived>,
    pub tables: Vec<Table>,
}

/// A study: one line of [`STUDIES`].
pub(crate) struct Study {
    pub about: &'static About,
    pub conclusions: &'static [Conclusion],
    pub read: fn(&Files) -> Result<Numbers, DataError>,
}

/// All studies.
pub(crate) const STUDIES: [Study; 4] = [a::STUDY, b::STUDY, c::STUDY, d::STUDY];
