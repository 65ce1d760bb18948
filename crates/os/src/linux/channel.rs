//! Sockets between a process and its child, whose messages carry descriptors (unix(7), `SCM_RIGHTS`).

use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process::Stdio;

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};

use crate::channel::MOST;

#[derive(Debug)]
pub(crate) struct End(OwnedFd);

impl AsFd for End {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl From<End> for Stdio {
    fn from(end: End) -> Self {
        end.0.into()
    }
}

pub(crate) fn pair() -> io::Result<(End, End)> {
    // Keeps messages apart.
    let kind = SocketType::SEQPACKET;
    let (ours, theirs) = socketpair(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None)?;
    Ok((End(ours), End(theirs)))
}

pub(crate) fn standard_input() -> io::Result<End> {
    Ok(End(rustix::stdio::stdin().try_clone_to_owned()?))
}

impl End {
    pub(crate) fn send(&self, message: &[u8], files: &[&File]) -> io::Result<()> {
        let files: Vec<_> = files.iter().map(|file| file.as_fd()).collect();
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(64))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        if !files.is_empty() && !control.push(SendAncillaryMessage::ScmRights(&files)) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let data = [IoSlice::new(message)];
        loop {
            match sendmsg(&self.0, &data, &mut control, SendFlags::NOSIGNAL) {
                Err(Errno::INTR) => {}
                sent => return sent.map(drop).map_err(Into::into),
            }
        }
    }

    pub(crate) fn receive(&self) -> io::Result<(Vec<u8>, Vec<File>)> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(64))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let mut message = vec![0; MOST];
        let received = loop {
            let mut data = [IoSliceMut::new(&mut message)];
            match recvmsg(&self.0, &mut data, &mut control, RecvFlags::CMSG_CLOEXEC) {
                Err(Errno::INTR) => {}
                Err(Errno::CONNRESET) => return Ok(Default::default()),
                received => break received?,
            }
        };
        message.truncate(received.bytes);
        let mut files = Vec::new();
        for sent in control.drain() {
            if let RecvAncillaryMessage::ScmRights(sent) = sent {
                files.extend(sent.map(File::from));
            }
        }
        Ok((message, files))
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Seek as _, Write as _};
    #[test]
    fn files_arrive_open() {
        let (one, other) = super::pair().unwrap();
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"written here").unwrap();
        one.send(b"!", &[&file, &file]).unwrap();
        let (message, mut files) = other.receive().unwrap();
        assert_eq!((&message[..], files.len()), (&b"!"[..], 2));
        files[1].rewind().unwrap();
        let mut text = String::new();
        files[1].read_to_string(&mut text).unwrap();
        assert_eq!(text, "written here");
        one.send(b"next", &[]).unwrap();
        one.send(b"last", &[]).unwrap();
        assert_eq!(other.receive().unwrap().0, b"next");
        drop(one);
        assert_eq!(other.receive().unwrap().0, b"last");
        assert!(other.receive().unwrap().0.is_empty());
    }
}
