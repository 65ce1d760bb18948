//! Serpent's S-boxes and their inverses as circuits of three-input gates.
//!
//! They were found by a SAT solver and have 7 gates per box. For most boxes the solver proved that 6 gates are not
//! enough, or that 8 are needed. Like the two-input circuits in [`super::super::boxes`], they omit the constants.

use super::super::word::Word;

/// A word with three-input gates.
pub(super) trait Ternary: Word {
    /// Bit `4 a + 2 b + c` of `TABLE` for each triple of bits, where `a` is from `self`.
    fn ternary<const TABLE: i32>(self, b: Self, c: Self) -> Self;
}

/// `S(x) + S(0)` for S-box `BOX`.
#[inline(always)]
pub(super) fn forward<W: Ternary, const BOX: usize>([a, b, c, d]: [W; 4]) -> [W; 4] {
    match BOX {
        0 => {
            let e = a.ternary::<0xd4>(b, d);
            let f = a.ternary::<0x36>(b, d);
            let g = a.ternary::<0x78>(c, e);
            let h = b.ternary::<0x6a>(d, g);
            let i = c.ternary::<0x3c>(f, g);
            let j = e.ternary::<0x96>(h, i);
            let k = f.ternary::<0x78>(h, j);
            [j, h, k, i]
        }
        1 => {
            let e = a.ternary::<0xa6>(b, c);
            let f = a.ternary::<0xd8>(b, d);
            let g = a.ternary::<0x66>(d, e);
            let h = b.ternary::<0x78>(e, f);
            let i = a.ternary::<0x96>(g, h);
            let j = e.ternary::<0xd8>(f, i);
            let k = e.ternary::<0x96>(f, i);
            [j, i, g, k]
        }
        2 => {
            let e = a.ternary::<0x16>(b, c);
            let f = a.ternary::<0x6a>(c, d);
            let g = b.ternary::<0x6a>(d, e);
            let h = b.ternary::<0x96>(c, f);
            let i = b.ternary::<0xe4>(c, f);
            let j = f.ternary::<0x2e>(g, i);
            let k = f.ternary::<0xb4>(g, i);
            [h, j, k, g]
        }
        3 => {
            let e = a.ternary::<0x3a>(b, d);
            let f = b.ternary::<0x1e>(c, e);
            let g = a.ternary::<0x94>(d, f);
            let h = a.ternary::<0x6a>(d, f);
            let i = a.ternary::<0xd2>(e, h);
            let j = c.ternary::<0x96>(g, i);
            let k = e.ternary::<0x96>(i, j);
            let l = i.ternary::<0xd2>(j, k);
            [l, j, k, h]
        }
        4 => {
            let e = a.ternary::<0xc6>(c, d);
            let f = a.ternary::<0xb4>(b, e);
            let g = d.ternary::<0x96>(e, f);
            let h = b.ternary::<0x6c>(e, g);
            let i = b.ternary::<0x78>(f, g);
            let j = c.ternary::<0xa6>(e, i);
            let k = f.ternary::<0xb4>(h, j);
            [h, j, k, g]
        }
        5 => {
            let e = a.ternary::<0xa6>(b, c);
            let f = b.ternary::<0xb4>(d, e);
            let g = a.ternary::<0x96>(e, f);
            let h = d.ternary::<0x6c>(e, g);
            let i = e.ternary::<0x62>(f, g);
            let j = d.ternary::<0x5a>(e, i);
            let k = f.ternary::<0xb4>(h, j);
            [h, g, k, j]
        }
        6 => {
            let e = a.ternary::<0x96>(b, c);
            let f = a.ternary::<0x9a>(d, e);
            let g = a.ternary::<0xa6>(d, e);
            let h = a.ternary::<0xe8>(d, e);
            let i = b.ternary::<0x5a>(c, f);
            let j = g.ternary::<0x72>(h, i);
            let k = g.ternary::<0xb8>(h, i);
            let l = g.ternary::<0xe4>(h, i);
            [j, f, l, k]
        }
        _ => {
            let e = a.ternary::<0xb6>(b, c);
            let f = a.ternary::<0x6a>(d, e);
            let g = b.ternary::<0x92>(d, e);
            let h = c.ternary::<0x5e>(d, e);
            let i = a.ternary::<0x6c>(g, h);
            let j = a.ternary::<0x2c>(d, i);
            let k = b.ternary::<0x56>(c, j);
            let l = h.ternary::<0x78>(i, k);
            [i, k, l, f]
        }
    }
}

