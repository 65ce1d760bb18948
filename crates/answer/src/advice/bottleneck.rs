//! Whether the device, the software path or the cipher limits large and small requests.

use cryptbench_estimate::chain::{Chain, Row, chains, cipher_share};
use cryptbench_estimate::class::{LARGE, SMALL};
use cryptbench_estimate::lookup::Lookup;

use crate::quantity::percent_digits;

/// For the fastest arm, one sentence each about large and small requests, based on the workload with the most
/// requests in flight.
pub(super) fn bottleneck(lookup: &Lookup<'_>) -> Vec<String> {
    let chains = chains(lookup);
    let most = chains.iter().max_by(|a, b| a.mean_kept().total_cmp(&b.mean_kept()));
    let Some(chain) = most else { return Vec::new() };
    let busiest = |wanted: &dyn Fn(u64) -> bool| {
        let rows = chain.rows.iter();
        rows.filter(|r| r.workload.is_of_requests() && wanted(r.workload.block_size))
            .max_by_key(|r| r.workload.in_flight())
    };
    let rows = [busiest(&|bytes| bytes >= LARGE), busiest(&|bytes| bytes <= SMALL)];
    rows.into_iter().flatten().filter_map(|row| words(chain, row)).collect()
}

/// Splits the time of an encrypted request into plain storage, the path and the cipher.
fn words(chain: &Chain<'_>, row: &Row<'_>) -> Option<String> {
    let [layer, whole] = [0, 1].map(|i| &row.speed.levels[i]);
    // Times are inverse speeds: relative to plain's, exp(-mean).
    let (with_layer, all) = ((-layer.mean).exp(), (-whole.mean).exp());
    let device = 100.0 / all;
    let [layer_part, cipher_part] =
        [(with_layer - 1.0) / all, (all - with_layer) / all].map(|p| 100.0 * p);
    // Noise can make a part's time negative; the part's share is then unknown.
    if layer_part < -1.0 || cipher_part < -1.0 {
        return None;
    }
    let largest = device.max(layer_part).max(cipher_part);
    let what = match () {
        () if largest == device => "the device",
        () if largest == layer_part => "the software path",
        () => "the cipher",
    };
    let [low, high] = [whole.low, whole.high].map(|log| percent_digits(100.0 * log.exp()));
    let rest = match cipher_share(row) {
        Some(_) => format!(
            "{} % in the path and {} % in the cipher",
            percent_digits(layer_part.max(0.0)),
            percent_digits(cipher_part.max(0.0))
        ),
        None => "the rest in path and cipher".to_owned(),
    };
    Some(format!(
        "{} is limited by {what}: a request under {} spends {} % [{low}, {high}] of its time in plain storage, {rest}.",
        row.workload.label,
        chain.arm.label,
        percent_digits(device),
    ))
}
