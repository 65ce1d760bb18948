//! ext4 in a mounted volume: random operations against a model in memory, and fio with verification.
//!
//! Like fsstress, but with a model that knows what each file holds: xfstests is in no package of Debian.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use cryptbench_blockdev::{BlockDevice, FileDevice, IoMode};
use cryptbench_prove::Random;

use crate::volumes::{Mounted, WHOLE, create, is_sound, opened};

/// A file on a disk. With `write` broken, one write in many is lost.
struct Disk {
    file: FileDevice,
    writes: AtomicU64,
    /// Set once a file system is mounted on it.
    loses: AtomicBool,
}

impl Disk {
    fn new(path: &Path) -> Self {
        let file = FileDevice::open(path, IoMode::Buffered, false).unwrap();
        Self { file, writes: AtomicU64::new(0), loses: AtomicBool::new(false) }
    }
}

impl BlockDevice for Disk {
    fn size(&self) -> u64 {
        self.file.size()
    }

    fn sector(&self) -> usize {
        self.file.sector()
    }

    fn is_read_only(&self) -> bool {
        false
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        self.file.read_at(offset, buf)
    }

    fn write_at(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let number = self.writes.fetch_add(1, Ordering::SeqCst);
        if self.loses.load(Ordering::SeqCst) && number % 23 == 22 {
            return Ok(());
        }
        self.file.write_at(offset, data)
    }

    fn flush(&self) -> io::Result<()> {
        self.file.flush()
    }
}

/// What the files hold, by their paths. Hard links share a number.
#[derive(Default)]
struct Model {
    entries: BTreeMap<PathBuf, Entry>,
    contents: BTreeMap<u64, Vec<u8>>,
    next: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Entry {
    File(u64),
    Directory,
    Link(PathBuf),
}

/// The largest file.
const LARGEST: usize = 1 << 20;

impl Model {
    /// A path that exists of this kind.
    fn some(&self, random: &mut Random, is: fn(&Entry) -> bool) -> Option<PathBuf> {
        let all: Vec<_> = self.entries.iter().filter(|(_, e)| is(e)).map(|(p, _)| p).collect();
        (!all.is_empty()).then(|| (*random.one_of(&all)).clone())
    }

    /// A path that does not exist, in a directory that does.
    fn new_path(&self, random: &mut Random) -> PathBuf {
        let parent = match random.once_in(3) {
            true => PathBuf::new(),
            false => self.some(random, |e| *e == Entry::Directory).unwrap_or_default(),
        };
        let long = if random.once_in(10) { "x".repeat(200) } else { String::new() };
        loop {
            let path = parent.join(format!("{}{long}", random.number() % 1_000_000));
            if !self.entries.contains_key(&path) {
                return path;
            }
        }
    }

