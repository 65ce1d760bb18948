//! Layers that handle requests as another driver would: one at a time, in pieces, or with two writes for one.
//! They do not encrypt, so their cost is what such a driver costs on this disk. With them, a hypothesis about a
//! closed-source program can be tested.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use cryptbench_blockdev::{BlockDevice, FileDevice, Passes, SectorTransform};
use cryptbench_catalog as catalog;
use cryptbench_cipher::Tier;
use zeroize::Zeroizing;

use crate::kind::served::Served;
use crate::machine::Machine;
use crate::resource::container::Container;
use crate::settings::{choices, identifier, in_words};
use crate::system::{Kind, Role, Setting, System};
use crate::{ArmSpec, Availability, Features, Selection, SystemError};

const SIZE: &str = "piece-size";

const WRITES: &str = "writes";
const TWICE: &str = "2";

const SETTINGS: &[Setting] = &[
    Setting {
        name: SIZE,
        about: "maximum size of the pieces in which a request is passed on",
        values: &["128KiB", "4KiB", "16KiB", "32KiB", "64KiB", "256KiB"],
    },
    Setting {
        name: WRITES,
        about: "number of times that each piece is written; 2 corresponds to a data journal",
        values: &["1", TWICE],
    },
];

const INLINE: Kind =
    Kind::Inline(|arm, _| Ok::<Arc<dyn SectorTransform>, _>(Arc::new(Unchanged(passes(arm)))));

const MOUNTED: Kind = Kind::Served(Served { secret: |_| Ok(Zeroizing::default()), open });

/// Handles one request at a time, in the measuring process.
pub(crate) static SERIAL: System =
    System { in_all: false, arms, ..System::new(&catalog::SERIAL, INLINE) };

/// The same behind FUSE.
pub(crate) static SERIAL_MOUNTED: System =
    System { in_all: false, availability, arms, ..System::new(&catalog::SERIAL_MOUNTED, MOUNTED) };

/// Splits requests into pieces and handles one after another, in the measuring process.
pub(crate) static PIECES: System =
    System { in_all: false, settings: SETTINGS, arms, ..System::new(&catalog::PIECES, INLINE) };

/// The same behind FUSE.
pub(crate) static PIECES_MOUNTED: System = System {
    in_all: false,
    settings: SETTINGS,
    availability,
    arms,
    ..System::new(&catalog::PIECES_MOUNTED, MOUNTED)
};

fn availability(_: &System, machine: &Machine) -> Availability {
    let version = || Availability::Available(env!("CARGO_PKG_VERSION").to_owned());
    machine.lacks_fuse().unwrap_or_else(version)
}

fn arms(system: &System, selection: &Selection, _: &Features) -> Result<Vec<ArmSpec>, SystemError> {
    let arm = |values| {
        let mut arm = system.arm(identifier(system, &values), "one at a time", Role::NullLayer);
        if let Some(size) = values.get(SIZE) {
            arm.label = format!("pieces of {}", size.replace("KiB", " KiB"));
        }
        if values.get(WRITES) == Some(&TWICE) {
            arm.label.push_str(", written twice");
        }
        if matches!(system.kind, Kind::Served(_)) {
            arm.label.push_str(", mounted");
        }
        arm.settings = in_words(&values);
        arm
    };
    Ok(choices(system, selection).into_iter().map(arm).collect())
}

fn passes(arm: &ArmSpec) -> Passes {
    let kib = |words: &String| words.trim_end_matches("KiB").parse::<u32>();
    let piece = arm.settings.get(SIZE);
    let piece = piece.map(|words| kib(words).expect("values are those of the settings") << 10);
    Passes {
        is_serial: piece.is_none(),
        piece,
        writes_twice: arm.settings.get(WRITES).is_some_and(|times| times == TWICE),
    }
}

/// A transform that does not change the data.
struct Unchanged(Passes);

impl SectorTransform for Unchanged {
    fn unit(&self) -> usize {
        512
    }

    fn seal(&self, _offset: u64, plain: &[u8], stored: &mut [u8]) {
        stored.copy_from_slice(plain);
    }

    fn open(&self, _offset: u64, _data: &mut [u8]) {}

    fn passes(&self) -> Passes {
        self.0
    }
}

/// A device that passes requests on to another.
struct Passing<D> {
    below: D,
    /// Locked during a request, if requests are handled one at a time.
    turn: Option<Mutex<()>>,
    piece: Option<usize>,
    writes: u32,
}

fn open(
    arm: &ArmSpec,
    _key: &[u8],
    container: &Container,
    _: Tier,
) -> Result<Arc<dyn BlockDevice>, SystemError> {
    let path = &container.path;
    let below =
        FileDevice::open(path, container.mode, false).map_err(SystemError::io("open", path))?;
    Ok(Arc::new(Passing::new(below, passes(arm))))
}

impl<D: BlockDevice> Passing<D> {
    fn new(below: D, Passes { is_serial, piece, writes_twice }: Passes) -> Self {
        let (turn, writes) = (is_serial.then(Mutex::default), 1 + u32::from(writes_twice));
        Self { below, turn, piece: piece.map(|bytes| bytes as usize), writes }
    }

    /// Executes a request; `act` transfers the bytes of one range.
    fn carry(
        &self,
        len: usize,
        mut act: impl FnMut(std::ops::Range<usize>) -> io::Result<()>,
    ) -> io::Result<()> {
        let _turn =
            self.turn.as_ref().map(|turn| turn.lock().unwrap_or_else(PoisonError::into_inner));
        let piece = self.piece.unwrap_or(len).max(1);
        (0..len).step_by(piece).try_for_each(|at| act(at..(at + piece).min(len)))
    }
}

