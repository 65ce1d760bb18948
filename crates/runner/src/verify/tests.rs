//! Arms that fail in every possible way, each with the right error.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cryptbench_blockdev::{Extent, IoMode, IoTarget, SectorTransform, cached_share};
use cryptbench_record::ReadBack;
use cryptbench_system::{Backing, Closed, Content, Random, SystemError};
use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

use super::*;

const SIZE: u64 = 1 << 20;

/// A cipher: stored data is the given data combined with these bytes.
enum Under {
    Nothing,
    OneByte(u8),
    /// A separate stream for each block.
    Stream,
}

impl Under {
    fn apply(&self, offset: u64, data: &mut [u8]) {
        for (i, block) in data.chunks_mut(512).enumerate() {
            let mut key = vec![0; block.len()];
            match self {
                Self::Nothing => {}
                Self::OneByte(byte) => key.fill(*byte),
                Self::Stream => {
                    ChaCha8Rng::seed_from_u64(offset / 512 + i as u64).fill_bytes(&mut key);
                }
            }
            block.iter_mut().zip(key).for_each(|(byte, key)| *byte ^= key);
        }
    }
}

impl SectorTransform for Under {
    fn unit(&self) -> usize {
        512
    }

    fn seal(&self, offset: u64, plain: &[u8], stored: &mut [u8]) {
        stored.copy_from_slice(plain);
        self.apply(offset, stored);
    }

    fn open(&self, offset: u64, data: &mut [u8]) {
        self.apply(offset, data);
    }
}

/// What a system does instead of closing or reopening, with its storage file.
type Act = Box<dyn FnMut(&mut IoTarget, &Path) -> Result<(), SystemError>>;

struct Fake {
    io_target: IoTarget,
    stored: PathBuf,
    backing: Backing,
    at_rest: Act,
    at_wake: Act,
    woken: u32,
    _dir: tempfile::TempDir,
}

impl Fake {
    fn new(under: Under) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let stored = dir.path().join("stored");
        let file =
            OpenOptions::new().read(true).write(true).create_new(true).open(&stored).unwrap();
        file.set_len(SIZE).unwrap();
        Self {
            io_target: IoTarget {
                file: Arc::new(file),
                extent: Extent { offset: 0, len: SIZE },
                mode: IoMode::Buffered,
                transform: Some(Arc::new(under)),
            },
            backing: Backing {
                content: vec![Content::Path(stored.clone())],
                tree: None,
                random: Random::From(0),
                beside: None,
            },
            stored,
            at_rest: Box::new(|_, _| Ok(())),
            at_wake: Box::new(|_, _| Ok(())),
            woken: 0,
            _dir: dir,
        }
    }

    fn rests(
        mut self,
        act: impl FnMut(&mut IoTarget, &Path) -> Result<(), SystemError> + 'static,
    ) -> Self {
        self.at_rest = Box::new(act);
        self
    }

    fn wakes(
        mut self,
        act: impl FnMut(&mut IoTarget, &Path) -> Result<(), SystemError> + 'static,
    ) -> Self {
        self.at_wake = Box::new(act);
        self
    }
}

impl Subject for Fake {
    fn io_target(&self) -> &IoTarget {
        &self.io_target
    }

    fn files(&self) -> Option<&Path> {
        None
    }

    fn backing(&self) -> Option<&Backing> {
        Some(&self.backing)
    }

    fn close(&mut self) -> Result<Closed, SystemError> {
        (self.at_rest)(&mut self.io_target, &self.stored).map(|()| Closed::Unmounted)
    }

    fn reopen(&mut self) -> Result<(), SystemError> {
        self.woken += 1;
        (self.at_wake)(&mut self.io_target, &self.stored)
    }
}

fn proof_of(role: ArmRole, fakes: &mut [Fake]) -> Proof {
    let arm =
        |i: usize| Arm { id: i.to_string(), label: format!("arm {i}"), role, ..Arm::default() };
    let arms: Vec<_> = (0..fakes.len()).map(arm).collect();
    gather(fakes, &arms, Effort::FULL, &AtomicBool::new(false), &mut |_: &Event| {})
}

fn alone(fake: Fake) -> Proof {
    proof_of(ArmRole::Encrypted, &mut [fake])
}

