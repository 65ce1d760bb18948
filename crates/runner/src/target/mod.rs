//! The storage under the target (Linux: mountinfo and /sys).

mod block;
pub(crate) mod emulate;
mod existing;
mod pair;
mod places;
mod refusal;
mod seclusion;
mod site;
mod stretch;
mod uses;

pub use cryptbench_text::human;
pub use emulate::EmulateRequest;
pub(crate) use emulate::Emulation;
pub use existing::Consent;
pub(crate) use places::{Places, containers, makes_a_disk};
pub(crate) use site::Site;
pub(crate) use stretch::Stretch;

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;
