//! CRC-32 (IEEE 802.3, reflected, polynomial 0xEDB88320) for headers and the key file pool, and CRC-32C (Castagnoli,
//! reflected, 0x82F63B78) for CoreStorage.

const TABLE: [u32; 256] = table(0xEDB8_8320);
const CASTAGNOLI: [u32; 256] = table(0x82F6_3B78);

const fn table(polynomial: u32) -> [u32; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut value = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            value = if value & 1 == 1 { polynomial ^ (value >> 1) } else { value >> 1 };
            bit += 1;
        }
        table[byte] = value;
        byte += 1;
    }
    table
}

/// A running CRC-32 whose register the key file pool reads after every byte.
#[derive(Clone, Copy)]
pub(crate) struct Crc32(u32);

impl Crc32 {
    pub(crate) fn new() -> Self {
        Self(u32::MAX)
    }

    /// Adds one byte and returns the register, not inverted.
    pub(crate) fn update(&mut self, byte: u8) -> u32 {
        self.0 = TABLE[usize::from(self.0 as u8 ^ byte)] ^ (self.0 >> 8);
        self.0
    }
}

pub(crate) fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = Crc32::new();
    !bytes.iter().fold(u32::MAX, |_, &byte| crc.update(byte))
}

/// The CRC-32C register after `bytes`, starting from `register`; not inverted before or after.
pub(crate) fn crc32c(register: u32, bytes: &[u8]) -> u32 {
    let step = |crc: u32, byte: &u8| CASTAGNOLI[usize::from(crc as u8 ^ byte)] ^ (crc >> 8);
    bytes.iter().fold(register, step)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_check_value_of_the_standard() {
        // The "check" of CRC-32/ISO-HDLC in the CRC RevEng catalogue.
        assert_eq!(super::crc32(b"123456789"), 0xCBF4_3926);
        assert_eq!(super::crc32(b""), 0);
        // The "check" of CRC-32/ISCSI in the same catalogue.
        assert_eq!(!super::crc32c(u32::MAX, b"123456789"), 0xE306_9283);
    }
}