fn refused() -> SystemError {
    SystemError::Busy { path: "/a/mount".into() }
}

/// Overwrites the stored data.
fn damage(_: &mut IoTarget, stored: &Path) -> Result<(), SystemError> {
    let file = File::options().write(true).open(stored).unwrap();
    file.write_all_at(&[7; 100], 5000).unwrap();
    Ok(())
}

#[test]
fn all_is_well() {
    let proof = alone(Fake::new(Under::Stream));
    assert!(proof.error.is_none() && proof.notes.is_empty(), "{:?}", proof.notes);
    assert!(!proof.was_cut);
    let evidence = &proof.evidence[0];
    assert_eq!((evidence.read_back(), evidence.written_bytes), (ReadBack::Whole, SIZE));
    assert_eq!(evidence.randomness(), Randomness::Random);
}

#[test]
fn what_does_not_come_to_rest_or_up_again_is_not_checked_and_lost_nothing() {
    for fake in [
        Fake::new(Under::Stream).rests(|_, _| Err(refused())),
        Fake::new(Under::Stream).wakes(|_, _| Err(refused())),
    ] {
        let proof = alone(fake);
        assert!(matches!(proof.error, Some(RunError::System(SystemError::Busy { .. }))));
        assert!(proof.notes[0].starts_with("arm 0 could not be checked: /a/mount is in use"));
        assert_eq!(proof.notes.len(), 1, "{:?}", proof.notes);
        let evidence = &proof.evidence[0];
        assert_eq!(evidence.read_back(), ReadBack::Unchecked);
        assert_eq!(evidence.failure, Some(refused().to_string()));
        assert!(evidence.lost.is_none());
    }
}

#[test]
fn what_is_gone_or_cannot_be_read_when_it_comes_up_again_is_lost() {
    let gone = |_: &mut IoTarget, stored: &Path| {
        Err(SystemError::Lost { path: stored.into(), problem: "it is not there".to_owned() })
    };
    let unreadable = |io_target: &mut IoTarget, stored: &Path| {
        io_target.file = Arc::new(File::options().write(true).open(stored).unwrap());
        Ok(())
    };
    for (fake, why) in [
        (Fake::new(Under::Stream).wakes(gone), "is not there"),
        (Fake::new(Under::Stream).wakes(unreadable), "cannot be read"),
        (Fake::new(Under::Stream).wakes(damage), "were read back unchanged"),
    ] {
        let proof = alone(fake);
        assert!(matches!(proof.error, Some(RunError::NotKept { .. })), "{why}");
        assert!(proof.notes[0].contains(why), "{:?}", proof.notes);
        let evidence = &proof.evidence[0];
        assert_eq!((evidence.read_back(), evidence.failure.as_ref()), (ReadBack::Lost, None));
    }
}

