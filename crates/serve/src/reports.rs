//! Displayed reports: this program renders them, and each has a separate address without the page's token.
//!
//! A record may come from another person, and a document can always reveal its own address by navigating to another
//! page. Therefore that address gives access only to the report.

use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use axum::body::Bytes;

use crate::address::{is_same, random};
use crate::runs::Stamp;

/// Prefix of the reports' addresses. The page's token is longer, so it can never equal this prefix.
const BELOW: &str = "/report/";
/// The route of a report.
pub(crate) const ROUTE: &str = "/report/{key}/";
/// Random bytes of an address.
const KEY: usize = 16;
/// Maximum number of reports kept.
const MOST: usize = 16;
/// Maximum size of all reports kept, in bytes; the newest is kept regardless of its size.
const MOST_BYTES: usize = 64 << 20;

/// The most recently opened reports, newest last.
#[derive(Default)]
pub(crate) struct Reports {
    kept: Mutex<Vec<Report>>,
}

struct Report {
    run: String,
    stamp: Stamp,
    key: String,
    page: Bytes,
}

/// Whether a path has the form of a report's path, known or not.
pub(crate) fn is_report(path: &str) -> bool {
    path.starts_with(BELOW)
}

impl Reports {
    /// The path of a run's report, if it was rendered from the current version of the record.
    pub(crate) fn path(&self, run: &str, stamp: Stamp) -> Option<String> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let found = kept.iter().find(|r| r.run == run && r.stamp == stamp)?;
        Some(format!("{BELOW}{}/", found.key))
    }

    /// Stores a rendered report, drops older ones if necessary, and returns the report's path.
    pub(crate) fn keep(
        &self,
        run: String,
        stamp: Stamp,
        page: Bytes,
    ) -> Result<String, getrandom::Error> {
        let key = random::<KEY>()?;
        let path = format!("{BELOW}{key}/");
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.push(Report { run, stamp, key, page });
        let bytes = |kept: &[Report]| kept.iter().map(|r| r.page.len()).sum::<usize>();
        while kept.len() > 1 && (kept.len() > MOST || bytes(&kept) > MOST_BYTES) {
            kept.remove(0);
        }
        Ok(path)
    }

    /// Stores the fleet's report instead of the previous report, and returns its path. The report is stored under the
    /// empty name, which no run has.
    pub(crate) fn keep_fleet(&self, page: Bytes) -> Result<String, getrandom::Error> {
        self.forget("");
        let stamp =
            Stamp { modified: SystemTime::UNIX_EPOCH, len: page.len() as u64, titled: None };
        self.keep(String::new(), stamp, page)
    }

    /// Drops the reports of a run.
    pub(crate) fn forget(&self, run: &str) {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).retain(|r| r.run != run);
    }

    /// The report with this key.
    pub(crate) fn page(&self, key: &str) -> Option<Bytes> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.iter().find(|r| is_same(key, &r.key)).map(|r| r.page.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(path: &str) -> &str {
        assert!(is_report(path), "{path}");
        path.trim_end_matches('/').rsplit('/').next().unwrap()
    }

    #[test]
    fn a_report_is_kept_until_its_record_changes() {
        let reports = Reports::default();
        let stamp = |len| Stamp { modified: SystemTime::UNIX_EPOCH, len, titled: None };
        let path = reports.keep("one".into(), stamp(1), "page".into()).unwrap();
        assert_eq!(key(&path).len(), 2 * KEY);
        assert_eq!(reports.path("one", stamp(1)).as_ref(), Some(&path));
        assert_eq!(reports.path("one", stamp(2)), None);
        assert_eq!(reports.path("two", stamp(1)), None);
        assert_eq!(reports.page(key(&path)).unwrap(), "page");
        reports.keep("two".into(), stamp(1), "other".into()).unwrap();
        reports.forget("two");
        assert_eq!(reports.path("two", stamp(1)), None);
        // The fleet's newest report replaces the one before.
        let before = reports.keep_fleet("before".into()).unwrap();
        let after = reports.keep_fleet("after".into()).unwrap();
        assert_eq!(reports.page(key(&after)).unwrap(), "after");
        assert_eq!(reports.page(key(&before)), None);
        for wrong in ["", "0", &key(&path)[1..], &"0".repeat(2 * KEY)] {
            assert_eq!(reports.page(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let reports = Reports::default();
        let stamp = Stamp { modified: SystemTime::UNIX_EPOCH, len: 1, titled: None };
        let keep = |run: usize, bytes: usize| {
            reports.keep(run.to_string(), stamp, vec![0; bytes].into()).unwrap()
        };
        let paths: Vec<String> = (0..=MOST).map(|run| keep(run, 1)).collect();
        assert_eq!(reports.page(key(&paths[0])), None);
        assert!(paths[1..].iter().all(|path| reports.page(key(path)).is_some()));
        let large = keep(99, MOST_BYTES + 1);
        assert!(reports.page(key(&large)).is_some());
        assert!(paths.iter().all(|path| reports.page(key(path)).is_none()));
    }
}
