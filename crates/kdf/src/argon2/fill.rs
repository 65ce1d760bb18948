//! Fills the memory: slice by slice, with the lanes in parallel (RFC 9106, sections 3.2 to 3.4).

use std::sync::{Mutex, PoisonError};
use std::thread;

use zeroize::Zeroizing;

use super::block::{Block, Compress, WORDS};
use super::{Argon2Kind, Argon2Params, hash};
use crate::effort::Effort;
use crate::error::KdfError;
use crate::threads::join;

/// Number of slices per lane. Lanes wait for each other between slices.
const SLICES: usize = 4;

/// Number of blocks between two checks of the stop flags; filling these blocks takes a few hundred microseconds.
const BREATH: usize = 256;

/// A slice of one lane.
type Segment = Vec<Block>;

/// All blocks, divided into segments. While a slice is filled, each lane writes to its own segment of that
/// slice and reads the segments of the other three slices, to which no thread writes.
pub(super) struct Matrix {
    /// The segments of all lanes, for each slice.
    slices: [Vec<Segment>; SLICES],
    /// Blocks of a segment.
    segment: usize,
}

impl Matrix {
    /// Reserves memory for all blocks without accessing it. `None` if there is not enough memory.
    pub(super) fn new(params: Argon2Params) -> Option<Self> {
        let lanes = params.lanes as usize;
        let segment = params.memory_kib as usize / (SLICES * lanes);
        let mut slices = [const { Vec::new() }; SLICES];
        for slice in &mut slices {
            slice.try_reserve_exact(lanes).ok()?;
            for _ in 0..lanes {
                let mut blocks = Vec::new();
                blocks.try_reserve_exact(segment).ok()?;
                slice.push(blocks);
            }
        }
        Some(Self { slices, segment })
    }

    /// Computes the first two blocks of each lane from the first hash, H0.
    pub(super) fn begin(&mut self, first: &[u8]) {
        for (lane, segment) in self.slices[0].iter_mut().enumerate() {
            for number in 0..2u32 {
                let mut bytes = Zeroizing::new([0; Block::BYTES]);
                let place = [number.to_le_bytes(), (lane as u32).to_le_bytes()];
                hash::long(&[first, place.as_flattened()], &mut *bytes);
                segment.push(Block::from_bytes(&bytes));
            }
        }
    }

    /// The last block of each lane, from which the key is computed.
    pub(super) fn last_blocks(&mut self) -> impl Iterator<Item = &mut Block> {
        self.slices[SLICES - 1].iter_mut().filter_map(|segment| segment.last_mut())
    }
}

/// The inputs of a fill.
pub(super) struct Job<'a> {
    pub(super) kind: Argon2Kind,
    pub(super) params: Argon2Params,
    pub(super) compress: Compress,
    pub(super) effort: Effort<'a>,
}

/// A segment within a pass.
#[derive(Clone, Copy)]
struct Place {
    pass: u32,
    slice: usize,
    lane: usize,
}

