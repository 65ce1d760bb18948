//! The answer on one screen: headline, figures, what to use and what to avoid, open questions, and where to
//! find more.

mod columns;
mod ladder;
mod openings;

use std::path::Path;

use cryptbench_answer::Report;
use cryptbench_answer::answer::Answer;
use cryptbench_answer::figure::Figure;

use super::{Style, paint, wrap};

/// Number of lines on a screen, and on a screen with a ranking.
const SCREEN: usize = 24;
const RANKED: usize = 35;

/// Width of the section names, and indent of the lines below them.
const SECTION: usize = 7;

/// Facts about the reader's surroundings, which a record does not contain.
#[derive(Clone, Copy, Debug, Default)]
pub struct Outlook<'a> {
    /// The directory in which the user will type commands.
    pub here: Option<&'a Path>,
    /// The command that prints all figures.
    pub full: &'a str,
    /// The location of the HTML page.
    pub page: Option<&'a str>,
    /// The run directory, quoted for use in a command.
    pub run: Option<&'a str>,
}

/// The parts that are omitted first if space is limited, and how much is shown about where to find more.
#[derive(Clone, Copy)]
struct Detail {
    legend: bool,
    plain_speed: bool,
    more: More,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum More {
    All,
    Command,
    Nothing,
}

/// The levels, from the most to the fewest parts.
const DETAILS: [Detail; 5] = [
    Detail { legend: true, plain_speed: true, more: More::All },
    Detail { legend: false, plain_speed: true, more: More::All },
    Detail { legend: false, plain_speed: false, more: More::All },
    Detail { legend: false, plain_speed: false, more: More::Command },
    Detail { legend: false, plain_speed: false, more: More::Nothing },
];

/// In terminals with fewer columns than this, everything wraps. What to use and open questions are then never
/// omitted.
const NARROW: usize = 80;

/// The answer as text, with a newline at the end: at most 24 lines in 80 columns, or 35 lines if systems are
/// ranked.
pub fn render(report: &Report<'_>, style: Style, outlook: Outlook<'_>) -> String {
    let width = style.columns();
    let Report { record, answer, .. } = report;
    let headline = headline(answer, width);
    let limit = if matches!(answer.figure, Figure::Ladder(_)) { RANKED } else { SCREEN };
    let kept = if width < NARROW { always(answer, outlook, width) } else { 0 };
    let lay_out = |detail: Detail| {
        let figure = match &answer.figure {
            Figure::Columns(columns) => columns::text(columns, record, width, detail),
            Figure::Ladder(ladder) => ladder::text(ladder, record, width, detail),
            Figure::Openings(rows) => openings::text(rows, record, width),
            Figure::Nothing => String::new(),
        };
        let figure = if figure.is_empty() { figure } else { format!("\n{figure}\n") };
        // Reserves space for the largest number of omitted entries, because the actual number is not known yet.
        let longest = more(outlook, usize::MAX, detail.more, width).lines().count();
        let used = headline.lines().count() + figure.lines().count() + 1 + longest;
        (figure, detail, used)
    };
    let mut laid_out = lay_out(DETAILS[0]);
    for detail in &DETAILS[1..] {
        if laid_out.2 + kept <= limit {
            break;
        }
        laid_out = lay_out(*detail);
    }
    let (figure, detail, used) = laid_out;
    let sections = Sections::chosen(answer, outlook, width, limit.saturating_sub(used));
    let more = more(outlook, sections.left_out, detail.more, width);
    let rest = [sections.text, more].concat();
    paint::paint(
        &format!("{}\n{figure}\n{rest}", paint::bold(&headline, style.colour)),
        style.colour,
    )
}

/// Headline and what to use, with a newline at the end.
pub fn brief(report: &Report<'_>, style: Style) -> String {
    let width = style.columns();
    let answer = &report.answer;
    let mut text = headline(answer, width) + "\n";
    for (i, line) in answer.take.iter().enumerate() {
        text += &entry("Use", line, i == 0, width);
        text.push('\n');
    }
    paint::paint(&text, style.colour)
}

/// Number of lines that are never omitted in a narrow terminal.
fn always(answer: &Answer<'_>, outlook: Outlook<'_>, width: usize) -> usize {
    let Outlook { here, run, .. } = outlook;
    let open = answer.open.iter().map(|open| open.line_of(here, run));
    let all = answer.take.iter().cloned().chain(open);
    all.map(|text| entry("", &text, false, width).lines().count()).sum()
}

fn headline(answer: &Answer<'_>, width: usize) -> String {
    wrap(&answer.headline.join(" "), "", "", width)
}

/// One entry of a section, wrapped. The first entry is preceded by the section's name.
fn entry(section: &str, text: &str, is_first: bool, width: usize) -> String {
    let name = if is_first { section } else { "" };
    wrap(text, &format!("{name:SECTION$}"), &" ".repeat(SECTION), width)
}

/// Indices of sections.
const TAKE: usize = 0;
const OPEN: usize = 3;

/// The sections that fit into the remaining lines.
struct Sections {
    text: String,
    /// Number of entries that did not fit.
    left_out: usize,
}

impl Sections {
    /// Fills the available lines: first with what to use, then with the first entry of each section, then with
    /// the second entries, and so on.
    fn chosen(answer: &Answer<'_>, outlook: Outlook<'_>, width: usize, room: usize) -> Self {
        let Outlook { here, run, .. } = outlook;
        let open: Vec<String> = answer.open.iter().map(|open| open.line_of(here, run)).collect();
        let sections = [
            ("Use", &answer.take),
            ("Avoid", &answer.avoid),
            ("Why", &answer.why),
            ("Open", &open),
        ];
        let is_narrow = width < NARROW;
        let most = sections.iter().map(|(_, all)| all.len()).max().unwrap_or(0);
        let take = (0..answer.take.len()).map(|i| (0, i));
        // In a narrow terminal, all open questions come before what to avoid and the reasons.
        let first = (0..if is_narrow { open.len() } else { 0 }).map(|i| (OPEN, i));
        let others = (0..most).flat_map(|i| (1..sections.len()).map(move |section| (section, i)));
        let others = first.chain(others.filter(|(section, _)| !is_narrow || *section != OPEN));
        let mut chosen: [Vec<&str>; 4] = Default::default();
        let (mut left, mut left_out) = (room, 0);
        for (section, i) in take.chain(others) {
            let Some(text) = sections[section].1.get(i) else { continue };
            let lines = entry("", text, false, width).lines().count();
            let is_kept = is_narrow && [TAKE, OPEN].contains(&section);
            match left.checked_sub(lines).or(is_kept.then_some(0)) {
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

/// Where to find more; the path of the page is never broken across lines.
fn more(outlook: Outlook<'_>, left_out: usize, what: More, width: usize) -> String {
    if what == More::Nothing {
        return String::new();
    }
    let remarks = match left_out {
        0 => String::new(),
        1 => " (1 more remark)".to_owned(),
        n => format!(" ({} more remarks)", n.min(99)),
    };
    let full = format!("{}{remarks}", outlook.full);
    match outlook.page.filter(|_| what == More::All) {
        Some(page) => {
            let words = entry("More", &format!("{full}, or open the page:"), true, width);
            format!("{words}\n{}{page}\n", " ".repeat(SECTION))
        }
        None => entry("More", &full, true, width) + "\n",
    }
}
