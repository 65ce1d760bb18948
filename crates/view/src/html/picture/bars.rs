//! Two-sided bars per block size, with one chart for each arm and plain storage.

use cryptbench_answer::picture::bars;
use cryptbench_answer::picture::bars::Row;
use cryptbench_answer::quantity::{NONE, binary_bytes, digits};
use cryptbench_answer::reading::Reading;
use maud::{Markup, html};

use super::{Figure, Part, Picture, View, folded, kept, numbers};
use crate::drawing::{Block, Side, TwoSided, arm_role};

pub(super) fn picture(view: &View<'_>) -> Option<Picture> {
    let found = bars::bars(view.lookup);
    let mut charts = Vec::new();
    for chart in &found {
        let of = if chart.title.is_empty() { String::new() } else { format!(", {}", chart.title) };
        // Without an arm to compare, only plain storage is drawn.
        for arm in if chart.arms.len() > 1 { 1..chart.arms.len() } else { 0..1 } {
            let label = &chart.arms[arm].label;
            let caption = match arm {
                0 => format!("{label}{of}"),
                _ => format!("{label} below plain{of}"),
            };
            let drawn = TwoSided {
                title: format!("Speed by block size, {label}{of}"),
                blocks: chart.rows.iter().map(|row| block(row, arm, chart.most)).collect(),
                roles: [0, arm].map(|i| arm_role(view.arms(), chart.arms[i])),
            };
            charts.push(Figure { caption, drawing: drawn.draw() });
        }
    }
    Some(Picture {
        heading: "Speed by block size".to_owned(),
        about: html! {
            "Median of the trials in MB/s: writes to the left, reads to the right, plain above each choice. The \
             whiskers are the 95 % interval of the percentage of plain, relative to plain's median. All charts of one \
            kind have the same scale."
        },
        left_out: found.first()?.left_out,
        table: html! { @for chart in &found { (table(chart)) } },
        charts: vec![Part::Charts(charts)],
    })
}

fn block(row: &Row, arm: usize, most: f64) -> Block {
    let side = |reading: &Option<Reading>, plain: &Option<Reading>| {
        reading.map_or_else(Side::default, |r| Side {
            share: r.bandwidth / most,
            text: digits(r.bandwidth / 1e6),
            interval: r.interval.zip(*plain).map(|((low, high), plain)| {
                [low, high].map(|times| times * plain.bandwidth / most)
            }),
        })
    };
    let sides = |i: usize| [0, 1].map(|way| side(&row.arms[i][way], &row.arms[0][way]));
    let below = if arm == 0 { [Side::default(), Side::default()] } else { sides(arm) };
    Block { label: binary_bytes(row.block_size), bars: [sides(0), below] }
}

fn table(chart: &bars::TwoSided<'_>) -> Markup {
    let mut headings = vec!["Block".to_owned()];
    for (i, arm) in chart.arms.iter().enumerate() {
        for side in ["write", "read"] {
            headings.push(format!("{} {side}", arm.label));
            if i > 0 {
                headings.push("% of plain".to_owned());
            }
        }
    }
    let fields = |row: &Row| {
        let mut fields = Vec::new();
        for (i, sides) in row.arms.iter().enumerate() {
            for side in sides {
                fields.push(side.map_or_else(|| NONE.to_owned(), |r| digits(r.bandwidth / 1e6)));
                if i > 0 {
                    fields.push(kept(side.as_ref()));
                }
            }
        }
        fields
    };
    let rows: Vec<_> =
        chart.rows.iter().map(|row| (binary_bytes(row.block_size), fields(row))).collect();
    let of = if chart.title.is_empty() { String::new() } else { format!(" ({})", chart.title) };
    folded(&format!("MB/s by block size as a table{of}"), &numbers(&headings, &rows))
}
