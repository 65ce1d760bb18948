//! Passphrases and key files: from the terminal, a file descriptor or a file, never from an argument.
#![expect(clippy::disallowed_methods, reason = "a passphrase may come through a pipe")]

use std::fs::File;
use std::io::{ErrorKind, IsTerminal as _, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context as _, anyhow, bail};
use cryptbench_blockdev::LockedBytes;
use cryptbench_os::files::Opening;
use cryptbench_os::terminal::{WithoutEcho, path_of_descriptor, readable_within};
use cryptbench_os::{Directory, process};
use cryptbench_text::{printable, shown};
use cryptbench_volume::format::bitlocker::RecoveryPassword;
use cryptbench_volume::format::filevault;
use cryptbench_volume::{Credentials, Secret, VolumeError};
use zeroize::Zeroizing;

use super::args::SecretSource;
use crate::exit::{self, Refusal};
use crate::say;
use crate::signal::PROMPTING;

/// Maximum length of a passphrase or of a LUKS key file in bytes, as in cryptsetup.
const MOST: u64 = 8 << 20;

/// Initial capacity, in bytes, of the buffer for a passphrase from a pipe.
const SHORT: usize = 512;

/// How to prompt for a passphrase.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Prompt {
    /// An existing passphrase.
    Once,
    /// A new passphrase: a typing error would lock the user out.
    Twice,
}

/// Maximum number of times that a passphrase can be typed.
const TRIES: usize = 3;

/// Whether an existing passphrase has been typed at the terminal since the last attempt started.
static TYPED: AtomicBool = AtomicBool::new(false);

/// Repeats `attempt` while no key fits and the passphrase was typed. A passphrase from a pipe or a file would not
/// change between attempts, and a program that writes to standard input does not wait for a prompt.
pub fn in_tries<T>(mut attempt: impl FnMut() -> anyhow::Result<T>) -> anyhow::Result<T> {
    for left in (1..TRIES).rev() {
        TYPED.store(false, Ordering::Relaxed);
        let error = match attempt() {
            Err(error) if exit::code(&error) == exit::NO_KEY => error,
            done => return done,
        };
        let can_ask = TYPED.load(Ordering::Relaxed) && std::io::stdin().is_terminal();
        if !can_ask {
            return Err(error);
        }
        exit::explain(&error);
        let tries = if left == 1 { "1 try left" } else { "2 tries left" };
        say::message(&format!("{tries}; Ctrl-C cancels"));
    }
    attempt()
}

/// Reads the credentials from `source`, and asks for missing credentials at the terminal as "Passphrase for `whose`".
/// With key files an empty passphrase is accepted. There is no prompt if other credentials replace the passphrase: a
/// LUKS key file, or a BitLocker recovery password or startup key.
pub fn read(
    source: &SecretSource,
    whose: &str,
    luks: bool,
    prompt: Prompt,
    stop: &AtomicBool,
) -> anyhow::Result<Credentials> {
    let mut keyfiles = Vec::new();
    for path in &source.keyfiles {
        each_file(path, luks, |path, file| {
            keyfiles.push(keyfile(path, file, source, luks, stop)?.into());
            Ok(())
        })?;
    }
    let digits = source.recovery_password_file.as_ref().map(|path| recovery_password(path, stop));
    let recovery_password = digits.transpose()?;
    let startup_key = source.startup_key.as_ref().map(|path| whole(path, stop));
    let startup_key = startup_key.transpose()?.map(Secret::from);
    let others = source.needless || recovery_password.is_some() || startup_key.is_some();
    let passphrase = match (source.passphrase_fd, &source.passphrase_file) {
        (Some(fd), _) => from_file(&path_of_descriptor(fd), stop)
            .with_context(|| format!("cannot read the passphrase from file descriptor {fd}"))?,
        (None, Some(path)) => from_file(path, stop)?,
        (None, None) if luks && !keyfiles.is_empty() || others => Secret::default(),
        (None, None) => ask(whose, prompt)?,
    };
    // cryptsetup accepts an empty passphrase, which system images have before their first boot.
    let may_be_empty = others || luks && prompt == Prompt::Once;
    if passphrase.bytes().is_empty() && keyfiles.is_empty() && !may_be_empty {
        let reason =
            "the passphrase is empty and no key file is given; specify at least one of them";
        bail!(VolumeError::Invalid(reason.to_owned()));
    }
    Ok(Credentials { passphrase, keyfiles, pim: source.pim, recovery_password, startup_key })
}

