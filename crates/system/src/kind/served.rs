//! A container whose plaintext this program serves as a file, without a loop device, a file system or root
//! privileges.

use std::sync::Arc;

use cryptbench_blockdev::BlockDevice;
use cryptbench_cipher::Tier;
use cryptbench_export::fuse::FuseOptions;
use zeroize::Zeroizing;

use super::mapped::open;
use crate::prepared::{CONTAINER, Shown};
use crate::resource::container::{self, Container};
use crate::resource::{ResourceStack, fuse_server, mount_point};
use crate::{ArmContext, ArmSpec, Backing, Content, PreparedArm, Random, SystemError};

const MIB: u64 = 1 << 20;

/// Opens the plaintext of a container with a key.
type Open = fn(&ArmSpec, &[u8], &Container, Tier) -> Result<Arc<dyn BlockDevice>, SystemError>;

/// How to open such a container.
pub(crate) struct Served {
    /// Generates the credentials of the container.
    pub(crate) secret: fn(&ArmSpec) -> Result<Zeroizing<Vec<u8>>, SystemError>,
    /// Its plaintext.
    pub(crate) open: Open,
}

/// Number of bytes of storage that an arm with an I/O target of `len` bytes needs.
pub(crate) fn footprint(len: u64) -> u64 {
    len.next_multiple_of(MIB)
}

pub(crate) fn prepare(
    served: &Served,
    arm: &ArmSpec,
    context: &mut ArmContext<'_>,
) -> Result<PreparedArm, SystemError> {
    let mut stack = ResourceStack::new(context.journal);
    let path = context.path_for(arm, CONTAINER);
    let (len, mode) = (context.scratch.extent.len, context.scratch.mode);
    let container = container::create(&mut stack, &path, footprint(len), context)?;
    stack.data_ends_here();
    let (arm, tier) = (arm.clone(), context.tier);
    let (secret, plaintext) = ((served.secret)(&arm)?, served.open);
    let show = move |stack: &mut ResourceStack| {
        let device = plaintext(&arm, &secret, &container, tier)?;
        let directory = mount_point::create(stack)?;
        let (file, _) = fuse_server::create(stack, device, &directory, &FuseOptions::default())?;
        let device = Some(open(&file, mode, 0, Some(len))?);
        Ok(Shown { directory, device, daemons: Vec::new() })
    };
    let shown = show(&mut stack)?;
    // Without a header and a file system, the whole file is ciphertext.
    let content = vec![Content::Path(path)];
    let backing = Backing { content, tree: None, random: Random::From(0), beside: None };
    let prepared = PreparedArm::on_stack(shown, context, stack, backing, Box::new(show))?;
    Ok(prepared.without_files())
}
