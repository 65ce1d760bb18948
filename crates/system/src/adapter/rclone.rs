//! rclone's remote "crypt" over a local directory: encrypts each file in authenticated blocks of 64 KiB.
//!
//! rclone can write encrypted files only sequentially. Writes at other offsets, which every run needs, go to a
//! plaintext cache. rclone encrypts a file's cached data when the file is closed.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::Path;

use cryptbench_catalog as catalog;
use zeroize::Zeroizing;

use crate::command::Invocation;
use crate::kind::program::{Program, StackedDirs};
use crate::{Setting, System};

const CACHE: Setting = Setting {
    name: "cache",
    about: "files that its plaintext cache keeps: those read or written, or only those written",
    values: &["full", "writes"],
};

/// rclone(1).
pub(crate) static RCLONE: System = System {
    settings: &[CACHE],
    // Because of its cache, every run that includes rclone exits with the code for plaintext on disk.
    in_all: false,
    ..System::program(
        &catalog::RCLONE,
        Program {
            // rclone.org/crypt: NaCl's secretbox.
            cipher: Some(|_| "xsalsa20-poly1305"),
            version: &["version"],
            read_version: |said| {
                Some(said.lines().next()?.strip_prefix("rclone v")?.trim().to_owned())
            },
            create: None,
            serve,
        },
    )
};

fn serve(dirs: &StackedDirs<'_>) -> Invocation {
    Invocation::new("rclone")
        .args([OsStr::new("mount"), &remote(dirs.ciphertext), dirs.mount_point.as_os_str()])
        .args(["--config", "/dev/stdin", "--vfs-cache-mode", dirs.setting("cache")])
        // Otherwise rclone waits for five seconds before it encrypts a file.
        .args(["--vfs-write-back", "0s"])
        .args(["--cache-dir".as_ref(), dirs.memory])
        .document(configuration(dirs))
}

/// The remote with its directory, whose name may contain any character (rclone.org/docs, "Connection strings").
fn remote(directory: &Path) -> OsString {
    let mut text = b"crypt,remote=\"".to_vec();
    for byte in directory.as_os_str().as_bytes() {
        // A quote within quotes is doubled.
        text.extend(std::iter::repeat_n(*byte, if *byte == b'"' { 2 } else { 1 }));
    }
    text.extend(b"\":");
    OsString::from_vec(text)
}

/// rclone's configuration file. It stores passwords "obscured", in Base64: a 16-byte initialisation vector and
/// the password, encrypted with AES-256-CTR under a key that is in rclone's source. Any text in that alphabet
/// is the obscured form of some password, so the random passphrase is used as the obscured form of a 32-byte
/// password.
fn configuration(dirs: &StackedDirs<'_>) -> Zeroizing<Vec<u8>> {
    let mut text = Zeroizing::new(Vec::with_capacity(256));
    text.extend_from_slice(b"[crypt]\ntype = crypt\npassword = ");
    text.extend_from_slice(&dirs.passphrase());
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_of_any_name_is_quoted() {
        let remote = remote(Path::new("/a \"b\"\n:,%(x)s"));
        assert_eq!(remote, "crypt,remote=\"/a \"\"b\"\"\n:,%(x)s\":");
    }
}
