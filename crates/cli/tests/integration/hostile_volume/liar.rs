//! A program that takes the place of the confined process and lies: to its keeper, and to the kernel, whose
//! requests it serves.
//!
//! The test compiles this file separately, without a crate. `CRYPTBENCH_TEST_LIE` names the lie,
//! `CRYPTBENCH_TEST_IMAGE` the content of an honest file, `CRYPTBENCH_TEST_VICTIM` a file that must not be reached.

use std::ffi::c_void;
use std::fs::File;
use std::io::{Read, Write};
use std::mem::size_of;
use std::os::fd::FromRawFd;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::time::Duration;

#[repr(C)]
struct IoVec {
    base: *mut c_void,
    len: usize,
}

#[repr(C)]
struct Message {
    name: *mut c_void,
    name_len: u32,
    parts: *mut IoVec,
    part_count: usize,
    control: *mut c_void,
    control_len: usize,
    flags: i32,
}

unsafe extern "C" {
    fn recvmsg(socket: i32, message: *mut Message, flags: i32) -> isize;
    fn close(file: i32) -> i32;
    fn send(socket: i32, bytes: *const c_void, len: usize, flags: i32) -> isize;
}

/// Receives a message from the keeper, with its files.
fn hear() -> (Vec<u8>, Vec<File>) {
    let (mut bytes, mut control) = (vec![0_u8; 256], [0_u64; 128]);
    let mut part = IoVec { base: bytes.as_mut_ptr().cast(), len: bytes.len() };
    let mut message = Message {
        name: std::ptr::null_mut(),
        name_len: 0,
        parts: &mut part,
        part_count: 1,
        control: control.as_mut_ptr().cast(),
        control_len: size_of::<[u64; 128]>(),
        flags: 0,
    };
    // SAFETY: the structures outlive the call, and contain the lengths of the buffers.
    let got = unsafe { recvmsg(0, &mut message, 0) };
    bytes.truncate(got.max(0) as usize);
    // A control message: length, level and type, then descriptors.
    let count = if message.control_len > 16 { (control[0] as usize - 16) / 4 } else { 0 };
    let number = |i: usize| (control[2 + i / 2] >> (32 * (i % 2))) as u32 as i32;
    // SAFETY: the kernel created them for this process.
    (bytes, (0..count).map(|i| unsafe { File::from_raw_fd(number(i)) }).collect())
}

fn say(bytes: &[u8]) {
    // SAFETY: the bytes are there.
    unsafe { send(0, bytes.as_ptr().cast(), bytes.len(), 0) };
}

fn for_ever() -> ! {
    loop {
        std::thread::sleep(Duration::from_secs(1));
    }
}

fn main() {
    let lie = std::env::var("CRYPTBENCH_TEST_LIE").unwrap();
    let image = File::open(std::env::var("CRYPTBENCH_TEST_IMAGE").unwrap()).unwrap();
    let victim = std::env::var("CRYPTBENCH_TEST_VICTIM").unwrap();
    let (order, _files) = hear();
    if order[0] == b'?' {
        match lie.as_str() {
            "asks-odd" => say(&[2, 7, 9]),
            "asks-long" => say(&[1; 200]),
            "asks-nothing" => return,
            _ => say(&[1, 0, 0]),
        }
        return;
    }
    if order[0] == b'a' {
        return answer(&lie, &victim);
    }
    let size = image.metadata().unwrap().len();
    let (mut sector, mut claimed) = (512_u64, size);
    match lie.as_str() {
        "end" => return,
        "mute" => for_ever(),
        "deaf" => {
            // SAFETY: nothing uses the descriptor any more.
            unsafe { close(0) };
            for_ever()
        }
        "hollow" => {
            say(b"");
            for_ever()
        }
        "babble" => {
            for _ in 0..20_000 {
                let _ = std::io::stderr().write_all(b"\x1b[2J\x1b]0;title\x07cryptbench: forged\r");
            }
            return;
        }
        "early" => say(b"up"),
        "sector" => sector = 3,
        "claim" => claimed = 1 << 60,
        "long" => say(&[0xff; 200]),
        _ => {}
    }
    say(&[&[0, 0], &sector.to_le_bytes()[..], &claimed.to_le_bytes()].concat());
    let (_, mut files) = hear();
    if files.is_empty() {
        return;
    }
    say(b"up");
    serve(&lie, &mut files[0], &image, size, &victim);
}

