//! How much memory buffers may take.

use crate::LoadError;

/// Bytes for `depth` requests of `block` bytes with or without a second buffer each.
pub(crate) fn arena_len(block: u64, depth: u32, bounce: bool) -> Result<usize, LoadError> {
    let wanted = block * u64::from(depth) * if bounce { 2 } else { 1 };
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
