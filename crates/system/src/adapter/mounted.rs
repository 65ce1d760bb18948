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
use zeroize::Zeroizing;

use super::builtin::{Keyed, kernel_of, keyed, offered, random_key};
use crate::command::missing_program;
use crate::contender::{Rest, Stand, Woken};
use crate::mounted::Mounted;
use crate::provision::layers::{SCRATCH, fill_at_random};
use crate::provision::{Ledger, Left, Scratch, filesystem};
use crate::{
    ArmSpec, Attachment, Availability, Backing, Contender, Content, Ground, Random, Selection,
    System, SystemError,
};

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
        let len = ground.scratch.extent.len;
        let path = ground.directory.join(format!("cryptbench-{id}.container"));
        let container = Scratch::create(
            &path,
            (len + ground.room + (len + ground.room) / 16 + ROOM).next_multiple_of(1 << 20),
            Ledger::create(&format!("{id}-container"))?,
        )?;
        // Not with what workloads write: their marker, where ext4 never wrote, would pass for plaintext.
        fill_at_random(&container.surface().file, container.len(), &path, ground.stop)?;
        let mut stand = InContainer {
            id: format!("{id}-mount"),
            arm: arm.clone(),
            key: random_key(arm)?,
            tier: ground.tier,
            scratch: None,
            left: None,
            served: None,
            container: Some(container),
        };
        let disk = stand.serve()?;
        ground.go_on()?;
        filesystem::make_settled(&disk)?;
        ground.go_on()?;
        let root = stand.mount(&disk)?;
        let mut scratch =
            Scratch::create(&root.join(SCRATCH), len, Ledger::create(&format!("{id}-scratch"))?)?;
        if ground.scratch.mode == IoMode::Buffered {
            scratch.go_buffered()?;
        }
        let surface = scratch.surface();
        stand.scratch = Some(scratch);
        (ground.fill)(&surface)?;
        let cached = stand.served.as_ref().is_some_and(Mounted::caches);
        let stored = cached.then(|| path.clone());
        // There is no header: all is ciphertext, or the random bytes that were there before.
        let content = vec![Content::Path(path)];
        let backing = Backing { content, tree: None, random: Random::From(0) };
        let mut contender = Contender::on_stand(surface, root, Box::new(stand)).over(backing);
        (contender.cached_below, contender.stored) = (cached, stored);
        Ok(contender)
    }

    fn kernel_tier(&self, arm: &ArmSpec, tier: Tier) -> Option<String> {
        kernel_of(arm, tier)
    }
}

/// The plaintext of a container without a header.
fn plaintext(
    arm: &ArmSpec,
    key: &[u8],
    container: &Scratch,
    tier: Tier,
) -> Result<Arc<dyn BlockDevice>, SystemError> {
    let path: PathBuf = container.path().to_owned();
    let device =
        FileDevice::open(&path, container.mode(), false).map_err(SystemError::io("open", &path))?;
    let Keyed { cipher, first_tweak, tweak_step } = keyed(arm, key, tier)?;
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

/// What is taken down, from the top: the scratch file, the mounts, the container. Dropping it takes it down, as far as
/// it lets itself be.
struct InContainer {
    /// Name of the ledger of the mounts.
    id: String,
    arm: ArmSpec,
    key: Zeroizing<Vec<u8>>,
    tier: Tier,
    scratch: Option<Scratch>,
    /// The scratch file, while all rests.
    left: Option<Left>,
    served: Option<Mounted>,
    container: Option<Scratch>,
}

impl InContainer {
    /// Serves the container, and gives the disk that it shows.
    fn serve(&mut self) -> Result<PathBuf, SystemError> {
        let container = self.container.as_ref().expect("there until it is taken down");
        let device = plaintext(&self.arm, &self.key, container, self.tier)?;
        let ledger = Ledger::create(&self.id)?;
        let served = Mounted::serve(device, None, &FuseOptions::default(), ledger)?;
        self.served.insert(served).attach_loop(false)
    }

    fn mount(&mut self, disk: &Path) -> Result<PathBuf, SystemError> {
        self.served.as_mut().expect("served before").mount_in_own_directory(disk)
    }

    fn unmount(&mut self) -> Result<(), SystemError> {
        if let Some(served) = &mut self.served {
            filesystem::once_let_go(|| served.take_down())?;
        }
        self.served = None;
        Ok(())
    }
}

impl Stand for InContainer {
    fn take_down(&mut self) -> Result<(), SystemError> {
        if let Some(scratch) = self.scratch.take() {
            scratch.remove()?;
        }
        self.unmount()?;
        self.container.take().map_or(Ok(()), Scratch::remove)
    }

    fn rest(&mut self) -> Result<Rest, SystemError> {
        if let Some(scratch) = self.scratch.take() {
            // It goes with the container.
            self.left = Some(scratch.leave()?);
        }
        self.unmount()?;
        Ok(Rest::Unmounted)
    }

    fn wake(&mut self) -> Result<Woken, SystemError> {
        let disk = self.serve()?;
        let directory = self.mount(&disk)?;
        let left = self.left.expect("left when it was brought to rest");
        let surface = left.open(&directory.join(SCRATCH))?;
        Ok(Woken { surface, directory, daemons: Vec::new() })
    }
}

impl Drop for InContainer {
    fn drop(&mut self) {
        // What is still in use stays in the ledgers, for cleanup.
        let _ = self.take_down();
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

    fn visit_keys(&self, _visit: &mut dyn FnMut(*const u8, usize)) {}
}
