//! Study B: an encrypted memory card on a Mac, written with dd.

mod conclusions;
mod numbers;

use crate::study::{About, Letter, Study};

pub(super) const STUDY: Study =
    Study { about: &ABOUT, conclusions: conclusions::CONCLUSIONS, read: numbers::read };

const ABOUT: About = About {
    letter: Letter::B,
    title: "An encrypted memory card on a Mac",
    author: "not known",
    year: "2014 or later",
    source: "a Japanese blog entry, document 002; the year is the computer's",
    documents: &["002"],
    devices: &["microSD card in an EAD-103ARD adapter"],
    systems: &["encrypted volume of Mac OS"],
    estimator: "mean of 10 runs without the longest and the shortest, speed = 512 MB / mean; the runs themselves were \
                not published, so mean and sd are used as printed",
};
