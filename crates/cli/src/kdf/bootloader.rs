//! `cryptbench kdf --bootloader`: whether a boot loader can unlock a LUKS2 keyslot, and how long that takes.
//!
//! GRUB's abilities, according to its source code: GRUB has supported Argon2 since 2.14 (`grub-core/disk/luks2.c`,
//! module `argon2`); older versions print "Argon2 not supported". GRUB runs libgcrypt's portable code, on the one CPU
//! that the firmware starts. Argon2 needs contiguous memory. On EFI, GRUB starts with 32 MiB (`DEFAULT_HEAP_SIZE` in
//! `grub-core/kern/efi/mm.c`); since 2.12, it requests more memory from the firmware, which provides its largest free
//! block.

use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use cryptbench_blockdev::BlockDevice;
use cryptbench_kdf::{Argon2Kind, Argon2Params, Derivation, Effort, KdfError, Tier};
use cryptbench_view::columns::bare;
use cryptbench_view::wrap;
use cryptbench_volume::Access;
use cryptbench_volume::format::luks;
use serde_json::{Value, json};

use super::wording::{cost, span};
use crate::exit::Refusal;
use crate::say::{print, terminal_style};
use crate::volume::args::{ConfinementArgs, UnlockArgs};
use crate::volume::confined::{self, Given, Task};

/// GRUB's initial memory on EFI.
const FIRST_HEAP_KIB: u32 = 32 << 10;

/// cryptsetup's default maximum, which it uses on machines that are fast enough (`DEFAULT_LUKS2_MEMORY_KB`).
const USUAL_KIB: u32 = 1 << 20;

/// The part of the initial memory that GRUB's modules leave free.
const SURE_KIB: u32 = FIRST_HEAP_KIB / 2;

/// Contiguous memory that is free on most current machines.
const LIKELY_KIB: u32 = USUAL_KIB / 2;

/// cryptsetup's minimum number of passes.
const PASSES: u32 = 4;

/// Memory sizes for which the table shows the cost.
const CHOICES_KIB: [u32; 6] = [16 << 10, 64 << 10, 128 << 10, 256 << 10, 512 << 10, USUAL_KIB];

/// The cost that is measured. Other costs' times are derived from this measurement, because time is proportional to
/// memory and passes.
const MEASURED: Argon2Params = Argon2Params { memory_kib: 64 << 10, passes: 1, lanes: 1 };

/// Number of PBKDF2 iterations that is measured. The times for other numbers are derived in the same way.
const MEASURED_ITERATIONS: u32 = 100_000;

/// Number of measurements; the median is used.
const ROUNDS: usize = 5;

/// Length of a keyslot's key in bytes.
const KEY_BYTES: usize = 64;

/// A keyslot, or a cost that a keyslot could have.
struct Row {
    name: String,
    derivation: Derivation,
    seconds: f64,
}

/// Fails if the header cannot be read or the derivation fails.
pub fn answer(
    volume: Option<&Path>,
    confinement: &ConfinementArgs,
    json: bool,
) -> anyhow::Result<ExitCode> {
    let tell = |asked, of_volume| -> anyhow::Result<ExitCode> {
        let rows = measured(asked)?;
        let width = terminal_style(false).width;
        print(&if json { object(&rows) } else { text(&rows, of_volume, width) });
        Ok(ExitCode::SUCCESS)
    };
    let Some(path) = volume else {
        return tell(CHOICES_KIB.map(|kib| (size(kib), argon2(kib))).into(), false);
    };
    let (volume, confinement) = (path.to_owned(), confinement.clone());
    let unlock = UnlockArgs { volume, confinement, ..UnlockArgs::default() };
    let task = Task::on(&unlock, Access::ReadOnly);
    let work = |given: Given| tell(keyslots(path, &*given.target.device)?, true);
    let stop = AtomicBool::new(false);
    match confined::is_child() {
        true => task.in_child(work, &stop),
        false => task.run(None, |_| Ok(Vec::new()), work, &stop),
    }
}

fn argon2(memory_kib: u32) -> Derivation {
    let params = Argon2Params { memory_kib, passes: PASSES, lanes: 1 };
    Derivation::Argon2 { kind: Argon2Kind::Id, params }
}

fn keyslots(path: &Path, device: &dyn BlockDevice) -> anyhow::Result<Vec<(String, Derivation)>> {
    let slots = luks::keyslot_costs(device)
        .map_err(|error| Refusal::target(path, &cryptbench_text::chain(&error)))?;
    if slots.is_empty() {
        return Err(Refusal::target(path, "has no usable keyslot").into());
    }
    Ok(slots.into_iter().map(|(id, cost)| (format!("keyslot {id}"), cost)).collect())
}

fn measured(asked: Vec<(String, Derivation)>) -> Result<Vec<Row>, KdfError> {
    let mut rows = Vec::<Row>::new();
    for (name, derivation) in asked {
        let sample = sample(&derivation);
        let alike = rows.iter().find(|r| self::sample(&r.derivation).name() == sample.name());
        let seconds = match alike {
            Some(row) => row.seconds / row.derivation.work() as f64,
            None => median(&sample)? / sample.work() as f64,
        };
        let seconds = seconds * derivation.work() as f64;
        rows.push(Row { name, derivation, seconds });
    }
    Ok(rows)
}

