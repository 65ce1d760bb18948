//! The confined process: receives open files and secrets, drops its privileges, and parses the volume.

use std::fs::File;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context as _, bail};
use cryptbench_blockdev::{BlockDevice, FileDevice};
use cryptbench_os::channel::Channel;
use cryptbench_os::confine::{Needs, confine, give_up_rights};
use cryptbench_os::terminal::readable_within;
use cryptbench_os::{process, user};
use cryptbench_text::{chain, shown};
use cryptbench_volume::{Access, Credentials, OpenOptions, Restore, Volume, VolumeError};
use tracing::info;

use super::believed::{Opened, UP};
use super::{Asks, ON, ON_DISK, On, Order, Task, What};
use crate::exit::Refusal;
use crate::say;
use crate::volume::args::UnlockArgs;
use crate::volume::target::{self, Target};
use crate::volume::{effort, keep_open_keys_from_swap, lower, secrets};

/// How often to check for a signal.
const POLL: Duration = Duration::from_millis(50);

/// The input of a command's work.
pub struct Given {
    pub target: Target,
    pub header: Option<FileDevice>,
    /// An additional file that is read or written.
    pub other: Option<File>,
    /// The additional file as a device, if it is a header backup to be restored.
    pub(super) saved: Option<FileDevice>,
    pub credentials: Vec<Credentials>,
}

impl Given {
    /// The input for work that is done in an unconfined process.
    pub(super) fn here(
        task: &Task<'_>,
        volume: File,
        header: Option<File>,
        other: Option<&File>,
    ) -> anyhow::Result<Self> {
        let device = target::device(volume, task.access, false)?;
        let header = header.map(|file| target::device(file, Access::ReadOnly, false));
        let as_device =
            |file: &File| match target::device(file.try_clone()?, Access::ReadOnly, false) {
                Ok(saved) => Ok(saved),
                Err(_) => bail!(VolumeError::NotThisFormat {
                    format: "header backup",
                    reason: "it is not a regular file or a block device".to_owned(),
                }),
            };
        let saved = other.filter(|_| task.restores).map(as_device).transpose()?;
        Ok(Self {
            target: Target { device: Arc::new(device) },
            header: header.transpose()?,
            other: other.map(File::try_clone).transpose()?,
            saved,
            credentials: Vec::new(),
        })
    }

    /// This input, limited to the part of the volume's file that the arguments specify. Reads the partition table.
    pub(super) fn of_part(self, unlock: &UnlockArgs) -> anyhow::Result<Self> {
        let device = target::part(unlock, self.target.device)?;
        Ok(Self { target: Target { device }, ..self })
    }

    pub(super) fn asks(&self, task: &Task<'_>) -> anyhow::Result<Asks> {
        if !task.restores {
            return target::asks(task.unlock, &self.target);
        }
        let restore = self.restore(task.unlock)?;
        Ok(Asks { nothing: !restore.needs_credentials(), ..Asks::default() })
    }

    /// The header to be restored: the backup file, or the backup header within the volume.
    pub fn restore(&self, unlock: &UnlockArgs) -> anyhow::Result<Restore<'_>> {
        let saved = self.saved.as_ref().map(|saved| saved as &dyn BlockDevice);
        Restore::new(&*self.target.device, saved, unlock.format.as_deref())
            .with_context(|| shown(&unlock.volume))
    }

    /// The detached header, if there is one.
    pub fn header_device(&self) -> Option<&dyn BlockDevice> {
        self.header.as_ref().map(|header| header as &dyn BlockDevice)
    }
}

/// The files that come with the first message.
struct Arrived {
    channel: Channel,
    order: Order,
    secrets: Option<File>,
    /// `None` if the volume is a directory.
    volume: Option<File>,
    header: Option<File>,
    other: Option<File>,
}

impl Arrived {
    fn receive() -> anyhow::Result<Self> {
        // Neither Ctrl-C nor closing the terminal may kill this process: the keeper must stop it in order.
        let _ = process::leave_terminal();
        let wrong = super::NOT_FOR_USERS;
        let channel = Channel::to_parent().context(wrong)?;
        let (message, files) = channel.receive().context(wrong)?;
        let order = Order::hear(&message).context(wrong)?;
        let mut files = files.into_iter();
        let secrets = if order.secrets > 0 { files.next() } else { None };
        let volume = if order.what == What::Answer { None } else { files.next() };
        let header = if order.header { files.next() } else { None };
        let other = if order.other { files.next() } else { None };
        Ok(Self { channel, order, secrets, volume, header, other })
    }
}

fn receive_all(secrets: Option<File>, count: u8) -> anyhow::Result<Vec<Credentials>> {
    let Some(mut secrets) = secrets else { return Ok(Vec::new()) };
    (0..count).map(|_| secrets::receive(&mut secrets)).collect()
}

/// Reports the volume's requirements, if this is the only task of this process.
fn answer(
    task: &Task<'_>,
    volume: File,
    saved: Option<&File>,
    channel: &Channel,
) -> anyhow::Result<()> {
    let given = Given::here(&Task { access: Access::ReadOnly, ..*task }, volume, None, saved)?;
    enter(task.unlock, Needs::default())?;
    let given = given.of_part(task.unlock)?;
    Ok(channel.send(&given.asks(task)?.say(), &[])?)
}

