//! The conclusions of study C.

use crate::check::{Band, Check, Conclusion, Denominator, Share};
use crate::observation::Select;

const LOST: Select = Select::unit("% lost");
const SECONDS: Select = Select::unit("s");
const SERIES: Select = Select::unit("% between series");
const STACKED: &[&str] = &["eCryptfs", "EncFS"];
const BLOCK: &[&str] = &["LUKS", "TrueCrypt 7.1a"];
const PARTITION: &[&str] = &["partition"];
const CONTAINER: &[&str] = &["container file"];
const NO_CELLS: &str = "the 1638 cells of each series were not published";

pub(super) const CONCLUSIONS: &[Conclusion] = &[
    Conclusion {
        id: "losses",
        text: "LUKS loses 7.9 %, TrueCrypt 7 %, eCryptfs 49.5 % and EncFS 94.5 % of the speed",
        source: "003:99-157",
        note: NO_CELLS,
        check: Check::Drop {
            base: Select::unit("KiB/s").work(&["iozone"]).system(&["none (ext4)"]),
            other: Select::unit("KiB/s").work(&["iozone"]),
            of: Denominator::Larger,
            within: Band::about(7.9, 0.05),
        },
    },
    Conclusion {
        id: "stacked-lose-more",
        text: "the file systems on top of another lose more than the block devices",
        source: "003:99-157",
        note: "",
        check: Check::Better {
            better: LOST.system(BLOCK).place(PARTITION),
            worse: LOST.system(STACKED).place(&["directory"]),
            share: Share::All,
        },
    },
    Conclusion {
        id: "encfs-slowest",
        text: "EncFS is the slowest",
        source: "003:157",
        note: "",
        check: Check::All(&[
            Check::Better {
                better: LOST
                    .system(&["LUKS", "TrueCrypt 7.1a", "eCryptfs"])
                    .place(&["partition", "directory"]),
                worse: LOST.system(&["EncFS"]).place(&["directory"]),
                share: Share::All,
            },
            Check::Better {
                better: SECONDS
                    .system(&["LUKS", "TrueCrypt 7.1a", "eCryptfs"])
                    .place(&["partition", "directory"]),
                worse: SECONDS.system(&["EncFS"]).place(&["directory"]),
                share: Share::All,
            },
        ]),
    },
    Conclusion {
        id: "truecrypt-before-luks",
        text: "TrueCrypt is slightly faster than LUKS",
        source: "003:163",
        note: "a difference counts if it exceeds that of identical series",
        check: Check::All(&[
            Check::Better {
                better: LOST.system(&["TrueCrypt 7.1a"]),
                worse: LOST.system(&["LUKS"]),
                share: Share::All,
            },
            Check::Differ {
                a: LOST.system(&["TrueCrypt 7.1a"]),
                b: LOST.system(&["LUKS"]),
                noise: SERIES.system(BLOCK),
            },
        ]),
    },
    Conclusion {
        id: "truecrypt-fuse",
        text: "TrueCrypt should be slower than LUKS, because its data passes through FUSE",
        source: "003:17, 163",
        note: "on Linux only its control files do; the path of the data was not measured",
        check: Check::Published(Select::unit("% CPU").system(&["TrueCrypt 7.1a"])),
    },
    Conclusion {
        id: "series-differ",
        text: "identical series differ by up to 5 %",
        source: "003:71",
        note: "means of the series; largest differences were not published",
        check: Check::Largest { of: SERIES, within: Band::about(5.0, 0.5) },
    },
    Conclusion {
        id: "dd-speeds",
        text: "the speeds that dd prints",
        source: "003:85-175",
        note: "524288000 bytes",
        check: Check::Rederives,
    },
    Conclusion {
        id: "container-slower",
        text: "a container file is slower than a partition",
        source: "003:177",
        note: "one run each, with unknown noise (E43)",
        check: Check::Better {
            better: SECONDS.system(BLOCK).place(PARTITION),
            worse: SECONDS.system(BLOCK).place(CONTAINER),
            share: Share::All,
        },
    },
];
