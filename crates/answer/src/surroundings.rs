//! The run's surroundings in words: machine, disk, file system, engine, scratch file.

use std::collections::BTreeMap;

use cryptbench_catalog::DeviceKind;
use cryptbench_record::{Device, KindOfDevice, Operation, PairedTarget, Power, Record, Trial};

use crate::machine::is_kernels;
use crate::place::limits_in_words;
use crate::quantity::{binary_bytes, count, decimal_bytes, duration};

/// The heading of a report, after the title that the user gave the run.
pub fn title(record: &Record) -> String {
    let device = record.target.device.as_ref();
    let disk = device.and_then(|d| d.model.as_deref().or(Some(&d.name))).unwrap_or("this storage");
    let disk = match &record.target.emulated {
        Some(device) => format!("the EMULATED {}", device.model),
        None => disk.trim().to_owned(),
    };
    match &record.title {
        Some(own) => format!("{own}: what encryption costs on {disk}"),
        None => format!("What encryption costs on {disk}"),
    }
}

/// The label of figures that do not come from real hardware.
fn emulation(record: &Record) -> Option<String> {
    match (&record.target.emulated, &record.machine.emulated) {
        (Some(device), _) => Some(format!("EMULATED {}", device.model)),
        (None, Some(_)) => Some("EMULATED".to_owned()),
        (None, None) => None,
    }
}

/// Whether the figures do not come from real hardware.
pub fn is_emulated(record: &Record) -> bool {
    emulation(record).is_some()
}

/// A title of figures, which tells if they do not come from real hardware.
pub fn labelled(record: &Record, title: &str) -> String {
    match emulation(record) {
        Some(label) => format!("{label}: {title}"),
        None => title.to_owned(),
    }
}

cryptbench_catalog::named! {
    /// The subject of a line about the surroundings of a run.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum About {
        /// CPU and memory.
        Machine = "machine",
        /// The code that encrypted.
        Ciphers = "cipher code",
        /// The operating system.
        System = "system",
        /// The disk, or the model that is used instead of a disk.
        Disk = "disk",
        /// The location of the files.
        FileSystem = "file system",
        /// The locations that were compared with plain storage.
        Beside = "beside it",
        /// The source of the requests.
        Engine = "engine",
        /// The file that was read and written.
        Scratch = "scratch",
    }
}

/// The machine, the target and the plan, in reading order.
pub fn surroundings(record: &Record) -> Vec<(About, String)> {
    let mut facts = vec![
        (About::Machine, machine(record)),
        (About::Ciphers, ciphers(record)),
        (About::System, system(record)),
        (About::Disk, storage(record)),
        (About::FileSystem, file_system(record)),
        (About::Beside, beside(record)),
        (About::Engine, engine(record)),
        (About::Scratch, scratch(record)),
    ];
    facts.retain(|(_, words)| !words.is_empty());
    facts
}

/// What follows the duration of a partial run.
fn ending(record: &Record) -> &'static str {
    match (record.partial, record.time_ran_out()) {
        (true, true) => ", time ran out",
        (true, false) => ", interrupted",
        (false, _) => "",
    }
}

/// Date, duration and profile, in one line.
pub fn occasion(record: &Record) -> String {
    let partial = ending(record);
    let emulated = emulation(record).map_or_else(String::new, |label| label + ", ");
    format!(
        "{emulated}{} profile, {}, {}{partial}",
        record.plan.profile,
        record.started,
        duration(record.elapsed_s)
    )
}

