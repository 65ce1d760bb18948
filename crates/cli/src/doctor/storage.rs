//! The target that `cryptbench run` would measure: space, direct I/O, io_uring.

use std::fs::File;
use std::io;
use std::path::Path;

use cryptbench_answer::place::about;
use cryptbench_blockdev::AlignedBuf;
use cryptbench_load::{Engine, EngineChoice, Profile};
use cryptbench_os::dirs::resolved;
use cryptbench_os::files::{reopen_direct, without_name, write_all_at};
use cryptbench_os::machine::{kernel_setting, missing_file_system};
use cryptbench_os::storage::space;
use cryptbench_record::PlaceKind;
use cryptbench_runner::{DryRun, Facts, Request, RunError, dry_run_on};
use cryptbench_text::{chain, human, shown};

use super::diagnosis::{Finding, State};
use crate::exit;

/// What to do about a directory that cannot be measured.
const ELSEWHERE: Option<&str> = Some("try another directory: cryptbench doctor DIRECTORY");

pub struct Storage {
    pub findings: Vec<Finding>,
    pub directory: String,
    /// Why a run in this directory would be refused.
    pub refusal: Option<String>,
    /// The exit code of that refusal; 0 if the run would not be refused.
    pub code: u8,
}

pub fn look(directory: &Path, request: &Request, facts: &Facts) -> Storage {
    let absolute = resolved(directory).unwrap_or_else(|_| directory.to_owned());
    let mut storage =
        Storage { findings: Vec::new(), directory: shown(&absolute), refusal: None, code: 0 };
    if let Some(missing) = missing_file_system() {
        storage.refuse(
            missing,
            None,
            &exit::Refusal::target(missing.as_ref(), crate::NOT_MOUNTED).into(),
        );
        return storage;
    }
    let (kinds, sector);
    match dry_run_on(request, facts, None) {
        Ok(dry) => {
            storage.findings.extend(room(&absolute, &dry));
            (kinds, sector) = (dry.place, dry.sector);
        }
        Err(error) => {
            storage.refuse("place", ELSEWHERE, &error.into());
            return storage;
        }
    }
    match direct_io(&absolute, &kinds, sector) {
        Ok(finding) => storage.findings.push(finding),
        Err(error) => {
            let error = anyhow::Error::new(RunError::Target {
                path: absolute.clone(),
                problem: format!("no file can be created here: {error}"),
            });
            storage.refuse("place", ELSEWHERE, &error);
        }
    }
    storage.findings.push(engine());
    storage
}

impl Storage {
    fn refuse(&mut self, name: &str, remedy: Option<&str>, error: &anyhow::Error) {
        let words = chain(&**error);
        let finding = Finding::new(name, State::Fatal, words.clone());
        self.findings.push(Finding { remedy: remedy.map(str::to_owned), ..finding });
        (self.refusal, self.code) = (Some(words), exit::code(error));
    }
}

/// `cryptbench run DIRECTORY`.
pub fn request(directory: &Path) -> Request {
    Request::of(directory, Profile::named("quick").expect("it is built in"))
}

fn room(directory: &Path, dry: &DryRun) -> Vec<Finding> {
    let free = space(directory).map(|space| format!("; {} free", human(space.free)));
    let free = free.unwrap_or_default();
    let (bytes, why) = &dry.scratch;
    let mut findings = vec![place(&dry.storage, &dry.filesystem, &dry.place)];
    findings.extend(dry.self_encrypting.as_ref().map(|words| Finding::ok("drive", words.clone())));
    findings.extend(dry.device_kind.as_ref().map(|kind| Finding::ok("device", kind.to_string())));
    findings.push(Finding::ok("scratch file", format!("{} ({why}){free}", human(*bytes))));
    findings.extend(dry.remarks.iter().map(|remark| Finding::ok("remark", remark.clone())));
    findings
}

/// The file system and the devices that hold it.
fn place(storage: &str, filesystem: &str, kinds: &[PlaceKind]) -> Finding {
    let said = about(filesystem, kinds).join(" ");
    let said = said.trim_end_matches('.');
    if said.is_empty() {
        return Finding::ok("place", storage);
    }
    let finding = Finding::warning("place", format!("{storage}. {said}"));
    let remedy = match () {
        () if kinds.contains(&PlaceKind::Layers) => {
            "use a directory that is mounted into the container"
        }
        () if kinds.iter().any(|kind| matches!(kind, PlaceKind::Compresses { .. })) => {
            "use the rows with random data, or a directory that is not compressed"
        }
        () => "use a directory on the disk that you want to measure: cryptbench run DIRECTORY",
    };
    finding.remedy(remedy)
}

