//! Predicts the cost of encryption on a device from the time of the device's plain requests, the speed of the cipher,
//! and the software's time per request.

/// The cost that an encryption layer adds to requests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Added {
    /// Seconds per request of any size, spent in the software path.
    pub per_request_s: f64,
    /// Speed of the cipher, bytes per second.
    pub cipher_rate: f64,
}

impl Added {
    /// CPU seconds for a request of `bytes`.
    pub fn seconds(&self, bytes: u64) -> f64 {
        self.per_request_s + bytes as f64 / self.cipher_rate
    }
}

/// A driver that handles one request at a time, in pieces, and processes each piece while the device is idle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Serial {
    /// Maximum size of a piece, in bytes.
    pub piece: u64,
}

impl Serial {
    /// Number of pieces of a request of `bytes`.
    pub fn pieces(self, bytes: u64) -> u64 {
        bytes.div_ceil(self.piece).max(1)
    }

    /// CPU seconds for a request of `bytes`; each piece incurs the time per request.
    pub fn seconds(self, bytes: u64, added: &Added) -> f64 {
        added.seconds(bytes) + (self.pieces(bytes) - 1) as f64 * added.per_request_s
    }
}

/// Seconds between completions of encrypted requests if plain requests complete every `plain_s` seconds, with
/// `queue_depth` requests in flight.
///
/// The model is a closed network of the device and one CPU. With one request in flight, the two work alternately, and
/// their times add up. With many requests in flight, the slower of the two determines the rate, and every request still
/// needs its own processing once per cycle (asymptotic bounds of closed queueing networks: Lazowska and others,
/// "Quantitative System Performance", 1984, chapter 5).
pub fn spacing_s(plain_s: f64, bytes: u64, queue_depth: u32, added: &Added) -> f64 {
    let extra = added.seconds(bytes);
    let in_flight = f64::from(queue_depth.max(1));
    extra.max(plain_s + extra / in_flight)
}

/// The remaining share of plain speed, 0 to 1.
pub fn keeps(plain_s: f64, bytes: u64, queue_depth: u32, added: &Added) -> f64 {
    plain_s / spacing_s(plain_s, bytes, queue_depth, added)
}

/// Requests of at most this size are suitable for estimating the cost per request.
const SMALL: u64 = 65_536;

/// A layer's seconds per request, estimated from requests with known plain and encrypted spacing: the median of their
/// extra time less the cipher's share, at least 0. `None` if there are no requests.
///
/// Each element is `(plain_s, encrypted_s, bytes, queue_depth, cipher_rate)`. Requests of more than 64 KiB reveal
/// little about this cost, as do requests with a queue depth above the lowest. Requests of both kinds are ignored if
/// there are any others.
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
        // The CPU is the slower one: a deeper queue does not help.
        assert!((keeps(5e-6, 10_000, 64, &added) - 0.25).abs() < 1e-9);
    }

    #[test]
    fn a_serial_driver_adds_its_time_to_each_piece() {
        let added = Added { per_request_s: 10e-6, cipher_rate: 1e9 };
        let serial = Serial { piece: 4096 };
        assert_eq!([0, 512, 4096, 4097, 10_000].map(|bytes| serial.pieces(bytes)), [1, 1, 1, 2, 3]);
        assert!((serial.seconds(10_000, &added) - 40e-6).abs() < 1e-12);
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
