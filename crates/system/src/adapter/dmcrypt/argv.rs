//! The exact arguments of cryptsetup(8) for each choice of settings.
//!
//! They contain no keys or passphrases: cryptsetup reads those from its standard input (`--key-file
//! -`).

use std::ffi::OsString;
use std::path::Path;

use zeroize::Zeroizing;

use super::choice::{Choice, Target};

/// Iterations of PBKDF2. Unlocking is not measured, so this is cryptsetup's minimum.
const ITERATIONS: &str = "1000";

/// `luksFormat`; `None` for formats without a header.
pub(super) fn format(choice: &Choice, device: &Path) -> Option<Vec<OsString>> {
    let Target::Crypt(cipher) = choice.target else { return None };
    if choice.format == "plain" {
        return None;
    }
    let mut words = words(&["--batch-mode", "luksFormat", "--type", choice.format]);
    words.extend(["--cipher", cipher.specification, "--key-size"].map(Into::into));
    words.push(cipher.key_bits.to_string().into());
    if let (Some(sector), "luks2") = (choice.sector, choice.format) {
        words.push("--sector-size".into());
        words.push(sector.to_string().into());
    }
    words.extend(["--hash", "sha256", "--pbkdf", "pbkdf2"].map(Into::into));
    words.extend(["--pbkdf-force-iterations", ITERATIONS].map(Into::into));
    if !matches!(choice.integrity, "none" | "crc32c") {
        // Filling the device writes every tag. Without this option, cryptsetup would also write all tags beforehand.
        let integrity = cipher.authenticates.unwrap_or(choice.integrity);
        words.extend(["--integrity", integrity, "--integrity-no-wipe"].map(Into::into));
    }
    words.extend(["--key-file".into(), "-".into(), device.into()]);
    Some(words)
}

/// `open`; `None` for dm-linear and dm-inlinecrypt, which cryptsetup does not set up.
pub(super) fn open(choice: &Choice, device: &Path, name: &str) -> Option<Vec<OsString>> {
    let (kind, cipher) = match choice.target {
        _ if choice.inline => return None,
        Target::Linear => return None,
        Target::CipherNull => ("plain", Some(("cipher_null-ecb", 256))),
        Target::Crypt(cipher) if choice.format == "plain" => {
            ("plain", Some((cipher.specification, cipher.key_bits)))
        }
        Target::Crypt(_) => (choice.format, None),
    };
    let mut words = words(&["--batch-mode", "open", "--type", kind]);
    if let Some((specification, key_bits)) = cipher {
        words.extend(["--cipher", specification, "--key-size"].map(Into::into));
        words.push(key_bits.to_string().into());
        words.push("--sector-size".into());
        words.push(choice.sector.unwrap_or(512).to_string().into());
    }
    if matches!(choice.workqueues, "no-read" | "no-read-write") {
        words.push("--perf-no_read_workqueue".into());
    }
    if matches!(choice.workqueues, "no-write" | "no-read-write") {
        words.push("--perf-no_write_workqueue".into());
    }
    if choice.same_cpu {
        words.push("--perf-same_cpu_crypt".into());
    }
    if choice.journal == "none" && choice.integrity != "crc32c" {
        words.push("--integrity-no-journal".into());
    }
    words.extend(["--key-file".into(), "-".into(), device.into(), name.into()]);
    Some(words)
}

/// integritysetup(8)'s `format` command for the checksums under LUKS2. It writes the whole device once: LUKS
/// looks for other formats before it writes, and sectors without a checksum cannot be read.
pub(super) fn format_checksums(choice: &Choice, device: &Path) -> Vec<OsString> {
    let mut words = words(&["--batch-mode", "format", "--integrity", "crc32c", "--sector-size"]);
    words.push(choice.sector.unwrap_or(512).to_string().into());
    words.push(device.into());
    words
}

/// Its `open` command.
pub(super) fn open_checksums(choice: &Choice, device: &Path, name: &str) -> Vec<OsString> {
    let mut words = words(&["--batch-mode", "open", "--integrity", "crc32c"]);
    match choice.journal {
        "none" => words.push("--integrity-no-journal".into()),
        "bitmap" => words.push("--integrity-bitmap-mode".into()),
        _ => {}
    }
    words.extend([device.into(), name.into()]);
    words
}

