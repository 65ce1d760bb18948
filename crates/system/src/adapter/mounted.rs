//! The built-in engine, mounted: a container served through FUSE, a loop device on it, ext4 on that; what
//! `cryptbench volume mount` does.
//!
//! No header is written: what follows a volume's opening is measured. The null layer is the same path
//! without a cipher.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use cryptbench_blockdev::{BlockDevice, Extent, FileDevice, IoMode};
use cryptbench_cipher::{SectorCipher, Tier};
use cryptbench_export::fuse::FuseOptions;
use cryptbench_volume::{Access, Mapping, Volume, VolumeInfo};

use super::builtin::{Keyed, kernel_of, keyed, offered, random_key};
use crate::command::missing_program;
use crate::contender::Stand;
use crate::mounted::Mounted;
use crate::provision::{Ledger, Scratch, filesystem};
use crate::{ArmSpec, Attachment, Availability, Contender, Ground, Selection, System, SystemError};

/// Ciphers in this process behind a file system of their own.
pub(crate) struct BuiltinMounted;

/// Bytes of a container beyond the files in it and a sixteenth of them: what ext4 needs for itself (journal,
/// inode tables).
const ROOM: u64 = 160 << 20;

impl System for BuiltinMounted {
    fn name(&self) -> &'static str {
        "builtin-mounted"
    }

    fn about(&self) -> &'static str {
        "the same behind FUSE, a loop device and ext4, as `cryptbench volume mount` has it"
    }

    fn availability(&self) -> Availability {
        let unavailable = |reason: &str, remedy: &str| Availability::Unavailable {
            reason: reason.to_owned(),
            remedy: remedy.to_owned(),
        };
        if !rustix::process::geteuid().is_root() {
            return unavailable("loop devices and mounts take root", "run as root");
        }
        if !Path::new("/dev/fuse").exists() {
            return unavailable("there is no /dev/fuse", "load the fuse module (modprobe fuse)");
        }
        if !Path::new("/dev/loop-control").exists() {
            return unavailable(
                "there is no /dev/loop-control",
                "load the loop module (modprobe loop)",
            );
        }
        match missing_program(&["losetup", "mount", "mkfs.ext4"]) {
            Some(program) => unavailable(
                &format!("there is no program {program}"),
                "install the packages mount, util-linux and e2fsprogs",
            ),
            None => Availability::Available(env!("CARGO_PKG_VERSION").to_owned()),
        }
    }

    fn arms(&self, selection: &Selection) -> Result<Vec<ArmSpec>, SystemError> {
        offered("builtin-mounted", "mounted ", selection)
    }

    fn attachment(&self) -> Attachment {
        Attachment::Mounted
    }

    fn provision(&self, arm: &ArmSpec, ground: &mut Ground<'_>) -> Result<Contender, SystemError> {
        let name = arm.id.replace('/', "-");
        let id = format!("{}-{name}", ground.run_id);
        let direct = ground.scratch.mode;
        let len = ground.scratch.extent.len;
        let container = Scratch::create(
            &ground.directory.join(format!("cryptbench-{id}.container")),
            (len + ground.room + (len + ground.room) / 16 + ROOM).next_multiple_of(1 << 20),
            Ledger::create(&format!("{id}-container"))?,
        )?;
        (ground.fill)(&container.surface())?;
        let device = plaintext(arm, &container, ground.tier)?;
        let mut served = Mounted::serve(
            device,
            None,
            &FuseOptions::default(),
            Ledger::create(&format!("{id}-mount"))?,
        )?;
        let disk = served.attach_loop(false)?;
        filesystem::make_settled(&disk)?;
        let root = served.mount_in_own_directory(&disk)?;
        let mut scratch =
            Scratch::create(&root.join("scratch"), len, Ledger::create(&format!("{id}-scratch"))?)?;
        if direct == IoMode::Buffered {
            scratch.go_buffered()?;
        }
        let surface = scratch.surface();
        (ground.fill)(&surface)?;
        let stand = InContainer { scratch: Some(scratch), served, container: Some(container) };
        Ok(Contender::on_stand(surface, root, Box::new(stand)))
    }

    fn kernel_tier(&self, arm: &ArmSpec, tier: Tier) -> Option<String> {
        kernel_of(arm, tier)
    }
}

/// The plaintext of a container without a header.
fn plaintext(
    arm: &ArmSpec,
    container: &Scratch,
    tier: Tier,
) -> Result<Arc<dyn BlockDevice>, SystemError> {
    let path: PathBuf = container.path().to_owned();
    let device =
        FileDevice::open(&path, container.mode(), false).map_err(SystemError::io("open", &path))?;
    let Keyed { cipher, first_tweak, tweak_step } = keyed(arm, &random_key(arm)?, tier)?;
    let info = VolumeInfo {
        format: arm.layout.unwrap_or("none"),
        cipher: arm.cipher.unwrap_or("none").to_owned(),
        kernel: cipher.tier(),
        key_bytes: 0,
        derivation: "none".to_owned(),
        data_unit: cipher.data_unit(),
        size: container.len(),
        data_offset: 0,
        details: Vec::new(),
    };
    let mapping = Mapping {
        data: Extent { offset: 0, len: container.len() },
        cipher,
        first_tweak,
        tweak_step,
        protected: None,
    };
    Ok(Arc::new(Volume::new(Arc::new(device), mapping, Access::ReadWrite, info)?))
}

/// What is taken down, from the top: the scratch file, the mounts, the container.
struct InContainer {
    scratch: Option<Scratch>,
    served: Mounted,
    container: Option<Scratch>,
}

impl Stand for InContainer {
    fn take_down(&mut self) -> Result<(), SystemError> {
        if let Some(scratch) = self.scratch.take() {
            scratch.remove()?;
        }
        self.served.take_down()?;
        self.container.take().map_or(Ok(()), Scratch::remove)
    }
}

/// The null layer's cipher: what it would have to copy is copied, nothing is changed.
pub(super) struct NoCipher;

impl SectorCipher for NoCipher {
    fn data_unit(&self) -> usize {
        512
    }

    fn encrypt(&self, _first_unit: u64, src: &[u8], dst: &mut [u8]) {
        dst.copy_from_slice(src);
    }

    fn encrypt_in_place(&self, _first_unit: u64, _data: &mut [u8]) {}

    fn decrypt(&self, _first_unit: u64, src: &[u8], dst: &mut [u8]) {
        dst.copy_from_slice(src);
    }

    fn decrypt_in_place(&self, _first_unit: u64, _data: &mut [u8]) {}

    fn tier(&self) -> &'static str {
        "none"
    }
}
