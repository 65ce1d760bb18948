//! Formats an error with all its causes as one sentence.

use std::error::Error;

/// The message of `error` and of each of its causes, separated by colons.
///
/// Our own errors never repeat their causes. Errors from other crates sometimes do (`rusqlite`, `png`), so a cause is
/// skipped if the sentence already ends with it.
pub fn chain(error: &dyn Error) -> String {
    let mut sentence = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let why = error.to_string();
        if !sentence.ends_with(&why) {
            if !sentence.is_empty() {
                sentence.push_str(": ");
            }
            sentence.push_str(&why);
        }
        cause = error.source();
    }
    sentence
}

#[cfg(test)]
mod tests {
    use std::fmt;
    use std::io;

    use super::*;

    #[derive(Debug)]
    struct Because(&'static str, Option<Box<dyn Error>>);

    impl fmt::Display for Because {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(self.0)
        }
    }

    impl Error for Because {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            self.1.as_deref()
        }
    }

    #[test]
    fn every_cause_is_said_once() {
        let storage = io::Error::from_raw_os_error(5);
        let said = storage.to_string();
        let read = Because("cannot read the first sector", Some(Box::new(storage)));
        let run = Because("the check failed", Some(Box::new(read)));
        assert_eq!(chain(&run), format!("the check failed: cannot read the first sector: {said}"));
        assert_eq!(chain(&Because("alone", None)), "alone");
    }

    #[test]
    fn a_cause_that_was_said_already_is_not_repeated() {
        let cause = Because("no room", None);
        let repeats = Because("cannot write: no room", Some(Box::new(cause)));
        assert_eq!(chain(&repeats), "cannot write: no room");
    }
}
