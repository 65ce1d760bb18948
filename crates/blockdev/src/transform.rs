//! The interface of an encryption layer that runs in the process that performs the I/O.

/// How a layer forwards requests. By default, a layer forwards all requests immediately and unsplit, as a cipher does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Passes {
    /// Whether the layer processes one request at a time, in the order of issue.
    pub is_serial: bool,
    /// The maximum number of bytes that the layer forwards in one piece; larger requests are split into consecutive
    /// pieces.
    pub piece: Option<u32>,
    /// Whether the layer writes each piece twice, like a data journal.
    pub writes_twice: bool,
}

/// Converts between plaintext and the bytes stored on the device, one data unit at a time.
///
/// Offsets are in bytes from the start of the I/O target. Offsets and lengths are multiples of
/// [`unit`](SectorTransform::unit). Implementations are pure functions of offset and data, so
/// requests may be transformed in any order and from several threads.
pub trait SectorTransform: Send + Sync {
    /// Size of the data unit: the number of bytes with the same tweak.
    fn unit(&self) -> usize;

    /// Writes to `stored` the bytes that the device stores for `plain` at `offset`.
    ///
    /// Both slices must have the same length.
    fn seal(&self, offset: u64, plain: &[u8], stored: &mut [u8]);

    /// As [`seal`](SectorTransform::seal), in place.
    fn seal_in_place(&self, offset: u64, data: &mut [u8]) {
        let plain = data.to_vec();
        self.seal(offset, &plain, data);
    }

    /// How it passes on requests.
    fn passes(&self) -> Passes {
        Passes::default()
    }

    /// Converts data that was read from the device at `offset` to plaintext, in place.
    fn open(&self, offset: u64, data: &mut [u8]);
}
