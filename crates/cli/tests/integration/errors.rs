//! Errors of all crates print each cause once: first what failed, in their own words, then the reason, in those of
//! their source.

use std::io;
use std::path::{Path, PathBuf};

use cryptbench_devices::Model;
use cryptbench_export::ExportError;
use cryptbench_foreign::ForeignError;
use cryptbench_history::{History, HistoryError};
use cryptbench_load::{LoadError, Operation, Profile, ProfileError};
use cryptbench_record::RecordError;
use cryptbench_runner::RunError;
use cryptbench_serve::ServeError;
use cryptbench_system::SystemError;
use cryptbench_text::chain;
use cryptbench_volume::VolumeError;

use crate::sandbox::{Sandbox, text};

fn broken() -> io::Error {
    io::Error::from_raw_os_error(5)
}

fn path() -> PathBuf {
    "/dev/sdx".into()
}

fn load() -> LoadError {
    LoadError::Io { operation: Operation::Read, offset: 4096, len: 512, source: broken() }
}

fn system() -> SystemError {
    SystemError::Io { act: "open", path: path(), source: broken() }
}

fn volume() -> VolumeError {
    VolumeError::Io { doing: "reading the header", source: broken() }
}

fn record() -> RecordError {
    RecordError::Io { act: "read", path: path(), source: broken() }
}

/// One error of each kind that has a cause; `what` is the text of the error itself.
fn all() -> Vec<(&'static str, anyhow::Error)> {
    let export = |e: ExportError| -> anyhow::Error { SystemError::from(e).into() };
    let system_act = ExportError::System { act: "unmount /mnt".to_owned(), source: broken() };
    vec![
        ("read of 512 bytes", load().into()),
        ("read of 512 bytes", RunError::from(load()).into()),
        ("flushing written data", LoadError::Sync { source: broken() }.into()),
        (
            "making a ring failed",
            LoadError::Setup { what: "making a ring", source: broken() }.into(),
        ),
        (
            "cannot remove",
            LoadError::File { action: "remove", path: path(), source: broken() }.into(),
        ),
        ("profile /dev/sdx", ProfileError::Read { path: path(), source: broken() }.into()),
        ("cannot open /dev/sdx", RunError::from(system()).into()),
        ("fill the storage", SystemError::Fill(Box::new(load())).into()),
        ("cannot flush", RunError::Storage { act: "flush", source: broken() }.into()),
        ("/dev/fuse", export(ExportError::NoFuse(broken()))),
        ("cannot unmount /mnt", export(system_act)),
        ("reading the header failed", RunError::from(volume()).into()),
        ("cannot read /dev/sdx", record().into()),
        ("cannot read /dev/sdx", HistoryError::from(record()).into()),
        ("directory /dev/sdx", HistoryError::Io { path: path(), source: broken() }.into()),
        ("cannot read /dev/sdx", ForeignError::Io { path: path(), source: broken() }.into()),
        ("127.0.0.1:80", ServeError::Bind { port: 80, source: broken() }.into()),
        ("cannot start the server", ServeError::Runtime(broken()).into()),
        ("xdg-open", ServeError::Open { program: "xdg-open", source: broken() }.into()),
        (
            "cannot read /nonexistent.toml",
            Model::named_or_file("/nonexistent.toml".as_ref()).unwrap_err().into(),
        ),
        (
            "/nonexistent.toml",
            Profile::from_file(Path::new("/nonexistent.toml")).unwrap_err().into(),
        ),
        ("/dev/null", cryptbench_record::read(Path::new("/dev/null")).unwrap_err().into()),
        ("/proc", History::open(Path::new("/proc/self/status")).err().unwrap().into()),
    ]
}

#[test]
fn every_cause_is_said_once() {
    for (what, error) in all() {
        let shown = format!("{error:#}");
        assert_eq!(shown, chain(error.as_ref()));
        assert!(error.to_string().contains(what), "no {what:?} in {error}");
        for part in error.chain() {
            assert_eq!(shown.matches(&part.to_string()).count(), 1, "{part} in {shown}");
        }
    }
}

#[test]
fn the_program_says_what_and_why_once() {
    let s = Sandbox::new();
    let absent = "/nonexistent/a.json";
    for args in [
        &["report", absent][..],
        &["compare", absent, absent],
        &["history", "add", absent],
        &["volume", "info", absent],
        &["run", "--profile", absent],
        &["run", "--emulate", "/nonexistent/a.toml"],
        &["predict", "--cipher-rate", "3000", "--device", "/nonexistent/a.toml"],
    ] {
        let done = s.run(args);
        let said = text(&done.stderr);
        assert!(!done.status.success(), "{args:?}");
        for once in ["/nonexistent/a.", "No such file or directory"] {
            assert_eq!(said.matches(once).count(), 1, "{args:?}: {said}");
        }
    }
}
