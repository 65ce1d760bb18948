//! Parses entropies and multipliers on the command line.

use cryptbench_kdf::Function;

/// Bits of entropy, above 0 and at most 512.
pub fn entropy(text: &str) -> Result<f64, String> {
    let number = text.trim().trim_end_matches("bits").trim_end_matches("bit").trim();
    match number.parse::<f64>() {
        Ok(bits) if bits > 0.0 && bits <= 512.0 => Ok(bits),
        _ => Err("entropy must be above 0 and at most 512 bits".to_owned()),
    }
}

/// Speed of other hardware relative to this CPU: for all functions, or for one function.
#[derive(Clone, Debug, PartialEq)]
pub struct Multiplier {
    /// Name of the function; `None` for all other functions.
    pub function: Option<&'static str>,
    /// The factor, above 0.
    pub factor: f64,
}

/// `1000`, or `argon2id=20` for one function.
pub fn multiplier(text: &str) -> Result<Multiplier, String> {
    let (name, number) = match text.split_once('=') {
        Some((name, number)) => (Some(name.trim()), number),
        None => (None, text),
    };
    let function = match name {
        Some(name) => Some(Function::find(name).map_err(|error| error.to_string())?.name()),
        None => None,
    };
    match number.trim().trim_end_matches(['x', 'X']).parse::<f64>() {
        Ok(factor) if factor > 0.0 && factor <= 1e18 => Ok(Multiplier { function, factor }),
        _ => Err("a multiplier must be above 0 and at most 1e18, such as 1000 or \
                  argon2id=20"
            .to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entropies() {
        assert_eq!(entropy("51.7"), Ok(51.7));
        assert_eq!(entropy(" 40 bits "), Ok(40.0));
        for bad in ["", "0", "-1", "513", "NaN", "inf", "much"] {
            assert!(entropy(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn multipliers() {
        let of = |text| multiplier(text).map(|m| (m.function, m.factor));
        assert_eq!(of("1000"), Ok((None, 1000.0)));
        assert_eq!(of("2.5x"), Ok((None, 2.5)));
        assert_eq!(of("argon2 = 20"), Ok((Some("argon2id"), 20.0)));
        for bad in ["", "0", "-3", "inf", "1e19", "md4=3", "argon2id=", "=3"] {
            assert!(of(bad).is_err(), "{bad}");
        }
    }
}
