//! What holds an arm back: Little's law on the disk below it, and plain storage's own speed with as
//! many requests in flight.
//!
//! A disk that holds `k` requests, each for `W` seconds, completes `k / W` of them in a second (J.
//! Little, "A proof for the queuing formula L = λW", Operations Research 9, 1961). If each request
//! of an arm becomes `r` of the disk's, its speed is `k / (r · W)`. So what an arm loses beside
//! plain storage is the product of three ratios: fewer requests in flight, more requests for each
//! that was asked for, and a disk that takes longer for each. [`Factors`] are their logarithms.
//!
//! The first two explain the loss only if the disk is as fast as plain storage finds it with so
//! many requests of such a size in flight: [`bottleneck`] names nothing if that prediction is
//! further than [`TOLERANCE`] from what was measured.

/// How far a prediction may be from the measured speed, as a factor.
pub const TOLERANCE: f64 = 1.15;

/// A thread that works for this share of the time, or more, has its processor full.
const FULL: f64 = 0.9;

/// A loss of less is not explained, as a logarithm of the factor.
const LEAST_LOSS: f64 = 0.03;

/// Reads of which the disk does less than this share come from a cache.
const CACHED: f64 = 0.8;

/// A request that becomes so many is said to become more.
const MORE: f64 = 1.2;

/// What one arm asked for in one workload, and what reached the disk.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Flow {
    /// Requests served in a second.
    pub rate: f64,
    /// Mean number of requests in flight at the disk.
    pub in_flight: f64,
    /// Requests of the disk for each that was asked for.
    pub per_request: f64,
    /// Mean bytes of a request of the disk.
    pub bytes: f64,
}

impl Flow {
    /// Seconds that a request stays at the disk.
    pub fn residence_s(&self) -> f64 {
        self.in_flight / (self.rate * self.per_request)
    }
}

/// The parts of a loss, as natural logarithms of ratios; their sum is ln(plain speed / speed).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Factors {
    /// Fewer requests in flight.
    pub in_flight: f64,
    /// More requests for each that was asked for.
    pub requests: f64,
    /// Longer at the disk.
    pub residence: f64,
}

impl Factors {
    /// Of the loss from `plain` to `arm`. `None` if a figure is not positive.
    pub fn of(plain: &Flow, arm: &Flow) -> Option<Self> {
        let factors = Self {
            in_flight: (plain.in_flight / arm.in_flight).ln(),
            requests: (arm.per_request / plain.per_request).ln(),
            residence: (arm.residence_s() / plain.residence_s()).ln(),
        };
        let all = [factors.in_flight, factors.requests, factors.residence];
        all.iter().all(|f| f.is_finite()).then_some(factors)
    }
}

/// A measured speed of plain storage.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Mean number of requests in flight at the disk.
    pub in_flight: f64,
    /// Bytes of a request.
    pub bytes: f64,
    /// Requests of the disk in a second.
    pub rate: f64,
}

/// Speeds of plain storage by number in flight, at one size, and by size.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Curve {
    by_depth: Vec<Point>,
    by_size: Vec<Point>,
}

impl Curve {
    /// From points that differ in the number in flight, and points that differ in size; those that
    /// are not positive are left out.
    pub fn new(mut by_depth: Vec<Point>, mut by_size: Vec<Point>) -> Self {
        for points in [&mut by_depth, &mut by_size] {
            points.retain(|p| p.in_flight > 0.0 && p.bytes > 0.0 && p.rate > 0.0);
        }
        by_depth.sort_by(|a, b| a.in_flight.total_cmp(&b.in_flight));
        by_size.sort_by(|a, b| a.bytes.total_cmp(&b.bytes));
        Self { by_depth, by_size }
    }

    /// Requests of `bytes` in a second with `in_flight` of them at the disk, between its points on
    /// logarithmic scales. `None` without a point.
    pub fn rate(&self, in_flight: f64, bytes: f64) -> Option<f64> {
        let first = self.by_depth.first()?;
        let rate = between(&self.by_depth, in_flight, |p| p.in_flight)?;
        let size = |bytes| between(&self.by_size, bytes, |p| p.bytes);
        let scale = match (size(bytes), size(first.bytes)) {
            (Some(this), Some(base)) => this / base,
            _ => 1.0,
        };
        // Fewer in flight than ever was measured: the disk is idle in between.
        let idle = if in_flight < first.in_flight { in_flight / first.in_flight } else { 1.0 };
        Some(rate * scale * idle)
    }
}

/// The rate at `x`, interpolated on logarithmic scales; that of the nearest end outside.
fn between(points: &[Point], x: f64, of: impl Fn(&Point) -> f64) -> Option<f64> {
    let after = points.iter().position(|p| of(p) >= x);
    let (low, high) = match after {
        None => return points.last().map(|p| p.rate),
        Some(0) => return points.first().map(|p| p.rate),
        Some(i) => (&points[i - 1], &points[i]),
    };
    let part = (x / of(low)).ln() / (of(high) / of(low)).ln();
    Some(low.rate * (high.rate / low.rate).powf(part))
}

