//! The kernel with nibble look-ups, for any vector of bytes: 16 blocks per lane.

use super::keys::{Keys, ROUNDS, RoundKeys};
use super::pi::{
    BACKWARD, BACKWARD_LAST, Backward, Change, DECRYPT_IN, DECRYPT_LINEAR, DECRYPT_PRODUCTS,
    ENCRYPT_IN, ENCRYPT_LINEAR, ENCRYPT_OUT, ENCRYPT_PRODUCTS, FORWARD, Forward,
};
use super::slices::{load, store};
use crate::kernel::BLOCK;
use crate::vector::{Bytes, Table};

/// Expands a 32-byte key.
pub(super) fn keys(key: &[u8]) -> Keys {
    Keys::new(key, &ENCRYPT_LINEAR, &DECRYPT_LINEAR)
}

/// See [`super::xts::Kernel::transform`].
///
/// # Safety
/// As for that method.
#[inline(always)]
pub(super) unsafe fn transform<V: Bytes, const ENCRYPT: bool>(
    keys: &RoundKeys,
    masks: &[u128],
    src: *const u8,
    dst: *mut u8,
) {
    // SAFETY: guaranteed by the caller.
    unsafe {
        if ENCRYPT {
            encrypt::<V>(keys, masks, src, dst);
        } else {
            decrypt::<V>(keys, masks, src, dst);
        }
    }
}

/// 32 elements of the recurrence, of which the first 16 are the slices of the blocks' bytes. There are more elements
/// than registers, so the elements are stored in memory, and instructions use them as memory operands.
type Sequence<V> = [V; 2 * BLOCK];

/// # Safety
/// As for [`transform`].
#[inline(always)]
unsafe fn encrypt<V: Bytes>(keys: &RoundKeys, masks: &[u128], src: *const u8, dst: *mut u8) {
    // SAFETY: guaranteed by the caller.
    unsafe {
        let plain = load::<V>(masks, src, &keys.plain);
        let mut s: Sequence<V> = [V::splat(0); 2 * BLOCK];
        for (i, slice) in plain.into_iter().enumerate() {
            s[2 * BLOCK - 1 - i] = change(&ENCRYPT_IN, slice);
        }
        for steps in &keys.steps {
            for i in 0..BLOCK {
                s[i] = substitute(&FORWARD, s[BLOCK + i]);
            }
            recurrence(&ENCRYPT_PRODUCTS, steps, &mut s);
        }
        let mut slices = [V::splat(0); BLOCK];
        for i in 0..BLOCK {
            slices[i] = change(&ENCRYPT_OUT, s[2 * BLOCK - 1 - i]);
        }
        store(slices, masks, dst, &[0; BLOCK]);
    }
}

/// # Safety
/// As for [`transform`].
#[inline(always)]
unsafe fn decrypt<V: Bytes>(keys: &RoundKeys, masks: &[u128], src: *const u8, dst: *mut u8) {
    // SAFETY: guaranteed by the caller.
    unsafe {
        let cipher = load::<V>(masks, src, &[0; BLOCK]);
        let mut s: Sequence<V> = [V::splat(0); 2 * BLOCK];
        for (i, slice) in cipher.into_iter().enumerate() {
            s[i] = change(&DECRYPT_IN, slice);
        }
        for (round, steps) in keys.steps.iter().enumerate() {
            recurrence(&DECRYPT_PRODUCTS, steps, &mut s);
            let tables = if round + 1 == ROUNDS { &BACKWARD_LAST } else { &BACKWARD };
            for i in 0..BLOCK {
                s[i] = substitute_inverse(tables, s[BLOCK + i]);
            }
        }
        let mut slices = [V::splat(0); BLOCK];
        slices.copy_from_slice(&s[..BLOCK]);
        store(slices, masks, dst, &keys.plain);
    }
}