/// The inverse of [`forward`].
#[inline(always)]
pub(super) fn backward<W: Ternary, const BOX: usize>([a, b, c, d]: [W; 4]) -> [W; 4] {
    match BOX {
        0 => {
            let e = a.ternary::<0x95>(b, c);
            let f = a.ternary::<0x29>(b, d);
            let g = a.ternary::<0xb1>(b, d);
            let h = c.ternary::<0x99>(d, e);
            let i = c.ternary::<0x63>(f, g);
            let j = e.ternary::<0xb1>(g, i);
            let k = e.ternary::<0x96>(g, i);
            [i, j, h, k]
        }
        1 => {
            let e = a.ternary::<0x4b>(b, d);
            let f = b.ternary::<0x99>(c, e);
            let g = b.ternary::<0x1b>(d, e);
            let h = b.ternary::<0x87>(c, g);
            let i = a.ternary::<0x59>(d, h);
            let j = f.ternary::<0x69>(g, i);
            let k = e.ternary::<0x2d>(i, j);
            [i, j, k, f]
        }
        2 => {
            let e = b.ternary::<0xc9>(c, d);
            let f = b.ternary::<0xd2>(d, e);
            let g = a.ternary::<0x63>(e, f);
            let h = a.ternary::<0xee>(e, f);
            let i = a.ternary::<0xc6>(e, f);
            let j = a.ternary::<0x69>(d, h);
            let k = f.ternary::<0x87>(g, j);
            [j, i, g, k]
        }
        3 => {
            let e = a.ternary::<0xb4>(b, c);
            let f = c.ternary::<0x36>(d, e);
            let g = c.ternary::<0xee>(d, e);
            let h = b.ternary::<0x96>(c, g);
            let i = d.ternary::<0x64>(e, h);
            let j = e.ternary::<0x4e>(f, h);
            let k = b.ternary::<0x96>(d, i);
            let l = f.ternary::<0x6a>(h, i);
            [h, j, k, l]
        }
        4 => {
            let e = a.ternary::<0x65>(b, c);
            let f = a.ternary::<0x68>(c, d);
            let g = a.ternary::<0xa6>(b, f);
            let h = a.ternary::<0x87>(d, g);
            let i = d.ternary::<0x96>(e, h);
            let j = e.ternary::<0x87>(g, h);
            let k = h.ternary::<0x4b>(i, j);
            [j, g, k, i]
        }
        5 => {
            let e = a.ternary::<0x6b>(b, c);
            let f = a.ternary::<0x63>(c, d);
            let g = a.ternary::<0x59>(d, e);
            let h = a.ternary::<0x78>(b, g);
            let i = b.ternary::<0x69>(f, h);
            let j = f.ternary::<0x4b>(g, h);
            let k = h.ternary::<0xd2>(i, j);
            [i, j, k, g]
        }
        6 => {
            let e = a.ternary::<0x9a>(c, d);
            let f = a.ternary::<0x8d>(c, d);
            let g = b.ternary::<0xa3>(e, f);
            let h = a.ternary::<0x69>(c, g);
            let i = b.ternary::<0x3c>(e, h);
            let j = f.ternary::<0x69>(h, i);
            let k = e.ternary::<0x78>(h, j);
            [j, i, k, h]
        }
        _ => {
            let e = a.ternary::<0x87>(c, d);
            let f = c.ternary::<0xb4>(d, e);
            let g = b.ternary::<0x63>(e, f);
            let h = b.ternary::<0x78>(e, f);
            let i = e.ternary::<0x74>(f, h);
            let j = d.ternary::<0xac>(h, i);
            let k = d.ternary::<0xc5>(h, i);
            let l = f.ternary::<0xb4>(j, k);
            [g, k, j, l]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::boxes::{self, tests::INPUTS};
    use super::*;

    impl Ternary for u32 {
        fn ternary<const TABLE: i32>(self, b: Self, c: Self) -> Self {
            let bit = |word: u32, lane: u32| word >> lane & 1;
            let index = |lane| 4 * bit(self, lane) + 2 * bit(b, lane) + bit(c, lane);
            (0..32).fold(0, |sum, lane| sum | (TABLE as u32 >> index(lane) & 1) << lane)
        }
    }

    fn check<const BOX: usize>() {
        let words = forward::<u32, BOX>(INPUTS);
        assert_eq!(words.map(low), boxes::forward::<u32, BOX>(INPUTS).map(low), "S{BOX}");
        assert_eq!(backward::<u32, BOX>(words).map(low), INPUTS, "inverse of S{BOX}");
    }

    /// The rows of a truth table of four inputs.
    fn low(word: u32) -> u32 {
        word & 0xffff
    }

    #[test]
    fn circuits_agree_with_those_of_two_input_gates() {
        check::<0>();
        check::<1>();
        check::<2>();
        check::<3>();
        check::<4>();
        check::<5>();
        check::<6>();
        check::<7>();
    }
}
