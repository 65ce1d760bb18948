//! AVX2 with the AES instructions: 32 blocks, S-boxes through those of AES, maps by nibble tables.
//!
//! As in "Block Ciphers: Fast Implementations on x86-64 Architecture" (Kivilinna, 2013), each
//! register holds one byte position of all blocks, and AESENCLAST with a zero key inverts all its
//! bytes. This kernel differs in two ways:
//!
//! - The left half stays in the basis in which the S-box of AES needs no map before it. The right
//!   half stays in the basis of the inverse S-box of AES, and AESDECLAST serves the rounds from
//!   right to left. Only s4 therefore has a map before it, for its rotation. ShiftRows in one round
//!   is undone in the next, so the right half lies in the order that ShiftRows produces.
//! - The tables of the maps after the S-boxes contain the round keys (see [`super::offsets`]).

use std::arch::x86_64::*;

use zeroize::{Zeroize, ZeroizeOnDrop};

use super::super::function::{
    INPUT, INPUT_CONSTANT, OUTPUT, OUTPUT_CONSTANT, TURNED_INPUT, undiffuse,
};
use super::super::linear::Linear;
use super::super::schedule::{MAX_ROUNDS, SEGMENT, Schedule};
use super::frame::align_frame;
use super::layers::{MAX_LAYERS, layer};
use super::masks::masks_256;
use super::offsets::{Constants, Offsets};
use super::transpose::transpose_256;
use super::xts::{CHUNK, Wide};
use crate::cpu::Tier;
use crate::kernel::Block;

/// The linear map of the S-box of AES (FIPS 197, 5.1.1): bit i is the sum of bits i, i + 4 ... i + 7.
const AES: Linear = Linear([0x1f, 0x3e, 0x7c, 0xf8, 0xf1, 0xe3, 0xc7, 0x8f]);

/// The constant of the S-box of AES, added after its map.
const AES_CONSTANT: u8 = 0x63;

/// The bases of the left and the right half.
const BASES: [Linear; 2] = [INPUT, AES.after(INPUT)];

/// What remains of the constants of s1 after the S-box of AES, and after its inverse.
const CONSTANTS: [Constants; 2] = [
    Constants {
        input: INPUT_CONSTANT,
        output: OUTPUT_CONSTANT ^ OUTPUT.after(AES.inverse()).of(AES_CONSTANT),
    },
    Constants {
        input: INPUT_CONSTANT ^ BASES[1].inverse().of(AES_CONSTANT),
        output: OUTPUT_CONSTANT,
    },
];

/// A map as two tables, each in both halves of a vector.
#[derive(Clone, Copy)]
#[repr(C, align(32))]
struct Map {
    low: [[u8; 16]; 2],
    high: [[u8; 16]; 2],
}

impl Map {
    const fn new(map: Linear) -> Self {
        let [low, high] = map.nibbles();
        Self { low: [low; 2], high: [high; 2] }
    }
}

/// The maps of one half: those of its rounds, its input and its output.
struct Maps {
    /// From plain bytes to this half's basis.
    enter: Map,
    /// From this half's basis to plain bytes.
    leave: Map,
    /// The rotation of s4, in this half's basis.
    rotate: Map,
    /// Maps the AES instruction's result for this half to the other half's basis: for s1 and s4,
    /// for s2, and for s3.
    after: [Map; 3],
}

const fn after(half: usize, turn: Linear) -> Linear {
    let from = if half == 0 { OUTPUT.after(AES.inverse()) } else { OUTPUT };
    BASES[1 - half].after(turn).after(from)
}

const fn maps(half: usize) -> Maps {
    let basis = BASES[half];
    let plain = basis.inverse();
    Maps {
        enter: Map::new(basis),
        leave: Map::new(plain),
        rotate: Map::new(basis.after(Linear::ROTATE_LEFT).after(plain)),
        after: [
            Map::new(after(half, Linear::IDENTITY)),
            Map::new(after(half, Linear::ROTATE_LEFT)),
            Map::new(after(half, Linear::ROTATE_RIGHT)),
        ],
    }
}

static MAPS: [Maps; 2] = [maps(0), maps(1)];

