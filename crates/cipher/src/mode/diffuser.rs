//! The Elephant diffuser: two keyless layers that spread every bit of a data unit over all of it
//! (Ferguson, "AES-CBC + Elephant diffuser: A Disk Encryption Algorithm for Windows Vista", 2006,
//! 4.3 and 4.4).
//!
//! Each word depends on the words immediately before or after it, so a unit is a chain of dependent steps. Several
//! units are processed in parallel, one in each lane of a vector.

/// Number of cycles of diffuser A and of diffuser B.
const CYCLES: (usize, usize) = (5, 3);

/// Rotations of diffuser A and of diffuser B, repeated every four words.
const ROTATIONS: ([u32; 4], [u32; 4]) = ([9, 0, 13, 0], [0, 10, 0, 25]);

/// The same word of several units.
type Word<const LANES: usize> = [u32; LANES];

/// Applies the diffuser to the units of `data` in the direction of encryption, in which it precedes the cipher. A
/// unit is a multiple of 16 bytes.
pub(crate) fn diffuse(data: &mut [u8], unit: usize) {
    side_by_side(data, unit, diffuse_words::<8>, diffuse_words::<1>);
}

/// Undoes [`diffuse`].
pub(crate) fn gather(data: &mut [u8], unit: usize) {
    side_by_side(data, unit, gather_words::<8>, gather_words::<1>);
}

/// Processes eight units in parallel while enough units remain, then the rest one by one.
fn side_by_side(data: &mut [u8], unit: usize, eight: fn(&mut [Word<8>]), one: fn(&mut [Word<1>])) {
    let mut words8 = vec![[0; 8]; unit / 4];
    let mut groups = data.chunks_exact_mut(8 * unit);
    for group in &mut groups {
        with_words(group, &mut words8, eight);
    }
    let mut words1 = vec![[0]; unit / 4];
    for single in groups.into_remainder().chunks_exact_mut(unit) {
        with_words(single, &mut words1, one);
    }
}

/// Applies `transform` to the little-endian words of as many units as there are lanes.
fn with_words<const LANES: usize>(
    units: &mut [u8],
    words: &mut [Word<LANES>],
    transform: fn(&mut [Word<LANES>]),
) {
    let unit = units.len() / LANES;
    for (lane, bytes) in units.chunks_exact(unit).enumerate() {
        for (word, bytes) in words.iter_mut().zip(bytes.as_chunks::<4>().0) {
            word[lane] = u32::from_le_bytes(*bytes);
        }
    }
    transform(words);
    for (lane, bytes) in units.chunks_exact_mut(unit).enumerate() {
        for (word, bytes) in words.iter().zip(bytes.as_chunks_mut::<4>().0) {
            *bytes = word[lane].to_le_bytes();
        }
    }
}

fn diffuse_words<const LANES: usize>(words: &mut [Word<LANES>]) {
    for _ in 0..CYCLES.0 {
        for four in (0..words.len()).step_by(4).rev() {
            for (i, rotation) in (four..four + 4).zip(ROTATIONS.0).rev() {
                let change = before(words, i, rotation);
                each(&mut words[i], change, u32::wrapping_sub);
            }
        }
    }
    for _ in 0..CYCLES.1 {
        for four in (0..words.len()).step_by(4).rev() {
            for (i, rotation) in (four..four + 4).zip(ROTATIONS.1).rev() {
                let change = after(words, i, rotation);
                each(&mut words[i], change, u32::wrapping_sub);
            }
        }
    }
}

fn gather_words<const LANES: usize>(words: &mut [Word<LANES>]) {
    for _ in 0..CYCLES.1 {
        for four in (0..words.len()).step_by(4) {
            for (i, rotation) in (four..four + 4).zip(ROTATIONS.1) {
                let change = after(words, i, rotation);
                each(&mut words[i], change, u32::wrapping_add);
            }
        }
    }
    for _ in 0..CYCLES.0 {
        for four in (0..words.len()).step_by(4) {
            for (i, rotation) in (four..four + 4).zip(ROTATIONS.0) {
                let change = before(words, i, rotation);
                each(&mut words[i], change, u32::wrapping_add);
            }
        }
    }
}

/// The value that diffuser A adds to word `i`.
#[inline(always)]
fn before<const LANES: usize>(words: &[Word<LANES>], i: usize, rotation: u32) -> Word<LANES> {
    let len = words.len();
    let at = |back: usize| &words[if i >= back { i - back } else { (i + 2 * len - back) % len }];
    mixed(at(2), at(5), rotation)
}

/// The value that diffuser B adds to word `i`.
#[inline(always)]
fn after<const LANES: usize>(words: &[Word<LANES>], i: usize, rotation: u32) -> Word<LANES> {
    let len = words.len();
    let at = |on: usize| &words[if i + on < len { i + on } else { (i + on) % len }];
    mixed(at(2), at(5), rotation)
}

#[inline(always)]
fn mixed<const LANES: usize>(near: &Word<LANES>, far: &Word<LANES>, rotation: u32) -> Word<LANES> {
    std::array::from_fn(|lane| near[lane] ^ far[lane].rotate_left(rotation))
}

/// Adds or subtracts in every lane.
#[inline(always)]
fn each<const LANES: usize>(
    word: &mut Word<LANES>,
    change: Word<LANES>,
    add: impl Fn(u32, u32) -> u32,
) {
    word.iter_mut().zip(change).for_each(|(word, change)| *word = add(*word, change));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gathering_undoes_diffusing_and_one_bit_reaches_everything() {
        for (unit, count) in [(16, 3), (32, 3), (512, 1), (512, 21), (1024, 8), (4096, 9)] {
            let plain: Vec<u8> = (0..unit * count).map(|i| (i * 7 + i / 256) as u8).collect();
            let mut one = plain.clone();
            diffuse(&mut one, unit);
            // The units are independent, whatever lanes they are in.
            for (index, alone) in plain.chunks_exact(unit).enumerate() {
                let mut alone = alone.to_vec();
                diffuse(&mut alone, unit);
                assert!(alone == one[index * unit..(index + 1) * unit], "{unit} {index}");
            }
            let mut other = plain.clone();
            other[unit / 3] ^= 1;
            diffuse(&mut other, unit);
            let differing = one.iter().zip(&other).filter(|(a, b)| a != b).count();
            assert!(differing > unit / 2 && differing <= unit, "{differing} of {unit}");
            gather(&mut one, unit);
            assert_eq!(one, plain);
        }
    }

    /// The first words by the definitions of the paper, written out.
    #[test]
    fn one_step_of_each_diffuser() {
        let words: Vec<Word<1>> = (0..128).map(|i| [i * 0x0101_0101]).collect();
        let w = |i: usize| words[i][0];
        assert_eq!(before(&words, 0, 9), [w(126) ^ w(123).rotate_left(9)]);
        assert_eq!(before(&words, 6, 13), [w(4) ^ w(1).rotate_left(13)]);
        assert_eq!(after(&words, 1, 10), [w(3) ^ w(6).rotate_left(10)]);
        assert_eq!(after(&words, 127, 25), [w(1) ^ w(4).rotate_left(25)]);
    }
}
