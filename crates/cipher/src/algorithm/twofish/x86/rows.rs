//! Byte look-ups with AVX2: an S-box as sixteen rows for `vpshufb`, for two planes at a time.
//!
//! Row `r` contains the entries whose index has the high nibble `r`. `vpshufb` looks up by the low nibble and returns
//! zero if the top bit is set. For the rows `c`, `c + 4`, `c + 8` and `c + 12`, four look-ups with different indices
//! therefore add up to the correct row: the indices are effective only for the rows {c, c + 4}, {c}, {c + 8, c + 12}
//! and {c + 12, c}, and the tables are sums of rows. Bits 4 and 5 then select one of the four sums, one per column
//! `c`. This takes 36 instructions and 8 loads per plane, and addresses do not depend on secrets.

use std::arch::asm;
use std::arch::x86_64::__m256i;

use zeroize::Zeroize;

/// The tables of an S-box in the order of [`look_up`]: four per index, each repeated in both lanes.
#[derive(Default, Zeroize)]
#[repr(C, align(64))]
pub(in super::super) struct Rows([[[[u8; 16]; 2]; 4]; 4]);

impl Rows {
    /// Fills the tables from the S-box's 256 values.
    pub(super) fn arrange(&mut self, sbox: &[u8; 256]) {
        for (column, low) in (0..4).flat_map(|column| (0..16).map(move |low| (column, low))) {
            let [r0, r1, r2, r3] = [0, 4, 8, 12].map(|row| sbox[16 * (row + column) + low]);
            let sums = [r1, r0 ^ r1 ^ r2 ^ r3, r2, r2 ^ r3];
            for (tables, sum) in self.0.iter_mut().zip(sums) {
                tables[column].iter_mut().for_each(|lane| lane[low] = sum);
            }
        }
    }
}

/// The differences between consecutive indices of [`look_up`]: the top bit, and the bit below it.
#[repr(C, align(32))]
struct IndexSteps([u8; 32], [u8; 32]);

static INDEX_STEPS: IndexSteps = IndexSteps([0x80; 32], [0x40; 32]);

/// Looks up both planes in four rows of a table at these offsets, and adds the results to the sums of the four
/// columns. For the first four rows, the results are the initial sums.
macro_rules! rows {
    (first $a:literal, $b:literal, $c:literal, $d:literal) => {
        concat!(rows!(start $a, 0), rows!(start $b, 1), rows!(start $c, 2), rows!(start $d, 3))
    };
    (next $a:literal, $b:literal, $c:literal, $d:literal) => {
        concat!(rows!(add $a, 0), rows!(add $b, 1), rows!(add $c, 2), rows!(add $d, 3))
    };
    (start $row:literal, $column:literal) => {
        concat!(
            "vmovdqa {r}, [{t} + ", $row, "]\n",
            "vpshufb {x", $column, "}, {r}, {x}\n",
            "vpshufb {y", $column, "}, {r}, {y}\n",
        )
    };
    (add $row:literal, $column:literal) => {
        concat!(
            "vmovdqa {r}, [{t} + ", $row, "]\n",
            "vpshufb {u}, {r}, {i}\n",
            "vpshufb {v}, {r}, {j}\n",
            "vpxor {x", $column, "}, {x", $column, "}, {u}\n",
            "vpxor {y", $column, "}, {y", $column, "}, {v}\n",
        )
    };
}

/// Looks up each byte of two planes.
///
/// Uses assembly, because registers are scarce: compilers would load all rows in advance and spill them.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn look_up(table: &Rows, [mut x, mut y]: [__m256i; 2]) -> [__m256i; 2] {
    // SAFETY: this function enables the instructions; all loads are from the table and the steps.
    unsafe {
        asm!(
            rows!(first 0, 32, 64, 96),
            "vpaddusb {i}, {x}, [{c} + 32]",
            "vpaddusb {j}, {y}, [{c} + 32]",
            rows!(next 128, 160, 192, 224),
            "vpxor {i}, {x}, [{c}]",
            "vpxor {j}, {y}, [{c}]",
            rows!(next 256, 288, 320, 352),
            "vpsubb {i}, {i}, [{c} + 32]",
            "vpsubb {j}, {j}, [{c} + 32]",
            rows!(next 384, 416, 448, 480),
            // Bits 4 and 5 of each byte, shifted to the bit that `vpblendvb` evaluates, select one of the sums.
            "vpsllw {i}, {x}, 3",
            "vpsllw {j}, {y}, 3",
            "vpblendvb {x0}, {x0}, {x1}, {i}",
            "vpblendvb {y0}, {y0}, {y1}, {j}",
            "vpblendvb {x2}, {x2}, {x3}, {i}",
            "vpblendvb {y2}, {y2}, {y3}, {j}",
            "vpsllw {x}, {x}, 2",
            "vpsllw {y}, {y}, 2",
            "vpblendvb {x}, {x0}, {x2}, {x}",
            "vpblendvb {y}, {y0}, {y2}, {y}",
            t = in(reg) table,
            c = in(reg) &INDEX_STEPS,
            x = inout(ymm_reg) x,
            y = inout(ymm_reg) y,
            i = out(ymm_reg) _,
            j = out(ymm_reg) _,
            r = out(ymm_reg) _,
            u = out(ymm_reg) _,
            v = out(ymm_reg) _,
            x0 = out(ymm_reg) _,
            x1 = out(ymm_reg) _,
            x2 = out(ymm_reg) _,
            x3 = out(ymm_reg) _,
            y0 = out(ymm_reg) _,
            y1 = out(ymm_reg) _,
            y2 = out(ymm_reg) _,
            y3 = out(ymm_reg) _,
            options(pure, readonly, nostack, preserves_flags),
        );
    }
    [x, y]
}
