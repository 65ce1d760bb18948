//! Readings for a drawing with many points: narrow strips, each with the range of every series in it.

use super::scale::Scale;
use super::{Area, Point, Reading};

/// Maximum number of strips in a drawing, because narrower ones are difficult to hit with a finger or a
/// pointer.
const MOST: usize = 40;

/// The points of one series, and the format of its values.
pub(super) struct Trace<'a> {
    pub(super) name: String,
    pub(super) points: &'a [Point],
    pub(super) value: &'a dyn Fn(f64) -> String,
    /// The suffix of a value or a range.
    pub(super) unit: &'static str,
}

/// A reading for each strip of the scale that contains points. `place` formats the positions of these points.
pub(super) fn strips(
    x: &Scale,
    height: f64,
    place: &dyn Fn(f64) -> String,
    traces: &[Trace<'_>],
) -> Vec<Reading> {
    let [left, right] = x.pixels();
    let width = (right - left) / MOST as f64;
    let strip = |at: f64| (((x.at(at) - left) / width) as usize).min(MOST - 1);
    let mut words: Vec<Vec<String>> = vec![Vec::new(); MOST];
    let mut places: Vec<Option<(f64, f64)>> = vec![None; MOST];
    for trace in traces {
        let mut ranges: Vec<Option<(f64, f64)>> = vec![None; MOST];
        for (at, value) in trace.points.iter().filter(|p| super::is_finite(p)) {
            widen(&mut places[strip(*at)], *at);
            widen(&mut ranges[strip(*at)], *value);
        }
        for (words, range) in words.iter_mut().zip(ranges) {
            words.extend(range.map(|range| {
                format!("{} {}{}", trace.name, written(range, trace.value), trace.unit)
            }));
        }
    }
    let reading = |i: usize| {
        let left = left + i as f64 * width;
        let words = format!("{}: {}", written(places[i]?, place), words[i].join("; "));
        Some(Reading { area: Area { left, top: 0.0, width, height }, words })
    };
    (0..MOST).filter_map(reading).collect()
}

fn widen(range: &mut Option<(f64, f64)>, value: f64) {
    *range = Some(range.map_or((value, value), |(low, high)| (low.min(value), high.max(value))));
}

/// `45` or `45 to 48`.
fn written((low, high): (f64, f64), words: &dyn Fn(f64) -> String) -> String {
    let (low, high) = (words(low), words(high));
    if low == high { low } else { format!("{low} to {high}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strips_tell_the_range_of_each_series_and_are_few() {
        let x = Scale::linear([0.0, 80.0], [100.0, 180.0]);
        let whole = |v: f64| format!("{v:.0}");
        let one = [(0.0, 7.0), (1.0, 5.0), (79.0, 3.0), (f64::NAN, 1.0)];
        let two = [(1.5, 9.0)];
        let trace = |name: &str, points| {
            let name = name.to_owned();
            Trace { name, points, value: &whole, unit: " %" }
        };
        let found = strips(&x, 50.0, &whole, &[trace("a", &one), trace("b", &two)]);
        let words: Vec<&str> = found.iter().map(|r| r.words.as_str()).collect();
        assert_eq!(words, ["0 to 2: a 5 to 7 %; b 9 %", "79: a 3 %"]);
        assert_eq!(found[0].area, Area { left: 100.0, top: 0.0, width: 2.0, height: 50.0 });
        assert_eq!(found[1].area.left, 178.0);
        let many: Vec<Point> = (0..5_000).map(|i| (f64::from(i) / 62.5, 1.0)).collect();
        assert_eq!(strips(&x, 50.0, &whole, &[trace("a", &many)]).len(), MOST);
    }
}
