//! A number as printed, and a printed number together with its re-derived value.

use serde::Serialize;

use crate::table::Number;

/// A published number with its printed digits, which determine its precision.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(into = "f64")]
pub struct Printed {
    text: String,
    value: f64,
    decimals: u8,
}

impl Printed {
    /// Parses a decimal number; `None` for anything else, including exponents and infinity.
    pub fn parse(text: &str) -> Option<Self> {
        let plain = text.chars().all(|c| c.is_ascii_digit() || c == '.' || c == '-');
        let value: f64 = if plain { text.parse().ok()? } else { return None };
        let decimals = text.split_once('.').map_or(0, |(_, d)| d.len());
        Some(Self { text: text.to_owned(), value, decimals: u8::try_from(decimals).ok()? })
    }

    /// Removes trailing zeros of the decimals from a number that was converted, not printed in this form.
    pub(crate) fn without_zeros(self) -> Self {
        match self.text.contains('.') {
            true => {
                Self::parse(self.text.trim_end_matches('0').trim_end_matches('.')).unwrap_or(self)
            }
            false => self,
        }
    }

    /// The numeric value.
    pub fn value(&self) -> f64 {
        self.value
    }

    /// The printed digits.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The number as a field of a table.
    pub fn field(&self) -> Number {
        Number::new(self.value, usize::from(self.decimals))
    }

    /// `other` with one decimal more than this number has.
    pub fn finer(&self, other: f64) -> Number {
        Number::new(other, usize::from(self.decimals) + 1)
    }

    /// Whether `derived` could have been printed as this number: they differ by at most half a unit
    /// of the last digit.
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

/// A number that a study derived from its printed numbers, together with our derivation.
#[derive(Clone, Debug, Serialize)]
pub struct Rederived {
    /// A description, such as `TrueCrypt against BestCrypt, ssd, seq write 4M, AES-256`.
    pub what: String,
    /// The study's number as printed.
    pub published: Printed,
    /// Our derivation.
    pub derived: f64,
    /// `%`, `MB/s` and so on.
    pub unit: &'static str,
}

impl Rederived {
    /// Whether both agree within the printed digits.
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
        assert_eq!(of("9").finer(8.996).to_string(), "9.0");
        assert!(
            ["", "x", "1e5", "inf", "NaN", "--", "1.2.3"]
                .iter()
                .all(|t| Printed::parse(t).is_none())
        );
    }
}
