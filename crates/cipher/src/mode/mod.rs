//! Modes of operation over any [`crate::kernel::BlockKernel`].

pub(crate) mod cbc;
pub(crate) mod diffuser;
pub(crate) mod ecb;
pub(crate) mod elephant;
pub(crate) mod feedback;
pub(crate) mod hctr2;
pub(crate) mod iv;
pub(crate) mod lmk;
pub(crate) mod lrw;
pub(crate) mod none;
pub(crate) mod several;
pub(crate) mod whitening;
pub(crate) mod xts;
pub(crate) mod xts_iv;
