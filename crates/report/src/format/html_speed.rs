//! The speeds of ciphers in RAM as one self-contained HTML page: chart, meaning, numbers.

use maud::{Markup, html};

use super::html_page::{Frame, pairs};

/// Style of this page alone; hues of Okabe and Ito (2008), shifted for contrast, as in reports.
const MORE_STYLE: &str = "
:root { --encrypt: #0068ad; --decrypt: #c85000; }
@media screen and (prefers-color-scheme: dark) { :root { --encrypt: #5ba9e6; --decrypt: #f0883e; } }
.speeds { display: block; width: 100%; max-width: 760px; height: auto; margin-top: 12px; }
.speeds text { font-size: 13px; fill: var(--ink); }
.encrypt { fill: var(--encrypt); } .decrypt { fill: var(--decrypt); }
.legend svg { width: 12px; height: 12px; margin-right: 6px; } .legend span { margin-right: 20px; }
";

/// Everything that the page shows.
#[derive(Clone, Debug)]
pub struct SpeedPage {
    /// Version of the program that measured.
    pub program_version: String,
    /// How it was measured, in a sentence.
    pub method: String,
    /// Names and words about the machine.
    pub facts: Vec<(String, String)>,
    /// One chart per number of threads.
    pub charts: Vec<SpeedChart>,
    /// Interfaces, each with its classes of ciphers: how many threads, and which ciphers.
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
    /// Interquartile range of the mean in percent of it.
    pub spread_percent: f64,
}

/// The whole page. It needs no network and no script, and follows the reader's colour scheme.
pub fn speed_page(page: &SpeedPage) -> String {
    Frame {
        version: &page.program_version,
        title: "Cipher speed in RAM",
        heading: "Cipher speed in RAM",
        style: MORE_STYLE,
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

/// Units of the drawing, which are CSS pixels at full width.
const WIDTH: f64 = 760.0;
const ROW: f64 = 50.0;
const BAR: f64 = 11.0;

fn section(index: usize, chart: &SpeedChart) -> Markup {
    let rates = chart.bars.iter().flat_map(|b| [b.encrypt_mb_s, b.decrypt_mb_s]);
    let longest = rates.filter(|r| r.is_finite()).fold(0.0, f64::max);
    let length = |rate: f64| match longest > 0.0 && rate.is_finite() {
        true => format!("{:.1}", rate / longest * WIDTH),
        false => "0".to_owned(),
    };
    let (height, id) = (chart.bars.len() as f64 * ROW, format!("speeds-{index}"));
    html! {
        section aria-labelledby=(id) {
            h2 id=(id) { (chart.title) }
            p.legend {
                span { (swatch("encrypt")) "encrypt" }
                span { (swatch("decrypt")) "decrypt" }
                "MB/s"
            }
            svg.speeds viewBox={ "0 0 " (WIDTH) " " (height) } role="img" aria-labelledby=(id) {
                @for (row, bar) in chart.bars.iter().enumerate() {
                    @let top = row as f64 * ROW;
                    text x="0" y=(top + 16.0) { (bar.label) }
                    text x=(WIDTH) y=(top + 16.0) text-anchor="end" {
                        (mb(bar.encrypt_mb_s)) " / " (mb(bar.decrypt_mb_s))
                    }
                    rect.encrypt x="0" y=(top + 21.0) height=(BAR) width=(length(bar.encrypt_mb_s)) {}
                    rect.decrypt x="0" y=(top + 21.0 + BAR) height=(BAR)
                        width=(length(bar.decrypt_mb_s)) {}
                }
            }
        }
    }
}

fn swatch(class: &str) -> Markup {
    html! {
        svg viewBox="0 0 12 12" aria-hidden="true" { rect class=(class) width="12" height="12" {} }
    }
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
                            td.number { (crate::quantity::percent_digits(bar.spread_percent)) }
                        } }
                    }
                }
            }
        }
    }
}

/// A rate without its unit.
fn mb(mb_s: f64) -> String {
    // Above 9,999 MB/s the usual form changes its unit, but a column must not.
    match mb_s.is_finite() && mb_s >= 99.5 {
        true => crate::quantity::percent_digits(mb_s),
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
        assert!(text.contains("width=\"760.0\"") && text.contains("width=\"380.0\""), "{text}");
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
