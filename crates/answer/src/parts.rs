//! Whether a system's path or its cipher costs more, if the system's pass-through was measured.

use cryptbench_estimate::arms::plain_arm;
use cryptbench_estimate::chain::null_layer;
use cryptbench_estimate::lookup::{geometric_mean, mean};
use cryptbench_estimate::ranking::{is_most, is_mostly_decided, judged, mean_kept, quadrature};
use cryptbench_record::{Arm, Trial, Workload};
use cryptbench_stats::half_width;

use crate::answer::View;
use crate::headline::of_workloads;
use crate::quantity::percent_digits;

/// `The path of gocryptfs costs more than its cipher: ...`; `None` if neither is proven to cost more over the workloads
/// in which both were measured.
pub(crate) fn costlier(view: &View<'_, '_>, arm: &Arm) -> Option<String> {
    let lookup = view.lookup;
    let layer = null_layer(lookup, arm)?;
    let over: Vec<&Workload> = lookup
        .workloads()
        .iter()
        .filter(|w| judged(lookup, w, arm) && judged(lookup, w, layer))
        .collect();
    // A mean over only a few workloads, or over undecided figures, is not representative.
    let is_told = |arm: &Arm| is_mostly_decided(lookup, arm);
    if !is_most(&over, lookup) || !is_told(arm) || !is_told(layer) {
        return None;
    }
    // Without a loss, there is no cost to attribute to the path or the cipher.
    mean_kept(lookup, arm, &over).filter(|kept| kept.high < 1.0)?;
    let plain = plain_arm(lookup.record)?;
    let arms = [vec![plain.id.as_str()], vec![layer.id.as_str()], vec![arm.id.as_str()]];
    let arms: Vec<&[&str]> = arms.iter().map(Vec::as_slice).collect();
    let (means, widths): (Vec<f64>, Vec<f64>) = over
        .iter()
        .map(|w| {
            let rates = lookup.trials.matched(&w.id, &arms, Trial::iops, geometric_mean);
            let [plain, layer, whole] = &rates[..] else { return None };
            // The cost of the path beyond the cipher, in log units of speed.
            let beyond: Vec<f64> = plain
                .iter()
                .zip(layer)
                .zip(whole)
                .map(|((plain, layer), whole)| (plain / layer).ln() - (layer / whole).ln())
                .collect();
            Some((mean(&beyond), half_width(&beyond, lookup.record.plan.confidence)?))
        })
        .collect::<Option<Vec<_>>>()?
        .into_iter()
        .unzip();
    let (beyond, spread) = (mean(&means), quadrature(widths.into_iter(), means.len()));
    let (more, less) = match () {
        () if beyond > spread => ("path", "cipher"),
        () if -beyond > spread => ("cipher", "path"),
        () => return None,
    };
    let without = percent_digits(100.0 * mean_kept(lookup, layer, &over)?.ratio);
    let name = view.names.arm(arm);
    let of = of_workloads(over.len(), lookup.workloads().len());
    Some(format!(
        "The {more} of {name} costs more than its {less}: without the cipher it runs at {without} %{of}."
    ))
}
