//! Power cuts: whatever prefix of the writes reaches the device, the volume can be opened afterwards.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use cryptbench_blockdev::{BlockDevice, MemoryDevice};
use cryptbench_volume::VolumeError;
use cryptbench_volume::format::luks::{
    Removal, Version, add_key, change_key, info, remove_key, repair,
};

use crate::luks::volumes::{cheap, key_options, opens, passphrase, resources, volume};

/// Fails after this number of sectors was written. The write in which this happens is truncated at a sector
/// boundary.
struct Cut {
    below: Arc<MemoryDevice>,
    left: AtomicI64,
    sectors: AtomicU64,
}

impl Cut {
    fn after(below: &Arc<MemoryDevice>, sectors: i64) -> Self {
        Self { below: below.clone(), left: AtomicI64::new(sectors), sectors: AtomicU64::new(0) }
    }
}

impl BlockDevice for Cut {
    fn size(&self) -> u64 {
        self.below.size()
    }

    fn sector(&self) -> usize {
        512
    }

    fn is_read_only(&self) -> bool {
        false
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        self.below.read_at(offset, buf)
    }

    fn write_at(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        for (index, sector) in data.chunks(512).enumerate() {
            if self.left.fetch_sub(1, Ordering::Relaxed) <= 0 {
                return Err(io::Error::other("power cut"));
            }
            self.sectors.fetch_add(1, Ordering::Relaxed);
            self.below.write_at(offset + index as u64 * 512, sector)?;
        }
        Ok(())
    }

    fn flush(&self) -> io::Result<()> {
        self.below.flush()
    }
}

type Act = fn(&dyn BlockDevice) -> Result<(), VolumeError>;

/// Interrupts `act` after each number of sectors (in steps within the long key material), and checks what opens
/// then.
fn cut_everywhere(before: &Arc<MemoryDevice>, act: Act, check: impl Fn(&Arc<MemoryDevice>, &str)) {
    let whole = Cut::after(&Arc::new(MemoryDevice::new(before.contents())), i64::MAX);
    act(&whole).unwrap();
    let all = whole.sectors.load(Ordering::Relaxed) as i64;
    assert!(all > 1);
    // The long runs of key material behave in the same way. Each LUKS2 copy at the end has 32 sectors: `act` is
    // interrupted around the first one, and around the metadata, which begins in the ninth.
    let places = (0..all).filter(|n| {
        let left = all - n;
        let edge = matches!(left % 32, 22..=24 | 31 | 0 | 1);
        *n < 3 || n % 197 == 0 || left <= 80 && (edge || left % 7 == 0)
    });
    for sectors in places {
        let device = Arc::new(MemoryDevice::new(before.contents()));
        let cut = Cut::after(&device, sectors);
        let result = act(&cut);
        let stopped = matches!(&result, Err(VolumeError::Io { .. }));
        assert!(stopped, "after {sectors} of {all}: {result:?}");
        check(&device, &format!("after {sectors} of {all} sectors"));
        // The result can be used: it can be repaired, and another key can be added.
        if sectors % 3 == 0 && opens(&device, "first") {
            let _ = repair(&*device, true);
            let id = add_key(&*device, &passphrase("first"), &passphrase("later"), &key_options());
            assert!(id.is_ok(), "after {sectors} of {all}: {id:?}");
            assert!(opens(&device, "later") && opens(&device, "first"));
        }
    }
}

#[test]
fn adding_a_key() {
    // LUKS2 is also tested with one copy damaged beforehand, so that only the other one is left.
    for (version, damaged) in [
        (Version::Luks1, None),
        (Version::Luks2, None),
        (Version::Luks2, Some(0)),
        (Version::Luks2, Some(16 << 10)),
    ] {
        let device = volume(&cheap(version));
        if let Some(offset) = damaged {
            device.write_at(offset, &[0; 512]).unwrap();
        }
        let act: Act = |device| {
            add_key(device, &passphrase("first"), &passphrase("second"), &key_options()).map(drop)
        };
        cut_everywhere(&device, act, |device, when| {
            assert!(opens(device, "first"), "{when}");
            // A keyslot that is listed already contains its key.
            let listed = info(&**device).unwrap().keyslots.len();
            assert_eq!(listed == 2, opens(device, "second"), "{when}");
        });
    }
}

#[test]
fn changing_a_key() {
    for version in [Version::Luks1, Version::Luks2] {
        let device = volume(&cheap(version));
        let act: Act = |device| {
            change_key(device, &passphrase("first"), &passphrase("second"), &key_options())
                .map(drop)
        };
        cut_everywhere(&device, act, |device, when| {
            assert!(opens(device, "first") || opens(device, "second"), "{when}");
        });
    }
}

#[test]
fn removing_a_key() {
    for version in [Version::Luks1, Version::Luks2] {
        let device = volume(&cheap(version));
        add_key(&*device, &passphrase("first"), &passphrase("second"), &key_options()).unwrap();
        let act: Act =
            |device| remove_key(device, Removal::Keyslot(1), false, &resources()).map(drop);
        cut_everywhere(&device, act, |device, when| assert!(opens(device, "first"), "{when}"));
    }
}

#[test]
fn repairing_either_copy() {
    for damaged in [0, 16 << 10] {
        let device = volume(&cheap(Version::Luks2));
        device.write_at(damaged, &[0; 512]).unwrap();
        let act: Act = |device| repair(device, true).map(drop);
        cut_everywhere(&device, act, |device, when| assert!(opens(device, "first"), "{when}"));
    }
}

#[test]
fn a_change_that_was_cut_off_between_the_copies_wins() {
    // The copy that was written first is newer, and the key in it opens the volume.
    let device = volume(&cheap(Version::Luks2));
    let whole = Cut::after(&Arc::new(MemoryDevice::new(device.contents())), i64::MAX);
    let add = |device: &dyn BlockDevice| {
        add_key(device, &passphrase("first"), &passphrase("second"), &key_options())
    };
    add(&whole).unwrap();
    let all = whole.sectors.load(Ordering::Relaxed) as i64;
    add(&Cut::after(&device, all - 32)).unwrap_err();
    assert!(opens(&device, "first") && opens(&device, "second"));
}
