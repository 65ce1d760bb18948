//! The common parts of SHA-256 and SHA-512 (FIPS 180-4, sections 6.2 and 6.4).

use super::lanes::Lanes;

/// One step, with `V`, `SUM_0` and `SUM_1` of the caller. The eight variables rotate by renaming.
macro_rules! step {
    ($a:ident $b:ident $c:ident $d:ident $e:ident $f:ident $g:ident $h:ident, $word:expr, $round:expr) => {
        let s1 = $e.ror(SUM_1[0]).xor3($e.ror(SUM_1[1]), $e.ror(SUM_1[2]));
        // The sums are ordered so that only the last addition waits for the previous step.
        let t = $h.add($word.add(V::splat($round))).add($e.choose($f, $g)).pin().add(s1);
        let s0 = $a.ror(SUM_0[0]).xor3($a.ror(SUM_0[1]), $a.ror(SUM_0[2]));
        $h = $a.majority($b, $c).add(s0).pin().add(t);
        $d = $d.add(t);
    };
}

/// Sixteen steps, starting at an index of the round constants, with the words that the function `$word` derives from
/// the words of the message.
macro_rules! steps {
    ($word:ident $w:ident, $round:expr, $($v:ident)+) => {
        steps!(@ $word $w, $round, 0, $($v)+);
        steps!(@ $word $w, $round, 8, $($v)+);
    };
    (@ $word:ident $w:ident, $round:expr, $i:literal, $a:ident $b:ident $c:ident $d:ident $e:ident $f:ident $g:ident $h:ident) => {
        step!($a $b $c $d $e $f $g $h, $word(&mut $w, $i), ROUNDS[$round + $i]);
        step!($h $a $b $c $d $e $f $g, $word(&mut $w, $i + 1), ROUNDS[$round + $i + 1]);
        step!($g $h $a $b $c $d $e $f, $word(&mut $w, $i + 2), ROUNDS[$round + $i + 2]);
        step!($f $g $h $a $b $c $d $e, $word(&mut $w, $i + 3), ROUNDS[$round + $i + 3]);
        step!($e $f $g $h $a $b $c $d, $word(&mut $w, $i + 4), ROUNDS[$round + $i + 4]);
        step!($d $e $f $g $h $a $b $c, $word(&mut $w, $i + 5), ROUNDS[$round + $i + 5]);
        step!($c $d $e $f $g $h $a $b, $word(&mut $w, $i + 6), ROUNDS[$round + $i + 6]);
        step!($b $c $d $e $f $g $h $a, $word(&mut $w, $i + 7), ROUNDS[$round + $i + 7]);
    };
}

pub(super) use {step, steps};

/// A word of the message.
///
/// # Safety
/// As for the methods of `V`.
#[inline(always)]
pub(super) unsafe fn first<V: Lanes>(w: &mut [V; 16], i: usize) -> V {
    w[i]
}
