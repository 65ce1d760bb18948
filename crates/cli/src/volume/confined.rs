//! The process that reads a volume's header, derives its key and serves it: a child without rights. Its parent, which keeps
//! its own, opens what it needs and takes everything down.
//!
//! They exchange messages with open files. The child is this program with the same arguments and `--confined`.

use std::fs::File;
use std::process::{Child, ExitCode, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use cryptbench_blockdev::{BlockDevice, FileDevice};
use cryptbench_os::channel::Channel;
use cryptbench_os::confine::{Needs, become_user, confine, user_for};
use cryptbench_os::terminal::{self, readable_within};
use cryptbench_os::{process, user};
use cryptbench_volume::{Access, OpenOptions, Volume, VolumeError};

use super::args::UnlockArgs;
use super::target::{self, Asks};
use super::{effort, secrets};
use crate::exit::Said;
use crate::say;

/// The first message: what to do, and as which user.
const ASK: u8 = b'?';
const SERVE: u8 = b's';
/// Later ones of the parent: what to serve on, a connection of FUSE or NBD or that of a disk, and that nobody reads standard
/// error any more.
const ON: &[u8] = b"on";
const ON_DISK: &[u8] = b"on a disk";
const QUIET: &[u8] = b"quiet";
/// Those of the child: it serves.
const UP: &[u8] = b"up";

/// How often to look for a signal.
const POLL: Duration = Duration::from_millis(50);

/// How long a child may take to end once nobody needs it.
const FAREWELL: Duration = Duration::from_secs(2);

/// The child, as its parent has it. Dropping it ends the child.
pub struct Confined {
    child: Child,
    channel: Option<Channel>,
    /// Until then nothing is lost with it.
    serves: bool,
}

/// What a child says of the volume that it has opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opened {
    pub read_only: bool,
    /// Whether it can be served as a disk.
    pub as_disk: bool,
    pub sector: usize,
    pub size: u64,
}

impl Opened {
    fn of(volume: &Volume, has_rings: bool) -> Self {
        Self {
            read_only: volume.is_read_only(),
            as_disk: has_rings && volume.io_target().is_some(),
            sector: volume.sector(),
            size: volume.size(),
        }
    }

    fn say(self) -> Vec<u8> {
        let [sector, size] = [self.sector as u64, self.size].map(u64::to_le_bytes);
        [&[u8::from(self.read_only), u8::from(self.as_disk)], &sector[..], &size].concat()
    }

    fn hear(said: &[u8]) -> Option<Self> {
        let word = |at| Some(u64::from_le_bytes(said.get(at..at + 8)?.try_into().ok()?));
        Some(Self {
            read_only: said.first() == Some(&1),
            as_disk: said.get(1) == Some(&1),
            sector: usize::try_from(word(2)?).ok()?,
            size: word(10)?,
        })
    }
}

/// What to serve on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum On {
    /// A mount or a socket.
    Connection,
    /// A disk.
    Disk,
}

/// What a volume asks for, by its header. `volume` is open for reading.
pub fn ask(volume: &File, stop: &AtomicBool) -> anyhow::Result<Asks> {
    let said = Confined::start(ASK, volume, &[volume])?.hear(stop)?;
    let is = |i: usize| said.get(i) == Some(&1);
    Ok(Asks { luks: is(0), bitlocker: is(1), nothing: is(2) })
}

impl Confined {
    /// Starts a child that opens the volume with the secrets that come through `secrets`. It says so once it has.
    pub fn open(volume: &File, header: Option<&File>, secrets: &File) -> anyhow::Result<Self> {
        let files: Vec<_> = [secrets, volume].into_iter().chain(header).collect();
        Self::start(SERVE, volume, &files)
    }

    fn start(what: u8, volume: &File, files: &[&File]) -> anyhow::Result<Self> {
        let failed = "the confined process cannot be started";
        let (channel, theirs) = Channel::to_child().context(failed)?;
        let child = process::this_program()?
            .args(std::env::args_os().skip(1))
            .arg("--confined")
            .stdin(theirs)
            .stdout(Stdio::null())
            .spawn()
            .context(failed)?;
        let confined = Self { child, channel: Some(channel), serves: false };
        let user = user_for(volume).map(u32::to_le_bytes);
        let message = [&[what][..], user.as_ref().map_or(&[], |user| &user[..])].concat();
        confined.tell(&message, files)?;
        Ok(confined)
    }

