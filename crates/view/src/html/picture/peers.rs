//! The profile's compatibility estimator, with its name, next to our estimate.

use cryptbench_answer::picture::peers::{Peers, peers, words};
use cryptbench_answer::quantity::{NONE, percent, value_words};
use maud::{Markup, html};

use super::{Section, View, folded, numbers};
use crate::html::scrolling;

pub(super) fn section(view: &View<'_>) -> Option<Section> {
    let peers = peers(view.lookup)?;
    let content = html! {
            p.about {
                "For comparison with published studies: " (words(peers.estimator)) ". No verdict of this page rests \
                 on these \
                 figures."
            }
            @match peers.cellwise.is_empty() {
                true => (folded("Show the figures", &figures(&peers))),
                false => (scrolling("Mean and largest difference by choice", &cellwise(&peers))),
            }
    };
    let finding = "Without intervals, only for comparison";
    Some(Section::text("peers", "Summary as in published studies", finding, content))
}

fn cellwise(peers: &Peers<'_>) -> Markup {
    let headings = ["Choice", "Mean", "Largest"].map(str::to_owned);
    let rows: Vec<_> = peers
        .cellwise
        .iter()
        .map(|(arm, mean, most)| (arm.label.clone(), vec![percent(*mean), percent(*most)]))
        .collect();
    numbers(&headings, &rows)
}

fn figures(peers: &Peers<'_>) -> Markup {
    let labels = peers.arms.iter().map(|arm| arm.label.clone());
    let headings: Vec<String> = ["Workload".to_owned()].into_iter().chain(labels).collect();
    let rows: Vec<_> = peers
        .rows
        .iter()
        .map(|(w, values)| {
            let value = |v: &Option<f64>| v.map_or_else(|| NONE.to_owned(), |v| value_words(w, v));
            (w.label.clone(), values.iter().map(value).collect())
        })
        .collect();
    numbers(&headings, &rows)
}
