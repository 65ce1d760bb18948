//! A column as Parquet pages: which fields have a value, then the values, with a dictionary if they repeat.

use std::collections::HashMap;

use super::super::tidy::{Kind, Value};
use super::thrift::{Struct, varint};

/// `Encoding` of the format.
const PLAIN: i32 = 0;
const RLE: i32 = 3;
const RLE_DICTIONARY: i32 = 8;

/// `CompressionCodec` of the format.
const SNAPPY: i32 = 1;

/// `Type` of the format, and its `ConvertedType`.
pub(super) fn types(kind: Kind) -> (i32, Option<i32>) {
    match kind {
        Kind::Text => (6, Some(0)),
        // The bits of an unsigned number, which the annotation also states.
        Kind::Integer => (2, Some(14)),
        Kind::Real => (5, None),
        Kind::Truth => (0, None),
    }
}

/// Appends the only chunk of a column to a file. Returns the `ColumnChunk`, and its size in bytes before and
/// after compression.
pub(super) fn write<'a>(
    file: &mut Vec<u8>,
    name: &str,
    kind: Kind,
    values: impl Iterator<Item = &'a Value>,
) -> (Struct, [i64; 2]) {
    let fields: Vec<Option<Vec<u8>>> = values.map(plain).collect();
    let levels: Vec<u32> = fields.iter().map(|field| u32::from(field.is_some())).collect();
    let levels = hybrid(&levels, 1);
    let there: Vec<&[u8]> = fields.iter().flatten().map(Vec::as_slice).collect();
    let mut body = [&(levels.len() as u32).to_le_bytes(), &*levels].concat();
    let (start, mut plain_bytes) = (file.len() as i64, 0);
    let mut page = |kind: i32, body: &[u8], field: u8, about: Struct| {
        let packed = snap::raw::Encoder::new().compress_vec(body).expect("less than 4 GiB");
        let head = Struct::default()
            .i32(1, kind)
            .i32(2, body.len() as i32)
            .i32(3, packed.len() as i32)
            .structure(field, about)
            .end();
        plain_bytes += (head.len() + body.len()) as i64;
        file.extend([head, packed].concat());
        file.len() as i64
    };
    let (encoding, first_page) = match dictionary(kind, &there) {
        Some((words, places)) => {
            let about = Struct::default().i32(1, words.len() as i32).i32(2, PLAIN);
            let end = page(2, &words.concat(), 7, about);
            let width = (u32::BITS - (words.len() as u32 - 1).leading_zeros()).max(1);
            body.push(width as u8);
            body.extend(hybrid(&places, width));
            (RLE_DICTIONARY, end)
        }
        None if kind == Kind::Truth => {
            body.extend(bit_packed(&there.iter().map(|bit| bit[0].into()).collect::<Vec<_>>(), 1));
            (PLAIN, start)
        }
        None => {
            body.extend(there.concat());
            (PLAIN, start)
        }
    };
    let count = fields.len() as i32;
    let about = Struct::default().i32(1, count).i32(2, encoding).i32(3, RLE).i32(4, RLE);
    let end = page(0, &body, 5, about);
    let mut meta = Struct::default()
        .i32(1, types(kind).0)
        .i32s(2, &[PLAIN, RLE, encoding])
        .texts(3, &[name])
        .i32(4, SNAPPY)
        .i64(5, count.into())
        .i64(6, plain_bytes)
        .i64(7, end - start)
        .i64(9, first_page);
    if encoding == RLE_DICTIONARY {
        meta = meta.i64(11, start);
    }
    (Struct::default().i64(2, start).structure(3, meta), [plain_bytes, end - start])
}

/// A field in the encoding `PLAIN`, which uses one byte for a Boolean; `None` for a missing value.
fn plain(value: &Value) -> Option<Vec<u8>> {
    match value {
        Value::None => None,
        Value::Text(text) => Some([&(text.len() as u32).to_le_bytes(), text.as_bytes()].concat()),
        Value::Integer(number) => Some(number.to_le_bytes().into()),
        Value::Real(number) => Some(number.to_le_bytes().into()),
        Value::Truth(truth) => Some(vec![u8::from(*truth)]),
    }
}

/// The distinct values, and for each field the index of its value; `None` if that would not be shorter.
fn dictionary<'a>(kind: Kind, fields: &[&'a [u8]]) -> Option<(Vec<&'a [u8]>, Vec<u32>)> {
    if kind == Kind::Truth || fields.is_empty() {
        return None;
    }
    let (mut words, mut known) = (Vec::new(), HashMap::new());
    let places = fields.iter().map(|field| {
        *known.entry(*field).or_insert_with(|| {
            words.push(*field);
            words.len() as u32 - 1
        })
    });
    let places: Vec<u32> = places.collect();
    (words.len() <= fields.len() / 2).then_some((words, places))
}

/// Parquet's hybrid encoding: run lengths or packed bits, whichever is shorter for all the values.
fn hybrid(values: &[u32], width: u32) -> Vec<u8> {
    let bytes = width.div_ceil(8) as usize;
    let runs = values.chunk_by(|a, b| a == b).flat_map(|run| {
        [varint((run.len() as u64) << 1), run[0].to_le_bytes()[..bytes].to_vec()].concat()
    });
    let runs: Vec<u8> = runs.collect();
    let groups = values.len().div_ceil(8) as u64;
    let packed = [varint(groups << 1 | 1), bit_packed(values, width)].concat();
    if runs.len() <= packed.len() { runs } else { packed }
}

/// The lowest `width` bits of each value, packed from the lowest bit of the first byte, in groups of eight
/// values.
fn bit_packed(values: &[u32], width: u32) -> Vec<u8> {
    let mut bytes = vec![0_u8; values.len().div_ceil(8) * width as usize];
    for (i, value) in values.iter().enumerate() {
        for bit in (0..width).filter(|bit| value >> bit & 1 == 1) {
            let at = i * width as usize + bit as usize;
            bytes[at / 8] |= 1 << (at % 8);
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the format's Encodings.md.
    #[test]
    fn bits_are_packed_from_the_lowest() {
        assert_eq!(
            bit_packed(&[0, 1, 2, 3, 4, 5, 6, 7], 3),
            [0b1000_1000, 0b1100_0110, 0b1111_1010]
        );
        assert_eq!(bit_packed(&[1, 0, 1], 1), [0b101]);
    }

    #[test]
    fn the_shorter_of_runs_and_packed_bits_is_taken() {
        assert_eq!(hybrid(&[1; 100], 1), [200, 1, 1]);
        assert_eq!(hybrid(&[0, 1, 0, 1, 0, 1, 0, 1], 1), [0b11, 0b1010_1010]);
        assert_eq!(hybrid(&[300; 4], 9), [8, 44, 1]);
    }

    #[test]
    fn fields_that_repeat_have_a_dictionary() {
        let fields = [b"a", b"b", b"a", b"a"].map(|field| &field[..]);
        let (words, places) = dictionary(Kind::Text, &fields).unwrap();
        assert_eq!((words, places), (vec![&b"a"[..], b"b"], vec![0, 1, 0, 0]));
        assert!(dictionary(Kind::Text, &fields[..2]).is_none());
        assert!(dictionary(Kind::Truth, &fields).is_none());
    }
}
