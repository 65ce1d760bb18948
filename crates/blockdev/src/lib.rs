//! What a load is driven against: a [`Surface`], the memory that direct I/O needs, and the
//! [`SectorTransform`] through which an inline encryption layer is reached.

mod aligned;
mod surface;
mod transform;

pub use aligned::AlignedBuf;
pub use surface::{Extent, IoMode, Surface};
pub use transform::SectorTransform;
