//! Thrift's compact protocol (thrift/doc/specs/thrift-compact-protocol.md), which Parquet uses for its headers.

/// A struct under construction. Its fields must be added in ascending order of their numbers.
#[derive(Default)]
pub(super) struct Struct {
    bytes: Vec<u8>,
    last: u8,
}

const I32: u8 = 5;
const I64: u8 = 6;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const STRUCT: u8 = 12;

impl Struct {
    pub(super) fn i32(self, field: u8, value: i32) -> Self {
        self.add(field, I32, &zigzag(value.into()))
    }

    pub(super) fn i64(self, field: u8, value: i64) -> Self {
        self.add(field, I64, &zigzag(value))
    }

    pub(super) fn text(self, field: u8, value: &str) -> Self {
        self.add(field, BINARY, &binary(value))
    }

    pub(super) fn structure(self, field: u8, value: Self) -> Self {
        self.add(field, STRUCT, &value.end())
    }

    pub(super) fn i32s(self, field: u8, values: &[i32]) -> Self {
        let parts = values.iter().map(|value| zigzag((*value).into()));
        self.add(field, LIST, &list(I32, parts))
    }

    pub(super) fn texts(self, field: u8, values: &[&str]) -> Self {
        self.add(field, LIST, &list(BINARY, values.iter().map(|value| binary(value))))
    }

    pub(super) fn structures(self, field: u8, values: impl IntoIterator<Item = Self>) -> Self {
        self.add(field, LIST, &list(STRUCT, values.into_iter().map(Self::end)))
    }

    /// The whole struct.
    pub(super) fn end(mut self) -> Vec<u8> {
        self.bytes.push(0);
        self.bytes
    }

    fn add(mut self, field: u8, kind: u8, value: &[u8]) -> Self {
        debug_assert!((1..16).contains(&(field - self.last)), "ascending, and near");
        self.bytes.push((field - self.last) << 4 | kind);
        self.bytes.extend_from_slice(value);
        self.last = field;
        self
    }
}

/// A number of any size, in groups of seven bits, lowest group first.
pub(super) fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value > 0x7f {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

/// A short encoding for numbers near 0, including negative ones.
fn zigzag(value: i64) -> Vec<u8> {
    varint(((value << 1) ^ (value >> 63)).cast_unsigned())
}

fn binary(value: &str) -> Vec<u8> {
    [&varint(value.len() as u64), value.as_bytes()].concat()
}

fn list(kind: u8, values: impl Iterator<Item = Vec<u8>>) -> Vec<u8> {
    let values: Vec<_> = values.collect();
    let head = match values.len() {
        short @ 0..15 => vec![(short as u8) << 4 | kind],
        long => [vec![0xf0 | kind], varint(long as u64)].concat(),
    };
    [head, values.concat()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The specification's examples of zigzag and varints, and a struct by hand.
    #[test]
    fn numbers_and_structs_are_compact() {
        assert_eq!([0, -1, 1, -2, 2].map(zigzag), [[0], [1], [2], [3], [4]]);
        assert_eq!(varint(50399), [0xdf, 0x89, 0x03]);
        assert_eq!(zigzag(i64::MIN), varint(u64::MAX));
        let inner = Struct::default().i32(1, 1).end();
        assert_eq!(inner, [0x15, 2, 0]);
        let outer = Struct::default()
            .text(2, "ab")
            .structure(3, Struct::default().i64(1, -1))
            .i32s(7, &[3, 0])
            .end();
        assert_eq!(outer, [0x28, 2, b'a', b'b', 0x1c, 0x16, 1, 0, 0x49, 0x25, 6, 0, 0]);
        let long = list(I32, (0..20).map(zigzag));
        assert_eq!(long[..3], [0xf5, 20, 0]);
    }
}
