//! Serpent's S-boxes and their inverses as circuits of two-input gates.
//!
//! A meet-in-the-middle search found these circuits instead of taking them from Osvik, "Speeding up
//! Serpent" (AES3, 2000). It searched sequences of steps that each add a function of some words to
//! another word. Each box takes 12 to 14 gates, with one or two intermediate results at a time.
//! Complements are free, because the round keys absorb them (see [`super::schedule`]). Each step
//! undoes itself, so the inverse boxes have as many gates.

use super::word::Word;

/// `S(x) + S(0)` for S-box `BOX`.
#[inline(always)]
pub(super) fn forward<W: Word, const BOX: usize>([a, b, c, d]: [W; 4]) -> [W; 4] {
    match BOX {
        0 => {
            let t = a | d;
            let b = b ^ t;
            let a = a ^ d;
            let d = d ^ c;
            let t = a.and_not(b);
            let d = d ^ t;
            let a = a ^ c;
            let c = c ^ b;
            let t = a.and_not(d);
            let b = b ^ t;
            let t = d.and_not(c);
            let a = a ^ t;
            let d = d ^ a;
            [a, d, b, c]
        }
        1 => {
            let t = b.and_not(a);
            let c = c ^ t;
            let b = b ^ a;
            let t = b | d;
            let a = a ^ t;
            let d = d ^ c;
            let b = b ^ d;
            let t = b.and_not(a);
            let c = c ^ t;
            let a = a ^ b;
            let t = a | c;
            let b = b ^ t;
            let a = a ^ b;
            [c, a, d, b]
        }
        2 => {
            let t = a & c;
            let d = d ^ t;
            let t = d.and_not(b);
            let a = a ^ t;
            let c = c ^ d;
            let b = b ^ c;
            let t = d.and_not(a);
            let c = c ^ t;
            let a = a ^ b;
            let t = a.and_not(c);
            let d = d ^ t;
            let c = c ^ d;
            [b, c, d, a]
        }
        3 => {
            let t = b.and_not(d);
            let c = c ^ t;
            let a = a ^ b;
            let t = b & c;
            let u = t | a;
            let d = d ^ u;
            let t = d.and_not(a);
            let b = b ^ t;
            let d = d ^ c;
            let t = b.and_not(c);
            let a = a ^ t;
            let t = a & d;
            let b = b ^ t;
            let c = c ^ t;
            [a, b, d, c]
        }
        4 => {
            let t = d.and_not(a);
            let c = c ^ t;
            let d = d ^ b;
            let a = a ^ d;
            let d = d ^ c;
            let t = a & b;
            let c = c ^ t;
            let t = d.and_not(c);
            let b = b ^ t;
            let t = b | c;
            let u = t | a;
            let d = d ^ u;
            let a = a ^ t;
            let b = b ^ a;
            [c, d, a, b]
        }
        5 => {
            let t = a.and_not(b);
            let c = c ^ t;
            let b = b ^ d;
            let a = a ^ b;
            let b = b ^ c;
            let t = a | d;
            let c = c ^ t;
            let t = b | c;
            let d = d ^ t;
            let t = d.and_not(c);
            let a = a ^ t;
            let u = t & a;
            let b = b ^ u;
            let d = d ^ a;
            [c, d, a, b]
        }
        6 => {
            let t = a & d;
            let c = c ^ t;
            let a = a ^ d;
            let b = b ^ c;
            let t = b.and_not(a);
            let d = d ^ t;
            let a = a ^ b;
            let t = c.and_not(d);
            let a = a ^ t;
            let c = c ^ d;
            let t = c.and_not(a);
            let d = d ^ t;
            let c = c ^ a;
            [a, b, c, d]
        }
        _ => {
            let t = b & d;
            let a = a ^ t;
            let c = c ^ t;
            let t = a & c;
            let d = d ^ t;
            let b = b ^ a;
            let t = b.and_not(d);
            let c = c ^ t;
            let t = a | c;
            let u = t.and_not(d);
            let b = b ^ u;
            let d = d ^ c;
            let t = b | d;
            let a = a ^ t;
            [b, a, d, c]
        }
    }
}