/// Reads each of the files that a key file argument specifies. For a directory, VeraCrypt uses all files directly
/// in it, including links, but not hidden files.
fn each_file(
    path: &Path,
    luks: bool,
    mut reads: impl FnMut(&Path, &File) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let directory = match Directory::open(path) {
        Ok(directory) if !luks => directory,
        _ => return reads(path, &open(path, path)?),
    };
    let mut names = directory.names().map_err(|e| Refusal::input(path, &e.to_string()))?;
    names.sort();
    let mut has_any = false;
    for name in names.iter().filter(|name| !name.as_encoded_bytes().starts_with(b".")) {
        let reached = directory.reached().join(name);
        // The file's type is checked before it is opened, because opening some devices has side effects.
        if reached.is_file() {
            let shown = path.join(name);
            let file = open(&reached, &shown)?;
            // The file's name may refer to another file by now.
            if file.metadata().is_ok_and(|found| found.is_file()) {
                reads(&shown, &file)?;
                has_any = true;
            }
        }
    }
    if !has_any {
        return Err(Refusal::input(path, "this directory contains no key files").into());
    }
    Ok(())
}

/// Opens the file without blocking: nothing may ever be written to a pipe, and a signal must end the wait.
fn open(path: &Path, shown: &Path) -> anyhow::Result<File> {
    let opened = Opening::to_read().without_waiting().open(path);
    Ok(opened.map_err(|e| Refusal::input(shown, &e.to_string()))?)
}

/// A key file, or the part of it that is used.
fn keyfile(
    path: &Path,
    file: &File,
    source: &SecretSource,
    luks: bool,
    stop: &AtomicBool,
) -> anyhow::Result<LockedBytes> {
    let (offset, size) = (source.keyfile_offset.unwrap_or(0), source.keyfile_size);
    if !luks {
        if offset > 0 || size.is_some() {
            let reason = "an offset or a size of a key file can be specified only for LUKS";
            bail!(VolumeError::Invalid(reason.to_owned()));
        }
        // VeraCrypt reads at most the first MiB and ignores the rest.
        let most = if source.whole { MOST } else { 1 << 20 };
        return limited(path, file, 0, most, source.whole, stop);
    }
    let most = size.unwrap_or(MOST).min(MOST);
    let bytes = limited(path, file, offset, most, size.is_none(), stop)?;
    if size.is_some_and(|size| (bytes.len() as u64) < size) {
        let reason = format!(
            "it has only {} bytes from offset {offset} on, fewer than the specified key file size",
            bytes.len()
        );
        return Err(Refusal::input(path, &reason).into());
    }
    Ok(bytes)
}

/// Reads the recovery password in a file: FileVault's password, or BitLocker's digits, either by themselves or in the
/// text that Windows saves.
fn recovery_password(path: &Path, stop: &AtomicBool) -> anyhow::Result<Secret> {
    let text = whole(path, stop)?;
    if filevault::is_recovery_password(&text) {
        return Ok(text.into());
    }
    let found = RecoveryPassword::find(&text).map_err(|error| {
        let reason = format!(
            "{error}; the file must be the one that Windows saved, or contain only the 48 digits"
        );
        Refusal::usage(path, &reason)
    })?;
    Ok(found.digits().into())
}

/// The contents of a file, without a newline at its end.
pub fn from_file(path: &Path, stop: &AtomicBool) -> anyhow::Result<Secret> {
    let mut secret = whole(path, stop)?;
    // Editors and echo add one newline; any further newlines may be part of the passphrase.
    if secret.ends_with(b"\n") {
        secret.resize(secret.len() - 1);
    }
    Ok(secret.into())
}

/// The contents of a file.
fn whole(path: &Path, stop: &AtomicBool) -> anyhow::Result<LockedBytes> {
    limited(path, &open(path, path)?, 0, MOST, true, stop)
}

/// The first `most` bytes of a file after the skipped bytes. If `strict` is set, a longer file is an error.
fn limited(
    path: &Path,
    mut file: &File,
    skip: u64,
    most: u64,
    strict: bool,
    stop: &AtomicBool,
) -> anyhow::Result<LockedBytes> {
    let fail = |e: std::io::Error| Refusal::input(path, &e.to_string());
    if skip > 0 {
        // Bytes in a pipe cannot be skipped by seeking.
        file.seek(SeekFrom::Start(skip)).map_err(fail)?;
    }
    let len = file.metadata().ok().filter(std::fs::Metadata::is_file).map_or(0, |m| m.len());
    // Reads one additional byte, to detect whether the file is longer.
    let mut bytes = LockedBytes::zeroed(len.min(most) as usize + 1);
    let mut filled = 0;
    loop {
        if filled == bytes.len() {
            // A buffer that has become too small is wiped.
            let longer = (2 * filled).max(SHORT).min(most as usize + 1);
            bytes.resize(longer);
        }
        wait(file, stop).with_context(|| shown(path))?;
        let got = match file.read(&mut bytes[filled..]) {
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
                continue;
            }
            got => got.map_err(fail)?,
        };
        filled += got;
        if got == 0 || filled as u64 > most {
            break;
        }
    }
    if filled as u64 > most && strict {
        let reason = format!("too long for a passphrase: it is longer than {most} bytes");
        return Err(Refusal::input(path, &reason).into());
    }
    bytes.resize(filled.min(most as usize));
    Ok(bytes)
}