impl<D: BlockDevice> BlockDevice for Passing<D> {
    fn size(&self) -> u64 {
        self.below.size()
    }

    fn sector(&self) -> usize {
        self.below.sector()
    }

    fn is_read_only(&self) -> bool {
        self.below.is_read_only()
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        self.carry(buf.len(), |part| self.below.read_at(offset + part.start as u64, &mut buf[part]))
    }

    fn write_at(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.carry(data.len(), |part| {
            let at = offset + part.start as u64;
            (0..self.writes).try_for_each(|_| self.below.write_at(at, &data[part.clone()]))
        })
    }

    fn flush(&self) -> io::Result<()> {
        self.below.flush()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
    use std::time::Duration;

    use super::*;

    /// Counts its concurrent requests, and their lengths.
    #[derive(Default)]
    struct Watched {
        now: AtomicUsize,
        most: AtomicUsize,
        requests: Mutex<Vec<(u64, usize)>>,
    }

    impl Watched {
        fn request(&self, offset: u64, len: usize) -> io::Result<()> {
            self.most.fetch_max(self.now.fetch_add(1, SeqCst) + 1, SeqCst);
            std::thread::sleep(Duration::from_millis(5));
            self.requests.lock().unwrap().push((offset, len));
            self.now.fetch_sub(1, SeqCst);
            Ok(())
        }
    }

    impl BlockDevice for Watched {
        fn size(&self) -> u64 {
            1 << 20
        }

        fn sector(&self) -> usize {
            512
        }

        fn is_read_only(&self) -> bool {
            false
        }

        fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
            self.request(offset, buf.len())
        }

        fn write_at(&self, offset: u64, data: &[u8]) -> io::Result<()> {
            self.request(offset, data.len())
        }

        fn flush(&self) -> io::Result<()> {
            Ok(())
        }
    }

    fn settings(sizes: &[&str]) -> Selection {
        let sizes = sizes.iter().map(ToString::to_string).collect();
        Selection { settings: [(SIZE.to_owned(), sizes)].into(), ..Selection::default() }
    }

    #[test]
    fn arms_say_how_they_pass_requests_on() {
        let told = |system: &System, selection: &Selection| -> Vec<_> {
            let arms = system.arms(selection).unwrap();
            arms.iter().map(|arm| (arm.id.clone(), arm.label.clone(), passes(arm))).collect()
        };
        let serial = Passes { is_serial: true, ..Passes::default() };
        let usual = Selection::default();
        let one = |id: &str, label: &str, passes| vec![(id.to_owned(), label.to_owned(), passes)];
        assert_eq!(told(&SERIAL, &usual), one("serial", "one at a time", serial));
        let mounted = one("serial-mounted", "one at a time, mounted", serial);
        assert_eq!(told(&SERIAL_MOUNTED, &usual), mounted);
        let of = |kib: u32| Passes { piece: Some(kib << 10), ..Passes::default() };
        assert_eq!(told(&PIECES, &usual), one("pieces", "pieces of 128 KiB", of(128)));
        let both = told(&PIECES_MOUNTED, &settings(&["4KiB", "64KiB"]));
        assert_eq!(both[0].0, "pieces-mounted/piece-size=4KiB");
        assert_eq!((both[0].2, both[1].2, both.len()), (of(4), of(64), 2));
        let mut twice = settings(&["128KiB"]);
        twice.settings.insert(WRITES.to_owned(), vec![TWICE.to_owned()]);
        let passes = Passes { writes_twice: true, ..of(128) };
        assert_eq!(
            told(&PIECES, &twice),
            one("pieces/writes=2", "pieces of 128 KiB, written twice", passes)
        );
    }

    #[test]
    fn a_serial_device_passes_one_request_at_a_time() {
        for (is_serial, most) in [(true, 1), (false, 4)] {
            let device =
                Passing::new(Watched::default(), Passes { is_serial, ..Passes::default() });
            std::thread::scope(|scope| {
                for at in 0..4 {
                    let device = &device;
                    scope.spawn(move || device.read_at(at * 4096, &mut [0; 4096]).unwrap());
                }
            });
            assert_eq!(device.below.requests.lock().unwrap().len(), 4);
            let found = device.below.most.load(SeqCst);
            assert!(if is_serial { found == most } else { found > 1 && found <= most }, "{found}");
        }
    }

    #[test]
    fn pieces_follow_one_another() {
        let device =
            Passing::new(Watched::default(), Passes { piece: Some(4096), ..Passes::default() });
        device.write_at(8192, &[0; 10_240]).unwrap();
        let requests = device.below.requests.lock().unwrap().clone();
        assert_eq!(requests, [(8192, 4096), (12_288, 4096), (16_384, 2048)]);
        assert_eq!(device.below.most.load(SeqCst), 1);
        let passes = Passes { piece: Some(4096), writes_twice: true, ..Passes::default() };
        let device = Passing::new(Watched::default(), passes);
        device.write_at(8192, &[0; 6144]).unwrap();
        device.read_at(0, &mut [0; 512]).unwrap();
        let requests = device.below.requests.lock().unwrap().clone();
        let written = [(8192, 4096), (8192, 4096), (12_288, 2048), (12_288, 2048)];
        assert_eq!(requests, [&written[..], &[(0, 512)]].concat());
    }
}
