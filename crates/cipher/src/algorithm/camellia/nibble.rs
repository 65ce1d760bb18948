//! S-boxes by means of the AES S-box, and maps by nibble tables: 16 blocks per lane of a vector.
//!
//! As in "Block Ciphers: Fast Implementations on x86-64 Architecture" (Kivilinna, 2013), each register contains the
//! bytes of all blocks at one position, and the last round of AES with a zero key inverts all of them. This kernel
//! differs in two ways:
//!
//! - The left half is kept in the basis in which no map is needed before the S-box of AES. The right half is kept in
//!   the basis for the inverse S-box of AES, and rounds from right to left use the last round of AES decryption.
//!   Therefore only s4 needs a map before the AES instruction, for its rotation. The effect of ShiftRows in one round
//!   is undone in the next, so the right half is in the order that ShiftRows produces.
//! - The tables of the maps after the S-boxes contain the round keys (see [`super::offsets`]).

use zeroize::{Zeroize, ZeroizeOnDrop};

use super::function::{INPUT, INPUT_CONSTANT, OUTPUT, OUTPUT_CONSTANT, TURNED_INPUT, undiffuse};
use super::layers::{MAX_LAYERS, layer};
use super::linear::Linear;
use super::offsets::{Constants, Offsets};
use super::schedule::{MAX_ROUNDS, SEGMENT, Schedule};
use super::xts::{CHUNK, Kernel};
use crate::isa::Isa;
use crate::kernel::{BLOCK, Block};
use crate::vector::{Bytes, Table, Vector, align_frame, transpose_bytes};

/// The linear map of the S-box of AES (FIPS 197, 5.1.1): bit i is the sum of bits i, i + 4 ... i + 7.
const AES: Linear = Linear([0x1f, 0x3e, 0x7c, 0xf8, 0xf1, 0xe3, 0xc7, 0x8f]);

/// The constant of the S-box of AES, added after its map.
const AES_CONSTANT: u8 = 0x63;

/// The bases of the left and the right half.
const BASES: [Linear; 2] = [INPUT, AES.after(INPUT)];

/// The remaining constants of s1 after the S-box of AES, and after its inverse.
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

/// A map as two tables.
#[derive(Clone, Copy)]
struct Map {
    low: Table,
    high: Table,
}

impl Map {
    const fn new(map: Linear) -> Self {
        let [low, high] = map.nibbles();
        Self { low: Table::new(low), high: Table::new(high) }
    }
}

/// The maps of one half, for its rounds, its input and its output.
struct Maps {
    /// The map from plain bytes to this half's basis.
    enter: Map,
    /// The map from this half's basis to plain bytes.
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

/// The images of all values of a nibble, which depend on the key.
type Images = [u8; 16];

/// The two tables of a key-dependent map.
type Pair = [Images; 2];

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
    /// Tables for the low nibbles of the left half at the input.
    first: [Images; 8],
    /// Tables for the low nibbles of the AES instruction's result in each round.
    rounds: [[Images; 8]; MAX_ROUNDS],
    layers: [[HalfTables; 2]; MAX_LAYERS],
    /// Tables for the low nibbles of the right half at the output.
    last: [Images; 8],
    count: usize,
}

