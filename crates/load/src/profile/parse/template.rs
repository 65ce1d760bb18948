//! Names built from keys: `{operation}-{block_size}`.

use super::super::ProfileError;
use super::super::size::{format_size, short_size};
use super::fields::{At, Source};

/// The value of a key.
pub(super) enum Binding {
    Word(String),
    Size(u64),
}

enum Part {
    Literal(String),
    Key { key: String, short: bool },
}

/// Text with keys in braces; `{key:short}` formats a size as `64K` instead of `64 KiB`.
pub(super) struct Template {
    pub(super) at: usize,
    field: &'static str,
    parts: Vec<Part>,
}

impl Template {
    pub(super) fn parse(
        source: &Source<'_>,
        field: &'static str,
        text: At<String>,
    ) -> Result<Self, ProfileError> {
        let At { at, value } = text;
        let mut parts = Vec::new();
        let mut rest = value.as_str();
        while let Some(open) = rest.find('{') {
            parts.push(Part::Literal(rest[..open].to_owned()));
            let Some(close) = rest[open..].find('}') else {
                return Err(source.invalid(field, at, "has a '{' without a '}'", "close it"));
            };
            let inner = &rest[open + 1..open + close];
            let (key, short) = match inner.strip_suffix(":short") {
                Some(key) => (key, true),
                None => (inner, false),
            };
            parts.push(Part::Key { key: key.to_owned(), short });
            rest = &rest[open + close + 1..];
        }
        parts.push(Part::Literal(rest.to_owned()));
        Ok(Self { at, field, parts })
    }

    /// Writes sizes as `64k`.
    pub(super) fn identifier(
        &self,
        source: &Source<'_>,
        binding: impl Fn(&str) -> Option<Binding>,
    ) -> Result<String, ProfileError> {
        self.fill(source, binding, |bytes, _| short_size(bytes).to_ascii_lowercase())
    }

    /// Formats sizes as `64 KiB`, or as `64K` for `:short`.
    pub(super) fn words(
        &self,
        source: &Source<'_>,
        binding: impl Fn(&str) -> Option<Binding>,
    ) -> Result<String, ProfileError> {
        self.fill(
            source,
            binding,
            |bytes, short| {
                if short { short_size(bytes) } else { format_size(bytes) }
            },
        )
    }

    fn fill(
        &self,
        source: &Source<'_>,
        binding: impl Fn(&str) -> Option<Binding>,
        size: impl Fn(u64, bool) -> String,
    ) -> Result<String, ProfileError> {
        let mut text = String::new();
        for part in &self.parts {
            match part {
                Part::Literal(literal) => text.push_str(literal),
                Part::Key { key, short } => match binding(key) {
                    Some(Binding::Word(word)) => text.push_str(&word),
                    Some(Binding::Size(bytes)) => text.push_str(&size(bytes, *short)),
                    None => {
                        let problem = format!("refers to {{{key}}}, which the sweep does not have");
                        let remedy = "use keys of the sweep, or {case}";
                        return Err(source.invalid(self.field, self.at, problem, remedy));
                    }
                },
            }
        }
        Ok(text)
    }
}
