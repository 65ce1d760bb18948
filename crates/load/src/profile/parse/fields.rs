//! The keys of a TOML table, each used once, with errors that state the line of the fault.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::super::ProfileError;
use super::super::size::{format_size, parse_size};
use super::MAX_ID;

/// A value with its position in the text, in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct At<T> {
    pub(super) at: usize,
    pub(super) value: T,
}

#[derive(Clone, Debug)]
pub(super) enum Value {
    Text(String),
    Integer(i64),
    Number(f64),
    Flag(bool),
    List(Vec<At<Value>>),
    Table(Vec<Entry>),
    /// A date, a time, or an integer that is out of range, none of which is valid for any key.
    Other(&'static str),
}

impl Value {
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Text(_) => "a string",
            Self::Integer(_) => "an integer",
            Self::Number(_) => "a number",
            Self::Flag(_) => "true or false",
            Self::List(_) => "a list",
            Self::Table(_) => "a table",
            Self::Other(kind) => kind,
        }
    }
}

/// A key of a table with its value.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) key: At<String>,
    pub(super) value: At<Value>,
}

/// The text of a profile, and the name by which errors refer to it.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    pub(super) text: &'a str,
    pub(super) origin: &'a str,
}

impl Source<'_> {
    /// The top-level keys, in the order of the text.
    pub(super) fn read(&self) -> Result<Vec<Entry>, ProfileError> {
        let table = DeTable::parse(self.text).map_err(|e| ProfileError::Syntax {
            origin: self.origin.to_owned(),
            message: e.to_string().trim_end().to_owned(),
        })?;
        Ok(entries(table.into_inner()))
    }

    /// The line number, from 1, of a position in the text.
    pub(super) fn line(&self, at: usize) -> usize {
        1 + self.text.bytes().take(at).filter(|&b| b == b'\n').count()
    }

    pub(super) fn invalid(
        &self,
        field: impl Into<String>,
        at: usize,
        problem: impl Into<String>,
        remedy: impl Into<String>,
    ) -> ProfileError {
        ProfileError::Invalid {
            origin: self.origin.to_owned(),
            line: self.line(at),
            field: field.into(),
            problem: problem.into(),
            remedy: remedy.into(),
        }
    }

    pub(super) fn identifier(&self, field: &str, at: usize, id: &str) -> Result<(), ProfileError> {
        let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if id.is_empty() || id.len() > MAX_ID || !id.chars().all(allowed) {
            let remedy = format!("use 1 to {MAX_ID} lower-case letters, digits and hyphens");
            return Err(self.invalid(field, at, format!("{id:?} is not an identifier"), remedy));
        }
        Ok(())
    }

    pub(super) fn words(
        &self,
        field: &str,
        at: usize,
        words: &str,
        longest: usize,
    ) -> Result<(), ProfileError> {
        let n = words.chars().count();
        if words.trim().is_empty() {
            return Err(self.invalid(field, at, "is empty", "describe it"));
        }
        if words.chars().any(char::is_control) {
            let remedy = "write it on one line";
            return Err(self.invalid(field, at, "contains control characters", remedy));
        }
        if n > longest {
            let remedy = format!("use at most {longest}");
            return Err(self.invalid(field, at, format!("{words:?} has {n} characters"), remedy));
        }
        Ok(())
    }
}

fn entries(table: DeTable<'_>) -> Vec<Entry> {
    let mut entries: Vec<_> = table
        .into_iter()
        .map(|(key, value)| Entry {
            key: At { at: key.span().start, value: key.into_inner().into_owned() },
            value: value_of(value),
        })
        .collect();
    entries.sort_by_key(|e| e.key.at);
    entries
}

fn value_of(value: Spanned<DeValue<'_>>) -> At<Value> {
    let at = value.span().start;
    let value = match value.into_inner() {
        DeValue::String(text) => Value::Text(text.into_owned()),
        DeValue::Integer(i) => match i64::from_str_radix(i.as_str(), i.radix()) {
            Ok(i) => Value::Integer(i),
            Err(_) => Value::Other("an integer beyond 64 bits"),
        },
        DeValue::Float(f) => match f.as_str().parse() {
            Ok(f) => Value::Number(f),
            Err(_) => Value::Other("a number that cannot be read"),
        },
        DeValue::Boolean(flag) => Value::Flag(flag),
        DeValue::Datetime(_) => Value::Other("a date or time"),
        DeValue::Array(list) => Value::List(list.into_iter().map(value_of).collect()),
        DeValue::Table(table) => Value::Table(entries(table)),
    };
    At { at, value }
}

