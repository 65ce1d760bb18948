//! Alignment of stack frames.

use std::arch::asm;
use std::mem::MaybeUninit;

/// A cache line.
#[repr(align(64))]
struct Anchor(MaybeUninit<[u8; 64]>);

/// Makes the frame of the function that calls it start at a cache line.
///
/// A frame is aligned to 16 bytes by itself, and vectors that are spilled to it do not change that:
/// half of the accesses to them would cross a cache line, which can cost these kernels half their speed.
#[inline(always)]
pub(super) fn align_frame() {
    let anchor = Anchor(MaybeUninit::uninit());
    let start = anchor.0.as_ptr();
    // SAFETY: no instruction; the object only has to exist.
    unsafe { asm!("/* {0} */", in(reg) start, options(readonly, nostack, preserves_flags)) };
}
