//! The confined process of a lower directory: answers what its keeper asks about names and open files.

use std::fs::File;
use std::io::{Seek as _, SeekFrom, Write as _};
use std::sync::atomic::AtomicBool;

use cryptbench_cipher::tier;
use cryptbench_os::channel::Channel;
use cryptbench_os::files;
use cryptbench_text::chain;
use cryptbench_volume::format::ecryptfs::{self, Header, Keys};
use cryptbench_volume::{Credentials, VolumeError};

use super::message::{Facts, Question, Reply, ready};

/// Answers until the keeper asks nothing more.
pub fn answer(
    channel: &Channel,
    credentials: Option<&Credentials>,
    stop: &AtomicBool,
) -> anyhow::Result<()> {
    let tier = tier()?;
    let mut keys = credentials.map(|credentials| Keys::of(credentials, tier)).transpose()?;
    // The first word says that the passphrase is no wrong one.
    let signatures = keys.as_ref().map(Keys::signatures).unwrap_or_default();
    channel.send(&ready(&signatures), &[])?;
    loop {
        let (said, files) = channel.receive()?;
        let Some(question) = Question::hear(&said) else { return Ok(()) };
        let reply = reply(&question, &files, keys.as_mut(), stop);
        channel.send(&reply.say(), &[])?;
    }
}

fn reply(question: &Question, files: &[File], keys: Option<&mut Keys>, stop: &AtomicBool) -> Reply {
    let done = match (question, files, keys) {
        (Question::KeyOf(name), _, _) => ecryptfs::signature(name).map(Reply::KeyOf),
        (Question::Name(name), _, Some(keys)) => ecryptfs::plain_name(name, keys).map(Reply::Name),
        (Question::Target(target), _, Some(keys)) => {
            ecryptfs::link_target(target, keys).map(Reply::Target)
        }
        (Question::Header, [lower], keys) => header(lower).and_then(|header| {
            keys.map_or(Ok(()), |keys| header.is_opened_by(keys))?;
            Ok(Reply::Header(Facts::of(&header)))
        }),
        (Question::Content, [lower, to], Some(keys)) => return content(lower, to, keys, stop),
        _ => return Reply::Failed("what this needs did not come".to_owned()),
    };
    done.unwrap_or_else(|error| failed(&error))
}

fn failed(error: &VolumeError) -> Reply {
    match error {
        VolumeError::NoKeyFits(why) => Reply::NoKey(why.clone()),
        VolumeError::Damaged { reason, .. } | VolumeError::NotThisFormat { reason, .. } => {
            Reply::Failed(reason.clone())
        }
        error => Reply::Failed(chain(error)),
    }
}

fn header(lower: &File) -> Result<Header, VolumeError> {
    let mut start = vec![0; ecryptfs::START];
    let mut filled = 0;
    while filled < start.len() {
        match files::read_at(lower, &mut start[filled..], filled as u64) {
            Ok(0) => break,
            Ok(got) => filled += got,
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(source) => return Err(VolumeError::Io { doing: "reading the header", source }),
        }
    }
    Header::parse(&start[..filled])
}

fn content(lower: &File, mut to: &File, keys: &mut Keys, stop: &AtomicBool) -> Reply {
    let copied = header(lower).and_then(|header| {
        let mut end = lower;
        let end = end.seek(SeekFrom::End(0));
        let len = end.map_err(|source| VolumeError::Io { doing: "reading the file", source })?;
        let read = |at: u64, part: &mut [u8]| files::read_exact_at(lower, part, at);
        ecryptfs::copy(&header, keys, len, read, |part| to.write_all(part), stop)
    });
    match copied {
        Ok(copied) => Reply::Content(copied.problem),
        Err(VolumeError::Io { doing: "writing the file", source }) => {
            Reply::Unwritten(source.to_string())
        }
        Err(error) => failed(&error),
    }
}
