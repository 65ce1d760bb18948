//! Study A: VeraCrypt on a flash drive, an SSD and a hard disk, with its ciphers and key derivation in RAM.

mod causes;
mod conclusions;
pub(crate) mod here;
mod models;
mod numbers;

use crate::study::{About, Letter, Study};

pub(super) const STUDY: Study =
    Study { about: &ABOUT, conclusions: conclusions::CONCLUSIONS, read: numbers::read };

const ABOUT: About = About {
    letter: Letter::A,
    title: "VeraCrypt on a flash drive, an SSD and a hard disk",
    author: "not known",
    year: "2016 or later",
    source: "two Polish documents: 000 is the text, 001 the text with its figures; the year is the SSD's",
    documents: &["000/001"],
    devices: &[
        "Patriot Rage Elite 256 GB (flash)",
        "Crucial MX300 (SSD)",
        "Seagate Barracuda 3 TB (HDD)",
    ],
    systems: &["VeraCrypt"],
    estimator: "mean of 5 runs, of which one screenshot each was published; changes are means over block sizes: small \
                is 512 B to 4 KB, large 1 to 64 MB, because the study does not define them",
};
