//! Reads each option of one section as text, flag, number, size or time.

use super::super::ProfileError;
use super::ini::{Section, Setting};
use super::{Source, value};

/// Reads the options of one section.
pub(super) struct Reader<'a> {
    pub(super) source: &'a Source<'a>,
    pub(super) section: &'a Section,
    pub(super) kb_base: u64,
}

pub(super) type Read<T> = Result<Option<T>, ProfileError>;

impl Reader<'_> {
    pub(super) fn wrong(
        &self,
        option: &str,
        problem: impl Into<String>,
        remedy: impl Into<String>,
    ) -> ProfileError {
        self.source.invalid(option, self.section.line_of(option), problem, remedy)
    }

    /// The value of an option that requires a value.
    pub(super) fn text(&self, option: &str) -> Read<&str> {
        match self.section.get(option) {
            None => Ok(None),
            Some(Setting { value: Some(value), .. }) => Ok(Some(value)),
            Some(_) => Err(self.wrong(option, "has no value", format!("write {option}=…"))),
        }
    }

    pub(super) fn flag(&self, option: &str) -> Read<bool> {
        let Some(Setting { value, .. }) = self.section.get(option) else { return Ok(None) };
        match value::flag(value.as_deref()) {
            Some(flag) => Ok(Some(flag)),
            None => Err(self.wrong(option, "is neither 0 nor 1", format!("write {option}=1"))),
        }
    }

    pub(super) fn count(&self, option: &str, least: u64, most: u64) -> Read<u64> {
        let Some(text) = self.text(option)? else { return Ok(None) };
        match value::count(text).filter(|n| (least..=most).contains(n)) {
            Some(n) => Ok(Some(n)),
            None => {
                let problem = format!("{text:?} is not a number from {least} to {most}");
                Err(self.wrong(option, problem, "use one number"))
            }
        }
    }

    pub(super) fn size(&self, option: &str) -> Read<u64> {
        let Some(text) = self.text(option)? else { return Ok(None) };
        match value::size(text, self.kb_base) {
            Some(bytes) if bytes > 0 && bytes <= 1 << 50 => Ok(Some(bytes)),
            _ => {
                let remedy = "use one number with k, m, g or t, such as 64k";
                Err(self.wrong(option, format!("{text:?} is not a size"), remedy))
            }
        }
    }

    pub(super) fn seconds(&self, option: &str) -> Read<f64> {
        let Some(text) = self.text(option)? else { return Ok(None) };
        match value::seconds(text).filter(|s| *s <= 86_400.0) {
            Some(seconds) => Ok(Some(seconds)),
            None => {
                let problem = format!("{text:?} is not a time of at most a day");
                Err(self.wrong(option, problem, "use seconds, or a number with ms, s, m or h"))
            }
        }
    }
}
