//! A family of logical volumes: names and values, including the encryption context, stored as plain text or
//! compressed in several objects.

use miniz_oxide::inflate::decompress_to_vec_zlib_with_limit;

use super::context::Context;
use super::damaged;
use super::objects::{Object, Objects, kind};
use super::plist::Plist;
use crate::VolumeError;
use crate::bytes::{u32_at, u64_at};

/// Maximum size of the property list in bytes, compressed or not. It can be long because it contains the users'
/// pictures.
const MOST: usize = 8 << 20;

/// Prefix of the names.
const PREFIX: &str = "com.apple.corestorage.lvf.";

/// The content of the object.
#[derive(Debug, Default)]
pub(super) struct Family {
    /// The keys, unless they are stored elsewhere.
    pub context: Option<Context>,
    /// The encryption of its volumes: `AES-XTS` or `None`.
    pub encryption: Option<String>,
}

impl Family {
    /// Reads an object of this kind.
    pub(super) fn parse(object: &Object, objects: &Objects) -> Result<Self, VolumeError> {
        let plist = Plist::parse(&text(object, objects)?).map_err(damaged)?;
        Ok(Self {
            context: plist.get(&format!("{PREFIX}encryption.context")).map(Context::of),
            encryption: plist.text_of(&format!("{PREFIX}encryption.type")),
        })
    }
}

/// The assembled and unpacked property list.
fn text(object: &Object, objects: &Objects) -> Result<Vec<u8>, VolumeError> {
    let number = |at: usize| u32_at(&object.data, at).unwrap_or(0);
    let (stored, len) = (number(40) as usize, number(44) as usize);
    if stored > MOST || len > MOST {
        return Err(damaged(format!(
            "the property list of a family is too large: {} bytes",
            stored.max(len)
        )));
    }
    let cut = || damaged("the property list of a family is truncated");
    let mut bytes = object.part(number(48), number(52)).ok_or_else(cut)?.to_vec();
    let mut next = u64_at(&object.data, 32).unwrap_or(0);
    while next != 0 && bytes.len() < stored {
        let more = objects.get(next, kind::MORE).ok_or_else(cut)?;
        let part = u32_at(&more.data, 8).and_then(|len| more.data.get(16..16 + len as usize));
        match part {
            // A length of zero would cause an endless loop.
            Some([]) | None => return Err(cut()),
            Some(part) => bytes.extend_from_slice(part),
        }
        next = u64_at(&more.data, 0).unwrap_or(0);
    }
    if stored == len {
        return Ok(bytes);
    }
    // Each length is rounded up, so the unpacked data can be shorter.
    decompress_to_vec_zlib_with_limit(&bytes, len)
        .map_err(|_| damaged("the property list of a family cannot be decompressed"))
}
