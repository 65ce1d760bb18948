//! Scales: positions of values in a drawing, ticks, and grid lines.

use super::{Anchor, Drawing, Role, TICK, look};

/// A range of values over a range of CSS pixels.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scale {
    values: [f64; 2],
    pixels: [f64; 2],
    is_log: bool,
}

impl Scale {
    pub(super) fn linear(values: [f64; 2], pixels: [f64; 2]) -> Self {
        Self { values, pixels, is_log: false }
    }

    /// A logarithmic scale, for values above 0.
    pub(super) fn log(values: [f64; 2], pixels: [f64; 2]) -> Self {
        Self { values, pixels, is_log: true }
    }

    /// The ends in pixels.
    pub(super) fn pixels(&self) -> [f64; 2] {
        self.pixels
    }

    /// The position of a value. A value beyond an end of the scale gets the position of that end.
    pub(super) fn at(&self, value: f64) -> f64 {
        let along = |v: f64| if self.is_log { v.ln() } else { v };
        let [low, high] = self.values.map(along);
        let [from, to] = self.pixels;
        let share = (along(value) - low) / (high - low);
        from + share.clamp(0.0, 1.0) * (to - from)
    }

    /// At most this many round values.
    pub(super) fn ticks(&self, most: usize) -> Vec<f64> {
        let [low, high] = self.values;
        match self.is_log {
            true => decades(low, high, most),
            false => {
                let size = ((high - low) / most as f64).log10().floor();
                let steps = (0..)
                    .flat_map(|n| [1.0, 2.0, 5.0].map(|f| f * 10_f64.powf(size + f64::from(n))));
                multiples(low, high, most, steps)
            }
        }
    }

    /// At most this many round times, for a scale in seconds.
    pub(super) fn clock_ticks(&self, most: usize) -> Vec<f64> {
        let [low, high] = self.values;
        let steps = [1.0, 2.0, 5.0, 10.0, 15.0, 30.0].into_iter();
        let minutes = (0..).flat_map(|n| [1.0, 2.0, 5.0].map(|f| f * 60.0 * 10_f64.powi(n)));
        multiples(low, high, most, steps.chain(minutes))
    }
}

/// The multiples, from `low` to `high`, of the smallest step that yields at most `most` of them; `steps` are in
/// ascending order.
fn multiples(low: f64, high: f64, most: usize, steps: impl Iterator<Item = f64>) -> Vec<f64> {
    if !(low.is_finite() && high.is_finite() && low < high) {
        return Vec::new();
    }
    let ends = |step: f64| ((low / step).ceil(), (high / step).floor());
    let few = |step: &f64| ends(*step).1 - ends(*step).0 < most as f64;
    let Some(step) = steps.take(100).find(few) else { return Vec::new() };
    let (first, last) = ends(step);
    (0..most).map(|i| first + i as f64).take_while(|n| *n <= last).map(|n| n * step).collect()
}

/// 1, 2 and 5 times powers of ten; only the powers if there would be too many.
fn decades(low: f64, high: f64, most: usize) -> Vec<f64> {
    let within = |factors: &[f64]| -> Vec<f64> {
        (-3..=9)
            .flat_map(|decade| factors.iter().map(move |f| f * 10_f64.powi(decade)))
            .filter(|v| (low..=high).contains(v))
            .collect()
    };
    let fine = within(&[1.0, 2.0, 5.0]);
    if fine.len() <= most { fine } else { within(&[1.0]) }
}

/// Vertical lines at the ticks of a horizontal scale, with their labels below.
pub(super) fn across(
    drawing: &mut Drawing,
    scale: &Scale,
    [top, bottom]: [f64; 2],
    ticks: impl IntoIterator<Item = (f64, String)>,
) {
    let ticks: Vec<_> = ticks.into_iter().map(|(v, words)| (scale.at(v), words)).collect();
    for (x, _) in &ticks {
        drawing.line(Role::Grid, 1.0, [(*x, top), (*x, bottom)]);
    }
    for (x, words) in ticks {
        // Centred labels would extend beyond the sides of the drawing.
        let anchor = match x {
            x if x < 8.0 => Anchor::Start,
            x if x > drawing.area.width - 8.0 => Anchor::End,
            _ => Anchor::Middle,
        };
        drawing.text(look(Role::Muted, TICK, anchor), (x, bottom + 11.0), words);
    }
}

/// Horizontal lines at the ticks of a vertical scale, with their labels on the left.
pub(super) fn upwards(
    drawing: &mut Drawing,
    scale: &Scale,
    [left, right]: [f64; 2],
    ticks: impl IntoIterator<Item = (f64, String)>,
) {
    let ticks: Vec<_> = ticks.into_iter().map(|(v, words)| (scale.at(v), words)).collect();
    for (y, _) in &ticks {
        drawing.line(Role::Grid, 1.0, [(left, *y), (right, *y)]);
    }
    for (y, words) in ticks {
        drawing.text(look(Role::Muted, TICK, Anchor::End), (left - 6.0, y), words);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_few() {
        let ticks = |low, high, most| Scale::linear([low, high], [0.0, 1.0]).ticks(most);
        assert_eq!(ticks(0.0, 108.0, 6), [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]);
        assert_eq!(ticks(0.0, 108.0, 5), [0.0, 50.0, 100.0]);
        assert_eq!(ticks(87.0, 112.0, 6), [90.0, 95.0, 100.0, 105.0, 110.0]);
        assert_eq!(ticks(0.0, 0.04, 6).len(), 5);
        assert!(ticks(0.0, f64::NAN, 6).is_empty());
        assert!(ticks(1.0, 1.0, 6).is_empty());
        for most in 2..9 {
            for end in [0.003, 0.7, 1.0, 9.9, 42.0, 1e5, 3e9] {
                let found = ticks(0.0, end, most).len();
                assert!((1..=most).contains(&found), "{found} of {most} to {end}");
            }
        }
    }

    #[test]
    fn ticks_of_a_log_scale_and_of_a_clock() {
        let log = |low, high| Scale::log([low, high], [0.0, 1.0]).ticks(6);
        assert_eq!(log(40.0, 1_500.0), [50.0, 100.0, 200.0, 500.0, 1_000.0]);
        assert_eq!(log(0.9, 11_000.0), [1.0, 10.0, 100.0, 1_000.0, 10_000.0]);
        let clock = |high| Scale::linear([0.0, high], [0.0, 1.0]).clock_ticks(5);
        assert_eq!(clock(110.0), [0.0, 30.0, 60.0, 90.0]);
        assert_eq!(clock(900.0), [0.0, 300.0, 600.0, 900.0]);
    }

    #[test]
    fn a_value_beyond_an_end_lies_at_that_end() {
        let scale = Scale::linear([0.0, 50.0], [100.0, 200.0]);
        assert_eq!(
            [-5.0, 0.0, 25.0, 50.0, 80.0].map(|v| scale.at(v)),
            [100.0, 100.0, 150.0, 200.0, 200.0]
        );
        let log = Scale::log([1.0, 100.0], [0.0, 10.0]);
        assert!((log.at(10.0) - 5.0).abs() < 1e-9);
        // Upwards: the lowest value at the greatest distance from the top.
        assert_eq!(Scale::linear([0.0, 1.0], [80.0, 8.0]).at(1.0), 8.0);
    }
}