    fn tell(&self, message: &[u8], files: &[&File]) -> anyhow::Result<()> {
        let Some(channel) = &self.channel else { return Ok(()) };
        match channel.send(message, files) {
            // It has ended, and whoever listens next learns why.
            Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
            sent => sent.context("the confined process hears nothing"),
        }
    }

    /// Waits for a message, or a signal.
    pub fn hear(&mut self, stop: &AtomicBool) -> anyhow::Result<Vec<u8>> {
        loop {
            if stop.load(Ordering::Relaxed) {
                bail!(VolumeError::Stopped);
            }
            if self.says_something_within(POLL)? {
                let Some(channel) = &self.channel else { return Err(self.ended()) };
                let (message, _) = channel.receive()?;
                return if message.is_empty() { Err(self.ended()) } else { Ok(message) };
            }
        }
    }

    /// Waits until it has opened the volume.
    pub fn opened(&mut self, stop: &AtomicBool) -> anyhow::Result<Opened> {
        let said = self.hear(stop)?;
        Opened::hear(&said).with_context(|| format!("the confined process said {said:?}"))
    }

    /// Has it serve on these files.
    pub fn serve_on(&mut self, on: On, files: &[&File], stop: &AtomicBool) -> anyhow::Result<()> {
        self.serves = true;
        let message = match on {
            On::Connection => ON,
            On::Disk => ON_DISK,
        };
        self.tell(message, files)?;
        let said = self.hear(stop)?;
        if said != UP {
            bail!("the confined process said {said:?}");
        }
        Ok(())
    }

    /// Nobody reads its standard error from now on.
    pub fn silence(&self) -> anyhow::Result<()> {
        self.tell(QUIET, &[])
    }

    /// Whether it has said something, or ended, within that time.
    pub fn says_something_within(&self, patience: Duration) -> anyhow::Result<bool> {
        let Some(channel) = &self.channel else { return Ok(true) };
        Ok(readable_within(channel.readable(), patience)?)
    }

    /// Lets it end, once it has flushed the volume.
    pub fn end(mut self) -> anyhow::Result<()> {
        self.channel = None;
        match self.child.wait()?.success() {
            true => Ok(()),
            false => Err(self.ended()),
        }
    }

    /// Why it has ended: it has said so itself, unless it was killed.
    fn ended(&mut self) -> anyhow::Error {
        let status = match self.child.wait() {
            Ok(status) => status,
            Err(e) => return e.into(),
        };
        match status.code().and_then(|code| u8::try_from(code).ok()) {
            Some(code) if code != 0 => Said(code).into(),
            _ => anyhow::anyhow!("the process that serves the volume has ended ({status})"),
        }
    }
}

