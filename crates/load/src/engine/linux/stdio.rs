//! Requests through a stdio buffer, as made by programs with fwrite(3) and fread(3).
//!
//! The C library's own stdio performs these requests, because its behaviour is to be measured: glibc transfers whole
//! blocks of a large request directly, without its buffer, and copies only the rest into the buffer.

use std::io;
use std::os::fd::{AsRawFd, IntoRawFd};
use std::ptr::NonNull;

use cryptbench_blockdev::AlignedBuf;

use crate::LoadError;
use crate::engine::transfer::Transfer;

/// Buffer size in bytes: `st_blksize` of the usual file systems, which glibc uses as the buffer size.
const BUFFER: usize = 4096;

/// A `FILE` for the file of an I/O target, for one thread.
pub(in crate::engine) struct Stream {
    stream: NonNull<libc::FILE>,
    /// Position of the next byte in the file.
    at: Option<u64>,
    /// Aligned for direct I/O. The buffer is dropped after the stream that uses it.
    _buffer: AlignedBuf,
}

impl Stream {
    pub(in crate::engine) fn open(transfer: &Transfer) -> Result<Self, LoadError> {
        let failed = |source| LoadError::Setup { what: "opening a stdio stream", source };
        let file = transfer.file.try_clone().map_err(failed)?;
        let mode = if transfer.direction.writes() { c"r+" } else { c"r" };
        // SAFETY: the descriptor is open, and the mode is a C string.
        let stream = unsafe { libc::fdopen(file.as_raw_fd(), mode.as_ptr()) };
        let stream = NonNull::new(stream).ok_or_else(|| failed(io::Error::last_os_error()))?;
        // The stream now owns the descriptor.
        let _ = file.into_raw_fd();
        let mut buffer = AlignedBuf::zeroed(BUFFER);
        let start = buffer.as_mut_ptr().cast();
        // SAFETY: the stream has not been used yet. The buffer has `BUFFER` bytes, nothing else refers to it, and it
        // outlives the stream (see `drop`).
        let refused = unsafe { libc::setvbuf(stream.as_ptr(), start, libc::_IOFBF, BUFFER) };
        let stream = Self { stream, at: None, _buffer: buffer };
        if refused != 0 {
            return Err(failed(io::ErrorKind::InvalidInput.into()));
        }
        Ok(stream)
    }

    pub(in crate::engine) fn write(&mut self, data: &[u8], at: u64) -> io::Result<usize> {
        self.seek(at)?;
        // SAFETY: the stream is open, and `data` is valid for `data.len()` bytes.
        let moved =
            unsafe { libc::fwrite(data.as_ptr().cast(), 1, data.len(), self.stream.as_ptr()) };
        self.moved(at, moved, data.len())
    }

    pub(in crate::engine) fn read(&mut self, data: &mut [u8], at: u64) -> io::Result<usize> {
        self.seek(at)?;
        // SAFETY: the stream is open, and `data` is writable for `data.len()` bytes.
        let moved =
            unsafe { libc::fread(data.as_mut_ptr().cast(), 1, data.len(), self.stream.as_ptr()) };
        self.moved(at, moved, data.len())
    }

    /// Writes the remaining contents of the buffer to the file.
    pub(in crate::engine) fn end(&mut self) -> io::Result<()> {
        // SAFETY: the stream is open.
        match unsafe { libc::fflush(self.stream.as_ptr()) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Seeks to `at` unless the stream is already there.
    fn seek(&mut self, at: u64) -> io::Result<()> {
        if self.at == Some(at) {
            return Ok(());
        }
        let offset = libc::off_t::try_from(at).map_err(io::Error::other)?;
        // SAFETY: the stream is open.
        match unsafe { libc::fseeko(self.stream.as_ptr(), offset, libc::SEEK_SET) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    fn moved(&mut self, at: u64, moved: usize, wanted: usize) -> io::Result<usize> {
        self.at = Some(at + moved as u64);
        // SAFETY: the stream is open.
        if moved < wanted && unsafe { libc::ferror(self.stream.as_ptr()) } != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(moved)
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        // SAFETY: the stream is open and is not used again; its buffer is dropped after the stream. `fclose` writes
        // data that a stopped job has left in the buffer; the result is not needed.
        unsafe { libc::fclose(self.stream.as_ptr()) };
    }
}
