//! Output to pipes, character devices and open descriptors.

use std::fs::File;
use std::io;
use std::path::{Component, Path};

use rustix::fs::{CWD, Mode, OFlags, fstat, openat};

use super::terminal::STDOUT;
use super::{details, file_type};
use crate::FileType;

/// Opens `path` if the file there accepts a stream of bytes.
pub(crate) fn stream(path: &Path) -> io::Result<Option<File>> {
    let own = own_descriptor(path);
    // Does not follow a link in a directory that others control; links in `/dev` belong to root.
    let of_root = path.starts_with("/dev")
        && !path.starts_with("/dev/shm")
        && !path.components().any(|part| part == Component::ParentDir);
    let follows = own || of_root;
    let kind = match follows {
        true => std::fs::metadata(path),
        false => std::fs::symlink_metadata(path),
    };
    let fits = |kind: FileType| match kind {
        FileType::Fifo => true,
        FileType::CharacterDevice => follows,
        FileType::RegularFile => own,
        _ => false,
    };
    let Ok(found) = kind else { return Ok(None) };
    if !fits(details(&found).kind) {
        return Ok(None);
    }
    let mut flags = OFlags::WRONLY | OFlags::CLOEXEC | OFlags::NOCTTY;
    flags.set(OFlags::NOFOLLOW, !follows);
    // If standard output is a file, appends to its contents.
    flags.set(OFlags::APPEND, own);
    let opened = openat(CWD, path, flags, Mode::empty())?;
    match fits(file_type(fstat(&opened)?.st_mode)) {
        true => Ok(Some(opened.into())),
        false => Err(io::Error::new(io::ErrorKind::InvalidInput, "it has just been replaced")),
    }
}

/// Whether `path` refers to an open descriptor of this process.
fn own_descriptor(path: &Path) -> bool {
    if [STDOUT, "/dev/stderr"].iter().any(|name| path == Path::new(name)) {
        return true;
    }
    let number = |below: &str| path.strip_prefix(below).ok().and_then(Path::to_str);
    let found = number("/dev/fd").or_else(|| number("/proc/self/fd"));
    found.is_some_and(|name| name.parse::<u32>().is_ok())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::write_named;

    #[test]
    fn what_was_named_for_output_may_be_a_stream_but_no_link_to_one() {
        let dir = tempfile::tempdir().unwrap();
        write_named(Path::new("/dev/null"), b"gone").unwrap();
        let link = dir.path().join("link");
        symlink("/dev/null", &link).unwrap();
        assert!(write_named(&link, b"page").is_err());
        assert!(write_named(dir.path(), b"page").is_err());
        let pipe = dir.path().join("pipe");
        rustix::fs::mkfifoat(CWD, &pipe, Mode::RWXU).unwrap();
        let reader = std::thread::spawn({
            let pipe = pipe.clone();
            move || fs::read(pipe).unwrap()
        });
        write_named(&pipe, b"page").unwrap();
        assert_eq!(reader.join().unwrap(), b"page");
    }

    #[test]
    fn a_descriptor_of_our_own_that_leads_to_a_file_is_written_where_it_stands() {
        use std::os::fd::AsRawFd as _;

        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("out");
        fs::write(&path, "before, ").unwrap();
        let open = File::options().append(true).open(&path).unwrap();
        for below in ["/dev/fd", "/proc/self/fd"] {
            let named = Path::new(below).join(open.as_raw_fd().to_string());
            write_named(&named, b"page ").unwrap();
        }
        assert_eq!(fs::read(&path).unwrap(), b"before, page page ");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
        assert!(own_descriptor(Path::new("/dev/stdout")));
        // A path with the prefix of a descriptor path is not necessarily one.
        for other in ["/dev/fd/../../etc/hostname", "/proc/self/fd/x", "/dev/shm/link"] {
            assert!(!own_descriptor(Path::new(other)), "{other}");
        }
    }
}
