//! `cryptbench volume info`.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::Context as _;
use cryptbench_blockdev::{BlockDevice, Extent};
use cryptbench_cipher::tier;
use cryptbench_text::{chain, printable};
use cryptbench_volume::detect::{Detection, Kind, detect};
use cryptbench_volume::format::luks::{self, Info};
use cryptbench_volume::format::{bitlocker, filevault};
use cryptbench_volume::{
    Access, OpenOptions, Part, Partition, VolumeError, VolumeInfo, partitions,
};

use super::args::InfoArgs;
use super::confined::{self, Given, Task};
use super::{effort, lower, target};
use crate::say::{print, print_json, terminal_style};

#[derive(serde::Serialize)]
struct Told<'a> {
    detection: &'a Detection,
    /// Why the volume cannot be opened here.
    cannot_be_opened: Option<String>,
    partitions: Vec<Inside<'a>>,
    luks: Option<&'a Info>,
    bitlocker: Option<&'a bitlocker::Info>,
    filevault: Option<&'a filevault::Info>,
    opened: Option<&'a VolumeInfo>,
}

/// A partition of a disk.
#[derive(serde::Serialize)]
struct Inside<'a> {
    number: u32,
    offset: u64,
    size: u64,
    kind: &'a Kind,
}

pub fn info(args: &InfoArgs, stop: &AtomicBool) -> anyhow::Result<ExitCode> {
    if !confined::is_child() {
        if lower::is_meant(&args.unlock) {
            return lower::info(args, stop);
        }
        lower::refuse_files(&args.unlock, args.wrapped_passphrase.as_deref(), false)?;
    }
    let task = Task::on(&args.unlock, Access::ReadOnly);
    let work = |given: Given| look(args, &given, stop);
    if confined::is_child() {
        return task.in_child(work, stop);
    }
    task.run(
        None,
        |asks| match args.open {
            true => Ok(vec![target::credentials(&args.unlock, asks()?, stop)?]),
            false => Ok(Vec::new()),
        },
        work,
        stop,
    )
}

