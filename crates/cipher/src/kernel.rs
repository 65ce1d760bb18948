//! The two interfaces within the crate: block ciphers, on which modes are based, and unit kernels, which include the
//! mode.

use std::ops::Range;

use crate::mode::cbc;
use crate::sector::Layout;

/// Cipher block size in bytes, for all algorithms with 128-bit blocks.
pub(crate) const BLOCK: usize = 16;

/// One cipher block.
pub(crate) type Block = [u8; BLOCK];

/// Called for each piece of memory that contains keys, with its address and length.
pub(crate) type Visit<'a> = &'a mut dyn FnMut(*const u8, usize);

/// Passes the memory of `value` to `visit`.
pub(crate) fn tell<T: ?Sized>(value: &T, visit: Visit<'_>) {
    visit(std::ptr::from_ref(value).cast(), size_of_val(value));
}

/// A block cipher with a key and blocks of `N` bytes, for one instruction set; fastest with many blocks per call.
///
/// An algorithm that implements this can be used with every mode.
pub(crate) trait BlockKernel<const N: usize>: Send + Sync {
    /// Number of blocks per call that keep the kernel busy; modes pass multiples of this number if they can.
    fn parallel(&self) -> usize;

    /// Encrypts any number of blocks in place.
    fn encrypt(&self, blocks: &mut [[u8; N]]);

    /// Decrypts any number of blocks in place.
    fn decrypt(&self, blocks: &mut [[u8; N]]);

    /// Encrypts several data units in CBC mode in parallel. `chain` contains their IVs, one per unit of `buffer`, and
    /// is overwritten.
    fn encrypt_chains(&self, chain: &mut [[u8; N]], buffer: Buffer<'_>) {
        cbc::encrypt_chains(chain, buffer, |blocks| self.encrypt(blocks));
    }

    /// Reports the memory outside this value that contains its keys.
    fn visit_keys(&self, _visit: Visit<'_>) {}

    /// The kernel's name, as reported by [`crate::SectorCipher::tier`].
    fn name(&self) -> &'static str;
}

/// A mode and an algorithm with a key, which encrypt or decrypt runs of whole data units.
///
/// The caller must have checked the layout, and that the buffer consists of whole units.
pub(crate) trait UnitKernel: Send + Sync {
    /// Encrypts the units of `buffer`.
    fn encrypt_units(&self, run: Run, buffer: Buffer<'_>);

    /// Decrypts the units of `buffer`.
    fn decrypt_units(&self, run: Run, buffer: Buffer<'_>);

    /// Reports the memory outside this value that contains its keys.
    fn visit_keys(&self, visit: Visit<'_>);

    /// The kernel's name, as reported by [`crate::SectorCipher::tier`].
    fn name(&self) -> &'static str;
}

/// The position of a run of data units in the sequence of tweaks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Run {
    /// Tweak number of the first unit. Tweak numbers have 128 bits, as in IEEE 1619; in the public interface, the first
    /// tweak number must fit in 64 bits.
    pub(crate) first: u128,
    /// Unit length and tweak step.
    pub(crate) layout: Layout,
}

impl Run {
    /// Writes the tweaks of the first units, one per element.
    #[inline]
    pub(crate) fn tweaks(self, tweaks: &mut [Block]) {
        for (unit, tweak) in tweaks.iter_mut().enumerate() {
            *tweak = self.after(unit).first.to_le_bytes();
        }
    }

    /// The run that starts `units` data units later.
    pub(crate) fn after(self, units: usize) -> Self {
        let steps = (units as u128).wrapping_mul(u128::from(self.layout.tweak_step));
        Self { first: self.first.wrapping_add(steps), ..self }
    }
}

/// Source and destination: one slice, or two of equal length.
pub(crate) struct Buffer<'a>(Memory<'a>);

enum Memory<'a> {
    InPlace(&'a mut [u8]),
    Apart { src: &'a [u8], dst: &'a mut [u8] },
}

impl<'a> Buffer<'a> {
    /// Results replace the input.
    pub(crate) fn in_place(data: &'a mut [u8]) -> Self {
        Self(Memory::InPlace(data))
    }

    /// Reads from `src` and writes to `dst`; panics unless they have the same length.
    pub(crate) fn apart(src: &'a [u8], dst: &'a mut [u8]) -> Self {
        assert_eq!(src.len(), dst.len(), "source and destination differ");
        Self(Memory::Apart { src, dst })
    }

    /// Number of bytes to transform.
    pub(crate) fn len(&self) -> usize {
        self.src().len()
    }

    /// The input. If source and destination are the same slice, writing through [`Self::dst`] overwrites it.
    pub(crate) fn src(&self) -> &[u8] {
        match &self.0 {
            Memory::InPlace(data) => data,
            Memory::Apart { src, .. } => src,
        }
    }

    /// The output.
    pub(crate) fn dst(&mut self) -> &mut [u8] {
        match &mut self.0 {
            Memory::InPlace(data) => data,
            Memory::Apart { dst, .. } => dst,
        }
    }

    /// The output with the input copied into it, for code that can only work in place.
    pub(crate) fn copied(self) -> &'a mut [u8] {
        match self.0 {
            Memory::InPlace(data) => data,
            Memory::Apart { src, dst } => {
                dst.copy_from_slice(src);
                dst
            }
        }
    }

    /// The part of the buffer in `range`.
    pub(crate) fn part(&mut self, range: Range<usize>) -> Buffer<'_> {
        match &mut self.0 {
            Memory::InPlace(data) => Buffer::in_place(&mut data[range]),
            Memory::Apart { src, dst } => Buffer::apart(&src[range.clone()], &mut dst[range]),
        }
    }

    /// Start of the input and of the output, each valid for [`Self::len`] bytes while the buffer is borrowed. The two
    /// are equal or do not overlap.
    pub(crate) fn pointers(&mut self) -> (*const u8, *mut u8) {
        match &mut self.0 {
            Memory::InPlace(data) => {
                let start = data.as_mut_ptr();
                (start.cast_const(), start)
            }
            Memory::Apart { src, dst } => (src.as_ptr(), dst.as_mut_ptr()),
        }
    }
}
