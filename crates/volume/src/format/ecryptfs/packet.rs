//! Packets similar to OpenPGP's: a number, a length and a body. Each function removes what it parses from the
//! front of the slice, and returns `None` if the slice ends too early.

pub(super) fn array<const N: usize>(from: &mut &[u8]) -> Option<[u8; N]> {
    from.split_off(..N)?.try_into().ok()
}

/// Parses a packet and returns its body, if the packet has this number.
pub(super) fn packet<'a>(from: &mut &'a [u8], number: u8) -> Option<&'a [u8]> {
    let mut rest = *from;
    let [kind, len] = array(&mut rest)?;
    let len = match usize::from(len) {
        len @ ..192 => len,
        // The kernel does not support longer packets.
        high @ 192..224 => ((high - 192) << 8) + usize::from(*rest.split_off_first()?) + 192,
        _ => return None,
    };
    let body = rest.split_off(..len)?;
    *from = rest;
    (kind == number).then_some(body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_have_one_byte_or_two() {
        for (len, written) in [(0, &[0][..]), (191, &[191]), (192, &[192, 0]), (8383, &[223, 255])]
        {
            let whole = [&[7][..], written, &vec![1; len], b"next"].concat();
            let mut bytes = &whole[..];
            assert_eq!(packet(&mut bytes, 7).unwrap().len(), len);
            assert_eq!(bytes, b"next");
            for cut in 0..whole.len() - 4 {
                assert!(packet(&mut &whole[..cut], 7).is_none(), "{cut} of {len}");
            }
        }
        assert!(packet(&mut &[7, 224, 0, 0, 0, 0][..], 7).is_none());
        assert!(packet(&mut &[7, 0][..], 8).is_none());
    }
}
