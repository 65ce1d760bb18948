//! Study D: AES, Serpent and Twofish in TrueCrypt and BestCrypt on a hard disk, a hybrid disk and an SSD.

mod causes;
mod conclusions;
mod numbers;

use crate::study::{About, Letter, Study};

pub(super) const STUDY: Study =
    Study { about: &ABOUT, conclusions: conclusions::CONCLUSIONS, read: numbers::read };

const ABOUT: About = About {
    letter: Letter::D,
    title: "Three ciphers in two programs on three kinds of disk",
    author: "Sassani, Alkorbi, Jamil, Naeem, Mirza",
    year: "2020",
    source: "Scientific Programming 2020, article 6132312, doi:10.1155/2020/6132312; document 004",
    documents: &["004"],
    devices: &["Western Digital HDD", "Seagate SSHD", "Samsung 128 GB SSD"],
    systems: &["TrueCrypt", "BestCrypt"],
    estimator: "mean of 10 runs, used as printed, because the runs were not published; one program is faster than the \
                other by 100 (fast / slow - 1) %",
};