/// Index in [`Maps::after`] of the map after each S-box.
const AFTER: [usize; 8] = [0, 1, 2, 0, 1, 2, 0, 0];

/// The images of a nibble's values.
type Table = [u8; 16];

/// The two tables of a key-dependent map.
type Pair = [Table; 2];

/// [`super::layers::HalfLayer`] as tables.
#[derive(Clone, Copy, Default, Zeroize)]
struct HalfTables {
    same: [Pair; 4],
    carry: [Pair; 4],
    back: [Pair; 4],
}

/// Tables of one direction.
#[derive(Zeroize, ZeroizeOnDrop)]
#[repr(C, align(64))]
pub(super) struct Keys {
    /// Tables for low nibbles of the left half on its way in.
    first: [Table; 8],
    /// Tables for low nibbles of the AES instruction's result in each round.
    rounds: [[Table; 8]; MAX_ROUNDS],
    layers: [[HalfTables; 2]; MAX_LAYERS],
    /// Tables for low nibbles of the right half on its way out.
    last: [Table; 8],
    count: usize,
}

impl Keys {
    fn new(schedule: &Schedule) -> Self {
        let offsets = Offsets::new(schedule, CONSTANTS);
        // The tables for low nibbles, with a constant added in the basis of their results.
        let tables = |constant: u64, basis: Linear, low: &dyn Fn(usize) -> Table| {
            let constant = basis.of_each(constant).to_be_bytes();
            std::array::from_fn(|i| low(i).map(|entry| entry ^ constant[i]))
        };
        let mut keys = Self {
            first: tables(offsets.first, BASES[0], &|_| MAPS[0].enter.low[0]),
            rounds: [[Table::default(); 8]; MAX_ROUNDS],
            layers: Default::default(),
            last: tables(offsets.last, Linear::IDENTITY, &|_| MAPS[1].leave.low[0]),
            count: schedule.rounds,
        };
        for round in 0..schedule.rounds {
            // The constant is added before P.
            let constant = undiffuse(offsets.rounds[round]);
            let low = |i: usize| MAPS[round % 2].after[AFTER[i]].low[0];
            keys.rounds[round] = tables(constant, BASES[1 - round % 2], &low);
        }
        for (index, tables) in keys.layers[..schedule.rounds / SEGMENT - 1].iter_mut().enumerate() {
            *tables = layer(schedule, index, BASES).map(|half| HalfTables {
                same: half.same.map(Linear::nibbles),
                carry: half.carry.map(Linear::nibbles),
                back: half.back.map(Linear::nibbles),
            });
        }
        keys
    }
}

/// Proof that the CPU has AVX2 and VAES.
#[derive(Clone, Copy)]
pub(super) struct VaesAvx2(());

impl VaesAvx2 {
    pub(super) fn new(tier: Tier) -> Option<Self> {
        let has = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("vaes");
        (tier >= Tier::Avx2 && has).then_some(Self(()))
    }
}

impl Wide for VaesAvx2 {
    const NAME: &'static str = "vaes-avx2";
    const BLOCKS: usize = 32;
    type Keys = Keys;

    fn keys(schedule: &Schedule) -> Keys {
        Keys::new(schedule)
    }

    unsafe fn transform(self, keys: &Keys, from: *const u8, masks: *const u8, to: *mut u8) {
        // SAFETY: `self` proves the features; the rest is the trait's contract.
        unsafe { transform_vaes(keys, from, masks, to) }
    }

    fn masks(self, first: u128, masks: &mut [Block; CHUNK]) {
        // SAFETY: `self` proves the features.
        unsafe { masks_256(first, masks) }
    }
}

/// Proof that the CPU has AVX2 and AES-NI.
#[derive(Clone, Copy)]
pub(super) struct AesAvx2(());

impl AesAvx2 {
    pub(super) fn new(tier: Tier) -> Option<Self> {
        let has = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("aes");
        (tier >= Tier::Avx2 && has).then_some(Self(()))
    }
}

impl Wide for AesAvx2 {
    const NAME: &'static str = "aesni-avx2";
    const BLOCKS: usize = 32;
    type Keys = Keys;

    fn keys(schedule: &Schedule) -> Keys {
        Keys::new(schedule)
    }

