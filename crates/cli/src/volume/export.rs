//! `cryptbench volume export`: the plaintext over NBD, until a signal comes.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use cryptbench_cipher::tier;
use cryptbench_export::nbd::{self, NbdOptions};
use cryptbench_volume::{Access, OpenOptions};

use super::args::ExportArgs;
use super::{effort, target};
use crate::say;

pub fn export(args: &ExportArgs, stop: &AtomicBool) -> anyhow::Result<ExitCode> {
    let access = if args.read_only { Access::ReadOnly } else { Access::ReadWrite };
    let target = target::open(&args.unlock.volume, access, true)?;
    let options = OpenOptions { access, ..OpenOptions::new(tier()?, effort(stop)?) };
    let volume = target::unlock(&args.unlock, &target, &options, stop)?;
    super::keep_open_keys_from_swap(&volume);
    let options =
        NbdOptions { read_only: args.read_only, discard: args.discard, ..NbdOptions::default() };
    let server = nbd::serve(Arc::new(volume), &args.nbd, &options)?;
    say::message(&format!("serving nbd+unix:///?socket={}", args.nbd.display()));
    while !stop.load(Ordering::Relaxed) {
        std::thread::sleep(Duration::from_millis(50));
    }
    server.stop();
    Ok(ExitCode::SUCCESS)
}
