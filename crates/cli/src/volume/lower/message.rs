//! The keeper's queries to the confined process about a lower directory's names and files, and the replies.

use anyhow::{Context as _, bail};
use cryptbench_volume::format::ecryptfs::{Header, Signature};

/// A query. The first three queries contain a name or a link target; the last two carry files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    /// The key with which a name is encrypted.
    KeyOf = b'k' as isize,
    /// The decrypted form of a name.
    Name = b'n' as isize,
    /// The decrypted target of a link.
    Target = b't' as isize,
    /// The header of a lower file.
    Header = b'h' as isize,
    /// The decrypted content of a lower file, written to a new file.
    Content = b'c' as isize,
}

impl Ask {
    /// The query, and its text.
    pub fn hear(said: &[u8]) -> Option<(Self, &[u8])> {
        let (kind, text) = said.split_first()?;
        let all = [Self::KeyOf, Self::Name, Self::Target, Self::Header, Self::Content];
        Some((all.into_iter().find(|known| *known as u8 == *kind)?, text))
    }
}

/// A reply. Nothing in it is trusted until [`Self::believe`] has checked it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// The result, which depends on the query: the signature of a key, or nothing; a name; a target; [`Facts`]; or the
    /// reason why the content is incomplete, if it is incomplete.
    Done(Vec<u8>),
    /// The requested data is not available, for reasons other than a wrong key.
    Failed(String),
    /// No key fits.
    NoKey(String),
    /// The new file cannot be written.
    Unwritten(String),
}

/// Maximum length in bytes of a name, and of a path including its terminating zero (limits.h).
const MOST_NAME: usize = 255;
const MOST_PATH: usize = 4096;

/// Maximum number of keys derived from a passphrase.
const MOST_KEYS: usize = 16;

impl Reply {
    pub fn say(&self, asked: Ask) -> Vec<u8> {
        let (kind, said) = match self {
            Self::Done(said) => (asked as u8, &said[..]),
            Self::Failed(why) => (b'f', why.as_bytes()),
            Self::NoKey(why) => (b'x', why.as_bytes()),
            Self::Unwritten(why) => (b'w', why.as_bytes()),
        };
        [&[kind], &said[..said.len().min(MOST_PATH)]].concat()
    }

    /// Parses the reply to this query; an error if the message is not a reply to it.
    pub fn believe(said: &[u8], asked: Ask) -> anyhow::Result<Self> {
        let lie =
            || format!("the confined process sent an unexpected reply of {} bytes", said.len());
        let (kind, rest) = said.split_first().with_context(lie)?;
        let fits = match asked {
            Ask::KeyOf => matches!(rest.len(), 0 | 8),
            Ask::Name => is_name(rest),
            Ask::Target => (1..MOST_PATH).contains(&rest.len()) && !rest.contains(&0),
            Ask::Header => Facts::hear(rest).is_some(),
            Ask::Content => true,
        };
        Ok(match kind {
            b'f' => Self::Failed(reason(rest)),
            b'x' => Self::NoKey(reason(rest)),
            b'w' if asked == Ask::Content => Self::Unwritten(reason(rest)),
            kind if *kind == asked as u8 && fits => Self::Done(rest.to_vec()),
            _ => bail!(lie()),
        })
    }
}

/// A reason in at most 1024 bytes.
pub fn reason(said: &[u8]) -> String {
    String::from_utf8_lossy(&said[..said.len().min(1024)]).into_owned()
}

/// Whether a name is a single path component, which cannot lead elsewhere.
fn is_name(name: &[u8]) -> bool {
    let bad = |byte: &u8| matches!(byte, b'/' | 0);
    (1..=MOST_NAME).contains(&name.len()) && !matches!(name, b"." | b"..") && !name.iter().any(bad)
}

/// The content of a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Decrypted size of the file, in bytes.
    pub size: u64,
    /// Size of the lower file if it is complete, in bytes.
    pub whole: u64,
    /// The cipher's number in OpenPGP.
    pub cipher: u8,
    /// Length of the cipher's key in bytes.
    pub key_bytes: u8,
    pub key: Signature,
}

impl Facts {
    pub fn of(header: &Header) -> Self {
        let (cipher, key_bytes, key) = header.encryption();
        let key_bytes = u8::try_from(key_bytes).unwrap_or(u8::MAX);
        Self { size: header.size, whole: header.whole(), cipher, key_bytes, key }
    }

