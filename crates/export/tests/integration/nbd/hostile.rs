//! Clients that break the protocol: the server sends them away and serves others as before.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;

use cryptbench_export::nbd::NbdOptions;
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

use crate::nbd::client::{Client, connect, option, request};
use crate::nbd::start;

/// Sends `bytes` and reads until the server closes the connection.
fn ends_with(stream: &mut UnixStream, bytes: &[u8]) {
    let _ = stream.write_all(bytes);
    let _ = stream.shutdown(std::net::Shutdown::Write);
    let mut rest = Vec::new();
    let _ = stream.read_to_end(&mut rest);
    assert!(rest.len() < 1 << 20);
}

#[test]
fn nonsense_before_and_after_the_negotiation_ends_one_connection() {
    let directory = tempfile::tempdir().unwrap();
    let (server, device) = start(directory.path(), 1 << 20, &NbdOptions::default());
    let mut other = Client::go(server.socket(), "").unwrap();
    let flags = 3u32.to_be_bytes();
    let greetings: Vec<Vec<u8>> = vec![
        vec![],
        vec![0xff; 4],
        [&flags[..], b"IHAVEOPX", &[0; 8]].concat(),
        [&flags[..], &option(99, &[1, 2, 3])].concat(),
        [&flags[..], &option(7, &[0xff; 6])].concat(),
        [&flags[..], &option(7, &[])].concat(),
        [&flags[..], &option(1, b"no such export")].concat(),
        [&flags[..], b"IHAVEOPT", &[0, 0, 0, 7, 0xff, 0xff, 0xff, 0xff]].concat(),
        [&flags[..], &option(3, b"x"), &option(2, &[])].concat(),
        [&flags[..], &option(5, &[]).repeat(1000)].concat(),
    ];
    for greeting in &greetings {
        let mut stream = connect(server.socket()).unwrap();
        ends_with(&mut stream, greeting);
    }
    let requests: Vec<Vec<u8>> = vec![
        vec![0; 28],
        vec![0x25; 3],
        request(1, 0, 1, 0, u32::MAX),
        request(1, 0, 1, 0, 33 << 20),
        // Data that never comes.
        [&request(1, 0, 1, 0, 4096)[..], &[7; 100]].concat(),
        request(0, 0, 1, 0, u32::MAX),
        request(0, 0, 1, u64::MAX - 5, 10),
        request(6, 0, 1, u64::MAX - 5, u32::MAX),
        request(2, 0, 1, 0, 0),
        request(0, 0, 1, 0, 0).repeat(500),
    ];
    for bytes in &requests {
        let mut client = Client::go(server.socket(), "").unwrap();
        ends_with(&mut client.stream, bytes);
    }
    assert_eq!(other.read(0, 1 << 20).unwrap(), vec![3; 1 << 20], "half a write changed nothing");
    drop(other);
    assert_eq!(device.contents(), vec![3; 1 << 20]);
}

#[test]
fn random_bytes_end_one_connection() {
    let directory = tempfile::tempdir().unwrap();
    let options = NbdOptions { read_only: true, ..NbdOptions::default() };
    let (server, _) = start(directory.path(), 1 << 16, &options);
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    for round in 0..300 {
        let mut bytes = vec![0; rng.random_range(0..400)];
        rng.fill(&mut bytes[..]);
        if round % 2 == 0 {
            let mut stream = connect(server.socket()).unwrap();
            // Half of them get past the flags and the magic.
            let start = [&3u32.to_be_bytes()[..], b"IHAVEOPT\0\0\0"].concat();
            let known = start.len().min(bytes.len());
            bytes[..known].copy_from_slice(&start[..known]);
            ends_with(&mut stream, &bytes);
        } else {
            let mut client = Client::go(server.socket(), "").unwrap();
            for request in bytes.chunks_mut(28) {
                let known = request.len().min(4);
                request[..known].copy_from_slice(&[0x25, 0x60, 0x95, 0x13][..known]);
                if let Some(command) = request.get_mut(6..8) {
                    command.copy_from_slice(&[0, round as u8 % 8]);
                }
            }
            ends_with(&mut client.stream, &bytes);
        }
    }
    assert!(Client::go(server.socket(), "").is_ok());
}

#[test]
fn clients_that_vanish_or_are_too_many_leave_room_for_others() {
    let directory = tempfile::tempdir().unwrap();
    let options = NbdOptions { connections: 3, ..NbdOptions::default() };
    let (server, _) = start(directory.path(), 1 << 20, &options);
    for _ in 0..50 {
        // Asks for much and reads none of it.
        let mut client = Client::go(server.socket(), "");
        while client.is_err() {
            std::thread::yield_now(); // The server may still be saying goodbye to the last ones.
            client = Client::go(server.socket(), "");
        }
        let mut client = client.unwrap();
        for i in 0..20 {
            client.send(0, 0, i, 0, 1 << 20, &[]);
        }
    }
    let mut held = Vec::new();
    while held.len() < 3 {
        held.extend(Client::go(server.socket(), ""));
    }
    let mut refused = UnixStream::connect(server.socket()).unwrap();
    assert_eq!(refused.read(&mut [0]).unwrap_or(0), 0, "a fourth is sent away");
    assert_eq!(held[0].read(0, 5).unwrap(), [3; 5]);
    drop(server);
    assert!(held[1].read(0, 5).is_err());
}