/// Answers requests about a directory: every entry is a file, with the name of this lie.
fn answer(lie: &str, victim: &str) {
    if lie == "not-ready" {
        return say(b"up");
    }
    say(b"r");
    loop {
        let (question, mut files) = hear();
        match question.first() {
            None => return,
            Some(b'n') => match lie {
                "absolute" => say(&[b"n", victim.as_bytes()].concat()),
                "above" => say(b"n../victim"),
                "dots" => say(b"n.."),
                "long" => say(&[b'n'; 4000]),
                "another-kind" => say(b"tname"),
                "same" => say(b"nsame"),
                _ => say(&[b"n", &question[1..]].concat()),
            },
            Some(b't') => say(&[b"t", victim.as_bytes()].concat()),
            Some(b'h') => say(&[&b"h"[..], &[1; 8], &[0; 8], &[7, 16], &[0; 8]].concat()),
            Some(b'c') => {
                let _ = files[1].write_all(b"forged");
                say(if lie == "name-as-content" { b"nx" } else { b"c" });
            }
            Some(_) => say(b"k"),
        }
    }
}

/// Answers as FUSE's protocol (include/uapi/linux/fuse.h) requires, except for the lie.
fn serve(lie: &str, fuse: &mut File, image: &File, size: u64, victim: &str) {
    let device = std::fs::metadata(victim).map_or(0, |found| found.rdev());
    let (mode, shown) = match lie {
        "symlink" => (0o120_777, size),
        "device" => (0o060_666, size),
        "pipe" => (0o010_666, size),
        "directory" => (0o040_777, size),
        "larger" => (0o100_666, 8 * size),
        "smaller" => (0o100_666, size / 2),
        _ => (0o100_666, size),
    };
    let attributes = |node: u64| {
        let (mode, size) = if node == 1 { (0o040_777_u32, 0) } else { (mode, shown) };
        let times = [0_u64; 3];
        let mut bytes = [node, size, size / 512]
            .into_iter()
            .chain(times)
            .flat_map(u64::to_le_bytes)
            .collect::<Vec<u8>>();
        let rest = [0, 0, 0, mode, 1, 0, 0, device as u32, 4096, 0];
        bytes.extend(rest.into_iter().flat_map(u32::to_le_bytes));
        bytes
    };
    let mut request = vec![0; 1 << 20];
    loop {
        let got = match fuse.read(&mut request) {
            Ok(got) => got,
            Err(e) if e.kind() == std::io::ErrorKind::WouldBlock => {
                std::thread::sleep(Duration::from_millis(1));
                continue;
            }
            Err(e) if e.raw_os_error() == Some(2) => continue,
            Err(_) => return,
        };
        let u32_at = |at: usize| u32::from_le_bytes(request[at..at + 4].try_into().unwrap());
        let u64_at = |at: usize| u64::from_le_bytes(request[at..at + 8].try_into().unwrap());
        let (opcode, unique, node) = (u32_at(4), u64_at(8), u64_at(16));
        let entry = || {
            let numbers = [2_u64, 0, 1000, 1000, 0].into_iter().flat_map(u64::to_le_bytes);
            numbers.chain(attributes(2)).collect::<Vec<u8>>()
        };
        let reply: Result<Vec<u8>, i32> = match opcode {
            1 if lie == "silent" => for_ever(),
            15 if lie == "silent-reads" => for_ever(),
            1 => Ok(entry()),
            // FORGET, BATCH_FORGET, INTERRUPT
            2 | 42 | 36 => continue,
            3 => {
                let valid = [1000_u64, 0].into_iter().flat_map(u64::to_le_bytes);
                Ok(valid.chain(attributes(node)).collect())
            }
            5 => Ok(victim.as_bytes().to_vec()),
            14 | 27 => Ok(vec![0; 16]),
            15 => {
                let (offset, len) = (u64_at(48), u32_at(56) as usize);
                let mut data = vec![0; len];
                let read = image.read_at(&mut data, offset).unwrap_or(0);
                data.truncate(read);
                Ok(data)
            }
            16 => Ok([u32_at(56).to_le_bytes(), [0; 4]].concat()),
            17 => Ok(vec![0; 80]),
            18 | 20 | 25 | 29 | 38 => Ok(Vec::new()),
            26 => {
                let mut init = [7_u32, 31, u32_at(48), 0]
                    .into_iter()
                    .flat_map(u32::to_le_bytes)
                    .collect::<Vec<u8>>();
                init.extend([16, 0, 12, 0]);
                init.extend([131_072_u32, 1].into_iter().flat_map(u32::to_le_bytes));
                init.resize(64, 0);
                Ok(init)
            }
            _ => Err(-38),
        };
        let answer = |unique: u64| {
            let (error, body) = match &reply {
                Ok(body) => (0, &body[..]),
                Err(error) => (*error, &[][..]),
            };
            let header = [
                &(16 + body.len() as u32).to_le_bytes()[..],
                &error.to_le_bytes(),
                &unique.to_le_bytes(),
            ];
            [&header.concat()[..], body].concat()
        };
        if lie == "another" && opcode != 26 {
            for wrong in [unique + 2, 0, u64::MAX] {
                let _ = fuse.write(&answer(wrong));
            }
        }
        let _ = fuse.write(&answer(unique));
        assert!(got >= 40);
    }
}
