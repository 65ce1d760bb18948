//! The profile's compatibility estimator, with its name, next to our estimate.

use cryptbench_answer::picture::peers::{Peers, words};
use cryptbench_answer::quantity::{NONE, percent, value_words};

use super::layout::{add, clean, empty, fitted, heading};
use super::wrap;

/// The figures. For more than `most` workloads, only a note that the page contains them.
pub(super) fn table(peers: &Peers<'_>, most: usize, width: usize) -> String {
    if peers.rows.len() > most {
        let words = format!(
            "The HTML report also has {} for each workload, as summarised in published studies; not used for any verdict.",
            words(peers.estimator)
        );
        return wrap(&words, "", "  ", width);
    }
    let title = format!(
        "Summarised as in published studies, {}; for comparison with them, not used for any verdict:",
        words(peers.estimator)
    );
    let body = match peers.cellwise.is_empty() {
        true => figures(peers, width),
        false => cellwise(peers, width),
    };
    format!("{}\n{body}", wrap(&title, "", "  ", width))
}

fn cellwise(peers: &Peers<'_>, width: usize) -> String {
    let mut table = empty(["", "mean", "largest"].map(str::to_owned).into());
    for (arm, mean, most) in &peers.cellwise {
        add(&mut table, vec![clean(&arm.label), percent(*mean), percent(*most)]);
    }
    fitted(table, width)
}

fn figures(peers: &Peers<'_>, width: usize) -> String {
    let labels = peers.arms.iter().map(|arm| heading(&clean(&arm.label)));
    let mut table = empty(["workload".to_owned()].into_iter().chain(labels).collect());
    for (workload, values) in &peers.rows {
        let value = |v: &Option<f64>| {
            v.map_or_else(|| NONE.to_owned(), |value| value_words(workload, value))
        };
        let row = [clean(&workload.label)].into_iter().chain(values.iter().map(value));
        add(&mut table, row.collect());
    }
    fitted(table, width)
}
