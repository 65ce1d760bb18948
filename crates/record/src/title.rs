//! The title that a user gives a run: one line in a file next to the record, so that the record is not changed.

use std::ffi::OsStr;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::path::Path;

use cryptbench_os::{Directory, NewFile};
use cryptbench_text::printable;

/// Name of the file in a run's directory.
pub const TITLE: &str = "title.txt";

/// Maximum length of a title, in characters.
pub const LONGEST_TITLE: usize = 100;

/// Maximum number of bytes read from the file: four for each character, and a line break.
const LONGEST_FILE: u64 = 4 * LONGEST_TITLE as u64 + 2;

/// Why a run was not given a title.
#[derive(Debug, thiserror::Error)]
pub enum TitleError {
    /// The title is too long, or contains characters that control a terminal or reorder text.
    #[error(
        "a title must be one line of at most {LONGEST_TITLE} characters, without control characters"
    )]
    Unfit,
    /// The file could not be written or removed.
    #[error("cannot write {TITLE}")]
    Io(#[from] io::Error),
}

/// The title of the run in `directory`, printable; `None` without a title. Ignores anything that is not a regular file,
/// and everything after the first line.
pub fn title(directory: &Path) -> Option<String> {
    let file = Directory::open(directory).and_then(|held| held.open_file(OsStr::new(TITLE)));
    let mut bytes = Vec::new();
    file.and_then(|file| file.take(LONGEST_FILE).read_to_end(&mut bytes)).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let line: String = text.lines().next()?.trim().chars().take(LONGEST_TITLE).collect();
    (!line.is_empty()).then(|| printable(&line).into_owned())
}

/// Gives the run in `directory` a title; an empty title removes the existing one.
///
/// # Errors
/// [`TitleError`]; the old title then stays.
pub fn set_title(directory: &Directory, title: &str) -> Result<(), TitleError> {
    let title = title.trim();
    if title.chars().count() > LONGEST_TITLE || *printable(title) != *title {
        return Err(TitleError::Unfit);
    }
    if title.is_empty() {
        return match directory.remove_file(OsStr::new(TITLE)) {
            Err(e) if e.kind() != ErrorKind::NotFound => Err(e.into()),
            _ => Ok(()),
        };
    }
    let mut new = NewFile::begin_in(directory.try_clone()?, TITLE.into(), 0o666)?;
    new.file().write_all(format!("{title}\n").as_bytes())?;
    Ok(new.replace()?)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_title_is_set_changed_and_removed() {
        let dir = tempfile::tempdir().unwrap();
        let held = Directory::open(dir.path()).unwrap();
        assert_eq!(title(dir.path()), None);
        for given in ["my laptop", "  naïve <b> \"quoted\"  ", &"ü".repeat(LONGEST_TITLE)] {
            set_title(&held, given).unwrap();
            assert_eq!(title(dir.path()).as_deref(), Some(given.trim()));
        }
        set_title(&held, " ").unwrap();
        assert_eq!(title(dir.path()), None);
        set_title(&held, "").unwrap();
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn an_unfit_title_leaves_the_old_one() {
        let dir = tempfile::tempdir().unwrap();
        let held = Directory::open(dir.path()).unwrap();
        set_title(&held, "old").unwrap();
        for unfit in ["a\nb", "\u{1b}[2J", "a\u{202e}b", &"x".repeat(LONGEST_TITLE + 1)] {
            assert!(matches!(set_title(&held, unfit), Err(TitleError::Unfit)), "{unfit:?}");
        }
        assert_eq!(title(dir.path()).as_deref(), Some("old"));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_title_of_somebody_else_steers_nothing_and_leads_nowhere() {
        use std::os::unix::fs::symlink;
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join(TITLE);
        fs::write(&file, "\u{1b}]0;x\u{7}evil\nmore").unwrap();
        assert_eq!(title(dir.path()).unwrap(), "\\u{1b}]0;x\\u{7}evil");
        fs::write(&file, [b'a'; 100_000]).unwrap();
        assert_eq!(title(dir.path()).unwrap().len(), LONGEST_TITLE);
        let secret = dir.path().join("secret");
        fs::write(&secret, "secret").unwrap();
        fs::remove_file(&file).unwrap();
        symlink(&secret, &file).unwrap();
        assert_eq!(title(dir.path()), None);
        // The file that it points to is not replaced either.
        let held = Directory::open(dir.path()).unwrap();
        assert!(matches!(set_title(&held, "new"), Err(TitleError::Io(_))));
        assert_eq!(fs::read(&secret).unwrap(), b"secret");
    }
}
