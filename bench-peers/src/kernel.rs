//! The kernel's own XTS, through AF_ALG (`Documentation/crypto/userspace-if.rst` of Linux).
//!
//! A request is one data unit of [`PIECE`] bytes: with a request for each sector, the system calls would decide.

use std::fs;
use std::io;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};

use anyhow::{Context as _, Error, ensure};

use crate::contender::{Contender, Direction};
use crate::rounds::{Schedule, measure};

/// The heading of the column.
pub const COLUMN: &str = "kernel (AF_ALG, 1 MiB)";

/// Bytes of a request.
const PIECE: usize = 1 << 20;

/// Limit of the bytes that a socket holds in each direction: a request, and what the kernel counts in addition.
const ROOM: libc::c_int = 4 << 20;

/// The kernel's name of a cipher of the registry.
fn name(cipher: &str) -> Option<&'static str> {
    Some(match cipher {
        "aes-128-xts" | "aes-256-xts" => "xts(aes)",
        "serpent-256-xts" => "xts(serpent)",
        "twofish-256-xts" => "xts(twofish)",
        "camellia-256-xts" => "xts(camellia)",
        _ => return None,
    })
}

/// The kernel's implementation of the registry's `cipher`, with `key`; `None` if it has none.
///
/// # Errors
/// The kernel refused the key or the size of a request.
pub fn keyed(
    cipher: &str,
    key: &[u8],
    direction: Direction,
) -> anyhow::Result<Option<Box<dyn Contender>>> {
    let Some(name) = name(cipher) else { return Ok(None) };
    match Socket::open(name, Some(key), direction) {
        Ok(socket) => Ok(Some(Box::new(socket))),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(e).context("AF_ALG"),
    }
}

/// The column's description: the code that runs, and the costs that AF_ALG adds.
///
/// # Errors
/// The reason why AF_ALG cannot be used here.
pub fn about(data: &mut [u8], schedule: Schedule) -> anyhow::Result<String> {
    usable(data)?;
    let listed = fs::read_to_string("/proc/crypto").unwrap_or_default();
    let driver = driver(&listed, "xts(aes)").unwrap_or_else(|| "xts(aes)".to_owned());
    let mut text = format!(
        "{COLUMN}: {driver}. Each request is one data unit of 1 MiB. AF_ALG adds two system calls, a copy of the data into \
         the kernel (`splice` would avoid it) and the pinning of the result's pages; dm-crypt needs none of them."
    );
    if let Ok(null) = Socket::open("ecb(cipher_null)", None, Direction::Encrypt) {
        let mut null: [Box<dyn Contender>; 1] = [Box::new(null)];
        let speeds = measure(&mut null, data.len(), data, schedule)?;
        let speed = cryptbench_stats::median(&speeds[0]).context("no round")?;
        text += &format!(" With its null cipher, 1 MiB takes {:.0} µs.", PIECE as f64 / speed);
    }
    Ok(text)
}

/// Whether a request succeeds.
fn usable(data: &mut [u8]) -> anyhow::Result<()> {
    let socket = Socket::open("xts(aes)", Some(&[7; 64]), Direction::Encrypt);
    let done = socket.map_err(Error::from).and_then(|mut socket| socket.pass(PIECE, data));
    done.map_err(|error| {
        let kind = error.downcast_ref().map(io::Error::kind);
        error.context(match kind {
            Some(io::ErrorKind::PermissionDenied) => "requests of 1 MiB need root",
            Some(io::ErrorKind::OutOfMemory) => {
                "requests of 1 MiB need sysctl net.core.optmem_max=131072"
            }
            _ => "this kernel does not offer its XTS to programs",
        })
    })
}

/// The driver that the kernel uses for `name`: the one with the highest priority in the text of /proc/crypto.
fn driver(text: &str, name: &str) -> Option<String> {
    let drivers = text.split("\n\n").filter_map(|entry| {
        let field = |key: &str| {
            let line =
                entry.lines().find(|line| line.split(':').next().map(str::trim) == Some(key));
            Some(line?.split_once(':')?.1.trim())
        };
        let is = field("name")? == name && field("type")?.contains("skcipher");
        is.then_some((field("priority")?.parse::<i64>().ok()?, field("driver")?.to_owned()))
    });
    drivers.max_by_key(|(priority, _)| *priority).map(|(_, driver)| driver)
}