fn look(args: &InfoArgs, given: &Given, stop: &AtomicBool) -> anyhow::Result<ExitCode> {
    let device = &given.target.device;
    let detection = detect(&**device)?;
    let header = match (given.header_device(), &detection.kind) {
        (Some(elsewhere), _) => {
            let path = args.unlock.header.as_deref().unwrap_or(Path::new(""));
            Some(luks::info(elsewhere).with_context(|| path.display().to_string())?)
        }
        (None, Kind::Luks { problem: None, .. }) => Some(luks::info(&**device)?),
        _ => None,
    };
    let inside = match &detection.kind {
        Kind::PartitionTable { .. } => look_inside(device)?,
        _ => Vec::new(),
    };
    let whole = !matches!(detection.kind, Kind::PartitionTable { .. });
    let obstacle = detection.kind.obstacle().filter(|_| whole).map(|error| chain(&error));
    // Damage to the metadata is reported in the same output, as for a damaged LUKS header.
    let metadata = match &detection.kind {
        Kind::BitLocker { .. } => {
            Some(Metadata::of(bitlocker::info(&**device), Metadata::BitLocker))
        }
        Kind::FileVault => Some(Metadata::of(filevault::info(&**device), Metadata::FileVault)),
        _ => None,
    };
    let is_alone = |header: &Info| {
        let beyond = |segment: &luks::SegmentInfo| segment.offset >= device.size();
        given.header_device().is_none() && header.segments.iter().any(beyond)
    };
    let alone = header.as_ref().filter(|header| header.obstacle.is_none() && is_alone(header));
    let alone = alone.map(|_| {
        "this is a detached header: specify the device or file with the data as the volume, and \
         this file with --header"
    });
    let open = |credentials| {
        let options = OpenOptions::new(tier()?, effort(stop)?);
        let header = given.header_device();
        target::unlock(&args.unlock, Arc::clone(device), header, credentials, &options)
    };
    let volume = given.credentials.first().map(open).transpose()?;
    let opened = volume.as_ref().map(cryptbench_volume::Volume::info);
    if args.json {
        let told = header.as_ref().and_then(|header| header.obstacle.clone());
        let cannot_be_opened = told
            .or_else(|| metadata.as_ref().and_then(Metadata::obstacle))
            .or(obstacle)
            .or_else(|| alone.map(str::to_owned));
        let partitions = inside.iter().map(|(partition, kind)| Inside {
            number: partition.number,
            offset: partition.extent.offset,
            size: partition.extent.len,
            kind,
        });
        print_json(&Told {
            detection: &detection,
            cannot_be_opened,
            partitions: partitions.collect(),
            luks: header.as_ref(),
            bitlocker: metadata.as_ref().and_then(Metadata::bitlocker),
            filevault: metadata.as_ref().and_then(Metadata::filevault),
            opened,
        })?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut lines = Lines::default();
    lines.add("volume", &args.unlock.volume.display());
    lines.add("size", &format!("{} bytes", device.size()));
    lines.add("type", &detection.kind);
    if let Some(why) = &obstacle {
        lines.add("cannot be opened", why);
    }
    for note in &detection.notes {
        lines.add("note", note);
    }
    for (range, why) in &detection.unreadable {
        lines.add("unreadable", &format!("bytes {} to {}: {why}", range.start, range.end));
    }
    for (partition, kind) in &inside {
        let text =
            format!("{kind}; {} bytes at offset {}", partition.extent.len, partition.extent.offset);
        lines.add(&format!("partition {}", partition.number), &text);
    }
    if let Some(header) = &header {
        describe_header(header, &mut lines);
    }
    if let Some(why) = alone {
        lines.add("cannot be opened", &why);
    }
    match &metadata {
        Some(Metadata::BitLocker(metadata)) => describe_bitlocker(metadata, &mut lines),
        Some(Metadata::FileVault(metadata)) => describe_filevault(metadata, &mut lines),
        Some(Metadata::CannotBeOpened(why)) => lines.add("cannot be opened", why),
        Some(Metadata::Damaged(why)) => lines.add("damaged", why),
        None => {}
    }
    if let Some(opened) = opened {
        describe_opened(opened, &mut lines);
    }
    lines.print();
    Ok(ExitCode::SUCCESS)
}

/// The content of BitLocker's or FileVault's metadata.
enum Metadata {
    BitLocker(bitlocker::Info),
    FileVault(filevault::Info),
    CannotBeOpened(String),
    Damaged(String),
}

impl Metadata {
    fn of<T>(read: Result<T, VolumeError>, whole: fn(T) -> Self) -> Self {
        match read {
            Ok(info) => whole(info),
            Err(error @ VolumeError::CannotOpen { .. }) => Self::CannotBeOpened(chain(&error)),
            Err(error) => Self::Damaged(chain(&error)),
        }
    }

    fn obstacle(&self) -> Option<String> {
        match self {
            Self::BitLocker(info) => info.obstacle.clone(),
            Self::FileVault(info) => info.obstacle.clone(),
            Self::CannotBeOpened(why) | Self::Damaged(why) => Some(why.clone()),
        }
    }

    fn bitlocker(&self) -> Option<&bitlocker::Info> {
        match self {
            Self::BitLocker(info) => Some(info),
            _ => None,
        }
    }

    fn filevault(&self) -> Option<&filevault::Info> {
        match self {
            Self::FileVault(info) => Some(info),
            _ => None,
        }
    }
}

/// The partitions of a disk, and their contents.
fn look_inside(device: &Arc<dyn BlockDevice>) -> anyhow::Result<Vec<(Partition, Kind)>> {
    let mut found = Vec::new();
    for partition in partitions(&**device)? {
        let Extent { offset, len } = partition.extent;
        if let Ok(part) = Part::new(Arc::clone(device), offset, Some(len)) {
            found.push((partition, detect(&part)?.kind));
        }
    }
    Ok(found)
}

fn describe_header(header: &Info, lines: &mut Lines) {
    lines.add("UUID", &header.uuid);
    if !header.label.is_empty() {
        lines.add("label", &header.label);
    }
    for copy in &header.copies {
        let state = match (&copy.problem, copy.seqid) {
            (Some(problem), _) => format!("damaged: {problem}"),
            (None, Some(seqid)) => format!("valid, sequence number {seqid}"),
            (None, None) => "absent".to_owned(),
        };
        lines.add(&format!("{} header", copy.role), &state);
    }
    for segment in &header.segments {
        let size = segment.size.map_or_else(|| "to the end".to_owned(), |s| format!("{s} bytes"));
        let clear = not_encrypted(&segment.encryption);
        let text = format!(
            "{}{clear}, {}-byte sectors, offset {}, {size}",
            segment.encryption, segment.sector_size, segment.offset
        );
        lines.add(&format!("segment {}", segment.id), &text);
    }
    for slot in &header.keyslots {
        let told =
            slot.derivation.as_ref().map_or_else(|why| format!("unusable: {why}"), Clone::clone);
        let priority = match slot.priority {
            None | Some("normal") => String::new(),
            Some(priority) => format!(", priority {priority}"),
        };
        let clear = slot.encryption.as_deref().map_or("", not_encrypted);
        lines.add(&format!("keyslot {}", slot.id), &format!("{told}{clear}{priority}"));
    }
    for token in &header.tokens {
        lines.add("token", token);
    }
    if let Some(obstacle) = &header.obstacle {
        lines.add("cannot be opened", obstacle);
    }
}

/// The warning about `cipher_null`.
fn not_encrypted(encryption: &str) -> &'static str {
    if encryption.contains("cipher_null") { " (not encrypted)" } else { "" }
}

