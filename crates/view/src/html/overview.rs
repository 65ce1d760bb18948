//! The first screen of the page as a chart for a separate file.

use std::collections::BTreeSet;

use cryptbench_answer::Report;
use cryptbench_answer::figure::{Columns, Figure, Ladder, Rung, Value};
use cryptbench_answer::names::Gathered;
use cryptbench_answer::quantity::{FINE_BELOW, NONE, kept_spread};
use cryptbench_catalog::BUILTIN;
use cryptbench_estimate::ranking::{Mean, Ranking, ranking};
use cryptbench_record::Arm;

use super::View;
use crate::drawing::{Drawing, Overview, OverviewRow, Shown};

/// The chart; `None` if the answer has no chart.
pub(super) fn drawing(view: &View<'_>) -> Option<Drawing> {
    let answer = &view.report.answer;
    let title = answer.headline.first()?.trim_end_matches('.').to_owned();
    let chart = match &answer.figure {
        Figure::Columns(columns) => of_columns(title, columns),
        Figure::Ladder(ladder) => of_ladder(title, ladder),
        Figure::Openings(_) | Figure::Nothing => return None,
    };
    Some(chart.draw())
}

/// The chart of several runs, such as those of a study. Systems are rows; a mark shows a system's share of
/// plain speed over the workloads of one run. `None` if no system is ranked.
pub(crate) fn of_runs(reports: &[Report<'_>]) -> Option<Drawing> {
    let names = Gathered::names(reports.iter().map(|report| &report.record.plan));
    let rankings: Vec<_> = reports.iter().map(|report| ranking(&report.lookup)).collect();
    let arms: Vec<&Arm> =
        rankings.iter().flatten().flat_map(|of| &of.rows).map(|row| row.arm).collect();
    let mut seen = BTreeSet::new();
    let rows: Vec<OverviewRow> = (arms.into_iter().filter(|arm| seen.insert(&arm.id)))
        .map(|arm| OverviewRow {
            name: names.arm(arm).to_owned(),
            beside: String::new(),
            noise: None,
            values: rankings.iter().map(|of| shown(mean_of(of.as_ref(), &arm.id))).collect(),
        })
        .collect();
    let series = reports.iter().map(|report| (report.record.plan.profile.clone(), false));
    let title = "% of plain speed, averaged over the workloads of each run".to_owned();
    let chart = Overview { title, series: series.collect(), rows };
    (!chart.rows.is_empty()).then(|| chart.draw())
}

fn mean_of(ranking: Option<&Ranking<'_>>, arm: &str) -> Option<Mean> {
    ranking?.rows.iter().find(|row| row.arm.id == arm).map(|row| row.all)
}

fn of_columns(title: String, columns: &Columns) -> Overview {
    let series = columns.columns.iter().map(|column| {
        let name = match &columns.title {
            Some(title) => format!("{title}, {}", column.name),
            None => column.name.clone(),
        };
        (name, column.is_engine)
    });
    let rows = columns.rows.iter().enumerate().map(|(i, row)| OverviewRow {
        name: row.name.clone(),
        beside: columns.before.first().map_or_else(String::new, |column| column.fields[i].clone()),
        noise: row.noise,
        values: row.values.iter().map(value).collect(),
    });
    Overview { title, series: series.collect(), rows: rows.collect() }
}

fn value(value: &Value) -> Shown {
    let shown = shown(value.kept);
    Shown { words: format!("{} {}", shown.words, value.mark.char()).trim_end().to_owned(), ..shown }
}

fn shown(mean: Option<Mean>) -> Shown {
    let Some(mean) = mean else { return Shown { at: None, words: NONE.to_owned() } };
    let (figure, spread) = kept_spread(mean.ratio, mean.low, mean.high, FINE_BELOW);
    Shown { at: Some([mean.ratio, mean.low, mean.high]), words: format!("{figure} {spread}") }
}

fn of_ladder(title: String, ladder: &Ladder<'_>) -> Overview {
    let row = |rung: &Rung<'_>| OverviewRow {
        name: rung.name.clone(),
        beside: match rung.place {
            Some(place) => format!("place {place}"),
            None if rung.arm.system == BUILTIN.name => "not a system".to_owned(),
            None => "not ranked".to_owned(),
        },
        noise: None,
        values: vec![shown(rung.all)],
    };
    let series = format!("average of {} workloads", ladder.over);
    let rows = ladder.rungs.iter().chain(&ladder.floor).map(row).collect();
    Overview { title, series: vec![(series, false)], rows }
}
