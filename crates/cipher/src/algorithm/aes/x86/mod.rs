//! AES on x86: XTS fused with the cipher, written once for vectors of any width.

mod aesni;
mod ahead;
mod rounds;
mod vaes256;
mod vaes512;
mod xts;
