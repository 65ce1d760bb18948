//! The first screen of the page as one chart, for a file of its own.

use cryptbench_answer::figure::{Columns, Figure, Ladder, Rung, Value};
use cryptbench_answer::quantity::{FINE_BELOW, NONE, kept_spread};
use cryptbench_catalog::BUILTIN;
use cryptbench_estimate::ranking::Mean;

use super::View;
use crate::drawing::{Drawing, Overview, OverviewRow, Shown};

/// The chart; nothing where the answer has none.
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
