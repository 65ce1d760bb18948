//! The process that serves the disk of a run: a child, so that the run can exit when it is killed.
//!
//! If a process waited for a disk that it serves itself, SIGKILL would end the server threads, and the waiting
//! threads would never exit. The child serves until its parent has exited, and the kernel removes a disk whose
//! server has exited.

use std::error::Error;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::process::{Child, Stdio};
use std::time::Duration;

use cryptbench_blockdev::FileDevice;
use cryptbench_cipher::tier;
use cryptbench_export::Prepared;
use cryptbench_export::ublk::{self, Server};
use cryptbench_os::channel::Channel;
use cryptbench_os::process::{in_own_group, pipe, this_program};
use cryptbench_os::terminal::readable_within;
use cryptbench_text::chain;
use tracing::info;
use zeroize::Zeroizing;

use crate::adapter::builtin_mounted::Headerless;
use crate::provision::process::{kill_group, wait_within};

/// The hidden command that starts the child.
pub const SERVE_DISK: &str = "serve-disk";

/// The message that the child sends once it serves. Any other message is the reason why it does not serve.
const UP: &[u8] = b"up";

/// Time limit for that message, and for the exit of the child.
const PATIENCE: Duration = Duration::from_secs(30);

/// Interval at which the child checks whether the disk is gone.
const POLL: Duration = Duration::from_millis(50);

/// Maximum length of a key in bytes.
const LONGEST_KEY: usize = 1024;

/// The child, as seen by the run. It exits when this value is dropped or the run exits.
pub(crate) struct DiskServer {
    child: Child,
    channel: Channel,
}

impl DiskServer {
    /// Starts a child that serves the plaintext of `container` as the disk of `connection`, and waits until the child
    /// serves.
    pub(crate) fn start(
        plain: &Headerless,
        key: &[u8],
        container: &File,
        connection: &File,
    ) -> io::Result<Self> {
        let (channel, theirs) = Channel::to_child()?;
        let mut command = this_program()?;
        command.arg(SERVE_DISK).stdin(theirs).stdout(Stdio::null()).current_dir("/");
        // Ctrl-C ends the run, which then removes the disk.
        let child = in_own_group(&mut command).spawn()?;
        // The command still holds the child's end of the channel, which must be open only in the child.
        drop(command);
        info!("process {} serves the disk", child.id());
        let mut server = Self { child, channel };
        match server.hand_over(plain, key, container, connection) {
            Ok(()) => Ok(server),
            Err(e) => {
                kill_group(&mut server.child);
                Err(e)
            }
        }
    }

    fn hand_over(
        &self,
        plain: &Headerless,
        key: &[u8],
        container: &File,
        connection: &File,
    ) -> io::Result<()> {
        // A pipe buffer is larger than any key.
        let (secret, mut to) = pipe()?;
        to.write_all(key)?;
        drop(to);
        self.channel.send(&serde_json::to_vec(plain)?, &[&secret, container, connection])?;
        let failed = |why: &str| Err(io::Error::other(format!("its server {why}")));
        if !readable_within(self.channel.readable(), PATIENCE)? {
            return failed("does not answer");
        }
        match &self.channel.receive()?.0[..] {
            UP => Ok(()),
            [] => failed("has ended"),
            why => failed(&format!("failed: {}", String::from_utf8_lossy(why))),
        }
    }

    /// The number of the process.
    pub(crate) fn number(&self) -> u32 {
        self.child.id()
    }

    /// Makes the child exit, and waits until it has exited.
    pub(crate) fn end(self) {
        let Self { mut child, channel } = self;
        drop(channel);
        if !matches!(wait_within(&mut child, PATIENCE), Ok(Some(_))) {
            kill_group(&mut child);
        }
    }
}

/// The child: serves a disk until its parent has exited, or the disk is gone.
///
/// # Errors
/// The operating system's error, for example if the child was not started by this program.
pub fn serve_disk() -> io::Result<()> {
    let channel = Channel::to_parent()?;
    let (order, files) = channel.receive()?;
    match served(&order, files) {
        Ok(server) => {
            let mut is_wanted = channel.send(UP, &[]).is_ok();
            while is_wanted && !server.has_ended() {
                is_wanted = !readable_within(channel.readable(), POLL)?;
            }
            server.stop();
        }
        // If the parent has exited, nobody needs the reason.
        Err(e) => drop(channel.send(chain(&*e).as_bytes(), &[])),
    }
    Ok(())
}

fn served(order: &[u8], files: Vec<File>) -> Result<Server, Box<dyn Error>> {
    let plain: Headerless = serde_json::from_slice(order)?;
    let [secret, container, connection] =
        <[File; 3]>::try_from(files).map_err(|_| "the files were not received")?;
    // Allocated once, because growing it would leave copies behind.
    let mut key = Zeroizing::new(Vec::with_capacity(LONGEST_KEY));
    secret.take(LONGEST_KEY as u64).read_to_end(&mut key)?;
    let container = FileDevice::from_file(container, plain.mode(), false)?;
    // The child uses the same tier as the run, because it has the run's environment.
    let device = plain.over(container, &key, tier()?)?;
    Ok(ublk::serve(device, connection, false, Prepared::rings(1))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The order and the files that a child receives.
    fn asked(order: &str, key: &[u8], container: File) -> Result<Server, Box<dyn Error>> {
        let (secret, mut to) = pipe().unwrap();
        to.write_all(key).unwrap();
        drop(to);
        served(order.as_bytes(), vec![secret, container, tempfile::tempfile().unwrap()])
    }

    #[test]
    fn a_child_that_cannot_serve_says_why() {
        let container = || {
            let file = tempfile::tempfile().unwrap();
            file.set_len(1 << 20).unwrap();
            file
        };
        let said = |order: &str, key: &[u8]| match asked(order, key, container()) {
            Ok(_) => panic!("an ordinary file is not the connection of a disk"),
            Err(e) => chain(&*e),
        };
        let order = r#"{"cipher":"aes-256-xts","data_unit":512,"len":1048576,"direct":false}"#;
        let short = said(order, &[7; 63]);
        assert!(short.contains("key"), "{short}");
        assert!(said(&order.replace("aes-256-xts", "rot13"), &[7; 64]).contains("rot13"));
        assert!(said("{}", &[]).contains("missing field"));
        // Everything is complete, but the file is not the connection of a disk.
        let unfit = said(order, &[7; 64]);
        assert!(!unfit.contains("key"), "{unfit}");
        let lone = served(order.as_bytes(), Vec::new()).err().unwrap();
        assert_eq!(lone.to_string(), "the files were not received");
    }
}
