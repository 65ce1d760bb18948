//! The conclusions, each as a figure of a record and the range stated by the study.

use std::ops::Range;

use cryptbench_catalog::{
    BUILTIN_MOUNTED, CRYFS, DM_CRYPT, ECRYPTFS, ENCFS, GOCRYPTFS, SECUREFS, System, TRUECRYPT,
    VERACRYPT,
};
use cryptbench_record::{Arm, Headline, Operation, Pattern, Workload};

use super::figures::{Device, Figure, View, kept, part};
use super::{Part, Told};
use crate::study::Letter;

/// A conclusion and its test, which returns no parts if a record does not contain the data.
pub(super) struct Claim {
    pub(super) study: Letter,
    pub(super) id: &'static str,
    pub(super) text: &'static str,
    pub(super) test: fn(&View<'_>) -> Vec<Part>,
}

const MIB: u64 = 1 << 20;

/// Tolerance for a stated loss in percentage points: study A rounds its percentages.
const POINTS: f64 = 3.0;

/// ln of a ratio within which two speeds count as equal.
const ALIKE: Range<f64> = -0.03..0.03;

const SLOWER: Range<f64> = f64::NEG_INFINITY..0.0;
const FASTER: Range<f64> = 0.0..f64::INFINITY;

const fn a(id: &'static str, text: &'static str, test: fn(&View<'_>) -> Vec<Part>) -> Claim {
    Claim { study: Letter::A, id, text, test }
}

const fn b(id: &'static str, text: &'static str, test: fn(&View<'_>) -> Vec<Part>) -> Claim {
    Claim { study: Letter::B, id, text, test }
}

const fn c(id: &'static str, text: &'static str, test: fn(&View<'_>) -> Vec<Part>) -> Claim {
    Claim { study: Letter::C, id, text, test }
}

const fn d(id: &'static str, text: &'static str, test: fn(&View<'_>) -> Vec<Part>) -> Claim {
    Claim { study: Letter::D, id, text, test }
}

pub(super) const CLAIMS: &[Claim] = &[
    a("fastest-cipher", "AES is the fastest cipher on this CPU", fastest_cipher),
    a("slowest-prf", "Streebog takes longest for each iteration", |v| prf(v, "streebog", true)),
    a("shortest-prf", "SHA-512 takes the shortest time by default", |v| prf(v, "sha512", false)),
    a("ram-above-bus", "AES in RAM is several times as fast as the device", ram_above_bus),
    a("flash-small-reads", "flash: small blocks are read 20 % slower", |v| {
        lost(v, Device::Flash, &[Operation::Read], small, 20.0)
    }),
    a("flash-large-reads", "flash: large blocks are read 10 % slower", |v| {
        lost(v, Device::Flash, &[Operation::Read], large, 10.0)
    }),
    a("ssd-small-speed", "SSD: small blocks are 40 % slower", |v| {
        lost(v, Device::Ssd, &[Operation::Read, Operation::Write], small, 40.0)
    }),
    a("ssd-large-reads", "SSD: large blocks are read 14 % slower", |v| {
        lost(v, Device::Ssd, &[Operation::Read], large, 14.0)
    }),
    a("ssd-large-writes", "SSD: large blocks are written 10 % slower", |v| {
        lost(v, Device::Ssd, &[Operation::Write], large, 10.0)
    }),
    a("hdd-small-speed", "HDD: small blocks are 70 % slower", |v| {
        lost(v, Device::Hdd, &[Operation::Read, Operation::Write], small, 70.0)
    }),
    a("hdd-large-speed", "HDD: large blocks are 40 % slower", |v| {
        lost(v, Device::Hdd, &[Operation::Read, Operation::Write], large, 40.0)
    }),
    a("access-time", "the access time does not change", |v| {
        let access = |w: &Workload| {
            w.pattern == Pattern::Random
                && w.figure() == Some(Headline::Latency)
                && w.operation == Operation::Read
        };
        v.each(&ALIKE, Figure::as_loss, |arm| v.kept(arm, access))
    }),
    a("cpu-usage", "encryption takes 3 to 4.5 % more CPU", |v| {
        let surface = |w: &Workload| w.pattern == Pattern::Sampled || w.id == "surface";
        v.each(&(3.0..4.5), Figure::as_points, |arm| v.more_cpu(arm, surface))
    }),
    a("writes-like-reads", "writes drop as reads do", |v| {
        v.each(&ALIKE, Figure::as_times, |arm| {
            let of = |operation: Operation| {
                v.kept(arm, move |w| in_sequence(w) && is(w, &operation) && (small(w) || large(w)))
            };
            Some(of(Operation::Write)?.minus(of(Operation::Read)?))
        })
    }),
    a("small-suffer-more", "small blocks suffer more than large ones", |v| {
        v.each(&SLOWER, Figure::as_times, |arm| {
            let small = v.kept(arm, |w| in_sequence(w) && small(w))?;
            Some(small.minus(v.kept(arm, |w| in_sequence(w) && large(w))?))
        })
    }),
    a("archive-negligible", "the loss is negligible for archives and backups", |v| {
        v.each(&(ALIKE.start..f64::INFINITY), Figure::as_loss, |arm| {
            v.kept(arm, |w| in_sequence(w) && large(w))
        })
    }),
    b("slower", "the encrypted volume is slower, with random data and with zeros", |v| {
        v.each(&SLOWER, Figure::as_loss, |arm| v.kept(arm, is_copy))
    }),
    b("seven-times", "about 7 times slower", |v| {
        v.each(
            &(-(7.5_f64.ln())..-(6.5_f64.ln())),
            |f| opposite(f).as_times(),
            |arm| v.kept(arm, is_copy),
        )
    }),
    c("loss-luks", "LUKS loses 7.9 % of the speed", |v| lost_by(v, &[&DM_CRYPT], 7.9)),
    c("loss-truecrypt", "TrueCrypt loses 7 %", |v| lost_by(v, &[&TRUECRYPT], 7.0)),
    c("loss-ecryptfs", "eCryptfs loses 49.5 %", |v| lost_by(v, &[&ECRYPTFS], 49.5)),
    c("loss-encfs", "EncFS loses 94.5 %", |v| lost_by(v, &[&ENCFS], 94.5)),
    c("stacked-lose-more", "file systems on top of another lose more than block devices", |v| {
        between(v, STACKED, BLOCK)
    }),
    c("encfs-slowest", "EncFS is the slowest", |v| {
        between(v, &[&ENCFS], &[&DM_CRYPT, &TRUECRYPT, &VERACRYPT, &ECRYPTFS, &BUILTIN_MOUNTED])
    }),
    c("truecrypt-before-luks", "TrueCrypt is slightly faster than LUKS", |v| {
        between(v, &[&DM_CRYPT], &[&TRUECRYPT])
    }),
    c("container-slower", "a container file is slower than a partition", container_slower),
    c("series-differ", "identical series differ by up to 5 %", |v| {
        let series = v.record.plan.profile == "iozone";
        let apart = v.between_series().filter(|_| series);
        let told = |apart: f64| if apart <= 5.0 { Told::Holds } else { Told::DoesNotHold };
        let part = |apart| Part {
            of: "plain".to_owned(),
            told: told(apart),
            figure: format!("{apart:.1} % in the mean"),
        };
        apart.map(part).into_iter().collect()
    }),
    d("aes-random-read", "AES beats Serpent and Twofish in random reads on the HDD", |v| {
        on(v, &[Device::Hdd], |v| ciphers(v, "AES", &["SERPENT", "TWOFISH"], "rand-read-4k-q1"))
    }),
    d(
        "aes-sequential-write",
        "AES beats Serpent and Twofish in sequential writes on the HDD",
        |v| on(v, &[Device::Hdd], |v| ciphers(v, "AES", &["SERPENT", "TWOFISH"], "seq-write-4m")),
    ),
    d("aes-random-write", "AES beats Serpent and Twofish in random writes on the HDD", |v| {
        on(v, &[Device::Hdd], |v| ciphers(v, "AES", &["SERPENT", "TWOFISH"], "rand-write-4k-q1"))
    }),
    d(
        "twofish-sequential-read",
        "Twofish is faster than AES in sequential reads on SSHD and SSD",
        |v| on(v, &[Device::Sshd, Device::Ssd], |v| ciphers(v, "TWOFISH", &["AES"], "seq-read-4m")),
    ),
    d("aes-twofish-serpent", "AES and Twofish are consistently better than Serpent", |v| {
        FOUR.iter()
            .flat_map(|w| {
                ["AES", "TWOFISH"].into_iter().flat_map(|c| ciphers(v, c, &["SERPENT"], w))
            })
            .collect()
    }),
    d("programs", "one program is faster than the other with the same cipher", |v| {
        FOUR.iter().flat_map(|w| programs(v, w)).collect()
    }),
];

/// The patterns of Anvil that study D used.
const FOUR: [&str; 4] = ["seq-read-4m", "seq-write-4m", "rand-read-4k-q1", "rand-write-4k-q1"];

const STACKED: &[&System] = &[&ECRYPTFS, &ENCFS, &GOCRYPTFS, &CRYFS, &SECUREFS];
const BLOCK: &[&System] = &[&DM_CRYPT, &TRUECRYPT, &VERACRYPT, &BUILTIN_MOUNTED];

fn in_sequence(w: &Workload) -> bool {
    w.pattern == Pattern::Sequential
}

fn small(w: &Workload) -> bool {
    (512..=4096).contains(&w.block_size)
}

fn large(w: &Workload) -> bool {
    (MIB..=64 * MIB).contains(&w.block_size)
}

fn is(w: &Workload, operation: &Operation) -> bool {
    w.operation == *operation
}

/// A file written sequentially, as by dd.
fn is_copy(w: &Workload) -> bool {
    w.figure() == Some(Headline::Seconds) && w.fresh_file && w.trial_bytes.is_some()
}

fn opposite(figure: Figure) -> Figure {
    Figure { mean: -figure.mean, ..figure }
}

fn on(v: &View<'_>, devices: &[Device], test: fn(&View<'_>) -> Vec<Part>) -> Vec<Part> {
    match v.device() {
        Some(device) if devices.contains(&device) => test(v),
        _ => Vec::new(),
    }
}

/// A stated loss in sequential work on a kind of device.
fn lost(
    v: &View<'_>,
    device: Device,
    operations: &'static [Operation],
    blocks: fn(&Workload) -> bool,
    stated: f64,
) -> Vec<Part> {
    if v.device() != Some(device) {
        return Vec::new();
    }
    let work =
        move |w: &Workload| in_sequence(w) && blocks(w) && operations.iter().any(|o| is(w, o));
    v.each(&kept(stated - POINTS, stated + POINTS), Figure::as_loss, |arm| v.kept(arm, work))
}

fn is_of(arm: &Arm, systems: &[&System]) -> bool {
    systems.iter().any(|system| system.name == arm.system)
}

/// A stated loss of one system over iozone's cells.
fn lost_by(v: &View<'_>, systems: &[&System], stated: f64) -> Vec<Part> {
    if v.record.plan.profile != "iozone" {
        return Vec::new();
    }
    let of = |arm: &Arm| is_of(arm, systems).then(|| v.kept(arm, |_| true))?;
    v.each(&kept(stated - POINTS, stated + POINTS), Figure::as_loss, of)
}

/// Whether every system of one group is slower than every system of another, over all work of iozone and dd.
fn between(v: &View<'_>, slower: &[&System], faster: &[&System]) -> Vec<Part> {
    if !["iozone", "dd-copy"].contains(&v.record.plan.profile.as_str()) {
        return Vec::new();
    }
    let of = |systems: &[&System]| -> Vec<&Arm> {
        v.systems().filter(|arm| is_of(arm, systems)).collect()
    };
    let mut parts = Vec::new();
    for slow in of(slower) {
        for fast in of(faster) {
            let all: Vec<Figure> =
                v.workloads(|_| true).filter_map(|w| v.against(w, slow, fast)).collect();
            let name = format!("{} over {}", slow.label, fast.label);
            parts.extend(Figure::mean_of(&all).map(|f| part(&name, f, &SLOWER, Figure::as_times)));
        }
    }
    parts
}

/// Compares a container file on a partition with that partition, in the same system.
fn container_slower(v: &View<'_>) -> Vec<Part> {
    let on = |arm: &Arm, place: &str| arm.settings.get("on").is_some_and(|value| value == place);
    let but_for_the_place = |arm: &Arm| {
        let mut settings = arm.settings.clone();
        settings.remove("on");
        (arm.system.clone(), arm.cipher.clone(), arm.data_unit, settings)
    };
    let mut parts = Vec::new();
    for inner in v.systems().filter(|arm| on(arm, "container-in-partition")) {
        let is_outer =
            |arm: &&Arm| on(arm, "partition") && but_for_the_place(arm) == but_for_the_place(inner);
        let Some(outer) = v.systems().find(is_outer) else { continue };
        let all: Vec<Figure> =
            v.workloads(|_| true).filter_map(|w| v.against(w, inner, outer)).collect();
        let name = format!("{} over {}", inner.label, outer.label);
        parts.extend(Figure::mean_of(&all).map(|f| part(&name, f, &SLOWER, Figure::as_times)));
    }
    parts
}

/// The encrypted arms with one cipher, each with its program.
fn with_cipher<'a>(v: &View<'a>, cipher: &str) -> Vec<(&'a Arm, String)> {
    let of = |arm: &'a Arm| {
        let (program, its) = arm.program_and_cipher()?;
        (its == cipher).then_some((arm, program))
    };
    v.systems().filter_map(of).collect()
}

/// Whether a cipher is faster than others in the same program, for one workload.
fn ciphers(v: &View<'_>, better: &str, worse: &[&str], workload: &str) -> Vec<Part> {
    let Some(w) = v.workloads(|w| w.id == workload).next() else { return Vec::new() };
    let mut parts = Vec::new();
    let others: Vec<_> = worse.iter().flat_map(|cipher| with_cipher(v, cipher)).collect();
    for (one, program) in with_cipher(v, better) {
        let beside = others.iter().filter(|(a, p)| *p == program && a.data_unit == one.data_unit);
        for (other, _) in beside {
            let name = format!("{}: {} over {}", w.label, one.label, other.label);
            let figure = v.against(w, one, other);
            parts.extend(figure.map(|f| part(&name, f, &FASTER, Figure::as_times)));
        }
    }
    parts
}

/// Compares programs that use the same cipher: whether there is a difference at all.
fn programs(v: &View<'_>, workload: &str) -> Vec<Part> {
    let Some(w) = v.workloads(|w| w.id == workload).next() else { return Vec::new() };
    let mut parts = Vec::new();
    for cipher in ["AES", "SERPENT", "TWOFISH"] {
        let of = with_cipher(v, cipher);
        for (i, (one, program)) in of.iter().enumerate() {
            for (other, _) in of[i + 1..].iter().filter(|(_, other)| other != program) {
                let Some(f) = v.against(w, one, other) else { continue };
                let told = match (f.lies_in(&FASTER), f.lies_in(&SLOWER), f.lies_in(&ALIKE)) {
                    (Told::Holds, ..) | (_, Told::Holds, _) => Told::Holds,
                    (.., Told::Holds) => Told::DoesNotHold,
                    _ => Told::CannotBeTold,
                };
                let of = format!("{}: {} over {}", w.label, one.label, other.label);
                parts.push(Part { of, told, figure: f.as_times() });
            }
        }
    }
    parts
}

/// Compares AES with the fastest other cipher in RAM. Their spread is used as the interval.
fn fastest_cipher(v: &View<'_>) -> Vec<Part> {
    let Some(ram) = &v.record.in_ram else { return Vec::new() };
    let is_aes = |name: &str| name == "aes-256-xts";
    let Some(aes) = ram.ciphers.iter().find(|c| is_aes(&c.cipher)) else { return Vec::new() };
    let others = ram.ciphers.iter().filter(|c| !c.cipher.starts_with("aes-"));
    let Some(other) = others.max_by(|x, y| x.mean_mb_s.total_cmp(&y.mean_mb_s)) else {
        return Vec::new();
    };
    let spread = (aes.mean_spread_percent.hypot(other.mean_spread_percent)) / 100.0;
    let figure = Figure { mean: (aes.mean_mb_s / other.mean_mb_s).ln(), half_width: spread };
    vec![part(&format!("AES over {}", other.cipher), figure, &FASTER, Figure::as_times)]
}

/// Whether a PRF has the longest time per iteration, or the shortest time by default.
fn prf(v: &View<'_>, name: &str, longest: bool) -> Vec<Part> {
    let Some(ram) = &v.record.in_ram else { return Vec::new() };
    let plain = |text: &str| text.to_lowercase().replace(['-', '_'], "");
    let value = |d: &cryptbench_record::DerivationInRam| match longest {
        true => d.us_per_iteration.unwrap_or(f64::NAN),
        false => d.default_s,
    };
    let all: Vec<_> =
        ram.derivations.iter().filter(|d| value(d).is_finite() && !d.old_volumes_only).collect();
    let Some(it) = all.iter().find(|d| plain(&d.function).contains(name)) else {
        return Vec::new();
    };
    let others = all.iter().filter(|d| d.function != it.function);
    let by = |x: &&&cryptbench_record::DerivationInRam,
              y: &&&cryptbench_record::DerivationInRam| value(x).total_cmp(&value(y));
    let Some(next) = (if longest { others.max_by(by) } else { others.min_by(by) }) else {
        return Vec::new();
    };
    let spread = it.spread_percent.hypot(next.spread_percent) / 100.0;
    let figure = Figure { mean: (value(it) / value(next)).ln(), half_width: spread };
    let range = if longest { FASTER } else { SLOWER };
    vec![part(&format!("{} over {}", it.function, next.function), figure, &range, Figure::as_times)]
}

/// Compares AES in RAM with the highest speed of plain storage.
fn ram_above_bus(v: &View<'_>) -> Vec<Part> {
    let ram =
        v.record.in_ram.as_ref().and_then(|r| r.ciphers.iter().find(|c| c.cipher == "aes-256-xts"));
    let (Some(aes), Some(plain)) = (ram, v.fastest_plain()) else { return Vec::new() };
    let slower = aes.encrypt_mb_s.min(aes.decrypt_mb_s);
    let figure =
        Figure { mean: (slower * 1e6 / plain).ln(), half_width: aes.mean_spread_percent / 100.0 };
    vec![part("AES over plain storage", figure, &(2.0_f64.ln()..f64::INFINITY), Figure::as_times)]
}
