//! `cryptbench volume umount`.

use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::bail;
use cryptbench_os::process::{Handle, children};
use cryptbench_os::user;
use cryptbench_system::SystemError;
use cryptbench_system::provision::filesystem;
use cryptbench_system::provision::mountinfo::mount_at;
use cryptbench_system::resource::{AnyResource, Cleaned, cleanup_by_subject, living};
use cryptbench_text::shown;

use super::args::UmountArgs;
use crate::exit::Refusal;
use crate::say;

/// How long the server process may take to write back data and to exit.
const PATIENCE: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(20);

/// How long a process may take to exit before it is killed.
const GRACE: Duration = Duration::from_secs(5);

pub fn umount(args: &UmountArgs) -> anyhow::Result<ExitCode> {
    let what = std::fs::canonicalize(&args.what).or_else(|_| std::path::absolute(&args.what))?;
    let server = living().into_iter().find(|process| {
        process.subject == what || process.resources.iter().any(|there| there.path() == what)
    });
    let Some(server) = server else {
        return dead(&what);
    };
    // A volume in use is reported immediately, and nothing is changed.
    let top = server.resources.first().filter(|top| top.is_mount());
    if let Some(path) = top.map(AnyResource::path)
        && mount_at(path).is_some()
        && user::is_root()
        && filesystem::is_in_use(path)?
    {
        return Err(SystemError::Busy { path: path.to_owned() }.into());
    }
    // A handle is opened first, because the PID of an exited process may already belong to another process.
    if let Ok(handle) = Handle::open(server.process)
        && !server.has_ended()
    {
        let _ = handle.terminate();
    }
    let started = Instant::now();
    while !server.has_ended() {
        if args.force && started.elapsed() > GRACE {
            end_servers(server.process);
        }
        if started.elapsed() > PATIENCE {
            let reason = "still in use, or its server process does not respond; close the files that are open there, or \
                          use --force, which kills that process: data that it has not written is lost";
            bail!(Refusal::left_over(&what, reason));
        }
        std::thread::sleep(POLL);
    }
    say::message(&format!("unmounted {}", shown(&server.subject)));
    Ok(ExitCode::SUCCESS)
}

/// Kills the server processes of the keeper `process`, after which the keeper removes the disks and mounts that they
/// served.
fn end_servers(process: u32) {
    for child in children(process) {
        let _ = Handle::open(child).and_then(|held| held.kill());
    }
}

/// Cleans up a mount that has no server, because the server was killed.
fn dead(what: &Path) -> anyhow::Result<ExitCode> {
    let mut found = false;
    for (subject, done) in cleanup_by_subject() {
        let about = |path: &Path| path == what || subject.as_deref() == Some(what);
        match done {
            Cleaned::Removed(path) => found |= about(&path),
            Cleaned::Failed(path, why) if about(&path) => {
                bail!(Refusal::left_over(&path, &why))
            }
            Cleaned::NotOurs(_) | Cleaned::Failed(..) => {}
        }
    }
    if !found {
        let reason =
            "not mounted by cryptbench; `mount` lists other mounts, and `umount` removes them";
        bail!(Refusal::target(what, reason));
    }
    say::message(&format!("removed the remains of a killed process at {}", shown(what)));
    Ok(ExitCode::SUCCESS)
}
