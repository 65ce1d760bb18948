//! The confined process for a lower directory: replies to its keeper's queries about names and open files.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::sync::atomic::AtomicBool;

use cryptbench_cipher::tier;
use cryptbench_os::channel::Channel;
use cryptbench_os::files;
use cryptbench_text::chain;
use cryptbench_volume::format::ecryptfs::{self, Header, Keys};
use cryptbench_volume::{Credentials, VolumeError};

use super::message::{Ask, Facts, Reply, ready};

/// Replies until the keeper has no more queries.
pub fn answer(
    channel: &Channel,
    credentials: Option<&Credentials>,
    stop: &AtomicBool,
) -> anyhow::Result<()> {
    let tier = tier()?;
    let mut keys = credentials.map(|credentials| Keys::of(credentials, tier)).transpose()?;
    // The first message confirms that the passphrase is correct.
    let signatures = keys.as_ref().map(Keys::signatures).unwrap_or_default();
    channel.send(&ready(&signatures), &[])?;
    loop {
        let (said, files) = channel.receive()?;
        let Some((asked, text)) = Ask::hear(&said) else { return Ok(()) };
        let reply = match reply(asked, text, &files, keys.as_mut(), stop) {
            Ok(said) => Reply::Done(said),
            Err(VolumeError::NoKeyFits(why)) => Reply::NoKey(why),
            Err(VolumeError::Damaged { reason, .. }) => Reply::Failed(reason),
            Err(VolumeError::NotThisFormat { reason, .. }) => Reply::Failed(reason),
            Err(VolumeError::Io { doing: "writing the file", source }) => {
                Reply::Unwritten(source.to_string())
            }
            Err(error) => Reply::Failed(chain(&error)),
        };
        channel.send(&reply.say(asked), &[])?;
    }
}

fn reply(
    asked: Ask,
    text: &[u8],
    files: &[File],
    keys: Option<&mut Keys>,
    stop: &AtomicBool,
) -> Result<Vec<u8>, VolumeError> {
    match (asked, files, keys) {
        (Ask::KeyOf, ..) => {
            Ok(ecryptfs::signature(text)?.map(|key| key.0.to_vec()).unwrap_or_default())
        }
        (Ask::Name, _, Some(keys)) => ecryptfs::plain_name(text, keys),
        (Ask::Target, _, Some(keys)) => ecryptfs::link_target(text, keys),
        (Ask::Header, [lower], keys) => {
            let header = header(lower)?;
            keys.map_or(Ok(()), |keys| header.is_opened_by(keys))?;
            Ok(Facts::of(&header).say())
        }
        (Ask::Content, [lower, to], Some(keys)) => {
            let header = header(lower)?;
            let len = (&mut &*lower).seek(SeekFrom::End(0)).map_err(reading)?;
            let read = |at: u64, part: &mut [u8]| files::read_exact_at(lower, part, at);
            let write = |part: &[u8]| (&mut &*to).write_all(part);
            let problem = ecryptfs::copy(&header, keys, len, read, write, stop)?;
            Ok(problem.unwrap_or_default().into_bytes())
        }
        _ => Err(VolumeError::Invalid("incomplete request: a key or a file is missing".to_owned())),
    }
}

fn header(mut lower: &File) -> Result<Header, VolumeError> {
    let mut start = Vec::new();
    lower.rewind().map_err(reading)?;
    lower.take(ecryptfs::START as u64).read_to_end(&mut start).map_err(reading)?;
    Header::parse(&start)
}

fn reading(source: io::Error) -> VolumeError {
    VolumeError::Io { doing: "reading the file", source }
}
