//! What a device is asked for.

/// A kind of request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Bytes from the device.
    Read,
    /// Bytes to the device, done when it has accepted them.
    Write,
    /// Everything accepted so far to stable storage.
    Flush,
}

/// One request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Request {
    /// What.
    pub operation: Operation,
    /// First byte on the device; ignored for a flush.
    pub offset: u64,
    /// Length; 0 for a flush.
    pub bytes: u64,
    /// When the device gets it, seconds after the engine's start. Earlier than the request before it counts as
    /// the same time.
    pub arrival_s: f64,
    /// Whether it is the next piece of the request before it, which a transport had to cut: the device saw one
    /// command.
    pub continues: bool,
}
