//! Costs on many machines as a self-contained HTML page: a forest plot with one row per group, which can be
//! expanded to show its machines.

use maud::{Markup, PreEscaped, html};

use crate::pages::Frame;

/// Style rules that only this page uses.
const MORE_STYLE: &str = "
.forest { margin: 0; padding: 12px 0; border-bottom: 1px solid var(--line); }
.forest > p, .forest > summary > span { display: flex; flex-wrap: wrap; justify-content: space-between; gap: 0 24px; margin: 0; }
.forest > summary { color: var(--ink); list-style-position: outside; margin-left: 18px; }
.forest svg, .axis { display: block; width: 100%; height: 18px; overflow: visible; margin-top: 4px; }
.axis { height: 20px; } .axis text { font-size: 12px; fill: var(--muted); }
.next { fill: var(--e0); opacity: 0.3; } .mean { fill: var(--e0); } .one { stroke: var(--e0); stroke-width: 2; }
.whole { stroke: var(--muted); stroke-dasharray: 3 3; }
.figures { font-variant-numeric: tabular-nums; color: var(--muted); }
.machines { display: grid; grid-template-columns: repeat(auto-fill, minmax(180px, 1fr)); gap: 2px 24px; margin: 8px 0 0; padding: 0; list-style: none; font-size: 14px; font-variant-numeric: tabular-nums; }
.machines li { display: flex; justify-content: space-between; gap: 12px; overflow-wrap: anywhere; }
";

/// Maximum number of machines in an expanded row, half of them the slowest. This limit keeps the page below the size
/// limits of mail systems.
const MOST_MACHINES: usize = 60;

/// Everything that the page shows.
#[derive(Clone, Debug)]
pub struct ForestPage {
    /// Version of the program.
    pub program_version: String,
    /// The subject of the page, in a sentence.
    pub about: String,
    /// Remarks on machines that differ from the others and on missing machines, one paragraph for each.
    pub remarks: Vec<String>,
    /// The letter and the description of each kind of machine.
    pub kinds: Vec<(String, String)>,
    /// One plot for each type of work.
    pub plots: Vec<ForestPlot>,
    /// How the figures were calculated.
    pub method: String,
}

/// A type of work.
#[derive(Clone, Debug)]
pub struct ForestPlot {
    /// Its name for users.
    pub title: String,
    /// One row per group.
    pub rows: Vec<ForestRow>,
}

/// A group of machines. Shares are fractions of plain speed; 1 means no loss.
#[derive(Clone, Debug)]
pub struct ForestRow {
    /// Kind of machine and choice.
    pub label: String,
    /// The prediction for the next machine, the mean and the number of machines, in words.
    pub words: String,
    /// The prediction interval for the next machine.
    pub next: Option<(f64, f64)>,
    /// The mean with the ends of its interval.
    pub mean: Option<(f64, f64, f64)>,
    /// Names and shares of the machines.
    pub machines: Vec<(String, f64)>,
}

