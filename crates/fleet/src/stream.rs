//! Reads a directory of thousands of files, a few at a time, in the order of their names.

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::mpsc::sync_channel;
use std::thread;

use crate::FleetError;

/// The files of a fleet's directory by name: every `*.json`, and the `record.json` of every run's directory in it.
///
/// # Errors
/// [`FleetError::Io`] if the directory cannot be listed.
pub fn files(directory: &Path) -> Result<Vec<PathBuf>, FleetError> {
    let list = || -> std::io::Result<Vec<PathBuf>> {
        let mut found = Vec::new();
        for entry in fs::read_dir(directory)? {
            let entry = entry?;
            let (name, path) = (entry.file_name(), entry.path());
            let name = name.to_string_lossy();
            if name.starts_with('.') {
                continue;
            }
            if entry.file_type()?.is_dir() {
                let record = path.join("record.json");
                found.extend(fs::symlink_metadata(&record).is_ok().then_some(record));
            } else if name.ends_with(".json") {
                found.push(path);
            }
        }
        found.sort();
        Ok(found)
    };
    list().map_err(FleetError::io("list", directory))
}

/// Calls `read` for each path on `threads` threads and `each` for what it returns, in the order of the paths, until `each`
/// breaks off. At most two results a thread wait, whatever the number of paths.
///
/// # Panics
/// If `read` does.
pub fn stream<T: Send, B>(
    paths: &[PathBuf],
    threads: usize,
    read: impl Fn(&Path) -> T + Sync,
    mut each: impl FnMut(T) -> ControlFlow<B>,
) -> Option<B> {
    let threads = threads.clamp(1, paths.len().max(1));
    let read = &read;
    thread::scope(|scope| {
        let lane = |first: usize| {
            let (send, receive) = sync_channel(1);
            scope.spawn(move || {
                for path in paths.iter().skip(first).step_by(threads) {
                    if send.send(read(path)).is_err() {
                        return;
                    }
                }
            });
            receive
        };
        let lanes: Vec<_> = (0..threads).map(lane).collect();
        for i in 0..paths.len() {
            // A thread that panicked has hung up; leaving the scope passes the panic on.
            let found = lanes[i % threads].recv().ok()?;
            if let ControlFlow::Break(early) = each(found) {
                return Some(early);
            }
        }
        None
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(n: usize) -> Vec<PathBuf> {
        (0..n).map(|i| PathBuf::from(i.to_string())).collect()
    }

    #[test]
    fn results_come_in_the_order_of_the_paths() {
        for (n, threads) in [(0, 4), (1, 4), (100, 1), (100, 7)] {
            let mut seen = Vec::new();
            let early = stream::<_, ()>(&paths(n), threads, Path::to_owned, |path| {
                seen.push(path);
                ControlFlow::Continue(())
            });
            assert_eq!((seen, early), (paths(n), None));
        }
    }

    #[test]
    fn whoever_has_enough_breaks_off() {
        let mut seen = 0;
        let early = stream(
            &paths(1000),
            3,
            |_| (),
            |()| {
                seen += 1;
                if seen == 5 { ControlFlow::Break("enough") } else { ControlFlow::Continue(()) }
            },
        );
        assert_eq!((seen, early), (5, Some("enough")));
    }

    #[test]
    fn a_directory_of_records_is_listed_by_name() {
        let dir = tempfile::tempdir().unwrap();
        for file in ["b.json", "a.json", ".cryptbench-1.part", ".hidden.json", "notes.txt"] {
            fs::write(dir.path().join(file), "").unwrap();
        }
        for run in ["run", "empty"] {
            fs::create_dir(dir.path().join(run)).unwrap();
        }
        fs::write(dir.path().join("run/record.json"), "").unwrap();
        let found = files(dir.path()).unwrap();
        let names: Vec<_> = found.iter().map(|p| p.strip_prefix(dir.path()).unwrap()).collect();
        assert_eq!(names, ["a.json", "b.json", "run/record.json"].map(Path::new));
        assert!(files(&dir.path().join("none")).is_err());
    }
}
