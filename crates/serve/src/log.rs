//! The log of a run: one numbered list of events, which every page receives.
//!
//! A page that arrives late or reconnects sends the last number that it knows and receives the events after it.
//! The list is bounded. When it is full, events that newer ones supersede are dropped first, then every second
//! estimate of the older half, then lines of text.

use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

/// Maximum number of events in the list.
const MOST: usize = 4096;
/// Maximum number of events left after pruning. If only points are pruned, three quarters of the events are left,
/// plus one event for each curve that ended long ago.
const LEFT: usize = MOST / 8 * 7;

/// One event as JSON.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    /// Its number, from 1.
    pub id: u64,
    kind: Kind,
    /// The JSON object on a single line.
    pub text: Arc<str>,
}

/// What happens to an event when space is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// It is never dropped.
    Kept,
    /// The event describes a current state; only the newest event of that name matters.
    Passing(&'static str),
    /// A point of the curve with this key. Half of the older points can be dropped, but not the newest point of a
    /// curve.
    Point(u64),
    /// A line of text; the oldest lines are dropped if there are very many.
    Words,
}

pub(crate) struct Log {
    inner: Mutex<Inner>,
    newest: watch::Sender<u64>,
}

#[derive(Default)]
struct Inner {
    last: u64,
    entries: VecDeque<Entry>,
}

impl Log {
    pub(crate) fn new() -> Self {
        Self { inner: Mutex::default(), newest: watch::Sender::new(0) }
    }

    /// Ignores poisoning by another thread's panic: each change is a single step.
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn add(&self, kind: Kind, event: &serde_json::Value) {
        let mut inner = self.lock();
        inner.last += 1;
        let id = inner.last;
        inner.entries.push_back(Entry { id, kind, text: event.to_string().into() });
        if inner.entries.len() > MOST {
            inner.thin();
        }
        drop(inner);
        self.newest.send_replace(id);
    }

    /// Clears the log for a new run; numbering continues.
    pub(crate) fn clear(&self) {
        self.lock().entries.clear();
    }

    /// The events after event `id`: about `bytes` in all, and at least one event.
    pub(crate) fn after(&self, id: u64, bytes: usize) -> Vec<Entry> {
        let inner = self.lock();
        // The number comes from an earlier server process.
        let id = if id > inner.last { 0 } else { id };
        let first = inner.entries.partition_point(|e| e.id <= id);
        let mut room = bytes;
        let fits = |e: &&Entry| {
            let some = room > 0;
            room = room.saturating_sub(e.text.len());
            some
        };
        inner.entries.range(first..).take_while(fits).cloned().collect()
    }

    /// Notifies the receiver of new events.
    pub(crate) fn subscribe(&self) -> watch::Receiver<u64> {
        self.newest.subscribe()
    }
}

