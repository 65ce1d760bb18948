//! A device model: numbers from a device's data sheet and measured sweeps, with their sources.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use serde::Deserialize;
use sha2::{Digest as _, Sha256};

use cryptbench_text::names::{Named, Unknown, keys, named};
use cryptbench_text::shown;

use crate::error::ModelError;

pub(crate) const MIB: f64 = 1_048_576.0;

macro_rules! models {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../models/", $name, ".toml")))),*]
    };
}

/// Maximum size of a model file that is read, in bytes; a model is about one page long.
const LARGEST: u64 = 1 << 20;

/// The built-in models.
const BUILT_IN: &[(&str, &str)] = models![
    "hdd-7200",
    "hdd-laptop",
    "sshd",
    "sata-ssd",
    "sata-mlc",
    "usb-flash",
    "sd-card",
    "nvme"
];

/// A model of a storage device.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    /// Name, as given to `--emulate`.
    pub name: String,
    /// A description of the device that the model represents.
    pub about: String,
    /// Capacity in bytes of the device that the model represents.
    pub capacity_bytes: u64,
    /// What a smaller backing represents.
    #[serde(default)]
    pub surface: Surface,
    /// Seed of all random variation.
    #[serde(default)]
    pub seed: u64,
    /// The connection to the host.
    pub interface: Interface,
    /// A hard disk; a model has either `disc` or `flash`.
    pub disc: Option<Disc>,
    /// Flash that supplements the disc.
    pub hybrid: Option<Hybrid>,
    /// Flash without a disc.
    pub flash: Option<Flash>,
    /// The source of each parameter: a data sheet, a paper, or `fitted`.
    pub sources: BTreeMap<String, String>,
    /// The text of the file, from which the hash is computed.
    #[serde(skip)]
    text: String,
}

/// The part of the device that a smaller backing represents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Surface {
    /// A file at the start of an almost empty device: short seeks within the fast zone.
    #[default]
    Start,
    /// The whole device, scaled down: long seeks across all zones.
    Whole,
}

/// The interface to the host.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Interface {
    /// Its name, such as `SATA 6 Gbit/s`.
    pub name: String,
    /// Maximum rate of reads in MiB/s, not counting the time of commands.
    pub read_mib_s: f64,
    /// Maximum rate of writes in MiB/s, not counting the time of commands.
    pub write_mib_s: f64,
    /// Time for which each read occupies the command path, in microseconds.
    pub read_command_us: f64,
    /// Time for which each write occupies the command path, in microseconds.
    pub write_command_us: f64,
    /// Overlap of command and transfer, as a share of the shorter of the two, 0 to 1.
    pub overlap: f64,
    /// Additional delay per request in microseconds, during which the request does not occupy the device.
    pub latency_us: f64,
    /// Maximum number of requests in flight.
    pub queue_depth: u32,
}

/// A disc drive.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Disc {
    /// Rotations per minute.
    pub rotations_per_minute: f64,
    /// Seek to the next track, milliseconds.
    pub track_to_track_ms: f64,
    /// Seek over a third of the stroke, milliseconds.
    pub average_seek_ms: f64,
    /// Seek over the full stroke, milliseconds.
    pub full_stroke_ms: f64,
    /// Rate of the outermost zone, MiB/s.
    pub outer_mib_s: f64,
    /// Rate of the innermost zone, MiB/s; from the outermost zone inwards, the rate decreases linearly with the
    /// address.
    pub inner_mib_s: f64,
    /// Number of bytes that the drive reads ahead after a read.
    pub look_ahead_bytes: u64,
    /// Size of the write cache in bytes; 0 if there is no write cache.
    pub write_cache_bytes: u64,
    /// Maximum number of byte ranges in the write cache.
    pub write_cache_commands: u32,
    /// Exponent e: with n requests to choose from, the positioning time is divided by n^e.
    pub sorting_exponent: f64,
    /// Cost of a flush in addition to writing the cached data, microseconds.
    pub flush_us: f64,
}

/// The flash of a hybrid drive, which serves repeated reads.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hybrid {
    /// Capacity in bytes.
    pub flash_bytes: u64,
    /// Number of bytes that are cached or dropped together.
    pub granule_bytes: u64,
    /// Number of reads after which a granule is cached.
    pub keep_after_reads: u32,
    /// Latency of a read from the flash, microseconds.
    pub read_us: f64,
    /// Rate of reads from the flash, MiB/s.
    pub read_mib_s: f64,
}