impl Keys {
    pub(super) fn new(schedule: &Schedule) -> Self {
        let offsets = Offsets::new(schedule, CONSTANTS);
        // The tables for the low nibbles, with a constant added in the basis of the result.
        let tables = |constant: u64, basis: Linear, low: &dyn Fn(usize) -> Images| {
            let constant = basis.of_each(constant).to_be_bytes();
            std::array::from_fn(|i| low(i).map(|entry| entry ^ constant[i]))
        };
        let mut keys = Self {
            first: tables(offsets.first, BASES[0], &|_| MAPS[0].enter.low.0[0]),
            rounds: [[Images::default(); 8]; MAX_ROUNDS],
            layers: Default::default(),
            last: tables(offsets.last, Linear::IDENTITY, &|_| MAPS[1].leave.low.0[0]),
            count: schedule.rounds,
        };
        for round in 0..schedule.rounds {
            // The constant is added before P is applied.
            let constant = undiffuse(offsets.rounds[round]);
            let low = |i: usize| MAPS[round % 2].after[AFTER[i]].low.0[0];
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

/// An instruction set that includes AES instructions.
///
/// # Safety
/// As for [`Bytes`].
pub(super) trait Instructions: Isa {
    /// Name of the kernel, as stored in records.
    const NAME: &'static str;

    type Vector: Bytes;

    /// SubBytes and ShiftRows on each lane.
    unsafe fn aes(x: Self::Vector) -> Self::Vector;

    /// InvShiftRows and InvSubBytes on each lane.
    unsafe fn aes_inverse(x: Self::Vector) -> Self::Vector;

    /// See [`Kernel::masks`].
    unsafe fn masks(first: u128, masks: &mut [Block; CHUNK]);
}

impl<I: Instructions> Kernel for I {
    const NAME: &'static str = <I as Instructions>::NAME;
    const BLOCKS: usize = CHUNK;
    type Keys = Keys;

    fn keys(schedule: &Schedule) -> Keys {
        Keys::new(schedule)
    }

    #[inline(always)]
    unsafe fn transform(keys: &Keys, from: *const u8, masks: *const u8, to: *mut u8) {
        align_frame();
        for at in (0..CHUNK * BLOCK).step_by(16 * I::Vector::BYTES) {
            // SAFETY: by the trait's contract; every part is within the blocks.
            unsafe { transform::<I>(keys, from.add(at), masks.add(at), to.add(at)) }
        }
    }

    #[inline(always)]
    unsafe fn masks(first: u128, masks: &mut [Block; CHUNK]) {
        // SAFETY: the trait's contract.
        unsafe { <I as Instructions>::masks(first, masks) }
    }
}

/// Half of the state: byte positions, the most significant first.
type Half<V> = [V; 8];

/// Encrypts or decrypts as many blocks as fit in 16 vectors, like [`Kernel::transform`].
///
/// # Safety
/// As for [`Kernel::transform`].
#[inline(always)]
unsafe fn transform<I: Instructions>(keys: &Keys, from: *const u8, masks: *const u8, to: *mut u8) {
    let bytes = I::Vector::BYTES;
    // SAFETY: the caller guarantees the requirements; 16 vectors are accessed from each pointer.
    unsafe {
        let mut x = [I::Vector::splat(0); 16];
        for (i, x) in x.iter_mut().enumerate() {
            *x = I::Vector::load(from.add(bytes * i)) ^ I::Vector::load(masks.add(bytes * i));
        }
        let x = transpose_bytes(x);
        let [mut left, mut right] = [[x[0]; 8]; 2];
        for i in 0..8 {
            left[i] = map(x[i], &keys.first[i], &MAPS[0].enter.high);
            right[i] = reorder(full_map(x[8 + i], &MAPS[1].enter), &SHIFT_ROWS);
        }

        let mut rounds = keys.rounds.as_ptr();
        let mut layers = keys.layers.iter();
        let mut left_rounds = keys.count;
        loop {
            for _ in 0..SEGMENT / 2 {
                right = round::<I, 0>(left, right, &*rounds);
                left = round::<I, 1>(right, left, &*rounds.add(1));
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

        let mut x = [I::Vector::splat(0); 16];
        for i in 0..8 {
            let byte = reorder(right[i], &SHIFT_ROWS_BACK);
            x[i] = map(byte, &keys.last[i], &MAPS[1].leave.high);
            x[8 + i] = full_map(left[i], &MAPS[0].leave);
        }
        for (i, x) in transpose_bytes(x).into_iter().enumerate() {
            (x ^ I::Vector::load(masks.add(bytes * i))).store(to.add(bytes * i));
        }
    }
}

/// Computes `to + P(S(from))` and adds the key.
///
/// # Safety
/// As for [`transform`].
#[inline(always)]
unsafe fn round<I: Instructions, const HALF: usize>(
    from: Half<I::Vector>,
    to: Half<I::Vector>,
    tables: &[Images; 8],
) -> Half<I::Vector> {
    // SAFETY: the caller guarantees the requirements.
    unsafe {
        // Unrolled by hand: if the compiler kept a loop, the vectors would be stored in memory. The bytes of s4 come
        // first, because their computation takes the longest.
        let z3 = s_box::<I, HALF, 3>(from, tables);
        let z6 = s_box::<I, HALF, 6>(from, tables);
        let z0 = s_box::<I, HALF, 0>(from, tables);
        let z5 = s_box::<I, HALF, 5>(from, tables);
        let z7 = s_box::<I, HALF, 7>(from, tables);
        let z2 = s_box::<I, HALF, 2>(from, tables);
        let z1 = s_box::<I, HALF, 1>(from, tables);
        let z4 = s_box::<I, HALF, 4>(from, tables);
        let z = [z0, z1, z2, z3, z4, z5, z6, z7];
        let a = [z[0] ^ z[5], z[1] ^ z[6], z[2] ^ z[7], z[3] ^ z[4]];
        let b = [z[4] ^ a[2], z[5] ^ a[3], z[6] ^ a[0], z[7] ^ a[1]];
        let c = [a[0] ^ b[3], a[1] ^ b[0], a[2] ^ b[1], a[3] ^ b[2]];
        [
            to[0] ^ b[0] ^ c[3],
            to[1] ^ b[1] ^ c[0],
            to[2] ^ b[2] ^ c[1],
            to[3] ^ b[3] ^ c[2],
            to[4] ^ c[0],
            to[5] ^ c[1],
            to[6] ^ c[2],
            to[7] ^ c[3],
        ]
    }
}

/// Applies the S-box of byte `B`, adds the key, and leaves the result in the other half's basis.
///
/// # Safety
/// As for [`transform`].
#[inline(always)]
unsafe fn s_box<I: Instructions, const HALF: usize, const B: usize>(
    from: Half<I::Vector>,
    tables: &[Images; 8],
) -> I::Vector {
    // SAFETY: the caller guarantees the requirements.
    unsafe {
        let x = if TURNED_INPUT[B] { full_map(from[B], &MAPS[HALF].rotate) } else { from[B] };
        let s = if HALF == 0 { I::aes(x) } else { I::aes_inverse(x) };
        map(s, &tables[B], &MAPS[HALF].after[AFTER[B]].high)
    }
}

/// Adds the rotated left word to the right word.
///
/// # Safety
/// As for [`transform`].
#[inline(always)]
unsafe fn rotation<V: Bytes>(mut x: Half<V>, tables: &HalfTables) -> Half<V> {
    // SAFETY: the caller guarantees the requirements.
    unsafe {
        for i in 0..4 {
            let nibbles = x[i].split();
            let before = 4 + (i + 3) % 4;
            x[4 + i] ^= look_up(nibbles, &tables.same[i]);
            x[before] ^= look_up(nibbles, &tables.carry[i]);
        }
        x
    }
}

/// Adds the selected bits of the right word to the left word.
///
/// # Safety
/// As for [`transform`].
#[inline(always)]
unsafe fn back<V: Bytes>(mut x: Half<V>, tables: &HalfTables) -> Half<V> {
    // SAFETY: the caller guarantees the requirements.
    unsafe {
        for i in 0..4 {
            x[i] ^= look_up(x[4 + i].split(), &tables.back[i]);
        }
        x
    }
}

/// # Safety
/// As for [`transform`].
#[inline(always)]
unsafe fn look_up<V: Bytes>([low, high]: [V; 2], pair: &Pair) -> V {
    // SAFETY: the caller guarantees the requirements.
    unsafe { low.look_up(V::lanes(&pair[0])) ^ high.look_up(V::lanes(&pair[1])) }
}

/// # Safety
/// As for [`transform`].
#[inline(always)]
unsafe fn map<V: Bytes>(x: V, low: &Images, high: &Table) -> V {
    // SAFETY: the caller guarantees the requirements.
    unsafe { x.map(V::lanes(low), V::table(high)) }
}

/// # Safety
/// As for [`transform`].
#[inline(always)]
unsafe fn full_map<V: Bytes>(x: V, tables: &Map) -> V {
    // SAFETY: the caller guarantees the requirements.
    unsafe { x.map(V::table(&tables.low), V::table(&tables.high)) }
}

/// The byte order that ShiftRows produces (FIPS 197, 5.1.2).
const SHIFT_ROWS: [u8; 16] = [0, 5, 10, 15, 4, 9, 14, 3, 8, 13, 2, 7, 12, 1, 6, 11];

/// Undoes [`SHIFT_ROWS`].
const SHIFT_ROWS_BACK: [u8; 16] = [0, 13, 10, 7, 4, 1, 14, 11, 8, 5, 2, 15, 12, 9, 6, 3];

/// # Safety
/// As for [`transform`].
#[inline(always)]
unsafe fn reorder<V: Bytes>(x: V, order: &[u8; 16]) -> V {
    // SAFETY: the caller guarantees the requirements.
    unsafe { V::lanes(order).look_up(x) }
}

#[cfg(test)]
mod tests {
    use super::super::function::TURNS;
    use super::AFTER;

    #[test]
    fn s_boxes_with_one_turn_share_a_map() {
        for (map, turn) in AFTER.into_iter().zip(TURNS) {
            assert_eq!(turn, [TURNS[0], TURNS[1], TURNS[2]][map]);
        }
    }
}
