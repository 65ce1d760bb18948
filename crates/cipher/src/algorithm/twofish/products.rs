//! Products with the constants of the MDS matrix by nibbles.

use super::spec::multiply_mds;

/// For the low and the high nibble, the products with a constant of the MDS matrix.
#[repr(C, align(16))]
pub(super) struct Products(pub(super) [[u8; 16]; 2]);

impl Products {
    const fn new(factor: u8) -> Self {
        let mut products = [[0; 16]; 2];
        let mut n = 0;
        while n < 16 {
            products[0][n] = multiply_mds(factor, n as u8);
            products[1][n] = multiply_mds(factor, (n as u8) << 4);
            n += 1;
        }
        Self(products)
    }
}

pub(super) static PRODUCTS_5B: Products = Products::new(0x5B);
pub(super) static PRODUCTS_EF: Products = Products::new(0xEF);