impl Drop for Confined {
    fn drop(&mut self) {
        self.channel = None;
        let until = Instant::now() + if self.serves { FAREWELL } else { Duration::ZERO };
        while matches!(self.child.try_wait(), Ok(None)) {
            if Instant::now() > until {
                let _ = self.child.kill();
                let _ = self.child.wait();
                return;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

/// The child itself.
pub struct Here {
    channel: Channel,
    /// Whose files are served: the parent's user and group.
    pub owner: (u32, u32),
    nowhere: Option<File>,
    pub volume: Arc<Volume>,
    told: bool,
}

/// Confines this process and does what the parent wants: opens the volume, or only says what it asks for (`None`).
///
/// `prepare` makes what a confined process cannot, and says what that needs.
pub fn begin<T>(
    args: &UnlockArgs,
    protects_hidden: bool,
    access: Access,
    prepare: impl FnOnce() -> (Needs, T),
    stop: &AtomicBool,
) -> anyhow::Result<Option<(Here, T)>> {
    // Neither Ctrl-C at the terminal nor its end ends what the parent has to take down first.
    let _ = process::leave_terminal();
    let channel = Channel::to_parent().context("--confined is for cryptbench itself")?;
    let (message, mut files) = channel.receive().context("--confined is for cryptbench itself")?;
    let (what, user) = message.split_first().context("nobody says what to do")?;
    let becomes = <[u8; 4]>::try_from(user).ok().map(u32::from_le_bytes);
    let owner = (user::effective(), user::effective_group());
    if *what == ASK {
        let file = files.pop().context("no volume came")?;
        let device = target::device(file, Access::ReadOnly, false)?;
        enter(becomes, Needs::default());
        let asks = target::asks(args, &target::Target { device: Arc::new(device) })?;
        let said = [asks.luks, asks.bitlocker, asks.nothing].map(u8::from);
        channel.send(&said, &[])?;
        return Ok(None);
    }
    let mut files = files.into_iter();
    let (Some(mut secrets), Some(volume)) = (files.next(), files.next()) else {
        bail!("no volume came");
    };
    let device = target::device(volume, access, true)?;
    let header = files.next().map(|file| target::device(file, Access::ReadOnly, false));
    let header: Option<FileDevice> = header.transpose()?;
    let nowhere = terminal::nowhere().ok();
    let options =
        OpenOptions { access, ..OpenOptions::new(cryptbench_cipher::tier()?, effort(stop)?) };
    cryptbench_kdf::memory::keep_available();
    let (needs, prepared) = prepare();
    enter(becomes, needs);
    let credentials = secrets::receive(&mut secrets)?;
    let protected = protects_hidden.then(|| secrets::receive(&mut secrets)).transpose()?;
    drop(secrets);
    let options = OpenOptions { protect_hidden: protected.as_ref(), ..options };
    let header = header.as_ref().map(|header| header as &dyn BlockDevice);
    let volume = target::unlock_opened(args, Arc::new(device), header, &credentials, &options)?;
    super::keep_open_keys_from_swap(&volume);
    channel.send(&Opened::of(&volume, needs.rings).say(), &[])?;
    let here = Here { channel, owner, nowhere, volume: Arc::new(volume), told: false };
    Ok(Some((here, prepared)))
}

/// Gives the rights up, as far as the system lets it, and says what it does not: a container can lack the user that this
/// process would become, and a kernel can be built without filters.
fn enter(user: Option<u32>, needs: Needs) {
    if let Some(user) = user
        && let Err(e) = become_user(user)
    {
        say::message(&format!(
            "warning: a process of root's opens the volume, as none of user {user} can be had here ({e})"
        ));
    }
    if let Err(e) = confine(needs) {
        say::message(&format!(
            "warning: the process that opens the volume may make any system call, as this kernel filters none ({e})"
        ));
    }
}

impl Here {
    /// What to serve on; `None` if the parent does without.
    pub fn wait(&self) -> anyhow::Result<Option<(On, Vec<File>)>> {
        let (message, files) = self.channel.receive()?;
        Ok(match &message[..] {
            ON => Some((On::Connection, files)),
            ON_DISK => Some((On::Disk, files)),
            _ => None,
        })
    }

    /// Says that it serves.
    pub fn is_up(&self) -> anyhow::Result<()> {
        Ok(self.channel.send(UP, &[])?)
    }

    /// Whether to go on: until the parent is gone, a signal comes or `ended` says so. Waits a moment.
    pub fn goes_on(&mut self, stop: &AtomicBool, ended: impl Fn() -> bool) -> anyhow::Result<bool> {
        if readable_within(self.channel.readable(), POLL)? {
            let (message, _) = self.channel.receive()?;
            if message.is_empty() {
                return Ok(false);
            }
            if message == QUIET
                && let Some(nowhere) = &self.nowhere
            {
                terminal::silence_errors_by(nowhere)?;
            }
        }
        if self.volume.hit_protection() && !self.told {
            self.told = true;
            say::message(
                "a write would have damaged the hidden volume; nothing more is written, unmount now",
            );
        }
        Ok(!stop.load(Ordering::Relaxed) && !ended())
    }
}

/// What is written is stable once the child has ended.
pub fn flush(volume: &Volume) -> anyhow::Result<ExitCode> {
    volume.flush().map_err(|source| VolumeError::Io { doing: "flushing the volume", source })?;
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_of_a_volume_is_heard() {
        let opened = Opened { read_only: true, as_disk: false, sector: 4096, size: 1 << 40 };
        assert_eq!(Opened::hear(&opened.say()), Some(opened));
        assert_eq!(Opened::hear(&opened.say()[..9]), None);
    }
}
