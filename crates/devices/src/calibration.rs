//! Compares a model with published numbers: the error at each point, the median error and the largest error.

use crate::model::{MIB, Model};
use crate::published::Point;
use crate::request::Operation;
use crate::sweep::seconds_per_request;

/// A model's rate next to the published rate.
#[derive(Clone, Debug)]
pub struct Beside {
    /// The published number.
    pub point: Point,
    /// The model's rate in MiB per second.
    pub model_mib_s: f64,
}

impl Beside {
    /// Relative error of the model's rate: 0.1 means that the model is 10 % too fast.
    pub fn error(&self) -> f64 {
        self.model_mib_s / self.point.mib_s - 1.0
    }
}

/// How well a model fits points of one kind.
#[derive(Clone, Copy, Debug)]
pub struct Misfit {
    /// Number of points.
    pub points: usize,
    /// Median of the absolute relative errors.
    pub median: f64,
    /// The largest relative error, with its sign.
    pub worst: f64,
    /// The request size with the largest error, in bytes.
    pub worst_bytes: u64,
}

/// Runs the model at each of the points, which takes milliseconds.
pub fn beside(model: &Model, points: &[Point]) -> Vec<Beside> {
    let rate =
        |point: &Point| point.load.bytes as f64 / MIB / seconds_per_request(model, &point.load);
    points.iter().map(|p| Beside { point: p.clone(), model_mib_s: rate(p) }).collect()
}

/// The misfit over the points of one operation or of both operations; `None` if there are no points.
pub fn misfit(points: &[Beside], operation: Option<Operation>) -> Option<Misfit> {
    let of = |b: &&Beside| operation.is_none_or(|wanted| b.point.load.operation == wanted);
    let mut chosen: Vec<&Beside> = points.iter().filter(of).collect();
    chosen.sort_by(|a, b| a.error().abs().total_cmp(&b.error().abs()));
    let worst = chosen.last()?;
    let middle = |at: usize| chosen[at].error().abs();
    let half = chosen.len() / 2;
    let median = match chosen.len() % 2 {
        0 => (middle(half - 1) + middle(half)) / 2.0,
        _ => middle(half),
    };
    Some(Misfit {
        points: chosen.len(),
        median,
        worst: worst.error(),
        worst_bytes: worst.point.load.bytes,
    })
}

/// The published series with which each built-in model is compared: model, study, device, and whether the model was
/// fitted to this series.
pub const HELD_AGAINST: &[(&str, char, &str, bool)] = &[
    ("hdd-7200", 'A', "hdd", true),
    ("sata-ssd", 'A', "ssd", true),
    ("usb-flash", 'A', "flash", true),
    ("hdd-laptop", 'D', "hdd", true),
    ("sshd", 'D', "sshd", true),
    ("sata-mlc", 'D', "ssd", true),
    ("hdd-7200", 'D', "hdd", false),
    ("sata-ssd", 'D', "ssd", false),
];
