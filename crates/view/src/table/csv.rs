//! Comma-separated values (RFC 4180, but with line feeds only): a header row, then one row per trial or cell.
//!
//! Numbers are written at full precision with a decimal point; unknown values are empty.

use cryptbench_answer::Report;

use super::tidy::{Rows, Value, table};

/// A table of the record as text with a newline at the end.
pub fn render(report: &Report<'_>, rows: Rows) -> String {
    let table = table(report.stored, &report.lookup.cells, rows);
    let header = table.columns.iter().map(|(name, _)| (*name).to_owned()).collect();
    let rows = table.rows.iter().map(|row| row.iter().map(field).collect());
    lines(std::iter::once(header).chain(rows))
}

/// Converts rows of fields to text, with a newline at the end of each row. Text that a spreadsheet would treat
/// as a formula is prefixed with `'`, because device names and models may be untrusted.
///
/// # Panics
/// Never, because writing to memory does not fail.
pub fn lines(rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut writer = ::csv::WriterBuilder::new().flexible(true).from_writer(Vec::new());
    for row in rows {
        writer.write_record(row.into_iter().map(inert)).expect("memory takes every row");
    }
    let bytes = writer.into_inner().expect("memory takes every row");
    String::from_utf8(bytes).expect("text was written")
}

/// A field that a spreadsheet does not evaluate (OWASP, "CSV Injection"); numbers stay numbers.
fn inert(field: String) -> String {
    let begins = field.starts_with(['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠']);
    if begins && field.parse::<f64>().is_err() { format!("'{field}") } else { field }
}

fn field(value: &Value) -> String {
    match value {
        Value::None => String::new(),
        Value::Text(text) => text.clone(),
        Value::Integer(n) => n.to_string(),
        // The shortest digits that are parsed as the same number.
        Value::Real(x) => x.to_string(),
        Value::Truth(b) => b.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_that_would_break_a_row_is_quoted() {
        let row = ["AES-256-XTS 512 B", "a,b", "5\" disk\nnext", ""].map(str::to_owned);
        let text = "AES-256-XTS 512 B,\"a,b\",\"5\"\" disk\nnext\",\n";
        assert_eq!(lines([row.into()]), text);
    }

    #[test]
    fn no_text_is_a_formula_and_numbers_stay_numbers() {
        for text in
            ["=HYPERLINK(\"x\")", "+1+1", "-1+cmd|' /C calc'!A0", "@SUM(1)", "\t=1", "\r=1", "＝1"]
        {
            assert_eq!(inert(text.to_owned()), format!("'{text}"));
        }
        for text in ["-0.05", "+1", "-1e-9", "inf", "-inf", "NaN", "", "AES 1=2", "a-b", "'=1"] {
            assert_eq!(inert(text.to_owned()), text);
        }
        assert_eq!(lines([vec!["=1+1".to_owned(), "-2".to_owned()]]), "'=1+1,-2\n");
    }

    #[test]
    fn numbers_read_back_as_themselves() {
        for x in [0.1 + 0.2, 1.0 / 3.0, 5e-324, f64::MAX, -0.05] {
            let written = field(&Value::Real(x));
            assert_eq!(written.parse::<f64>().unwrap().to_bits(), x.to_bits(), "{written}");
        }
        assert_eq!(field(&Value::Integer(u64::MAX)), "18446744073709551615");
    }
}
