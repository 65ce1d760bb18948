//! Figures of a record with their intervals, as needed for conclusions.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use cryptbench_catalog::{DeviceKind, DeviceModel};
use cryptbench_record::{
    Arm, ArmRole, Cell, Pattern, Record, Trial, Workload, log_ratios, trials_of,
};
use cryptbench_stats::estimate;

use super::{Part, Told};
use crate::cpu::Usage;

/// Confidence of each interval.
const CONFIDENCE: f64 = 0.95;

/// A mean with the half-width of its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Figure {
    pub(super) mean: f64,
    pub(super) half_width: f64,
}

impl Figure {
    /// The mean of pairs; `None` for fewer than three.
    pub(super) fn of(pairs: &[f64]) -> Option<Self> {
        estimate(pairs, CONFIDENCE).map(|e| Self { mean: e.mean, half_width: e.half_width })
    }

    /// The mean of several figures. They come from separate trials, so the squares of their errors add up.
    pub(super) fn mean_of(all: &[Self]) -> Option<Self> {
        let n = all.len() as f64;
        (!all.is_empty()).then(|| Self {
            mean: all.iter().map(|f| f.mean).sum::<f64>() / n,
            half_width: all.iter().map(|f| f.half_width.powi(2)).sum::<f64>().sqrt() / n,
        })
    }

    pub(super) fn minus(self, other: Self) -> Self {
        let half_width = self.half_width.hypot(other.half_width);
        Self { mean: self.mean - other.mean, half_width }
    }

    fn ends(self) -> (f64, f64) {
        (self.mean - self.half_width, self.mean + self.half_width)
    }

    /// Whether the figure is in `range`, as far as its interval allows a conclusion.
    pub(super) fn lies_in(self, range: &Range<f64>) -> Told {
        let (low, high) = self.ends();
        if range.start <= low && high <= range.end {
            Told::Holds
        } else if high < range.start || low > range.end {
            Told::DoesNotHold
        } else {
            Told::CannotBeTold
        }
    }

    /// `12 % (11 to 13)`: the loss, from the ln of a fraction of plain speed.
    pub(super) fn as_loss(self) -> String {
        let lost = |ln: f64| rounded(100.0 * (1.0 - ln.exp()));
        let (low, high) = self.ends();
        format!("{} % lost ({} to {})", lost(self.mean), lost(high), lost(low))
    }

    /// `1.25 times (1.2 to 1.3)`, from the ln of a ratio.
    pub(super) fn as_times(self) -> String {
        let (low, high) = self.ends();
        let times = |ln: f64| format!("{:.2}", ln.exp());
        format!("{} times ({} to {})", times(self.mean), times(low), times(high))
    }

    /// `3.1 points (2.9 to 3.3)`.
    pub(super) fn as_points(self) -> String {
        let (low, high) = self.ends();
        format!("{} points ({} to {})", rounded(self.mean), rounded(low), rounded(high))
    }
}

fn rounded(value: f64) -> String {
    // Zero is printed without a sign.
    let digits = if value.abs() < 9.95 { 1 } else { 0 };
    format!("{:.digits$}", value + 0.0).replace("-0.0", "0.0")
}

/// The ln of the remaining fraction for a stated loss of `low` to `high` percent.
pub(super) fn kept(low: f64, high: f64) -> Range<f64> {
    (1.0 - high / 100.0).ln()..(1.0 - low / 100.0).ln()
}

/// The kind of a device, as distinguished by the studies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Device {
    Flash,
    Ssd,
    Sshd,
    Hdd,
}

/// A record, and the figures that conclusions need.
pub(super) struct View<'a> {
    pub(super) record: &'a Record,
    plain: Option<&'a Arm>,
    /// The trials by workload, because a record may have tens of thousands of trials.
    trials: HashMap<&'a str, Vec<&'a Trial>>,
    /// Workloads and arms that were served from a cache.
    cached: HashSet<(&'a str, &'a str)>,
}

impl<'a> View<'a> {
    pub(super) fn of(record: &'a Record, cells: &'a [Cell]) -> Self {
        let mut trials: HashMap<&str, Vec<&Trial>> = HashMap::new();
        for trial in &record.trials {
            trials.entry(&trial.workload).or_default().push(trial);
        }
        let cached =
            cells.iter().filter(|c| c.cached).map(|c| (&c.workload[..], &c.arm[..])).collect();
        let plain = record.plan.arms.iter().find(|a| a.role == ArmRole::Plain);
        Self { record, plain, trials, cached }
    }

