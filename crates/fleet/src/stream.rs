//! Reads a directory of thousands of files, a few at a time, in the order of the file names.

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::mpsc::sync_channel;
use std::thread;

use crate::{FleetError, Found, read};

/// The files of a fleet's directory by name: every `*.json` file in the directory and in its subdirectories.
#[derive(Debug)]
pub struct Files {
    directory: PathBuf,
    paths: Vec<PathBuf>,
}

impl Files {
    /// Lists `directory`. A subdirectory with a `record.json` belongs to a run, and nothing else in that subdirectory
    /// is read. Any other subdirectory belongs to the machine with its name: a plan's `fetch_to` copies the machine's
    /// records into it.
    ///
    /// # Errors
    /// [`FleetError::Io`] if a directory cannot be listed.
    pub fn in_directory(directory: &Path) -> Result<Self, FleetError> {
        let mut paths = Vec::new();
        for (path, is_directory) in listed(directory)? {
            let run = path.join(RUN);
            match is_directory {
                false => paths.push(path),
                true if fs::symlink_metadata(&run).is_ok() => paths.push(run),
                true => {
                    paths.extend(listed(&path)?.into_iter().filter(|(_, d)| !d).map(|(p, _)| p));
                }
            }
        }
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
        paths.sort();
        Ok(Self { directory: directory.to_owned(), paths })
    }

    /// Their paths.
    pub fn paths(&self) -> &[PathBuf] {
        &self.paths
    }

    /// Reads one of the files. A machine cannot provide records for another machine: the records in a machine's
    /// directory must have its name.
    pub fn read(&self, path: &Path) -> Found {
        let found = read(path);
        let is_run = path.file_name().is_some_and(|name| name == RUN);
        let within = path.parent().filter(|parent| *parent != self.directory && !is_run);
        let Some(own) = within.and_then(Path::file_name) else { return found };
        let name = match &found {
            Found::Record(record) => record.node.as_ref().map(|node| node.name.as_str()),
            Found::Failure(failure) => Some(failure.node.name.as_str()),
            Found::Damaged(_) => return found,
        };
        match name {
            Some(name) if own == name => found,
            Some(name) => {
                Found::Damaged(format!("it is in the directory of a machine other than {name:?}"))
            }
            None => Found::Damaged(
                "it does not name a machine, but is in the directory of one".to_owned(),
            ),
        }
    }
}

/// File name of the record in the directory of a run.
const RUN: &str = "record.json";

/// The contents of a directory except hidden files, and whether each entry is a directory.
fn listed(directory: &Path) -> Result<Vec<(PathBuf, bool)>, FleetError> {
    let list = || -> std::io::Result<Vec<(PathBuf, bool)>> {
        let mut found = Vec::new();
        for entry in fs::read_dir(directory)? {
            let entry = entry?;
            if !entry.file_name().as_encoded_bytes().starts_with(b".") {
                found.push((entry.path(), entry.file_type()?.is_dir()));
            }
        }
        Ok(found)
    };
    list().map_err(FleetError::io("list", directory))
}

/// Calls `read` for each path on `threads` threads, and `each` for every result in the order of the paths, until `each`
/// stops. At most two results per thread are buffered, whatever the number of paths.
///
/// # Panics
/// If `read` panics.
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
            // A thread that panicked has closed its channel; the panic is propagated at the end of the scope.
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
        fs::write(dir.path().join("run/other.json"), "").unwrap();
        fs::create_dir_all(dir.path().join("node1/below")).unwrap();
        for file in
            ["node1/b.json", "node1/a.json", "node1/.part", "node1/c.txt", "node1/below/d.json"]
        {
            fs::write(dir.path().join(file), "").unwrap();
        }
        let found = Files::in_directory(dir.path()).unwrap();
        let names: Vec<_> =
            found.paths().iter().map(|p| p.strip_prefix(dir.path()).unwrap()).collect();
        let expected = ["a.json", "b.json", "node1/a.json", "node1/b.json", "run/record.json"];
        assert_eq!(names, expected.map(Path::new));
        assert!(Files::in_directory(&dir.path().join("none")).is_err());
    }
}
