//! rclone's remote "crypt" over a local directory: encrypts each file in authenticated blocks of 64 KiB.
//!
//! rclone can write encrypted files only sequentially. Writes at other offsets, as in every run, go to a plaintext
//! cache, which is encrypted once the file is closed.

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
    // Because of its cache, each run that includes it ends with the exit code for plaintext.
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
        // Otherwise a file waits for five seconds before it is encrypted.
        .args(["--vfs-write-back", "0s"])
        .args(["--cache-dir".as_ref(), dirs.memory])
        .document(configuration(dirs))
}

/// The remote with its directory, whose name may have any character (rclone.org/docs, "Connection strings").
fn remote(directory: &Path) -> OsString {
    let mut text = b"crypt,remote=\"".to_vec();
    for byte in directory.as_os_str().as_bytes() {
        // A quote within quotes is written twice.
        text.extend(std::iter::repeat_n(*byte, if *byte == b'"' { 2 } else { 1 }));
    }
    text.extend(b"\":");
    OsString::from_vec(text)
}

/// rclone's configuration file. It keeps passwords "obscured": an initialisation vector of 16 bytes, and the password,
/// encrypted with AES-256-CTR under a key that is in its source, all in base64. Any text of that alphabet is some
/// password, so the random passphrase is used as the obscured form of a 32-byte password.
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
