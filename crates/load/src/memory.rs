//! Limits the memory of I/O buffers.

use cryptbench_os::machine::memory_bytes;

use crate::LoadError;

/// Number of bytes needed for `threads` threads, each with `depth` requests of `block` bytes.
///
/// Jobs that write get a second buffer per request even without an inline layer, so that limits on memory and on
/// locked memory apply to all arms equally.
pub(crate) fn buffers_len(
    block: u32,
    depth: u32,
    threads: u32,
    writes: bool,
) -> Result<usize, LoadError> {
    let each = u64::from(block) * u64::from(depth) * if writes { 2 } else { 1 };
    let wanted = each.saturating_mul(u64::from(threads));
    let limit = limit();
    match usize::try_from(each) {
        Ok(len) if wanted <= limit => Ok(len),
        _ => Err(LoadError::Memory { wanted, limit }),
    }
}

/// Half of the machine's memory, or 1 GiB if the memory size is unknown.
fn limit() -> u64 {
    memory_bytes().map_or(1 << 30, |all| all / 2)
}