    /// Does one thing to the files below `root` and to the model.
    fn step(&mut self, root: &Path, random: &mut Random) -> io::Result<()> {
        let is_file = |e: &Entry| matches!(e, Entry::File(_));
        match random.below(16) {
            0..=2 => {
                let path = self.new_path(random);
                let mut content = vec![0; random.below(50_000)];
                random.fill(&mut content);
                fs::write(root.join(&path), &content)?;
                self.contents.insert(self.next, content);
                self.entries.insert(path, Entry::File(self.next));
                self.next += 1;
            }
            3 => {
                let path = self.new_path(random);
                if path.components().count() < 6 {
                    fs::create_dir(root.join(&path))?;
                    self.entries.insert(path, Entry::Directory);
                }
            }
            4..=8 => {
                let Some(path) = self.some(random, is_file) else { return Ok(()) };
                let Some(Entry::File(id)) = self.entries.get(&path).cloned() else { return Ok(()) };
                let content = self.contents.get_mut(&id).expect("known");
                let file = File::options().read(true).write(true).open(root.join(&path))?;
                match random.below(6) {
                    0 => {
                        let len = random.below(LARGEST);
                        file.set_len(len as u64)?;
                        content.resize(len, 0);
                    }
                    1 => file.sync_all()?,
                    2 => {
                        let mut is = vec![0; content.len()];
                        file.read_exact_at(&mut is, 0)?;
                        assert!(is == *content, "{} differs while it is mounted", path.display());
                    }
                    _ => {
                        let at = random.below(LARGEST / 2);
                        let mut data = vec![0; random.below(40_000)];
                        random.fill(&mut data);
                        file.write_all_at(&data, at as u64)?;
                        if !data.is_empty() {
                            content.resize(content.len().max(at + data.len()), 0);
                            content[at..at + data.len()].copy_from_slice(&data);
                        }
                    }
                }
            }
            9 | 10 => {
                let Some(from) = self.some(random, is_file) else { return Ok(()) };
                let to = self.new_path(random);
                fs::rename(root.join(&from), root.join(&to))?;
                let entry = self.entries.remove(&from).expect("known");
                self.entries.insert(to, entry);
            }
            11 => {
                let Some(from) = self.some(random, is_file) else { return Ok(()) };
                let to = self.new_path(random);
                fs::hard_link(root.join(&from), root.join(&to))?;
                let entry = self.entries[&from].clone();
                self.entries.insert(to, entry);
            }
            12 => {
                let path = self.new_path(random);
                let target = PathBuf::from("y".repeat(1 + random.below(300)));
                symlink(&target, root.join(&path))?;
                self.entries.insert(path, Entry::Link(target));
            }
            13 | 14 => {
                let any = |e: &Entry| *e != Entry::Directory;
                let Some(path) = self.some(random, any) else { return Ok(()) };
                fs::remove_file(root.join(&path))?;
                self.entries.remove(&path);
            }
            _ => {
                let Some(path) = self.some(random, |e| *e == Entry::Directory) else {
                    return Ok(());
                };
                let is_empty = !self.entries.keys().any(|p| p.starts_with(&path) && *p != path);
                let done = fs::remove_dir(root.join(&path));
                assert_eq!(done.is_ok(), is_empty, "{}: {done:?}", path.display());
                if is_empty {
                    self.entries.remove(&path);
                }
            }
        }
        Ok(())
    }

    /// Compares everything, and returns how many bytes that were.
    fn compare(&self, root: &Path, when: &str) -> u64 {
        let mut seen = BTreeMap::new();
        walk(root, Path::new(""), &mut seen).unwrap_or_else(|e| panic!("{when}: {e}"));
        let (is, expected): (Vec<_>, Vec<_>) =
            (seen.keys().collect(), self.entries.keys().collect());
        assert_eq!(is, expected, "{when}: the files");
        let mut bytes = 0;
        for (path, entry) in &self.entries {
            match (entry, &seen[path]) {
                (Entry::File(id), Entry::File(_)) => {
                    let content = fs::read(root.join(path)).unwrap();
                    assert!(content == self.contents[id], "{when}: {} differs", path.display());
                    bytes += content.len() as u64;
                }
                (expected, is) => assert_eq!(is, expected, "{when}: {}", path.display()),
            }
        }
        bytes
    }
}

fn walk(root: &Path, below: &Path, seen: &mut BTreeMap<PathBuf, Entry>) -> io::Result<()> {
    for entry in fs::read_dir(root.join(below))? {
        let entry = entry?;
        let path = below.join(entry.file_name());
        if path == Path::new("lost+found") {
            continue;
        }
        let kind = entry.file_type()?;
        if kind.is_dir() {
            seen.insert(path.clone(), Entry::Directory);
            walk(root, &path, seen)?;
        } else if kind.is_symlink() {
            seen.insert(path.clone(), Entry::Link(fs::read_link(entry.path())?));
        } else {
            seen.insert(path, Entry::File(0));
        }
    }
    Ok(())
}

/// A disk of so many MiB with a new volume.
fn disk(format: &str, mib: u64) -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = directory.path().join("disk");
    File::create(&path).unwrap().set_len(mib << 20).unwrap();
    create(format, &FileDevice::open(&path, IoMode::Buffered, false).unwrap());
    (directory, path)
}

fn mounted(format: &str, path: &Path, is_new: bool) -> Option<Mounted> {
    let disk = Arc::new(Disk::new(path));
    let volume = opened(format, Arc::clone(&disk) as Arc<dyn BlockDevice>).unwrap();
    let mounted = Mounted::new(Arc::new(volume), is_new)?;
    disk.loses.store(cryptbench_prove::is_broken("write"), Ordering::SeqCst);
    Some(mounted)
}

