//! Linear maps on bytes over GF(2): evaluated at compile time, or without branches for keys.

/// A linear map, given by the image of each bit, starting with the lowest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Linear(pub(super) [u8; 8]);

impl Linear {
    pub(super) const IDENTITY: Self = Self([1, 2, 4, 8, 16, 32, 64, 128]);

    pub(super) const ROTATE_LEFT: Self = Self([2, 4, 8, 16, 32, 64, 128, 1]);

    pub(super) const ROTATE_RIGHT: Self = Self([128, 1, 2, 4, 8, 16, 32, 64]);

    /// The image of `x`.
    pub(super) const fn of(self, x: u8) -> u8 {
        let mut image = 0;
        let mut bit = 0;
        while bit < 8 {
            // All ones if the bit is set. Does not branch, because it is also applied to keys.
            image ^= self.0[bit] & (x >> bit & 1).wrapping_neg();
            bit += 1;
        }
        image
    }

    /// The image of each byte of `x`.
    pub(super) const fn of_each(self, x: u64) -> u64 {
        let mut image = 0;
        let mut bit = 0;
        while bit < 8 {
            image ^= (x >> bit & 0x0101_0101_0101_0101) * self.0[bit] as u64;
            bit += 1;
        }
        image
    }

    /// The composition of both maps, in which `inner` is applied first.
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    pub(super) const fn after(self, inner: Self) -> Self {
        let mut columns = [0; 8];
        let mut bit = 0;
        while bit < 8 {
            columns[bit] = self.of(inner.0[bit]);
            bit += 1;
        }
        Self(columns)
    }

    /// The inverse of the map; compilation fails if there is none.
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    pub(super) const fn inverse(self) -> Self {
        let mut columns = [0; 8];
        let mut bit = 0;
        while bit < 8 {
            let mut x = 1u8;
            while self.of(x) != 1 << bit {
                x += 1;
            }
            columns[bit] = x;
            bit += 1;
        }
        Self(columns)
    }

    /// The images of all low nibbles and of all high nibbles. The image of `x` is the sum of one image from each
    /// table.
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    pub(super) const fn nibbles(self) -> [[u8; 16]; 2] {
        let mut tables = [[0; 16]; 2];
        let mut value = 0;
        while value < 16 {
            tables[0][value] = self.of(value as u8);
            tables[1][value] = self.of((value as u8) << 4);
            value += 1;
        }
        tables
    }
}
