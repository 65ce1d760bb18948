//! The conclusions of study A. A stated percentage may be off by 3 points, because the study rounds its
//! percentages.

use crate::check::{Band, Check, Conclusion, Denominator, Rank, Share};
use crate::observation::{Dimension, Select};

const MIB: u64 = 1 << 20;
const SMALL: (u64, u64) = (512, 4096);
const LARGE: (u64, u64) = (MIB, 64 * MIB);
const ALL: (u64, u64) = (512, 64 * MIB);
const POINTS: f64 = 3.0;

const FLASH: &[&str] = &["flash"];
const SSD: &[&str] = &["ssd"];
const HDD: &[&str] = &["hdd"];
const READ: &[&str] = &["read"];
const WRITE: &[&str] = &["write"];
const BOTH: &[&str] = &["read", "write"];
const PLAIN: &[&str] = &["plain"];
const ENCRYPTED: &[&str] = &["encrypted"];

type Names = &'static [&'static str];

const fn atto(
    unit: &'static str,
    device: Names,
    work: Names,
    blocks: (u64, u64),
) -> (Select, Select) {
    let cells = Select::unit(unit).device(device).work(work).blocks(blocks.0, blocks.1);
    (cells.state(PLAIN), cells.state(ENCRYPTED))
}

const fn drop(
    unit: &'static str,
    device: Names,
    work: Names,
    blocks: (u64, u64),
    within: Band,
) -> Check {
    let (base, other) = atto(unit, device, work, blocks);
    Check::Drop { base, other, of: Denominator::Base, within }
}

const fn speed(device: Names, work: Names, blocks: (u64, u64), stated: f64) -> Check {
    drop("MiB/s", device, work, blocks, Band::about(stated, POINTS))
}

const fn rate(device: Names, work: Names, blocks: (u64, u64), stated: f64) -> Check {
    drop("IO/s", device, work, blocks, Band::about(stated, POINTS))
}

const fn iterations(prf: Names, setting: Names) -> Select {
    Select::unit("iterations").cipher(prf).state(setting)
}

const fn access_time(device: Names) -> Check {
    let time = Select::unit("ms").device(device).work(&["access time"]);
    Check::Alike {
        a: time.state(PLAIN),
        b: time.state(ENCRYPTED),
        noise: Select::unit("ms").device(device).work(&["access time of five runs"]),
    }
}

const CIPHERS: Select = Select::unit("MiB/s").device(&["ram"]).work(&["encrypt", "decrypt"]);
const DEFAULT: Names = &["default"];
const LOST: &str = "the figure's values are not legible in the copy";