/// The keyslot's KDF at the measured cost.
fn sample(derivation: &Derivation) -> Derivation {
    match *derivation {
        Derivation::Pbkdf2 { prf, .. } => {
            Derivation::Pbkdf2 { prf, iterations: MEASURED_ITERATIONS }
        }
        Derivation::Argon2 { kind, .. } => Derivation::Argon2 { kind, params: MEASURED },
    }
}

/// Median time in seconds on one thread, in portable code.
fn median(derivation: &Derivation) -> Result<f64, KdfError> {
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        let began = Instant::now();
        let effort = Effort::new(Tier::Soft, 1);
        derivation.derive(b"no passphrase", &[7; 32], &mut [0; KEY_BYTES], effort)?;
        times.push(began.elapsed().as_secs_f64());
    }
    Ok(cryptbench_stats::median(&times).expect("there were rounds"))
}

/// Whether GRUB can unlock the keyslot, in words for a table.
fn verdict(derivation: &Derivation) -> &'static str {
    match derivation {
        Derivation::Pbkdf2 { .. } => "yes, since GRUB 2.06",
        Derivation::Argon2 { params, .. } => match params.memory_kib {
            kib if kib <= SURE_KIB => "2.14: yes",
            kib if kib <= LIKELY_KIB => "2.14: usually; needs one free block",
            _ => "2.14: may fail; needs one free block",
        },
    }
}

fn size(kib: u32) -> String {
    format!("{} MiB", kib >> 10)
}

fn text(rows: &[Row], is_volume: bool, width: usize) -> String {
    let named = |row: &Row| match (&row.derivation, is_volume) {
        (_, false) => row.name.clone(),
        (derivation, true) => format!("{}: {} {}", row.name, derivation.name(), cost(derivation)),
    };
    let lines = rows.iter().map(|row| {
        vec![named(row), format!("~{}", span(row.seconds)), verdict(&row.derivation).to_owned()]
    });
    let first = if is_volume { "keyslot" } else { "Argon2id, 4 passes" };
    let headings = [first, "one thread", "unlocks in GRUB"].map(str::to_owned).into();
    let section = |name: &str, text: &str| wrap(text, &format!("{name:7}"), "       ", width);
    let advice = format!(
        "A separate keyslot for the boot loader: cryptsetup luksAddKey --pbkdf argon2id --pbkdf-memory {} \
         --pbkdf-parallel 1 DEVICE",
        64 << 10
    );
    [
        wrap(&headline(rows, is_volume), "", "", width),
        String::new(),
        bare(headings, lines.collect(), 2, width),
        "~ estimated with portable code on this CPU, as in GRUB; firmware may be slower".to_owned(),
        section("Take", &advice),
        section("Note", "GRUB before 2.14 does not support Argon2 and unlocks only PBKDF2 keyslots. Above 32 MiB, GRUB \
                         needs one contiguous block of memory from the firmware, which not every machine can provide."),
    ]
    .join("\n")
}

fn headline(rows: &[Row], is_volume: bool) -> String {
    let of = |kib: u32| rows.iter().find(|row| row.derivation.memory_kib() == kib);
    match (is_volume, of(64 << 10), of(USUAL_KIB)) {
        (false, Some(small), Some(usual)) => format!(
            "In a boot loader, an Argon2id keyslot with 64 MiB unlocks in about {}; one with cryptsetup's usual {} takes \
             about {} and may not get enough memory.",
            span(small.seconds),
            size(USUAL_KIB),
            span(usual.seconds)
        ),
        _ => {
            let all = |is: fn(&Derivation) -> bool| rows.iter().all(|row| is(&row.derivation));
            let slowest = rows.iter().map(|row| row.seconds).fold(0.0, f64::max);
            let which = match () {
                () if all(|d| d.memory_kib() == 0) => {
                    "Every keyslot can be unlocked in GRUB 2.06 or later"
                }
                () if all(|d| d.memory_kib() <= SURE_KIB) => {
                    "Every keyslot can be unlocked in GRUB 2.14 or later"
                }
                () => "It may be impossible to unlock some keyslots in a boot loader",
            };
            format!("{which}; the slowest takes about {}.", span(slowest))
        }
    }
}

fn object(rows: &[Row]) -> String {
    let row = |row: &Row| -> Value {
        let (passes, lanes) = match row.derivation {
            Derivation::Argon2 { params, .. } => (Some(params.passes), Some(params.lanes)),
            Derivation::Pbkdf2 { .. } => (None, None),
        };
        let iterations = match row.derivation {
            Derivation::Pbkdf2 { iterations, .. } => Some(iterations),
            Derivation::Argon2 { .. } => None,
        };
        json!({
            "name": row.name,
            "function": row.derivation.name(),
            "iterations": iterations,
            "memory_kib": row.derivation.memory_kib(),
            "passes": passes,
            "lanes": lanes,
            "s": row.seconds,
            "verdict": verdict(&row.derivation),
        })
    };
    format!(
        "{:#}",
        json!({ "threads": 1, "tier": "soft", "rows": rows.iter().map(row).collect::<Vec<_>>() })
    )
}
