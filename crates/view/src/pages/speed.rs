//! The speeds of ciphers in RAM as a self-contained HTML page: chart, meaning, numbers.

use maud::{Markup, PreEscaped, html};

use crate::drawing::{Bar, Bars, Entry, Mark, Role};
use crate::html::compact;
use crate::pages::{Frame, of_chart, pairs};

/// Everything that the page shows.
#[derive(Clone, Debug)]
pub struct SpeedPage {
    /// Version of the program that took the measurements.
    pub program_version: String,
    /// The method of measurement, in a sentence.
    pub method: String,
    /// Facts about the machine, as pairs of name and text.
    pub facts: Vec<(String, String)>,
    /// One chart per number of threads.
    pub charts: Vec<SpeedChart>,
    /// Interfaces, each with its classes of ciphers: pairs of a number of threads and the names of the ciphers.
    pub meaning: Vec<(String, Vec<(String, String)>)>,
    /// Remarks on the meaning.
    pub caveat: String,
}

/// A chart of pairs of bars.
#[derive(Clone, Debug)]
pub struct SpeedChart {
    /// Heading, such as `1 thread`.
    pub title: String,
    /// From top to bottom.
    pub bars: Vec<SpeedBar>,
}

/// One cipher: a bar for encrypting and one for decrypting.
#[derive(Clone, Debug)]
pub struct SpeedBar {
    /// Cipher and data unit.
    pub label: String,
    /// The kernel that ran.
    pub kernel: String,
    /// Median rate of encrypting in MB/s.
    pub encrypt_mb_s: f64,
    /// Median rate of decrypting in MB/s.
    pub decrypt_mb_s: f64,
    /// Mean of both in MB/s.
    pub mean_mb_s: f64,
    /// Interquartile range as a percentage of the mean.
    pub spread_percent: f64,
}

/// The whole page. It needs neither a network nor a script, and uses the reader's colour scheme.
pub fn speed_page(page: &SpeedPage) -> String {
    Frame {
        version: &page.program_version,
        title: "Cipher speed in RAM",
        heading: "Cipher speed in RAM",
        style: PreEscaped(""),
        opening: html! { p.about { (page.method) "." } },
        facts: pairs(&page.facts),
        main: html! {
            @for (index, chart) in page.charts.iter().enumerate() { (section(index, chart)) }
            (meaning(page))
            @for chart in &page.charts { (numbers(chart)) }
        },
    }
    .page()
}

fn section(index: usize, chart: &SpeedChart) -> Markup {
    let [encrypt, decrypt] = [Role::Encrypted(0), Role::Encrypted(1)];
    let row = |bar: &SpeedBar| {
        let words = format!("{} / {}", mb(bar.encrypt_mb_s), mb(bar.decrypt_mb_s));
        let second = Some((decrypt, bar.decrypt_mb_s));
        Bar { second, ..Bar::new(&bar.label, words, encrypt, bar.encrypt_mb_s) }
    };
    let rows: Vec<Bar> = chart.bars.iter().map(row).collect();
    let rates = chart.bars.iter().flat_map(|b| [b.encrypt_mb_s, b.decrypt_mb_s]);
    let longest = rates.filter(|r| r.is_finite()).fold(0.0, f64::max);
    let (title, end) = (chart.title.clone(), Bars::end_for(&[], longest));
    let mut drawing = Bars { title, rows, end, reference: None, band: None, tick: &compact }.draw();
    drawing.legend = [("encrypt, MB/s", encrypt), ("decrypt, MB/s", decrypt)]
        .map(|(name, role)| Entry { name: name.to_owned(), role, mark: Mark::Square })
        .to_vec();
    of_chart(&format!("speeds-{index}"), &drawing)
}

fn meaning(page: &SpeedPage) -> Markup {
    html! {
        section aria-labelledby="meaning" {
            h2 #meaning { "What it means" }
            @for (interface, classes) in &page.meaning {
                h3 { (interface) }
                ul { @for (class, ciphers) in classes { li { (class) ": " (ciphers) } } }
            }
            p.about { (page.caveat) }
        }
    }
}

fn numbers(chart: &SpeedChart) -> Markup {
    let label = format!("Numbers, {}", chart.title);
    html! {
        section {
            h2 { (label) }
            div.scroll role="region" tabindex="0" aria-label=(label) {
                table {
                    thead { tr {
                        th { "cipher, sector size" }
                        th { "kernel" }
                        th.number { "encrypt MB/s" }
                        th.number { "decrypt MB/s" }
                        th.number { "mean MB/s" }
                        th.number { "IQR %" }
                    } }
                    tbody {
                        @for bar in &chart.bars { tr {
                            th scope="row" { (bar.label) }
                            td { (bar.kernel) }
                            td.number { (mb(bar.encrypt_mb_s)) }
                            td.number { (mb(bar.decrypt_mb_s)) }
                            td.number { (mb(bar.mean_mb_s)) }
                            td.number { (cryptbench_answer::quantity::percent_digits(bar.spread_percent)) }
                        } }
                    }
                }
            }
        }
    }
}

/// A rate without its unit.
fn mb(mb_s: f64) -> String {
    // Above 9,999 MB/s the usual format uses another unit, but all numbers in a column must have the same unit.
    match mb_s.is_finite() && mb_s >= 99.5 {
        true => cryptbench_answer::quantity::percent_digits(mb_s),
        false => format!("{mb_s:.1}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(label: &str, rate: f64) -> SpeedPage {
        let bar = SpeedBar {
            label: label.to_owned(),
            kernel: "soft".to_owned(),
            encrypt_mb_s: rate,
            decrypt_mb_s: rate / 2.0,
            mean_mb_s: rate * 0.75,
            spread_percent: 1.5,
        };
        SpeedPage {
            program_version: "0".to_owned(),
            method: "made up".to_owned(),
            facts: vec![("CPU".to_owned(), label.to_owned())],
            charts: vec![SpeedChart { title: "1 thread".to_owned(), bars: vec![bar] }],
            meaning: vec![("SATA 3".to_owned(), vec![("too slow".to_owned(), label.to_owned())])],
            caveat: String::new(),
        }
    }

    #[test]
    fn bars_are_to_scale_and_the_page_loads_nothing() {
        let text = speed_page(&page("AES", 12_000.0));
        let widths: Vec<f64> = text
            .split("h-")
            .skip(1)
            .filter_map(|rest| rest.split_once('z')?.0.parse().ok())
            .collect();
        assert!((widths[0] / widths[1] - 2.0).abs() < 0.01, "{widths:?}");
        assert!(text.contains("12,000 / 6,000"), "{text}");
        for outside in ["http:", "https:", "<script", "url("] {
            assert!(!text.contains(outside), "{outside}");
        }
    }

    #[test]
    fn foreign_text_and_odd_numbers_do_no_harm() {
        let text = speed_page(&page("<b>&", f64::NAN));
        assert!(!text.contains("<b>&") && text.contains("&lt;b&gt;&amp;"));
        assert!(!speed_page(&page("x", 0.0)).contains("width=\"NaN\""));
    }
}
