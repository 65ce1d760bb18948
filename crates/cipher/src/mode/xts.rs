//! XTS (IEEE 1619-2018, 5) for any block cipher; fused kernels are in the modules of their algorithms.

use crate::kernel::{BLOCK, Block, BlockKernel, Buffer, Run, UnitKernel, Visit};

/// Number of blocks that are masked and encrypted together. Two arrays of this size are on the stack.
const BATCH: usize = 64;

/// Number of data units whose tweaks are encrypted together.
const TWEAKS: usize = 64;

/// Tweaks, aligned for the widest vectors.
#[repr(C, align(64))]
pub(crate) struct Tweaks(pub(crate) [Block; TWEAKS]);

/// Multiplies a tweak, read as a little-endian number, by x in GF(2^128) mod x^128 + x^7 + x^2 + x + 1.
pub(crate) fn double(tweak: u128) -> u128 {
    // All ones if the top bit is set; there is no branch on secret data.
    let carry = ((tweak as i128) >> 127) as u128;
    (tweak << 1) ^ (carry & 0x87)
}

/// A block cipher with one key for the data and another for the tweaks.
pub(crate) struct Xts<C> {
    data: C,
    tweak: C,
}

impl<C: BlockKernel<BLOCK>> Xts<C> {
    /// The first half of the key is for `data`, the second half for `tweak`.
    pub(crate) fn new(data: C, tweak: C) -> Self {
        Self { data, tweak }
    }

    /// Applies `cipher` to the buffer, and XORs the masks before and after. Batches continue across unit borders, so
    /// short units are as efficient as long units.
    fn mask_around(&self, run: Run, mut buffer: Buffer<'_>, cipher: impl Fn(&mut [Block])) {
        // A whole number of the cipher's preferred batches.
        let parallel = self.data.parallel();
        let batch = ((BATCH / parallel).max(1) * parallel).min(BATCH);
        let units = buffer.len() / run.layout.data_unit;
        let encipher =
            |tweaks: &mut Tweaks, count: usize| self.tweak.encrypt(&mut tweaks.0[..count]);
        let mut sequence = Sequence::new(encipher, run, units);
        let mut blocks = [[0; BLOCK]; BATCH];
        let mut masks = [0u128; BATCH];
        let mut start = 0;
        while start < buffer.len() {
            let end = buffer.len().min(start + batch * BLOCK);
            let count = (end - start) / BLOCK;
            let (blocks, masks) = (&mut blocks[..count], &mut masks[..count]);
            sequence.fill(masks);
            let (source, _) = buffer.src()[start..end].as_chunks::<BLOCK>();
            for ((block, source), mask) in blocks.iter_mut().zip(source).zip(&*masks) {
                *block = (u128::from_le_bytes(*source) ^ mask).to_le_bytes();
            }
            cipher(blocks);
            let (out, _) = buffer.dst()[start..end].as_chunks_mut::<BLOCK>();
            for ((out, block), mask) in out.iter_mut().zip(&*blocks).zip(&*masks) {
                *out = (u128::from_le_bytes(*block) ^ mask).to_le_bytes();
            }
            start = end;
        }
    }
}

impl<C: BlockKernel<BLOCK>> UnitKernel for Xts<C> {
    fn encrypt_units(&self, run: Run, buffer: Buffer<'_>) {
        self.mask_around(run, buffer, |blocks| self.data.encrypt(blocks));
    }

    fn decrypt_units(&self, run: Run, buffer: Buffer<'_>) {
        self.mask_around(run, buffer, |blocks| self.data.decrypt(blocks));
    }

    fn visit_keys(&self, visit: Visit<'_>) {
        self.data.visit_keys(visit);
        self.tweak.visit_keys(visit);
    }

    fn name(&self) -> &'static str {
        self.data.name()
    }
}

/// The masks of all blocks of a run, in order: E(K2, unit) * x^block.
pub(crate) struct Sequence<E> {
    encipher: E,
    run: Run,
    /// Number of units whose tweaks have not been encrypted yet.
    units_left: usize,
    /// First masks of the next units, which were encrypted together.
    ready: Tweaks,
    next_ready: usize,
    ready_count: usize,
    /// Mask of the next block, and the number of remaining blocks in its unit.
    mask: u128,
    blocks_left: usize,
}

impl<E: Fn(&mut Tweaks, usize)> Sequence<E> {
    /// The masks of `units` units. `encipher` encrypts the requested number of tweaks, starting with the first, and may
    /// change the other tweaks.
    pub(crate) fn new(encipher: E, run: Run, units: usize) -> Self {
        Self {
            encipher,
            run,
            units_left: units,
            ready: Tweaks([[0; BLOCK]; TWEAKS]),
            next_ready: 0,
            ready_count: 0,
            mask: 0,
            blocks_left: 0,
        }
    }

    /// Returns the next mask, and skips `count` masks by means of `pass`; at least that many must remain in the unit.
    pub(crate) fn chunk(&mut self, count: usize, pass: impl Fn(u128) -> u128) -> u128 {
        if self.blocks_left == 0 {
            self.next_unit();
        }
        self.blocks_left -= count;
        let first = self.mask;
        self.mask = pass(first);
        first
    }

    /// Writes the next `masks.len()` masks; at least that many must remain in the run.
    pub(crate) fn fill(&mut self, mut masks: &mut [u128]) {
        while !masks.is_empty() {
            if self.blocks_left == 0 {
                self.next_unit();
            }
            let count = self.blocks_left.min(masks.len());
            let (now, later) = masks.split_at_mut(count);
            for mask in now {
                *mask = self.mask;
                self.mask = double(self.mask);
            }
            self.blocks_left -= count;
            masks = later;
        }
    }

    fn next_unit(&mut self) {
        if self.next_ready == self.ready_count {
            self.next_ready = 0;
            self.ready_count = self.units_left.min(TWEAKS);
            self.run.tweaks(&mut self.ready.0[..self.ready_count]);
            (self.encipher)(&mut self.ready, self.ready_count);
            self.units_left -= self.ready_count;
            self.run = self.run.after(self.ready_count);
        }
        self.mask = u128::from_le_bytes(self.ready.0[self.next_ready]);
        self.next_ready += 1;
        self.blocks_left = self.run.layout.data_unit / BLOCK;
    }
}

#[cfg(test)]
mod tests {
    use super::double;

    #[test]
    fn doubling_carries_into_the_reduction() {
        assert_eq!(double(1), 2);
        assert_eq!(double(1 << 127), 0x87);
        assert_eq!(double(3 << 126), (1 << 127) ^ 0x87);
        // x has order 2^128 - 1, so 128 doublings of 1 give x^128 = x^7 + x^2 + x + 1.
        let power = (0..128).fold(1, |tweak, _| double(tweak));
        assert_eq!(power, 0x87);
    }
}
