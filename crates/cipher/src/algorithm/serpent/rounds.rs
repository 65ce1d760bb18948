//! The cipher in bitslice form (submission, section 4) for any word, with several groups in parallel.
//!
//! The S-boxes omit their constants, which are included in the round keys instead (see [`super::schedule`]).

use super::word::Word;

/// Number of round keys: one more than there are rounds.
pub(super) const ROUND_KEYS: usize = 33;

/// All key words of a cipher, in the form in which `W` adds them.
pub(super) type RoundKeys<W> = [[<W as Word>::Key; 4]; ROUND_KEYS];

/// A group of as many blocks as a word has lanes: `x[i]` contains word `i` of each block.
pub(super) type Group<W> = [W; 4];

/// The linear transformation.
#[inline(always)]
pub(super) fn mix<W: Word>([a, b, c, d]: Group<W>) -> Group<W> {
    let a = a.rotate::<13, 19>();
    let c = c.rotate::<3, 29>();
    let b = b.xor3(a, c).rotate::<1, 31>();
    let d = d.xor3(c, a.shift_left::<3>()).rotate::<7, 25>();
    let a = a.xor3(b, d).rotate::<5, 27>();
    let c = c.xor3(d, b.shift_left::<7>()).rotate::<22, 10>();
    [a, b, c, d]
}

/// The inverse of [`mix`].
#[inline(always)]
fn mix_back<W: Word>([a, b, c, d]: Group<W>) -> Group<W> {
    let c = c.rotate::<10, 22>().xor3(d, b.shift_left::<7>());
    let a = a.rotate::<27, 5>().xor3(b, d);
    let d = d.rotate::<25, 7>().xor3(c, a.shift_left::<3>());
    let b = b.rotate::<31, 1>().xor3(a, c);
    [a.rotate::<19, 13>(), b, c.rotate::<29, 3>(), d]
}

#[inline(always)]
fn add_key<W: Word>([a, b, c, d]: Group<W>, key: &[W::Key; 4]) -> Group<W> {
    [a.add_key(&key[0]), b.add_key(&key[1]), c.add_key(&key[2]), d.add_key(&key[3])]
}

/// The S-box of a round with the round key, which is added before the S-box in encryption and after it in decryption.
#[inline(always)]
fn substitute<W: Word, const BOX: usize, const ENCRYPT: bool>(
    x: Group<W>,
    key: &[W::Key; 4],
) -> Group<W> {
    if ENCRYPT {
        W::substitute::<BOX>(add_key(x, key))
    } else {
        add_key(W::substitute_back::<BOX>(x), key)
    }
}

/// Applies a round to every group; the last round has no linear transformation. Each step is applied to one group
/// after another, so that the groups' chains of dependent operations overlap, and only one group at a time needs
/// registers for intermediate results.
#[inline(always)]
fn round<W: Word, const N: usize, const BOX: usize, const ENCRYPT: bool>(
    x: &mut [Group<W>; N],
    key: &[W::Key; 4],
    is_last: bool,
) {
    for x in x.iter_mut() {
        *x = substitute::<W, BOX, ENCRYPT>(*x, key);
    }
    if !is_last {
        for x in x.iter_mut() {
            *x = if ENCRYPT { mix(*x) } else { mix_back(*x) };
        }
    }
}

/// Eight rounds, possibly the last rounds of the cipher.
#[inline(always)]
fn eight_rounds<W: Word, const N: usize, const ENCRYPT: bool>(
    x: &mut [Group<W>; N],
    keys: &[[W::Key; 4]; 8],
    is_end: bool,
) {
    if ENCRYPT {
        round::<W, N, 0, true>(x, &keys[0], false);
        round::<W, N, 1, true>(x, &keys[1], false);
        round::<W, N, 2, true>(x, &keys[2], false);
        round::<W, N, 3, true>(x, &keys[3], false);
        round::<W, N, 4, true>(x, &keys[4], false);
        round::<W, N, 5, true>(x, &keys[5], false);
        round::<W, N, 6, true>(x, &keys[6], false);
        round::<W, N, 7, true>(x, &keys[7], is_end);
    } else {
        round::<W, N, 7, false>(x, &keys[7], false);
        round::<W, N, 6, false>(x, &keys[6], false);
        round::<W, N, 5, false>(x, &keys[5], false);
        round::<W, N, 4, false>(x, &keys[4], false);
        round::<W, N, 3, false>(x, &keys[3], false);
        round::<W, N, 2, false>(x, &keys[2], false);
        round::<W, N, 1, false>(x, &keys[1], false);
        round::<W, N, 0, false>(x, &keys[0], is_end);
    }
}

#[inline(always)]
pub(super) fn encrypt<W: Word, const N: usize>(x: &mut [Group<W>; N], keys: &RoundKeys<W>) {
    let (eights, last) = keys.as_chunks::<8>();
    for keys in &eights[..3] {
        eight_rounds::<W, N, true>(x, keys, false);
    }
    eight_rounds::<W, N, true>(x, &eights[3], true);
    for x in x {
        *x = add_key(*x, &last[0]);
    }
}

#[inline(always)]
pub(super) fn decrypt<W: Word, const N: usize>(x: &mut [Group<W>; N], keys: &RoundKeys<W>) {
    let (eights, last) = keys.as_chunks::<8>();
    for x in x.iter_mut() {
        *x = add_key(*x, &last[0]);
    }
    for keys in eights[1..].iter().rev() {
        eight_rounds::<W, N, false>(x, keys, false);
    }
    eight_rounds::<W, N, false>(x, &eights[0], true);
}