pub(super) const CONCLUSIONS: &[Conclusion] = &[
    Conclusion {
        id: "fastest-cipher",
        text: "AES is the fastest cipher on this CPU",
        source: "001:121-137",
        note: "",
        check: Check::Ranked {
            among: CIPHERS,
            along: Dimension::Cipher,
            who: "AES",
            rank: Rank::First,
            share: Share::All,
        },
    },
    Conclusion {
        id: "aes-speed",
        text: "AES encrypts at 5.3 GB/s and decrypts at 3.8 GB/s",
        source: "000:119",
        note: "VeraCrypt's GB is 1024 MB",
        check: Check::All(&[
            Check::Mean {
                of: CIPHERS.cipher(&["AES"]).work(&["encrypt"]),
                within: Band::about(5.3 * 1024.0, 0.05 * 1024.0),
            },
            Check::Mean {
                of: CIPHERS.cipher(&["AES"]).work(&["decrypt"]),
                within: Band::about(3.8 * 1024.0, 0.05 * 1024.0),
            },
        ]),
    },
    Conclusion {
        id: "cipher-means",
        text: "the means of encryption and decryption in the list of ciphers",
        source: "001:121-137",
        note: "",
        check: Check::Rederives,
    },
    Conclusion {
        id: "cipher-below-nvme",
        text: "5.3 and 3.8 GB/s do not exceed what NVMe can do",
        source: "000:118-123",
        note: "no such device was measured; PCIe 3.0 x4 is about 3.9 GB/s",
        check: Check::Published(Select::unit("MiB/s").device(&["nvme"])),
    },
    Conclusion {
        id: "ram-above-bus",
        text: "AES in RAM is several times as fast as a device on USB 3.1 or SATA 3",
        source: "000:118-123",
        note: "several: at least twice the highest speed of any of the devices",
        check: Check::Exceeds {
            more: CIPHERS.cipher(&["AES"]),
            less: Select::unit("MiB/s").device(&["flash", "ssd", "hdd"]),
            times: 2.0,
        },
    },
    Conclusion {
        id: "default-iterations",
        text: "the default is 500000 iterations",
        source: "000:138",
        note: "",
        check: Check::Equals { of: Select::unit("iterations").state(DEFAULT), value: 500_000.0 },
    },
    Conclusion {
        id: "pim-formula-1",
        text: "SHA-512 and Whirlpool take 15000 + 1000 PIM iterations, by default PIM 485",
        source: "000:186-192",
        note: "",
        check: Check::All(&[
            Check::Equals {
                of: iterations(&["HMAC-SHA-512", "HMAC-Whirlpool"], DEFAULT),
                value: 15_000.0 + 1000.0 * 485.0,
            },
            Check::Equals {
                of: iterations(&["HMAC-SHA-512", "HMAC-Whirlpool"], &["PIM large"]),
                value: 15_000.0 + 1000.0 * 9999.0,
            },
        ]),
    },
    Conclusion {
        id: "pim-formula-2",
        text: "the other PRFs take 2048 PIM iterations, by default PIM 98",
        source: "000:190-193",
        note: "true only of system encryption, which was not measured",
        check: Check::All(&[
            Check::Equals {
                of: iterations(&["HMAC-SHA-256", "HMAC-RIPEMD-160", "HMAC-STREEBOG"], DEFAULT),
                value: 2048.0 * 98.0,
            },
            Check::Equals {
                of: iterations(
                    &["HMAC-SHA-256", "HMAC-RIPEMD-160", "HMAC-STREEBOG"],
                    &["PIM large"],
                ),
                value: 2048.0 * 9999.0,
            },
        ]),
    },
    Conclusion {
        id: "slowest-prf",
        text: "Streebog takes longest, for its user and for an attacker",
        source: "000:171-177",
        note: "compared per iteration, because RIPEMD-160 has 31 % more iterations by default",
        check: Check::Ranked {
            among: Select::unit("us/iteration"),
            along: Dimension::Cipher,
            who: "HMAC-STREEBOG",
            rank: Rank::Last,
            share: Share::All,
        },
    },
    Conclusion {
        id: "shortest-prf",
        text: "SHA-512 takes the shortest time",
        source: "001:212-283",
        note: "by default and with the large PIM",
        check: Check::Ranked {
            among: Select::unit("ms").work(&["derive key"]),
            along: Dimension::Cipher,
            who: "HMAC-SHA-512",
            rank: Rank::First,
            share: Share::All,
        },
    },
    Conclusion {
        id: "unknown-pim",
        text: "guessing is several hundred times harder if the number of iterations is not known",
        source: "000:147-153",
        note: "this depends on how many PIMs an attacker must try; `cryptbench kdf` calculates it",
        check: Check::Published(Select::unit("PIMs to try")),
    },
    Conclusion {
        id: "flash-small-reads",
        text: "flash: small blocks are read 20 % slower",
        source: "001:386",
        note: "8 to 128 KB are read faster when encrypted, which the study does not mention",
        check: speed(FLASH, READ, SMALL, 20.0),
    },
    Conclusion {
        id: "flash-large-reads",
        text: "flash: large blocks are read 10 % slower",
        source: "001:387",
        note: "",
        check: speed(FLASH, READ, LARGE, 10.0),
    },
    Conclusion {
        id: "flash-peak-writes",
        text: "flash: written 5 to 10 % slower at the block at which it is fastest",
        source: "001:389",
        note: "8 MB, where encrypted writing peaks; a stated range is taken as it stands",
        check: drop("MiB/s", FLASH, WRITE, (8 * MIB, 8 * MIB), Band::between(5.0, 10.0)),
    },
    Conclusion {
        id: "flash-iops",
        text: "flash: 20 % fewer IO/s",
        source: "001:393",
        note: "a mean of changes of both signs; the plain IO/s come from a different run than the plain MB/s",
        check: rate(FLASH, BOTH, ALL, 20.0),
    },
    Conclusion {
        id: "flash-access-time",
        text: "flash: the access time does not change",
        source: "001:345",
        note: LOST,
        check: access_time(FLASH),
    },
    Conclusion {
        id: "ssd-small-speed",
        text: "SSD: small blocks are 40 % slower",
        source: "001:450",
        note: "about 40 % is what remains",
        check: Check::All(&[speed(SSD, READ, SMALL, 40.0), speed(SSD, WRITE, SMALL, 40.0)]),
    },
    Conclusion {
        id: "ssd-large-reads",
        text: "SSD: large blocks are read 14 % slower",
        source: "001:451",
        note: "",
        check: speed(SSD, READ, LARGE, 14.0),
    },
    Conclusion {
        id: "ssd-large-writes",
        text: "SSD: large blocks are written 10 % slower",
        source: "001:451",
        note: "",
        check: speed(SSD, WRITE, LARGE, 10.0),
    },
    Conclusion {
        id: "ssd-small-iops",
        text: "SSD: 40 % fewer IO/s with small blocks",
        source: "001:452",
        note: "about 40 % is what remains",
        check: rate(SSD, BOTH, SMALL, 40.0),
    },
    Conclusion {
        id: "ssd-large-iops",
        text: "SSD: 15 % fewer IO/s with large blocks",
        source: "001:452",
        note: "few IO/s, given as whole numbers: a digit is up to 10 %",
        check: rate(SSD, BOTH, LARGE, 15.0),
    },
    Conclusion {
        id: "ssd-access-time",
        text: "SSD: the access time does not change",
        source: "000:268-270; 001:403, 447",
        note: "within the range of its runs (the study does not state which of them were plain); the difference of 16 \
               us is as large as the cost per request that the SSD shows elsewhere (E19)",
        check: access_time(SSD),
    },
    Conclusion {
        id: "hdd-small-speed",
        text: "HDD: small blocks are 70 % slower",
        source: "001:499",
        note: "",
        check: Check::All(&[speed(HDD, READ, SMALL, 70.0), speed(HDD, WRITE, SMALL, 70.0)]),
    },
    Conclusion {
        id: "hdd-large-speed",
        text: "HDD: large blocks are 40 % slower",
        source: "001:499",
        note: "",
        check: Check::All(&[speed(HDD, READ, LARGE, 40.0), speed(HDD, WRITE, LARGE, 40.0)]),
    },
    Conclusion {
        id: "hdd-small-iops",
        text: "HDD: 70 % fewer IO/s with small blocks",
        source: "001:500",
        note: "",
        check: rate(HDD, BOTH, SMALL, 70.0),
    },
    Conclusion {
        id: "hdd-large-iops",
        text: "HDD: 40 % fewer IO/s with large blocks",
        source: "001:500",
        note: "few and whole IO/s",
        check: rate(HDD, BOTH, LARGE, 40.0),
    },
    Conclusion {
        id: "hdd-access-time",
        text: "HDD: the access time does not change",
        source: "001:494",
        note: LOST,
        check: access_time(HDD),
    },
    Conclusion {
        id: "cpu-usage",
        text: "encryption takes 3 to 4.5 % more CPU",
        source: "000:232, 270, 289; 001:507",
        note: "the figure's values are not legible in the copy; the study does not state whether these are points or \
            percent",
        check: Check::Drop {
            base: Select::unit("% CPU").state(ENCRYPTED),
            other: Select::unit("% CPU").state(PLAIN),
            of: Denominator::Base,
            within: Band::between(3.0, 4.5),
        },
    },
    Conclusion {
        id: "cpu-by-device",
        text: "the CPU load rises most on the HDD, and least on the SSD",
        source: "001:346, 448, 497",
        note: "4 % on flash, 3 % on the SSD, 4.5 % on the HDD, each of them \"about\"",
        check: Check::All(&[
            Check::Ranked {
                among: MORE_CPU,
                along: Dimension::Device,
                who: "hdd",
                rank: Rank::First,
                share: Share::All,
            },
            Check::Ranked {
                among: MORE_CPU,
                along: Dimension::Device,
                who: "ssd",
                rank: Rank::Last,
                share: Share::All,
            },
        ]),
    },
    Conclusion {
        id: "order-of-losses",
        text: "the HDD loses most, then the SSD, then the flash drive",
        source: "001:386-393, 450-452, 499-500",
        note: "reads and writes together, small blocks and large ones",
        check: Check::All(&[
            loses_more(HDD, SSD, SMALL),
            loses_more(SSD, FLASH, SMALL),
            loses_more(HDD, SSD, LARGE),
            loses_more(SSD, FLASH, LARGE),
        ]),
    },
    Conclusion {
        id: "writes-like-reads",
        text: "writes drop as reads do",
        source: "000:349",
        note: "within 3 points, for small and large blocks of each device",
        check: Check::All(&[
            same(FLASH, SMALL),
            same(FLASH, LARGE),
            same(SSD, SMALL),
            same(SSD, LARGE),
            same(HDD, SMALL),
            same(HDD, LARGE),
        ]),
    },
    Conclusion {
        id: "small-suffer-more",
        text: "small blocks suffer more than large ones",
        source: "000:316-323",
        note: "in reads and writes of every device",
        check: Check::All(&[
            more(SSD, READ),
            more(SSD, WRITE),
            more(HDD, READ),
            more(HDD, WRITE),
            more(FLASH, READ),
            more(FLASH, WRITE),
        ]),
    },
    Conclusion {
        id: "hardware-encryption",
        text: "self-encrypting drives are affected in the same way",
        source: "000:91-95",
        note: "",
        check: Check::Published(Select::unit("MiB/s").system(&["self-encrypting drive"])),
    },
    Conclusion {
        id: "archive-negligible",
        text: "the loss is negligible for archives and backups",
        source: "000, conclusions",
        note: "no copying of files was measured",
        check: Check::Published(Select::unit("MiB/s").work(&["archive", "backup", "copy"])),
    },
    Conclusion {
        id: "whole-disk-on-ssd-only",
        text: "encrypt a whole disk only if it is an SSD",
        source: "000, conclusions",
        note: "no system partition was measured",
        check: Check::Published(Select::unit("MiB/s").place(&["system partition"])),
    },
];

const MORE_CPU: Select = Select::unit("% more CPU").work(&["CPU usage increase"]);

const fn loses_more(more: Names, less: Names, blocks: (u64, u64)) -> Check {
    Check::LargerDrop {
        larger: atto("MiB/s", more, BOTH, blocks),
        smaller: atto("MiB/s", less, BOTH, blocks),
    }
}

const fn same(device: Names, blocks: (u64, u64)) -> Check {
    Check::SameDrop {
        one: atto("MiB/s", device, READ, blocks),
        two: atto("MiB/s", device, WRITE, blocks),
        points: POINTS,
    }
}

const fn more(device: Names, work: Names) -> Check {
    Check::LargerDrop {
        larger: atto("MiB/s", device, work, SMALL),
        smaller: atto("MiB/s", device, work, LARGE),
    }
}
