//! Caches the catalogue. To determine what can run here, programs are started to query their versions. This must
//! not happen during a run or for every request.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::Catalogue;

/// How long a catalogue stays valid. After this time, a program that was newly installed is shown when the page is
/// reloaded.
const HOLDS: Duration = Duration::from_secs(5);

/// The cached catalogue. It is refreshed when it has expired and no run would be disturbed.
pub(crate) struct Offer {
    find: fn() -> Catalogue,
    known: Mutex<Option<(Instant, Arc<Catalogue>)>>,
}

impl Offer {
    pub(crate) fn new(find: fn() -> Catalogue) -> Self {
        Self { find, known: Mutex::default() }
    }

    /// The catalogue. While `running`, returns the cached one, even if it has expired; otherwise this can take a
    /// while.
    pub(crate) fn get(&self, running: bool) -> Arc<Catalogue> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        match &*known {
            Some((at, catalogue)) if running || at.elapsed() < HOLDS => Arc::clone(catalogue),
            _ => {
                let found = Arc::new((self.find)());
                *known = Some((Instant::now(), Arc::clone(&found)));
                found
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[test]
    fn a_run_is_not_disturbed_by_looking_around() {
        static FOUND: AtomicU32 = AtomicU32::new(0);
        let offer = Offer::new(|| {
            FOUND.fetch_add(1, Ordering::Relaxed);
            Catalogue::default()
        });
        offer.get(false);
        let long_ago = Instant::now().checked_sub(2 * HOLDS).unwrap();
        offer.known.lock().unwrap().as_mut().unwrap().0 = long_ago;
        offer.get(true);
        assert_eq!(FOUND.load(Ordering::Relaxed), 1);
        offer.get(false);
        assert_eq!(FOUND.load(Ordering::Relaxed), 2);
    }
}
