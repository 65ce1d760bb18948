//! Comma-separated values (RFC 4180, with line feeds alone): a header row, then one row per trial or cell.
//!
//! Numbers are written in full with a decimal point; what is not known is empty.

use cryptbench_record::{Record, Results};

use super::tidy::{Rows, Value, table};

/// A table of the record as text that ends with a newline.
pub fn render(record: &Record, results: &Results, rows: Rows) -> String {
    let table = table(record, results, rows);
    let mut out = String::new();
    let header = table.columns.iter().map(|(name, _)| (*name).to_owned());
    line(&mut out, header);
    for row in &table.rows {
        line(&mut out, row.iter().map(field));
    }
    out
}

fn line(out: &mut String, fields: impl Iterator<Item = String>) {
    for (i, field) in fields.enumerate() {
        if i > 0 {
            out.push(',');
        }
        out.push_str(&field);
    }
    out.push('\n');
}

fn field(value: &Value) -> String {
    match value {
        Value::None => String::new(),
        Value::Text(text) => quoted(text),
        Value::Integer(n) => n.to_string(),
        // The shortest digits that read back as the same number.
        Value::Real(x) => x.to_string(),
        Value::Truth(b) => b.to_string(),
    }
}

/// Quotes what a reader would take apart otherwise.
fn quoted(text: &str) -> String {
    match text.contains(['"', ',', '\n', '\r']) || text.trim() != text {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_that_would_break_a_row_is_quoted() {
        assert_eq!(quoted("AES-256-XTS 512 B"), "AES-256-XTS 512 B");
        assert_eq!(quoted("a,b"), "\"a,b\"");
        assert_eq!(quoted("5\" disk\nnext"), "\"5\"\" disk\nnext\"");
        assert_eq!(quoted(" lead"), "\" lead\"");
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
