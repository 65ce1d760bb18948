//! Whether a device has reached its steady state: the criterion of the SNIA Solid State Storage (SSS)
//! Performance Test Specification (PTS), version 2.0.2 (October 2020), section 2.1.24.
//!
//! A drive that was empty or idle answers faster at first than it will for good. The specification
//! repeats a round of the work and looks at one figure of each, over a window of the last five rounds:
//!
//! - the *excursion*, largest less smallest, is no more than 20 % of the average, and
//! - the *slope*, largest less smallest value of the straight line fitted to the window, is no more than
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
    /// Rise of the least-squares line from the first round to the last, as a fraction of `mean`; negative
    /// where it falls.
    pub slope: f64,
}

/// When the steady state began to show.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SteadyState {
    /// Rounds up to the end of the first window that meets the criterion, at least [`WINDOW`].
    pub rounds: usize,
    /// That window.
    pub window: Window,
}

impl Window {
    /// The figures of a window: [`WINDOW`] rounds, or as many as there are, but two at least.
    ///
    /// `None` for fewer, for a value that is not finite, and for an average that is not positive: such a
    /// device did not work.
    pub fn of(rounds: &[f64]) -> Option<Self> {
        if rounds.len() < 2 || rounds.iter().any(|y| !y.is_finite()) {
            return None;
        }
        let n = rounds.len() as f64;
        // Divided before they are summed: large values have a mean, too.
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

/// Finds the first [`WINDOW`] consecutive rounds that meet the criterion. `rounds` holds one figure per
/// round (IOPS, bytes per second or a latency), in order.
///
/// `None` as long as there is no such window. The specification measures from its first round on and
/// gives up after 25; that is the caller's choice.
pub fn steady_state(rounds: &[f64]) -> Option<SteadyState> {
    rounds.windows(WINDOW).enumerate().find_map(|(first, rounds)| {
        let window = Window::of(rounds).filter(Window::is_steady)?;
        Some(SteadyState { rounds: first + WINDOW, window })
    })
}