impl Job<'_> {
    /// Fills the matrix.
    pub(super) fn fill(&self, matrix: &mut Matrix) -> Result<(), KdfError> {
        for pass in 0..self.params.passes {
            for slice in 0..SLICES {
                // While threads write to a slice, it is split off from the other slices.
                let mut current = std::mem::take(&mut matrix.slices[slice]);
                let done = self.fill_slice(pass, slice, &mut current, matrix);
                matrix.slices[slice] = current;
                done?;
            }
        }
        Ok(())
    }

    fn fill_slice(
        &self,
        pass: u32,
        slice: usize,
        current: &mut [Segment],
        matrix: &Matrix,
    ) -> Result<(), KdfError> {
        let threads = self.effort.threads().min(current.len());
        let lanes = Mutex::new(current.iter_mut().enumerate());
        let next = || lanes.lock().unwrap_or_else(PoisonError::into_inner).next();
        let work = || {
            while let Some((lane, segment)) = next() {
                self.fill_segment(Place { pass, slice, lane }, segment, matrix)?;
            }
            Ok(())
        };
        thread::scope(|scope| {
            // If no further threads can be started, the existing threads do all the work. The stop flags are checked
            // below.
            let start = |_| thread::Builder::new().spawn_scoped(scope, work);
            let others: Vec<_> = (1..threads).flat_map(start).collect();
            let own = work();
            others.into_iter().fold(own, |all, thread| join(thread).and(all))
        })?;
        self.effort.check()
    }

    fn fill_segment(
        &self,
        place: Place,
        own: &mut Segment,
        matrix: &Matrix,
    ) -> Result<(), KdfError> {
        let Place { pass, slice, lane } = place;
        let mut addresses = self.addresses(place, matrix);
        // The first two blocks of a lane come from the hash of the inputs.
        let begin = if pass == 0 && slice == 0 { 2 } else { 0 };
        for index in begin..matrix.segment {
            if index % BREATH == 0 {
                self.effort.check()?;
            }
            if pass == 0 {
                own.push(Block::ZERO);
            }
            let (done, rest) = own.split_at_mut(index);
            let previous = match done.last() {
                Some(block) => block,
                None => &matrix.slices[(slice + SLICES - 1) % SLICES][lane][matrix.segment - 1],
            };
            let random = match &mut addresses {
                Some(addresses) => addresses.at(index, self.compress),
                None => previous.0[0],
            };
            let (of, number) = self.reference(place, index, random, matrix.segment);
            let (of_slice, of_index) = (number / matrix.segment, number % matrix.segment);
            let reference = match of_slice == slice {
                true => &done[of_index],
                false => &matrix.slices[of_slice][of][of_index],
            };
            self.compress.xor_into(previous, reference, &mut rest[0]);
        }
        Ok(())
    }

    /// The block to which block `index` of a segment refers: its lane, and its number within that lane (RFC 9106,
    /// section 3.4).
    fn reference(
        &self,
        Place { pass, slice, lane }: Place,
        index: usize,
        random: u64,
        segment: usize,
    ) -> (usize, usize) {
        let first_slice = pass == 0 && slice == 0;
        let of = match first_slice {
            true => lane,
            false => (random >> 32) as usize % self.params.lanes as usize,
        };
        // The completed slices: those before the current slice and, from the second pass on, also those after the
        // current slice.
        let whole = if pass == 0 { slice } else { SLICES - 1 } * segment;
        let area = match of == lane {
            // In its own lane, a block can also refer to the blocks of the current segment, except the previous block.
            true => whole + index - 1,
            false => whole - usize::from(index == 0),
        };
        let low = random & u64::from(u32::MAX);
        let x = (low * low) >> 32;
        let back = ((area as u64 * x) >> 32) as usize;
        let start = if pass == 0 { 0 } else { (slice + 1) % SLICES * segment };
        (of, (start + area - 1 - back) % (SLICES * segment))
    }

    /// The addresses of a segment if they do not depend on the password.
    fn addresses(&self, Place { pass, slice, lane }: Place, matrix: &Matrix) -> Option<Addresses> {
        let independent = match self.kind {
            Argon2Kind::I => true,
            Argon2Kind::Id => pass == 0 && slice < SLICES / 2,
        };
        let mut input = Block::ZERO;
        let blocks = SLICES * matrix.segment * self.params.lanes as usize;
        let words = [
            pass.into(),
            lane as u64,
            slice as u64,
            blocks as u64,
            self.params.passes.into(),
            self.kind.number().into(),
        ];
        input.0[..words.len()].copy_from_slice(&words);
        independent.then_some(Addresses { input, current: Block::ZERO, counter: words.len() })
    }
}

/// Addresses that depend only on the position, computed one block of addresses at a time.
struct Addresses {
    input: Block,
    current: Block,
    /// Index of the input word that counts the address blocks.
    counter: usize,
}

impl Addresses {
    /// The address for block `index`; the caller must request them in order.
    fn at(&mut self, index: usize, compress: Compress) -> u64 {
        let blocks = (index / WORDS) as u64 + 1;
        if self.input.0[self.counter] != blocks {
            self.input.0[self.counter] = blocks;
            let mut once = Block::ZERO;
            compress.xor_into(&Block::ZERO, &self.input, &mut once);
            self.current = Block::ZERO;
            compress.xor_into(&Block::ZERO, &once, &mut self.current);
        }
        self.current.0[index % WORDS]
    }
}
