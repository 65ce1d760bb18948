//! Handshakes and requests of NBD clients, damaged at random: the server ends or refuses them in bounded time, and serves
//! others as before.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use cryptbench_export::nbd::NbdOptions;
use cryptbench_prove::{Random, Watch, damage};

use crate::nbd::client::{Client, connect, option, request};
use crate::nbd::start;

/// A whole conversation as a good client sends it.
fn conversation(random: &mut Random) -> Vec<u8> {
    let go = [&0_u32.to_be_bytes()[..], &[0, 1, 0, 3]].concat();
    let list = option(3, &[]);
    let mut bytes = [&3_u32.to_be_bytes()[..], &list, &option(8, &[]), &option(7, &go)].concat();
    for cookie in 0..4 {
        let kind = *random.one_of(&[0, 0, 3, 6, 1]);
        bytes.extend(request(kind, 0, cookie, 4096 * cookie, 4096));
        if kind == 1 {
            bytes.extend([7; 4096]);
        }
    }
    bytes.extend(request(2, 0, 9, 0, 0));
    bytes
}

#[test]
fn conversations() {
    let directory = tempfile::tempdir().unwrap();
    // Every request to write must be refused, so that nothing changes.
    let read_only = !cryptbench_prove::is_broken("nbd");
    let options = NbdOptions { read_only, ..NbdOptions::default() };
    let (server, _) = start(directory.path(), 1 << 16, &options);
    let watch = Watch::new("nbd::damaged::conversations", Duration::from_secs(10));
    for seed in cryptbench_prove::seeds(100) {
        let mut random = Random::new(seed);
        let mut bytes = conversation(&mut random);
        damage(&mut bytes, &mut random);
        if random.once_in(4) {
            bytes.truncate(random.below(bytes.len()));
        }
        watch.judge(seed, || {
            let mut stream = loop {
                // One that ended a moment ago may still take its place.
                match connect(server.socket()) {
                    Ok(stream) => break stream,
                    Err(_) => std::thread::yield_now(),
                }
            };
            ends(&mut stream, &bytes);
        });
        let mut other = loop {
            if let Ok(client) = Client::go(server.socket(), "") {
                break client;
            }
        };
        let is = other.read(0, 1 << 16).unwrap();
        assert!(is == [3; 1 << 16], "seed {seed}: the device has changed");
        cryptbench_prove::count(1, "inputs: NBD conversations");
    }
}

fn ends(stream: &mut UnixStream, bytes: &[u8]) {
    let _ = stream.write_all(bytes);
    let _ = stream.shutdown(std::net::Shutdown::Write);
    let mut rest = Vec::new();
    let _ = stream.read_to_end(&mut rest);
    assert!(rest.len() < 1 << 20);
}
