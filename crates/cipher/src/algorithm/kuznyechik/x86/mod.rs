//! The kernels of x86.

mod avx2;
mod gfni512;

#[cfg(test)]
mod tests {
    use super::super::wide::tests::check;
    use crate::cpu::Tier;
    use crate::isa::{Avx2, Vbmi};

    #[test]
    fn every_kernel_enciphers_the_example_of_rfc_7801() {
        check::<Avx2>(Tier::Avx2);
        check::<Vbmi>(Tier::Avx512);
    }
}
