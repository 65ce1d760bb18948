//! The JSON objects of LUKS2 as stored (LUKS2 specification, section 3): numbers are strings, bytes
//! are base64, and unknown fields are ignored.

use std::collections::BTreeMap;

use base64ct::{Base64, Encoding};
use serde::Deserialize;

use super::json::MOST_KEYSLOTS;

#[derive(Deserialize)]
pub(super) struct Root {
    pub keyslots: BTreeMap<Id, RawKeyslot>,
    pub tokens: BTreeMap<Id, RawToken>,
    pub segments: BTreeMap<Id, RawSegment>,
    pub digests: BTreeMap<Id, RawDigest>,
    pub config: RawConfig,
}

#[derive(Deserialize)]
#[serde(tag = "type")]
pub(super) enum RawKeyslot {
    #[serde(rename = "luks2")]
    Luks2(Box<RawLuks2>),
    #[serde(rename = "reencrypt")]
    Reencrypt { area: RawExtent },
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
pub(super) struct RawLuks2 {
    pub key_size: u32,
    pub af: RawAf,
    pub area: RawArea,
    pub kdf: RawKdf,
    pub priority: Option<u32>,
}

#[derive(Deserialize)]
pub(super) struct RawAf {
    #[serde(rename = "type")]
    pub kind: String,
    #[serde(default)]
    pub stripes: u32,
    #[serde(default)]
    pub hash: String,
}

#[derive(Deserialize)]
pub(super) struct RawArea {
    #[serde(rename = "type")]
    pub kind: String,
    #[serde(flatten)]
    pub extent: RawExtent,
    pub encryption: String,
    pub key_size: u32,
}

#[derive(Deserialize)]
pub(super) struct RawExtent {
    pub offset: Number,
    pub size: Number,
}

#[derive(Deserialize)]
pub(super) struct RawKdf {
    #[serde(rename = "type")]
    pub kind: String,
    pub salt: Bytes,
    pub hash: Option<String>,
    pub iterations: Option<u32>,
    pub time: Option<u32>,
    pub memory: Option<u32>,
    pub cpus: Option<u32>,
}

#[derive(Deserialize)]
pub(super) struct RawToken {
    #[serde(rename = "type")]
    pub kind: String,
}

#[derive(Deserialize)]
pub(super) struct RawSegment {
    #[serde(rename = "type")]
    pub kind: String,
    pub offset: Number,
    pub size: String,
    pub iv_tweak: Option<Number>,
    pub encryption: Option<String>,
    pub sector_size: Option<u32>,
    pub integrity: Option<RawToken>,
    #[serde(default)]
    pub flags: Vec<String>,
}

#[derive(Deserialize)]
pub(super) struct RawDigest {
    #[serde(rename = "type")]
    pub kind: String,
    pub keyslots: Vec<Id>,
    pub segments: Vec<Id>,
    pub hash: Option<String>,
    pub iterations: Option<u32>,
    pub salt: Bytes,
    pub digest: Bytes,
}

#[derive(Deserialize)]
pub(super) struct RawConfig {
    pub json_size: Number,
    pub keyslots_size: Number,
    pub requirements: Option<RawRequirements>,
}

#[derive(Deserialize)]
pub(super) struct RawRequirements {
    #[serde(default)]
    pub mandatory: Vec<String>,
}

/// The number of an object, stored as a decimal string.
#[derive(Clone, Copy, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(try_from = "String")]
pub(super) struct Id(pub u32);

impl TryFrom<String> for Id {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        match decimal(&text) {
            Some(id) if id < u64::from(MOST_KEYSLOTS) => Ok(Self(id as u32)),
            _ => Err(format!("{text:?} is not a number from 0 to {}", MOST_KEYSLOTS - 1)),
        }
    }
}

/// A 64-bit number, stored as a decimal string.
#[derive(Clone, Copy, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct Number(pub u64);

impl TryFrom<String> for Number {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        decimal(&text).map(Self).ok_or_else(|| format!("{text:?} is not a decimal number"))
    }
}

/// Bytes stored as base64.
#[derive(Deserialize)]
#[serde(try_from = "String")]
pub(super) struct Bytes(pub Vec<u8>);

impl TryFrom<String> for Bytes {
    type Error = &'static str;
    fn try_from(text: String) -> Result<Self, Self::Error> {
        Base64::decode_vec(&text).map(Self).map_err(|_| "not valid base64")
    }
}

/// Accepts only digits, without sign, space or leading zero, so that each number has exactly one spelling.
pub(super) fn decimal(text: &str) -> Option<u64> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit());
    (plain && (text == "0" || !text.starts_with('0'))).then(|| text.parse().ok()).flatten()
}
