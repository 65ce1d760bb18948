//! Other people's clients: QEMU's and libnbd's. SKIPPED where they are not installed.

use std::process::Command;

use cryptbench_export::nbd::NbdOptions;
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

use crate::nbd::start;

/// Runs a program to its success and returns what it said; `None` if it is not installed.
fn run(program: &str, arguments: &[&str]) -> Option<String> {
    let Ok(out) = Command::new(program).args(arguments).output() else {
        eprintln!("SKIPPED: no {program}");
        return None;
    };
    let said = String::from_utf8_lossy(&out.stdout).into_owned();
    let complained = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "{program} {arguments:?}: {said}{complained}");
    Some(said)
}

#[test]
fn qemu_writes_and_verifies() {
    let directory = tempfile::tempdir().unwrap();
    let options = NbdOptions { discard: true, ..NbdOptions::default() };
    let (server, device) = start(directory.path(), 8 << 20, &options);
    let uri = format!("nbd+unix:///?socket={}", server.socket().display());
    let steps = [
        "write -P 0x51 0 1M",
        "write -f -P 0x52 1M 64k",
        "write -P 0x53 100 1000",
        "write -z 2M 1M",
        "discard 3M 1M",
        "flush",
        "read -P 0x51 0 100",
        "read -P 0x53 100 1000",
        "read -P 0x52 1M 64k",
        "read -P 0 2M 1M",
    ];
    let mut arguments = vec!["-f", "raw", "-t", "none"];
    for step in &steps {
        arguments.extend(["-c", step]);
    }
    arguments.push(&uri);
    let Some(said) = run("qemu-io", &arguments) else { return };
    assert!(!said.contains("verification failed"), "{said}");
    let now = device.contents();
    assert_eq!((now[0], now[100], now[1100], now[1 << 20]), (0x51, 0x53, 0x51, 0x52));
    let info = run("qemu-img", &["info", "--output=json", &uri]).unwrap_or_default();
    assert!(info.contains(&format!("\"virtual-size\": {}", 8 << 20)), "{info}");
    // A whole image there and back, by QEMU's own choice of requests.
    let mut image = vec![0; 8 << 20];
    let mut rng = ChaCha8Rng::seed_from_u64(9);
    rng.fill(&mut image[..5 << 20]);
    let path = directory.path().join("image");
    std::fs::write(&path, &image).unwrap();
    let path = path.to_str().unwrap();
    run("qemu-img", &["convert", "-n", "-f", "raw", "-O", "raw", path, &uri]).unwrap();
    assert!(device.contents() == image);
    run("qemu-img", &["compare", "-f", "raw", "-F", "raw", path, &uri]).unwrap();
}

#[test]
fn libnbd_copies_over_several_connections() {
    let directory = tempfile::tempdir().unwrap();
    let options = NbdOptions { name: "plain".to_owned(), ..NbdOptions::default() };
    let (server, device) = start(directory.path(), 16 << 20, &options);
    let uri = format!("nbd+unix:///plain?socket={}", server.socket().display());
    let Some(info) = run("nbdinfo", &[&uri]) else { return };
    assert!(
        info.contains("export-size: 16777216") && info.contains("can_multi_conn: true"),
        "{info}"
    );
    let list = run("nbdinfo", &["--list", &uri]).unwrap();
    assert!(list.contains("export=\"plain\""), "{list}");
    let mut image = vec![0; 16 << 20];
    ChaCha8Rng::seed_from_u64(10).fill(&mut image[..]);
    let (there, back) = (directory.path().join("there"), directory.path().join("back"));
    std::fs::write(&there, &image).unwrap();
    let copy = ["--connections=4", "--requests=32", "--flush"];
    run("nbdcopy", &[&copy[..], &[there.to_str().unwrap(), &uri]].concat()).unwrap();
    assert!(device.contents() == image);
    run("nbdcopy", &[&copy[..2], &[&uri, back.to_str().unwrap()]].concat()).unwrap();
    assert!(std::fs::read(&back).unwrap() == image);
    assert!(server.stats().flushes > 0);
}
