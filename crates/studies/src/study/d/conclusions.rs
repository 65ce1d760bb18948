//! The conclusions of study D. `Best` means first in more than half of the four patterns.

use crate::check::{Check, Conclusion, Rank, Share};
use crate::observation::{Dimension, Select};

type Names = &'static [&'static str];

const SPEED: Select = Select::unit("MB/s").state(ENCRYPTED);
const ENCRYPTED: Names = &["encrypted"];
const AES: Names = &["AES-256"];
const SERPENT: Names = &["Serpent-256"];
const TWOFISH: Names = &["Twofish-256"];
const TC: Names = &["TrueCrypt"];
const BC: Names = &["BestCrypt"];
const HDD: Names = &["hdd"];
const SSHD: Names = &["sshd"];
const SSD: Names = &["ssd"];
const SOURCE: &str = "004:81";
const MOST: &str = "first in more than half of the four patterns";
const EACH: &str = "each of the three ciphers, in more than half of its four patterns";

const fn best(who: &'static str, device: Names, system: Names) -> Check {
    Check::Ranked {
        among: SPEED.device(device).system(system),
        along: Dimension::Cipher,
        who,
        rank: Rank::First,
        share: Share::Most,
    }
}

const fn program(better: Names, worse: Names, device: Names, cipher: Names) -> Check {
    let cells = SPEED.device(device).cipher(cipher);
    Check::Better { better: cells.system(better), worse: cells.system(worse), share: Share::Most }
}

const fn faster(better: Names, worse: Names, device: Names, work: Names) -> Check {
    let cells = SPEED.device(device).work(work);
    Check::Better { better: cells.cipher(better), worse: cells.cipher(worse), share: Share::All }
}

pub(super) const CONCLUSIONS: &[Conclusion] = &[
    Conclusion {
        id: "percentages",
        text: "the 36 percentages by which one program is faster than the other",
        source: "004:51-75",
        note: "",
        check: Check::Rederives,
    },
    Conclusion {
        id: "aes-hdd-random-read",
        text: "AES beats Serpent and Twofish on the HDD in random reads",
        source: "004:3",
        note: "",
        check: faster(AES, &["Serpent-256", "Twofish-256"], HDD, &["rand read 4K"]),
    },
    Conclusion {
        id: "aes-hdd-sequential-write",
        text: "AES beats Serpent and Twofish on the HDD in sequential writes",
        source: "004:3",
        note: "",
        check: faster(AES, &["Serpent-256", "Twofish-256"], HDD, &["seq write 4M"]),
    },
    Conclusion {
        id: "aes-hdd-random-write",
        text: "AES beats Serpent and Twofish on the HDD in random writes",
        source: "004:3",
        note: "",
        check: faster(AES, &["Serpent-256", "Twofish-256"], HDD, &["rand write 4K"]),
    },
    Conclusion {
        id: "twofish-sequential-read",
        text: "Twofish is slightly faster than AES in sequential reads on SSHD and SSD",
        source: "004:3",
        note: "",
        check: faster(TWOFISH, AES, &["sshd", "ssd"], &["seq read 4M"]),
    },
    Conclusion {
        id: "aes-hdd-bestcrypt",
        text: "AES is the best cipher on the HDD with BestCrypt",
        source: SOURCE,
        note: MOST,
        check: best("AES-256", HDD, BC),
    },
    Conclusion {
        id: "twofish-sshd-bestcrypt",
        text: "Twofish is the best cipher on the SSHD with BestCrypt",
        source: SOURCE,
        note: MOST,
        check: best("Twofish-256", SSHD, BC),
    },
    Conclusion {
        id: "twofish-ssd-bestcrypt",
        text: "Twofish is the best cipher on the SSD with BestCrypt",
        source: SOURCE,
        note: MOST,
        check: best("Twofish-256", SSD, BC),
    },
    Conclusion {
        id: "aes-sshd-truecrypt",
        text: "AES is the best cipher on the SSHD with TrueCrypt",
        source: SOURCE,
        note: MOST,
        check: best("AES-256", SSHD, TC),
    },
    Conclusion {
        id: "aes-ssd-truecrypt",
        text: "AES is the best cipher on the SSD with TrueCrypt",
        source: SOURCE,
        note: MOST,
        check: best("AES-256", SSD, TC),
    },
    Conclusion {
        id: "twofish-hdd-truecrypt",
        text: "Twofish is the best cipher on the HDD with TrueCrypt",
        source: SOURCE,
        note: MOST,
        check: best("Twofish-256", HDD, TC),
    },
    Conclusion {
        id: "hdd-truecrypt",
        text: "all three ciphers do better on the HDD with TrueCrypt",
        source: SOURCE,
        note: EACH,
        check: Check::All(&[
            program(TC, BC, HDD, AES),
            program(TC, BC, HDD, SERPENT),
            program(TC, BC, HDD, TWOFISH),
        ]),
    },
    Conclusion {
        id: "sshd-bestcrypt",
        text: "all three ciphers do better on the SSHD with BestCrypt",
        source: SOURCE,
        note: EACH,
        check: Check::All(&[
            program(BC, TC, SSHD, AES),
            program(BC, TC, SSHD, SERPENT),
            program(BC, TC, SSHD, TWOFISH),
        ]),
    },
    Conclusion {
        id: "ssd-bestcrypt",
        text: "all three ciphers do better on the SSD with BestCrypt",
        source: SOURCE,
        note: EACH,
        check: Check::All(&[
            program(BC, TC, SSD, AES),
            program(BC, TC, SSD, SERPENT),
            program(BC, TC, SSD, TWOFISH),
        ]),
    },
    Conclusion {
        id: "serpent-last",
        text: "AES and Twofish are consistently better than Serpent",
        source: SOURCE,
        note: "consistently: in all cells",
        check: Check::Ranked {
            among: SPEED,
            along: Dimension::Cipher,
            who: "Serpent-256",
            rank: Rank::Last,
            share: Share::All,
        },
    },
    Conclusion {
        id: "ssd-fastest-after",
        text: "the SSD is the fastest after encryption",
        source: SOURCE,
        note: "",
        check: Check::Ranked {
            among: SPEED,
            along: Dimension::Device,
            who: "ssd",
            rank: Rank::First,
            share: Share::All,
        },
    },
    Conclusion {
        id: "ssd-fastest-before",
        text: "the SSD is the fastest before encryption",
        source: SOURCE,
        note: "",
        check: Check::Ranked {
            among: Select::unit("MB/s").state(&["plain"]),
            along: Dimension::Device,
            who: "ssd",
            rank: Rank::First,
            share: Share::All,
        },
    },
    Conclusion {
        id: "cipher-matters",
        text: "the choice of cipher matters little on the HDD, and much on SSHD and SSD",
        source: "004:83",
        note: "less in the mean",
        check: Check::All(&[
            Check::LessSpread {
                a: SPEED.device(HDD),
                b: SPEED.device(SSHD),
                along: Dimension::Cipher,
            },
            Check::LessSpread {
                a: SPEED.device(HDD),
                b: SPEED.device(SSD),
                along: Dimension::Cipher,
            },
        ]),
    },
];
