//! Maps of the encrypted chunks, on a volume that is being encrypted while it is in use: "encrypt on write".
//!
//! Two identical descriptions list the regions. Each region has a map with two records; the record with the
//! higher sequence number is valid. Each bit of a record represents a chunk and is set if the chunk is
//! encrypted.

use cryptbench_blockdev::{BlockDevice, read_bytes};

use crate::VolumeError;
use crate::bytes::{u16_at, u32_at, u64_at};
use crate::crc32::crc32;

const DESCRIPTION: &[u8] = b"FVE-EOW\0";
const MAP: &[u8] = b"FVE-EOWBM\0";
const RECORD: &[u8] = b"FVE-EOWBR\0";

/// Header sizes in bytes: of a description, a map and a record.
const HEADERS: (usize, usize, usize) = (56, 60, 36);

/// Maximum size of a map in bytes. The maps that Windows writes have 1536 bytes.
const MOST_MAP: usize = 1 << 20;

/// Maximum size of all maps together, in bytes.
const MOST_MAPS: u64 = 64 << 20;

/// Maximum number of chunks of all maps together: 128 TiB in Windows' 8 MiB chunks.
const MOST_CHUNKS: u64 = 1 << 24;

/// The content of the maps.
#[derive(Debug, Default)]
pub(super) struct Maps {
    /// The boundaries of the encrypted parts, ascending.
    pub encrypted: Vec<(u64, u64)>,
    /// Areas with descriptions, maps and logs, which read as zeros.
    pub reserved: Vec<(u64, u64)>,
}

/// Reads the first valid description at `places`, and its maps.
///
/// # Errors
/// [`VolumeError::Unsupported`] if no description with its maps is valid, because it is then unknown which
/// parts are encrypted.
pub(super) fn read(device: &dyn BlockDevice, places: [u64; 2]) -> Result<Maps, VolumeError> {
    let mut why = Vec::new();
    for at in places {
        match description(device, at) {
            Ok(mut maps) => {
                // The other description also reads as zeros, whether it is valid or not.
                let len = maps.reserved.first().map_or(0, |(_, len)| *len);
                maps.reserved.extend(places.into_iter().filter(|at| *at != 0).map(|at| (at, len)));
                return Ok(maps);
            }
            Err(reason) => why.push(format!("at byte {at}: {reason}")),
        }
    }
    Err(VolumeError::Unsupported {
        what: format!(
            "a partly encrypted volume without a valid map of its encrypted parts ({})",
            why.join("; ")
        ),
        hint: Some("let Windows finish its encryption or decryption".to_owned()),
    })
}

fn bytes(device: &dyn BlockDevice, at: u64, len: usize) -> Result<Vec<u8>, String> {
    let end = at.checked_add(len as u64).filter(|end| *end <= device.size());
    let end = end.ok_or("it is outside the volume")?;
    read_bytes(device, at..end).map_err(|error| error.to_string())
}

/// Verifies the checksum stored at `field`. The field itself counts as zeros in the calculation. A checksum of 0 means
/// that there is no checksum.
fn check(bytes: &[u8], field: usize) -> Result<(), String> {
    let mut copy = bytes.to_vec();
    let stored = u32_at(bytes, field).ok_or("it is truncated")?;
    copy[field..field + 4].fill(0);
    if stored == 0 || crc32(&copy) == stored {
        return Ok(());
    }
    Err("its checksum is wrong".to_owned())
}

