//! LUKS1: one binary header with eight keyslots at fixed offsets.

mod header;
mod keyslots;

pub(super) use header::{Header, NewHeader};
pub(super) use keyslots::{SLOTS, first_area};
