//! `cryptbench volume export`: the plaintext over NBD, until a signal arrives.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use cryptbench_export::nbd::{NbdOptions, NbdSocket, serve_on};
use cryptbench_os::confine::Needs;
use cryptbench_volume::Access;

use super::args::ExportArgs;
use super::confined::{self, Confined, On, Task};
use super::target::size_of;
use super::{secrets, target};
use crate::say;

/// Interval between checks for a signal.
const POLL: Duration = Duration::from_millis(50);

pub fn export(args: &ExportArgs, stop: &AtomicBool) -> anyhow::Result<ExitCode> {
    let access = if args.read_only { Access::ReadOnly } else { Access::ReadWrite };
    if confined::is_child() {
        return serve(args, access, stop);
    }
    let volume = target::open_for_child(&args.unlock.volume, access)?;
    let header = args.unlock.header.as_ref();
    let header =
        header.map(|header| target::open_for_child(header, Access::ReadOnly)).transpose()?;
    let most = size_of(&args.unlock.volume, &volume)?;
    let asks = Task::on(&args.unlock, access).ask(&volume, None, stop)?;
    let mut server = secrets::in_tries(|| {
        let credentials = target::credentials(&args.unlock, asks, stop)?;
        secrets::through_pipe(&[&credentials], |secrets| {
            let mut server = Confined::open(&volume, header.as_ref(), &secrets, 1)?;
            drop(secrets);
            server.opened(args.read_only, most, stop).map(|_| server)
        })
    })?;
    drop(volume);
    let socket = NbdSocket::new(&args.nbd)?;
    server.serve_on(On::Connection, &[socket.listener()], stop)?;
    say::message(&format!("serving nbd+unix:///?socket={}", args.nbd.display()));
    while !stop.load(Ordering::Relaxed) && !server.says_something_within(POLL)? {}
    drop(socket);
    server.end()?;
    Ok(ExitCode::SUCCESS)
}

/// The unprivileged process that opens the volume and serves it.
fn serve(args: &ExportArgs, access: Access, stop: &AtomicBool) -> anyhow::Result<ExitCode> {
    let prepare = || (Needs { sockets: true, rings: false }, ());
    let begun = confined::begin(&args.unlock, access, prepare, stop)?;
    let Some((mut here, ())) = begun else { return Ok(ExitCode::SUCCESS) };
    let Some(listener) = here.wait()?.and_then(|(_, mut files)| files.pop()) else {
        return Ok(ExitCode::SUCCESS);
    };
    let options =
        NbdOptions { read_only: args.read_only, discard: args.discard, ..NbdOptions::default() };
    let volume = Arc::clone(&here.volume);
    let server = serve_on(Arc::clone(&volume) as _, listener, &options)?;
    here.is_up()?;
    while here.goes_on(stop, || false)? {}
    server.stop();
    confined::flush(&volume)
}
