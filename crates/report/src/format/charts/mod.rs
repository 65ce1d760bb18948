//! Every chart of the page by itself: an SVG that needs no style sheet, and a PNG of it (feature `png`).

mod alone;
#[cfg(feature = "png")]
mod png;

use std::collections::HashSet;

use cryptbench_record::{Record, Results};

#[cfg(feature = "png")]
pub use self::png::{PngError, png};
use super::html;

/// The mark of a file that this program wrote, in SVG and in PNG.
pub const MARK: &str = "cryptbench chart";

/// One chart.
#[derive(Clone, Debug)]
pub struct Chart {
    /// A name for a file, without extension: `speed-kept-sequential-read-1-mib-qd1`.
    pub name: String,
    /// What it shows.
    pub title: String,
    /// The chart as a document of its own, in light colours, with its title and its legend.
    pub svg: String,
}

/// The charts of a record in the order of the page, including those that the page of a large record leaves out.
pub fn charts(record: &Record, results: &Results) -> Vec<Chart> {
    let content = html::drawn(record, results);
    let mut names = HashSet::new();
    pieces(&content)
        .map(|piece| {
            let title = piece.title();
            let name = unused(&slug(&title), &mut names);
            Chart { svg: alone::document(&piece, &title, &record.run_id), name, title }
        })
        .collect()
}

/// A chart as it stands in the page.
struct Piece<'a> {
    /// From the opening tag to the closing one.
    svg: &'a str,
    /// The data of its series, where the page's script draws it anew.
    data: Option<&'a str>,
}

impl Piece<'_> {
    /// As it is written in the page, with its entities.
    fn title(&self) -> String {
        between(self.svg, "<title", "</title>").map_or_else(String::new, unescaped)
    }
}

/// Cuts the charts out of the page, so that the saved ones equal those on the page.
fn pieces(content: &str) -> impl Iterator<Item = Piece<'_>> {
    content.split("<svg class=\"chart").skip(1).filter_map(|rest| {
        let end = rest.find("</svg>")?;
        let after = &rest[end + "</svg>".len()..];
        let data = after
            .starts_with("<script class=\"plot\"")
            .then(|| between(after, "<script", "</script>"));
        Some(Piece { svg: &rest[..end], data: data.flatten() })
    })
}

/// The content of the first element that begins with `open`.
fn between<'a>(text: &'a str, open: &str, close: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(open)?;
    let (_, rest) = rest.split_once('>')?;
    rest.split_once(close).map(|(content, _)| content)
}

fn unescaped(text: &str) -> String {
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&")
}

/// Lower case, with a hyphen for everything that is neither letter nor digit.
fn slug(title: &str) -> String {
    /// Longer names would reach the limits of file systems, extensions and encrypted names.
    const LONGEST: usize = 100;
    let mut out = String::new();
    for c in title.chars().take(LONGEST) {
        match c {
            c if c.is_ascii_alphanumeric() => out.push(c.to_ascii_lowercase()),
            _ if out.is_empty() || out.ends_with('-') => {}
            _ => out.push('-'),
        }
    }
    match out.trim_end_matches('-') {
        "" => "chart".to_owned(),
        name => name.to_owned(),
    }
}

fn unused(name: &str, used: &mut HashSet<String>) -> String {
    let mut found = name.to_owned();
    let mut n = 1;
    while !used.insert(found.clone()) {
        n += 1;
        found = format!("{name}-{n}");
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_what_charts_show_and_differ() {
        assert_eq!(slug("Speed kept, seq. read 1 MiB QD1"), "speed-kept-seq-read-1-mib-qd1");
        assert_eq!(slug("../µ/"), "chart");
        let mut used = HashSet::new();
        assert_eq!(["a", "a", "a-2"].map(|n| unused(n, &mut used)), ["a", "a-2", "a-2-2"]);
    }
}
