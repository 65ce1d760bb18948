//! LUKS2: two copies of a header with JSON metadata, and a keyslots area.

mod binary;
mod header;
mod json;
mod raw;

pub(super) use binary::HDR_SIZES;
pub(super) use header::{Header, NewHeader};
pub(super) use json::MOST_KEYSLOTS_BYTES;