/// Confines this process; `None` if the process has finished its task.
pub(super) fn given(task: &Task<'_>, stop: &AtomicBool) -> anyhow::Result<Option<Given>> {
    let Arrived { channel, order, secrets, volume, header, other } = Arrived::receive()?;
    let volume = volume.context("no volume was received");
    match order.what {
        What::Ask => answer(task, volume?, other.as_ref(), &channel).map(|()| None),
        What::Serve => bail!("unexpected request: this command does not serve"),
        What::Answer => {
            before_confinement(stop)?;
            enter(task.unlock, Needs::default())?;
            let credentials = receive_all(secrets, order.secrets)?;
            lower::answer::answer(&channel, credentials.first(), stop).map(|()| None)
        }
        What::Work => {
            let given = Given::here(task, volume?, header, other.as_ref())?;
            before_confinement(stop)?;
            enter(task.unlock, Needs::default())?;
            let credentials = receive_all(secrets, order.secrets)?;
            Ok(Some(Given { credentials, ..given.of_part(task.unlock)? }))
        }
    }
}

/// Determines facts that can be read only before confinement.
fn before_confinement(stop: &AtomicBool) -> anyhow::Result<()> {
    cryptbench_cipher::tier()?;
    effort(stop)?;
    cryptbench_kdf::memory::keep_available();
    Ok(())
}

/// The child's side of a service.
pub struct Here {
    channel: Channel,
    /// The owner of the served files: the user and group of the keeper.
    pub owner: (u32, u32),
    pub volume: Arc<Volume>,
    told: bool,
}

/// Confines this process and opens the volume; `None` if the process only had to report the volume's requirements.
///
/// `prepare` creates the resources that a confined process could not create, and returns the access rights that the
/// process still needs.
pub fn begin<T>(
    args: &UnlockArgs,
    access: Access,
    prepare: impl FnOnce() -> (Needs, T),
    stop: &AtomicBool,
) -> anyhow::Result<Option<(Here, T)>> {
    let owner = (user::effective(), user::effective_group());
    let Arrived { channel, order, secrets, volume, header, .. } = Arrived::receive()?;
    let volume = volume.context("no volume was received")?;
    match order.what {
        What::Ask => {
            let task = Task::on(args, access);
            return answer(&task, volume, None, &channel).map(|()| None);
        }
        What::Work | What::Answer => bail!("unexpected request: this command only serves"),
        What::Serve => {}
    }
    let device = target::device(volume, access, true)?;
    let header = header.map(|file| target::device(file, Access::ReadOnly, false)).transpose()?;
    before_confinement(stop)?;
    let options =
        OpenOptions { access, ..OpenOptions::new(cryptbench_cipher::tier()?, effort(stop)?) };
    let (needs, prepared) = prepare();
    enter(args, needs)?;
    let mut credentials = receive_all(secrets, order.secrets)?.into_iter();
    let Some(own) = credentials.next() else { bail!("no credentials were received") };
    let protected = credentials.next();
    let options = OpenOptions { protect_hidden: protected.as_ref(), ..options };
    let header = header.as_ref().map(|header| header as &dyn BlockDevice);
    let device = target::part(args, Arc::new(device))?;
    let all = device.size();
    let volume = target::unlock(args, device, header, &own, &options)?;
    if volume.size() > all {
        let what = "mounting or exporting a volume with missing data";
        let hint = "use `volume dump`, which writes zeros for the missing data".to_owned();
        bail!(VolumeError::Unsupported { what: what.to_owned(), hint: Some(hint) });
    }
    keep_open_keys_from_swap(&volume);
    channel.send(&Opened::of(&volume, needs.rings).say(), &[])?;
    let here = Here { channel, owner, volume: Arc::new(volume), told: false };
    Ok(Some((here, prepared)))
}

/// Drops the privileges of this process.
///
/// # Errors
/// If privileges remain, or the kernel does not filter system calls. In that case, no part of the volume has
/// been read yet.
fn enter(args: &UnlockArgs, needs: Needs) -> anyhow::Result<()> {
    let rights = give_up_rights().context("it keeps root privileges");
    let calls = confine(needs).context("its system calls are not filtered");
    let Err(problem) = rights.and(calls) else {
        info!("confined: user {}, filtered system calls", user::effective());
        return Ok(());
    };
    let reason =
        format!("the process that reads the header cannot be confined here: {}", chain(&*problem));
    if args.confinement.unconfined {
        say::message(&format!("warning: {reason}"));
        return Ok(());
    }
    let reason = format!("{reason}; if you trust the origin of the volume, use --unconfined");
    Err(Refusal::target(&args.volume, &reason).into())
}

impl Here {
    /// The files on which to serve; `None` if the keeper does not need the service.
    pub fn wait(&self) -> anyhow::Result<Option<(On, Vec<File>)>> {
        let (message, files) = self.channel.receive()?;
        Ok(match &message[..] {
            ON => Some((On::Connection, files)),
            ON_DISK => Some((On::Disk, files)),
            _ => None,
        })
    }

    /// Reports that it serves.
    pub fn is_up(&self) -> anyhow::Result<()> {
        Ok(self.channel.send(UP, &[])?)
    }

    /// Waits briefly. Returns false once the parent has exited, a signal has arrived or `ended` returns true.
    pub fn goes_on(&mut self, stop: &AtomicBool, ended: impl Fn() -> bool) -> anyhow::Result<bool> {
        if readable_within(self.channel.readable(), POLL)? {
            return Ok(false);
        }
        if self.volume.hit_protection() && !self.told {
            self.told = true;
            say::message(
                "a write would have damaged the hidden volume; all further writes are refused: unmount now",
            );
        }
        Ok(!stop.load(Ordering::Relaxed) && !ended())
    }
}

/// Flushes the volume, so that written data is on stable storage once the child has exited.
pub fn flush(volume: &Volume) -> anyhow::Result<ExitCode> {
    volume.flush().map_err(|source| VolumeError::Io { doing: "flushing the volume", source })?;
    Ok(ExitCode::SUCCESS)
}