    fn of_workload(&self, workload: &Workload) -> impl Iterator<Item = &'a Trial> + Clone {
        self.trials.get(&workload.id[..]).map_or(&[][..], Vec::as_slice).iter().copied()
    }

    fn trials_of(&self, workload: &Workload, arm: &Arm) -> Vec<(u32, &'a Trial)> {
        trials_of(self.of_workload(workload), &workload.id, &arm.id)
    }

    /// The encrypted arms.
    pub(super) fn systems(&self) -> impl Iterator<Item = &'a Arm> + use<'a> {
        self.record.plan.arms.iter().filter(|a| a.role == ArmRole::Encrypted)
    }

    /// The kind of the device, if the studies had such a device. Virtual disks often report that they are rotational,
    /// so the disks of a virtual machine have no kind here.
    pub(super) fn device(&self) -> Option<Device> {
        let target = &self.record.target;
        let kind = match (&target.emulated, &target.device_kind) {
            (Some(emulated), _) => Some(DeviceModel::of(&emulated.model)?.kind()),
            (None, Some(found)) => Some(found.known()?),
            (None, None) => None,
        };
        if let Some(kind) = kind {
            return match kind {
                DeviceKind::UsbStick => Some(Device::Flash),
                DeviceKind::SataSsd | DeviceKind::Nvme | DeviceKind::Ssd => Some(Device::Ssd),
                DeviceKind::Hybrid => Some(Device::Sshd),
                DeviceKind::HardDisk => Some(Device::Hdd),
                DeviceKind::MemoryCard | DeviceKind::Soldered | DeviceKind::Virtual => None,
            };
        }
        // Records from earlier versions contain only the kernel's statement.
        let device = target.device.as_ref()?;
        match (device.rotational, &self.record.machine.virtualisation) {
            (true, Some(_)) => None,
            (true, None) => Some(Device::Hdd),
            (false, _) => Some(Device::Ssd),
        }
    }

    pub(super) fn workloads(
        &self,
        which: impl Fn(&Workload) -> bool,
    ) -> impl Iterator<Item = &'a Workload> {
        self.record.plan.workloads.iter().filter(move |w| which(w))
    }

    /// ln of the speed ratio of `arm` to `base` in one workload; `None` if it was served from a cache.
    pub(super) fn against(&self, workload: &Workload, arm: &Arm, base: &Arm) -> Option<Figure> {
        let base = match base.role {
            ArmRole::Plain => self.record.plan.baseline(arm),
            _ => vec![base.id.as_str()],
        };
        let cached = |arm: &str| self.cached.contains(&(&workload.id[..], arm));
        if cached(&arm.id) || base.iter().any(|arm| cached(arm)) {
            return None;
        }
        Figure::of(&log_ratios(self.of_workload(workload), &workload.id, &arm.id, &base))
    }

    /// ln of the fraction of plain speed that `arm` reaches, over all workloads of a kind.
    pub(super) fn kept(&self, arm: &Arm, which: impl Fn(&Workload) -> bool) -> Option<Figure> {
        let all: Vec<Figure> =
            self.workloads(which).filter_map(|w| self.against(w, arm, self.plain?)).collect();
        Figure::mean_of(&all)
    }

    /// One part for each encrypted arm that has a `figure`.
    pub(super) fn each(
        &self,
        range: &Range<f64>,
        words: impl Fn(Figure) -> String,
        figure: impl Fn(&Arm) -> Option<Figure>,
    ) -> Vec<Part> {
        let part = |arm: &Arm| figure(arm).map(|f| part(&arm.label, f, range, &words));
        self.systems().filter_map(part).collect()
    }

    /// The increase of CPU usage by `arm` over plain storage, as a percentage of all CPUs, block by block.
    pub(super) fn more_cpu(&self, arm: &Arm, which: impl Fn(&Workload) -> bool) -> Option<Figure> {
        let usage = Usage::of(self.record);
        let plain = self.plain?;
        let one = |w: &Workload| {
            Figure::of(&usage.more(&self.trials_of(w, arm), &self.trials_of(w, plain)))
        };
        Figure::mean_of(&self.workloads(which).filter_map(one).collect::<Vec<_>>())
    }

    /// Mean difference between trials of plain storage, as a percentage of the larger value.
    pub(super) fn between_series(&self) -> Option<f64> {
        let plain = self.plain?;
        let mut all = Vec::new();
        for w in &self.record.plan.workloads {
            let speeds: Vec<f64> =
                self.trials_of(w, plain).iter().map(|(_, t)| t.bandwidth()).collect();
            for (i, a) in speeds.iter().enumerate() {
                all.extend(speeds[i + 1..].iter().map(|b| 100.0 * (a - b).abs() / a.max(*b)));
            }
        }
        crate::trimmed_mean(&all, 0)
    }

    /// The fastest mean speed of plain storage in bytes per second.
    pub(super) fn fastest_plain(&self) -> Option<f64> {
        let plain = self.plain?;
        let mean = |w: &Workload| {
            let trials = self.trials_of(w, plain);
            crate::trimmed_mean(&trials.iter().map(|(_, t)| t.bandwidth()).collect::<Vec<_>>(), 0)
        };
        self.workloads(|w| w.pattern == Pattern::Sequential).filter_map(mean).reduce(f64::max)
    }
}

pub(super) fn part(
    of: &str,
    figure: Figure,
    range: &Range<f64>,
    words: impl Fn(Figure) -> String,
) -> Part {
    Part { of: of.to_owned(), told: figure.lies_in(range), figure: words(figure) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_tells_only_what_it_lies_wholly_in_or_out_of() {
        let figure = |mean, half_width| Figure { mean, half_width };
        let range = kept(37.0, 43.0);
        assert_eq!(figure(0.6_f64.ln(), 0.02).lies_in(&range), Told::Holds);
        assert_eq!(figure(0.6_f64.ln(), 0.2).lies_in(&range), Told::CannotBeTold);
        assert_eq!(figure(0.9_f64.ln(), 0.02).lies_in(&range), Told::DoesNotHold);
        assert_eq!(figure(0.5_f64.ln(), 0.0).as_loss(), "50 % lost (50 to 50)");
        let less = figure(-1.0, 0.3).minus(figure(-0.5, 0.4));
        assert!((less.mean + 0.5).abs() < 1e-12 && (less.half_width - 0.5).abs() < 1e-12);
    }
}
