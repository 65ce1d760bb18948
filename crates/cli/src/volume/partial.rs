//! A file that is not whole yet: it has a name of its own until then, and goes if that never comes.

use std::fs::File;
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use cryptbench_system::provision::{Act, Identity, Ledger};
use tempfile::NamedTempFile;

use crate::exit::Refusal;

/// A new file beside the one that it is to become, for this user alone.
///
/// It is removed when it is dropped; and since it is in a ledger, `cryptbench cleanup` removes it if this
/// process is killed.
pub struct Partial {
    /// There until the file takes its name.
    file: Option<NamedTempFile>,
    ledger: Ledger,
    act: u32,
}

impl Partial {
    /// Beside `path`.
    pub fn beside(path: &Path) -> anyhow::Result<Self> {
        let fail = |e: io::Error| Refusal::target(path, &e.to_string());
        let number = std::process::id();
        let now = std::time::UNIX_EPOCH.elapsed().map_or(0, |t| t.as_nanos());
        // Without a subject: nobody is to find it by the volume and unmount it.
        let mut ledger = Ledger::create(&format!("partial-{number}-{now}"))?;
        let mut noted = None;
        let made = tempfile::Builder::new().prefix(".cryptbench-").suffix(".part").make_in(
            std::path::absolute(directory(path)).map_err(fail)?,
            |path| {
                let note = |error| io::Error::other(format!("{error}"));
                // A name that was taken: another is tried.
                noted.take().map_or(Ok(()), |act| ledger.undone(act)).map_err(note)?;
                noted =
                    Some(ledger.intend(&Act::ScratchFile { path: path.to_owned() }).map_err(note)?);
                File::options().read(true).write(true).create_new(true).mode(0o600).open(path)
            },
        );
        let (file, act) = match (made, noted) {
            (Ok(file), Some(act)) => (file, act),
            (made, noted) => {
                noted.map_or(Ok(()), |act| ledger.undone(act))?;
                return Err(fail(made.err().unwrap_or(io::ErrorKind::Other.into())).into());
            }
        };
        let identity = Identity::of(file.as_file()).map_err(fail)?;
        // From here on `Drop` removes the file, whatever fails.
        let mut partial = Self { file: Some(file), ledger, act };
        partial.ledger.made(act, identity)?;
        Ok(partial)
    }

    /// The open file, and its path until it takes its name.
    pub fn file(&mut self) -> &mut NamedTempFile {
        self.file.as_mut().expect("there until it takes its name")
    }

    /// Gives it the name `path`, once all of it is on the disk, and not over another file.
    pub fn appear(mut self, path: &Path) -> anyhow::Result<()> {
        let fail = |e: io::Error| Refusal::target(path, &e.to_string());
        self.file().as_file().sync_all().map_err(fail)?;
        if let Some(file) = self.file.take() {
            file.persist_noclobber(path).map_err(|e| fail(e.error))?;
        }
        File::open(directory(path)).and_then(|directory| directory.sync_all()).map_err(fail)?;
        Ok(())
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        // What cannot be removed stays in the ledger.
        if self.file.take().is_none_or(|file| file.close().is_ok()) {
            let _ = self.ledger.undone(self.act);
        }
    }
}

/// Where a path lies.
fn directory(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
