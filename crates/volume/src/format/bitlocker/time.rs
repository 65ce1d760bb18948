//! Windows' time (FILETIME): the number of 100-nanosecond intervals since 1601, in UTC.

use std::time::{SystemTime, UNIX_EPOCH};

/// Ticks in a second.
const SECOND: u64 = 10_000_000;
/// Seconds from 1601 to 1970.
const TO_1970: u64 = 11_644_473_600;

/// Now, as a FILETIME.
pub(super) fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    (since.as_secs() + TO_1970) * SECOND + u64::from(since.subsec_nanos()) / 100
}

/// A FILETIME as `2019-07-03 06:42:01 UTC`.
pub(super) fn display(filetime: u64) -> String {
    let seconds = filetime / SECOND;
    let (days, of_day) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = date(days);
    let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02} UTC")
}

/// Year, month and day from a number of days since 1601, the start of a 400-year cycle.
fn date(mut days: u64) -> (u64, u64, u64) {
    const CYCLE: u64 = 146_097;
    let mut year = 1601 + 400 * (days / CYCLE);
    days %= CYCLE;
    let leap =
        |year: u64| year.is_multiple_of(4) && !year.is_multiple_of(100) || year.is_multiple_of(400);
    while days >= 365 + u64::from(leap(year)) {
        days -= 365 + u64::from(leap(year));
        year += 1;
    }
    let lengths = [31, 28 + u64::from(leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 1;
    for length in lengths {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    (year, month, days + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_of_known_filetimes() {
        assert_eq!(display(0), "1601-01-01 00:00:00 UTC");
        assert_eq!(display(116_444_736_000_000_000), "1970-01-01 00:00:00 UTC");
        // 2000-02-29 and 2026-12-31, as printed by `date -u -d @...`.
        assert_eq!(display((951_827_696 + TO_1970) * SECOND), "2000-02-29 12:34:56 UTC");
        assert_eq!(display((1_798_761_599 + TO_1970) * SECOND), "2026-12-31 23:59:59 UTC");
        assert!(display(u64::MAX).starts_with("60056-"));
        assert!(display(now()).starts_with("20"));
    }
}
