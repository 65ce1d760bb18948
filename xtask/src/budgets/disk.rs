//! A disk with a limited rate: ext4 on a loop device, whose requests the kernel delays (blkio.throttle of
//! cgroup v1, io.max of v2).

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail};
use clap::ValueEnum;

/// Size of the image in bytes; unwritten parts do not occupy space.
const BYTES: u64 = 12 << 30;

/// The directories of the two kinds of control groups.
const V1: &str = "/sys/fs/cgroup/blkio";
const V2: &str = "/sys/fs/cgroup";

/// The limits of a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Limit {
    /// Nothing
    Fast,
    /// 5 MB/s
    #[value(name = "5mb")]
    FiveMegabytes,
    /// 1 MB/s
    #[value(name = "1mb")]
    OneMegabyte,
    /// 60 requests per second
    #[value(name = "60iops")]
    SixtyRequests,
}

impl Limit {
    pub fn in_words(self) -> &'static str {
        match self {
            Self::Fast => "as it is",
            Self::FiveMegabytes => "5 MB/s",
            Self::OneMegabyte => "1 MB/s",
            Self::SixtyRequests => "60 IOPS",
        }
    }

    /// Bytes and requests per second.
    fn rates(self) -> (Option<u64>, Option<u64>) {
        match self {
            Self::Fast => (None, None),
            Self::FiveMegabytes => (Some(5_000_000), None),
            Self::OneMegabyte => (Some(1_000_000), None),
            Self::SixtyRequests => (None, Some(60)),
        }
    }
}

/// The disk. Dropping it removes it.
pub struct HeldDisk {
    /// Its mount point.
    pub directory: PathBuf,
    device: PathBuf,
    /// Number of the device, in the form that control groups use.
    number: String,
    _place: tempfile::TempDir,
}

impl HeldDisk {
    pub fn make(place: &Path) -> anyhow::Result<Self> {
        let place = tempfile::Builder::new().prefix("budgets").tempdir_in(place)?;
        let image = place.path().join("image");
        fs::File::create_new(&image)?.set_len(BYTES)?;
        let found = output("losetup", &["--find", "--show", "--direct-io=on", text(&image)?])?;
        let device = PathBuf::from(found.trim());
        let directory = place.path().join("disk");
        let mut made = Self { directory, device, number: String::new(), _place: place };
        let name = made.device.file_name().context("losetup named no device")?;
        let number = fs::read_to_string(Path::new("/sys/block").join(name).join("dev"))?;
        number.trim().clone_into(&mut made.number);
        output("mkfs.ext4", &["-q", "-E", "lazy_itable_init=0", text(&made.device)?])?;
        fs::create_dir(&made.directory)?;
        output("mount", &[text(&made.device)?, text(&made.directory)?])?;
        Ok(made)
    }

    /// Limits the requests of every process to `limit`.
    pub fn hold(&self, limit: Limit) -> anyhow::Result<()> {
        let (bytes, requests) = limit.rates();
        let number = &self.number;
        if Path::new(V1).join("blkio.throttle.read_bps_device").exists() {
            for (kind, rate) in [("bps", bytes), ("iops", requests)] {
                for direction in ["read", "write"] {
                    let file =
                        Path::new(V1).join(format!("blkio.throttle.{direction}_{kind}_device"));
                    write(&file, &format!("{number} {}", rate.unwrap_or(0)))?;
                }
            }
            return Ok(());
        }
        // The root group of v2 has no limits, so this process and its children are moved to a separate group.
        let group = Path::new(V2).join("cryptbench-budgets");
        let _ = fs::create_dir(&group);
        write(&Path::new(V2).join("cgroup.subtree_control"), "+io")?;
        write(&group.join("cgroup.procs"), &std::process::id().to_string())?;
        let rate = |rate: Option<u64>| rate.map_or("max".to_owned(), |rate| rate.to_string());
        let (bytes, requests) = (rate(bytes), rate(requests));
        let line = format!("{number} rbps={bytes} wbps={bytes} riops={requests} wiops={requests}");
        write(&group.join("io.max"), &line)
    }
}

impl Drop for HeldDisk {
    fn drop(&mut self) {
        let _ = self.hold(Limit::Fast);
        for (program, of) in [("umount", &self.directory), ("losetup", &self.device)] {
            let detach = (program == "losetup").then_some("--detach");
            let _ = Command::new(program).args(detach).arg(of).output();
        }
        let group = Path::new(V2).join("cryptbench-budgets");
        if group.exists() {
            let _ = write(&Path::new(V2).join("cgroup.procs"), &std::process::id().to_string());
            let _ = fs::remove_dir(group);
        }
    }
}

fn text(path: &Path) -> anyhow::Result<&str> {
    path.to_str().context("a path that is not Unicode")
}

fn write(file: &Path, line: &str) -> anyhow::Result<()> {
    // These are files of the kernel, so a missing file is not created.
    let opened = fs::File::options().write(true).open(file);
    let written = opened.and_then(|mut file| file.write_all(line.as_bytes()));
    written.with_context(|| format!("{}: {line}", file.display()))
}

fn output(program: &str, arguments: &[&str]) -> anyhow::Result<String> {
    let out = Command::new(program).args(arguments).output().with_context(|| program.to_owned())?;
    match out.status.success() {
        true => Ok(String::from_utf8(out.stdout)?),
        false => bail!("{program}: {}", String::from_utf8_lossy(&out.stderr).trim()),
    }
}
