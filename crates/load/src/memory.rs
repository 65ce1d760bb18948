//! How much memory buffers may take.

use crate::{LoadError, Operation};

/// Bytes for `depth` requests of `block` bytes.
///
/// Writes get a second buffer each whether or not an inline layer needs it: limits on memory and
/// on locked memory must strike all arms alike.
pub(crate) fn buffers_len(
    block: u64,
    depth: u32,
    operation: Operation,
) -> Result<usize, LoadError> {
    let buffers = match operation {
        Operation::Read => 1,
        Operation::Write => 2,
    };
    let wanted = block * u64::from(depth) * buffers;
    let limit = limit();
    match usize::try_from(wanted) {
        Ok(len) if wanted <= limit => Ok(len),
        _ => Err(LoadError::Memory { wanted, limit }),
    }
}

/// Half of the machine's memory.
#[cfg(target_os = "linux")]
fn limit() -> u64 {
    let info = rustix::system::sysinfo();
    // The field's width differs between architectures.
    #[allow(clippy::useless_conversion, clippy::cast_lossless)]
    let total = (info.totalram as u64).saturating_mul(u64::from(info.mem_unit));
    total / 2
}

#[cfg(not(target_os = "linux"))]
fn limit() -> u64 {
    1 << 30
}
