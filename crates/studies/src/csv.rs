//! Comma-separated values with a header line and fields in double quotes (RFC 4180), by column name.

use crate::error::DataError;
use crate::number::Printed;

/// A whole file.
pub(crate) struct Csv {
    file: String,
    header: Vec<String>,
    /// The line on which each row began, and its fields.
    rows: Vec<(usize, Vec<String>)>,
}

/// One row, whose fields are asked for by the name of their column.
pub(crate) struct Row<'a> {
    of: &'a Csv,
    line: usize,
    fields: &'a [String],
}

impl Csv {
    /// Reads `text`; every row must have as many fields as the header.
    pub fn parse(file: &str, text: &str) -> Result<Self, DataError> {
        let malformed =
            |line, problem: String| DataError::Malformed { file: file.to_owned(), line, problem };
        let mut rows =
            records(text).map_err(|line| malformed(line, "a quote is not closed".into()))?;
        if rows.is_empty() {
            return Err(malformed(1, "there is no header".into()));
        }
        let (_, header) = rows.remove(0);
        for (line, row) in &rows {
            if row.len() != header.len() {
                let problem = format!("{} fields below {} headings", row.len(), header.len());
                return Err(malformed(*line, problem));
            }
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

    /// A number with the digits that were printed; an empty field is an error.
    pub fn number(&self, column: &str) -> Result<Printed, DataError> {
        let text = self.text(column)?;
        Printed::parse(text).ok_or_else(|| DataError::NotANumber {
            file: self.of.file.clone(),
            line: self.line,
            column: column.to_owned(),
            value: text.to_owned(),
        })
    }

    /// As [`number`](Self::number), and nothing for an empty field.
    pub fn number_if_any(&self, column: &str) -> Result<Option<Printed>, DataError> {
        if self.text(column)?.is_empty() { Ok(None) } else { self.number(column).map(Some) }
    }
}

/// The records of a text with the line on which each begins; the line of a quote that is not closed.
fn records(text: &str) -> Result<Vec<(usize, Vec<String>)>, usize> {
    let (mut rows, mut row, mut field) = (Vec::new(), Vec::new(), String::new());
    let (mut line, mut begun, mut quoted) = (1, 1, None);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match (c, quoted) {
            ('"', Some(_)) if chars.peek() == Some(&'"') => {
                chars.next();
                field.push('"');
            }
            ('"', Some(_)) => quoted = None,
            ('"', None) if field.is_empty() => quoted = Some(line),
            (',', None) => row.push(std::mem::take(&mut field)),
            ('\r', None) if chars.peek() == Some(&'\n') => {}
            ('\n', None) => {
                row.push(std::mem::take(&mut field));
                rows.push((begun, std::mem::take(&mut row)));
                begun = line + 1;
            }
            _ => field.push(c),
        }
        line += usize::from(c == '\n');
    }
    if let Some(line) = quoted {
        return Err(line);
    }
    if !field.is_empty() || !row.is_empty() {
        row.push(field);
        rows.push((begun, row));
    }
    Ok(rows)
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
