//! A plain NBD client, written from the protocol's text.

use std::io::{self, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;

pub const FUA: u16 = 1;

pub struct Client {
    pub stream: UnixStream,
    pub size: u64,
    pub flags: u16,
}

/// Connects and reads the greeting.
pub fn connect(path: &Path) -> io::Result<UnixStream> {
    let mut stream = UnixStream::connect(path)?;
    let mut hello = [0; 18];
    stream.read_exact(&mut hello)?;
    assert_eq!(&hello[..16], b"NBDMAGICIHAVEOPT");
    assert_eq!(hello[17] & 1, 1, "fixed newstyle");
    Ok(stream)
}

pub fn option(number: u32, data: &[u8]) -> Vec<u8> {
    let mut bytes = b"IHAVEOPT".to_vec();
    bytes.extend(number.to_be_bytes());
    bytes.extend((data.len() as u32).to_be_bytes());
    bytes.extend(data);
    bytes
}

pub fn request(kind: u16, flags: u16, cookie: u64, offset: u64, len: u32) -> Vec<u8> {
    let mut bytes = 0x2560_9513u32.to_be_bytes().to_vec();
    bytes.extend(flags.to_be_bytes());
    bytes.extend(kind.to_be_bytes());
    bytes.extend(cookie.to_be_bytes());
    bytes.extend(offset.to_be_bytes());
    bytes.extend(len.to_be_bytes());
    bytes
}

impl Client {
    /// Negotiates with `NBD_OPT_GO`.
    pub fn go(path: &Path, name: &str) -> io::Result<Self> {
        let mut stream = connect(path)?;
        stream.write_all(&3u32.to_be_bytes())?;
        let mut data = (name.len() as u32).to_be_bytes().to_vec();
        data.extend(name.as_bytes());
        data.extend([0, 1, 0, 3]);
        stream.write_all(&option(7, &data))?;
        let (mut size, mut flags) = (0, 0);
        loop {
            let mut head = [0; 20];
            stream.read_exact(&mut head)?;
            assert_eq!(head[..12], [0, 3, 0xe8, 0x89, 4, 0x55, 0x65, 0xa9, 0, 0, 0, 7]);
            let kind = u32::from_be_bytes(head[12..16].try_into().unwrap());
            let mut data = vec![0; u32::from_be_bytes(head[16..].try_into().unwrap()) as usize];
            stream.read_exact(&mut data)?;
            match kind {
                1 => return Ok(Self { stream, size, flags }),
                3 if data[..2] == [0, 0] => {
                    size = u64::from_be_bytes(data[2..10].try_into().unwrap());
                    flags = u16::from_be_bytes(data[10..].try_into().unwrap());
                }
                3 => assert_eq!((data[1], data.len()), (3, 14)),
                other => return Err(io::Error::other(format!("refused: {other:#x}"))),
            }
        }
    }

    pub fn send(&mut self, kind: u16, flags: u16, cookie: u64, offset: u64, len: u32, data: &[u8]) {
        self.stream.write_all(&request(kind, flags, cookie, offset, len)).unwrap();
        self.stream.write_all(data).unwrap();
    }

    /// The next reply: its cookie and, without an error, `len` bytes of data. A lost connection is
    /// error 0.
    pub fn answer(&mut self, len: usize) -> Result<(u64, Vec<u8>), u32> {
        let mut head = [0; 16];
        self.stream.read_exact(&mut head).map_err(|_| 0u32)?;
        assert_eq!(head[..4], [0x67, 0x44, 0x66, 0x98]);
        let error = u32::from_be_bytes(head[4..8].try_into().unwrap());
        if error != 0 {
            return Err(error);
        }
        let mut data = vec![0; len];
        self.stream.read_exact(&mut data).map_err(|_| 0u32)?;
        Ok((u64::from_be_bytes(head[8..].try_into().unwrap()), data))
    }

    fn exchange(
        &mut self,
        head: (u16, u16, u64, u32),
        data: &[u8],
        expected: usize,
    ) -> Result<Vec<u8>, u32> {
        let (kind, flags, offset, len) = head;
        let mut bytes = request(kind, flags, 42, offset, len);
        bytes.extend(data);
        self.stream.write_all(&bytes).map_err(|_| 0u32)?;
        let (cookie, data) = self.answer(expected)?;
        assert_eq!(cookie, 42);
        Ok(data)
    }

    pub fn read(&mut self, offset: u64, len: u32) -> Result<Vec<u8>, u32> {
        self.exchange((0, 0, offset, len), &[], len as usize)
    }

    pub fn write(&mut self, offset: u64, data: &[u8], flags: u16) -> Result<(), u32> {
        self.exchange((1, flags, offset, data.len() as u32), data, 0).map(drop)
    }

    pub fn command(&mut self, kind: u16, flags: u16, offset: u64, len: u32) -> Result<(), u32> {
        self.exchange((kind, flags, offset, len), &[], 0).map(drop)
    }

    pub fn flush(&mut self) -> Result<(), u32> {
        self.command(3, 0, 0, 0)
    }

    pub fn trim(&mut self, offset: u64, len: u32) -> Result<(), u32> {
        self.command(4, 0, offset, len)
    }

    pub fn write_zeroes(&mut self, offset: u64, len: u32) -> Result<(), u32> {
        self.command(6, FUA, offset, len)
    }
}