fn describe_bitlocker(metadata: &bitlocker::Info, lines: &mut Lines) {
    lines.add("identifier", &metadata.id);
    lines.add("created", &metadata.created);
    if let Some(description) = &metadata.description {
        lines.add("description", description);
    }
    match metadata.method {
        Some(method) => lines.add("method", &method),
        None if metadata.method_number == 0 => {}
        None => lines.add("method", &format!("unknown, {:#06x}", metadata.method_number)),
    }
    if let Some(sector) = metadata.sector {
        lines.add("sector", &format!("{sector} bytes"));
    }
    lines.add("state", &metadata.state);
    if let Some(bytes) = metadata.encrypted_bytes {
        lines.add("encrypted", &format!("{bytes} bytes"));
    }
    if let Some((at, len)) = metadata.first_sectors {
        lines.add("first sectors", &format!("{len} bytes, stored at offset {at}"));
    }
    for (at, problem) in &metadata.copies {
        let state = problem.as_ref().map_or("valid".to_owned(), |why| format!("damaged: {why}"));
        lines.add(&format!("metadata at {at}"), &state);
    }
    for protector in &metadata.protectors {
        let name = protector.name.as_ref().map_or(String::new(), |name| format!(" {name:?}"));
        let problem = protector.problem.as_ref().map_or(String::new(), |why| format!("; {why}"));
        let text = format!("{}{name}, {}{problem}", protector.id, protector.modified);
        lines.add(&protector.opens_with, &text);
    }
    if metadata.open_to_all {
        lines.add("note", &"opens without a password, because its protection is suspended");
    }
    if let Some(obstacle) = &metadata.obstacle {
        lines.add("cannot be opened", obstacle);
    }
}

fn describe_filevault(metadata: &filevault::Info, lines: &mut Lines) {
    for (name, value) in [
        ("name", metadata.name.as_ref()),
        ("identifier", metadata.id.map(|id| id.to_string()).as_ref()),
        ("group", metadata.group_name.as_ref()),
        ("contents", metadata.contents.as_ref()),
        ("state", metadata.state.as_ref()),
        ("header at the start", metadata.header_problem.as_ref()),
    ] {
        if let Some(value) = value {
            lines.add(name, value);
        }
    }
    lines.add("physical volume", &metadata.physical_volume);
    lines.add("family", &metadata.family);
    lines.add("plaintext", &format!("{} bytes", metadata.size));
    for (at, len) in &metadata.segments {
        lines.add("segment", &format!("{len} bytes at offset {at}"));
    }
    for (at, problem) in metadata.copies.iter().chain(&metadata.encrypted_copies) {
        let state = problem.as_ref().map_or("valid".to_owned(), |why| format!("damaged: {why}"));
        lines.add(&format!("metadata at {at}"), &state);
    }
    for user in &metadata.users {
        let told = [
            user.id.clone(),
            user.iterations.map(|count| format!("pbkdf2 sha-256, {count} iterations")),
            user.hint.as_ref().map(|hint| format!("hint {hint:?}")),
            user.problem.clone(),
        ];
        let told: Vec<String> = told.into_iter().flatten().collect();
        lines.add(&user.opens_with, &told.join(", "));
    }
    if let Some(obstacle) = &metadata.obstacle {
        lines.add("cannot be opened", obstacle);
    }
}

fn describe_opened(opened: &VolumeInfo, lines: &mut Lines) {
    lines.add("format", &opened.format);
    lines.add("cipher", &format!("{}, {}-bit key", opened.cipher, 8 * opened.key_bytes));
    lines.add("kernel", &opened.kernel);
    lines.add("unlocked with", &opened.derivation);
    lines.add("data unit", &format!("{} bytes", opened.data_unit));
    lines.add("plaintext", &format!("{} bytes at offset {}", opened.size, opened.data_offset));
    for (name, value) in &opened.details {
        lines.add(name, value);
    }
}

/// Names and values in two columns.
#[derive(Default)]
pub struct Lines(Vec<(String, String)>);

impl Lines {
    pub fn add(&mut self, name: &str, value: &dyn std::fmt::Display) {
        // Most of the output comes from a header, which may be untrusted.
        let shown = |text: &str| printable(text).into_owned();
        self.0.push((shown(name), shown(&value.to_string())));
    }

    pub fn print(&self) {
        let width = self.0.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0) + 2;
        let columns = terminal_style(false).width.max(40);
        let indent = " ".repeat(width);
        for (name, value) in &self.0 {
            let first = format!("{name:<width$}");
            let options =
                textwrap::Options::new(columns).initial_indent(&first).subsequent_indent(&indent);
            print(&textwrap::fill(value, options));
        }
    }
}
