//! AES on x86: XTS fused with the cipher, written once over a vector of blocks.

mod aesni;
mod ahead;
mod rounds;
mod vaes256;
mod vaes512;
mod xts;