/// Flash and its controller.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flash {
    /// Number of parallel reads.
    pub channels: u32,
    /// Page size in bytes.
    pub page_bytes: u64,
    /// Time to read a page that was not read ahead, microseconds.
    pub read_us: f64,
    /// Rate of the whole array, MiB/s.
    pub read_mib_s: f64,
    /// Size of the write buffer in bytes. 0 means no buffer: a write completes only when it has been programmed.
    pub buffer_bytes: u64,
    /// Programming cost of each write command, microseconds.
    pub program_command_us: f64,
    /// Size of the fast region (SLC) in bytes; 0 if there is no fast region.
    pub fast_bytes: u64,
    /// Programming rate of the fast region, MiB/s.
    pub fast_write_mib_s: f64,
    /// Programming rate when the fast region is full, MiB/s.
    pub write_mib_s: f64,
    /// Rate at which the fast region is emptied when the device is idle, MiB/s.
    pub fold_mib_s: f64,
    /// Size of an erase unit in bytes.
    pub erase_unit_bytes: u64,
    /// Maximum number of erase units that can be open for writing simultaneously; 0 for no limit.
    pub open_units: u32,
    /// Additional cost of a write that does not continue a stream and is not in an open unit, microseconds.
    pub erase_us: f64,
    /// Cost of a flush in addition to programming the buffered data, microseconds.
    pub flush_us: f64,
    /// Maximum variation of the reading, programming and erasing times in each direction, in percent.
    pub jitter_percent: f64,
}

/// The kind of thing that a name refers to, for errors.
const KIND: &str = "device model";

fn built_in() -> Vec<Named<&'static str>> {
    Model::names().map(|name| Named::new(name, name, [])).collect()
}

