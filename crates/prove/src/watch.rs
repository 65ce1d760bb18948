//! Aborts the test if one input takes too long or too much memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Memory limit in bytes for processing a damaged input, including everything that the test itself holds.
const MEMORY: u64 = 256 << 20;

/// Watches inputs, one after the other.
#[derive(Debug)]
pub struct Watch {
    /// The seed of the input, and its start in milliseconds since `begun`; 0 between inputs.
    now: Arc<(AtomicU64, AtomicU64)>,
    begun: Instant,
}

impl Watch {
    /// Starts watching: no input of `what` may take longer than `limit`.
    pub fn new(what: &'static str, limit: Duration) -> Self {
        let now = Arc::new((AtomicU64::new(0), AtomicU64::new(0)));
        let begun = Instant::now();
        let seen = Arc::downgrade(&now);
        std::thread::spawn(move || {
            while let Some(now) = seen.upgrade() {
                let since = now.1.load(Ordering::SeqCst);
                let took = (begun.elapsed().as_millis() as u64).saturating_sub(since);
                if since != 0 && took > limit.as_millis() as u64 {
                    let seed = now.0.load(Ordering::SeqCst);
                    eprintln!(
                        "panicked at {what}: the input of seed {seed} takes more than {limit:?}"
                    );
                    std::process::abort();
                }
                drop(now);
                std::thread::sleep(Duration::from_millis(100));
            }
        });
        Self { now, begun }
    }

    /// Processes and checks the input of this seed.
    ///
    /// # Panics
    /// If this process has ever used more memory than 256 MiB.
    pub fn judge<T>(&self, seed: u64, judge: impl FnOnce() -> T) -> T {
        self.now.0.store(seed, Ordering::SeqCst);
        self.now.1.store(self.begun.elapsed().as_millis() as u64 + 1, Ordering::SeqCst);
        let judged = judge();
        self.now.1.store(0, Ordering::SeqCst);
        // In an ordinary run, other tests share this process.
        if crate::is_asked() {
            let most = most_memory();
            assert!(most < MEMORY, "seed {seed}: {most} bytes of memory were taken");
        }
        judged
    }
}

/// The peak memory use of this process (proc_pid_status(5)); 0 if unknown.
fn most_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}
