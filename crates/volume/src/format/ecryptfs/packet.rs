//! Packets in the manner of OpenPGP: a number, a length, a body.

/// Bytes that are read from the front; everything is `None` where they end too early.
pub(super) struct Bytes<'a>(pub &'a [u8]);

impl<'a> Bytes<'a> {
    pub fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    pub fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    pub fn byte(&mut self) -> Option<u8> {
        self.array().map(|[byte]| byte)
    }

    /// The body of the packet that begins here, if it has this number.
    pub fn packet(&mut self, number: u8) -> Option<Bytes<'a>> {
        let mut rest = Bytes(self.0);
        if rest.byte()? != number {
            return None;
        }
        let len = match usize::from(rest.byte()?) {
            len @ ..192 => len,
            // The kernel knows no longer ones.
            high @ 192..224 => ((high - 192) << 8) + usize::from(rest.byte()?) + 192,
            _ => return None,
        };
        let body = rest.take(len)?;
        self.0 = rest.0;
        Some(Bytes(body))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_have_one_byte_or_two() {
        for (len, written) in [(0, &[0][..]), (191, &[191]), (192, &[192, 0]), (8383, &[223, 255])]
        {
            let packet = [&[7][..], written, &vec![1; len], b"next"].concat();
            let mut bytes = Bytes(&packet);
            assert_eq!(bytes.packet(7).unwrap().0.len(), len);
            assert_eq!(bytes.0, b"next");
            for cut in 0..packet.len() - 4 {
                assert!(Bytes(&packet[..cut]).packet(7).is_none(), "{cut} of {len}");
            }
        }
        assert!(Bytes(&[7, 224, 0, 0, 0, 0]).packet(7).is_none());
        assert!(Bytes(&[7, 0]).packet(8).is_none());
    }
}
