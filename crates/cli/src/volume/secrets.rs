//! Passphrases and key files: from the terminal, a descriptor or a file, never from an argument.

use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::path::Path;
use std::sync::atomic::Ordering;

use anyhow::{Context as _, bail};
use cryptbench_volume::{Credentials, Secret, VolumeError};
use zeroize::{Zeroize as _, Zeroizing};

use super::args::SecretSource;
use crate::exit::Refusal;
use crate::signal::PROMPTING;

/// Most bytes of a passphrase or of a LUKS key file, as cryptsetup's default.
const MOST: u64 = 8 << 20;

/// How a passphrase is asked for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Prompt {
    /// It exists already.
    Once,
    /// It is new: a slip would lock the user out.
    Twice,
}

/// Reads what `source` says; what it does not say is asked for at the terminal as "Passphrase for
/// `whose`". With key files an empty passphrase is taken, and for LUKS, whose key file stands for the
/// passphrase, none is asked for.
pub fn read(
    source: &SecretSource,
    whose: &str,
    luks: bool,
    prompt: Prompt,
) -> anyhow::Result<Credentials> {
    let mut keyfiles = Vec::new();
    for path in &source.keyfiles {
        // VeraCrypt reads at most the first MiB and does not mind more.
        keyfiles.push(limited(path, if luks { MOST } else { 1 << 20 }, luks)?);
    }
    let passphrase = match (source.passphrase_fd, &source.passphrase_file) {
        (Some(fd), _) => from_file(Path::new(&format!("/proc/self/fd/{fd}")))
            .with_context(|| format!("the passphrase cannot be read from file descriptor {fd}"))?,
        (None, Some(path)) => from_file(path)?,
        (None, None) if luks && !keyfiles.is_empty() => Secret::default(),
        (None, None) => ask(whose, prompt)?,
    };
    if passphrase.bytes().is_empty() && keyfiles.is_empty() {
        let reason = "an empty passphrase and no key file unlock nothing";
        bail!(VolumeError::Invalid(reason.to_owned()));
    }
    Ok(Credentials { passphrase, keyfiles, pim: source.pim })
}

fn from_file(path: &Path) -> anyhow::Result<Secret> {
    let secret = limited(path, MOST, true)?;
    // One newline is what editors and echo add; more may be meant.
    let bytes = secret.bytes();
    Ok(Secret::new(bytes.strip_suffix(b"\n").unwrap_or(bytes).to_vec()))
}

/// The first `most` bytes of a file, an error if there are more and that matters.
fn limited(path: &Path, most: u64, strict: bool) -> anyhow::Result<Secret> {
    let fail = |e: std::io::Error| Refusal::input(path, &e.to_string());
    let file = File::open(path).map_err(fail)?;
    // Room from the start, for a pipe too: growing would leave copies behind.
    let len = file.metadata().ok().filter(std::fs::Metadata::is_file).map_or(most, |m| m.len());
    let mut bytes = Zeroizing::new(Vec::with_capacity(len.min(most) as usize + 1));
    let mut piece = Zeroizing::new([0; 4096]);
    let mut file = file.take(most + 1);
    loop {
        let got = file.read(&mut *piece).map_err(fail)?;
        if got == 0 {
            break;
        }
        bytes.extend_from_slice(&piece[..got]);
    }
    if bytes.len() as u64 > most {
        if strict {
            let reason = format!("it is longer than {most} bytes, which no passphrase is");
            return Err(Refusal::input(path, &reason).into());
        }
        bytes.truncate(most as usize);
    }
    Ok(Secret::new(std::mem::take(&mut *bytes)))
}

fn ask(whose: &str, prompt: Prompt) -> anyhow::Result<Secret> {
    let ask = |text: &str| -> anyhow::Result<Zeroizing<String>> {
        PROMPTING.store(true, Ordering::Relaxed);
        let typed = rpassword::prompt_password(format!("{text}: ")).map(Zeroizing::new);
        PROMPTING.store(false, Ordering::Relaxed);
        if typed.as_ref().is_err_and(|e| e.kind() == ErrorKind::Interrupted) {
            bail!(VolumeError::Stopped);
        }
        typed.context(
            "there is no terminal to ask for a passphrase at; give it with --passphrase-fd or \
             --passphrase-file",
        )
    };
    let first = ask(&format!("Passphrase for {whose}"))?;
    if prompt == Prompt::Twice && *ask("The same again")? != *first {
        bail!("the two passphrases differ; nothing was done");
    }
    Ok(Secret::new(first.as_bytes().to_vec()))
}

