//! Vectors of 16, 32 or 64 bytes: the register operations that the kernels of several algorithms share.

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod bytes;
#[cfg(target_arch = "x86_64")]
mod gfni;
#[cfg(target_arch = "aarch64")]
mod neon;
#[cfg(target_arch = "x86_64")]
mod x86;

use std::ops::{BitAnd, BitOr, BitXor, BitXorAssign};

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub(crate) use bytes::{Bytes, Table, transpose_bytes};
#[cfg(target_arch = "x86_64")]
pub(crate) use gfni::{Gfni, matrix};
#[cfg(target_arch = "aarch64")]
pub(crate) use neon::V128;
#[cfg(target_arch = "x86_64")]
pub(crate) use x86::{V128, V256, V512};

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use crate::kernel::{BLOCK, Block};

/// A vector of 32-bit words, or a single word.
///
/// The operations are safe, although most need instructions beyond the baseline: vectors are created only by
/// functions whose callers guarantee the instruction set, so a value proves that it is available.
pub(crate) trait Words:
    Copy + BitXor<Output = Self> + BitXorAssign + BitAnd<Output = Self> + BitOr<Output = Self>
{
    /// The bits of `self` that are not set in `other`.
    fn and_not(self, other: Self) -> Self;

    /// The sum of each word, modulo 2^32.
    fn add(self, other: Self) -> Self;

    /// Each word shifted left.
    fn shift_left<const BITS: i32>(self) -> Self;

    /// Each word rotated left by `LEFT`; `RIGHT` must be `32 - LEFT`.
    fn rotate<const LEFT: i32, const RIGHT: i32>(self) -> Self;

    /// a + b in GF(2).
    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        self ^ other
    }

    /// a + b + c in GF(2), as one instruction if the instruction set has such an instruction.
    #[inline(always)]
    fn xor3(self, b: Self, c: Self) -> Self {
        self ^ b ^ c
    }
}

impl Words for u32 {
    #[inline(always)]
    fn and_not(self, other: Self) -> Self {
        self & !other
    }

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        self.wrapping_add(other)
    }

    #[inline(always)]
    fn shift_left<const BITS: i32>(self) -> Self {
        self << BITS
    }

    #[inline(always)]
    fn rotate<const LEFT: i32, const RIGHT: i32>(self) -> Self {
        self << LEFT | self >> RIGHT
    }
}

/// A register with one or more 16-byte lanes.
///
/// # Safety
/// Every unsafe function may use the whole instruction set of the implementing type. Call it only inside a function
/// that enables this instruction set by `target_feature`, after a check that the CPU supports it.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub(crate) trait Vector: Words + Send + Sync + 'static {
    /// 16-byte lanes.
    const LANES: usize;
    /// Bytes of the vector.
    const BYTES: usize = BLOCK * Self::LANES;

    /// Reads a vector; `from` must be valid for reads of its size.
    unsafe fn load(from: *const u8) -> Self;
    /// Writes a vector; `to` must be valid for writes of its size.
    unsafe fn store(self, to: *mut u8);
    /// A block in every lane.
    unsafe fn lanes(block: &Block) -> Self;
    /// One word everywhere.
    unsafe fn splat(word: u32) -> Self;

    /// Transposes the words of four vectors within each lane: word `i` of vector `j` is swapped with word `j` of
    /// vector `i`.
    fn transpose(vectors: [Self; 4]) -> [Self; 4];
    /// Interleaves the bytes of the lower halves of each lane, starting with those of `self`.
    fn interleave_low(self, other: Self) -> Self;
    /// Interleaves the bytes of the upper halves of each lane.
    fn interleave_high(self, other: Self) -> Self;
}

/// Aligns the stack frame of the calling function to a cache line.
///
/// The compiler aligns frames to only 16 bytes, even if it spills vectors to them. Half of the accesses to these
/// vectors would then cross a cache line, which can halve a kernel's speed.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#[inline(always)]
pub(crate) fn align_frame() {
    #[repr(align(64))]
    struct Anchor(std::mem::MaybeUninit<[u8; 64]>);
    let anchor = Anchor(std::mem::MaybeUninit::uninit());
    let start = anchor.0.as_ptr();
    // SAFETY: the assembly is empty; it only forces the object to be stored in memory.
    unsafe {
        std::arch::asm!("/* {0} */", in(reg) start, options(readonly, nostack, preserves_flags));
    }
}

/// Operators, each one instruction.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
macro_rules! operators {
    ($vector:ident, $xor:ident, $and:ident, $or:ident) => {
        operators!(@ $vector, BitXor, bitxor, $xor);
        operators!(@ $vector, BitAnd, bitand, $and);
        operators!(@ $vector, BitOr, bitor, $or);

        impl std::ops::BitXorAssign for $vector {
            #[inline(always)]
            fn bitxor_assign(&mut self, other: Self) {
                *self = *self ^ other;
            }
        }
    };
    (@ $vector:ident, $operator:ident, $method:ident, $instruction:ident) => {
        impl std::ops::$operator for $vector {
            type Output = Self;
            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                // SAFETY: the values prove that the instruction set is available.
                Self(unsafe { $instruction(self.0, other.0) })
            }
        }
    };
}

/// Methods that each consist of one instruction with two operands of type `self.0`.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
macro_rules! instructions {
    ($($method:ident = $instruction:ident;)*) => {
        $(
            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                // SAFETY: the values prove that the instruction set is available.
                Self(unsafe { $instruction(self.0, other.0) })
            }
        )*
    };
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use {instructions, operators};
