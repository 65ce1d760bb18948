//! Parses durations, sizes and percentages on the command line.

use std::time::Duration;

use cryptbench_catalog::DeviceKind;

/// `90`, `90s`, `2m`, `1h`, `250ms`.
pub fn duration(text: &str) -> Result<Duration, String> {
    let (number, unit) = split(text);
    let seconds = match unit {
        "ms" => 0.001,
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return Err("not a time; write, for example, 90s, 2m, 1h or 250ms".to_owned()),
    };
    match number.parse::<f64>() {
        Ok(n) if n > 0.0 && n * seconds <= 30.0 * 86_400.0 => {
            Ok(Duration::from_secs_f64(n * seconds))
        }
        Ok(_) => Err("the time must be greater than zero and at most 30 days".to_owned()),
        Err(_) => Err("not a time; write, for example, 90s, 2m, 1h or 250ms".to_owned()),
    }
}

/// `sector-size=512,4096`: a name and its values.
pub fn setting(text: &str) -> Result<(String, Vec<String>), String> {
    let wrong = || "not a setting; write, for example, sector-size=512,4096".to_owned();
    let (name, values) = text.split_once('=').ok_or_else(wrong)?;
    let values: Vec<String> = values.split(',').map(|v| v.trim().to_owned()).collect();
    if name.trim().is_empty() || values.iter().any(String::is_empty) {
        return Err(wrong());
    }
    Ok((name.trim().to_owned(), values))
}

/// Like [`duration`], but `0` is also valid.
pub fn pause(text: &str) -> Result<Duration, String> {
    if text.trim() == "0" { Ok(Duration::ZERO) } else { duration(text) }
}

/// The name of a cipher in upper or lower case: `AES-256-XTS`, as printed in tables, becomes `aes-256-xts`.
pub fn cipher(text: &str) -> Result<String, std::convert::Infallible> {
    Ok(text.to_ascii_lowercase())
}

/// `usb-stick`: a kind of storage device.
pub fn device_kind(text: &str) -> Result<DeviceKind, String> {
    DeviceKind::of(&text.to_ascii_lowercase()).ok_or_else(|| {
        let all: Vec<&str> = DeviceKind::ALL.iter().map(|kind| kind.as_str()).collect();
        format!("not a kind of device; use one of {}", all.join(", "))
    })
}

/// `1073741824`, `256M`, `256MiB`, `1G`; all units are binary.
pub fn bytes(text: &str) -> Result<u64, String> {
    let (number, unit) = split(text);
    let shift = match unit.to_ascii_lowercase().trim_end_matches("ib").trim_end_matches('b') {
        "" => 0,
        "k" => 10,
        "m" => 20,
        "g" => 30,
        "t" => 40,
        _ => return Err("not a size; write, for example, 256MiB or 1GiB".to_owned()),
    };
    let number: u64 =
        number.parse().map_err(|_| "not a size; write, for example, 256MiB or 1GiB".to_owned())?;
    number
        .checked_mul(1 << shift)
        .filter(|n| *n > 0)
        .ok_or_else(|| "the size is zero or too large".to_owned())
}

/// A size that is a multiple of 4 KiB.
pub fn piece(text: &str) -> Result<u64, String> {
    match bytes(text)? {
        n if n.is_multiple_of(4096) => Ok(n),
        _ => Err("the piece size must be a multiple of 4KiB, for example 256KiB".to_owned()),
    }
}

/// `3`, `3%`, `0.5 %` as a fraction.
pub fn percent(text: &str) -> Result<f64, String> {
    match text.trim().trim_end_matches('%').trim().parse::<f64>() {
        Ok(p) if p > 0.0 && p <= 50.0 => Ok(p / 100.0),
        _ => {
            Err("the percentage must be above 0 % and at most 50 %; write, for example, 3%"
                .to_owned())
        }
    }
}

/// A number of threads; `all` is 0.
pub fn threads(text: &str) -> Result<usize, String> {
    match text.trim().parse() {
        Ok(n @ 1..=1024) => Ok(n),
        Err(_) if text.trim() == "all" => Ok(0),
        _ => Err("the number of threads must be between 1 and 1024, or `all`".to_owned()),
    }
}

fn split(text: &str) -> (&str, &str) {
    let text = text.trim();
    let end = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    (text[..end].trim(), text[end..].trim())
}

/// `5300` or `5300,3800`: the rates of encryption and decryption in MB/s.
pub fn cipher_rate(text: &str) -> Result<(f64, f64), String> {
    let (encrypt, decrypt) = text.split_once(',').unwrap_or((text, text));
    let rate = |text: &str| match text.trim().parse::<f64>() {
        Ok(rate) if rate.is_finite() && rate > 0.0 => Ok(rate),
        _ => Err(format!("{text:?} is not a rate in MB/s, such as 5300")),
    };
    Ok((rate(encrypt)?, rate(decrypt)?))
}

/// A number that must not be negative.
pub fn not_negative(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() && number >= 0.0 => Ok(number),
        _ => Err(format!("{text:?} is negative or not a number")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        assert_eq!(duration("2m"), Ok(Duration::from_secs(120)));
        assert_eq!(duration("90"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("0.5 s"), Ok(Duration::from_millis(500)));
        assert_eq!(duration("250ms"), Ok(Duration::from_millis(250)));
        for bad in ["", "x", "-1s", "0", "2 weeks", "NaN", "inf", "1e30h", "99999h"] {
            assert!(duration(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn sizes() {
        assert_eq!(bytes("256MiB"), Ok(256 << 20));
        assert_eq!(bytes("1g"), Ok(1 << 30));
        assert_eq!(bytes("512"), Ok(512));
        assert_eq!(bytes("4 KB"), Ok(4096));
        for bad in ["", "0", "1.5G", "-1", "1Q", "99999999999T", "MiB"] {
            assert!(bytes(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn numbers_of_threads() {
        assert_eq!((threads("8"), threads(" all ")), (Ok(8), Ok(0)));
        for bad in ["", "0", "-1", "1025", "1.5", "many"] {
            assert!(threads(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn precisions() {
        assert_eq!(percent("3%"), Ok(0.03));
        assert_eq!(percent("0.5 %"), Ok(0.005));
        for bad in ["", "0", "-3", "60%", "NaN"] {
            assert!(percent(bad).is_err(), "{bad}");
        }
    }
}