/// An operation socket of a keyed cipher.
struct Socket {
    operation: OwnedFd,
    direction: Direction,
    has_iv: bool,
}

impl Socket {
    fn open(name: &str, key: Option<&[u8]>, direction: Direction) -> io::Result<Self> {
        let bound = bound(name)?;
        if let Some(key) = key {
            set(&bound, libc::SOL_ALG, libc::ALG_SET_KEY, key)?;
        }
        // SAFETY: the descriptor is open, and no address is requested.
        let operation = owned(unsafe {
            libc::accept4(
                bound.as_raw_fd(),
                std::ptr::null_mut(),
                std::ptr::null_mut(),
                libc::SOCK_CLOEXEC,
            )
        })?;
        for option in [libc::SO_SNDBUFFORCE, libc::SO_RCVBUFFORCE] {
            set(&operation, libc::SOL_SOCKET, option, &ROOM.to_ne_bytes())?;
        }
        Ok(Self { operation, direction, has_iv: key.is_some() })
    }

    /// Transforms one data unit in place.
    fn transform(&self, tweak: [u8; 16], data: &mut [u8]) -> anyhow::Result<()> {
        let sent = self.send(tweak, data).context("AF_ALG: sendmsg")?;
        let got = self.receive(data).context("AF_ALG: read")?;
        // The second part of a divided request would begin with the first tweak.
        ensure!(
            (sent, got) == (data.len(), data.len()),
            "AF_ALG took {sent} and returned {got} of {} bytes",
            data.len()
        );
        Ok(())
    }

    /// Passes a request to the kernel.
    fn send(&self, tweak: [u8; 16], data: &[u8]) -> io::Result<usize> {
        const WORD: u32 = size_of::<u32>() as u32;
        const IV: u32 = 16;
        let operation = match self.direction {
            Direction::Encrypt => libc::ALG_OP_ENCRYPT,
            Direction::Decrypt => libc::ALG_OP_DECRYPT,
        };
        let mut control = [0_u64; 16];
        let mut piece =
            libc::iovec { iov_base: data.as_ptr().cast_mut().cast(), iov_len: data.len() };
        // SAFETY: a zeroed header is an empty message. `control` has room for both control messages and is aligned for
        // them. It, `piece` and `data` outlive the call, which only reads them.
        let sent = unsafe {
            let mut message: libc::msghdr = std::mem::zeroed();
            (message.msg_iov, message.msg_iovlen) = (&raw mut piece, 1);
            message.msg_control = control.as_mut_ptr().cast();
            let room =
                libc::CMSG_SPACE(WORD) + if self.has_iv { libc::CMSG_SPACE(WORD + IV) } else { 0 };
            message.msg_controllen = room as _;
            let mut header = libc::CMSG_FIRSTHDR(&raw const message);
            (*header).cmsg_level = libc::SOL_ALG;
            (*header).cmsg_type = libc::ALG_SET_OP;
            (*header).cmsg_len = libc::CMSG_LEN(WORD) as _;
            libc::CMSG_DATA(header).cast::<u32>().write_unaligned(operation as u32);
            if self.has_iv {
                header = libc::CMSG_NXTHDR(&raw const message, header);
                (*header).cmsg_level = libc::SOL_ALG;
                (*header).cmsg_type = libc::ALG_SET_IV;
                (*header).cmsg_len = libc::CMSG_LEN(WORD + IV) as _;
                let value = libc::CMSG_DATA(header);
                value.cast::<u32>().write_unaligned(IV);
                value.add(WORD as usize).cast::<[u8; 16]>().write_unaligned(tweak);
            }
            libc::sendmsg(self.operation.as_raw_fd(), &raw const message, 0)
        };
        usize::try_from(sent).map_err(|_| io::Error::last_os_error())
    }

    fn receive(&self, data: &mut [u8]) -> io::Result<usize> {
        // SAFETY: `data` is writable for its length.
        let got =
            unsafe { libc::read(self.operation.as_raw_fd(), data.as_mut_ptr().cast(), data.len()) };
        usize::try_from(got).map_err(|_| io::Error::last_os_error())
    }
}

impl Contender for Socket {
    fn pass(&mut self, _unit: usize, data: &mut [u8]) -> anyhow::Result<()> {
        data.chunks_mut(PIECE).try_for_each(|piece| self.transform([0; 16], piece))
    }
}

