//! The answer: headline, a chart that is also a table, what to use, and open questions.

use cryptbench_answer::answer::{Answer, Open};
use cryptbench_answer::figure::{Columns, Figure, Ladder, Mark, Rung, Unranked, Value};
use cryptbench_answer::kinds::sizes_explained;
use cryptbench_answer::opening::OpeningRow;
use cryptbench_answer::quantity::{FINE_BELOW, NONE, count, fraction, kept_spread, unbroken};
use cryptbench_catalog::{BUILTIN, Family};
use cryptbench_estimate::ranking::Mean;
use maud::{Markup, html};

use super::View;
use crate::drawing::hues;

/// Percent of plain speed at the right end of every chart; the left end is 0.
const END: f64 = 125.0;

/// Marks of the scale.
const TICKS: [f64; 4] = [0.0, 25.0, 50.0, 75.0];

/// Percentages below which a mean is shown with a decimal.
const FINE_MEAN: f64 = 19.95;

/// Shapes that distinguish columns without colour.
const SHAPES: [char; 4] = ['○', '◇', '□', '△'];
const FILLED: [char; 4] = ['●', '◆', '■', '▲'];

/// Headline, chart and advice.
pub(super) fn section(view: &View<'_>, answer: &Answer<'_>) -> Markup {
    let (first, rest) = answer.headline.split_first().map_or(("", &[][..]), |(f, r)| (f, r));
    html! {
        section.answer aria-labelledby="answer" {
            h1 #answer { (whole(first.trim_end_matches('.'))) }
            @if !rest.is_empty() { p.sub { (whole(&rest.join(" "))) } }
            div.cols {
                (list("take", "What to use", answer))
                (figure(view, answer))
                (after(answer))
            }
        }
    }
}

fn list(id: &str, heading: &str, answer: &Answer<'_>) -> Markup {
    let Answer { take, avoid, .. } = answer;
    html! {
        @if !(take.is_empty() && avoid.is_empty()) {
            section.take aria-labelledby=(id) {
                h2 id=(id) { (heading) }
                @for line in take { p { (whole(line)) } }
                @if !avoid.is_empty() {
                    h2 { "Avoid" }
                    @for line in avoid { p { (whole(line)) } }
                }
            }
        }
    }
}

/// The parts that may follow the chart on a phone: the reasons for the cost, and open questions.
fn after(Answer { why, open, .. }: &Answer<'_>) -> Markup {
    html! {
        @if !(why.is_empty() && open.is_empty()) {
            section.open aria-label="Reasons and open questions" {
                @if !why.is_empty() {
                    h2 { "Bottlenecks" }
                    ul { @for line in why { li { (whole(line)) } } }
                }
                @if !open.is_empty() {
                    h2 { "Open questions" }
                    ul { @for item in open { li { (open_item(item)) } } }
                }
            }
        }
    }
}

fn open_item(item: &Open) -> Markup {
    html! {
        (whole(&item.text))
        @if let Some(command) = &item.command { " " (typed(&command.typed(None))) }
    }
}

/// A command in which lines are broken only between words.
fn typed(command: &str) -> Markup {
    html! {
        code {
            @for (i, word) in command.split(' ').enumerate() {
                @if i > 0 { " " }
                span.nobreak { (word) }
            }
        }
    }
}

/// Maximum length in characters of a word that is not broken; a path may be wider than the narrowest screen.
const LONGEST_WHOLE: usize = 24;

/// Like [`unbroken`], but also does not break words with hyphens, such as `75-77`, `hdd-7200` and `dm-crypt`.
pub(super) fn whole(text: &str) -> Markup {
    let text = unbroken(text);
    let has_hyphen = |word: &&str| word.contains('-') && word.chars().count() <= LONGEST_WHOLE;
    html! {
        @for (i, word) in text.split(' ').enumerate() {
            @if i > 0 { " " }
            @match Some(word).filter(has_hyphen) {
                Some(word) => { span.nobreak { (word) } }
                None => { (word) }
            }
        }
    }
}

fn figure(view: &View<'_>, answer: &Answer<'_>) -> Markup {
    match &answer.figure {
        Figure::Columns(columns) => of_columns(view, columns),
        Figure::Ladder(ladder) => of_ladder(view, ladder),
        Figure::Openings(rows) => of_openings(view, rows),
        Figure::Nothing => html! {},
    }
}

fn interval(view: &View<'_>) -> String {
    format!("{} interval", fraction(view.record.plan.confidence))
}

