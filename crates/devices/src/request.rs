//! A request to a device.

/// A kind of request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Transfers bytes from the device.
    Read,
    /// Transfers bytes to the device; completes when the device has accepted them.
    Write,
    /// Writes all data accepted so far to stable storage.
    Flush,
}

/// One request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Request {
    /// The kind of request.
    pub operation: Operation,
    /// First byte on the device; ignored for a flush.
    pub offset: u64,
    /// Length; 0 for a flush.
    pub bytes: u64,
    /// The time at which the device receives the request, in seconds after the engine's start. A time earlier than that
    /// of the previous request counts as the time of the previous request.
    pub arrival_s: f64,
    /// Whether this is the next piece of the previous request, which the transport had to split: to the device, both
    /// pieces are one command.
    pub continues: bool,
}
