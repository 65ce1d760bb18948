//! What the keeper asks the confined process of a lower directory's names and files, and the replies.

use anyhow::{Context as _, bail};
use cryptbench_volume::format::ecryptfs::{Header, Signature};

/// A question; files come along with the last two.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Question {
    /// The key that a name is encrypted with.
    KeyOf(Vec<u8>),
    /// A name as its user sees it.
    Name(Vec<u8>),
    /// The target of a link as its user sees it.
    Target(Vec<u8>),
    /// The header of a lower file.
    Header,
    /// The content of a lower file, into a new one.
    Content,
}

impl Question {
    pub fn say(&self) -> Vec<u8> {
        let (kind, text) = match self {
            Self::KeyOf(name) => (b'k', &name[..]),
            Self::Name(name) => (b'n', &name[..]),
            Self::Target(target) => (b't', &target[..]),
            Self::Header => (b'h', &[][..]),
            Self::Content => (b'c', &[][..]),
        };
        [&[kind], text].concat()
    }

    pub fn hear(said: &[u8]) -> Option<Self> {
        let (kind, text) = said.split_first()?;
        Some(match kind {
            b'k' => Self::KeyOf(text.to_vec()),
            b'n' => Self::Name(text.to_vec()),
            b't' => Self::Target(text.to_vec()),
            b'h' => Self::Header,
            b'c' => Self::Content,
            _ => return None,
        })
    }
}

/// What a header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Bytes of the file as its user sees it.
    pub size: u64,
    /// Bytes that its lower file has if it is whole.
    pub whole: u64,
    /// OpenPGP's number of the cipher.
    pub cipher: u8,
    /// Bytes of the cipher's key.
    pub key_bytes: u8,
    pub key: Signature,
}

impl Facts {
    pub fn of(header: &Header) -> Self {
        let (cipher, key_bytes) = header.cipher();
        Self {
            size: header.size,
            whole: header.whole(),
            cipher,
            key_bytes: u8::try_from(key_bytes).unwrap_or(u8::MAX),
            key: header.signatures().first().copied().unwrap_or(Signature([0; 8])),
        }
    }
}

/// A reply to a question. None of it is believed before [`Self::believe`] has looked at it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    KeyOf(Option<Signature>),
    Name(Vec<u8>),
    Target(Vec<u8>),
    Header(Facts),
    /// Why the content is not whole, if it is not.
    Content(Option<String>),
    /// What was asked for cannot be had, for other reasons than a wrong key.
    Failed(String),
    /// No key fits.
    NoKey(String),
    /// The new file cannot be written.
    Unwritten(String),
}

/// Most bytes of a name, and of a path with the zero that ends it (limits.h).
const MOST_NAME: usize = 255;
const MOST_PATH: usize = 4096;

/// Most keys of a passphrase.
const MOST_KEYS: usize = 16;

/// Most bytes of a reason.
const MOST_REASON: usize = 1024;

impl Reply {
    pub fn say(&self) -> Vec<u8> {
        let reason = |kind: u8, reason: &str| {
            let mut end = reason.len().min(MOST_REASON);
            while !reason.is_char_boundary(end) {
                end -= 1;
            }
            [&[kind], &reason.as_bytes()[..end]].concat()
        };
        match self {
            Self::KeyOf(None) => vec![b'k'],
            Self::KeyOf(Some(Signature(key))) => [&b"k"[..], key].concat(),
            Self::Name(name) => [&b"n"[..], name].concat(),
            Self::Target(target) => [&b"t"[..], target].concat(),
            Self::Header(facts) => [
                &b"h"[..],
                &facts.size.to_le_bytes(),
                &facts.whole.to_le_bytes(),
                &[facts.cipher, facts.key_bytes],
                &facts.key.0,
            ]
            .concat(),
            Self::Content(None) => vec![b'c'],
            Self::Content(Some(why)) => reason(b'c', why),
            Self::Failed(why) => reason(b'f', why),
            Self::NoKey(why) => reason(b'x', why),
            Self::Unwritten(why) => reason(b'w', why),
        }
    }

    /// The reply to this question, if it is one.
    pub fn believe(said: &[u8], asked: &Question) -> anyhow::Result<Self> {
        let lie = || format!("the confined process gave no answer, but {} bytes", said.len());
        let (kind, rest) = said.split_first().with_context(lie)?;
        let reason = || String::from_utf8_lossy(&rest[..rest.len().min(MOST_REASON)]).into_owned();
        Ok(match (kind, asked) {
            (b'f', _) => Self::Failed(reason()),
            (b'x', _) => Self::NoKey(reason()),
            (b'w', Question::Content) => Self::Unwritten(reason()),
            (b'c', Question::Content) => {
                Self::Content(Some(reason()).filter(|reason| !reason.is_empty()))
            }
            (b'k', Question::KeyOf(_)) if rest.is_empty() => Self::KeyOf(None),
            (b'k', Question::KeyOf(_)) => {
                Self::KeyOf(Some(Signature(rest.try_into().with_context(lie)?)))
            }
            (b'n', Question::Name(_)) if is_name(rest) => Self::Name(rest.to_vec()),
            (b't', Question::Target(_)) if is_target(rest) => Self::Target(rest.to_vec()),
            (b'h', Question::Header) => Self::Header(facts(rest).with_context(lie)?),
            _ => bail!(lie()),
        })
    }
}

