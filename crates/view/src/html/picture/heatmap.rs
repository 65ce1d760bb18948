//! Heat maps of the percent difference from plain, one per operation, with a table for each arm.

use cryptbench_answer::picture::heatmap;
use cryptbench_answer::picture::heatmap::{ArmMaps, Map};
use cryptbench_answer::quantity::{percent_digits, short_bytes};
use maud::{Markup, html};

use super::{Figure, Part, Picture, View, folded};
use crate::drawing::{Role, SHADES, heat, heat_number};

pub(super) fn picture(view: &View<'_>) -> Option<Picture> {
    let found = heatmap::heatmap(view.lookup)?;
    Some(Picture {
        heading: "Difference from plain by file and record size".to_owned(),
        about: html! {
            "Speed difference as a percentage of plain speed; negative values are slower. Rows are file sizes, columns \
             are record sizes. In the tables, ▼ and ▲ mark verdicts and c marks results served from a cache. "
            (legend())
        },
        left_out: found.left_out,
        charts: found.arms.iter().flat_map(of_arm).collect(),
        table: html! {},
    })
}

/// The shades and their meaning.
fn legend() -> Markup {
    html! {
        @for (i, (_, words)) in SHADES.iter().enumerate() {
            @let colour = Role::Shade(i).name();
            span.nobreak {
                span.shade style={ "background:var(--" (colour) ")" } aria-hidden="true" {} " " (words)
            }
            " "
        }
    }
}

fn of_arm(arm: &ArmMaps<'_>) -> [Part; 3] {
    let map = |map: &Map| {
        let title = format!("{}, {}", map.operation, arm.arm.label);
        Figure { caption: caption(map), drawing: heat(&title, map) }
    };
    let tables = html! { @for map in &arm.maps { (table(map)) } };
    [
        Part::Text(html! { h3 { (arm.arm.label) } }),
        Part::Charts(arm.maps.iter().map(map).collect()),
        Part::Text(folded(&format!("{} as tables", arm.arm.label), &tables)),
    ]
}

fn caption(map: &Map) -> String {
    let range = map.range().map_or_else(String::new, |[least, mean, most]| {
        let [least, mean, most] = [least, mean, most].map(percent_digits);
        format!(": {mean} on average, {least} to {most}")
    });
    let common = map.common_words().map_or_else(String::new, |words| format!("; {words}"));
    format!("{}{range}{common}", map.operation)
}

fn table(map: &Map) -> Markup {
    html! {
        table.numbers.dense {
            caption { (caption(map)) }
            tr { th { "file" } @for size in &map.records { th.number { (short_bytes(*size)) } } }
            @for (i, file) in map.files.iter().enumerate() {
                tr {
                    th { (short_bytes(*file)) }
                    @for cell in map.row(i) {
                        td {
                            @if let Some(d) = cell {
                                (heat_number(d.percent))
                                @if let Some(mark) = d.mark.filter(|m| m.is_telling()) { (mark.char()) }
                            }
                        }
                    }
                }
            }
        }
    }
}
