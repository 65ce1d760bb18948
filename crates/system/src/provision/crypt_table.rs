//! The table of an open dm-crypt device, in the form in which dmsetup(8) prints it: without the key.

use std::time::Duration;

use super::dm_crypt::CryptTable;
use crate::SystemError;
use crate::machine::Machine;
use crate::resource::mapping::program;

/// The program only queries the kernel; if it takes longer, it is assumed to hang.
const LIMIT: Duration = Duration::from_secs(10);

/// Size of a sector in a table, in bytes.
const SECTOR: u64 = 512;

/// Reads the table of the device-mapper device `name`.
///
/// # Errors
/// [`SystemError::Program`] if dmsetup fails, or if the device is not a single range mapped by dm-crypt.
pub fn crypt_table(name: &str) -> Result<CryptTable, SystemError> {
    // Without --showkeys, dmsetup prints zeros for a key.
    let said = program("dmsetup").args(["table", name]).run(&Machine::this(), LIMIT)?;
    parse(&said).map_err(|reason| SystemError::Program { program: "dmsetup", reason })
}

fn parse(table: &str) -> Result<CryptTable, String> {
    let mut lines = table.lines().filter(|line| !line.trim().is_empty());
    let (Some(line), None) = (lines.next(), lines.next()) else {
        return Err(format!(
            "the table has {} ranges instead of one; is the device being re-encrypted?",
            table.lines().count()
        ));
    };
    let words: Vec<&str> = line.split_whitespace().collect();
    let ["0", sectors, "crypt", cipher, key, _iv_offset, below, start, options @ ..] = &words[..]
    else {
        return Err("not a dm-crypt table".to_owned());
    };
    let bytes = |sectors: &str| sectors.parse::<u64>().ok()?.checked_mul(SECTOR);
    let (Some(bytes), Some(offset)) = (bytes(sectors), bytes(start)) else {
        return Err("the table contains an invalid size or offset".to_owned());
    };
    let option = |name: &str| options.iter().find_map(|word| word.strip_prefix(name));
    Ok(CryptTable {
        bytes,
        cipher: (*cipher).to_owned(),
        key_bits: key_bits(key),
        sector_size: option("sector_size:").and_then(|size| size.parse().ok()).unwrap_or(512),
        below: (*below).to_owned(),
        offset,
        has_integrity: option("integrity:").is_some(),
    })
}

/// Length of a key in bits. The table contains it as hexadecimal digits, or as `:BYTES:TYPE:DESCRIPTION` if it
/// is in the kernel's keyring.
fn key_bits(key: &str) -> Option<u32> {
    match key.strip_prefix(':') {
        Some(in_keyring) => Some(in_keyring.split(':').next()?.parse::<u32>().ok()? * 8),
        None if key == "-" => None,
        None => Some(u32::try_from(key.len()).ok()? * 4),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_of_luks_and_veracrypt() {
        let luks2 = "0 999292928 crypt aes-xts-plain64 :64:logon:cryptsetup:0c-d0 0 259:3 32768 2 \
                     allow_discards sector_size:4096\n";
        let found = CryptTable {
            bytes: 999_292_928 * 512,
            cipher: "aes-xts-plain64".to_owned(),
            key_bits: Some(512),
            sector_size: 4096,
            below: "259:3".to_owned(),
            offset: 16 << 20,
            has_integrity: false,
        };
        assert_eq!(parse(luks2), Ok(found));
        let zeros = "0".repeat(128);
        let veracrypt = format!("0 2048 crypt serpent-xts-plain64 {zeros} 256 7:0 256");
        let found = parse(&veracrypt).unwrap();
        assert_eq!((found.key_bits, found.sector_size), (Some(512), 512));
        assert_eq!((found.bytes, found.offset), (1 << 20, 128 << 10));
        let tagged = "0 8 crypt capi:authenc(hmac(sha256),xts(aes))-plain64 :96:logon:x 0 253:0 0 1 \
                      integrity:32:aead";
        assert!(parse(tagged).unwrap().has_integrity);
        assert_eq!(parse("0 8 crypt cipher_null-ecb - 0 7:1 0").unwrap().key_bits, None);
    }

    #[test]
    fn what_is_not_one_range_of_dm_crypt_is_refused() {
        let two = "0 8 crypt aes-xts-plain64 :64:x 0 7:0 0\n8 8 linear 7:0 8\n";
        insta::assert_snapshot!(parse(two).unwrap_err(), @"the table has 2 ranges instead of one; is the device being re-encrypted?");
        assert!(parse("0 8 linear 7:0 0").is_err());
        assert!(parse("0 8 crypt aes").is_err());
        assert!(parse("0 99999999999999999999 crypt a b 0 7:0 0").is_err());
        assert!(parse("").is_err());
    }
}
