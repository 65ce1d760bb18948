//! VeraCrypt's own speeds, measured on another machine and scaled by a reference that was measured on both.
//!
//! VeraCrypt is neither a library nor a Debian package, so it cannot be a contender. Its speeds and that of
//! libgcrypt's AES were measured in one run on a Zen 3 at 3.24 GHz (VeraCrypt 1.26.20, libgcrypt with VAES, 1
//! MiB buffer, 512-byte units, one thread). Here they are scaled by the speed of libgcrypt's AES in this run.
//! The result is an estimate, because the two machines differ in more than this ratio.

use std::fmt::Write as _;

use crate::comparison::Comparison;
use crate::contender::Direction;

/// Speeds of libgcrypt's AES-256 on that machine in MB/s, encrypting and decrypting.
const YARDSTICK: (f64, f64) = (5465.0, 5478.0);

/// VeraCrypt's speeds on that machine in MB/s, encrypting and decrypting.
const VERACRYPT: &[(&str, f64, f64)] = &[
    ("aes-256-xts", 1490.0, 1489.0),
    ("serpent-256-xts", 211.0, 262.0),
    ("twofish-256-xts", 280.0, 280.0),
    ("camellia-256-xts", 176.0, 175.0),
    ("kuznyechik-xts", 251.0, 178.0),
    ("aes-twofish-xts", 235.0, 235.0),
    ("kuznyechik-aes-xts", 214.0, 159.0),
    ("serpent-aes-xts", 184.0, 223.0),
    ("twofish-serpent-xts", 120.0, 135.0),
    ("aes-twofish-serpent-xts", 110.0, 123.0),
    ("kuznyechik-twofish-xts", 131.0, 105.0),
    ("camellia-kuznyechik-xts", 102.0, 88.0),
    ("serpent-twofish-aes-xts", 110.0, 124.0),
    ("camellia-serpent-xts", 94.0, 104.0),
    ("kuznyechik-serpent-camellia-xts", 69.0, 66.0),
];

/// The table; empty if libgcrypt was not among the contenders.
pub fn markdown(done: &[Comparison]) -> String {
    let here = |direction| {
        let is = |c: &&Comparison| {
            c.cipher == "aes-256-xts" && c.data_unit == 512 && c.direction == direction
        };
        let peers = &done.iter().find(is)?.peers;
        Some(peers.iter().find(|peer| peer.name.contains("libgcrypt"))?.median())
    };
    let (Some(encrypt), Some(decrypt)) = (here(Direction::Encrypt), here(Direction::Decrypt))
    else {
        return String::new();
    };
    let mut table = format!(
        "**Beside VeraCrypt 1.26.20, carried over** (512-byte units; its figures on a Zen 3 times \
         libgcrypt's AES-256 here, {encrypt:.0} / {decrypt:.0} MB/s, over that there, {:.0} / {:.0})\n\n\
         | cipher | direction | VeraCrypt, MB/s | ours, MB/s (kernel) | ours / VeraCrypt |\n\
         |---|---|---|---|---|\n",
        YARDSTICK.0, YARDSTICK.1
    );
    for (cipher, there_encrypt, there_decrypt) in VERACRYPT {
        for (direction, theirs) in [
            (Direction::Encrypt, there_encrypt * encrypt / YARDSTICK.0),
            (Direction::Decrypt, there_decrypt * decrypt / YARDSTICK.1),
        ] {
            let is = |c: &&Comparison| {
                c.cipher == *cipher && c.data_unit == 512 && c.direction == direction
            };
            for ours in done.iter().find(is).into_iter().flat_map(|c| &c.ours) {
                let (speed, name) = (ours.median(), &ours.name);
                let ratio = speed / theirs;
                let _ = writeln!(
                    table,
                    "| {cipher} | {direction} | {theirs:.0} | {speed:.0} ({name}) | {ratio:.1} |"
                );
            }
        }
    }
    table.push('\n');
    table
}
