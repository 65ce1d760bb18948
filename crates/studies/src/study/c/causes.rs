//! Why identical series of study C differ: what its five figures show about chance, the system and time.

use cryptbench_stats::criterion::Fit;

use crate::error::DataError;
use crate::files::Files;
use crate::study::Answer;

/// Series of one system, and their mean differences in percent.
struct Series {
    count: f64,
    percent: f64,
}

pub(super) fn answers(files: &Files) -> Result<Vec<Answer>, DataError> {
    let csv = files.csv("habr_iozone")?;
    let mut all = Vec::new();
    for row in csv.rows() {
        let count = row.number_if_any("iozone_series")?;
        let percent = row.number_if_any("within_series_mean_difference_pct")?;
        all.extend(
            count
                .zip(percent)
                .map(|(count, percent)| Series { count: count.value(), percent: percent.value() }),
        );
    }
    let fit = |expected: fn(f64) -> f64| fitted(&all, expected);
    let (Some(same), Some(chance), Some(time)) = (fit(|_| 1.0), fit(range), fit(|count| count))
    else {
        return Ok(Vec::new());
    };
    let ends = |end: fn(f64, f64) -> f64| {
        all.iter().map(|series| series.count).reduce(end).and_then(|count| {
            let at = all.iter().find(|series| series.count == count)?;
            Some(format!("{:.1} % between {count:.0} series", at.percent))
        })
    };
    let (Some(few), Some(many)) = (ends(f64::min), ends(f64::max)) else { return Ok(Vec::new()) };
    let off = |fit: &Fit| format!("{:.0} %", 100.0 * fit.residual.exp_m1());
    let worse = |fit: &Fit| format!("{:.0}", fit.criterion - time.criterion);
    let lines = vec![
        format!(
            "The difference grows with the number of series, {few} to {many}. A model in proportion to that number has \
             a residual of {}; the same difference for all, {} (Akaike's criterion {} worse); the range of as many \
             chance results, {} ({} worse). So the machine changed over the hours, or series that differed were \
             repeated more often. Uncertain: the numbers cannot distinguish these two causes, and there are only {} of \
             them.",
            off(&time),
            off(&same),
            worse(&same),
            off(&chance),
            worse(&chance),
            all.len(),
        ),
        "This does not require a disk. Five series of 455 cells only in memory, on a busy machine, differ by 4 % on \
         average. Likely, because most of the study's files fit into its page cache (E38)."
            .to_owned(),
    ];
    Ok(vec![Answer { question: "Why do identical series differ by up to 5 %?", lines }])
}

/// How well the differences match the expectation for this many series, apart from a constant factor.
fn fitted(all: &[Series], expected: fn(f64) -> f64) -> Option<Fit> {
    let logs: Vec<f64> = all.iter().map(|s| (s.percent / expected(s.count)).ln()).collect();
    let mean = logs.iter().sum::<f64>() / logs.len() as f64;
    Fit::of(&logs.iter().map(|log| log - mean).collect::<Vec<_>>(), 1)
}

/// Mean ranges of this many normal values, in standard deviations (L. Tippett, "On the extreme individuals and
/// the range of samples taken from a normal population", Biometrika 17, 1925).
const RANGES: [(f64, f64); 5] =
    [(5.0, 2.326), (8.0, 2.847), (9.0, 2.970), (14.0, 3.407), (22.0, 3.819)];

fn range(count: f64) -> f64 {
    RANGES.iter().find(|(of, _)| *of == count).map_or(f64::NAN, |(_, range)| *range)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_follow_the_number_of_series_best() {
        let answers = answers(&Files::published()).unwrap();
        let all = &answers[0].lines[0];
        assert!(all.contains("residual of 27 %") && all.contains("for all, 68 %"), "{all}");
        assert!(all.contains("0.7 % between 5 series to 3.2 % between 22 series"), "{all}");
    }
}
