//! Summarises the rounds of a function: times at its measured costs, and calculated times at other costs.

use std::time::Duration;

use cryptbench_kdf::pim::{self, VolumeKind};
use cryptbench_kdf::{Derivation, Function, KdfError};
use cryptbench_stats::{median, quantile};

/// A measured cost of a function.
#[derive(Clone, Copy, Debug)]
pub struct Point {
    /// The cost.
    pub derivation: Derivation,
    /// Median seconds for a header key on one thread.
    pub seconds: f64,
    /// Interquartile range as a percentage of the median.
    pub spread_percent: f64,
}

impl Point {
    /// Computed from one value in seconds per round.
    pub(super) fn of(derivation: Derivation, rounds: &[f64]) -> Self {
        let seconds = median(rounds).unwrap_or(0.0);
        let spread_percent = match (quantile(rounds, 0.25), quantile(rounds, 0.75)) {
            (Some(low), Some(high)) if seconds > 0.0 => (high - low) / seconds * 100.0,
            _ => 0.0,
        };
        Self { derivation, seconds, spread_percent }
    }

    /// Seconds per unit of [`Derivation::work`].
    fn seconds_per_work(&self) -> f64 {
        self.seconds / self.derivation.work() as f64
    }
}

/// Work on guesses per second, in units of [`Derivation::work`], with full vectors.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Guesses {
    /// On one thread.
    pub one: f64,
    /// On all threads in parallel.
    pub all: f64,
}

/// The time for a header key.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Time {
    /// Seconds on one thread.
    pub seconds: f64,
    /// Whether this exact cost was measured; otherwise the time is calculated.
    pub measured: bool,
}

/// The speed of one function.
#[derive(Clone, Debug)]
pub struct KdfSpeed {
    /// The function.
    pub function: Function,
    /// The function's cost on this kind of volume without a PIM.
    pub default: Derivation,
    /// Whether the function is used only by volumes of older versions.
    pub old_volumes_only: bool,
    /// The kernel that derives a header key, such as `avx512vl-x4`.
    pub kernel: String,
    /// The kernel that computes guesses.
    pub guess_kernel: String,
    /// The lower of the two measured costs.
    pub short: Point,
    /// The higher of the two measured costs; times at other costs are calculated from its time.
    pub long: Point,
    /// Percentage by which the time at the higher cost exceeds proportional growth from the lower cost; median over
    /// the rounds.
    pub linearity_percent: f64,
    /// The rates of guesses.
    pub guesses: Guesses,
}

impl KdfSpeed {
    /// Seconds per unit of [`Derivation::work`] for a header key on one thread.
    pub fn seconds_per_work(&self) -> f64 {
        self.long.seconds_per_work()
    }

    /// The time for a header key at a cost of this function.
    pub fn time(&self, at: &Derivation) -> Time {
        let same = |point: &Point| {
            (point.derivation.work(), point.derivation.memory_kib()) == (at.work(), at.memory_kib())
        };
        match [&self.long, &self.short].into_iter().find(|point| same(point)) {
            Some(point) => Time { seconds: point.seconds, measured: true },
            None => Time { seconds: at.work() as f64 * self.seconds_per_work(), measured: false },
        }
    }

    /// Microseconds per PBKDF2 iteration; `None` for Argon2, whose passes are not iterations.
    pub fn us_per_iteration(&self) -> Option<f64> {
        match self.function {
            Function::Pbkdf2(_) => Some(self.seconds_per_work() * 1e6),
            Function::Argon2id => None,
        }
    }

    /// Seconds for one guess on one thread at a cost of this function.
    pub fn guess_seconds(&self, at: &Derivation) -> f64 {
        at.work() as f64 / self.guesses.one
    }

    /// The largest PIM with which a volume opens within `limit`, if there is one and `volume` has PIMs.
    ///
    /// # Errors
    /// If `volume` has never used the function.
    pub fn largest_pim(
        &self,
        volume: VolumeKind,
        limit: Duration,
    ) -> Result<Option<u32>, KdfError> {
        pim::largest_pim_within(volume, self.function, self.seconds_per_work(), limit)
    }
}

