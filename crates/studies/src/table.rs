//! A table in the form familiar to a study's readers.

use std::fmt;

use serde::{Serialize, Serializer};

/// Headings and rows; the caller decides how to draw them.
#[derive(Clone, Debug, Serialize)]
pub struct Table {
    /// Title, including the unit.
    pub title: String,
    /// Headings, one for each column.
    pub headings: Vec<&'static str>,
    /// Rows, each with one field per heading.
    pub rows: Vec<Vec<Field>>,
    /// A note for the reader; may be empty.
    pub note: &'static str,
}

impl Table {
    /// The rows as text.
    pub fn lines(&self) -> impl Iterator<Item = Vec<String>> {
        self.rows.iter().map(|row| row.iter().map(ToString::to_string).collect())
    }
}

/// A field of a table.
#[derive(Clone, Debug, PartialEq)]
pub enum Field {
    /// Words, or nothing.
    Text(String),
    /// A finite number.
    Number(Number),
}

/// A number with the digits that are shown, such as `-12.5 ±3.1 %`.
#[derive(Clone, Debug, PartialEq)]
pub struct Number {
    /// The value.
    pub value: f64,
    /// Digits after the decimal point.
    pub places: usize,
    /// Whether positive values have a sign, as changes do.
    pub is_signed: bool,
    /// Half-width of the interval, with as many decimal places.
    pub spread: Option<f64>,
    /// The unit; may be empty.
    pub unit: String,
}

impl Number {
    /// A number without sign, interval and unit.
    pub fn new(value: f64, places: usize) -> Self {
        Self { value, places, is_signed: false, spread: None, unit: String::new() }
    }

    /// A percentage with one decimal.
    pub fn percent(value: f64) -> Self {
        Self::new(value, 1).unit("%")
    }

    /// The same with a unit.
    pub fn unit(self, unit: &str) -> Self {
        Self { unit: unit.to_owned(), ..self }
    }

    /// The same with a sign.
    pub fn signed(self) -> Self {
        Self { is_signed: true, ..self }
    }

    /// The digits, with the sign.
    pub fn digits(&self) -> String {
        let Self { value, places, .. } = self;
        if self.is_signed { format!("{value:+.places$}") } else { format!("{value:.places$}") }
    }

    /// The digits of the interval, if there is one.
    pub fn spread_digits(&self) -> Option<String> {
        self.spread.map(|spread| format!("{spread:.*}", self.places))
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.digits())?;
        if let Some(spread) = self.spread_digits() {
            write!(f, " ±{spread}")?;
        }
        if !self.unit.is_empty() {
            write!(f, " {}", self.unit)?;
        }
        Ok(())
    }
}

impl Default for Field {
    fn default() -> Self {
        Self::Text(String::new())
    }
}

impl From<Number> for Field {
    fn from(number: Number) -> Self {
        if number.value.is_finite() { Self::Number(number) } else { Self::Text(number.to_string()) }
    }
}

impl From<&str> for Field {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Field {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl<F: Into<Self>> From<Option<F>> for Field {
    fn from(field: Option<F>) -> Self {
        field.map_or_else(Self::default, Into::into)
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Number(number) => number.fmt(f),
        }
    }
}

impl Serialize for Field {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