    pub fn say(&self) -> Vec<u8> {
        let Self { size, whole, cipher, key_bytes, key } = self;
        [&size.to_le_bytes()[..], &whole.to_le_bytes(), &[*cipher, *key_bytes], &key.0].concat()
    }

    pub fn hear(said: &[u8]) -> Option<Self> {
        let (size, rest) = said.split_first_chunk()?;
        let (whole, rest) = rest.split_first_chunk()?;
        let ([cipher, key_bytes], rest) = rest.split_first_chunk()?;
        let [size, whole] = [size, whole].map(|number| u64::from_le_bytes(*number));
        let key = Signature(rest.try_into().ok()?);
        Some(Self { size, whole, cipher: *cipher, key_bytes: *key_bytes, key })
    }
}

/// The first message of a process that is ready for queries: the signatures of its keys.
pub fn ready(keys: &[Signature]) -> Vec<u8> {
    [&b"r"[..], keys.iter().map(|key| key.0).collect::<Vec<_>>().as_flattened()].concat()
}

/// The signatures in that message; an error if it is another message.
pub fn believe_ready(said: &[u8]) -> anyhow::Result<Vec<Signature>> {
    match said.strip_prefix(b"r").map(<[u8]>::as_chunks::<8>) {
        Some((keys, [])) if keys.len() <= MOST_KEYS => {
            Ok(keys.iter().map(|key| Signature(*key)).collect())
        }
        _ => bail!(
            "the confined process is not ready: it sent an unexpected message of {} bytes",
            said.len()
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_true_is_believed_and_lies_are_not() {
        let facts =
            Facts { size: 5, whole: 12288, cipher: 7, key_bytes: 16, key: Signature([9; 8]) };
        let done = |said: &[u8]| Reply::Done(said.to_vec());
        let true_ones = [
            (Ask::KeyOf, done(b"")),
            (Ask::KeyOf, done(&[3; 8])),
            (Ask::Name, done(b"a name")),
            (Ask::Target, done(b"../../a/path")),
            (Ask::Header, done(&facts.say())),
            (Ask::Content, done(b"")),
            (Ask::Content, done(b"cut")),
            (Ask::Content, Reply::Unwritten("full".to_owned())),
            (Ask::Name, Reply::Failed("damaged".to_owned())),
            (Ask::Header, Reply::NoKey("none".to_owned())),
        ];
        for (asked, reply) in true_ones {
            assert_eq!(
                Ask::hear(&[&[asked as u8][..], b"text"].concat()),
                Some((asked, &b"text"[..]))
            );
            assert_eq!(Reply::believe(&reply.say(asked), asked).unwrap(), reply);
        }
        assert_eq!(Facts::hear(&facts.say()), Some(facts));
        assert!(Ask::hear(b"").is_none() && Ask::hear(b"z").is_none());
        let long = [&b"n"[..], &[b'x'; 256]].concat();
        for lie in
            [&b""[..], b"n", b"n.", b"n..", b"na/b", b"n/", b"na\0b", &long, b"tx", b"c", b"w"]
        {
            assert!(Reply::believe(lie, Ask::Name).is_err(), "{lie:?}");
        }
        for lie in [&b"t"[..], b"ta\0", &[b't'; 4097], b"nx"] {
            assert!(Reply::believe(lie, Ask::Target).is_err(), "{lie:?}");
        }
        let short = done(&facts.say()).say(Ask::Header);
        for lie in [&short[..short.len() - 1], &[&short[..], &[0]].concat(), b"h"] {
            assert!(Reply::believe(lie, Ask::Header).is_err(), "{lie:?}");
        }
        assert!(Reply::believe(b"k12345", Ask::KeyOf).is_err());
        let two = [Signature([1; 8]), Signature([2; 8])];
        assert_eq!(believe_ready(&ready(&two)).unwrap(), two);
        for lie in [&b""[..], b"x", b"r1234567", &ready(&[Signature([1; 8]); 17])] {
            assert!(believe_ready(lie).is_err(), "{lie:?}");
        }
        let long = Reply::Failed("ä".repeat(5000)).say(Ask::Name);
        let Reply::Failed(long) = Reply::believe(&long, Ask::Name).unwrap() else { panic!() };
        assert!(long.len() <= 1024);
    }
}
