//! An NBD client's requests to a server whose volume is read-only.
#![no_main]

use std::io::{Read as _, Write as _};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;

use cryptbench_blockdev::MemoryDevice;
use cryptbench_export::nbd::{NbdOptions, serve};
use libfuzzer_sys::fuzz_target;

/// A valid start: fixed newstyle, and an export selected by the empty name.
const BEGINNING: &[u8] = b"\0\0\0\x03IHAVEOPT\0\0\0\x07\0\0\0\x06\0\0\0\0\0\0";

fuzz_target!(|data: &[u8]| {
    // The first byte determines whether the handshake is sent first.
    let Some((first, data)) = data.split_first() else { return };
    let beginning = if first & 1 == 1 { BEGINNING } else { &[] };
    let name = format!("cryptbench-fuzz-nbd-{}", std::process::id());
    let place: PathBuf = std::env::temp_dir().join(name);
    let device = Arc::new(MemoryDevice::new(vec![3; 1 << 16]));
    let options = NbdOptions { read_only: true, threads: 2, ..NbdOptions::default() };
    // Each input gets its own server. One that outlived its input would still be ending its threads while the
    // sanitizer looks for leaks.
    let server = serve(Arc::clone(&device) as _, &place, &options).expect("a socket");
    let mut stream = UnixStream::connect(server.socket()).expect("a connection");
    let _ = stream.write_all(beginning).and_then(|()| stream.write_all(data));
    let _ = stream.shutdown(Shutdown::Write);
    let mut said = Vec::new();
    let _ = stream.read_to_end(&mut said);
    server.stop();
    assert!(device.contents().iter().all(|byte| *byte == 3), "it has changed");
});
