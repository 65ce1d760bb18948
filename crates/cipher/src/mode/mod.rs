//! Modes of operation over any [`crate::kernel::BlockCipher`].

pub(crate) mod xts;
