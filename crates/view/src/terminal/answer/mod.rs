//! The answer on one screen: headline, figures, what to use and to avoid, open questions, and where to find
//! more.

mod columns;
mod ladder;
mod openings;

use std::path::Path;

use cryptbench_answer::Report;
use cryptbench_answer::answer::Answer;
use cryptbench_answer::figure::Figure;

use super::{Style, paint, wrap};

/// Lines of a screen, and of one that ranks.
const SCREEN: usize = 24;
const RANKED: usize = 35;

/// Width of the names of sections, and indent of the lines below them.
const SECTION: usize = 7;

/// The reader's surroundings, which a record does not contain.
#[derive(Clone, Copy, Debug, Default)]
pub struct Outlook<'a> {
    /// The directory in which commands will be typed.
    pub here: Option<&'a Path>,
    /// The command that prints all figures.
    pub full: &'a str,
    /// The location of the page.
    pub page: Option<&'a str>,
}

/// The answer as text, ending with a newline: at most 24 lines in 80 columns, or 35 where systems are ranked.
pub fn render(report: &Report<'_>, style: Style, outlook: Outlook<'_>) -> String {
    let width = style.columns();
    let Report { record, answer, .. } = report;
    let headline = headline(answer, width);
    let (figure, limit) = match &answer.figure {
        Figure::Columns(columns) => (columns::text(columns, record, width), SCREEN),
        Figure::Ladder(ladder) => (ladder::text(ladder, record, width), RANKED),
        Figure::Openings(rows) => (openings::text(rows, record, width), SCREEN),
        Figure::Nothing => (String::new(), SCREEN),
    };
    let figure = if figure.is_empty() { figure } else { format!("\n{figure}\n") };
    // Assumes that much is omitted; the number is known only later.
    let longest = more(outlook, usize::MAX, width).lines().count();
    let used = headline.lines().count() + figure.lines().count() + 1 + longest;
    let sections = Sections::chosen(answer, outlook.here, width, limit.saturating_sub(used));
    let more = more(outlook, sections.left_out, width);
    let rest = [sections.text, more].concat();
    paint::paint(
        &format!("{}\n{figure}\n{rest}", paint::bold(&headline, style.colour)),
        style.colour,
    )
}

/// Headline and what to use, ending with a newline.
pub fn brief(report: &Report<'_>, style: Style) -> String {
    let width = style.columns();
    let answer = &report.answer;
    let mut text = headline(answer, width) + "\n";
    for (i, line) in answer.take.iter().enumerate() {
        text += &entry("Take", line, i == 0, width);
        text.push('\n');
    }
    paint::paint(&text, style.colour)
}

fn headline(answer: &Answer<'_>, width: usize) -> String {
    wrap(&answer.headline.join(" "), "", "", width)
}

/// One line of a section, wrapped; the section's name precedes its first line.
fn entry(section: &str, text: &str, is_first: bool, width: usize) -> String {
    let name = if is_first { section } else { "" };
    wrap(text, &format!("{name:SECTION$}"), &" ".repeat(SECTION), width)
}

/// The sections in the lines that are left.
struct Sections {
    text: String,
    /// Entries for which there was no room.
    left_out: usize,
}

impl Sections {
    /// What to use comes before everything else; then the first entry of each section before the second of any.
    fn chosen(answer: &Answer<'_>, here: Option<&Path>, width: usize, room: usize) -> Self {
        let open: Vec<String> = answer.open.iter().map(|open| open.line(here)).collect();
        let sections = [
            ("Take", &answer.take),
            ("Avoid", &answer.avoid),
            ("Why", &answer.why),
            ("Open", &open),
        ];
        let most = sections.iter().map(|(_, all)| all.len()).max().unwrap_or(0);
        let take = (0..answer.take.len()).map(|i| (0, i));
        let others = (0..most).flat_map(|i| (1..sections.len()).map(move |section| (section, i)));
        let mut chosen: [Vec<&str>; 4] = Default::default();
        let (mut left, mut left_out) = (room, 0);
        for (section, i) in take.chain(others) {
            let Some(text) = sections[section].1.get(i) else { continue };
            match left.checked_sub(entry("", text, false, width).lines().count()) {
                Some(rest) => {
                    left = rest;
                    chosen[section].push(text);
                }
                None => left_out += 1,
            }
        }
        let mut text = String::new();
        for (entries, (name, _)) in chosen.iter().zip(&sections) {
            for (i, line) in entries.iter().enumerate() {
                text += &entry(name, line, i == 0, width);
                text.push('\n');
            }
        }
        Self { text, left_out }
    }
}

/// Where to find everything; the path of the page is never broken.
fn more(outlook: Outlook<'_>, left_out: usize, width: usize) -> String {
    let remarks = match left_out {
        0 => String::new(),
        1 => " (1 more remark)".to_owned(),
        n => format!(" ({} more remarks)", n.min(99)),
    };
    let full = format!("{}{remarks}", outlook.full);
    match outlook.page {
        Some(page) => {
            let words = entry("More", &format!("{full}, or open the page:"), true, width);
            format!("{words}\n{}{page}\n", " ".repeat(SECTION))
        }
        None => entry("More", &full, true, width) + "\n",
    }
}
