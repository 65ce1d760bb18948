//! Serpent's S-boxes and their inverses as circuits of two-input gates.
//!
//! These circuits are not those of Osvik, "Speeding up Serpent" (AES3, 2000), but were found by a meet-in-the-middle
//! search for sequences of steps that each add a function of some words to another word. Each box needs 12 to 14
//! gates, with one or two intermediate results at a time. Complements are free, because the round keys absorb them
//! (see [`super::schedule`]). Each step is its own inverse, so the inverse boxes need the same number of gates.

use super::word::Word;

/// `S(x) + S(0)` for S-box `BOX`.
#[inline(always)]
pub(super) fn forward<W: Word, const BOX: usize>([mut a, mut b, mut c, mut d]: [W; 4]) -> [W; 4] {
    match BOX {
        0 => {
            b ^= a | d;
            a ^= d;
            d ^= c;
            d ^= a.and_not(b);
            a ^= c;
            c ^= b;
            b ^= a.and_not(d);
            a ^= d.and_not(c);
            d ^= a;
            [a, d, b, c]
        }
        1 => {
            c ^= b.and_not(a);
            b ^= a;
            a ^= b | d;
            d ^= c;
            b ^= d;
            c ^= b.and_not(a);
            a ^= b;
            b ^= a | c;
            a ^= b;
            [c, a, d, b]
        }
        2 => {
            d ^= a & c;
            a ^= d.and_not(b);
            c ^= d;
            b ^= c;
            c ^= d.and_not(a);
            a ^= b;
            d ^= a.and_not(c);
            c ^= d;
            [b, c, d, a]
        }
        3 => {
            c ^= b.and_not(d);
            a ^= b;
            d ^= (b & c) | a;
            b ^= d.and_not(a);
            d ^= c;
            a ^= b.and_not(c);
            let t = a & d;
            b ^= t;
            c ^= t;
            [a, b, d, c]
        }
        4 => {
            c ^= d.and_not(a);
            d ^= b;
            a ^= d;
            d ^= c;
            c ^= a & b;
            b ^= d.and_not(c);
            let t = b | c;
            d ^= t | a;
            a ^= t;
            b ^= a;
            [c, d, a, b]
        }
        5 => {
            c ^= a.and_not(b);
            b ^= d;
            a ^= b;
            b ^= c;
            c ^= a | d;
            d ^= b | c;
            let t = d.and_not(c);
            a ^= t;
            b ^= t & a;
            d ^= a;
            [c, d, a, b]
        }
        6 => {
            c ^= a & d;
            a ^= d;
            b ^= c;
            d ^= b.and_not(a);
            a ^= b;
            a ^= c.and_not(d);
            c ^= d;
            d ^= c.and_not(a);
            c ^= a;
            [a, b, c, d]
        }
        _ => {
            let t = b & d;
            a ^= t;
            c ^= t;
            d ^= a & c;
            b ^= a;
            c ^= b.and_not(d);
            b ^= (a | c).and_not(d);
            d ^= c;
            a ^= b | d;
            [b, a, d, c]
        }
    }
}

/// The inverse of [`forward`].
#[inline(always)]
pub(super) fn backward<W: Word, const BOX: usize>([mut a, mut b, mut c, mut d]: [W; 4]) -> [W; 4] {
    match BOX {
        0 => {
            b ^= a;
            c ^= a.and_not(b);
            a ^= d | b;
            b ^= d;
            d ^= c;
            b ^= a | c;
            a ^= c;
            c ^= a | b;
            a ^= b;
            [a, c, d, b]
        }
        1 => {
            a ^= b.and_not(d);
            b ^= c;
            d ^= b;
            let t = d ^ c;
            b ^= a.and_not(t);
            c ^= a;
            a ^= b.and_not(d);
            d ^= c.and_not(b);
            b ^= d;
            [d, b, a, c]
        }
        2 => {
            b ^= c;
            c ^= d.and_not(b);
            d ^= a;
            b ^= c.and_not(d);
            a ^= b;
            b ^= c;
            d ^= c.and_not(a);
            c ^= d & b;
            [d, a, b, c]
        }
        3 => {
            let t = a & c;
            b ^= t;
            d ^= t;
            a ^= b.and_not(d);
            c ^= d;
            b ^= c.and_not(a);
            c ^= (b & d) | a;
            a ^= b;
            d ^= b.and_not(c);
            [a, b, d, c]
        }
        4 => {
            c ^= a.and_not(b);
            b ^= (a | d).and_not(c);
            a ^= d.and_not(b);
            b ^= d;
            c ^= a;
            d ^= c;
            c ^= b | a;
            a ^= d.and_not(c);
            [c, b, a, d]
        }
        5 => {
            c ^= a.and_not(d);
            d ^= (b | a) & c;
            a ^= b.and_not(d);
            d ^= b;
            b ^= c;
            c ^= d.and_not(a);
            b ^= a;
            a ^= c.and_not(b);
            [b, c, a, d]
        }
        6 => {
            d ^= a.and_not(c);
            a ^= c;
            c ^= b;
            c ^= a.and_not(d);
            a ^= d;
            a ^= b | c;
            b ^= d;
            d ^= a.and_not(c);
            c ^= a;
            [a, b, d, c]
        }
        _ => {
            b ^= a | c;
            c ^= d;
            a ^= (b | d).and_not(c);
            d ^= a.and_not(c);
            a ^= b;
            c ^= b & d;
            let t = a & c;
            b ^= t;
            d ^= t;
            [b, a, d, c]
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// The S-boxes, from appendix A.5 of the submission.
    pub(in super::super) const BOXES: [[u32; 16]; 8] = [
        [3, 8, 15, 1, 10, 6, 5, 11, 14, 13, 4, 2, 7, 0, 9, 12],
        [15, 12, 2, 7, 9, 0, 5, 10, 1, 11, 14, 8, 6, 13, 3, 4],
        [8, 6, 7, 9, 3, 12, 10, 15, 13, 1, 14, 4, 0, 11, 5, 2],
        [0, 15, 11, 8, 12, 9, 6, 3, 13, 1, 2, 4, 10, 7, 5, 14],
        [1, 15, 8, 3, 12, 0, 11, 6, 2, 5, 4, 10, 9, 14, 7, 13],
        [15, 5, 2, 11, 4, 10, 9, 12, 0, 3, 14, 8, 13, 6, 7, 1],
        [7, 2, 12, 5, 8, 4, 6, 11, 14, 9, 1, 15, 13, 3, 10, 0],
        [1, 13, 15, 0, 14, 8, 2, 11, 7, 4, 12, 10, 9, 3, 5, 6],
    ];

    /// The truth tables of the four input words: bit `x` of word `i` is bit `i` of the number `x`.
    pub(in super::super) const INPUTS: [u32; 4] = [0xaaaa, 0xcccc, 0xf0f0, 0xff00];

    /// Assembles the output of each of the 16 inputs from the bits of the four words.
    fn outputs(words: [u32; 4]) -> [u32; 16] {
        std::array::from_fn(|x| (0..4).fold(0, |sum, i| sum | (words[i] >> x & 1) << i))
    }

    fn check<const BOX: usize>() {
        let expected = BOXES[BOX].map(|y| y ^ BOXES[BOX][0]);
        let words = forward::<u32, BOX>(INPUTS);
        assert_eq!(outputs(words), expected, "S{BOX}");
        let back = backward::<u32, BOX>(words).map(|word| word & 0xffff);
        assert_eq!(back, INPUTS, "inverse of S{BOX}");
    }

    #[test]
    fn circuits_are_the_boxes_of_the_submission() {
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