/// Hands credentials to another process of ours.
pub fn send(to: &mut impl Write, credentials: &Credentials) -> std::io::Result<()> {
    frame(to, credentials.passphrase.bytes())?;
    frame(to, &(credentials.keyfiles.len() as u32).to_le_bytes())?;
    for keyfile in &credentials.keyfiles {
        frame(to, keyfile.bytes())?;
    }
    frame(to, &credentials.pim.unwrap_or(0).to_le_bytes())
}

fn frame(to: &mut impl Write, bytes: &[u8]) -> std::io::Result<()> {
    to.write_all(&(bytes.len() as u32).to_le_bytes())?;
    to.write_all(bytes)
}

/// Takes what [`send`] handed over.
pub fn receive(from: &mut impl Read) -> anyhow::Result<Credentials> {
    let passphrase = Secret::new(unframe(from)?);
    let mut keyfiles = Vec::new();
    for _ in 0..number(from)? {
        keyfiles.push(Secret::new(unframe(from)?));
    }
    let pim = Some(number(from)?).filter(|pim| *pim != 0);
    Ok(Credentials { passphrase, keyfiles, pim })
}

fn number(from: &mut impl Read) -> anyhow::Result<u32> {
    let mut bytes = unframe(from)?;
    let number = u32::from_le_bytes(bytes.as_slice().try_into().context("a torn message")?);
    bytes.zeroize();
    Ok(number)
}

fn unframe(from: &mut impl Read) -> anyhow::Result<Vec<u8>> {
    let mut len = [0; 4];
    from.read_exact(&mut len).context("a torn message")?;
    let len = u32::from_le_bytes(len);
    if u64::from(len) > MOST {
        bail!("a message of {len} bytes");
    }
    let mut bytes = Zeroizing::new(vec![0; len as usize]);
    from.read_exact(&mut bytes).context("a torn message")?;
    Ok(std::mem::take(&mut *bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(passphrase: Option<&Path>, keyfiles: &[&Path]) -> SecretSource {
        SecretSource {
            passphrase_fd: None,
            passphrase_file: passphrase.map(Into::into),
            keyfiles: keyfiles.iter().map(|path| (*path).into()).collect(),
            pim: Some(7),
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
            let read = read(&source(Some(&file), &[]), "x", true, Prompt::Once).unwrap();
            assert_eq!(read.passphrase.bytes(), meant);
            // A key file is taken as it is.
            let read = super::read(&source(None, &[&file]), "x", true, Prompt::Once).unwrap();
            assert_eq!(read.keyfiles[0].bytes(), written);
        }
        std::fs::write(&file, "\n").unwrap();
        assert!(read(&source(Some(&file), &[]), "x", true, Prompt::Once).is_err());
        assert!(read(&source(Some(dir.path()), &[]), "x", true, Prompt::Once).is_err());
    }

    #[test]
    fn what_is_sent_is_received() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("secret");
        std::fs::write(&file, [7; 10_000]).unwrap();
        let read = read(&source(Some(&file), &[&file, &file]), "x", false, Prompt::Once).unwrap();
        let mut wire = Vec::new();
        send(&mut wire, &read).unwrap();
        let there = receive(&mut wire.as_slice()).unwrap();
        assert_eq!(there.passphrase.bytes(), read.passphrase.bytes());
        assert_eq!(there.keyfiles.len(), 2);
        assert_eq!(there.keyfiles[1].bytes(), [7; 10_000]);
        assert_eq!(there.pim, Some(7));
        for cut in (0..wire.len()).step_by(97) {
            assert!(receive(&mut &wire[..cut]).is_err());
        }
    }
}
