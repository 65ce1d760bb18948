//! The kernel's cipher drivers: which one is used for an algorithm.
#![expect(clippy::disallowed_methods, reason = "files of /proc and /sys, devices")]

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;

use cryptbench_catalog::BETWEEN_DRIVERS;
use rustix::fs::OFlags;

/// Drivers that a kernel file system or device can use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Accepts {
    /// Any driver, as in dm-crypt.
    Any,
    /// Only synchronous drivers, as in fs/crypto (`FSCRYPT_CRYPTOAPI_MASK`).
    Synchronous,
}

/// The drivers for the algorithms `names`, such as `xts(aes)`, in this order and without duplicates, joined by
/// ` + `; `None` unless all are known. The kernel lists a driver only if its algorithm has been used since
/// boot.
pub(crate) fn in_use(names: &[&str], accepts: Accepts) -> Option<String> {
    let crypto = fs::read_to_string("/proc/crypto").ok()?;
    let mut drivers: Vec<String> = Vec::new();
    for name in names {
        let driver = driver(&crypto, name, accepts)?;
        if !drivers.contains(&driver) {
            drivers.push(driver);
        }
    }
    (!drivers.is_empty()).then(|| drivers.join(BETWEEN_DRIVERS))
}

/// The drivers that dm-crypt uses for a cipher or cascade of [`cryptbench_cipher`] in XTS.
pub(crate) fn of_xts(cipher: &str) -> Option<String> {
    let names = xts_names(cipher);
    in_use(&names.iter().map(String::as_str).collect::<Vec<_>>(), Accepts::Any)
}

/// `xts(aes)` for each cipher of a cascade such as `aes-twofish-xts`.
fn xts_names(cipher: &str) -> Vec<String> {
    let parts = cipher.trim_end_matches("-xts").split('-');
    let named = parts.filter(|part| !part.bytes().all(|b| b.is_ascii_digit()));
    named.map(|part| format!("xts({part})")).collect()
}

/// The kernel's driver for the algorithm `name`: the accepted one with the highest priority in `crypto`, the
/// text of `/proc/crypto`.
pub(crate) fn driver(crypto: &str, name: &str, accepts: Accepts) -> Option<String> {
    let drivers = crypto.split("\n\n").filter_map(|entry| {
        let field = |key: &str| {
            entry.lines().find_map(|line| {
                let (k, value) = line.split_once(':')?;
                (k.trim() == key).then(|| value.trim())
            })
        };
        let is_accepted = accepts == Accepts::Any || field("async") != Some("yes");
        (field("name")? == name && is_accepted && field("internal") != Some("yes"))
            .then(|| Some((field("priority")?.parse::<u32>().ok()?, field("driver")?)))?
    });
    drivers.max_by_key(|(priority, _)| *priority).map(|(_, driver)| driver.to_owned())
}

/// The driver that fs/crypto reported for `mode`, such as `AES-256-XTS`. The kernel logs it once after boot,
/// when the mode is first used (fs/crypto/keysetup.c). `None` if the log no longer contains the line, or this
/// user must not read the log.
pub(crate) fn logged_by_fscrypt(mode: &str) -> Option<String> {
    in_log(&kernel_log()?, mode)
}

fn in_log(log: &str, mode: &str) -> Option<String> {
    let words = format!("fscrypt: {mode} using implementation \"");
    let line = log.lines().rev().find_map(|line| line.split_once(&words))?;
    line.1.split_once('"').map(|(driver, _)| driver.to_owned())
}

/// The remaining text of the kernel's log. Each read returns one record.
fn kernel_log() -> Option<String> {
    const LONGEST: usize = 8192;
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let mut file: File =
        OpenOptions::new().read(true).custom_flags(flags).open("/dev/kmsg").ok()?;
    let (mut log, mut record) = (String::new(), [0; LONGEST]);
    loop {
        match file.read(&mut record) {
            Ok(0) => return Some(log),
            Ok(n) => log.push_str(&String::from_utf8_lossy(&record[..n])),
            // A record was overwritten before it was read: the next read continues after it.
            Err(e) if e.kind() == ErrorKind::BrokenPipe => {}
            Err(_) => return Some(log),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CRYPTO: &str = "name         : xts(aes)\ndriver       : xts-aes-aesni\npriority     : 401\nasync        : no\n\n\
        name         : xts(aes)\ndriver       : xts-aes-vaes-avx512\npriority     : 800\nasync        : no\n\n\
        name         : xts(aes)\ndriver       : xts-aes-card\npriority     : 4000\nasync        : yes\n\n\
        name         : __xts(aes)\ndriver       : cryptd\npriority     : 900\n\n\
        name         : xts(aes)\ndriver       : torn";

    #[test]
    fn the_driver_of_the_highest_priority_is_taken() {
        let any = |name| driver(CRYPTO, name, Accepts::Any);
        assert_eq!(any("xts(aes)").as_deref(), Some("xts-aes-card"));
        let at_once = driver(CRYPTO, "xts(aes)", Accepts::Synchronous);
        assert_eq!(at_once.as_deref(), Some("xts-aes-vaes-avx512"));
        assert_eq!(any("xts(serpent)"), None);
        assert_eq!(driver("", "xts(aes)", Accepts::Any), None);
    }

    #[test]
    fn a_cascade_has_a_driver_for_each_cipher() {
        assert_eq!(xts_names("aes-256-xts"), ["xts(aes)"]);
        assert_eq!(
            xts_names("aes-twofish-serpent-xts"),
            ["xts(aes)", "xts(twofish)", "xts(serpent)"]
        );
    }

    #[test]
    fn fscrypt_names_its_driver_in_the_log() {
        let log = "6,1,2,-;fscrypt: AES-256-XTS using implementation \"xts(ecb(aes-fixed-time))\"\n\
                   6,2,3,-;fscrypt: AES-256-CBC-CTS using implementation \"cts-cbc-aes-aesni\"\n";
        assert_eq!(in_log(log, "AES-256-XTS").as_deref(), Some("xts(ecb(aes-fixed-time))"));
        assert_eq!(in_log(log, "Adiantum"), None);
    }
}
