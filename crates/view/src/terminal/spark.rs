//! Sparklines: a row of block characters, each of which represents one value or several consecutive values.

/// Eighths of a line, from the bottom.
const EIGHTHS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Placeholder for a missing value.
const GAP: char = ' ';

/// `values` in at most `columns` characters. If there are more values, groups of about the same size are
/// averaged. The lowest block represents `range.0`, the highest `range.1`. If both are equal, all blocks have
/// medium height.
pub(super) fn sparkline(values: &[Option<f64>], range: (f64, f64), columns: usize) -> String {
    let columns = columns.clamp(1, values.len().max(1));
    (0..columns)
        .map(|column| {
            let part = |edge: usize| edge * values.len() / columns;
            let run = &values[part(column)..part(column + 1)];
            mean(run).map_or(GAP, |value| block(value, range))
        })
        .collect()
}

/// Minimum and maximum of all finite values.
pub(super) fn range(values: impl IntoIterator<Item = f64>) -> Option<(f64, f64)> {
    values.into_iter().filter(|v| v.is_finite()).fold(None, |range, value| {
        let (low, high) = range.unwrap_or((value, value));
        Some((low.min(value), high.max(value)))
    })
}

fn mean(values: &[Option<f64>]) -> Option<f64> {
    let known: Vec<f64> = values.iter().flatten().copied().filter(|v| v.is_finite()).collect();
    cryptbench_stats::mean(&known)
}

fn block(value: f64, (low, high): (f64, f64)) -> char {
    let share = if high > low { (value - low) / (high - low) } else { 0.5 };
    let last = EIGHTHS.len() - 1;
    EIGHTHS[((share * last as f64).round().max(0.0) as usize).min(last)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_for_each_value() {
        let values = [Some(1.0), None, Some(2.0), Some(3.0), Some(f64::NAN)];
        let range = range(values.into_iter().flatten()).unwrap();
        assert_eq!(range, (1.0, 3.0));
        assert_eq!(sparkline(&values, range, 80), "▁ ▅█ ");
        assert_eq!(sparkline(&[Some(5.0); 3], (5.0, 5.0), 80), "▅▅▅", "all alike");
        assert_eq!(sparkline(&[], (0.0, 1.0), 80), " ");
    }

    #[test]
    fn many_values_are_averaged_in_runs() {
        let values: Vec<_> = (0..100).map(|i| Some(f64::from(i))).collect();
        let line = sparkline(&values, (0.0, 99.0), 8);
        assert_eq!(line, "▁▂▃▄▅▆▇█");
        assert_eq!(sparkline(&values, (0.0, 99.0), 1), "▅");
    }

    #[test]
    fn what_lies_outside_is_drawn_at_the_edge() {
        assert_eq!(sparkline(&[Some(-5.0), Some(50.0)], (0.0, 1.0), 2), "▁█");
        assert_eq!(range([f64::NAN, f64::INFINITY]), None);
    }
}
