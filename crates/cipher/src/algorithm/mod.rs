//! The algorithms, each with kernels for several instruction sets.

/// Evaluates an expression for each of these instruction sets that the CPU supports and `tier` allows, and another
/// expression for the remaining instruction sets.
macro_rules! each {
    ($sets:tt, $tier:expr, $isa:ident => $then:expr) => {
        each!($sets, $tier, $isa => $then, else _set => ())
    };
    (
        { $($arch:literal: $($set:ident)+;)+ }, $tier:expr, $isa:ident => $then:expr, else $name:ident => $else:expr
    ) => {
        $($(
            #[cfg(target_arch = $arch)]
            match <crate::isa::$set as crate::isa::Isa>::new($tier) {
                Some($isa) => $then,
                None => {
                    let $name = stringify!($set);
                    $else
                }
            }
        )+)+
    };
}

/// Defines `xts` and `blocks`, which key an algorithm for the first of these instruction sets that the CPU supports
/// and `tier` allows, or otherwise for the portable kernel. The tables of ciphers ensure that key lengths are valid
/// for the algorithm.
macro_rules! kernels {
    (xts $xts:ident, $(blocks $blocks:ident,)? portable $portable:ident, $sets:tt) => {
        /// Keys the algorithm in XTS mode for the best kernel that the CPU supports and `tier` allows.
        pub(crate) fn xts(
            data_key: &[u8],
            tweak_key: &[u8],
            tier: crate::cpu::Tier,
        ) -> Box<dyn crate::kernel::UnitKernel> {
            each!($sets, tier, isa => return Box::new($xts::new(isa, data_key, tweak_key)));
            let _ = tier;
            let [data, tweak] = [data_key, tweak_key].map($portable::new);
            Box::new(crate::mode::xts::Xts::new(data, tweak))
        }

        $(
            /// Keys the algorithm for modes that are not fused with it, in the same way as [`xts`].
            pub(crate) fn blocks(
                key: &[u8],
                tier: crate::cpu::Tier,
            ) -> Box<dyn crate::kernel::BlockKernel<{ crate::kernel::BLOCK }>> {
                each!($sets, tier, isa => return Box::new($blocks::new(isa, key)));
                let _ = tier;
                Box::new($portable::new(key))
            }

            /// The portable kernel, then all other kernels that this CPU supports, including kernels that are normally
            /// not chosen because there is a better kernel.
            #[cfg(test)]
            fn all_blocks(
                key: &[u8],
            ) -> Vec<Box<dyn crate::kernel::BlockKernel<{ crate::kernel::BLOCK }>>> {
                let best = crate::cpu::Tier::available().pop().unwrap();
                let mut all = vec![blocks(key, crate::cpu::Tier::Soft)];
                each!($sets, best, isa => all.push(Box::new($blocks::new(isa, key))));
                all
            }
        )?

        /// The portable kernel in XTS mode, then all other kernels that this CPU supports, including kernels that are
        /// normally not chosen because there is a better kernel.
        #[cfg(test)]
        fn all_xts(data_key: &[u8], tweak_key: &[u8]) -> Vec<Box<dyn crate::kernel::UnitKernel>> {
            let best = crate::cpu::Tier::available().pop().unwrap();
            let mut all = vec![xts(data_key, tweak_key, crate::cpu::Tier::Soft)];
            each!(
                $sets, best, isa => all.push(Box::new($xts::new(isa, data_key, tweak_key))),
                else set => eprintln!("SKIPPED: this CPU has no {set}")
            );
            all
        }
    };
}

pub(crate) mod adiantum;
pub(crate) mod aes;
pub(crate) mod anubis;
pub(crate) mod camellia;
pub(crate) mod cast6;
mod field;
pub(crate) mod khazad;
pub(crate) mod kuznyechik;
pub(crate) mod narrow;
pub(crate) mod seed;
pub(crate) mod serpent;
#[cfg(test)]
mod tests;
pub(crate) mod twofish;
