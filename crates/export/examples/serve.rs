//! Serves a file for `cargo xtask bench volume`: unchanged, or under a cipher with a fixed key.
//!
//! Prints `ready` and the path of the file, disk or socket, and exits at the end of its standard input.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cryptbench_blockdev::{BlockDevice, Extent, FileDevice, IoMode};
use cryptbench_cipher::{Layout, find, tier};
use cryptbench_export::fuse::{FuseOptions, Mounted, Transport, mount, serve_mounted};
use cryptbench_export::ublk::{self, Control, Disk};
use cryptbench_export::{Prepared, nbd};
use cryptbench_os::confine::{Needs, confine};
use cryptbench_volume::{Access, Mapping, Volume, VolumeInfo};

type Error = Box<dyn std::error::Error>;

fn main() -> Result<(), Error> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [way, file, place, cipher, unit] = &arguments[..] else {
        let ways = "auto|device|uring|confined-device|confined-uring|ublk|nbd";
        return Err(format!("usage: serve {ways} FILE PLACE none|CIPHER UNIT").into());
    };
    let device = open(Path::new(file), cipher, unit.parse()?)?;
    let place = PathBuf::from(place);
    if way == "nbd" {
        let server = nbd::serve(device, &place, &nbd::NbdOptions::default())?;
        say(&format!("ready {}", server.socket().display()));
        wait_for_the_end();
        server.stop();
        return Ok(());
    }
    if way == "ublk" {
        return serve_disk(device);
    }
    let confined = way.strip_prefix("confined-");
    let transport = match confined.unwrap_or(way) {
        "uring" => Transport::Uring,
        "device" => Transport::Device,
        _ => FuseOptions::default().transport,
    };
    let options = FuseOptions { transport, ..FuseOptions::default() };
    if confined.is_some() {
        // As `volume mount` serves. Whoever started this removes the mount.
        let (mounted, connection) = Mounted::new(&place, &options)?;
        let files = connection.files().iter().map(std::fs::File::try_clone);
        let files = files.collect::<Result<_, _>>()?;
        let prepared = match transport {
            Transport::Device => Prepared::nothing(),
            _ => Prepared::rings(options.threads),
        };
        confine(Needs { rings: prepared.has_rings(), sockets: false })?;
        let server = serve_mounted(device, files, &options, prepared)?;
        drop(connection);
        say(&format!("ready {}", mounted.file().display()));
        wait_for_the_end();
        server.stop();
        return Ok(());
    }
    let server = mount(device, &place, &options)?;
    say(&format!("ready {}", server.file().display()));
    wait_for_the_end();
    server.stop();
    Ok(())
}

fn serve_disk(device: Arc<dyn BlockDevice>) -> Result<(), Error> {
    let mut control = Control::open()?;
    let mut number = 0;
    while control.mark(number)?.is_some() {
        number += 1;
    }
    let (size, sector) = (device.size(), device.sector());
    let connection = control.add(number, &Disk { size, sector, read_only: false, mark: 0 })?;
    let served = ublk::serve(device, connection, false, Prepared::rings(1));
    let started = served.map_err(Error::from).and_then(|server| {
        control.start(number)?;
        Ok(server)
    });
    if started.is_ok() {
        say(&format!("ready {}", Control::path(number).display()));
        wait_for_the_end();
    }
    control.remove(number)?;
    started.map(drop)
}

fn open(file: &Path, cipher: &str, data_unit: usize) -> Result<Arc<dyn BlockDevice>, Error> {
    let device = Arc::new(FileDevice::open(file, IoMode::Direct, false)?);
    if cipher == "none" {
        return Ok(device);
    }
    let cipher = find(cipher)?;
    let tweak_step = data_unit as u64 / 512;
    let key: Vec<u8> = (0..64).collect();
    let keyed = cipher.with_key(&key, Layout { data_unit, tweak_step }, tier()?)?;
    let info = VolumeInfo {
        format: "bench",
        cipher: "aes-xts-plain64".to_owned(),
        kernel: keyed.tier(),
        key_bytes: key.len(),
        derivation: String::new(),
        data_unit,
        size: device.size(),
        data_offset: 0,
        details: Vec::new(),
    };
    let data = Extent { offset: 0, len: device.size() };
    let mapping = Mapping { data, cipher: keyed, first_tweak: 0, tweak_step, protected: None };
    Ok(Arc::new(Volume::new(device, mapping, Access::ReadWrite, info)?))
}

fn say(line: &str) {
    use std::io::Write as _;
    let mut out = std::io::stdout();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

fn wait_for_the_end() {
    let mut sink = [0; 64];
    while std::io::stdin().read(&mut sink).is_ok_and(|n| n > 0) {}
}
