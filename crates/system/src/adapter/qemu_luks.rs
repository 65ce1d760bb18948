//! QEMU's own LUKS in user space: qemu-storage-daemon serves the plaintext as a file through FUSE, with a loop
//! device and ext4 on top. The null layer is the same path with QEMU's raw format.
#![expect(clippy::disallowed_methods, reason = "files of a run, for now")]

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use cryptbench_catalog::{self as catalog, Remedy};

use crate::command::{Invocation, run};
use crate::kind::mapped::{Disk, IO_TARGET, Mapped, Volume};
use crate::machine::Machine;
use crate::resource::{ResourceStack, WorkTree, daemon, loop_device};
use crate::settings::luks_arms;
use crate::system::{Kind, Setting, System};
use crate::{Availability, SystemError};

const DAEMON: &str = "qemu-storage-daemon";

/// Space for the header in bytes: QEMU uses the first 4 MiB for it.
const HEADER: u64 = 4 << 20;

const SETTINGS: &[Setting] = &[
    Setting {
        name: "cipher",
        about: "cipher and key size (XTS mode)",
        values: &["aes-256-xts", "aes-128-xts", "serpent-256-xts", "twofish-256-xts"],
    },
    IO_TARGET,
];

/// LUKS1 by QEMU.
pub(crate) static QEMU_LUKS: System = System {
    settings: SETTINGS,
    availability,
    arms: |system, selection, _| Ok(luks_arms(system, selection, "QEMU", ("raw", "raw"))),
    ..System::new(&catalog::QEMU_LUKS, Kind::Mapped(Mapped::new(open, |_, _| HEADER)))
};

fn availability(_: &System, machine: &Machine) -> Availability {
    if let Some(program) = machine.missing(&["qemu-img", DAEMON]) {
        return Availability::without(
            format!("{program} is not installed"),
            Remedy::program(program),
        );
    }
    if let Some(lacking) = machine.lacks_fuse().or_else(|| machine.lacks_disks()) {
        return lacking;
    }
    let version = version();
    Availability::Available(match takes_parallel_requests(&version) {
        true => version,
        false => format!("{version} (before 10.1: one request at a time)"),
    })
}

/// Extracts `7.2.22` from `qemu-storage-daemon version 7.2.22 (Debian ...)`.
fn version() -> String {
    let said = run(DAEMON, ["--version"]).unwrap_or_default();
    said.split_whitespace().nth(2).unwrap_or("of unknown version").to_owned()
}

/// Whether the FUSE export can handle parallel requests. In QEMU 7.2, reading the next request overwrites the
/// buffer of a write that is still running, which corrupts the written data: an ext4 created through a loop
/// device with direct I/O does not mount. Newer versions copy the buffer first (the comment in
/// `read_from_fuse_export()`, `block/export/fuse.c`); this is assumed for version 10.1 and later.
fn takes_parallel_requests(version: &str) -> bool {
    let mut numbers = version.split('.').map(str::parse::<u32>);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => (major, minor) >= (10, 1),
        _ => false,
    }
}

/// Writes a header that `secret` unlocks to the start of the container.
fn format(cipher: &str, volume: &Volume<'_>, stack: &mut ResourceStack) -> Result<(), SystemError> {
    let container = &volume.container.path;
    let what = WorkTree { path: container.with_extension("store") };
    stack.create(what.clone(), || what.make())?;
    let image = &what.path.join("header");
    let creates = create(cipher, image).input(volume.secret.clone());
    let machine = Machine::this();
    until_timed(|| daemon::run_to_its_end(stack, "qemu-img", &creates, image, &machine))?;
    put_header(image, container)?;
    stack.destroy_last()
}

/// Calls `make` until qemu-img can time its key derivation. qemu-img fails if the kernel counts no CPU time for a short
/// trial (`qcrypto_pbkdf2_count_iters()`, `crypto/pbkdf.c`), which happens in virtual machines that share their CPUs.
/// Each attempt has the same chance of success.
fn until_timed(mut make: impl FnMut() -> Result<(), SystemError>) -> Result<(), SystemError> {
    const UNTIMED: &str = "Unable to get accurate CPU usage";
    const TRIES: usize = 20;
    let mut made = make();
    for _ in 1..TRIES {
        match &made {
            Err(SystemError::Program { reason, .. }) if reason.contains(UNTIMED) => made = make(),
            _ => break,
        }
    }
    made
}

/// Serves the container, decrypted if there is a cipher.
fn open(volume: &Volume<'_>, stack: &mut ResourceStack) -> Result<Disk, SystemError> {
    let cipher = volume.arm.cipher;
    if let (Some(cipher), true) = (cipher, volume.is_new) {
        format(cipher, volume, stack)?;
    }
    let (file, daemon) = daemon::serve_file(stack, DAEMON, |at| {
        let words = serve(&volume.container.path, cipher.is_some(), at);
        let invocation = Invocation::new(DAEMON).args(words);
        match cipher {
            Some(_) => invocation.input(volume.secret.clone()),
            None => invocation,
        }
    })?;
    let device = loop_device::create(stack, &file, false)?;
    if !takes_parallel_requests(&version()) {
        loop_device::carry_in_turn(&device)?;
    }
    Ok(Disk { file: Some(file), daemons: vec![daemon], ..Disk::by_kernel(device) })
}

/// Creates a small image, of which only the header is needed. Key derivation is configured to be cheap, because
/// unlocking is not measured.
fn create(cipher: &str, image: &Path) -> Invocation {
    let (algorithm, _) = cipher.rsplit_once('-').unwrap_or((cipher, ""));
    let options = format!(
        "key-secret=key,cipher-alg={algorithm},cipher-mode=xts,ivgen-alg=plain64,iter-time=10"
    );
    Invocation::new("qemu-img")
        .args(["create", "-q", "-f", "luks", "--object", SECRET, "-o", &options])
        .args([image.as_os_str(), "1M".as_ref()])
}

