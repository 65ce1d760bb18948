//! The conclusions of study B.

use crate::check::{Band, Check, Conclusion, Share};
use crate::observation::Select;

const SECONDS: Select = Select::unit("s").work(&["random", "zero"]);

pub(super) const CONCLUSIONS: &[Conclusion] = &[
    Conclusion {
        id: "slower",
        text: "the encrypted volume is slower, with random data and with zeros",
        source: "002:23-28",
        note: "",
        check: Check::Better {
            better: SECONDS.state(&["plain"]),
            worse: SECONDS.state(&["encrypted"]),
            share: Share::All,
        },
    },
    Conclusion {
        id: "seven-times",
        text: "about 7 times slower",
        source: "002:28",
        note: "what rounds to 7",
        check: Check::Times {
            above: SECONDS.state(&["encrypted"]),
            below: SECONDS.state(&["plain"]),
            within: Band::about(7.0, 0.5),
        },
    },
    Conclusion {
        id: "speeds",
        text: "the speeds in the table",
        source: "002:23-26, 89-91",
        note: "",
        check: Check::Rederives,
    },
    Conclusion {
        id: "amount",
        text: "512 MB were written each time",
        source: "002:18, 91",
        note: "the script's number of blocks of 1 MiB; ratios do not depend on it, speeds would be a quarter",
        check: Check::Equals { of: Select::unit("blocks").work(&["count"]), value: 512.0 },
    },
    Conclusion {
        id: "local-ssd",
        text: "what is rewritten often belongs on the computer's own SSD",
        source: "002, conclusions",
        note: "the SSD was not measured",
        check: Check::Published(Select::unit("MB/s").device(&["ssd"])),
    },
];
