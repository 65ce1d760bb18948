//! The rows of the table, as data.

/// A row.
pub struct Row {
    /// The argument of `--only`.
    pub name: &'static str,
    /// The property that is proved.
    pub what: &'static str,
    /// The row's share of the time, relative to the others.
    pub share: u32,
    pub least: Least,
    /// Tests that run once.
    pub once: &'static [Tests],
    /// Tests that are repeated with new seeds.
    pub again: &'static [Tests],
    /// Work that is not done by a test of the workspace.
    pub special: Option<Special>,
    /// The deliberate faults.
    pub broken: &'static [Broken],
}

/// Minimum counts.
#[derive(Clone, Copy)]
pub enum Least {
    /// Minimum total in this unit.
    OfAll(&'static str, u64),
    /// Minimum count of each line.
    OfEach(u64),
}

/// Tests of a test binary whose names contain `filter`.
#[derive(Clone, Copy)]
pub struct Tests {
    /// The folder of the crate and the name of the target, such as `volume integration`.
    pub binary: &'static str,
    pub filter: &'static str,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Special {
    Fuzzing,
    Sanitized,
    Reproducible,
}

/// A deliberate fault, and the check that must find it.
pub struct Broken {
    /// The fault that the test applies.
    pub name: &'static str,
    /// The fault, as shown in the table.
    pub what: &'static str,
    pub test: Tests,
}

const fn tests(binary: &'static str, filter: &'static str) -> Tests {
    Tests { binary, filter }
}

const fn broken(name: &'static str, what: &'static str, test: Tests) -> Broken {
    Broken { name, what, test }
}

pub const ROWS: &[Row] = &[
    Row {
        name: "volumes",
        what: "volumes of other programs opened to the last byte, and other programs on the other side",
        share: 0,
        least: Least::OfAll("volumes", 70),
        once: &[
            tests("volume integration", "tcrypt::fixtures::every"),
            tests("volume integration", "tcrypt::images::truecrypt"),
            tests("volume integration", "tcrypt::images::veracrypt"),
            tests("volume integration", "tcrypt::oracle"),
            tests("volume integration", "luks::images"),
            tests("volume integration", "luks::tools"),
            tests("volume integration", "bitlocker::images::every"),
            tests("volume integration", "bitlocker::tools"),
            tests("volume integration", "filevault::images"),
            tests("volume integration", "filevault::tools"),
        ],
        again: &[],
        special: None,
        broken: &[broken(
            "plaintext",
            "a bit of the plaintext is flipped",
            tests("volume integration", "tcrypt::fixtures::every"),
        )],
    },
    Row {
        name: "bytes",
        what: "bytes written through each system, taken down, brought up and read back",
        share: 34,
        least: Least::OfEach(1 << 30),
        once: &[],
        again: &[tests("system integration", "bytes::")],
        special: None,
        broken: &[broken(
            "stale",
            "a sector is put back to what it held before",
            tests("system integration", "bytes::builtin_mounted"),
        )],
    },
    Row {
        name: "kills",
        what: "runs killed at random moments, and nothing left after cleanup",
        share: 20,
        least: Least::OfAll("kills", 200),
        once: &[],
        again: &[tests("system integration", "killed::")],
        special: None,
        broken: &[broken(
            "cleanup",
            "cleanup does nothing",
            tests("system integration", "killed::builtin_mounted_killed"),
        )],
    },
    Row {
        name: "power",
        what: "power cuts under a load of writes: what was acknowledged after a flush is there, and file systems are sound",
        share: 16,
        least: Least::OfAll("cuts", 100),
        once: &[],
        again: &[
            tests("export integration", "power::"),
            tests("cli guest", "power::no_acknowledged_write_is_lost_in_a_power_cut"),
        ],
        special: None,
        broken: &[
            broken(
                "flush",
                "flushes do not reach the device below a mounted volume",
                tests("export integration", "power::mounted"),
            ),
            broken(
                "flush",
                "flushes do not reach the device below an NBD server",
                tests("export integration", "power::served"),
            ),
        ],
    },
    Row {
        name: "files",
        what: "a file system in a mounted volume against a model in memory, and fio with verification",
        share: 8,
        least: Least::OfAll("operations", 1000),
        once: &[],
        again: &[tests("export integration", "file_systems::")],
        special: None,
        broken: &[
            broken(
                "write",
                "the device below loses one write in many",
                tests("export integration", "file_systems::a_file_system_behaves_as_its_model"),
            ),
            broken(
                "write",
                "the same under fio",
                tests("export integration", "file_systems::fio_reads_what_it_wrote"),
            ),
        ],
    },
    Row {
        name: "damaged",
        what: "damaged input judged in bounded time and memory, without a crash",
        share: 12,
        least: Least::OfAll("inputs", 10_000),
        once: &[],
        again: &[
            tests("volume integration", "damaged::"),
            tests("export integration", "nbd::damaged::"),
            tests("cli integration", "damaged::"),
        ],
        special: None,
        broken: &[
            broken(
                "limits",
                "the limits of key derivation are off",
                tests("volume integration", "damaged::luks2_metadata"),
            ),
            broken(
                "panic",
                "the reader of records panics at a number that it does not expect",
                tests("cli integration", "damaged::records"),
            ),
            broken(
                "nbd",
                "an NBD server that shall be read-only takes writes",
                tests("export integration", "nbd::damaged::"),
            ),
        ],
    },
    Row {
        name: "hostile",
        what: "attacks on root: mount points swapped, confined processes that lie, plans and names that are scripts, targets swapped under a run",
        share: 8,
        least: Least::OfAll("attacks", 100),
        once: &[tests("fleet integration", "hostile_nodes::")],
        again: &[
            tests("cli integration", "hostile_volume::"),
            tests("cli integration", "hostile_directory::"),
            tests("fleet integration", "hostile_plans::"),
        ],
        special: None,
        broken: &[broken(
            "links",
            "a mount point is looked up by its path once more",
            tests("cli integration", "hostile_volume::swapped::a_mount"),
        )],
    },
    Row {
        name: "fuzzing",
        what: "parsers of a stranger's bytes under libFuzzer",
        share: 12,
        least: Least::OfAll("executions", 1_000_000),
        once: &[],
        again: &[],
        special: Some(Special::Fuzzing),
        broken: &[broken(
            "planted",
            "a target that reads behind the end of its input",
            tests("", ""),
        )],
    },
    Row {
        name: "unsafe",
        what: "tests of the crates with `unsafe` under Miri and AddressSanitizer",
        share: 0,
        least: Least::OfAll("tests", 50),
        once: &[],
        again: &[],
        special: Some(Special::Sanitized),
        broken: &[broken(
            "aligned",
            "the aligned buffer allocates a byte less than it says (Miri)",
            tests("", ""),
        )],
    },
    Row {
        name: "devices",
        what: "devices that fail, end early, are full, disappear or hang: what was said, and what was left",
        share: 6,
        least: Least::OfAll("faults", 20),
        once: &[
            tests("load integration", "engine::faults"),
            tests("runner integration", "failing_storage"),
        ],
        again: &[tests("cli integration", "bad_devices::")],
        special: None,
        broken: &[broken(
            "error",
            "the error of the device is told as success",
            tests("cli integration", "bad_devices::"),
        )],
    },
    Row {
        name: "build",
        what: "builds in two directories, and one hash",
        share: 0,
        least: Least::OfAll("builds", 2),
        once: &[],
        again: &[],
        special: Some(Special::Reproducible),
        broken: &[broken("path", "a program that holds the path of its sources", tests("", ""))],
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_has_work_and_a_check_that_was_seen_to_fail() {
        for row in ROWS {
            let works = !row.once.is_empty() || !row.again.is_empty() || row.special.is_some();
            assert!(works && !row.broken.is_empty(), "{}", row.name);
            assert!(row.again.is_empty() || row.share > 0, "{}", row.name);
        }
    }
}
