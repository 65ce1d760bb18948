//! Alignment of stack frames.

use std::arch::asm;
use std::mem::MaybeUninit;

/// A cache line.
#[repr(align(64))]
struct Anchor(MaybeUninit<[u8; 64]>);

/// Aligns the stack frame of the calling function to a cache line.
///
/// The compiler aligns frames to only 16 bytes, even if vectors are spilled to them. Half of the
/// accesses to those vectors would then cross a cache line, which can halve the speed of these
/// kernels.
#[inline(always)]
pub(super) fn align_frame() {
    let anchor = Anchor(MaybeUninit::uninit());
    let start = anchor.0.as_ptr();
    // SAFETY: the assembly is empty; it only forces the object to exist.
    unsafe { asm!("/* {0} */", in(reg) start, options(readonly, nostack, preserves_flags)) };
}