#[test]
fn of_plaintext_and_lost_data_plaintext_is_the_error_and_both_are_noted() {
    let proof = alone(Fake::new(Under::Nothing).wakes(damage));
    assert!(matches!(proof.error, Some(RunError::Plaintext { .. })));
    insta::assert_snapshot!(proof.notes.join("\n"), @"
        arm 0 does not encrypt: data written through it is stored as plaintext, at 16384 offsets; the first is byte 0 of stored.
        arm 0 does not encrypt as required: 256 of 256 blocks in its storage have too little entropy for ciphertext.
        arm 0 lost data: after it was closed and reopened, of 1048576 bytes written, only 1048448 were read back unchanged.
        ");
    // Regardless of the order of arms and of failures of the others.
    let mut fakes = [
        Fake::new(Under::Stream).rests(|_, _| Err(refused())),
        Fake::new(Under::Stream).wakes(damage),
        Fake::new(Under::Nothing),
    ];
    let proof = proof_of(ArmRole::Encrypted, &mut fakes);
    assert!(matches!(proof.error, Some(RunError::Plaintext { ref arm, .. }) if arm == "arm 2"));
    let begins: Vec<_> = proof.notes.iter().map(|n| n[..5].to_owned()).collect();
    assert_eq!(begins, ["arm 0", "arm 1", "arm 2", "arm 2"], "{:?}", proof.notes);
}

#[test]
fn plaintext_is_told_of_what_does_not_come_up_again() {
    let proof = alone(Fake::new(Under::Nothing).wakes(|_, _| Err(refused())));
    assert!(matches!(proof.error, Some(RunError::Plaintext { .. })));
    assert_eq!(proof.evidence[0].read_back(), ReadBack::Unchecked);
}

#[test]
fn what_is_not_as_random_as_ciphertext_fails_where_it_should_be() {
    let proof = alone(Fake::new(Under::OneByte(0x5a)));
    assert!(matches!(proof.error, Some(RunError::NotRandom { low: 256, blocks: 256, .. })));
    let evidence = &proof.evidence[0];
    assert_eq!(evidence.shows_plaintext(), Some(false), "in another guise");
    assert_eq!(evidence.randomness(), Randomness::Broken);
    let proof = proof_of(ArmRole::NullLayer, &mut [Fake::new(Under::OneByte(0x5a))]);
    assert!(proof.error.is_none());
    assert_eq!(proof.evidence[0].randomness(), Randomness::Untold);
    // A system with its own plain structures is doubtful, but does not fail.
    let mut directory = Fake::new(Under::OneByte(0x5a));
    directory.backing.random = Random::Mostly;
    let proof = alone(directory);
    assert!(proof.error.is_none());
    assert_eq!(proof.evidence[0].randomness(), Randomness::Doubtful);
}

#[test]
fn who_is_stopped_at_rest_is_not_brought_up_again() {
    let stop = Arc::new(AtomicBool::new(false));
    let set = Arc::clone(&stop);
    let fake = Fake::new(Under::Stream).rests(move |_, _| {
        set.store(true, Ordering::Relaxed);
        Ok(())
    });
    let mut fakes = [fake, Fake::new(Under::Stream)];
    let arm = Arm { role: ArmRole::Encrypted, ..Arm::default() };
    let proof = gather(&mut fakes, &[arm.clone(), arm], Effort::FULL, &stop, &mut |_: &Event| {});
    assert_eq!((fakes[0].woken, fakes[1].woken), (0, 0));
    assert!(proof.error.is_none() && proof.evidence.is_empty() && proof.notes.is_empty());
    assert!(proof.was_cut);
}

/// Both the search and the reopened arm read from the storage.
#[test]
fn nothing_of_what_rests_is_in_memory_when_it_is_brought_up_again() {
    let fake = Fake::new(Under::Stream).wakes(|_, stored| {
        let file = File::open(stored).unwrap();
        match cached_share(&file, 0..SIZE) {
            None => eprintln!("SKIPPED: this kernel has no cachestat(2)"),
            Some(_) if rustix::fs::fstatfs(&file).unwrap().f_type as u64 == 0x0102_1994 => {
                eprintln!("SKIPPED: files on tmpfs cannot be dropped from memory");
            }
            Some(share) => assert_eq!(share, 0.0),
        }
        Ok(())
    });
    // Dirty pages, as left by a program that was asked to exit.
    let fake = fake.rests(|io_target, _| {
        let mut data = vec![0; SIZE as usize];
        io_target.file.read_exact_at(&mut data, 0).unwrap();
        io_target.file.write_all_at(&data, 0).unwrap();
        Ok(())
    });
    assert!(alone(fake).error.is_none());
}

#[test]
fn with_little_time_less_is_written_and_searched() {
    let pace = Pace { write: 1e6, read: 1e6, request_s: 0.001, ..Pace::default() };
    assert_eq!(Effort::within(1e6, &pace), Effort::FULL);
    assert_eq!(Effort::within(60.0, &Pace::default()), Effort::FULL);
    let little = Effort::within(6.54, &pace);
    assert_eq!(little, Effort { region: 1_000_000, search: 2_000_000 });
    assert!(little.seconds(true, &pace) < 6.54);
    let none = Effort::within(-1.0, &pace);
    assert_eq!(none, Effort { region: write::LEAST_REGION, search: 2 * write::LEAST_REGION });
    let mut fakes = [Fake::new(Under::Nothing)];
    let arm = Arm { role: ArmRole::Encrypted, ..Arm::default() };
    let proof = gather(&mut fakes, &[arm], none, &AtomicBool::new(false), &mut |_: &Event| {});
    assert_eq!(proof.evidence[0].written_bytes, write::LEAST_REGION);
    assert!(matches!(proof.error, Some(RunError::Plaintext { .. })), "it is still found");
}
