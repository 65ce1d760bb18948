//! Comma-separated values with a header line and double-quoted fields (RFC 4180), accessed by
//! column name.

use crate::error::DataError;
use crate::number::Printed;

/// A whole file.
pub(crate) struct Csv {
    file: String,
    header: Vec<String>,
    /// The first line of each row, and its fields.
    rows: Vec<(usize, Vec<String>)>,
}

/// One row, with fields accessible by column name.
pub(crate) struct Row<'a> {
    of: &'a Csv,
    line: usize,
    fields: &'a [String],
}

impl Csv {
    /// Parses `text`; every row must have as many fields as the header.
    pub fn parse(file: &str, text: &str) -> Result<Self, DataError> {
        let malformed =
            |line, problem: String| DataError::Malformed { file: file.to_owned(), line, problem };
        if !text.matches('"').count().is_multiple_of(2) {
            let before = text.rfind('"').unwrap_or(0);
            return Err(malformed(
                1 + text[..before].matches('\n').count(),
                "a quote is not closed".into(),
            ));
        }
        // The check below reports rows of a different length, with both lengths.
        let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(text.as_bytes());
        let fields = |row: &csv::StringRecord| row.iter().map(str::to_owned).collect::<Vec<_>>();
        let header = reader.headers().map(fields).unwrap_or_default();
        if header.is_empty() {
            return Err(malformed(1, "there is no header".into()));
        }
        let mut rows = Vec::new();
        for row in reader.records() {
            let row = row.map_err(|e| malformed(1, e.to_string()))?;
            let line = row.position().map_or(1, |at| line_at(text, at.byte() as usize));
            if row.len() != header.len() {
                let problem = format!("{} fields below {} headings", row.len(), header.len());
                return Err(malformed(line, problem));
            }
            rows.push((line, fields(&row)));
        }
        Ok(Self { file: file.to_owned(), header, rows })
    }

    pub fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        self.rows.iter().map(|(line, fields)| Row { of: self, line: *line, fields })
    }
}

impl<'a> Row<'a> {
    /// The text of a field.
    pub fn text(&self, column: &str) -> Result<&'a str, DataError> {
        let i = self.of.header.iter().position(|h| h == column);
        let i = i.ok_or_else(|| DataError::NoColumn {
            file: self.of.file.clone(),
            column: column.to_owned(),
        })?;
        Ok(&self.fields[i])
    }

    /// A number with its printed digits; an empty field is an error.
    pub fn number(&self, column: &str) -> Result<Printed, DataError> {
        let text = self.text(column)?;
        Printed::parse(text).ok_or_else(|| DataError::NotANumber {
            file: self.of.file.clone(),
            line: self.line,
            column: column.to_owned(),
            value: text.to_owned(),
        })
    }

    /// Like [`number`](Self::number), but `None` for an empty field.
    pub fn number_if_any(&self, column: &str) -> Result<Option<Printed>, DataError> {
        if self.text(column)?.is_empty() { Ok(None) } else { self.number(column).map(Some) }
    }
}

/// The line on which the row that starts at `byte` begins. The reader does not count lines within quotes, and
/// its position may be before the second half of a line ending.
fn line_at(text: &str, byte: usize) -> usize {
    let rest = &text[byte..];
    let begin = text.len() - rest.trim_start_matches(['\r', '\n']).len();
    1 + text[..begin].matches('\n').count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_fields_hold_commas_quotes_and_lines() {
        let csv = Csv::parse("t", "a,b\n\"1,\"\"x\"\"\ny\",2.50\r\n,3").unwrap();
        let rows: Vec<_> = csv.rows().collect();
        assert_eq!(rows[0].text("a").unwrap(), "1,\"x\"\ny");
        assert_eq!(rows[0].number("b").unwrap().value(), 2.5);
        assert_eq!(rows[1].number_if_any("a").unwrap(), None);
        assert_eq!(rows[1].line, 4);
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        let Err(e) = Csv::parse("t", "a,b\n1\n") else { panic!("one field") };
        assert_eq!(e.to_string(), "t, line 2: 1 fields below 2 headings");
        assert!(Csv::parse("t", "a\n\"1\n").is_err());
        assert!(Csv::parse("t", "").is_err());
        let csv = Csv::parse("t", "a\nx\n").unwrap();
        let row = csv.rows().next().unwrap();
        assert_eq!(row.number("a").unwrap_err().to_string(), "t, line 2, a: \"x\" is not a number");
        assert_eq!(row.text("c").unwrap_err().to_string(), "t: there is no column c");
    }
}