/// A socket of the cipher with this name.
fn bound(name: &str) -> io::Result<OwnedFd> {
    // SAFETY: its arguments are numbers.
    let socket =
        owned(unsafe { libc::socket(libc::AF_ALG, libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC, 0) })?;
    let mut address = libc::sockaddr_alg {
        salg_family: libc::AF_ALG as _,
        salg_type: [0; 14],
        salg_feat: 0,
        salg_mask: 0,
        salg_name: [0; 64],
    };
    address.salg_type[..8].copy_from_slice(b"skcipher");
    address.salg_name[..name.len()].copy_from_slice(name.as_bytes());
    let len = size_of_val(&address) as libc::socklen_t;
    // SAFETY: the address has this family and length.
    match unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), len) } {
        0 => Ok(socket),
        _ => Err(io::Error::last_os_error()),
    }
}

fn set(socket: &OwnedFd, level: i32, option: i32, value: &[u8]) -> io::Result<()> {
    let (socket, len) = (socket.as_raw_fd(), value.len() as libc::socklen_t);
    // SAFETY: the value has this length.
    match unsafe { libc::setsockopt(socket, level, option, value.as_ptr().cast(), len) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

fn owned(descriptor: libc::c_int) -> io::Result<OwnedFd> {
    if descriptor < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just returned it; nothing else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_driver_of_the_highest_priority_is_named() {
        let entry = |driver: &str, priority: u32, of: &str| {
            format!(
                "name         : xts(aes)\ndriver       : {driver}\npriority     : {priority}\ntype         : {of}\n\n"
            )
        };
        let text = [
            entry("xts-aes-aesni", 401, "skcipher"),
            entry("xts-aes-vaes-avx512", 800, "skcipher"),
            entry("xts(ecb(aes-generic))", 100, "lskcipher"),
            entry("other", 900, "aead"),
        ];
        assert_eq!(driver(&text.concat(), "xts(aes)").as_deref(), Some("xts-aes-vaes-avx512"));
        assert_eq!(driver(&text.concat(), "xts(serpent)"), None);
    }

    /// Published vectors; `crates/cipher` checks our code with the same files.
    const VECTORS: &[(&str, &str)] = &[
        ("xts(aes)", include_str!("../../crates/cipher/tests/vectors/xts-ieee1619.txt")),
        ("xts(aes)", include_str!("../../crates/cipher/tests/vectors/xts-cavp.txt")),
        ("xts(serpent)", include_str!("../../crates/cipher/tests/vectors/serpent-xts.txt")),
        ("xts(twofish)", include_str!("../../crates/cipher/tests/vectors/twofish-xts.txt")),
    ];

    fn hex(text: &str) -> Vec<u8> {
        (0..text.len())
            .step_by(2)
            .map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap())
            .collect()
    }

    /// Sixteen bytes, or a number.
    fn tweak(text: &str) -> [u8; 16] {
        match text.len() {
            32 => hex(text).try_into().unwrap(),
            _ => u128::from_str_radix(text, 16).unwrap().to_le_bytes(),
        }
    }

    #[test]
    fn the_kernel_transforms_published_vectors_if_it_offers_xts() {
        for (name, text) in VECTORS {
            let mut count = 0;
            for line in text.lines().filter(|line| !line.starts_with('#')) {
                let fields: Vec<_> = line.split(' ').collect();
                let [key, number, plain, cipher] = fields[..] else { panic!("{line}") };
                let [key, plain, cipher] = [key, plain, cipher].map(hex);
                let tweak = tweak(number);
                for (direction, from, to) in
                    [(Direction::Encrypt, &plain, &cipher), (Direction::Decrypt, &cipher, &plain)]
                {
                    let socket = match Socket::open(name, Some(&key), direction) {
                        Ok(socket) => socket,
                        Err(e) => return eprintln!("SKIPPED: {name} through AF_ALG: {e}"),
                    };
                    let mut data = from.clone();
                    socket.transform(tweak, &mut data).unwrap();
                    assert!(data == *to, "{name} {direction}: {line}");
                }
                count += 1;
            }
            eprintln!("{name}: {count} vectors in both directions");
            assert!(count >= 5);
        }
    }
}