/// Tries direct I/O on a temporary file.
fn direct_io(directory: &Path, kinds: &[PlaceKind], sector: u64) -> io::Result<Finding> {
    // Some file systems do not support unnamed files, and some FUSE file systems cannot reopen an unlinked file.
    let (file, _named) = match without_name(directory) {
        Ok(file) => (file, None),
        Err(_) => {
            let named = tempfile::NamedTempFile::new_in(directory)?;
            (named.reopen()?, Some(named))
        }
    };
    let buffered = |why: &str| {
        Finding::warning(
            "direct I/O",
            format!(
                "does not work here ({why}): requests go through the page cache, which is dropped between trials"
            ),
        )
    };
    Ok(match try_direct(&file) {
        Ok(()) if kinds.contains(&PlaceKind::Memory) => {
            Finding::ok("direct I/O", "is accepted here, but requests go to memory")
        }
        Ok(()) if sector > 512 => Finding::ok(
            "direct I/O",
            format!(
                "works here in multiples of {sector} bytes: profiles omit smaller requests; use --buffered to measure \
                 them"
            ),
        ),
        Ok(()) => Finding::ok("direct I/O", "works here: requests go to the device"),
        Err(error) => buffered(&error.to_string()),
    })
}

fn try_direct(file: &File) -> io::Result<()> {
    write_all_at(&reopen_direct(file)?, &AlignedBuf::zeroed(AlignedBuf::ALIGN), 0)
}

fn engine() -> Finding {
    match Engine::open(EngineChoice::Auto) {
        Ok((engine, None)) => Finding::ok("engine", engine.name()),
        Ok((engine, Some(why))) => {
            let setting = kernel_setting("kernel.io_uring_disabled");
            Finding::warning("engine", format!("{}, because {why}", engine.name()))
                .remedy(allow_uring(setting.as_deref()))
        }
        Err(error) => Finding::new("engine", State::Fatal, chain(&error)),
    }
}

/// How to allow io_uring (Linux, Documentation/admin-guide/sysctl/kernel.rst, `io_uring_disabled`).
fn allow_uring(setting: Option<&str>) -> String {
    match setting {
        Some("1") => "sysctl kernel.io_uring_disabled=0, as root; or run as root, or as a member of the group in \
                      kernel.io_uring_group"
            .to_owned(),
        Some("2") => "sysctl kernel.io_uring_disabled=0, as root".to_owned(),
        _ => "if a container denies it: --security-opt seccomp=unconfined (Docker, Podman); threads also work, with \
              more CPU time per request"
            .to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_no_disk() {
        let memory = place("tmpfs on tmpfs", "tmpfs", &[PlaceKind::Memory]);
        assert!(memory.state == State::Warning && memory.says.contains("nothing about disks"));
        assert_eq!(place("ext4 on /dev/sda1", "ext4", &[]).state, State::Ok);
    }

    #[test]
    fn who_denies_io_uring_decides_what_to_do() {
        let said = [Some("2"), Some("1"), Some("0"), None].map(allow_uring);
        insta::assert_snapshot!(said.join("\n"), @"
            sysctl kernel.io_uring_disabled=0, as root
            sysctl kernel.io_uring_disabled=0, as root; or run as root, or as a member of the group in \
                kernel.io_uring_group
            if a container denies it: --security-opt seccomp=unconfined (Docker, Podman); threads also work, with more CPU time per request
            if a container denies it: --security-opt seccomp=unconfined (Docker, Podman); threads also work, with more CPU time per request
            ");
    }

    #[test]
    fn no_place_is_a_refusal_with_its_code() {
        let directory = Path::new("/no/such/directory");
        let request = request(directory);
        let storage = look(directory, &request, &cryptbench_runner::look(&request));
        assert_eq!(storage.code, exit::TARGET);
        insta::assert_snapshot!(storage.refusal.unwrap(), @"/no/such/directory: no such directory: /no/such");
    }
}
