//! Speed over the surface, one chart per arm beside plain, and the figures as a table.

use maud::{Markup, html};

use super::{Picture, View, multiples, numbers};
use crate::format::html::chart::{Line, Surface};
use crate::format::html::palette::arm_colour;
use crate::format::html::scrolling;
use crate::presentation::curve::{self, ArmCurve};

pub(super) fn picture(view: &View<'_>) -> Option<Picture> {
    let curve = curve::curve(&view.lookup)?;
    let line = |arm: &ArmCurve<'_>| Line {
        label: arm.arm.label.clone(),
        points: arm.points.iter().map(|(at, v)| (*at as f64, v / 1e6)).collect(),
        dots: arm.dots.iter().map(|(at, us)| (*at as f64, *us)).collect(),
        colour: arm_colour(view.arms(), arm.arm),
    };
    let chart = |i: usize| -> (String, Markup) {
        let label = &curve.arms[i].arm.label;
        let lines = match i {
            0 => vec![line(&curve.arms[0])],
            _ => vec![line(&curve.arms[0]), line(&curve.arms[i])],
        };
        let caption = if i == 0 { label.clone() } else { format!("{label} over plain (grey)") };
        let drawn = Surface {
            id: format!("surface-{i}"),
            title: format!("Speed over the surface, {label}"),
            lines,
            extent: curve.extent.max(1) as f64,
            fastest: curve.fastest / 1e6,
            slowest_us: curve.slowest_us,
        };
        (caption, drawn.draw())
    };
    let first = usize::from(curve.arms.len() > 1);
    let charts: Vec<(String, Markup)> = (first..curve.arms.len()).map(chart).collect();
    let headings =
        [String::new()].into_iter().chain(curve.arms.iter().map(|a| a.arm.label.clone()));
    let headings: Vec<String> = headings.collect();
    let table = numbers(&headings, &curve.figures);
    Some(Picture {
        heading: "Speed over the surface".to_owned(),
        about: html! {
            "MB/s at each place of the surface, median of the trials"
            @if let Some(access) = curve.access.filter(|_| curve.slowest_us > 0.0) {
                "; the dots are the times of single requests (" (access.label) "), on the right-hand scale"
            }
            ". All charts have one scale. In the table, c marks what a cache answered."
        },
        left_out: curve.left_out,
        charts: multiples(&charts),
        table: scrolling("Transfer rate, access time, burst rate and CPU usage", &table),
    })
}