/// The line above the answer: machine, target and date.
pub fn meta(record: &Record) -> String {
    let target = &record.target;
    let disk = match (&target.emulated, &target.device) {
        (Some(emulated), _) => format!("EMULATED {}", emulated.model),
        (None, Some(device)) => {
            // For a device that is measured read-only while in use, no file system is shown here.
            let size = decimal_bytes(device.size_bytes);
            let kind = target.device_kind.as_ref().and_then(KindOfDevice::known);
            let kind = kind.map_or("", DeviceKind::in_words);
            let words = [&device.name, kind, &size, &target.filesystem];
            words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(", ")
        }
        (None, None) => target.directory.clone(),
    };
    let machine = &record.machine;
    let emulated = if machine.emulated.is_some() { "EMULATED machine, " } else { "" };
    let cpus = count(machine.cpus as usize, "CPU", "CPUs");
    let partial = ending(record);
    let day = record.started.get(..10).unwrap_or(&record.started);
    let own = record.title.as_ref().map_or_else(String::new, |title| format!("{title} · "));
    format!(
        "{own}{disk} · {emulated}{}, {cpus} · {}{partial}, {day}",
        machine.cpu_model,
        duration(record.elapsed_s)
    )
}

fn machine(record: &Record) -> String {
    let m = &record.machine;
    let cpus = count(m.cpus as usize, "CPU", "CPUs");
    let limits = limits_in_words(&m.limits);
    format!(
        "{}, {cpus}, {} memory{limits}{}",
        m.cpu_model,
        binary_bytes(m.memory_bytes),
        power(&m.power)
    )
}

/// `, governor powersave of intel_pstate, on battery`
fn power(power: &Power) -> String {
    let mut words = String::new();
    if let Some(governor) = &power.governor {
        let of = power.driver.as_ref().map_or_else(String::new, |driver| format!(" of {driver}"));
        words += &format!(", governor {governor}{of}");
    }
    if let Some(preference) = &power.preference {
        words += &format!(", preference {preference}");
    }
    if power.on_battery == Some(true) {
        words += ", on battery";
    }
    words
}

/// The cipher implementations that actually ran, without duplicates, in the order of the arms; kernel drivers are
/// listed with the system that uses them.
fn ciphers(record: &Record) -> String {
    let mut tiers: Vec<String> = Vec::new();
    for arm in &record.plan.arms {
        let Some(tier) = &arm.kernel_tier else { continue };
        let words = match is_kernels(arm) {
            true => format!("{tier} (kernel, for {})", arm.system),
            false => tier.clone(),
        };
        if !tiers.contains(&words) {
            tiers.push(words);
        }
    }
    tiers.join(", ")
}

fn system(record: &Record) -> String {
    let m = &record.machine;
    let virtualisation = m.virtualisation.as_ref().map_or_else(String::new, |v| format!(", {v}"));
    format!("{}, {}{virtualisation}", m.os, m.kernel)
}

/// The disk, or the model that is used instead of a disk.
fn storage(record: &Record) -> String {
    let Some(e) = &record.target.emulated else {
        let target = &record.target;
        let itself = target.self_encrypting.as_ref().map(|words| format!(", {words}"));
        return disk(target.device.as_ref(), target.device_kind.as_ref())
            + &itself.unwrap_or_default();
    };
    let late = e.late_share.map_or_else(String::new, |share| {
        let by = e.late_us.map_or_else(String::new, |us| format!(", by {us:.0} µs on average"));
        format!(
            "; {:.0} % of its requests completed more than 50 µs later than modelled{by}",
            share * 100.0
        )
    });
    format!(
        "EMULATED {} (parameters {}): {}, {} in {}; the path to it takes {:.0} µs and sustains {:.0} MiB/s{late}",
        e.model,
        e.parameters,
        e.about,
        binary_bytes(e.size_bytes),
        e.backing,
        e.transport_us,
        e.transport_mib_s
    )
}

fn disk(device: Option<&Device>, kind: Option<&KindOfDevice>) -> String {
    let Some(d) = device else {
        let said = kind.map_or_else(String::new, |kind| format!("; {kind}"));
        return format!("unknown: its counters could not be read{said}");
    };
    let name = match d.model.as_deref().map(str::trim) {
        Some(model) => format!("{model} ({})", d.name),
        None => d.name.clone(),
    };
    let kind = match kind {
        Some(kind) => format!(", {kind}"),
        None if d.rotational => ", said to rotate".to_owned(),
        None => String::new(),
    };
    let mut words = format!("{name}, {}{kind}", decimal_bytes(d.size_bytes));
    for (name, value) in [("scheduler", &d.scheduler), ("cache", &d.write_cache)] {
        if !value.is_empty() {
            words.push_str(&format!(", {name} {value}"));
        }
    }
    words
}

