//! Whether a device has reached its steady state, by the criterion of the SNIA Solid State Storage
//! (SSS) Performance Test Specification (PTS), version 2.0.2 (October 2020), section 2.1.24.
//!
//! A drive that was empty or idle is at first faster than in continuous use. The specification
//! repeats rounds of the work and evaluates one figure per round, over a window of the last five
//! rounds:
//!
//! - the *excursion*, largest less smallest value, is at most 20 % of the average, and
//! - the *slope*, largest less smallest value of the straight line fitted to the window, is at most
//!   10 % of the average. It is the line's rise over the whole window, not per round.

/// Rounds in the measurement window.
pub const WINDOW: usize = 5;

/// Largest excursion, as a fraction of the window's average.
pub const EXCURSION: f64 = 0.20;

/// Largest rise or fall of the fitted line over the window, as a fraction of the window's average.
pub const SLOPE: f64 = 0.10;

/// The two figures of one measurement window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// Average of the rounds, in their unit.
    pub mean: f64,
    /// Largest less smallest round, as a fraction of `mean`, at least 0.
    pub excursion: f64,
    /// Rise of the least-squares line from the first round to the last, as a fraction of `mean`;
    /// negative if the line falls.
    pub slope: f64,
}

/// The first window in steady state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SteadyState {
    /// Rounds up to the end of the first window that meets the criterion, at least [`WINDOW`].
    pub rounds: usize,
    /// That window.
    pub window: Window,
}

impl Window {
    /// The figures of a window: [`WINDOW`] rounds, or as many as there are, but at least two.
    ///
    /// `None` for fewer rounds, for a value that is not finite, and for an average that is not
    /// positive, because such a device did no work.
    pub fn of(rounds: &[f64]) -> Option<Self> {
        if rounds.len() < 2 || rounds.iter().any(|y| !y.is_finite()) {
            return None;
        }
        let n = rounds.len() as f64;
        // Divides before summing, so that the mean of large values does not overflow.
        let mean = rounds.iter().map(|y| y / n).sum::<f64>();
        if mean <= 0.0 {
            return None;
        }
        let low = rounds.iter().copied().fold(f64::INFINITY, f64::min);
        let high = rounds.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let middle = (n - 1.0) / 2.0;
        let (mut products, mut squares) = (0.0, 0.0);
        for (x, y) in rounds.iter().enumerate() {
            let x = x as f64 - middle;
            products += x * (y / mean - 1.0);
            squares += x * x;
        }
        let (excursion, slope) = (high / mean - low / mean, products / squares * (n - 1.0));
        Some(Self { mean, excursion, slope })
    }

    /// Whether both figures are within the specification's bounds.
    pub fn is_steady(&self) -> bool {
        self.excursion <= EXCURSION && self.slope.abs() <= SLOPE
    }
}

/// Finds the first [`WINDOW`] consecutive rounds that meet the criterion. `rounds` holds one figure
/// per round (IOPS, bytes per second or a latency), in order.
///
/// `None` if there is no such window yet. The specification measures from its first round on and
/// gives up after 25; here the caller decides.
pub fn steady_state(rounds: &[f64]) -> Option<SteadyState> {
    rounds.windows(WINDOW).enumerate().find_map(|(first, rounds)| {
        let window = Window::of(rounds).filter(Window::is_steady)?;
        Some(SteadyState { rounds: first + WINDOW, window })
    })
}
