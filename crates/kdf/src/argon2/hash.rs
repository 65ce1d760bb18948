//! The hashes before and after the memory is filled: the first hash over all inputs, and the hash with
//! variable-length output.

use blake2::digest::block_api::{UpdateCore as _, VariableOutputCore as _};
use blake2::digest::block_buffer::LazyBuffer;
use blake2::{Blake2b512, Blake2bVarCore, Digest as _};
use zeroize::{Zeroize as _, Zeroizing};

use super::{Argon2Kind, Argon2Params};

/// Maximum length of BLAKE2b's output in bytes.
const DIGEST: usize = 64;
/// Version 1.3.
const VERSION: u32 = 0x13;

/// H0 (RFC 9106, section 3.2), the hash of all inputs. Header keys use neither a secret nor associated data.
pub(super) fn first(
    kind: Argon2Kind,
    password: &[u8],
    salt: &[u8],
    params: Argon2Params,
    length: u32,
) -> [u8; DIGEST] {
    let mut hash = Blake2b512::new();
    let numbers = [params.lanes, length, params.memory_kib, params.passes, VERSION, kind.number()];
    for number in numbers {
        hash.update(number.to_le_bytes());
    }
    for input in [password, salt, &[], &[]] {
        hash.update((input.len() as u32).to_le_bytes());
        hash.update(input);
    }
    hash.finalize().into()
}

/// H' (RFC 9106, section 3.3): fills `out` with a hash of the concatenated `parts`.
pub(super) fn long(parts: &[&[u8]], out: &mut [u8]) {
    let length = (out.len() as u32).to_le_bytes();
    if out.len() <= DIGEST {
        let all: Vec<&[u8]> = [&[&length[..]], parts].concat();
        return short(&all, out);
    }
    let mut hash = Blake2b512::new().chain_update(length);
    parts.iter().for_each(|part| hash.update(part));
    let mut link: Zeroizing<[u8; DIGEST]> = Zeroizing::new(hash.finalize().into());
    // Half of each link in the chain is output; the last link is output completely.
    let mut rest = out;
    loop {
        let (half, after) = rest.split_at_mut(DIGEST / 2);
        half.copy_from_slice(&link[..DIGEST / 2]);
        rest = after;
        if rest.len() <= DIGEST {
            return short(&[&*link], rest);
        }
        *link = Blake2b512::digest(*link).into();
    }
}

/// BLAKE2b with an output length of 1 to [`DIGEST`] bytes.
fn short(parts: &[&[u8]], out: &mut [u8]) {
    let mut hash = Blake2bVarCore::new(out.len()).expect("1 to 64 bytes");
    let mut buffer = LazyBuffer::new(&[]);
    for part in parts {
        buffer.digest_blocks(part, |blocks| hash.update_blocks(blocks));
    }
    let mut whole = Default::default();
    hash.finalize_variable_core(&mut buffer, &mut whole);
    out.copy_from_slice(&whole[..out.len()]);
    whole.as_mut_slice().zeroize();
}
