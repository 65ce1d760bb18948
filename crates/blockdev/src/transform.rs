//! An encryption layer that runs inside the process that does the I/O.

/// Turns plaintext into what lies on the device and back, one data unit at a time.
///
/// Offsets count bytes from the start of the I/O target; offsets and lengths are multiples of
/// [`unit`](SectorTransform::unit). Implementations are pure functions of offset and data, so that
/// requests may be transformed in any order and from several threads.
pub trait SectorTransform: Send + Sync {
    /// The data unit: bytes under one tweak.
    fn unit(&self) -> usize;

    /// Writes to `stored` what belongs on the device for `plain` at `offset`.
    ///
    /// Both slices have the same length.
    fn seal(&self, offset: u64, plain: &[u8], stored: &mut [u8]);

    /// As [`seal`](SectorTransform::seal), where the data lies.
    fn seal_in_place(&self, offset: u64, data: &mut [u8]) {
        let plain = data.to_vec();
        self.seal(offset, &plain, data);
    }

    /// Turns what was read from the device at `offset` into plaintext, in place.
    fn open(&self, offset: u64, data: &mut [u8]);
}
