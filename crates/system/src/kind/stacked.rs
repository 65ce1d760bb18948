//! Stacked systems: a directory or file system on the measured storage, and another file system that shows its
//! plaintext.

use std::path::PathBuf;

use super::program::{self, Program};
use crate::prepared::{Reopen, WriteBack};
use crate::resource::ResourceStack;
use crate::system::System;
use crate::{ArmContext, ArmSpec, Backing, PreparedArm, SystemError};

/// How the arms of such a system store their data.
pub(crate) enum Stacked {
    /// In a directory, with a program that serves the plaintext through FUSE.
    Program(Program),
    /// Through the kernel.
    Kernel {
        /// Prepares the data on the stack.
        create: Create,
        /// Bytes of storage that this many bytes of files need if this many bytes are free.
        footprint: fn(u64, u64) -> u64,
    },
}

/// Prepares the data of an arm.
type Create =
    fn(&System, &ArmSpec, &ArmContext<'_>, &mut ResourceStack) -> Result<Laid, SystemError>;

/// Prepared data; its resources are on the stack.
pub(crate) struct Laid {
    pub(crate) backing: Backing,
    /// The same as [`PreparedArm::stored`].
    pub(crate) stored: Option<PathBuf>,
    /// Whether the system always writes through the page cache.
    pub(crate) cached: bool,
    /// Sets up access to the plaintext, the first time and whenever the arm is reopened.
    pub(crate) open: Reopen,
    /// As [`PreparedArm::write_back`].
    pub(crate) write_back: Option<WriteBack>,
}

impl Stacked {
    pub(crate) fn footprint(&self, len: u64, free: u64) -> u64 {
        match self {
            Self::Program(_) => in_a_directory(len, free),
            Self::Kernel { footprint, .. } => footprint(len, free),
        }
    }
}

/// Bytes of storage for `len` bytes of files in a directory: blocks with tags and padding.
pub(crate) fn in_a_directory(len: u64, _free: u64) -> u64 {
    len + len / 8
}

pub(crate) fn prepare(
    stacked: &Stacked,
    system: &System,
    arm: &ArmSpec,
    context: &mut ArmContext<'_>,
) -> Result<PreparedArm, SystemError> {
    let mut stack = ResourceStack::new(context.journal);
    let Laid { backing, stored, cached, mut open, write_back } = match stacked {
        Stacked::Program(program) => program::create(program, system, arm, context, &mut stack)?,
        Stacked::Kernel { create, .. } => create(system, arm, context, &mut stack)?,
    };
    context.go_on()?;
    stack.data_ends_here();
    let shown = stack.until_stopped(context.stop, |stack| open(stack))?;
    let cached = cached || stack.caches();
    let mut prepared = PreparedArm::on_stack(shown, context, stack, backing, open)?;
    (prepared.stored, prepared.cached_below) = (stored, cached);
    prepared.write_back = write_back;
    Ok(prepared)
}