/// One row for each workload, with a shape for each choice.
fn of_columns(view: &View<'_>, columns: &Columns) -> Markup {
    let title = match &columns.title {
        Some(title) => format!("{title}, % of plain speed, with {}", interval(view)),
        None => format!("% of plain speed, with {}", interval(view)),
    };
    let mut notes: Vec<String> =
        [Mark::Slower, Mark::Faster, Mark::Same, Mark::Undecided, Mark::NoLoss]
            .into_iter()
            .filter(|mark| columns.rows.iter().flat_map(|r| &r.values).any(|v| v.mark == *mark))
            .map(|mark| match mark.char() {
                ' ' => format!("no mark: {}", mark.words(view.record.plan.margin())),
                c => format!("{c} {}", mark.words(view.record.plan.margin())),
            })
            .collect();
    let has_choice = columns.columns.iter().any(|c| !c.is_engine);
    if columns.columns.iter().any(|c| c.is_engine) {
        notes.push(match has_choice {
            true => "hollow: the cipher alone, not a system".to_owned(),
            false => "hollow: not a system".to_owned(),
        });
    }
    let noisy = columns.rows.iter().any(|row| row.noise.is_some());
    let arms = columns.columns.iter().map(|column| column.arm.as_str());
    let colours = hues(&view.record.plan.arms, arms).into_iter().enumerate();
    let colours: String = colours.map(|(i, hue)| format!("--c{i}:var(--{hue});")).collect();
    html! {
        figure.answer style=(colours) {
            figcaption {
                strong { (title) }
                @for (i, column) in columns.columns.iter().enumerate() {
                    span class={ "key c" (i) } {
                        i { (shape(i, column.is_engine)) }
                        @if columns.title.is_some() { (column.name) " sectors" }
                        @else if column.is_engine && column.is_floor && has_choice { "floor: " (column.name) }
                        @else { (column.name) }
                    }
                }
                @if noisy { span.key-n { "noise: plain compared with itself" } }
            }
            (axis("workload, plain speed"))
            @for i in 0..columns.rows.len() { (strip_row(columns, i)) }
            p.note { (unbroken(&notes.join(" · "))) }
            p.note { (sizes_explained(&view.record.plan.workloads)) }
        }
    }
}

fn axis(label: &str) -> Markup {
    html! {
        div.row.axis {
            div.lab { (label) }
            svg.strip aria-hidden="true" {
                @for (i, tick) in TICKS.iter().enumerate() {
                    text.first[i == 0] x=(at(*tick / 100.0)) y="13" { (format!("{tick:.0}")) }
                }
                text.p x=(at(1.0)) y="13" { "plain = 100" }
            }
            div.val {}
        }
    }
}

/// The horizontal position of a percentage of plain speed, as a percentage of the width.
fn at(ratio: f64) -> String {
    let place = (100.0 * 100.0 * ratio / END).clamp(0.0, 100.0);
    format!("{:.1}%", if place.is_finite() { place } else { 0.0 })
}

fn grid(noise: Option<f64>) -> Markup {
    let band = noise.filter(|n| n.is_finite() && *n < 1.0).map(|n| (1.0 - n, 1.0 / (1.0 - n)));
    html! {
        @if let Some((low, high)) = band {
            rect.band x=(at(low)) width=(wide(low, high)) height="100%" {}
        }
        @for tick in TICKS { line.g x1=(at(tick / 100.0)) x2=(at(tick / 100.0)) y2="100%" {} }
        line.one x1=(at(1.0)) x2=(at(1.0)) y2="100%" {}
    }
}

fn wide(low: f64, high: f64) -> String {
    let place = |ratio: f64| (100.0 * 100.0 * ratio / END).clamp(0.0, 100.0);
    format!("{:.1}%", place(high) - place(low))
}

/// A mean with its whiskers, at height `y` in percent.
fn dot(mean: Mean, y: f64, class: &str, i: usize, hollow: bool) -> Markup {
    let y = format!("{y:.0}%");
    html! {
        g class={ (class) @if hollow { " hollow" } } {
            line x1=(at(mean.low)) x2=(at(mean.high)) y1=(y) y2=(y) {}
            svg x=(at(mean.ratio)) y=(y) {
                @match i {
                    0 => circle r="4.5" {},
                    1 => path d="M0-5.8 5.8 0 0 5.8-5.8 0z" {},
                    2 => path d="M-4.3-4.3h8.6v8.6h-8.6z" {},
                    _ => path d="M0-5.6 5.4 4h-10.8z" {},
                }
            }
        }
    }
}

fn shape(i: usize, is_engine: bool) -> char {
    let shapes = if is_engine { SHAPES } else { FILLED };
    shapes[i.min(shapes.len() - 1)]
}