/// The first word of a process that is ready to answer: the signatures of its keys.
pub fn ready(keys: &[Signature]) -> Vec<u8> {
    [&b"r"[..], keys.iter().map(|key| key.0).collect::<Vec<_>>().as_flattened()].concat()
}

/// Those signatures, if that is what was said.
pub fn believe_ready(said: &[u8]) -> anyhow::Result<Vec<Signature>> {
    let keys = said.strip_prefix(b"r").map(<[u8]>::as_chunks::<8>);
    match keys {
        Some((keys, [])) if keys.len() <= MOST_KEYS => {
            Ok(keys.iter().map(|key| Signature(*key)).collect())
        }
        _ => bail!("the confined process is not ready, but said {} bytes", said.len()),
    }
}

/// One component of a path, which leads nowhere else.
fn is_name(name: &[u8]) -> bool {
    let bad = |byte: &u8| matches!(byte, b'/' | 0);
    (1..=MOST_NAME).contains(&name.len()) && !matches!(name, b"." | b"..") && !name.iter().any(bad)
}

fn is_target(target: &[u8]) -> bool {
    (1..MOST_PATH).contains(&target.len()) && !target.contains(&0)
}

fn facts(said: &[u8]) -> Option<Facts> {
    let (size, rest) = said.split_first_chunk()?;
    let (whole, rest) = rest.split_first_chunk()?;
    let ([cipher, key_bytes], rest) = rest.split_first_chunk()?;
    let [size, whole] = [size, whole].map(|number| u64::from_le_bytes(*number));
    let key = Signature(rest.try_into().ok()?);
    Some(Facts { size, whole, cipher: *cipher, key_bytes: *key_bytes, key })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_true_is_believed_and_lies_are_not() {
        let facts =
            Facts { size: 5, whole: 12288, cipher: 7, key_bytes: 16, key: Signature([9; 8]) };
        let (name, target) = (Question::Name(vec![1]), Question::Target(vec![1]));
        let key = Question::KeyOf(vec![1]);
        let true_ones = [
            (&key, Reply::KeyOf(None)),
            (&key, Reply::KeyOf(Some(Signature([3; 8])))),
            (&name, Reply::Name(b"a name".to_vec())),
            (&target, Reply::Target(b"../../a/path".to_vec())),
            (&Question::Header, Reply::Header(facts)),
            (&Question::Content, Reply::Content(None)),
            (&Question::Content, Reply::Content(Some("cut".to_owned()))),
            (&Question::Content, Reply::Unwritten("full".to_owned())),
            (&name, Reply::Failed("damaged".to_owned())),
            (&Question::Header, Reply::NoKey("none".to_owned())),
        ];
        for (asked, reply) in true_ones {
            assert_eq!(Question::hear(&asked.say()).as_ref(), Some(asked));
            assert_eq!(Reply::believe(&reply.say(), asked).unwrap(), reply);
        }
        let long = [&b"n"[..], &[b'x'; 256]].concat();
        for lie in
            [&b""[..], b"n", b"n.", b"n..", b"na/b", b"n/", b"na\0b", &long, b"tx", b"c", b"w"]
        {
            assert!(Reply::believe(lie, &name).is_err(), "{lie:?}");
        }
        for lie in [&b"t"[..], b"ta\0", &[b't'; 4097], b"nx"] {
            assert!(Reply::believe(lie, &target).is_err(), "{lie:?}");
        }
        let short = Reply::Header(facts).say();
        for lie in [&short[..short.len() - 1], &[&short[..], &[0]].concat(), b"h"] {
            assert!(Reply::believe(lie, &Question::Header).is_err(), "{lie:?}");
        }
        assert!(Reply::believe(b"k12345", &key).is_err());
        let two = [Signature([1; 8]), Signature([2; 8])];
        assert_eq!(believe_ready(&ready(&two)).unwrap(), two);
        for lie in [&b""[..], b"x", b"r1234567", &ready(&[Signature([1; 8]); 17])] {
            assert!(believe_ready(lie).is_err(), "{lie:?}");
        }
        let long = Reply::Failed("ä".repeat(5000)).say();
        assert!(long.len() <= MOST_REASON + 1 && std::str::from_utf8(&long[1..]).is_ok());
    }
}