/// The passphrase comes through standard input, which is a pipe.
const SECRET: &str = "secret,id=key,file=/dev/stdin";

/// Arguments with which the daemon serves `container` at `mount_point`. Commas in a path are
/// doubled (qemu(1)).
fn serve(container: &Path, luks: bool, mount_point: &Path) -> Vec<OsString> {
    let below = "driver=file,node-name=below,cache.direct=on,aio=io_uring,filename=";
    let mut words = vec!["--blockdev".into(), with_path(below, container)];
    let disk = if luks {
        words.extend(["--object", SECRET].map(OsString::from));
        "driver=luks,file=below,key-secret=key,node-name=disk"
    } else {
        "driver=raw,file=below,node-name=disk"
    };
    words.extend(["--blockdev", disk, "--export"].map(OsString::from));
    words
        .push(with_path("type=fuse,id=export,node-name=disk,writable=on,mountpoint=", mount_point));
    words
}

fn with_path(options: &str, path: &Path) -> OsString {
    let mut word = OsString::from(options);
    let mut parts = path.as_os_str().as_bytes().split(|byte| *byte == b',');
    word.extend(parts.next().map(OsStr::from_bytes));
    parts.for_each(|part| word.extend([OsStr::new(",,"), OsStr::from_bytes(part)]));
    word
}

/// Writes the header of `image` to the start of the filled container. A LUKS1 header does not contain the
/// length of the volume, only the offset of its payload (LUKS1 On-Disk Format, figure 1).
fn put_header(image: &Path, container: &Path) -> Result<(), SystemError> {
    let bytes = fs::read(image).map_err(SystemError::io("read", image))?;
    let sectors = bytes.get(104..108).and_then(|b| b.try_into().ok()).map(u32::from_be_bytes);
    let header = sectors.and_then(|s| bytes.get(..s as usize * 512)).ok_or_else(|| {
        SystemError::Program {
            program: "qemu-img",
            reason: "it did not create a LUKS1 header".to_owned(),
        }
    })?;
    let file = fs::OpenOptions::new().write(true).open(container);
    let file = file.map_err(SystemError::io("open", container))?;
    file.write_all_at(header, 0)
        .and_then(|()| file.sync_all())
        .map_err(SystemError::io("write", container))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Selection;

    #[test]
    fn a_key_derivation_that_was_not_timed_is_tried_again() {
        let tries = |reason: &str, failing: usize| {
            let mut count = 0;
            let made = until_timed(|| {
                count += 1;
                let reason = format!("qemu-img: /x/header: {reason}");
                let failed = SystemError::Program { program: "qemu-img", reason };
                if count > failing { Ok(()) } else { Err(failed) }
            });
            (made.is_ok(), count)
        };
        let untimed = "Unable to get accurate CPU usage";
        assert_eq!(tries(untimed, 0), (true, 1));
        assert_eq!(tries(untimed, 2), (true, 3));
        assert_eq!(tries(untimed, 99), (false, 20));
        assert_eq!(tries("No space left on device", 9), (false, 1));
    }

    #[test]
    fn arms_are_a_null_layer_and_each_cipher() {
        let ids = |selection: &Selection| -> Vec<_> {
            QEMU_LUKS.arms(selection).unwrap().into_iter().map(|a| a.id).collect()
        };
        assert_eq!(ids(&Selection::default()), ["qemu-luks/raw", "qemu-luks/aes-256-xts"]);
        let settings = [("io-target".to_owned(), vec!["device".to_owned()])].into();
        let ciphers = vec!["serpent-256-xts".to_owned()];
        assert_eq!(
            ids(&Selection { settings, ciphers, ..Selection::default() }),
            ["qemu-luks/raw/io-target=device", "qemu-luks/serpent-256-xts/io-target=device"]
        );
    }

    #[test]
    fn versions_that_damage_parallel_writes_are_known() {
        for (version, takes) in
            [("7.2.22", false), ("10.0.4", false), ("10.1.0", true), ("11.0", true), ("?", false)]
        {
            assert_eq!(takes_parallel_requests(version), takes, "{version}");
        }
    }

    #[test]
    fn no_secret_is_among_the_words_and_commas_are_doubled() {
        let words = serve(Path::new("/a,b/c"), true, Path::new("/run/x"));
        assert_eq!(
            words.join(OsStr::new(" ")),
            *"--blockdev driver=file,node-name=below,cache.direct=on,aio=io_uring,filename=/a,,b/c \
             --object secret,id=key,file=/dev/stdin \
             --blockdev driver=luks,file=below,key-secret=key,node-name=disk \
             --export type=fuse,id=export,node-name=disk,writable=on,mountpoint=/run/x"
        );
        let raw = serve(Path::new("/c"), false, Path::new("/run/x")).join(OsStr::new(" "));
        let raw = raw.to_str().unwrap();
        assert!(!raw.contains("secret") && raw.contains("driver=raw"), "{raw}");
    }

    #[test]
    fn what_is_no_header_is_not_put_anywhere() {
        let dir = tempfile::tempdir().unwrap();
        let (image, container) = (dir.path().join("image"), dir.path().join("container"));
        fs::write(&container, "kept").unwrap();
        for bytes in [vec![], vec![0xff; 200]] {
            fs::write(&image, bytes).unwrap();
            assert!(put_header(&image, &container).is_err());
            assert_eq!(fs::read(&container).unwrap(), b"kept");
        }
    }
}