/// Removes keys from one table as they are used; keys that remain are errors.
pub(super) struct Fields<'a> {
    source: &'a Source<'a>,
    what: &'static str,
    at: usize,
    entries: Vec<Entry>,
    known: Vec<&'static str>,
}

type Taken<T> = Result<Option<At<T>>, ProfileError>;

impl<'a> Fields<'a> {
    /// `at` is the position of the table, for errors about missing keys.
    pub(super) fn new(
        source: &'a Source<'a>,
        what: &'static str,
        at: usize,
        entries: Vec<Entry>,
    ) -> Self {
        Self { source, what, at, entries, known: Vec::new() }
    }

    pub(super) fn source(&self) -> &'a Source<'a> {
        self.source
    }

    /// The position of the key's value, or of the table if the key is missing or has been used.
    pub(super) fn at(&self, key: &str) -> usize {
        self.entries.iter().find(|e| e.key.value == key).map_or(self.at, |e| e.value.at)
    }

    pub(super) fn missing(&self, key: &str, remedy: impl Into<String>) -> ProfileError {
        self.source.invalid(key, self.at, "is missing", remedy)
    }

    /// The value that `take` finds under `key`; an error if the key is missing.
    pub(super) fn required<T>(
        &mut self,
        take: impl FnOnce(&mut Self, &'static str) -> Taken<T>,
        key: &'static str,
    ) -> Result<At<T>, ProfileError> {
        match take(self, key)? {
            Some(value) => Ok(value),
            None => Err(self.missing(key, format!("such a {} needs one", self.what))),
        }
    }

    fn take(&mut self, key: &'static str) -> Option<At<Value>> {
        self.known.push(key);
        let i = self.entries.iter().position(|e| e.key.value == key)?;
        Some(self.entries.remove(i).value)
    }

    fn mistyped(&self, key: &str, at: usize, value: &Value, remedy: &str) -> ProfileError {
        self.source.invalid(key, at, format!("is {}", value.kind()), remedy)
    }

    pub(super) fn text(&mut self, key: &'static str) -> Taken<String> {
        match self.take(key) {
            None => Ok(None),
            Some(At { at, value: Value::Text(value) }) => Ok(Some(At { at, value })),
            Some(At { at, value }) => Err(self.mistyped(key, at, &value, "use a string in quotes")),
        }
    }

    pub(super) fn flag(&mut self, key: &'static str) -> Taken<bool> {
        match self.take(key) {
            None => Ok(None),
            Some(At { at, value: Value::Flag(value) }) => Ok(Some(At { at, value })),
            Some(At { at, value }) => Err(self.mistyped(key, at, &value, "use true or false")),
        }
    }

    /// An integer from `least` to `most`.
    pub(super) fn count(&mut self, key: &'static str, least: u32, most: u32) -> Taken<u32> {
        let remedy = format!("use {least} to {most}");
        match self.take(key) {
            None => Ok(None),
            Some(At { at, value: Value::Integer(i) }) => match u32::try_from(i) {
                Ok(value) if (least..=most).contains(&value) => Ok(Some(At { at, value })),
                _ => Err(self.source.invalid(key, at, format!("{i} is out of range"), remedy)),
            },
            Some(At { at, value }) => Err(self.mistyped(key, at, &value, &remedy)),
        }
    }

    /// Like [`Self::count`], but also accepts a word instead of a count.
    pub(super) fn count_or(
        &mut self,
        key: &'static str,
        (least, most): (u32, u32),
        (word, stands_for): (&str, u32),
    ) -> Taken<u32> {
        let is_word = |value: &Value| matches!(value, Value::Text(text) if text == word);
        match self.entries.iter().any(|e| e.key.value == key && is_word(&e.value.value)) {
            true => Ok(self.take(key).map(|found| At { at: found.at, value: stands_for })),
            false => self.count(key, least, most),
        }
    }

    /// A number from `least` to `most`, not necessarily an integer.
    pub(super) fn number(&mut self, key: &'static str, least: f64, most: f64) -> Taken<f64> {
        let remedy = format!("use {least} to {most}");
        let (at, number) = match self.take(key) {
            None => return Ok(None),
            Some(At { at, value: Value::Integer(i) }) => (at, i as f64),
            Some(At { at, value: Value::Number(f) }) => (at, f),
            Some(At { at, value }) => return Err(self.mistyped(key, at, &value, &remedy)),
        };
        if number.is_finite() && (least..=most).contains(&number) {
            return Ok(Some(At { at, value: number }));
        }
        Err(self.source.invalid(key, at, format!("{number} is out of range"), remedy))
    }

    /// A size from `least` to `most`. The size must be a multiple of the sector size if `least` is at least one sector.
    pub(super) fn size(&mut self, key: &'static str, least: u64, most: u64) -> Taken<u64> {
        let Some(At { at, value: text }) = self.text(key)? else { return Ok(None) };
        let value = self.size_of(key, at, &text)?;
        let sectors = least >= 512;
        let problem = if sectors && value == 0 {
            "is zero".to_owned()
        } else if sectors && !value.is_multiple_of(512) {
            "is not a multiple of 512 bytes".to_owned()
        } else if value < least {
            format!("is smaller than {}", format_size(least))
        } else if value > most {
            format!("is larger than {}", format_size(most))
        } else {
            return Ok(Some(At { at, value }));
        };
        let compact = |bytes| format_size(bytes).replace(' ', "");
        let of = if sectors { "a multiple of 512B" } else { "a size" };
        let remedy = format!("use {of} from {} up to {}", compact(least), compact(most));
        Err(self.source.invalid(key, at, format!("{text:?} {problem}"), remedy))
    }

    pub(super) fn size_of(&self, key: &str, at: usize, text: &str) -> Result<u64, ProfileError> {
        parse_size(text).ok_or_else(|| {
            let remedy = "write a whole number with B, KiB, MiB or GiB, such as \"4KiB\"";
            self.source.invalid(key, at, format!("{text:?} is not a size"), remedy)
        })
    }

    /// One of several words.
    pub(super) fn choice<T: Copy>(&mut self, key: &'static str, of: &[(&str, T)]) -> Taken<T> {
        let words = || of.iter().map(|(word, _)| *word).collect::<Vec<_>>().join(", ");
        let Some(At { at, value: text }) = self.text(key)? else { return Ok(None) };
        match of.iter().find(|(word, _)| *word == text) {
            Some((_, value)) => Ok(Some(At { at, value: *value })),
            None => {
                let remedy = format!("use one of {}", words());
                Err(self.source.invalid(key, at, format!("{text:?} is unknown"), remedy))
            }
        }
    }

    /// The tables in an array of tables; empty if the key is missing.
    pub(super) fn tables(&mut self, key: &'static str) -> Result<Vec<At<Value>>, ProfileError> {
        let remedy = format!("write [[{key}]] above its keys");
        let list = match self.take(key) {
            None => return Ok(Vec::new()),
            Some(At { value: Value::List(list), .. }) => list,
            Some(At { at, value }) => return Err(self.mistyped(key, at, &value, &remedy)),
        };
        match list.iter().find(|v| !matches!(v.value, Value::Table(_))) {
            Some(v) => Err(self.mistyped(key, v.at, &v.value, &remedy)),
            None => Ok(list),
        }
    }

    /// The unused keys, in the order of the text.
    pub(super) fn rest(&mut self) -> Vec<Entry> {
        std::mem::take(&mut self.entries)
    }

    /// Fails if an unused key remains.
    pub(super) fn finish(&mut self) -> Result<(), ProfileError> {
        let Some(entry) = self.entries.first() else { return Ok(()) };
        let remedy = format!("such a {} accepts {}", self.what, self.known.join(", "));
        Err(self.source.invalid(&entry.key.value, entry.key.at, "is an unknown key here", remedy))
    }
}