/// What was asked of an arm, and what its processors did.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Asked {
    /// Requests in flight that were asked for.
    pub depth: f64,
    /// Bytes of a request.
    pub bytes: f64,
    /// Whether they read.
    pub reads: bool,
    /// Share of the time in which the arm's busiest thread worked, 0 to 1.
    pub busiest_thread: Option<f64>,
    /// Seconds that the cipher takes for a request on one processor.
    pub cipher_s: Option<f64>,
}

/// What holds an arm back.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cause {
    /// So many requests reach the disk at once, of those that were asked for.
    FewerInFlight {
        /// Mean number at the disk.
        in_flight: f64,
        /// Mean number at the disk on plain storage.
        plain: f64,
    },
    /// One thread has a processor to itself, and it is full.
    CoreFull {
        /// Share of the time.
        share: f64,
    },
    /// A request becomes pieces of this size, one after another.
    Pieces {
        /// Bytes of a piece.
        bytes: f64,
        /// Pieces of a request.
        pieces: f64,
    },
    /// The disk gets more requests, or more bytes, than were asked for.
    MoreRequests {
        /// Requests of the disk for each.
        per_request: f64,
        /// Bytes at the disk for each byte.
        per_byte: f64,
    },
    /// Seconds added to each request while none other is in flight.
    AddedTime {
        /// Seconds.
        seconds: f64,
    },
    /// The cipher, which takes most of the added time.
    Cipher {
        /// Seconds of each request.
        seconds: f64,
    },
    /// A cache answers reads, so the disk does not limit them.
    Cache {
        /// Bytes at the disk for each byte.
        per_byte: f64,
    },
}

/// A cause, and the speed that follows from it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bottleneck {
    /// What holds the arm back.
    pub cause: Cause,
    /// Requests in a second that the cause allows.
    pub predicted: f64,
}

/// What holds `arm` back beside `plain`. `None` if it loses nothing worth explaining, or if nothing
/// that can be reckoned agrees with what was measured.
pub fn bottleneck(asked: &Asked, plain: &Flow, arm: &Flow, curve: &Curve) -> Option<Bottleneck> {
    let factors = Factors::of(plain, arm)?;
    if (plain.rate / arm.rate).ln() < LEAST_LOSS {
        return None;
    }
    let per_byte = arm.per_request * arm.bytes / asked.bytes;
    if asked.reads && per_byte < CACHED {
        return Some(Bottleneck { cause: Cause::Cache { per_byte }, predicted: arm.rate });
    }
    if let Some(share) = asked.busiest_thread.filter(|share| *share >= FULL) {
        return agreeing(Cause::CoreFull { share }, arm.rate / share.min(1.0), arm);
    }
    // As plain storage would do with these requests, relative to how well the curve knows plain.
    let of = |flow: &Flow| Some(curve.rate(flow.in_flight, flow.bytes)? / flow.per_request);
    let predicted = of(arm)? * plain.rate / of(plain)?;
    let more = arm.per_request / plain.per_request >= MORE;
    let bytes_more = per_byte / (plain.per_request * plain.bytes / asked.bytes) >= MORE;
    let cause = match (more, bytes_more) {
        (true, false) => Cause::Pieces { bytes: arm.bytes, pieces: arm.per_request },
        (_, true) if factors.in_flight < factors.requests + factors.residence => {
            Cause::MoreRequests { per_request: arm.per_request, per_byte }
        }
        _ => waiting(asked, plain, arm),
    };
    agreeing(cause, predicted, arm)
}

/// Why fewer requests are at the disk.
fn waiting(asked: &Asked, plain: &Flow, arm: &Flow) -> Cause {
    let seconds = 1.0 / arm.rate - 1.0 / plain.rate;
    match asked.cipher_s {
        Some(cipher_s) if cipher_s >= seconds / 2.0 => Cause::Cipher { seconds: cipher_s },
        _ if asked.depth <= 1.0 => Cause::AddedTime { seconds },
        _ => Cause::FewerInFlight { in_flight: arm.in_flight, plain: plain.in_flight },
    }
}

