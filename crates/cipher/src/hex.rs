//! Hexadecimal digits of test vectors.

/// The bytes of `text`, two digits each.
pub(crate) fn hex(text: &str) -> Vec<u8> {
    let digits = text.as_bytes().as_chunks::<2>().0;
    let byte = |pair: &[u8; 2]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16);
    digits.iter().map(|pair| byte(pair).unwrap()).collect()
}
