//! What encryption will cost on a device: from the time of its plain requests, the speed of the cipher, and what
//! the software in between takes per request.

/// What a layer of encryption adds to a request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Added {
    /// Seconds per request, whatever its size: the software path.
    pub per_request_s: f64,
    /// Bytes per second of the cipher.
    pub cipher_rate: f64,
}

impl Added {
    /// Seconds that a request of `bytes` keeps the processor.
    #[must_use]
    pub fn seconds(&self, bytes: u64) -> f64 {
        self.per_request_s + bytes as f64 / self.cipher_rate
    }
}

/// Seconds between two encrypted requests, where two plain ones are `plain_s` apart with `queue_depth` in flight.
///
/// A closed circle of a device and one processor: with one request in flight the two take turns, and their times
/// add up; with many, the slower of them sets the pace, and each request still waits for its own processing once in
/// a round (asymptotic bounds of closed queueing networks: Lazowska and others, "Quantitative System Performance",
/// 1984, chapter 5).
#[must_use]
pub fn spacing_s(plain_s: f64, bytes: u64, queue_depth: u32, added: &Added) -> f64 {
    let extra = added.seconds(bytes);
    let in_flight = f64::from(queue_depth.max(1));
    extra.max(plain_s + extra / in_flight)
}

/// The share of plain speed that is left, 0 to 1.
#[must_use]
pub fn keeps(plain_s: f64, bytes: u64, queue_depth: u32, added: &Added) -> f64 {
    plain_s / spacing_s(plain_s, bytes, queue_depth, added)
}

/// Requests up to this size show what is paid per request.
const SMALL: u64 = 65_536;

/// What a layer takes per request, from requests whose plain and encrypted spacing are known: the median of what is
/// left of their extra time without the cipher's part, at least 0. `None` without any.
///
/// Each is `(plain_s, encrypted_s, bytes, queue_depth, cipher_rate)`. Requests that move more than 64 KiB say little
/// about it, nor do those that overlap with more others than need be: they are left out if there are others.
#[must_use]
pub fn per_request_s(known: &[(f64, f64, u64, u32, f64)]) -> Option<f64> {
    let left = |&(plain, encrypted, bytes, queue_depth, rate): &(f64, f64, u64, u32, f64)| {
        (encrypted - plain) * f64::from(queue_depth.max(1)) - bytes as f64 / rate
    };
    let small: Vec<_> = known.iter().filter(|k| k.2 <= SMALL).collect();
    let chosen: Vec<_> = if small.is_empty() { known.iter().collect() } else { small };
    let lowest = chosen.iter().map(|k| k.3).min()?;
    let mut found: Vec<f64> = chosen.into_iter().filter(|k| k.3 == lowest).map(left).collect();
    found.sort_unstable_by(f64::total_cmp);
    let half = found.len() / 2;
    let median = match found.len() {
        0 => return None,
        n if n % 2 == 0 => (found[half - 1] + found[half]) / 2.0,
        _ => found[half],
    };
    Some(median.max(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_add_up_one_at_a_time_and_overlap_with_more() {
        let added = Added { per_request_s: 10e-6, cipher_rate: 1e9 };
        assert!((added.seconds(10_000) - 20e-6).abs() < 1e-12);
        assert!((keeps(20e-6, 10_000, 1, &added) - 0.5).abs() < 1e-9);
        assert!((keeps(20e-6, 10_000, 4, &added) - 0.8).abs() < 1e-9);
        // The processor is the slower one: more in flight does not help.
        assert!((keeps(5e-6, 10_000, 64, &added) - 0.25).abs() < 1e-9);
    }

    #[test]
    fn what_was_added_is_found_again() {
        let added = Added { per_request_s: 7e-6, cipher_rate: 2e9 };
        let known: Vec<_> = [512u64, 4096, 65536, 1 << 20]
            .into_iter()
            .map(|bytes| (100e-6, spacing_s(100e-6, bytes, 1, &added), bytes, 1, 2e9))
            .collect();
        assert!((per_request_s(&known).unwrap() - 7e-6).abs() < 1e-9);
        assert!(per_request_s(&[]).is_none());
    }
}