#[test]
fn a_file_system_behaves_as_its_model() {
    for seed in cryptbench_prove::seeds(1) {
        let format = WHOLE[seed as usize % WHOLE.len()];
        let when = format!("{format}, seed {seed}");
        let (directory, path) = disk(format, 96);
        let mut random = Random::new(seed);
        let mut model = Model::default();
        let (rounds, steps) = if cryptbench_prove::is_asked() { (4, 300) } else { (2, 120) };
        let mut bytes = 0;
        for round in 0..rounds {
            let mounted = match mounted(format, &path, round == 0) {
                Some(mounted) => mounted,
                None if round == 0 => return,
                None => panic!("{when}: it cannot be mounted once more"),
            };
            bytes += model.compare(mounted.files(), &format!("{when}, mounted once more"));
            for step in 0..steps {
                match model.step(mounted.files(), &mut random) {
                    Ok(()) => {}
                    // Full: what was half written would have to be in the model.
                    Err(e) => panic!("{when}, step {step}: {e}"),
                }
            }
            model.contents.retain(|id, _| model.entries.values().any(|e| *e == Entry::File(*id)));
            let all: usize = model.contents.values().map(Vec::len).sum();
            if all > 30 << 20 {
                model = Model::default();
                for entry in fs::read_dir(mounted.files()).unwrap().flatten() {
                    let path = entry.path();
                    if path.ends_with("lost+found") {
                        continue;
                    }
                    let is_dir = entry.file_type().unwrap().is_dir();
                    let _ = if is_dir { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
                }
            }
            mounted.end();
        }
        let mounted = mounted(format, &path, false).expect("as before");
        bytes += model.compare(mounted.files(), &when);
        mounted.end();
        let volume = opened(format, Arc::new(Disk::new(&path))).unwrap();
        let mut plain = vec![0; volume.size() as usize];
        volume.read_at(0, &mut plain).unwrap();
        let image = directory.path().join("image");
        fs::write(&image, plain).unwrap();
        is_sound(&image).unwrap_or_else(|e| panic!("{when}: {e}"));
        cryptbench_prove::count(rounds * steps, &format!("operations on ext4 in {format}"));
        cryptbench_prove::count(bytes, &format!("bytes compared with the model in {format}"));
    }
}

#[test]
fn fio_reads_what_it_wrote() {
    for seed in cryptbench_prove::seeds(1) {
        let format = WHOLE[seed as usize % WHOLE.len()];
        let (directory, path) = disk(format, 96);
        let Some(mounted) = mounted(format, &path, true) else { return };
        let mib = if cryptbench_prove::is_asked() { 48 } else { 8 };
        let output = Command::new("fio")
            // It leaves the state of its verification where it runs.
            .current_dir(directory.path())
            .arg(format!("--filename={}", mounted.files().join("fio").display()))
            .arg(format!("--size={mib}m"))
            .arg(format!("--randseed={seed}"))
            .args(["--name=verify", "--rw=randwrite", "--bsrange=512-128k", "--ioengine=psync"])
            .args(["--direct=1", "--blockalign=512", "--verify=crc32c", "--verify_fatal=1"])
            .args([
                "--do_verify=1",
                "--verify_state_save=0",
                "--fsync=64",
                "--output-format=json",
                "--norandommap=0",
            ])
            .output();
        let Ok(output) = output else {
            eprintln!("SKIPPED: no fio");
            return mounted.end();
        };
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        mounted.end();
        assert!(output.status.success(), "{format}, seed {seed}: fio: {errors}");
        let from = said.find('{').unwrap_or(0);
        let result: serde_json::Value = serde_json::from_str(&said[from..]).unwrap();
        let read = result["jobs"][0]["read"]["io_bytes"].as_u64().unwrap();
        assert!(read >= mib << 20, "{format}, seed {seed}: {read} bytes were verified");
        cryptbench_prove::count(read, &format!("bytes verified by fio in {format}"));
    }
}