fn file_system(record: &Record) -> String {
    let t = &record.target;
    place(&Place {
        kind: t.kind.as_deref().unwrap_or("directory"),
        backing_file: t.backing_file.as_deref(),
        mount: (&t.filesystem, &t.source, &t.mount_options),
        directory: &t.directory,
    })
}

/// The locations that were compared with plain storage.
fn beside(record: &Record) -> String {
    let one = |p: &PairedTarget| {
        let place = place(&Place {
            kind: &p.kind,
            backing_file: p.backing_file.as_deref(),
            mount: (&p.filesystem, &p.source, &p.mount_options),
            directory: &p.directory,
        });
        format!("{}: {place}; disk: {}", p.name, disk(p.device.as_ref(), None))
    };
    record.target.places().map(one).collect::<Vec<_>>().join("; ")
}

struct Place<'a> {
    kind: &'a str,
    backing_file: Option<&'a str>,
    /// File system, source, options.
    mount: (&'a str, &'a str, &'a str),
    directory: &'a str,
}

fn place(p: &Place<'_>) -> String {
    let mounted = match p.mount {
        // If the root is not a mount point, for example after chroot(2), its mount is not visible.
        ("", ..) => "unknown (its mount is not visible from here)".to_owned(),
        (file_system, source, options) => format!("{file_system} on {source} ({options})"),
    };
    match p.kind {
        "directory" => format!("{mounted}, in {}", p.directory),
        "file" => format!("{mounted}, the file {}", p.directory),
        kind => {
            let behind =
                p.backing_file.map_or_else(String::new, |f| format!(", a loop device on {f}"));
            format!("none, the {kind} {} itself{behind}", p.directory)
        }
    }
}

fn engine(record: &Record) -> String {
    let e = &record.target.engine;
    let cache = if e.direct { "direct I/O" } else { "buffered I/O" };
    let fallback =
        e.fallback_reason.as_ref().map_or_else(String::new, |why| format!(" (no io_uring: {why})"));
    let details = e.details.as_ref().map_or_else(String::new, |d| format!(", {d}"));
    format!("{}, {cache}{details}{fallback}", e.name)
}

fn scratch(record: &Record) -> String {
    let s = &record.target.scratch;
    let extents = s
        .extents
        .map_or_else(String::new, |n| format!(", {}", count(n as usize, "extent", "extents")));
    let reason = match s.size_reason.is_empty() {
        true => String::new(),
        false => format!(" ({})", s.size_reason),
    };
    let written = match written(record) {
        0.0 => String::new(),
        bytes => format!("; the trials wrote {}", decimal_bytes(bytes as u64)),
    };
    format!("{}{extents}{reason}{written}", binary_bytes(s.size_bytes))
}

/// Number of bytes that all trials wrote during their measured time.
fn written(record: &Record) -> f64 {
    // Computed once for each workload: an iozone run has a thousand workloads, with tens of trials each.
    let shares: BTreeMap<&str, f64> = record
        .plan
        .workloads
        .iter()
        .filter(|w| w.is_of_requests())
        .map(|w| {
            let share = match w.operation {
                Operation::Write => 1.0,
                Operation::Mixed => {
                    w.read_percent.map_or(0.0, |reads| 1.0 - f64::from(reads) / 100.0)
                }
                _ => 0.0,
            };
            (w.id.as_str(), share)
        })
        .collect();
    let of =
        |t: &Trial| shares.get(t.workload.as_str()).map_or(0.0, |s| s * t.measured.bytes as f64);
    record.trials.iter().map(of).sum()
}