/// Computes the sixteen elements after the first sixteen. The last two elements are kept in registers, because
/// otherwise each step would wait until they have been stored in memory and loaded again.
///
/// # Safety
/// As for [`Bytes`].
#[inline(always)]
unsafe fn recurrence<V: Bytes>(
    products: &[[Table; 2]; 6],
    steps: &[u32; BLOCK],
    s: &mut Sequence<V>,
) {
    let (mut s14, mut s15) = (s[BLOCK - 2], s[BLOCK - 1]);
    for (n, &key) in steps.iter().enumerate() {
        let s: &mut [V; BLOCK + 1] = (&mut s[n..=n + BLOCK]).try_into().expect("17 elements");
        // SAFETY: guaranteed by the caller.
        unsafe {
            let times = |factor: usize, x: V| look_up(&products[factor], x);
            let ones = s[0].xor3(s[7] ^ s[9], V::splat(key));
            let far = s[1] ^ s15;
            let a = ones.xor3(times(5, s[8]), times(4, s[6] ^ s[10]));
            let b = far.xor3(times(3, s[5] ^ s[11]), times(2, s[2] ^ s14));
            let c = times(1, far.xor3(s[4], s[12]));
            let d = times(0, far.xor3(s[3], s[13]));
            (s14, s15) = (s15, (a ^ b).xor3(c, d));
        }
        s[BLOCK] = s15;
    }
}

/// Pi, in the representation for encryption.
///
/// # Safety
/// As for [`Bytes`].
#[inline(always)]
unsafe fn substitute<V: Bytes>(tables: &Forward, x: V) -> V {
    // SAFETY: guaranteed by the caller.
    unsafe {
        let [r, l] = x.split();
        let d = shuffle(&tables.left, l).add_saturating(shuffle(&tables.right_inverse, r));
        let t = reduce(d);
        let j = reduce(shuffle(&tables.right, r).add_bytes(shuffle(&tables.left_log, t)));
        let alone = t.add_bytes(V::splat_byte(0x80));
        shuffle(&tables.left_part, t)
            .xor3(shuffle(&tables.right_part, j), shuffle(&tables.left_alone, alone))
    }
}

/// Inverse Pi, in the representation for decryption.
///
/// # Safety
/// As for [`Bytes`].
#[inline(always)]
unsafe fn substitute_inverse<V: Bytes>(tables: &Backward, x: V) -> V {
    // SAFETY: guaranteed by the caller.
    unsafe {
        let [s, m] = x.split();
        let right = shuffle(&tables.right, s);
        let r = reduce(right.add_bytes(shuffle(&tables.left_inverse, m)));
        let l = reduce(shuffle(&tables.left, m).add_saturating(r));
        shuffle(&tables.right_part, r)
            .xor3(shuffle(&tables.left_part, l), shuffle(&tables.left_alone, m.sub_bytes(right)))
    }
}

/// Reduces sums below 30 modulo 15; sums of 0x90 or more remain above 0x80.
///
/// # Safety
/// As for [`Bytes`].
#[inline(always)]
unsafe fn reduce<V: Bytes>(x: V) -> V {
    // SAFETY: guaranteed by the caller.
    unsafe { x.min(x.sub_bytes(V::splat_byte(15))) }
}

/// # Safety
/// As for [`Bytes`].
#[inline(always)]
unsafe fn change<V: Bytes>(change: &Change, x: V) -> V {
    // SAFETY: guaranteed by the caller.
    unsafe { look_up(&change.0, x) }
}

/// A linear function of a byte.
///
/// # Safety
/// As for [`Bytes`].
#[inline(always)]
unsafe fn look_up<V: Bytes>(tables: &[Table; 2], x: V) -> V {
    // SAFETY: guaranteed by the caller.
    unsafe { x.map(V::table(&tables[0]), V::table(&tables[1])) }
}

/// # Safety
/// As for [`Bytes`].
#[inline(always)]
unsafe fn shuffle<V: Bytes>(table: &Table, x: V) -> V {
    // SAFETY: guaranteed by the caller.
    unsafe { x.look_up(V::table(table)) }
}