    unsafe fn transform(self, keys: &Keys, from: *const u8, masks: *const u8, to: *mut u8) {
        // SAFETY: `self` proves the features; the rest is the trait's contract.
        unsafe { transform_aesni(keys, from, masks, to) }
    }

    fn masks(self, first: u128, masks: &mut [Block; CHUNK]) {
        // SAFETY: `self` proves the features.
        unsafe { masks_256(first, masks) }
    }
}

/// # Safety
/// The CPU must have the features; for the rest see [`Wide::transform`].
#[target_feature(enable = "avx2,aes,vaes")]
unsafe fn transform_vaes(keys: &Keys, from: *const u8, masks: *const u8, to: *mut u8) {
    // SAFETY: this function enables the instruction set; the rest is passed on.
    unsafe { transform::<true>(keys, from, masks, to) }
}

/// # Safety
/// The CPU must have the features; for the rest see [`Wide::transform`].
#[target_feature(enable = "avx2,aes")]
unsafe fn transform_aesni(keys: &Keys, from: *const u8, masks: *const u8, to: *mut u8) {
    // SAFETY: this function enables the instruction set; the rest is passed on.
    unsafe { transform::<false>(keys, from, masks, to) }
}

/// A half of the state: byte positions, most significant first.
type Half = [__m256i; 8];

/// # Safety
/// The caller must enable AVX2 and AES-NI, and VAES if `VAES`; for the rest see [`Wide::transform`].
#[inline(always)]
unsafe fn transform<const VAES: bool>(keys: &Keys, from: *const u8, masks: *const u8, to: *mut u8) {
    align_frame();
    // SAFETY: the contract is passed on; each pointer goes through 32 blocks, two at a time.
    unsafe {
        let mut x = [_mm256_setzero_si256(); 16];
        for (i, x) in x.iter_mut().enumerate() {
            *x = _mm256_xor_si256(load(from.add(32 * i)), load(masks.add(32 * i)));
        }
        let x = transpose_256(x);
        let [mut left, mut right] = [[x[0]; 8]; 2];
        for i in 0..8 {
            left[i] = map(x[i], table(&keys.first[i]), whole(&MAPS[0].enter.high));
            right[i] = shift_rows(full_map(x[8 + i], &MAPS[1].enter));
        }

        let mut rounds = keys.rounds.as_ptr();
        let mut layers = keys.layers.iter();
        let mut left_rounds = keys.count;
        loop {
            for _ in 0..SEGMENT / 2 {
                right = round::<VAES, 0>(left, right, &*rounds);
                left = round::<VAES, 1>(right, left, &*rounds.add(1));
                rounds = rounds.add(2);
            }
            left_rounds -= SEGMENT;
            if left_rounds == 0 {
                break;
            }
            if let Some([for_left, for_right]) = layers.next() {
                left = back(rotation(left, for_left), for_left);
                right = rotation(back(right, for_right), for_right);
            }
        }

        let mut x = [_mm256_setzero_si256(); 16];
        for i in 0..8 {
            let byte = shift_rows_back(right[i]);
            x[i] = map(byte, table(&keys.last[i]), whole(&MAPS[1].leave.high));
            x[8 + i] = full_map(left[i], &MAPS[0].leave);
        }
        let x = transpose_256(x);
        for (i, x) in x.into_iter().enumerate() {
            let x = _mm256_xor_si256(x, load(masks.add(32 * i)));
            _mm256_storeu_si256(to.add(32 * i).cast(), x);
        }
    }
}