fn description(device: &dyn BlockDevice, at: u64) -> Result<Maps, String> {
    let header = bytes(device, at, HEADERS.0)?;
    if !header.starts_with(DESCRIPTION) {
        return Err("the description is missing".to_owned());
    }
    let cut = || "it is truncated".to_owned();
    let header_len = usize::from(u16_at(&header, 8).ok_or_else(cut)?);
    let len = usize::from(u16_at(&header, 10).ok_or_else(cut)?);
    if header_len < HEADERS.0 || len < header_len {
        return Err("its lengths are invalid".to_owned());
    }
    let whole = bytes(device, at, len)?;
    check(&whole, 36)?;
    let sector = u64::from(u32_at(&whole, 12).ok_or_else(cut)?);
    let chunk = u64::from(u32_at(&whole, 20).ok_or_else(cut)?);
    let log = u64::from(u32_at(&whole, 24).ok_or_else(cut)?);
    if !matches!(sector, 512 | 1024 | 2048 | 4096) || chunk == 0 || !chunk.is_multiple_of(sector) {
        return Err(format!(
            "its chunk size is invalid: {chunk} bytes, with {sector}-byte sectors"
        ));
    }
    let maps = whole[header_len..].as_chunks::<8>().0;
    if u32_at(&whole, 32).is_none_or(|count| count as usize != maps.len()) {
        return Err("the number of maps differs from the one in its header".to_owned());
    }
    let mut told = Maps::default();
    told.reserved.push((at, (len as u64).next_multiple_of(sector)));
    let (mut chunks, mut map_bytes) = (0, 0);
    let mut end = 0;
    for place in maps {
        let place = u64::from_le_bytes(*place);
        let region = map(device, place).map_err(|why| format!("the map at byte {place}: {why}"))?;
        // Regions must not overlap, so that no byte is represented by two bits.
        if region.start < end {
            return Err(format!("the regions overlap at byte {}", region.start));
        }
        end = region.start.checked_add(region.len).ok_or("the end of a region is invalid")?;
        if !region.start.is_multiple_of(sector) || !region.len.is_multiple_of(sector) {
            return Err("a region is not a whole number of sectors".to_owned());
        }
        map_bytes += region.map_len;
        if map_bytes > MOST_MAPS {
            return Err(format!("the maps exceed {MOST_MAPS} bytes"));
        }
        let needed = region.len.div_ceil(chunk);
        chunks += needed.min(MOST_CHUNKS + 1);
        if chunks > MOST_CHUNKS || needed > u64::from(region.bits) {
            return Err(format!("{needed} chunks and {} bits", region.bits));
        }
        for number in 0..needed {
            let bit = region
                .bitmap
                .get((number / 8) as usize)
                .is_some_and(|b| b >> (number % 8) & 1 == 1);
            if bit {
                let from = region.start + number * chunk;
                let to = (from + chunk).min(end);
                match told.encrypted.last_mut() {
                    Some((_, last)) if *last == from => *last = to,
                    _ => told.encrypted.push((from, to)),
                }
            }
        }
        told.reserved.push((place, region.map_len.next_multiple_of(sector)));
        told.reserved.push((region.log, log.next_multiple_of(sector)));
    }
    if told.encrypted.is_empty() && maps.is_empty() {
        return Err("it lists no maps".to_owned());
    }
    Ok(told)
}

/// A region of the volume and its bits.
struct Region {
    start: u64,
    len: u64,
    log: u64,
    map_len: u64,
    bits: u32,
    bitmap: Vec<u8>,
}

fn map(device: &dyn BlockDevice, at: u64) -> Result<Region, String> {
    let cut = || "it is truncated".to_owned();
    let header = bytes(device, at, HEADERS.1)?;
    if !header.starts_with(MAP) {
        return Err("it has no signature".to_owned());
    }
    let len = u32_at(&header, 12).ok_or_else(cut)? as usize;
    if !(HEADERS.1..=MOST_MAP).contains(&len) {
        return Err(format!("its length is {len} bytes"));
    }
    let whole = bytes(device, at, len)?;
    let records = [44, 48].map(|field| u32_at(&whole, field).unwrap_or_default() as usize);
    let record_len = u32_at(&whole, 52).ok_or_else(cut)? as usize;
    // The checksum covers the part before the first record.
    let head = whole.get(..records[0]).filter(|head| head.len() >= HEADERS.1).ok_or_else(cut)?;
    check(head, 56)?;
    let mut newest: Option<(u64, u32, Vec<u8>)> = None;
    for start in records {
        let record = start.checked_add(record_len).and_then(|end| whole.get(start..end));
        let Some(record) = record else { continue };
        if !record.starts_with(RECORD) || check(record, 32).is_err() {
            continue;
        }
        let bits = u32_at(record, 16).ok_or_else(cut)?;
        let sequence = u64_at(record, 20).ok_or_else(cut)?;
        let header_len = u16_at(record, 10).map_or(HEADERS.2, usize::from).max(HEADERS.2);
        let bitmap = record.get(header_len..).unwrap_or_default();
        if u64::from(bits) > 8 * bitmap.len() as u64 {
            continue;
        }
        if newest.as_ref().is_none_or(|(known, ..)| sequence > *known) {
            newest = Some((sequence, bits, bitmap.to_vec()));
        }
    }
    let (_, bits, bitmap) = newest.ok_or("none of its records is valid")?;
    Ok(Region {
        start: u64_at(&whole, 20).ok_or_else(cut)?,
        len: u64_at(&whole, 28).ok_or_else(cut)?,
        log: u64_at(&whole, 36).ok_or_else(cut)?,
        map_len: len as u64,
        bits,
        bitmap,
    })
}
