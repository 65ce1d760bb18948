//! A comparison as comma-separated values (RFC 4180).

use cryptbench_foreign::Measure;
use cryptbench_foreign::compare::Comparison;

const HEAD: &str = "set,cell,pattern,operation,file_size,block_size,queue_depth,threads,name,measure,a_runs,a_mean,\
a_figure,b_runs,b_mean,b_figure,ratio,low,high,p_value,p_holm,verdict,title";

/// One line per cell that both sides have, then one line per cell that only one side has. Means are in bytes per
/// second, requests per second or microseconds.
pub fn lines(comparison: &Comparison) -> String {
    let columns = HEAD.split(',').count();
    let mut rows = vec![HEAD.split(',').map(str::to_owned).collect()];
    for c in &comparison.cells {
        let number = |v: Option<f64>| v.map_or(String::new(), |v| v.to_string());
        let whole = |v: Option<u64>| v.map_or(String::new(), |v| v.to_string());
        let measure = match c.measure {
            Measure::Bandwidth => "bandwidth",
            Measure::Iops => "iops",
            Measure::Latency => "latency",
        };
        let i = c.interval;
        let verdict = serde_json::to_value(c.verdict).ok();
        rows.push(vec![
            "both".to_owned(),
            c.name.clone(),
            c.key.pattern.clone(),
            c.key.operation.clone(),
            whole(c.key.file_size),
            whole(c.key.block_size),
            whole(c.key.queue_depth.map(Into::into)),
            whole(c.key.threads.map(Into::into)),
            c.key.name.clone().unwrap_or_default(),
            measure.to_owned(),
            c.a.runs.to_string(),
            c.a.mean.to_string(),
            number(c.a.figure),
            c.b.runs.to_string(),
            c.b.mean.to_string(),
            number(c.b.figure),
            c.ratio.to_string(),
            number(i.map(|i| i.low)),
            number(i.map(|i| i.high)),
            number(i.map(|i| i.p_value)),
            number(i.map(|i| i.p_holm)),
            verdict.as_ref().and_then(|v| v.as_str()).unwrap_or("").to_owned(),
            c.title.clone(),
        ]);
    }
    for (set, names) in [("a", &comparison.only_a), ("b", &comparison.only_b)] {
        for name in names {
            let mut row = vec![set.to_owned(), name.clone()];
            row.resize(columns, String::new());
            rows.push(row);
        }
    }
    cryptbench_view::table::csv::lines(rows)
}