/// Computes `to + P(S(from))` and adds the key.
///
/// # Safety
/// As for [`transform`].
#[inline(always)]
unsafe fn round<const VAES: bool, const HALF: usize>(
    from: Half,
    to: Half,
    tables: &[Table; 8],
) -> Half {
    // SAFETY: the contract is passed on.
    unsafe {
        // Unrolled by hand: the compiler might keep a loop, whose registers would then lie in
        // memory. Those of s4 come first, because they take longest.
        let z3 = s_box::<VAES, HALF, 3>(from, tables);
        let z6 = s_box::<VAES, HALF, 6>(from, tables);
        let z0 = s_box::<VAES, HALF, 0>(from, tables);
        let z5 = s_box::<VAES, HALF, 5>(from, tables);
        let z7 = s_box::<VAES, HALF, 7>(from, tables);
        let z2 = s_box::<VAES, HALF, 2>(from, tables);
        let z1 = s_box::<VAES, HALF, 1>(from, tables);
        let z4 = s_box::<VAES, HALF, 4>(from, tables);
        let z = [z0, z1, z2, z3, z4, z5, z6, z7];
        let a = [xor(z[0], z[5]), xor(z[1], z[6]), xor(z[2], z[7]), xor(z[3], z[4])];
        let b = [xor(z[4], a[2]), xor(z[5], a[3]), xor(z[6], a[0]), xor(z[7], a[1])];
        let c = [xor(a[0], b[3]), xor(a[1], b[0]), xor(a[2], b[1]), xor(a[3], b[2])];
        [
            xor(xor(to[0], b[0]), c[3]),
            xor(xor(to[1], b[1]), c[0]),
            xor(xor(to[2], b[2]), c[1]),
            xor(xor(to[3], b[3]), c[2]),
            xor(to[4], c[0]),
            xor(to[5], c[1]),
            xor(to[6], c[2]),
            xor(to[7], c[3]),
        ]
    }
}

/// Applies the S-box of byte `I`, adds the key, and leaves the result in the other half's basis.
///
/// # Safety
/// As for [`transform`].
#[inline(always)]
unsafe fn s_box<const VAES: bool, const HALF: usize, const I: usize>(
    from: Half,
    tables: &[Table; 8],
) -> __m256i {
    // SAFETY: the contract is passed on.
    unsafe {
        let x = if TURNED_INPUT[I] { full_map(from[I], &MAPS[HALF].rotate) } else { from[I] };
        let s = if HALF == 0 { aes::<VAES>(x) } else { aes_inverse::<VAES>(x) };
        map(s, table(&tables[I]), whole(&MAPS[HALF].after[AFTER[I]].high))
    }
}

/// Adds the rotated left word to the right one.
///
/// # Safety
/// As for [`transform`].
#[inline(always)]
unsafe fn rotation(mut x: Half, tables: &HalfTables) -> Half {
    // SAFETY: the contract is passed on.
    unsafe {
        for i in 0..4 {
            let nibbles = split(x[i]);
            let before = 4 + (i + 3) % 4;
            x[4 + i] = xor(x[4 + i], look_up(nibbles, &tables.same[i]));
            x[before] = xor(x[before], look_up(nibbles, &tables.carry[i]));
        }
        x
    }
}

/// Adds the selected bits of the right word to the left one.
///
/// # Safety
/// As for [`transform`].
#[inline(always)]
unsafe fn back(mut x: Half, tables: &HalfTables) -> Half {
    // SAFETY: the contract is passed on.
    unsafe {
        for i in 0..4 {
            x[i] = xor(x[i], look_up(split(x[4 + i]), &tables.back[i]));
        }
        x
    }
}

/// # Safety
/// As for [`transform`].
#[inline(always)]
unsafe fn look_up([low, high]: [__m256i; 2], pair: &Pair) -> __m256i {
    // SAFETY: the contract is passed on.
    unsafe {
        xor(_mm256_shuffle_epi8(table(&pair[0]), low), _mm256_shuffle_epi8(table(&pair[1]), high))
    }
}

/// The low and the high nibble of each byte.
///
/// # Safety
/// As for [`transform`].
#[inline(always)]
unsafe fn split(x: __m256i) -> [__m256i; 2] {
    // SAFETY: the contract is passed on.
    unsafe {
        let nibble = _mm256_set1_epi8(15);
        [_mm256_and_si256(x, nibble), _mm256_and_si256(_mm256_srli_epi16::<4>(x), nibble)]
    }
}

/// # Safety
/// As for [`transform`].
#[inline(always)]
unsafe fn map(x: __m256i, low: __m256i, high: __m256i) -> __m256i {
    // SAFETY: the contract is passed on.
    unsafe {
        let nibbles = split(x);
        xor(_mm256_shuffle_epi8(low, nibbles[0]), _mm256_shuffle_epi8(high, nibbles[1]))
    }
}