fn strip_row(columns: &Columns, place: usize) -> Markup {
    let row = &columns.rows[place];
    let beside = columns.before.iter().map(|column| &column.fields[place]);
    let n = columns.columns.len().max(1);
    html! {
        div.row.gap[row.begins] {
            div.lab { (row.name) @for field in beside.filter(|f| !f.is_empty()) { small { (field) } } }
            svg class={ "strip n" (n) } aria-hidden="true" {
                (grid(row.noise))
                @for (i, value) in row.values.iter().enumerate() {
                    @if let Some(mean) = value.kept {
                        (dot(mean, 100.0 * (i as f64 + 0.5) / n as f64, &format!("c{i}"), i, columns.columns[i].is_engine))
                    }
                }
            }
            div.val {
                @for (i, value) in row.values.iter().enumerate() {
                    span class={ "c" (i) } {
                        i { (shape(i, columns.columns[i].is_engine)) }
                        (words(value))
                    }
                }
            }
        }
    }
}

/// `51 ±3 ▼`
fn words(value: &Value) -> Markup {
    let parts = value.kept.map(|m| kept_spread(m.ratio, m.low, m.high, FINE_BELOW));
    html! {
        @match (value.mark, parts) {
            (Mark::Cached, _) => span.none { "cache" },
            (Mark::Compressed, _) => span.none { "packed" },
            (_, None) => span.none { (NONE) },
            (mark, Some((figure, spread))) => {
                b { (figure) } " " (spread) " "
                @if mark.char() != ' ' { em title=(mark.words(0.03)) { (mark.char()) } }
            }
        }
    }
}

/// One row for each choice.
fn of_ladder(view: &View<'_>, ladder: &Ladder<'_>) -> Markup {
    let over = count(ladder.over, "workload", "workloads");
    html! {
        figure.answer.ladder {
            figcaption {
                strong { "% of plain speed, average of " (over) ", with " (interval(view)) }
                span.key.c1 { i { "●" } "usable" }
                @if ladder.floor.is_some() {
                    span.key.f { i { "○" } @if ladder.is_floor { "floor" } @else { "not a system" } }
                }
            }
            (axis("choice"))
            @for rung in &ladder.rungs { (rung_row(rung, false)) }
            @if let Some(floor) = &ladder.floor { (rung_row(floor, true)) }
            p.note { "Same rank: no difference found. Average: geometric mean." }
        }
    }
}

fn rung_row(rung: &Rung<'_>, is_floor: bool) -> Markup {
    let family = match rung.family {
        _ if is_floor => "one core",
        Family::Volume => "one volume",
        Family::Files => "file by file",
        Family::Place => "a location",
    };
    let why = rung.unranked.map(|why| match why {
        Unranked::Cached => "not ranked: served from a cache",
        Unranked::Failed => "not ranked: failed a check of its data",
        Unranked::Undecided => "not ranked: mostly undecided",
    });
    let hollow = rung.arm.system == BUILTIN.name;
    let place = rung.place.map_or_else(String::new, |place| place.to_string());
    html! {
        div.row.gap[is_floor] {
            div.lab {
                u { (if rung.unranked.is_some() { NONE } else { &place }) }
                (rung.name)
                small { (family) @if rung.avoid { ", avoid" } }
            }
            svg.strip.n1 aria-hidden="true" {
                (grid(None))
                @match (rung.all, why) {
                    (Some(mean), _) => (dot(mean, 50.0, if hollow { "f" } else { "c1" }, 0, hollow)),
                    (None, Some(why)) => text.note x="1.5%" y="19" { (why) },
                    (None, None) => {},
                }
            }
            div.val {
                @match rung.all {
                    Some(mean) => {
                        @let (figure, spread) = kept_spread(mean.ratio, mean.low, mean.high, FINE_MEAN);
                        span { b { (figure) } " " (spread) }
                    }
                    None => span.none { (NONE) @if let Some(why) = why { span.away { " " (why) } } },
                }
            }
        }
    }
}

fn of_openings(view: &View<'_>, rows: &[OpeningRow]) -> Markup {
    html! {
        figure.answer {
            figcaption { strong { "Time to open, with " (interval(view)) } }
            table.openings {
                thead {
                    tr {
                        th scope="col" { "Volume" }
                        @for name in ["opens in", "interval", "key derivation"] {
                            th.number scope="col" { (name) }
                        }
                    }
                }
                tbody {
                    @for row in rows {
                        tr {
                            th scope="row" { (row.name) }
                            td.number { b { (row.time) } }
                            td.number { (row.interval) }
                            td.number { (row.keys.as_deref().unwrap_or(NONE)) }
                        }
                    }
                }
            }
        }
    }
}