/// Waits until data is available, or the end is reached.
fn wait(file: &File, stop: &AtomicBool) -> anyhow::Result<()> {
    const POLL: Duration = Duration::from_millis(50);
    while !stop.load(Ordering::Relaxed) {
        if readable_within(file, POLL)? {
            return Ok(());
        }
    }
    bail!(VolumeError::Stopped)
}

fn ask(whose: &str, prompt: Prompt) -> anyhow::Result<Secret> {
    let ask = |text: &str| -> anyhow::Result<Zeroizing<String>> {
        PROMPTING.store(true, Ordering::Relaxed);
        // Off before the prompt appears: an answer pasted at once would be shown otherwise.
        let silent = WithoutEcho::new();
        // The name of a volume may be untrusted, and must not forge a line.
        let typed = rpassword::prompt_password(format!("{}: ", printable(text)));
        drop(silent);
        let typed = typed.map(Zeroizing::new);
        PROMPTING.store(false, Ordering::Relaxed);
        if typed.as_ref().is_err_and(|e| e.kind() == ErrorKind::Interrupted) {
            bail!(VolumeError::Stopped);
        }
        if prompt == Prompt::Once {
            TYPED.store(true, Ordering::Relaxed);
        }
        typed.map_err(|_| {
            anyhow!(
                "no terminal is available for a passphrase prompt; use --passphrase-fd or --passphrase-file"
            )
        })
    };
    let first = ask(&format!("Passphrase for {whose}"))?;
    if prompt == Prompt::Twice && *ask("Repeat the passphrase")? != *first {
        bail!("the two passphrases differ; nothing was changed");
    }
    Ok(LockedBytes::copy_of(first.as_bytes()).into())
}

/// The result of `receives`, which passes the given pipe to another process of this program; that process reads the
/// credentials from the pipe.
pub fn through_pipe<T>(
    all: &[&Credentials],
    receives: impl FnOnce(File) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let (from, mut to) = process::pipe()?;
    std::thread::scope(|scope| {
        // A process that exited immediately has reported why, so the broken pipe is not reported.
        scope.spawn(move || all.iter().try_for_each(|credentials| send(&mut to, credentials)));
        receives(from)
    })
}

/// Passes credentials to another process of this program.
pub fn send(to: &mut impl Write, credentials: &Credentials) -> std::io::Result<()> {
    frame(to, credentials.passphrase.bytes())?;
    frame(to, &(credentials.keyfiles.len() as u32).to_le_bytes())?;
    for keyfile in &credentials.keyfiles {
        frame(to, keyfile.bytes())?;
    }
    frame(to, &credentials.pim.unwrap_or(0).to_le_bytes())?;
    for optional in [&credentials.recovery_password, &credentials.startup_key] {
        frame(to, &u32::from(optional.is_some()).to_le_bytes())?;
        frame(to, optional.as_ref().map_or(&[][..], Secret::bytes))?;
    }
    Ok(())
}

fn frame(to: &mut impl Write, bytes: &[u8]) -> std::io::Result<()> {
    to.write_all(&(bytes.len() as u32).to_le_bytes())?;
    to.write_all(bytes)
}

/// Receives what [`send`] sent.
pub fn receive(from: &mut impl Read) -> anyhow::Result<Credentials> {
    let passphrase = unframe(from)?.into();
    let mut keyfiles = Vec::new();
    for _ in 0..number(from)? {
        keyfiles.push(unframe(from)?.into());
    }
    let pim = Some(number(from)?).filter(|pim| *pim != 0);
    let mut optional = || -> anyhow::Result<Option<Secret>> {
        let there = number(from)? != 0;
        Ok(Some(unframe(from)?.into()).filter(|_| there))
    };
    let (recovery_password, startup_key) = (optional()?, optional()?);
    Ok(Credentials { passphrase, keyfiles, pim, recovery_password, startup_key })
}

fn number(from: &mut impl Read) -> anyhow::Result<u32> {
    let bytes = unframe(from)?;
    Ok(u32::from_le_bytes((*bytes).try_into().context("truncated message")?))
}

