//! Windows has no io_uring.

/// The resources of a server that a confined process cannot create: on Windows, there are no such resources.
pub struct Prepared;

impl Prepared {
    /// For a server without rings.
    pub fn nothing() -> Self {
        Self
    }

    /// Rings are not available.
    pub fn rings(_threads: usize) -> Self {
        Self
    }

    /// Whether the process will use rings.
    pub fn has_rings(&self) -> bool {
        false
    }
}