/// The whole page. It needs neither a network nor a script, and uses the reader's colour scheme.
pub fn forest_page(page: &ForestPage) -> String {
    let kinds: Vec<_> = page
        .kinds
        .iter()
        .map(|(letter, words)| (format!("Machines {letter}"), words.as_str()))
        .collect();
    Frame {
        version: &page.program_version,
        title: "Encryption in a fleet",
        heading: "What encryption costs on the next machine",
        style: PreEscaped(MORE_STYLE),
        opening: html! { p.about { (page.about) } @for remark in &page.remarks { p { (remark) } } },
        facts: kinds.iter().map(|(name, words)| (name.as_str(), *words)).collect(),
        main: html! {
            @for (number, plot) in page.plots.iter().enumerate() { (section(number, plot)) }
            section aria-labelledby="method" { h2 #method { "How to read it" } p.about { (page.method) } }
        },
    }
    .page()
}

/// The ends of a plot's axis.
#[derive(Clone, Copy)]
struct Axis {
    low: f64,
    high: f64,
}

impl Axis {
    /// Axis ends at round values that include the intervals and plain speed.
    fn of(plot: &ForestPlot) -> Self {
        let ends = plot.rows.iter().flat_map(|row| {
            let next = row.next.into_iter().flat_map(|(low, high)| [low, high]);
            next.chain(row.machines.iter().map(|(_, share)| *share))
        });
        let (low, high) = ends
            .filter(|share| share.is_finite())
            .fold((0.9f64, 1.0f64), |(low, high), share| (low.min(share), high.max(share)));
        Self {
            low: (low * 10.0).floor().max(0.0) / 10.0,
            high: ((high * 10.0).ceil() / 10.0).min(3.0),
        }
    }

    /// In percent of the width.
    fn x(self, share: f64) -> f64 {
        100.0 * ((share - self.low) / (self.high - self.low)).clamp(0.0, 1.0)
    }

    fn at(self, share: f64) -> String {
        format!("{:.2}%", self.x(share))
    }

    fn width(self, low: f64, high: f64) -> String {
        format!("{:.2}%", (self.x(high) - self.x(low)).max(0.2))
    }
}

fn section(number: usize, plot: &ForestPlot) -> Markup {
    let (axis, id) = (Axis::of(plot), format!("work-{number}"));
    html! {
        section aria-labelledby=(id) {
            h2 id=(id) { (plot.title) }
            @for row in &plot.rows { (forest_row(axis, row)) }
            svg.axis aria-hidden="true" {
                text x="0" y="14" { (percent(axis.low)) }
                text x=(axis.at(1.0)) y="14" text-anchor=(if axis.high > 1.05 { "middle" } else { "end" }) { "100 %, plain" }
                @if axis.high > 1.05 { text x="100%" y="14" text-anchor="end" { (percent(axis.high)) } }
            }
        }
    }
}

fn forest_row(axis: Axis, row: &ForestRow) -> Markup {
    let head = html! {
        span { b { (row.label) } span.figures { (row.words) } }
        svg role="img" aria-label=(row.words) {
            line.whole x1=(axis.at(1.0)) x2=(axis.at(1.0)) y1="0" y2="18" {}
            @if let Some((low, high)) = row.next {
                rect.next x=(axis.at(low)) width=(axis.width(low, high)) y="3" height="12" {}
            }
            @if let Some((mean, low, high)) = row.mean {
                rect.mean x=(axis.at(low)) width=(axis.width(low, high)) y="7" height="4" {}
                rect.mean x=(axis.at(mean)) width="3" y="2" height="14" {}
            } @else {
                @for (_, share) in &row.machines {
                    line.one x1=(axis.at(*share)) x2=(axis.at(*share)) y1="3" y2="15" {}
                }
            }
        }
    };
    html! {
        details.forest {
            summary { (head) }
            svg aria-hidden="true" {
                @for (_, share) in shown(&row.machines) {
                    line.one x1=(axis.at(*share)) x2=(axis.at(*share)) y1="3" y2="15" {}
                }
            }
            ul.machines {
                @for (name, share) in shown(&row.machines) { li { span { (name) } span { (percent(*share)) } } }
            }
            @if row.machines.len() > MOST_MACHINES {
                p.about { "The slowest and the fastest of " (row.machines.len()) " machines; all: fleet report --csv, \
                fleet collect." }
            }
        }
    }
}

/// The machines to show, slowest first; if there are many, only those at both ends.
fn shown(machines: &[(String, f64)]) -> Vec<&(String, f64)> {
    let mut sorted: Vec<_> = machines.iter().collect();
    sorted.sort_by(|a, b| a.1.total_cmp(&b.1));
    if sorted.len() > MOST_MACHINES {
        let rest = sorted.split_off(sorted.len() - MOST_MACHINES / 2);
        sorted.truncate(MOST_MACHINES / 2);
        sorted.extend(rest);
    }
    sorted
}

fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(machines: usize) -> String {
        let machines =
            (0..machines).map(|i| (format!("node<{i}>"), 0.8 + 0.0001 * i as f64)).collect();
        forest_page(&ForestPage {
            program_version: "1".to_owned(),
            about: "a < b".to_owned(),
            remarks: vec!["node7 keeps less".to_owned()],
            kinds: vec![("A".to_owned(), "CPU".to_owned())],
            plots: vec![ForestPlot {
                title: "Random reads".to_owned(),
                rows: vec![ForestRow {
                    label: "A LUKS2".to_owned(),
                    words: "next 75 to 86 %".to_owned(),
                    next: Some((0.75, 0.86)),
                    mean: Some((0.8, 0.79, 0.81)),
                    machines,
                }],
            }],
            method: "REML".to_owned(),
        })
    }

    #[test]
    fn a_row_unfolds_to_its_machines_the_slowest_first() {
        let text = page(5);
        let (first, last) =
            (text.find("node&lt;0&gt;").unwrap(), text.find("node&lt;4&gt;").unwrap());
        assert!(first < last && text.contains("<details"));
        // From 70 to 100 %: the next machine's interval begins at a sixth of the width.
        assert!(text.contains(r#"class="next" x="16.67%" width="36.67%""#), "{text}");
    }

    #[test]
    fn of_many_machines_both_ends_are_there_and_the_page_stays_small() {
        let text = page(1000);
        assert!(text.contains("node&lt;0&gt;") && text.contains("node&lt;999&gt;"));
        assert!(!text.contains("node&lt;500&gt;") && text.contains("of 1000 machines"));
        assert!(text.len() < 60_000, "{}", text.len());
    }
}
