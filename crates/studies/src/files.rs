//! The files of published numbers: they are compiled in and can be replaced one by one.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::csv::Csv;
use crate::error::DataError;

macro_rules! published {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../data/", $name, ".csv")))),*]
    };
}

/// Every file that a replay reads. `data/README.md` lists the sources of the numbers. Files in `data` that are not
/// listed here were derived from these by other people; tests compare our derivations with them.
const PUBLISHED: &[(&str, &str)] = published![
    "anvil",
    "anvil_percent_check",
    "atto",
    "blog_dd",
    "errors",
    "habr_iozone",
    "hdtune",
    "items",
    "parameters",
    "prf_times",
    "veracrypt_cipher_benchmark",
];

/// The texts of all files by name.
#[derive(Clone, Debug)]
pub struct Files(BTreeMap<&'static str, Cow<'static, str>>);

impl Files {
    /// The numbers as published.
    pub fn published() -> Self {
        Self(PUBLISHED.iter().map(|(name, text)| (*name, Cow::Borrowed(*text))).collect())
    }

    /// Names of all files, without `.csv`.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.0.keys().copied()
    }

    /// The text of a file.
    pub fn text(&self, name: &str) -> Result<&str, DataError> {
        let text = self.0.get(name).map(AsRef::as_ref);
        text.ok_or_else(|| DataError::NoSuchFile(name.to_owned()))
    }

    /// Replaces the text of one file, for example to correct a misprint.
    pub fn with(mut self, name: &str, text: String) -> Result<Self, DataError> {
        let slot = self.0.get_mut(name).ok_or_else(|| DataError::NoSuchFile(name.to_owned()))?;
        *slot = Cow::Owned(text);
        Ok(self)
    }

    pub(crate) fn csv(&self, name: &str) -> Result<Csv, DataError> {
        Csv::parse(name, self.text(name)?)
    }
}