impl Model {
    /// Names of all built-in models.
    pub fn names() -> impl Iterator<Item = &'static str> {
        BUILT_IN.iter().map(|(name, _)| *name)
    }

    /// A built-in model.
    ///
    /// # Errors
    /// [`ModelError::Unknown`].
    pub fn named(name: &str) -> Result<Self, ModelError> {
        match BUILT_IN.iter().find(|(known, _)| *known == name) {
            Some((name, text)) => Self::parse(name, text),
            None => Err(ModelError::Unknown(Unknown::of(KIND, name, &built_in()))),
        }
    }

    /// The model that `path` specifies. A `path` with neither a slash nor a dot is the name of a built-in model, in
    /// upper or lower case or abbreviated to a unique part; any other `path` is the path of a model file.
    ///
    /// # Errors
    /// Any [`ModelError`].
    pub fn named_or_file(path: &Path) -> Result<Self, ModelError> {
        if let Some(name) = path.to_str().filter(|text| !text.contains(['/', '.'])) {
            let all = built_in();
            let found = named(KIND, &[name], &all, || keys(&all)).map_err(ModelError::Unknown)?;
            return Self::named(found[0]);
        }
        let read = cryptbench_os::read_text(path, LARGEST);
        let found = read.map_err(|source| ModelError::Read { path: path.to_owned(), source })?;
        Self::parse(&shown(path), &found)
    }

    fn parse(path: &str, text: &str) -> Result<Self, ModelError> {
        let refuse = |problem: String| ModelError::Malformed { path: path.to_owned(), problem };
        let mut model: Self = toml::from_str(text).map_err(|e| {
            let before = e.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
            let line = before.matches('\n').count() + 1;
            refuse(format!("line {line}: {}", e.message().replace('\n', "; ")))
        })?;
        model.check().map_err(refuse)?;
        text.clone_into(&mut model.text);
        Ok(model)
    }

    /// The first 16 hexadecimal digits of the file's SHA-256, which distinguish versions of a
    /// model.
    pub fn hash(&self) -> String {
        Sha256::digest(self.text.as_bytes()).iter().take(8).fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
    }

    /// The engine capacity for a backing of `bytes`.
    pub fn capacity_for(&self, bytes: u64) -> u64 {
        match self.surface {
            Surface::Start => self.capacity_bytes.max(bytes),
            Surface::Whole => bytes,
        }
    }

    /// Whether the device has rotating discs.
    pub fn rotates(&self) -> bool {
        self.disc.is_some()
    }

    fn check(&self) -> Result<(), String> {
        let positive = |name: &str, value: f64| match value.is_finite() && value > 0.0 {
            true => Ok(()),
            false => Err(format!("{name} is not a positive number")),
        };
        let not_negative = |name: &str, value: f64| match value.is_finite() && value >= 0.0 {
            true => Ok(()),
            false => Err(format!("{name} is negative or not a number")),
        };
        let whole = |name: &str, value: u64| match value {
            0 => Err(format!("{name} is 0")),
            _ => Ok(()),
        };
        whole("capacity_bytes", self.capacity_bytes)?;
        let i = &self.interface;
        positive("interface.read_mib_s", i.read_mib_s)?;
        positive("interface.write_mib_s", i.write_mib_s)?;
        not_negative("interface.read_command_us", i.read_command_us)?;
        not_negative("interface.write_command_us", i.write_command_us)?;
        not_negative("interface.latency_us", i.latency_us)?;
        not_negative("interface.overlap", i.overlap)?;
        if i.overlap > 1.0 {
            return Err("interface.overlap is above 1".to_owned());
        }
        whole("interface.queue_depth", i.queue_depth.into())?;
        match (&self.disc, &self.flash) {
            (Some(_), Some(_)) => return Err("has both a disc and flash: use hybrid".to_owned()),
            (None, None) => return Err("has neither a disc nor flash".to_owned()),
            (None, Some(_)) if self.hybrid.is_some() => {
                return Err("hybrid needs a disc".to_owned());
            }
            _ => {}
        }
        if let Some(d) = &self.disc {
            positive("disc.rotations_per_minute", d.rotations_per_minute)?;
            not_negative("disc.track_to_track_ms", d.track_to_track_ms)?;
            positive("disc.outer_mib_s", d.outer_mib_s)?;
            positive("disc.inner_mib_s", d.inner_mib_s)?;
            not_negative("disc.sorting_exponent", d.sorting_exponent)?;
            not_negative("disc.flush_us", d.flush_us)?;
            whole("disc.write_cache_commands", d.write_cache_commands.into())?;
            if !(d.track_to_track_ms <= d.average_seek_ms
                && d.average_seek_ms <= d.full_stroke_ms
                && d.full_stroke_ms.is_finite())
            {
                return Err(
                    "disc: seeks must take a finite time that does not fall with the distance"
                        .to_owned(),
                );
            }
        }
        if let Some(h) = &self.hybrid {
            whole("hybrid.granule_bytes", h.granule_bytes)?;
            whole("hybrid.keep_after_reads", h.keep_after_reads.into())?;
            not_negative("hybrid.read_us", h.read_us)?;
            positive("hybrid.read_mib_s", h.read_mib_s)?;
        }
        if let Some(f) = &self.flash {
            whole("flash.channels", f.channels.into())?;
            whole("flash.page_bytes", f.page_bytes)?;
            whole("flash.erase_unit_bytes", f.erase_unit_bytes)?;
            positive("flash.read_mib_s", f.read_mib_s)?;
            positive("flash.write_mib_s", f.write_mib_s)?;
            positive("flash.fast_write_mib_s", f.fast_write_mib_s)?;
            for (name, value) in [
                ("flash.read_us", f.read_us),
                ("flash.program_command_us", f.program_command_us),
                ("flash.fold_mib_s", f.fold_mib_s),
                ("flash.erase_us", f.erase_us),
                ("flash.flush_us", f.flush_us),
                ("flash.jitter_percent", f.jitter_percent),
            ] {
                not_negative(name, value)?;
            }
            if f.jitter_percent > 100.0 {
                return Err("flash.jitter_percent is above 100".to_owned());
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_parameter_of_every_model_has_its_source() {
        for name in Model::names() {
            let model = Model::named(name).unwrap();
            assert_eq!(model.name, name);
            let table: toml::Table = toml::from_str(&model.text).unwrap();
            for section in ["interface", "disc", "hybrid", "flash"] {
                let Some(toml::Value::Table(parameters)) = table.get(section) else { continue };
                for key in parameters.keys().filter(|key| *key != "name") {
                    let full = format!("{section}.{key}");
                    let source = model.sources.get(&full).map_or("", String::as_str);
                    assert!(source.len() >= 4, "{name}: {full} has no source");
                }
            }
            assert!(model.sources.contains_key("capacity_bytes"), "{name}");
            assert_eq!(model.hash().len(), 16);
        }
    }

    #[test]
    fn what_is_no_model_is_refused_with_the_reason() {
        let good = BUILT_IN[0].1;
        let said = |text: &str| Model::parse("x", text).unwrap_err().to_string();
        let said = [
            said(&good.replace("rotations_per_minute = 7200", "rotations_per_minute = 0")),
            said(&good.replace("[disc]", "[disk]")),
            said(&good.replace("full_stroke_ms = 18.0", "full_stroke_ms = 8.0")),
            Model::named("hdd").unwrap_err().to_string(),
        ];
        insta::assert_snapshot!(said.join("\n"), @r#"
            x is not a device model: disc.rotations_per_minute is not a positive number
            x is not a device model: line 18: unknown field `disk`, expected one of `name`, `about`, `capacity_bytes`, `surface`, `seed`, `interface`, `disc`, `hybrid`, `flash`, `sources`
            x is not a device model: disc: seeks must take a finite time that does not fall with the distance
            unknown device model "hdd"; known: hdd-7200, hdd-laptop, sshd, sata-ssd, sata-mlc, usb-flash, sd-card, nvme; or specify the path of a .toml file
            "#);
        assert!(Model::named_or_file(Path::new("/nowhere/model.toml")).is_err());
    }
}
