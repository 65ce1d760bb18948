//! A complete run on storage that starts to fail: the kernel's error is in the record and in the returned error.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use cryptbench_blockdev::{BlockDevice, MemoryDevice};
use cryptbench_export::fuse::{FuseOptions, mount};
use cryptbench_record::Event;
use cryptbench_runner::run;
use cryptbench_text::chain;

use crate::request::request;

/// Memory whose reads fail on demand.
struct Failing {
    memory: MemoryDevice,
    fails: Arc<AtomicBool>,
}

impl BlockDevice for Failing {
    fn size(&self) -> u64 {
        self.memory.size()
    }

    fn sector(&self) -> usize {
        512
    }

    fn is_read_only(&self) -> bool {
        false
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        match self.fails.load(Ordering::Relaxed) {
            true => Err(io::Error::from_raw_os_error(5)),
            false => self.memory.read_at(offset, buf),
        }
    }

    fn write_at(&self, offset: u64, buf: &[u8]) -> io::Result<()> {
        self.memory.write_at(offset, buf)
    }

    fn flush(&self) -> io::Result<()> {
        self.memory.flush()
    }
}

#[test]
fn what_the_kernel_said_is_in_the_notes_and_in_the_error() {
    let fails = Arc::new(AtomicBool::new(false));
    let memory = MemoryDevice::new(vec![0; 32 << 20]);
    let device = Failing { memory, fails: Arc::clone(&fails) };
    let directory = tempfile::tempdir().unwrap();
    let server = match mount(Arc::new(device), directory.path(), &FuseOptions::default()) {
        Ok(server) => server,
        Err(error) => {
            eprintln!("SKIPPED: {}", chain(&error));
            return;
        }
    };
    let path = server.file();
    let mut request = request(&path);
    request.target.consent.destroy.push(path);
    request.target.size = None;
    request.selection.systems.push("plain".to_owned());
    request.budget = Some(Duration::from_secs(20));
    request.trial = Some(Duration::from_millis(100));
    let mut trials = 0;
    let mut observer = |event: &Event| {
        trials += u32::from(matches!(event, Event::Begun { .. }));
        // One trial is measured, so that there is a result to keep.
        fails.store(trials > 3, Ordering::Relaxed);
    };
    let stop = AtomicBool::new(false);
    let (record, error) = run(&request, "0.0.0", &stop, &mut observer).unwrap();
    drop(server);
    let error = chain(&error.unwrap());
    assert_eq!(error.matches("os error 5").count(), 1, "{error}");
    let ended = record.notes.iter().find(|note| note.starts_with("The run ended early"));
    let ended = ended.unwrap_or_else(|| panic!("{:?}", record.notes));
    assert_eq!(ended.matches("os error 5").count(), 1, "{ended}");
    assert!(ended.contains(&error), "{ended}");
    cryptbench_prove::count(
        1,
        "faults: storage that fails in a run: the error once, the record kept",
    );
}
