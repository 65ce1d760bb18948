//! The speeds in machine-readable form: JSON and CSV with the same fields.

use cryptbench_microbench::cipher::{Speed, Speeds, by_mean};
use cryptbench_view::table::csv::lines;
use serde_json::{Value, json};

/// Names of the fields, in the order of [`fields`].
const NAMES: [&str; 12] = [
    "cipher",
    "mode",
    "data_unit",
    "threads",
    "tier",
    "encrypt_mb_s",
    "decrypt_mb_s",
    "mean_mb_s",
    "encrypt_spread_percent",
    "decrypt_spread_percent",
    "mean_spread_percent",
    "buffer",
];

fn fields(row: &Speed) -> [Value; 12] {
    // Further digits are noise.
    let rounded = |x: f64| json!((x * 1000.0).round() / 1000.0);
    [
        json!(row.cipher),
        json!(row.mode()),
        json!(row.data_unit),
        json!(row.threads),
        json!(row.kernel),
        rounded(row.encrypt.mb_s),
        rounded(row.decrypt.mb_s),
        rounded(row.mean.mb_s),
        rounded(row.encrypt.spread_percent),
        rounded(row.decrypt.spread_percent),
        rounded(row.mean.spread_percent),
        json!(row.buffer),
    ]
}

/// Sorted by number of threads, then by mean rate in descending order.
fn sorted(speeds: &Speeds) -> impl Iterator<Item = &Speed> {
    let counts = super::thread_counts(speeds);
    counts.into_iter().flat_map(|count| by_mean(&speeds.rows, count))
}

/// The speeds as a list of objects.
pub fn json(speeds: &Speeds) -> String {
    let object = |row| NAMES.iter().map(|n| (*n).to_owned()).zip(fields(row)).collect();
    let list = Value::Array(sorted(speeds).map(object).map(Value::Object).collect());
    format!("{list:#}")
}

/// A header line, then one line per row. The last line has no newline.
pub fn csv(speeds: &Speeds) -> String {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let names = NAMES.iter().map(|name| (*name).to_owned()).collect();
    let rows = sorted(speeds).map(|row| fields(row).iter().map(text).collect());
    let mut out = lines(std::iter::once(names).chain(rows));
    out.pop();
    out
}
