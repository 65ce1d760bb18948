//! A published number with its properties, and selections of such numbers.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::check::size;
use crate::number::Printed;

cryptbench_catalog::named! {
    /// A property of a number, apart from block size and unit.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Dimension {
        /// `flash`, `ssd`, `sshd`, `hdd`, `microsd` or `ram`.
        Device = "device",
        /// For example `VeraCrypt`; `none` for plain storage if systems are compared.
        System = "system",
        /// A cipher or a PRF.
        Cipher = "cipher",
        /// The work: `read`, `seq write 4M`, `derive key`, `access time` ...
        Work = "work",
        /// `plain` or `encrypted`; `default` or `PIM large` for a PRF.
        State = "state",
        /// `partition`, `container file` or `directory`.
        Place = "place",
    }
}

impl fmt::Display for Dimension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One published number.
#[derive(Clone, Debug, Serialize)]
pub struct Observation {
    /// The value of each [`Dimension`]; empty if the number has no value in it.
    #[serde(serialize_with = "by_name")]
    pub about: [String; Dimension::ALL.len()],
    /// Bytes of a request.
    pub block: Option<u64>,
    /// `MiB/s`, `IO/s`, `ms`, `iterations` ...
    pub unit: &'static str,
    /// The number.
    pub value: Printed,
}

/// Serialises the dimensions that have a value as an object.
fn by_name<S: Serializer>(
    about: &[String; Dimension::ALL.len()],
    to: S,
) -> Result<S::Ok, S::Error> {
    let named = Dimension::ALL.iter().map(Dimension::to_string).zip(about);
    to.collect_map(named.filter(|(_, value)| !value.is_empty()))
}

impl Observation {
    pub(crate) fn new(unit: &'static str, value: Printed) -> Self {
        Self { about: Default::default(), block: None, unit, value }
    }

    pub(crate) fn with(mut self, dimension: Dimension, value: &str) -> Self {
        value.clone_into(&mut self.about[dimension as usize]);
        self
    }

    pub(crate) fn block(self, bytes: u64) -> Self {
        Self { block: Some(bytes), ..self }
    }

    /// Its value in one dimension.
    pub fn about(&self, dimension: Dimension) -> &str {
        &self.about[dimension as usize]
    }

    /// Whether smaller values are better.
    pub fn lower_is_better(&self) -> bool {
        matches!(self.unit, "s" | "ms" | "us/iteration" | "% lost")
    }
}

/// Selects the numbers of a check: one unit, and the allowed values of dimensions.
#[derive(Clone, Copy, Debug)]
pub struct Select {
    unit: &'static str,
    allowed: [Option<&'static [&'static str]>; Dimension::ALL.len()],
    blocks: Option<(u64, u64)>,
}

impl Select {
    /// Every number of this unit.
    pub const fn unit(unit: &'static str) -> Self {
        Self { unit, allowed: [None; Dimension::ALL.len()], blocks: None }
    }

    /// Only these devices.
    pub const fn device(self, names: &'static [&'static str]) -> Self {
        self.only(Dimension::Device, names)
    }

    /// Only these systems.
    pub const fn system(self, names: &'static [&'static str]) -> Self {
        self.only(Dimension::System, names)
    }

    /// Only these ciphers or PRFs.
    pub const fn cipher(self, names: &'static [&'static str]) -> Self {
        self.only(Dimension::Cipher, names)
    }

    /// Only this work.
    pub const fn work(self, names: &'static [&'static str]) -> Self {
        self.only(Dimension::Work, names)
    }

    /// Only this state.
    pub const fn state(self, names: &'static [&'static str]) -> Self {
        self.only(Dimension::State, names)
    }

    /// Only this location.
    pub const fn place(self, names: &'static [&'static str]) -> Self {
        self.only(Dimension::Place, names)
    }

    /// Only requests from `low` to `high` bytes.
    pub const fn blocks(mut self, low: u64, high: u64) -> Self {
        self.blocks = Some((low, high));
        self
    }

    const fn only(mut self, dimension: Dimension, names: &'static [&'static str]) -> Self {
        self.allowed[dimension as usize] = Some(names);
        self
    }

    /// Whether the number is selected.
    pub fn holds(&self, o: &Observation) -> bool {
        let named = |(allowed, about): (&Option<&[&str]>, &String)| {
            allowed.is_none_or(|names| names.contains(&about.as_str()))
        };
        self.unit == o.unit
            && self.allowed.iter().zip(&o.about).all(named)
            && self
                .blocks
                .is_none_or(|(low, high)| o.block.is_some_and(|b| (low..=high).contains(&b)))
    }

    /// All selected numbers, in file order.
    pub fn of<'a>(&self, all: &'a [Observation]) -> Vec<&'a Observation> {
        all.iter().filter(|o| self.holds(o)).collect()
    }

    /// Its unit.
    pub(crate) fn in_unit(&self) -> &'static str {
        self.unit
    }

    /// The values that both selections share, in words, with this selection's block sizes; may be
    /// empty.
    pub(crate) fn in_common(&self, other: &Self) -> String {
        let both = self.allowed.iter().zip(&other.allowed).filter(|(a, b)| a == b);
        let mut words: Vec<String> = both.filter_map(|(a, _)| a.map(|a| a.join(" or "))).collect();
        words.extend(self.blocks.map(|(low, high)| match low == high {
            true => size(low),
            false => format!("{} to {}", size(low), size(high)),
        }));
        words.join(", ")
    }

    /// Whether the two selections allow different values in a dimension, so that the two numbers of a pair may differ
    /// in it.
    pub(crate) fn differs(&self, other: &Self, dimension: Dimension) -> bool {
        self.allowed[dimension as usize] != other.allowed[dimension as usize]
    }
}

impl fmt::Display for Select {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.unit)?;
        for (dimension, names) in Dimension::ALL.iter().zip(&self.allowed) {
            if let Some(names) = names {
                write!(f, ", {dimension} {}", names.join(" or "))?;
            }
        }
        match self.blocks {
            Some((low, high)) => write!(f, ", blocks of {} to {}", size(low), size(high)),
            None => Ok(()),
        }
    }
}