impl Inner {
    fn thin(&mut self) {
        let mut seen: Vec<&'static str> = Vec::new();
        let mut curves: HashSet<u64> = HashSet::new();
        let older = self.entries.len() / 2;
        let mut index = self.entries.len();
        let mut points = 0;
        // Iterates from the newest to the oldest, so that the newest event of each name and curve comes first.
        let mut keep: VecDeque<Entry> = VecDeque::with_capacity(self.entries.len());
        while let Some(entry) = self.entries.pop_back() {
            index -= 1;
            let stays = match entry.kind {
                Kind::Kept | Kind::Words => true,
                Kind::Passing(name) => {
                    let newest = !seen.contains(&name);
                    if newest {
                        seen.push(name);
                    }
                    newest
                }
                Kind::Point(curve) => {
                    points += 1;
                    curves.insert(curve) || index >= older || points % 2 == 0
                }
            };
            if stays {
                keep.push_front(entry);
            }
        }
        // Bounds memory in any case: the oldest of the least important events are dropped.
        let mut excess = keep.len().saturating_sub(LEFT);
        let may_go: [fn(&Kind) -> bool; 3] =
            [|kind| *kind == Kind::Words, |kind| *kind != Kind::Kept, |_| true];
        for may_go in may_go {
            keep.retain(|entry| {
                let goes = excess > 0 && may_go(&entry.kind);
                excess -= usize::from(goes);
                !goes
            });
        }
        self.entries = keep;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn ids(log: &Log, after: u64) -> Vec<u64> {
        log.after(after, usize::MAX).iter().map(|e| e.id).collect()
    }

    #[test]
    fn who_comes_late_is_told_all_and_who_comes_back_what_is_new() {
        let log = Log::new();
        for n in 1..=5 {
            log.add(Kind::Kept, &json!({ "n": n }));
        }
        assert_eq!(ids(&log, 0), [1, 2, 3, 4, 5]);
        assert_eq!(ids(&log, 3), [4, 5]);
        assert_eq!(ids(&log, 5), [0u64; 0]);
        assert_eq!(ids(&log, 99), [1, 2, 3, 4, 5], "a number that was never given");
        log.clear();
        log.add(Kind::Kept, &json!({}));
        assert_eq!(ids(&log, 5), [6]);
        assert_eq!(ids(&log, 0), [6]);
    }

    #[test]
    fn a_part_is_at_least_one_event() {
        let log = Log::new();
        for _ in 0..3 {
            log.add(Kind::Kept, &json!({ "text": "x".repeat(100) }));
        }
        assert_eq!(log.after(0, 1).len(), 1);
        assert_eq!(log.after(0, 150).len(), 2);
    }

    /// Polls at intervals: each poll copies the whole log.
    fn stays_bounded(log: &Log, n: u64) {
        assert!(!n.is_multiple_of(61) || log.after(0, usize::MAX).len() <= MOST);
    }

    #[test]
    fn it_stays_bounded_and_keeps_what_counts() {
        let log = Log::new();
        log.add(Kind::Kept, &json!({ "event": "started" }));
        for n in 0..20_000 {
            log.add(Kind::Passing("trial"), &json!({ "trial": n }));
            log.add(Kind::Passing("cpu"), &json!({ "cpu": n }));
            log.add(Kind::Point(n % 7), &json!({ "point": n }));
            stays_bounded(&log, n);
        }
        log.add(Kind::Kept, &json!({ "event": "ended" }));
        let kept = log.after(0, usize::MAX);
        let texts: Vec<&str> = kept.iter().map(|e| &*e.text).collect();
        assert_eq!(texts[0], r#"{"event":"started"}"#);
        assert!(texts.contains(&r#"{"trial":19999}"#) && texts.contains(&r#"{"cpu":19999}"#));
        assert!(texts.contains(&r#"{"point":19999}"#));
        assert!(kept.is_sorted_by_key(|e| e.id));
        // It drops events only for lack of space.
        for n in 0..10_000 {
            log.add(Kind::Kept, &json!({ "note": n }));
        }
        assert!(log.after(0, usize::MAX).len() <= MOST);
    }

    #[test]
    fn each_curve_keeps_its_newest_point_and_many_words_displace_nothing_else() {
        let log = Log::new();
        log.add(Kind::Kept, &json!({ "event": "started" }));
        log.add(Kind::Kept, &json!({ "event": "planned" }));
        for curve in 0..50 {
            for n in 0..400 {
                log.add(Kind::Point(curve), &json!({ "curve": curve, "n": n }));
            }
        }
        for n in 0..20_000 {
            log.add(Kind::Words, &json!({ "text": n }));
            stays_bounded(&log, n);
        }
        let kept = log.after(0, usize::MAX);
        let texts: HashSet<&str> = kept.iter().map(|e| &*e.text).collect();
        assert!(texts.contains(r#"{"event":"planned"}"#) && texts.contains(r#"{"text":19999}"#));
        for curve in 0..50 {
            let newest = format!(r#"{{"curve":{curve},"n":399}}"#);
            assert!(texts.contains(&*newest), "{newest}");
        }
    }
}
