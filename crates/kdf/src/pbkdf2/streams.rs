//! Hashes with the CPU's own hash instructions: several independent streams, because in a single stream, each round
//! waits for the previous round.

/// Defines `iterate`, with the type of a kernel's `run`, for the number of streams in its parameter. It uses the
/// module's `load`, `store` and `finish`. States and digests are arrays of vectors.
macro_rules! streams {
    ($hash:ident, $features:literal, $xor:ident) => {
        /// # Safety
        /// The CPU must support the instructions.
        #[target_feature(enable = $features)]
        unsafe fn iterate<const L: usize>(
            keys: &crate::pbkdf2::Keys<$hash>,
            blocks: crate::pbkdf2::Blocks<'_, $hash>,
            iterations: u32,
        ) {
            let (inner, outer) = (load(&keys.inner), load(&keys.outer));
            // Streams without a block repeat the first block.
            let stream = |i: usize| if i < blocks.last.len() { i } else { 0 };
            let (mut last, mut sum) = ([inner; L], [inner; L]);
            for i in 0..L {
                last[i] = load(&blocks.last[stream(i)]);
                sum[i] = load(&blocks.sum[stream(i)]);
            }
            for _ in 0..iterations {
                last = finish(outer, finish(inner, last));
                for i in 0..L {
                    for part in 0..inner.len() {
                        sum[i][part] = $xor(sum[i][part], last[i][part]);
                    }
                }
            }
            for (i, (to_last, to_sum)) in blocks.last.iter_mut().zip(blocks.sum).enumerate() {
                store(last[i], to_last);
                store(sum[i], to_sum);
            }
        }
    };
}

pub(super) use streams;