fn agreeing(cause: Cause, predicted: f64, arm: &Flow) -> Option<Bottleneck> {
    let off = (predicted / arm.rate).ln().abs();
    (off <= TOLERANCE.ln()).then_some(Bottleneck { cause, predicted })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A disk that serves 8 requests at once, each in 50 µs and 1 ns for each byte.
    fn curve() -> Curve {
        let rate = |k: f64, bytes: f64| k.min(8.0) / (50e-6 + bytes * 1e-9);
        let point = |k: f64, bytes: f64| Point { in_flight: k, bytes, rate: rate(k, bytes) };
        let depths = [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0];
        let sizes = (12..=20).map(|bits| point(1.0, f64::from(1 << bits)));
        Curve::new(depths.map(|k| point(k, 4096.0)).to_vec(), sizes.collect())
    }

    const SERVICE: f64 = 50e-6 + 4096e-9;

    const ASKED: Asked =
        Asked { depth: 32.0, bytes: 4096.0, reads: true, busiest_thread: None, cipher_s: None };

    fn plain() -> Flow {
        Flow { rate: 8.0 / SERVICE, in_flight: 32.0, per_request: 1.0, bytes: 4096.0 }
    }

    fn named(asked: Asked, plain: Flow, arm: Flow) -> Option<Cause> {
        bottleneck(&asked, &plain, &arm, &curve()).map(|b| b.cause)
    }

    #[test]
    fn factors_multiply_to_the_loss() {
        let arm = Flow { rate: 9_000.0, in_flight: 0.7, per_request: 1.5, bytes: 6_000.0 };
        let f = Factors::of(&plain(), &arm).unwrap();
        let loss = (plain().rate / arm.rate).ln();
        assert!((f.in_flight + f.requests + f.residence - loss).abs() < 1e-12);
        assert_eq!(Factors::of(&plain(), &Flow { rate: 0.0, ..arm }), None);
    }

    #[test]
    fn one_at_a_time_is_named_with_what_plain_does_so() {
        // The disk has a request for half of the time.
        let arm = Flow { rate: 0.5 / SERVICE, in_flight: 0.5, ..plain() };
        let cause = named(ASKED, plain(), arm);
        assert_eq!(cause, Some(Cause::FewerInFlight { in_flight: 0.5, plain: 32.0 }));
    }

    #[test]
    fn a_disk_that_is_slower_than_its_curve_explains_nothing() {
        let arm = Flow { rate: 0.5 / SERVICE / 1.3, in_flight: 0.5, ..plain() };
        assert_eq!(named(ASKED, plain(), arm), None);
    }

    #[test]
    fn no_loss_has_no_cause() {
        assert_eq!(named(ASKED, plain(), Flow { rate: plain().rate * 0.99, ..plain() }), None);
    }

    #[test]
    fn a_full_core_is_named_before_what_follows_from_it() {
        let arm = Flow { rate: 0.5 / SERVICE, in_flight: 0.5, ..plain() };
        let asked = Asked { busiest_thread: Some(0.97), ..ASKED };
        assert_eq!(named(asked, plain(), arm), Some(Cause::CoreFull { share: 0.97 }));
    }

    #[test]
    fn pieces_and_amplification_are_told_apart_by_the_bytes() {
        let large = Asked { bytes: 1_048_576.0, depth: 8.0, ..ASKED };
        let service = |bytes: f64| 50e-6 + bytes * 1e-9;
        let plain = Flow {
            rate: 8.0 / service(large.bytes),
            in_flight: 8.0,
            per_request: 1.0,
            bytes: large.bytes,
        };
        let piece = 131_072.0;
        let arm = Flow {
            rate: 1.0 / service(piece) / 8.0,
            in_flight: 1.0,
            per_request: 8.0,
            bytes: piece,
        };
        assert_eq!(named(large, plain, arm), Some(Cause::Pieces { bytes: piece, pieces: 8.0 }));
        // Read, modify, write: three requests for one.
        let arm = Flow { rate: self::plain().rate / 3.0, per_request: 3.0, ..self::plain() };
        let writes = Asked { reads: false, ..ASKED };
        let cause = Cause::MoreRequests { per_request: 3.0, per_byte: 3.0 };
        assert_eq!(named(writes, self::plain(), arm), Some(cause));
    }

    #[test]
    fn alone_in_flight_the_added_time_is_named_or_the_cipher() {
        let alone = Asked { depth: 1.0, ..ASKED };
        let plain = Flow { rate: 1.0 / SERVICE, in_flight: 1.0, ..plain() };
        let arm = |added: f64| {
            let rate = 1.0 / (SERVICE + added);
            Flow { rate, in_flight: rate * SERVICE, ..plain }
        };
        let Some(Cause::AddedTime { seconds }) = named(alone, plain, arm(30e-6)) else { panic!() };
        assert!((seconds - 30e-6).abs() < 1e-9);
        let asked = Asked { cipher_s: Some(25e-6), ..alone };
        assert_eq!(named(asked, plain, arm(30e-6)), Some(Cause::Cipher { seconds: 25e-6 }));
    }

    #[test]
    fn reads_from_a_cache_are_not_the_disks() {
        let arm = Flow { rate: plain().rate / 2.0, per_request: 0.1, in_flight: 0.4, ..plain() };
        assert_eq!(named(ASKED, plain(), arm), Some(Cause::Cache { per_byte: 0.1 }));
    }
}
