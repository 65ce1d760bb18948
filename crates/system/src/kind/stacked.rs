//! Stacked systems: a directory or a file system on the storage under measurement, and another that shows it plain.

use std::path::PathBuf;

use super::program::{self, Program};
use crate::prepared::Reopen;
use crate::resource::ResourceStack;
use crate::system::System;
use crate::{ArmContext, ArmSpec, Backing, PreparedArm, SystemError};

/// How the data of such an arm come to lie on the storage.
pub(crate) enum Stacked {
    /// In a directory, by a program that serves it through FUSE.
    Program(Program),
    /// By the kernel.
    Kernel {
        /// Lays the data down on the stack.
        create: Create,
        /// Whether they may lie in a container with a file system, and not in a directory.
        contained: bool,
    },
}

/// Lays the data of an arm down.
type Create =
    fn(&System, &ArmSpec, &ArmContext<'_>, &mut ResourceStack) -> Result<Laid, SystemError>;

/// Data that were laid down: all that is on the stack by now.
pub(crate) struct Laid {
    pub(crate) backing: Backing,
    /// As [`PreparedArm::stored`].
    pub(crate) stored: Option<PathBuf>,
    /// Whether it writes through the page cache, whatever is asked for.
    pub(crate) cached: bool,
    /// What shows them, the first time and again.
    pub(crate) open: Reopen,
}

impl Stacked {
    pub(crate) fn is_contained(&self) -> bool {
        matches!(self, Self::Kernel { contained: true, .. })
    }
}

/// Bytes that a directory takes for `len` bytes of files: blocks with their tags, padded.
pub(crate) fn footprint(len: u64) -> u64 {
    len + len / 8
}

pub(crate) fn prepare(
    stacked: &Stacked,
    system: &System,
    arm: &ArmSpec,
    context: &mut ArmContext<'_>,
) -> Result<PreparedArm, SystemError> {
    let mut stack = ResourceStack::new(context.journal);
    let Laid { backing, stored, cached, mut open } = match stacked {
        Stacked::Program(program) => program::create(program, system, arm, context, &mut stack)?,
        Stacked::Kernel { create, .. } => create(system, arm, context, &mut stack)?,
    };
    context.go_on()?;
    stack.data_ends_here();
    let shown = open(&mut stack)?;
    let cached = cached || stack.caches();
    let mut prepared = PreparedArm::on_stack(shown, context, stack, backing, open)?;
    (prepared.stored, prepared.cached_below) = (stored, cached);
    Ok(prepared)
}
