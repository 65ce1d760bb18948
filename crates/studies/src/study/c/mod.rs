//! Study C: LUKS, TrueCrypt, eCryptfs and EncFS with default settings, measured with iozone and dd
//! on an old PC.

mod causes;
mod conclusions;
mod numbers;

use crate::study::{About, Letter, Study};

pub(super) const STUDY: Study =
    Study { about: &ABOUT, conclusions: conclusions::CONCLUSIONS, read: numbers::read };

const ABOUT: About = About {
    letter: Letter::C,
    title: "Linux encryption systems on one old PC",
    author: "not known",
    year: "2013",
    source: "habr.com post 201694 (Russian), of which document 003 is a Japanese translation; the year is estimated \
             from the post's number",
    documents: &["003"],
    devices: &["WD Caviar SE 80 GB, 7200/min (HDD)"],
    systems: &["LUKS", "TrueCrypt", "eCryptfs", "EncFS"],
    estimator: "series of 1638 iozone cells averaged cell by cell, then the mean over all cells of the difference in \
                percent of the larger; the cells were not published, so the losses are used as printed",
};
