//! The crate's public interface: a cipher with a key, for runs of whole data units.

use crate::error::CipherError;
use crate::kernel::{BLOCK, Buffer, Run, UnitKernel, tell};

/// How storage is divided into data units, and how their tweaks are numbered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Layout {
    /// Number of bytes with the same tweak: a multiple of 16, at most 2^20 cipher blocks (IEEE 1619-2018, 5.1).
    pub data_unit: usize,
    /// Difference between the tweak numbers of neighbouring data units.
    pub tweak_step: u64,
}

impl Layout {
    /// 512-byte units with consecutive tweaks: TrueCrypt, VeraCrypt, LUKS1, and LUKS2 by default.
    pub const SECTOR_512: Self = Self { data_unit: 512, tweak_step: 1 };
    /// LUKS2 with 4096-byte sectors: tweaks still count 512-byte sectors, so they are 0, 8, 16 ...
    pub const LUKS2_4096: Self = Self { data_unit: 4096, tweak_step: 8 };

    /// This layout, if the ciphers support it; otherwise an error.
    pub(crate) fn checked(self) -> Result<Self, CipherError> {
        let bytes = self.data_unit;
        if bytes == 0 || !bytes.is_multiple_of(BLOCK) || bytes / BLOCK > 1 << 20 {
            return Err(CipherError::DataUnit { bytes });
        }
        if self.tweak_step == 0 {
            return Err(CipherError::TweakStep);
        }
        Ok(self)
    }
}

/// A cipher with a key, for runs of whole data units.
///
/// Unit `k` of a buffer has tweak number `first_unit + k * tweak_step`, modulo 2^64 as in dm-crypt, so that it does
/// not matter how requests are split. XTS uses the tweak number as a little-endian 16-byte number; other modes derive
/// IVs from it. `first_unit` is therefore a tweak number: with [`Layout::LUKS2_4096`] it counts 512-byte sectors.
///
/// # Panics
/// Every method panics if a buffer is not a whole number of data units, or if `src` and `dst` differ in length. Both
/// are errors of the caller, as with `copy_from_slice`.
pub trait SectorCipher: Send + Sync {
    /// Bytes under one tweak.
    fn data_unit(&self) -> usize;
    /// Encrypts `src` into `dst`.
    fn encrypt(&self, first_unit: u64, src: &[u8], dst: &mut [u8]);
    /// Encrypts `data` in place.
    fn encrypt_in_place(&self, first_unit: u64, data: &mut [u8]);
    /// Decrypts `src` into `dst`.
    fn decrypt(&self, first_unit: u64, src: &[u8], dst: &mut [u8]);
    /// Decrypts `data` in place.
    fn decrypt_in_place(&self, first_unit: u64, data: &mut [u8]);
    /// The kernel in use, such as `vaes-avx512`, `aes-ni` or `soft`. For a cascade, the distinct
    /// kernels of its stages in encryption order, such as `avx2+vaes-avx2`.
    fn tier(&self) -> &'static str;
    /// Passes the address and length of each piece of memory that contains expanded keys to `visit`, so that the
    /// caller can keep it out of swap. The pieces are not moved as long as the cipher exists.
    fn visit_keys(&self, visit: &mut dyn FnMut(*const u8, usize));
}

/// The only implementation of [`SectorCipher`]: any kernel with a key, and a checked layout.
pub(crate) struct Sectors {
    layout: Layout,
    kernel: Box<dyn UnitKernel>,
}

impl Sectors {
    /// `layout` must come from [`Layout::checked`].
    pub(crate) fn new(layout: Layout, kernel: Box<dyn UnitKernel>) -> Self {
        Self { layout, kernel }
    }

    /// Calls `each` with the whole buffer, or with its parts if the tweak numbers reach 2^64 within the buffer, because
    /// the kernels count in 128 bits, as in IEEE 1619.
    fn each_run(&self, first_unit: u64, mut buffer: Buffer<'_>, each: impl Fn(Run, Buffer<'_>)) {
        let (bytes, Layout { data_unit, tweak_step }) = (buffer.len(), self.layout);
        assert!(
            bytes.is_multiple_of(data_unit),
            "a buffer of {bytes} bytes is not a whole number of {data_unit}-byte data units"
        );
        let (mut at, mut first) = (0, first_unit);
        while at < bytes {
            let run = Run { first: u128::from(first), layout: self.layout };
            // Number of units until the tweak number no longer fits in 64 bits.
            let fitting = ((1 << 64) - run.first).div_ceil(u128::from(tweak_step));
            let left = (bytes - at) / data_unit;
            let units = usize::try_from(fitting).map_or(left, |fitting| fitting.min(left));
            let end = at + units * data_unit;
            each(run, buffer.part(at..end));
            (at, first) = (end, run.after(units).first as u64);
        }
    }

    fn encrypt_buffer(&self, first_unit: u64, buffer: Buffer<'_>) {
        self.each_run(first_unit, buffer, |run, part| self.kernel.encrypt_units(run, part));
    }

    fn decrypt_buffer(&self, first_unit: u64, buffer: Buffer<'_>) {
        self.each_run(first_unit, buffer, |run, part| self.kernel.decrypt_units(run, part));
    }
}

impl SectorCipher for Sectors {
    fn data_unit(&self) -> usize {
        self.layout.data_unit
    }

    fn encrypt(&self, first_unit: u64, src: &[u8], dst: &mut [u8]) {
        self.encrypt_buffer(first_unit, Buffer::apart(src, dst));
    }

    fn encrypt_in_place(&self, first_unit: u64, data: &mut [u8]) {
        self.encrypt_buffer(first_unit, Buffer::in_place(data));
    }

    fn decrypt(&self, first_unit: u64, src: &[u8], dst: &mut [u8]) {
        self.decrypt_buffer(first_unit, Buffer::apart(src, dst));
    }

    fn decrypt_in_place(&self, first_unit: u64, data: &mut [u8]) {
        self.decrypt_buffer(first_unit, Buffer::in_place(data));
    }

    fn tier(&self) -> &'static str {
        self.kernel.name()
    }

    fn visit_keys(&self, visit: &mut dyn FnMut(*const u8, usize)) {
        tell(&*self.kernel, visit);
        self.kernel.visit_keys(visit);
    }
}
