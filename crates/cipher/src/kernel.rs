//! The two interfaces inside the crate: block ciphers below the modes, and unit kernels above them.

use std::ops::Range;

use crate::mode::cbc;
use crate::sector::Layout;

/// Cipher block size in bytes; every algorithm here has 128-bit blocks.
pub(crate) const BLOCK: usize = 16;

/// One cipher block.
pub(crate) type Block = [u8; BLOCK];

/// Called with each piece of memory that holds keys: its address and length.
pub(crate) type Visit<'a> = &'a mut dyn FnMut(*const u8, usize);

/// Passes the memory of `value` to `visit`.
pub(crate) fn tell<T: ?Sized>(value: &T, visit: Visit<'_>) {
    visit(std::ptr::from_ref(value).cast(), size_of_val(value));
}

/// A keyed block cipher with blocks of `N` bytes on one instruction set, fastest with many blocks per call.
///
/// An algorithm that implements this gets every mode.
pub(crate) trait BlockKernel<const N: usize>: Send + Sync {
    /// Blocks per call that keep the kernel busy; modes pass multiples of it if they can.
    fn parallel(&self) -> usize;

    /// Encrypts any number of blocks in place.
    fn encrypt(&self, blocks: &mut [[u8; N]]);

    /// Decrypts any number of blocks in place.
    fn decrypt(&self, blocks: &mut [[u8; N]]);

    /// Encrypts data units in CBC side by side. `chain` holds their IVs, one per unit of `buffer`,
    /// and is overwritten.
    fn encrypt_chains(&self, chain: &mut [[u8; N]], buffer: Buffer<'_>) {
        cbc::encrypt_chains(chain, buffer, |blocks| self.encrypt(blocks));
    }

    /// Reports the memory outside the value itself that holds its keys.
    fn visit_keys(&self, _visit: Visit<'_>) {}

    /// The kernel's name, as [`crate::SectorCipher::tier`] reports it.
    fn name(&self) -> &'static str;
}

/// A keyed mode over a keyed algorithm: transforms runs of whole data units.
///
/// Callers have checked the layout and that the buffer holds whole units.
pub(crate) trait UnitKernel: Send + Sync {
    /// Encrypts the units of `buffer`.
    fn encrypt_units(&self, run: Run, buffer: Buffer<'_>);

    /// Decrypts the units of `buffer`.
    fn decrypt_units(&self, run: Run, buffer: Buffer<'_>);

    /// Reports the memory outside the value itself that holds its keys.
    fn visit_keys(&self, visit: Visit<'_>);

    /// The kernel's name, as [`crate::SectorCipher::tier`] reports it.
    fn name(&self) -> &'static str;
}

/// The position of a run of data units in the sequence of tweaks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Run {
    /// Tweak number of the first unit. The sequence is 128 bits wide, as in IEEE 1619; callers of
    /// the public interface start it within the low 64.
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

/// Source and destination of a transform: one slice, or two of equal length.
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

    /// Results go from `src` to `dst`; panics unless they have the same length.
    pub(crate) fn apart(src: &'a [u8], dst: &'a mut [u8]) -> Self {
        assert_eq!(src.len(), dst.len(), "source and destination differ");
        Self(Memory::Apart { src, dst })
    }

    /// Number of bytes to transform.
    pub(crate) fn len(&self) -> usize {
        self.src().len()
    }

    /// The input. For an in-place transform, writing through [`Self::dst`] overwrites it.
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

    /// The output with the input copied into it, for code that works only in place.
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

    /// Start of the input and of the output, each valid for [`Self::len`] bytes while the buffer is
    /// borrowed. They are equal or do not overlap.
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