/// # Safety
/// As for [`transform`].
#[inline(always)]
unsafe fn full_map(x: __m256i, tables: &Map) -> __m256i {
    // SAFETY: the contract is passed on.
    unsafe { map(x, whole(&tables.low), whole(&tables.high)) }
}

/// SubBytes and ShiftRows.
///
/// # Safety
/// As for [`transform`].
#[inline(always)]
unsafe fn aes<const VAES: bool>(x: __m256i) -> __m256i {
    // SAFETY: the contract is passed on.
    unsafe {
        if VAES {
            return _mm256_aesenclast_epi128(x, _mm256_setzero_si256());
        }
        let [low, high] = [_mm256_castsi256_si128(x), _mm256_extracti128_si256::<1>(x)];
        let low = _mm_aesenclast_si128(low, _mm_setzero_si128());
        let high = _mm_aesenclast_si128(high, _mm_setzero_si128());
        _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(low), high)
    }
}

/// InvShiftRows and InvSubBytes.
///
/// # Safety
/// As for [`transform`].
#[inline(always)]
unsafe fn aes_inverse<const VAES: bool>(x: __m256i) -> __m256i {
    // SAFETY: the contract is passed on.
    unsafe {
        if VAES {
            return _mm256_aesdeclast_epi128(x, _mm256_setzero_si256());
        }
        let [low, high] = [_mm256_castsi256_si128(x), _mm256_extracti128_si256::<1>(x)];
        let low = _mm_aesdeclast_si128(low, _mm_setzero_si128());
        let high = _mm_aesdeclast_si128(high, _mm_setzero_si128());
        _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(low), high)
    }
}

/// The byte order that ShiftRows produces (FIPS 197, 5.1.2).
///
/// # Safety
/// As for [`transform`].
#[inline(always)]
unsafe fn shift_rows(x: __m256i) -> __m256i {
    // SAFETY: the contract is passed on.
    unsafe {
        let order = _mm_setr_epi8(0, 5, 10, 15, 4, 9, 14, 3, 8, 13, 2, 7, 12, 1, 6, 11);
        _mm256_shuffle_epi8(x, _mm256_broadcastsi128_si256(order))
    }
}

/// Undoes [`shift_rows`].
///
/// # Safety
/// As for [`transform`].
#[inline(always)]
unsafe fn shift_rows_back(x: __m256i) -> __m256i {
    // SAFETY: the contract is passed on.
    unsafe {
        let order = _mm_setr_epi8(0, 13, 10, 7, 4, 1, 14, 11, 8, 5, 2, 15, 12, 9, 6, 3);
        _mm256_shuffle_epi8(x, _mm256_broadcastsi128_si256(order))
    }
}

/// # Safety
/// As for [`transform`].
#[inline(always)]
unsafe fn xor(a: __m256i, b: __m256i) -> __m256i {
    // SAFETY: the contract is passed on.
    unsafe { _mm256_xor_si256(a, b) }
}

/// # Safety
/// The caller must enable AVX2, and `from` be readable for 32 bytes.
#[inline(always)]
unsafe fn load(from: *const u8) -> __m256i {
    // SAFETY: the function's contract.
    unsafe { _mm256_loadu_si256(from.cast()) }
}

/// Loads a table into both halves of a vector.
///
/// # Safety
/// As for [`transform`].
#[inline(always)]
unsafe fn table(table: &Table) -> __m256i {
    // SAFETY: the contract is passed on, and a table has 16 bytes.
    unsafe { _mm256_broadcastsi128_si256(_mm_loadu_si128(table.as_ptr().cast())) }
}

/// Loads a table that is stored once for each half of a vector.
///
/// # Safety
/// As for [`transform`].
#[inline(always)]
unsafe fn whole(table: &[Table; 2]) -> __m256i {
    // SAFETY: the contract is passed on, and the table has 32 bytes.
    unsafe { load(table.as_ptr().cast()) }
}

#[cfg(test)]
mod tests {
    use super::super::super::function::TURNS;
    use super::AFTER;

    #[test]
    fn s_boxes_with_one_turn_share_a_map() {
        for (map, turn) in AFTER.into_iter().zip(TURNS) {
            assert_eq!(turn, [TURNS[0], TURNS[1], TURNS[2]][map]);
        }
    }
}
