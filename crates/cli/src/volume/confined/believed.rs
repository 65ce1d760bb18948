//! Everything that the keeper accepts from the confined process, with the check that each part must pass. If a
//! malicious header takes over that process, the process can send anything.

use anyhow::bail;
use cryptbench_blockdev::BlockDevice as _;
use cryptbench_volume::Volume;

/// The accepted messages, and their limits. SECURITY.md prints this list.
#[cfg(test)]
const BELIEVED: [(&str, &str); 11] = [
    (
        "which credentials the volume needs",
        "three values, each yes or no; the worst case is an unnecessary prompt",
    ),
    (
        "that the volume is read-only",
        "never that it is writable if the user or the storage makes it read-only",
    ),
    ("its sector size", "a power of two from 512 to 4096 bytes"),
    ("its size", "a multiple of 512 bytes, at most the size of the file or device"),
    (
        "that it can be served as a block device",
        "only if the kernel supports ublk; the kernel checks the requests of the confined process",
    ),
    ("that it is serving", "one word, after the request to serve; until then nothing is mounted"),
    (
        "the file in its mount",
        "a regular file of that mount with that size, opened once without following links, and used through its file descriptor",
    ),
    (
        "the name of an eCryptfs file",
        "one path component, at most 255 bytes; a new file in a directory that is held open, never replacing another",
    ),
    ("the target of an eCryptfs link", "at most 4095 bytes, stored but never followed"),
    (
        "the content of an eCryptfs file",
        "the process fills a new file, and nothing depends on its length; sizes, keys and reasons are only shown",
    ),
    (
        "its text and its exit code",
        "printable characters, at most 4 MiB; exit code 0 without a reply is an error",
    ),
];

/// The credentials that the header requires.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Asks {
    pub luks: bool,
    /// The volume is BitLocker or FileVault: it has recovery passwords, and its keys cannot be changed with this
    /// program.
    pub recovery: bool,
    /// The volume can be opened without credentials.
    pub nothing: bool,
}

impl Asks {
    pub(super) fn say(self) -> [u8; 3] {
        [self.luks, self.recovery, self.nothing].map(u8::from)
    }

    pub(super) fn believe(said: &[u8]) -> anyhow::Result<Self> {
        match *said {
            [luks @ 0..=1, recovery @ 0..=1, nothing @ 0..=1] => {
                Ok(Self { luks: luks == 1, recovery: recovery == 1, nothing: nothing == 1 })
            }
            _ => bail!("the confined process sent an unexpected reply: {said:?}"),
        }
    }
}

/// A volume that a child has opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opened {
    pub read_only: bool,
    /// Whether the volume can be served as a disk.
    pub as_disk: bool,
    /// Bytes.
    pub sector: usize,
    /// Bytes.
    pub size: u64,
}

impl Opened {
    pub(super) fn of(volume: &Volume, has_rings: bool) -> Self {
        Self {
            read_only: volume.is_read_only(),
            as_disk: has_rings && volume.io_target().is_some(),
            sector: volume.sector(),
            size: volume.size(),
        }
    }

    pub(super) fn say(self) -> [u8; 18] {
        let mut said = [0; 18];
        said[0] = self.read_only.into();
        said[1] = self.as_disk.into();
        said[2..10].copy_from_slice(&(self.sector as u64).to_le_bytes());
        said[10..].copy_from_slice(&self.size.to_le_bytes());
        said
    }

    /// `read_only` comes from the user and the storage, and `most` is the size of the storage in bytes.
    pub(super) fn believe(said: &[u8], read_only: bool, most: u64) -> anyhow::Result<Self> {
        let Ok(said) = <&[u8; 18]>::try_from(said) else {
            bail!("the confined process opened no volume and sent {said:?}");
        };
        let word = |at: usize| {
            said[at..at + 8].iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
        };
        let (sector, size) = (word(2), word(10));
        if !(512..=4096).contains(&sector) || !sector.is_power_of_two() {
            bail!("the confined process reported an impossible sector size: {sector} bytes");
        }
        if size > most || !size.is_multiple_of(512) {
            bail!(
                "the confined process reported an impossible volume size: {size} bytes, but the storage has {most}"
            );
        }
        // The volume is writable only if the value is 0.
        let read_only = read_only || said[0] != 0;
        Ok(Self { read_only, as_disk: said[1] == 1, sector: sector as usize, size })
    }
}

/// The child has started to serve the volume.
pub(super) const UP: &[u8] = b"up";

pub(super) fn believe_up(said: &[u8]) -> anyhow::Result<()> {
    match said == UP {
        true => Ok(()),
        false => bail!("the confined process is not serving and sent {said:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPENED: Opened = Opened { read_only: false, as_disk: false, sector: 4096, size: 1 << 40 };

    #[test]
    fn what_is_true_is_believed() {
        assert_eq!(Opened::believe(&OPENED.say(), false, 1 << 40).unwrap(), OPENED);
        let asks = Asks { recovery: true, ..Asks::default() };
        assert_eq!(Asks::believe(&asks.say()).unwrap(), asks);
        believe_up(UP).unwrap();
    }

    #[test]
    fn lies_are_not() {
        let believe = |opened: Opened| Opened::believe(&opened.say(), true, 1 << 40);
        assert!(believe(OPENED).unwrap().read_only, "the user or the storage said so");
        for size in [(1 << 40) + 512, 1000, u64::MAX] {
            assert!(believe(Opened { size, ..OPENED }).is_err(), "{size}");
        }
        for sector in [0, 1, 256, 1000, 8192, usize::MAX] {
            assert!(believe(Opened { sector, ..OPENED }).is_err(), "{sector}");
        }
        let mut odd = OPENED.say();
        odd[..2].fill(7);
        let odd = Opened::believe(&odd, false, 1 << 40).unwrap();
        assert!(odd.read_only && !odd.as_disk);
        for short in [&[][..], &OPENED.say()[..17], b"up"] {
            assert!(Opened::believe(short, false, 1 << 40).is_err());
        }
        for asks in [&[][..], &[1, 2, 0], &[0, 0], &[0; 4]] {
            assert!(Asks::believe(asks).is_err(), "{asks:?}");
        }
        assert!(believe_up(b"").is_err() && believe_up(&OPENED.say()).is_err());
    }

    /// The list that SECURITY.md has is this one.
    #[test]
    fn security_md_lists_all_that_is_believed() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../SECURITY.md");
        let page = std::fs::read_to_string(page).unwrap();
        for (what, how_far) in BELIEVED {
            assert!(page.contains(&format!("| {what} | {how_far} |\n")), "{what}");
        }
        let rows = page.lines().skip_while(|line| !line.starts_with("| it believes")).skip(2);
        let rows = rows.take_while(|line| line.starts_with("| ")).count();
        assert_eq!(rows, BELIEVED.len(), "as many as here");
    }
}
