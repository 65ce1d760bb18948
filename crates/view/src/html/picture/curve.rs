//! Speed over the surface of a disk, with one chart for each arm and plain storage, and the figures as a table.

use cryptbench_answer::picture::curve;
use cryptbench_answer::picture::curve::ArmCurve;
use maud::html;

use super::{Figure, Part, Picture, View, numbers};
use crate::drawing::{Surface, Trace, arm_role};
use crate::html::scrolling;

pub(super) fn picture(view: &View<'_>) -> Option<Picture> {
    let curve = curve::curve(view.lookup)?;
    let trace = |arm: &ArmCurve<'_>| Trace {
        label: arm.arm.label.clone(),
        points: arm.points.iter().map(|(at, v)| (*at as f64, v / 1e6)).collect(),
        between: arm.between.iter().map(|(at, ends)| (*at as f64, ends.map(|v| v / 1e6))).collect(),
        dots: arm.dots.iter().map(|(at, us)| (*at as f64, *us)).collect(),
        role: arm_role(view.arms(), arm.arm),
    };
    let chart = |i: usize| {
        let label = &curve.arms[i].arm.label;
        let traces = match i {
            0 => vec![trace(&curve.arms[0])],
            _ => vec![trace(&curve.arms[0]), trace(&curve.arms[i])],
        };
        let caption = if i == 0 { label.clone() } else { format!("{label} over plain (grey)") };
        let drawn = Surface {
            title: format!("Speed over the surface, {label}"),
            traces,
            extent: curve.extent.max(1) as f64,
            fastest: curve.fastest / 1e6,
            slowest_us: curve.slowest_us,
        };
        Figure { caption, drawing: drawn.draw() }
    };
    let first = usize::from(curve.arms.len() > 1);
    let charts = (first..curve.arms.len()).map(chart).collect();
    let headings =
        [String::new()].into_iter().chain(curve.arms.iter().map(|a| a.arm.label.clone()));
    let headings: Vec<String> = headings.collect();
    let table = numbers(&headings, &curve.figures);
    Some(Picture {
        heading: "Speed over the surface".to_owned(),
        about: html! {
            "MB/s at each position on the surface, median of the trials; vertical lines extend from the slowest to \
             the fastest trial"
            @if let Some(access) = curve.access.filter(|_| curve.slowest_us > 0.0) {
                "; the dots are the times of individual requests (" (access.label) "), on the right-hand scale"
            }
            ". All charts have the same scale. In the table, c marks results served from a cache."
        },
        left_out: curve.left_out,
        charts: vec![Part::Charts(charts)],
        table: scrolling("Transfer rate, access time, burst rate and CPU usage", &table),
    })
}
