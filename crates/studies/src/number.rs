//! A number as it was printed, and a printed number beside the same one derived again.

use serde::Serialize;

/// A published number with the digits that were printed, on which its precision depends.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(into = "f64")]
pub struct Printed {
    text: String,
    value: f64,
    decimals: u8,
}

impl Printed {
    /// Reads a decimal number; `None` for anything else, an exponent or a sign of infinity included.
    pub fn parse(text: &str) -> Option<Self> {
        let plain = text.chars().all(|c| c.is_ascii_digit() || c == '.' || c == '-');
        let value: f64 = if plain { text.parse().ok()? } else { return None };
        let decimals = text.split_once('.').map_or(0, |(_, d)| d.len());
        Some(Self { text: text.to_owned(), value, decimals: u8::try_from(decimals).ok()? })
    }

    /// The same without zeros at the end of its decimals, for a number that was converted and not printed so.
    pub(crate) fn without_zeros(self) -> Self {
        match self.text.contains('.') {
            true => {
                Self::parse(self.text.trim_end_matches('0').trim_end_matches('.')).unwrap_or(self)
            }
            false => self,
        }
    }

    /// Its value.
    pub fn value(&self) -> f64 {
        self.value
    }

    /// Its digits.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// `other` with one decimal more than this was printed with.
    pub fn finer(&self, other: f64) -> String {
        format!("{other:.*}", usize::from(self.decimals) + 1)
    }

    /// Whether `derived` may have been printed as this: at most half a unit of the last digit away.
    pub fn agrees_with(&self, derived: f64) -> bool {
        let half = 0.5 * 10f64.powi(-i32::from(self.decimals));
        (self.value - derived).abs() <= half * (1.0 + 1e-6)
    }
}

impl From<Printed> for f64 {
    fn from(printed: Printed) -> Self {
        printed.value
    }
}

/// A number that a study derived from others which it printed, and the same derived from those again.
#[derive(Clone, Debug, Serialize)]
pub struct Rederived {
    /// What it is, such as `TrueCrypt against BestCrypt, ssd, seq write 4M, AES-256`.
    pub what: String,
    /// As printed.
    pub published: Printed,
    /// Derived again.
    pub derived: f64,
    /// `%`, `MB/s` and so on.
    pub unit: &'static str,
}

impl Rederived {
    /// Whether both agree within the digits that were printed.
    pub fn agrees(&self) -> bool {
        self.published.agrees_with(self.derived)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_a_unit_of_the_last_digit_is_allowed() {
        let of = |t: &str| Printed::parse(t).unwrap();
        assert!(of("4.5").agrees_with(4.55));
        assert!(!of("4.61").agrees_with(4.6154));
        assert!(of("4.62").agrees_with(4.6154));
        assert!(of("9").agrees_with(8.996));
        assert!(!of("53.03").agrees_with(10.624));
        assert_eq!(of("9").finer(8.996), "9.0");
        assert!(
            ["", "x", "1e5", "inf", "NaN", "--", "1.2.3"]
                .iter()
                .all(|t| Printed::parse(t).is_none())
        );
    }
}