/// dm-inlinecrypt's table for `sectors` sectors of `device`. It contains the key, so dmsetup(8) reads it from
/// its standard input.
pub(super) fn inline_table(
    choice: &Choice,
    key: &[u8],
    (device, sectors): (&Path, u64),
) -> Zeroizing<Vec<u8>> {
    let options = match choice.sector.unwrap_or(512) {
        512 => "1 keytype:raw".to_owned(),
        // The IVs of larger sectors are numbered in units of their size.
        sector => format!("3 keytype:raw sector_size:{sector} iv_large_sectors"),
    };
    // Allocated at its maximum length, because growing would leave copies of the key behind.
    let device = device.display().to_string();
    let mut table = Zeroizing::new(Vec::with_capacity(2 * key.len() + device.len() + 200));
    table.extend(format!("0 {sectors} inlinecrypt aes-xts-plain64 ").into_bytes());
    for byte in key {
        table.extend([byte >> 4, byte & 15].map(|digit| b"0123456789abcdef"[usize::from(digit)]));
    }
    table.extend(format!(" 0 {device} 0 {options}\n").into_bytes());
    table
}

/// Size of the secret in bytes: a passphrase for LUKS, the key itself for formats without a header.
pub(super) fn secret_bytes(choice: &Choice) -> usize {
    match choice.target {
        Target::Crypt(cipher) if choice.format == "plain" => cipher.key_bytes(),
        Target::Crypt(_) => 64,
        // cipher_null ignores its key, but cryptsetup requires a key.
        Target::CipherNull => 32,
        Target::Linear => 0,
    }
}

fn words(words: &[&str]) -> Vec<OsString> {
    words.iter().map(Into::into).collect()
}

#[cfg(test)]
mod tests {
    use cryptbench_catalog::Cipher;

    use super::*;

    fn said(words: Option<Vec<OsString>>) -> String {
        let words = words.expect("it has arguments");
        words.iter().map(|w| w.to_str().unwrap()).collect::<Vec<_>>().join(" ")
    }

    fn choice(format: &'static str, cipher: &str, sector: impl Into<Option<u32>>) -> Choice {
        Choice {
            format,
            target: Target::Crypt(Cipher::of_dm_crypt(cipher).unwrap()),
            sector: sector.into(),
            workqueues: "default",
            same_cpu: false,
            integrity: "none",
            journal: "data",
            sizes: ["default"; 2],
            inline: false,
            on_device: false,
            on: "container",
        }
    }