/// Seconds to try the default cost of every row on `threads` threads. Each thread tries one function at a time;
/// functions that need much memory run one after another ([`cryptbench_kdf::first_fit`]). A wrong passphrase takes this
/// whole time.
pub fn all_functions(rows: &[KdfSpeed], threads: usize) -> f64 {
    let seconds = |row: &&KdfSpeed| row.time(&row.default).seconds;
    let (large, small): (Vec<_>, Vec<_>) =
        rows.iter().partition(|row| row.default.memory_kib() > 0);
    let mut busy_until = vec![0.0; threads.max(1)];
    busy_until[0] = large.iter().map(seconds).sum();
    // Each thread starts the next function as soon as the thread is free.
    for row in &small {
        if let Some(free) = busy_until.iter_mut().min_by(|a, b| a.total_cmp(b)) {
            *free += seconds(row);
        }
    }
    busy_until.into_iter().fold(0.0, f64::max)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    const VERACRYPT: VolumeKind = VolumeKind::VeraCrypt { system: false };

    /// A row of invented numbers: units of work per second on one thread, and for guesses on all threads.
    pub(in crate::kdf) fn row(name: &str, per_second: f64, guesses: f64) -> KdfSpeed {
        let function = Function::find(name).unwrap();
        let at = |pim| {
            let derivation = pim::derivation(VERACRYPT, function, pim).unwrap();
            Point::of(derivation, &[derivation.work() as f64 / per_second])
        };
        KdfSpeed {
            function,
            default: at(None).derivation,
            old_volumes_only: name == "ripemd-160",
            kernel: "soft".to_owned(),
            guess_kernel: "soft".to_owned(),
            short: at(Some(1)),
            long: at(Some(5)),
            linearity_percent: 0.1,
            guesses: Guesses { one: guesses / 2.0, all: guesses },
        }
    }

    #[test]
    fn measured_costs_keep_their_time_and_others_are_proportional() {
        let mut row = row("sha-512", 1e6, 1e6);
        row.short.seconds = 1.0; // not proportional
        let at = |pim| pim::derivation(VERACRYPT, row.function, pim).unwrap();
        assert_eq!(row.time(&at(Some(1))), Time { seconds: 1.0, measured: true });
        assert_eq!(row.time(&at(Some(5))), Time { seconds: 0.02, measured: true });
        assert_eq!(row.time(&at(Some(485))), Time { seconds: 0.5, measured: false });
        assert_eq!(row.time(&at(None)).seconds, 0.5);
        assert!((row.us_per_iteration().unwrap() - 1.0).abs() < 1e-12);
        assert_eq!(row.guess_seconds(&at(None)), 1.0);
        let second = Duration::from_secs(1);
        assert_eq!(row.largest_pim(VERACRYPT, second), Ok(Some(985)));
        assert_eq!(row.largest_pim(VolumeKind::TrueCrypt { system: false }, second), Ok(None));
    }

    #[test]
    fn argon2_has_no_iterations() {
        let row = row("argon2id", 1e6, 1e6);
        assert_eq!(row.us_per_iteration(), None);
        assert!((row.time(&row.default).seconds - 416.0 * 1024.0 * 6.0 / 1e6).abs() < 1e-9);
    }

    #[test]
    fn functions_share_the_threads_and_memory_is_taken_once() {
        // 500,000 iterations take 1, 2, 3 s; Argon2id takes 4 s.
        let argon2 = row("argon2id", 416.0 * 1024.0 * 6.0 / 4.0, 1.0);
        let rows = [
            row("sha-512", 5e5, 1.0),
            row("sha-256", 2.5e5, 1.0),
            row("whirlpool", 5e5 / 3.0, 1.0),
            argon2,
        ];
        let at = |threads| (all_functions(&rows, threads) * 1e6).round() / 1e6;
        assert_eq!(at(1), 10.0);
        assert_eq!(at(0), 10.0);
        // Argon2id in addition to 1 + 2 + 3.
        assert_eq!(at(2), 6.0);
        // 1, then 3; 2; 4.
        assert_eq!(at(3), 4.0);
        assert_eq!(at(64), 4.0);
        assert_eq!(all_functions(&[], 2), 0.0);
    }

    #[test]
    fn a_bad_round_does_not_move_the_median() {
        let derivation = row("sha-512", 1.0, 1.0).default;
        let point = Point::of(derivation, &[1.0, 1.02, 0.98, 1.01, 30.0]);
        assert_eq!(point.seconds, 1.01);
        assert!((point.spread_percent - 2.0 / 1.01).abs() < 1e-9);
        assert_eq!(Point::of(derivation, &[]).seconds, 0.0);
    }
}