/// The inverse of [`forward`].
#[inline(always)]
pub(super) fn backward<W: Word, const BOX: usize>([a, b, c, d]: [W; 4]) -> [W; 4] {
    match BOX {
        0 => {
            let b = b ^ a;
            let t = a.and_not(b);
            let c = c ^ t;
            let t = d | b;
            let a = a ^ t;
            let b = b ^ d;
            let d = d ^ c;
            let t = a | c;
            let b = b ^ t;
            let a = a ^ c;
            let t = a | b;
            let c = c ^ t;
            let a = a ^ b;
            [a, c, d, b]
        }
        1 => {
            let t = b.and_not(d);
            let a = a ^ t;
            let b = b ^ c;
            let d = d ^ b;
            let t = d ^ c;
            let u = a.and_not(t);
            let b = b ^ u;
            let c = c ^ a;
            let t = b.and_not(d);
            let a = a ^ t;
            let t = c.and_not(b);
            let d = d ^ t;
            let b = b ^ d;
            [d, b, a, c]
        }
        2 => {
            let b = b ^ c;
            let t = d.and_not(b);
            let c = c ^ t;
            let d = d ^ a;
            let t = c.and_not(d);
            let b = b ^ t;
            let a = a ^ b;
            let b = b ^ c;
            let t = c.and_not(a);
            let d = d ^ t;
            let t = d & b;
            let c = c ^ t;
            [d, a, b, c]
        }
        3 => {
            let t = a & c;
            let b = b ^ t;
            let d = d ^ t;
            let t = b.and_not(d);
            let a = a ^ t;
            let c = c ^ d;
            let t = c.and_not(a);
            let b = b ^ t;
            let t = b & d;
            let u = t | a;
            let c = c ^ u;
            let a = a ^ b;
            let t = b.and_not(c);
            let d = d ^ t;
            [a, b, d, c]
        }
        4 => {
            let t = a.and_not(b);
            let c = c ^ t;
            let t = a | d;
            let u = t.and_not(c);
            let b = b ^ u;
            let t = d.and_not(b);
            let a = a ^ t;
            let b = b ^ d;
            let c = c ^ a;
            let d = d ^ c;
            let t = b | a;
            let c = c ^ t;
            let t = d.and_not(c);
            let a = a ^ t;
            [c, b, a, d]
        }
        5 => {
            let t = a.and_not(d);
            let c = c ^ t;
            let t = b | a;
            let u = t & c;
            let d = d ^ u;
            let t = b.and_not(d);
            let a = a ^ t;
            let d = d ^ b;
            let b = b ^ c;
            let t = d.and_not(a);
            let c = c ^ t;
            let b = b ^ a;
            let t = c.and_not(b);
            let a = a ^ t;
            [b, c, a, d]
        }
        6 => {
            let t = a.and_not(c);
            let d = d ^ t;
            let a = a ^ c;
            let c = c ^ b;
            let t = a.and_not(d);
            let c = c ^ t;
            let a = a ^ d;
            let t = b | c;
            let a = a ^ t;
            let b = b ^ d;
            let t = a.and_not(c);
            let d = d ^ t;
            let c = c ^ a;
            [a, b, d, c]
        }
        _ => {
            let t = a | c;
            let b = b ^ t;
            let c = c ^ d;
            let t = b | d;
            let u = t.and_not(c);
            let a = a ^ u;
            let t = a.and_not(c);
            let d = d ^ t;
            let a = a ^ b;
            let t = b & d;
            let c = c ^ t;
            let t = a & c;
            let b = b ^ t;
            let d = d ^ t;
            [b, a, d, c]
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// The S-boxes, from the submission, appendix A.5.
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

    /// The truth tables of the four words: bit `x` is bit `i` of `x`.
    pub(in super::super) const INPUTS: [u32; 4] = [0xaaaa, 0xcccc, 0xf0f0, 0xff00];

    /// Output bits of all 16 inputs, put together.
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