    fn device() -> &'static Path {
        Path::new("/dev/loop3")
    }

    #[test]
    fn headers_are_made_with_exactly_these_words() {
        let with = |integrity, cipher| Choice { integrity, ..choice("luks2", cipher, 512) };
        for (choice, expected) in [
            (
                choice("luks1", "aes-128-xts", 512),
                "--type luks1 --cipher aes-xts-plain64 --key-size 256 --hash sha256 --pbkdf pbkdf2 \
                 --pbkdf-force-iterations 1000",
            ),
            (
                choice("luks2", "serpent-256-xts", 4096),
                "--type luks2 --cipher serpent-xts-plain64 --key-size 512 --sector-size 4096 --hash sha256 \
                 --pbkdf pbkdf2 --pbkdf-force-iterations 1000",
            ),
            (
                choice("luks2", "aes-256-xts", None),
                "--type luks2 --cipher aes-xts-plain64 --key-size 512 --hash sha256 --pbkdf pbkdf2 \
                 --pbkdf-force-iterations 1000",
            ),
            (
                with("hmac-sha256", "aes-256-xts"),
                "--type luks2 --cipher aes-xts-plain64 --key-size 512 --sector-size 512 --hash sha256 \
                 --pbkdf pbkdf2 --pbkdf-force-iterations 1000 --integrity hmac-sha256 --integrity-no-wipe",
            ),
            (
                with("aead", "aes-256-gcm"),
                "--type luks2 --cipher aes-gcm-random --key-size 256 --sector-size 512 --hash sha256 \
                 --pbkdf pbkdf2 --pbkdf-force-iterations 1000 --integrity aead --integrity-no-wipe",
            ),
            (
                with("aead", "chacha20-poly1305"),
                "--type luks2 --cipher chacha20-random --key-size 256 --sector-size 512 --hash sha256 \
                 --pbkdf pbkdf2 --pbkdf-force-iterations 1000 --integrity poly1305 --integrity-no-wipe",
            ),
        ] {
            let expected = format!("--batch-mode luksFormat {expected} --key-file - /dev/loop3");
            assert_eq!(said(format(&choice, device())), expected);
        }
        assert_eq!(format(&choice("plain", "aes-256-xts", 512), device()), None);
    }

    #[test]
    fn volumes_are_opened_with_exactly_these_words() {
        let luks = choice("luks2", "aes-256-xts", 4096);
        let plain = choice("plain", "aes-256-cbc-essiv", 4096);
        let null = Choice { target: Target::CipherNull, ..choice("plain", "adiantum", 512) };
        for (choice, expected) in [
            (luks, "luks2"),
            (Choice { workqueues: "no-read", ..luks }, "luks2 --perf-no_read_workqueue"),
            (Choice { workqueues: "no-write", ..luks }, "luks2 --perf-no_write_workqueue"),
            (
                Choice { workqueues: "no-read-write", same_cpu: true, ..luks },
                "luks2 --perf-no_read_workqueue --perf-no_write_workqueue --perf-same_cpu_crypt",
            ),
            (Choice { same_cpu: true, format: "luks1", ..luks }, "luks1 --perf-same_cpu_crypt"),
            // Settings that are in the header are not repeated.
            (Choice { integrity: "hmac-sha256", ..luks }, "luks2"),
            (Choice { integrity: "aead", journal: "none", ..luks }, "luks2 --integrity-no-journal"),
            // Under LUKS2, integritysetup sets the journal mode.
            (Choice { integrity: "crc32c", journal: "none", ..luks }, "luks2"),
            (plain, "plain --cipher aes-cbc-essiv:sha256 --key-size 256 --sector-size 4096"),
            (null, "plain --cipher cipher_null-ecb --key-size 256 --sector-size 512"),
        ] {
            let expected = format!("--batch-mode open --type {expected} --key-file - /dev/loop3 x");
            assert_eq!(said(open(&choice, device(), "x")), expected);
        }
        assert_eq!(open(&Choice { target: Target::Linear, ..plain }, device(), "x"), None);
    }

    #[test]
    fn checksums_are_made_and_opened_with_exactly_these_words() {
        let luks = Choice { integrity: "crc32c", ..choice("luks2", "aes-256-xts", 4096) };
        assert_eq!(
            said(Some(format_checksums(&luks, device()))),
            "--batch-mode format --integrity crc32c --sector-size 4096 /dev/loop3"
        );
        for (journal, option) in [
            ("data", ""),
            ("none", "--integrity-no-journal "),
            ("bitmap", "--integrity-bitmap-mode "),
        ] {
            assert_eq!(
                said(Some(open_checksums(&Choice { journal, ..luks }, device(), "x"))),
                format!("--batch-mode open --integrity crc32c {option}/dev/loop3 x")
            );
        }
        let header = said(format(&luks, device()));
        assert!(!header.contains("integrity"), "{header}");
    }

    #[test]
    fn inline_crypto_has_a_table_of_its_own() {
        let key: Vec<u8> = (0x9a..0x9a + 64).collect();
        let digits: String = key.iter().map(|byte| format!("{byte:02x}")).collect();
        for (sector, options) in
            [(512, "1 keytype:raw"), (4096, "3 keytype:raw sector_size:4096 iv_large_sectors")]
        {
            let inline = Choice { inline: true, ..choice("plain", "aes-256-xts", sector) };
            assert_eq!(open(&inline, device(), "x"), None);
            assert_eq!(secret_bytes(&inline), key.len());
            let table = inline_table(&inline, &key, (device(), 2048));
            let expected =
                format!("0 2048 inlinecrypt aes-xts-plain64 {digits} 0 /dev/loop3 0 {options}\n");
            assert_eq!(String::from_utf8(table.to_vec()).unwrap(), expected);
        }
    }

    #[test]
    fn a_key_without_a_header_has_the_ciphers_size() {
        assert_eq!(secret_bytes(&choice("plain", "aes-128-xts", 512)), 32);
        assert_eq!(secret_bytes(&choice("plain", "aes-256-xts", 512)), 64);
        assert_eq!(secret_bytes(&choice("luks1", "aes-128-xts", 512)), 64);
        let null = Choice { target: Target::CipherNull, ..choice("plain", "adiantum", 512) };
        assert_eq!(secret_bytes(&null), 32);
    }
}