fn unframe(from: &mut impl Read) -> anyhow::Result<LockedBytes> {
    let mut len = [0; 4];
    from.read_exact(&mut len).context("truncated message")?;
    let len = u32::from_le_bytes(len);
    if u64::from(len) > MOST {
        bail!("message too long: {len} bytes");
    }
    let mut bytes = LockedBytes::zeroed(len as usize);
    from.read_exact(&mut bytes).context("truncated message")?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use rustix::fs::{CWD, RenameFlags, renameat_with};

    use super::*;

    fn source(passphrase: Option<&Path>, keyfiles: &[&Path]) -> SecretSource {
        SecretSource {
            passphrase_fd: None,
            passphrase_file: passphrase.map(Into::into),
            keyfiles: keyfiles.iter().map(|path| (*path).into()).collect(),
            pim: Some(7),
            ..SecretSource::default()
        }
    }

    #[test]
    fn one_newline_is_dropped_and_no_other_byte() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("secret");
        for (written, meant) in [
            (&b"abc"[..], &b"abc"[..]),
            (b"abc\n", b"abc"),
            (b"a\n\n", b"a\n"),
            (b" \0\xff\n", b" \0\xff"),
        ] {
            std::fs::write(&file, written).unwrap();
            let read =
                read(&source(Some(&file), &[]), "x", true, Prompt::Once, &AtomicBool::new(false))
                    .unwrap();
            assert_eq!(read.passphrase.bytes(), meant);
            // A key file is used unchanged.
            let read = super::read(
                &source(None, &[&file]),
                "x",
                true,
                Prompt::Once,
                &AtomicBool::new(false),
            )
            .unwrap();
            assert_eq!(read.keyfiles[0].bytes(), written);
        }
        std::fs::write(&file, "\n").unwrap();
        // Only a LUKS volume that exists can have an empty one.
        for (luks, prompt, taken) in
            [(true, Prompt::Once, true), (true, Prompt::Twice, false), (false, Prompt::Once, false)]
        {
            let read = read(&source(Some(&file), &[]), "x", luks, prompt, &AtomicBool::new(false));
            assert_eq!(read.is_ok(), taken);
        }
        assert!(
            read(&source(Some(dir.path()), &[]), "x", true, Prompt::Once, &AtomicBool::new(false))
                .is_err()
        );
    }

    #[test]
    fn of_a_directory_with_more_key_files_than_may_be_open_each_is_read() {
        let dir = tempfile::tempdir().unwrap();
        (0..1500).for_each(|i| std::fs::write(dir.path().join(i.to_string()), [7]).unwrap());
        let (mut all, mut most_open) = (0, 0);
        each_file(dir.path(), false, |_, _| {
            all += 1;
            most_open = most_open.max(std::fs::read_dir("/proc/self/fd")?.count());
            Ok(())
        })
        .unwrap();
        assert_eq!(all, 1500);
        assert!(most_open < 750, "{most_open}");
    }

    #[test]
    fn the_key_files_of_a_directory_are_those_of_one_directory() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        for name in ["a", "b"] {
            std::fs::create_dir(path(name)).unwrap();
            (0..8).for_each(|i| std::fs::write(path(name).join(i.to_string()), name).unwrap());
        }
        std::fs::write(path("a/.hidden"), "x").unwrap();
        std::fs::create_dir(path("b/directory")).unwrap();
        std::fs::rename(path("b/7"), path("elsewhere")).unwrap();
        std::os::unix::fs::symlink("../elsewhere", path("b/7")).unwrap();
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    let _ = renameat_with(CWD, path("a"), CWD, path("b"), RenameFlags::EXCHANGE);
                }
            });
            let all = (0..200).map(|_| {
                let source = source(None, &[&path("a")]);
                let source = SecretSource { needless: true, ..source };
                let read = read(&source, "x", false, Prompt::Once, &AtomicBool::new(false))?;
                Ok(read.keyfiles.iter().map(|file| file.bytes().to_vec()).collect())
            });
            let all: anyhow::Result<Vec<Vec<Vec<u8>>>> = all.collect();
            done.store(true, Ordering::Relaxed);
            for read in all.unwrap() {
                assert!(read.len() == 8 && read.iter().all(|file| *file == read[0]), "{read:?}");
            }
        });
    }

    #[test]
    fn what_is_sent_is_received() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("secret");
        std::fs::write(&file, [7; 10_000]).unwrap();
        let startup_key = Some(file.clone());
        let read = read(
            &SecretSource { startup_key, ..source(Some(&file), &[&file, &file]) },
            "x",
            false,
            Prompt::Once,
            &AtomicBool::new(false),
        )
        .unwrap();
        let mut wire = Vec::new();
        send(&mut wire, &read).unwrap();
        let there = receive(&mut wire.as_slice()).unwrap();
        assert_eq!(there.passphrase.bytes(), read.passphrase.bytes());
        assert_eq!(there.keyfiles.len(), 2);
        assert_eq!(there.keyfiles[1].bytes(), [7; 10_000]);
        assert_eq!(there.pim, Some(7));
        assert!(there.recovery_password.is_none());
        assert_eq!(there.startup_key.unwrap().bytes(), [7; 10_000]);
        for cut in (0..wire.len()).step_by(97) {
            assert!(receive(&mut &wire[..cut]).is_err());
        }
    }
}
