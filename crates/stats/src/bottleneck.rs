//! The bottleneck of an arm: Little's law on its underlying disk, and the speed of plain storage with the same
//! number of requests in flight.
//!
//! A disk that holds `k` requests, each for `W` seconds, completes `k / W` of them per second (J. Little, "A
//! proof for the queuing formula L = λW", Operations Research 9, 1961). If each request of an arm becomes `r`
//! disk requests, its speed is `k / (r · W)`. So the loss of an arm relative to plain storage is the product of
//! three ratios: fewer requests in flight, more disk requests per issued request, and a longer disk time for
//! each. [`Factors`] are their logarithms.
//!
//! The first two explain the loss only if the disk is as fast as it was for plain storage with that many
//! requests of that size in flight. Without disk counters, an arm's own speed at queue depth 1 and the CPU work
//! per request also predict a speed. [`bottleneck`] returns no cause if the prediction is further than
//! [`TOLERANCE`] from the measured speed. A full thread, full CPUs and a cache need no prediction.

/// Maximum deviation of a prediction from the measured speed, as a factor.
pub const TOLERANCE: f64 = 1.15;

/// A thread that works, or waits for a CPU, for at least this share of the time is the bottleneck. Its maximum speed is
/// then the measured speed, within the tolerance of any prediction.
pub const FULL: f64 = 1.0 / TOLERANCE;

/// A thread that works for more than this share of the time may be the bottleneck without filling its CPU, if
/// others use that CPU.
const MUCH: f64 = 0.5;

/// A cipher is measured in RAM for a moment, so it may have been faster in the run by up to this factor.
const CIPHER_TOLERANCE: f64 = 1.3;

/// A loss smaller than this factor is not explained.
pub const LEAST_LOSS: f64 = 1.03;

/// A cause that predicts less than this share of the loss, or more than its inverse, is not the bottleneck.
const LEAST_EXPLAINED: f64 = 0.5;

/// If the disk does less than this share of the reads, they come from a cache.
const CACHED: f64 = 0.8;

/// At this ratio of disk requests to issued requests or more, the arm counts as causing more requests.
pub const MORE: f64 = 1.2;

/// At this ratio of smaller disk requests to issued requests or more, a request counts as split. The kernel sometimes
/// also splits or merges plain storage's requests.
pub const CUT: f64 = 1.5;

/// Plain storage that is this many times as fast with more requests in flight benefits from them.
const GAINS: f64 = 1.3;

/// The requests of one arm in one workload, and those that reached the disk.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Flow {
    /// Requests served in a second.
    pub rate: f64,
    /// Mean number of requests in flight at the disk.
    pub in_flight: f64,
    /// Disk requests per issued request.
    pub per_request: f64,
    /// Mean size of a disk request, in bytes.
    pub bytes: f64,
    /// Share of the time in which the disk has a request, 0 to 1.
    pub busy: f64,
}

impl Flow {
    /// Seconds that a request spends at the disk.
    pub fn residence_s(&self) -> f64 {
        self.in_flight / (self.rate * self.per_request)
    }

    /// The speed at the disk while it has a request, as a point of a curve.
    pub fn point(&self) -> Point {
        let Self { rate, in_flight, per_request, bytes, busy } = *self;
        Point { in_flight: in_flight / busy, bytes, rate: rate * per_request / busy }
    }

    /// Requests per second that plain storage would serve with this many requests at the disk, for the same share
    /// of the time.
    pub fn on(&self, curve: &Curve) -> Option<f64> {
        let Point { in_flight, bytes, .. } = self.point();
        Some(self.busy * curve.rate(in_flight, bytes)? / self.per_request)
    }
}

/// The parts of a loss, as natural logarithms of ratios; their sum is ln(plain speed / speed).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Factors {
    /// Fewer requests in flight.
    pub in_flight: f64,
    /// More disk requests per issued request.
    pub requests: f64,
    /// Longer at the disk.
    pub residence: f64,
}

impl Factors {
    /// The loss from `plain` to `arm`. `None` if a figure is not positive.
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

/// A measured speed of plain storage, while the disk has a request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Mean number of requests in flight at the disk, at least 1.
    pub in_flight: f64,
    /// Bytes of a request.
    pub bytes: f64,
    /// Disk requests per second.
    pub rate: f64,
}

/// Sizes that differ by less than this factor count as one size.
const ONE_SIZE: f64 = 1.2;

/// Speeds of plain storage by size and number in flight.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Curve {
    /// Points grouped by size; within a size, in order of the number in flight.
    sizes: Vec<Vec<Point>>,
}

impl Curve {
    /// Builds the curve from points in any order; omits points that are not positive.
    pub fn new(mut points: Vec<Point>) -> Self {
        points.retain(|p| p.in_flight > 0.0 && p.bytes > 0.0 && p.rate > 0.0);
        points.sort_by(|a, b| a.bytes.total_cmp(&b.bytes));
        let mut sizes: Vec<Vec<Point>> = Vec::new();
        for point in points {
            match sizes.last_mut().filter(|size| point.bytes < ONE_SIZE * size[0].bytes) {
                Some(size) => size.push(point),
                None => sizes.push(vec![point]),
            }
        }
        for size in &mut sizes {
            size.sort_by(|a, b| a.in_flight.total_cmp(&b.in_flight));
        }
        Self { sizes }
    }

    /// Requests of `bytes` per second with `in_flight` of them at the disk, interpolated between the points on
    /// logarithmic scales. `None` if there are no points.
    pub fn rate(&self, in_flight: f64, bytes: f64) -> Option<f64> {
        let after = self.sizes.iter().position(|size| size[0].bytes >= bytes);
        let (low, high) = match after {
            // Larger than all points: as many bytes per second as at the largest point.
            None => {
                let last = self.sizes.last()?;
                return Some(at(last, in_flight) * last[0].bytes / bytes);
            }
            Some(0) => return Some(at(&self.sizes[0], in_flight)),
            Some(i) => (&self.sizes[i - 1], &self.sizes[i]),
        };
        let part = (bytes / low[0].bytes).ln() / (high[0].bytes / low[0].bytes).ln();
        let (low, high) = (at(low, in_flight), at(high, in_flight));
        Some(low * (high / low).powf(part))
    }
}

/// The rate with `in_flight` requests of one size.
fn at(points: &[Point], in_flight: f64) -> f64 {
    let after = points.iter().position(|p| p.in_flight >= in_flight);
    let (low, high) = match after {
        None => return points.last().map_or(f64::NAN, |p| p.rate),
        // At most the smallest measured number.
        Some(0) => return points[0].rate * in_flight / points[0].in_flight,
        Some(i) => (&points[i - 1], &points[i]),
    };
    let part = (in_flight / low.in_flight).ln() / (high.in_flight / low.in_flight).ln();
    low.rate * (high.rate / low.rate).powf(part)
}

/// The requests issued to an arm, its speed, and its CPU work.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Asked {
    /// Requested queue depth.
    pub depth: f64,
    /// Bytes of a request.
    pub bytes: f64,
    /// Whether they read.
    pub reads: bool,
    /// Requests that the arm served per second.
    pub rate: f64,
    /// Requests that plain storage served per second.
    pub plain_rate: f64,
    /// The speeds of the arm and of plain storage at queue depth 1.
    pub alone: Option<(f64, f64)>,
    /// The arm's disk requests per second at queue depth 1, if it splits requests of another size into equal pieces.
    pub pieces_alone: Option<f64>,
    /// CPU seconds per request, minus the CPU seconds of plain storage.
    pub work_s: Option<f64>,
    /// The part of these seconds that cannot run in parallel: the work of the busiest thread, or the whole work
    /// divided by the number of CPUs.
    pub unshared_work_s: Option<f64>,
    /// The reads that precede each write.
    pub reads_first: Option<ReadsFirst>,
    /// Share of the time in which the arm's busiest thread worked, 0 to 1.
    pub busiest_thread: Option<f64>,
    /// Share of the time in which that thread could run but had no CPU, 0 to 1; 0 if unknown.
    pub waits: f64,
    /// Share of the time in which all CPUs together worked on these requests, 0 to 1.
    pub processors: Option<f64>,
    /// CPU seconds of the cipher per request.
    pub cipher_s: Option<f64>,
}

impl Asked {
    /// Share of the time in which the busiest thread worked or waited for a CPU.
    fn occupied(&self) -> Option<f64> {
        Some(self.busiest_thread? + self.waits)
    }
}

/// The reads that must precede a write, in sequence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReadsFirst {
    /// Disk reads for each write.
    pub per_request: f64,
    /// Mean bytes of a read.
    pub bytes: f64,
    /// Disk seconds of all reads for one write.
    pub seconds: f64,
    /// Disk seconds of a plain write, if nothing waits at the disk for the arm's writes.
    pub written_later_s: f64,
}

/// The requests that reached the disk.
#[derive(Clone, Copy, Debug)]
pub struct Disk<'a> {
    /// From plain storage.
    pub plain: Flow,
    /// From the arm.
    pub arm: Flow,
    /// The speed of plain storage.
    pub curve: &'a Curve,
}

/// The bottleneck of an arm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cause {
    /// Only this many of the requested number of requests are at the disk at the same time.
    FewerInFlight {
        /// Mean number at the disk.
        in_flight: f64,
    },
    /// One thread works, or waits for a CPU, nearly all the time.
    CoreFull {
        /// Share of the time in which it works.
        share: f64,
        /// Share of the time in which it waits for a CPU.
        waits: f64,
    },
    /// All CPUs are full.
    ProcessorsFull {
        /// Share of their time.
        share: f64,
    },
    /// A request becomes pieces of this size.
    Pieces {
        /// Bytes of a piece.
        bytes: f64,
        /// Pieces of a request.
        pieces: f64,
        /// CPU seconds spent on them, if the loss follows from that and not from the disk.
        work_s: Option<f64>,
    },
    /// The disk gets more requests, or more bytes, than were requested.
    MoreRequests {
        /// Disk requests per issued request.
        per_request: f64,
        /// Bytes transferred by the disk per requested byte.
        per_byte: f64,
    },
    /// Each write waits for reads.
    ReadsFirst {
        /// Reads for each write.
        per_request: f64,
        /// Bytes of a read.
        bytes: f64,
        /// Seconds of a write's reads.
        seconds: f64,
    },
    /// The arm is only as fast as it is at queue depth 1.
    OneAtATime {
        /// Requests per second, one at a time.
        alone: f64,
    },
    /// Seconds added to each request while no other request is in flight.
    AddedTime {
        /// Seconds.
        seconds: f64,
        /// The part of these seconds in which a CPU works.
        work_s: Option<f64>,
    },
    /// The cipher: it causes most of the added time.
    Cipher {
        /// Seconds of each request.
        seconds: f64,
    },
    /// A cache serves reads, so the disk does not limit them.
    Cache {
        /// Bytes transferred by the disk per requested byte.
        per_byte: f64,
    },
}

/// A cause, and the speed that follows from it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bottleneck {
    /// The bottleneck.
    pub cause: Cause,
    /// Requests per second that the cause allows; a cache allows any number.
    pub predicted: Option<f64>,
}

/// The bottleneck of an arm. `None` if its loss is too small to explain, or if no computed cause agrees with the
/// measurement. Without disk counters fewer causes can be found.
pub fn bottleneck(asked: &Asked, disk: Option<Disk<'_>>) -> Option<Bottleneck> {
    if asked.plain_rate / asked.rate <= LEAST_LOSS {
        return None;
    }
    let cached = disk.and_then(|disk| cached(asked, &disk.arm));
    let loss = (asked.plain_rate / asked.rate).ln();
    let agreeing = |found: &Bottleneck| {
        found.predicted.is_some_and(|rate| {
            let explained = (asked.plain_rate / rate).ln();
            (rate / asked.rate).ln().abs() <= TOLERANCE.ln()
                && (LEAST_EXPLAINED * loss..=loss / LEAST_EXPLAINED).contains(&explained)
        })
    };
    let cut = disk.and_then(|disk| pieces(asked, &disk));
    cached
        .or_else(|| full(asked))
        .or_else(|| reads_first(asked).filter(agreeing))
        .or_else(|| at_the_disk(asked, &disk?, cut, false).filter(agreeing))
        .or_else(|| piece_by_piece(asked, &disk?, cut?).filter(agreeing))
        .or_else(|| gains_nothing(asked).filter(agreeing))
        .or_else(|| worked(asked, cut, asked.work_s).filter(agreeing))
        .or_else(|| beside_the_disk(asked, &disk?, cut).filter(agreeing))
        // Several threads may work on the pieces, and they wait for the part that cannot run in parallel.
        .or_else(|| worked(asked, Some(cut?), asked.unshared_work_s).filter(agreeing))
        .or_else(|| one_at_a_time(asked).filter(agreeing))
        .or_else(|| at_the_disk(asked, &disk?, cut, true).filter(agreeing))
        .or_else(|| by_turns(asked, cut).filter(agreeing))
}

fn per_byte(asked: &Asked, flow: &Flow) -> f64 {
    flow.per_request * flow.bytes / asked.bytes
}

fn cached(asked: &Asked, arm: &Flow) -> Option<Bottleneck> {
    let per_byte = per_byte(asked, arm);
    let cause = Cause::Cache { per_byte };
    (asked.reads && per_byte < CACHED).then_some(Bottleneck { cause, predicted: None })
}

fn full(asked: &Asked) -> Option<Bottleneck> {
    let is_full = |share: Option<f64>| share.filter(|share| *share >= FULL);
    let thread = is_full(asked.occupied())
        .zip(asked.busiest_thread)
        .map(|(occupied, share)| (Cause::CoreFull { share, waits: asked.waits }, occupied));
    let all = || is_full(asked.processors).map(|share| (Cause::ProcessorsFull { share }, share));
    let (cause, share) = thread.or_else(all)?;
    Some(Bottleneck { cause, predicted: Some(asked.rate / share.min(1.0)) })
}

/// A write takes as long as on plain storage, plus its preceding reads and the additional CPU work.
fn reads_first(asked: &Asked) -> Option<Bottleneck> {
    let ReadsFirst { per_request, bytes, seconds, written_later_s } = asked.reads_first?;
    let (_, plain_rate) = one_by_one(asked)?;
    let predicted = 1.0 / (1.0 / plain_rate - written_later_s + seconds + asked.work_s?);
    let cause = Cause::ReadsFirst { per_request, bytes, seconds };
    (predicted > 0.0).then_some(Bottleneck { cause, predicted: Some(predicted) })
}

/// At queue depth 1 a request takes as long as on plain storage, plus the additional CPU work. If it is split
/// into `pieces`, the work is divided among them, and several threads may do it.
fn worked(asked: &Asked, pieces: Option<Cause>, work_s: Option<f64>) -> Option<Bottleneck> {
    let (rate, plain_rate) = one_by_one(asked).filter(|_| asked.reads_first.is_none())?;
    let predicted = 1.0 / (1.0 / plain_rate + work_s?);
    let cause =
        by_pieces(pieces, work_s).unwrap_or_else(|| added(asked, (rate, plain_rate), work_s, true));
    Some(Bottleneck { cause, predicted: Some(predicted) })
}

/// If a request is split, the pieces as the cause; `work_s` is the CPU time spent on them.
fn by_pieces(cut: Option<Cause>, work_s: Option<f64>) -> Option<Cause> {
    match cut? {
        Cause::Pieces { bytes, pieces, .. } => Some(Cause::Pieces { bytes, pieces, work_s }),
        _ => None,
    }
}

/// Pieces that are no faster with more requests in flight than the pieces of one request.
fn piece_by_piece(asked: &Asked, disk: &Disk<'_>, cut: Cause) -> Option<Bottleneck> {
    let predicted = asked.pieces_alone.filter(|_| asked.depth > 1.0)? / disk.arm.per_request;
    matches!(cut, Cause::Pieces { .. })
        .then_some(Bottleneck { cause: cut, predicted: Some(predicted) })
}

/// At queue depth 1 a request takes the time of its disk requests, the time that plain storage spends outside the disk,
/// and the additional CPU work. This holds even if the disk is faster than for plain storage, because the disk reads
/// ahead during the work.
fn beside_the_disk(
    asked: &Asked,
    Disk { plain, arm, .. }: &Disk<'_>,
    cut: Option<Cause>,
) -> Option<Bottleneck> {
    let work_s = asked.work_s.filter(|_| asked.depth <= 1.0 && asked.reads_first.is_none())?;
    let at_disk_s = |flow: &Flow| flow.in_flight / flow.rate;
    let outside_s = (1.0 / plain.rate - at_disk_s(plain)).max(0.0);
    let more_at_disk_s = at_disk_s(arm) - at_disk_s(plain);
    let cause = match cut {
        Some(pieces) => pieces,
        None if more_at_disk_s <= work_s => {
            added(asked, (asked.rate, asked.plain_rate), asked.work_s, true)
        }
        None if more_bytes(asked, plain, arm) => more_requests(asked, arm),
        None => return None,
    };
    let predicted = Some(1.0 / (at_disk_s(arm) + outside_s + work_s));
    Some(Bottleneck { cause, predicted })
}

/// An arm that is as fast as at queue depth 1 loses what plain storage gains by a deeper queue.
fn gains_nothing(asked: &Asked) -> Option<Bottleneck> {
    let (alone, plain_alone) = asked.alone.filter(|_| asked.depth > 1.0)?;
    let cause = Cause::OneAtATime { alone };
    (asked.rate / alone < TOLERANCE).then_some(Bottleneck { cause, predicted: Some(plain_alone) })
}

/// The speeds of an arm and of plain storage at queue depth 1: the measured ones or, if a deeper queue helps
/// neither, those at the requested depth.
fn one_by_one(asked: &Asked) -> Option<(f64, f64)> {
    if asked.depth <= 1.0 {
        return Some((asked.rate, asked.plain_rate));
    }
    let (alone, plain_alone) = asked.alone?;
    let is_serial = asked.rate / alone < TOLERANCE && asked.plain_rate / plain_alone < GAINS;
    is_serial.then_some((asked.rate, plain_alone))
}

/// The pieces of a request, if it is split: more requests, but not more bytes.
fn pieces(asked: &Asked, Disk { plain, arm, .. }: &Disk<'_>) -> Option<Cause> {
    let is_cut = arm.per_request / plain.per_request >= CUT
        && !more_bytes(asked, plain, arm)
        && asked.reads_first.is_none();
    is_cut.then_some(Cause::Pieces { bytes: arm.bytes, pieces: arm.per_request, work_s: None })
}

fn more_bytes(asked: &Asked, plain: &Flow, arm: &Flow) -> bool {
    per_byte(asked, arm) / per_byte(asked, plain) >= MORE
}

fn more_requests(asked: &Asked, arm: &Flow) -> Cause {
    Cause::MoreRequests { per_request: arm.per_request, per_byte: per_byte(asked, arm) }
}

/// The cipher, if it causes most of the work from which the speed follows (`by_work`), or most of the added time;
/// otherwise the added time.
fn added(
    asked: &Asked,
    (rate, plain_rate): (f64, f64),
    work_s: Option<f64>,
    by_work: bool,
) -> Cause {
    let seconds = 1.0 / rate - 1.0 / plain_rate;
    // CPUs share the cipher's work in the same way as all work.
    let part = work_s.zip(asked.work_s).map_or(1.0, |(part, all)| part / all);
    let of = if by_work { work_s.unwrap_or(seconds) } else { seconds };
    match asked.cipher_s.map(|cipher_s| cipher_s * part) {
        // A cipher that takes longer in RAM cannot be the arm's cipher.
        Some(cipher_s) if (of / 2.0..=of * CIPHER_TOLERANCE).contains(&cipher_s) => {
            Cause::Cipher { seconds: cipher_s }
        }
        _ => Cause::AddedTime { seconds, work_s },
    }
}

/// Even with many requests in flight, the disk is idle while a CPU does work that cannot run in parallel.
fn by_turns(asked: &Asked, cut: Option<Cause>) -> Option<Bottleneck> {
    let work_s = asked.unshared_work_s;
    let predicted = 1.0 / (1.0 / asked.plain_rate + work_s?);
    let cause = by_pieces(cut, work_s)
        .unwrap_or_else(|| added(asked, (asked.rate, asked.plain_rate), work_s, true));
    let may_be = asked.depth > 1.0 && asked.reads_first.is_none();
    may_be.then_some(Bottleneck { cause, predicted: Some(predicted) })
}

/// A deeper queue helps plain storage, but not the arm.
fn one_at_a_time(asked: &Asked) -> Option<Bottleneck> {
    let (alone, plain_alone) = asked.alone.filter(|_| asked.depth > 1.0)?;
    let cause = Cause::OneAtATime { alone };
    (asked.plain_rate / plain_alone >= GAINS)
        .then_some(Bottleneck { cause, predicted: Some(alone) })
}

/// The cause found from the disk requests: more of them or, if `any` cause is accepted, fewer in flight. `cut`
/// contains the pieces of a split request.
fn at_the_disk(
    asked: &Asked,
    disk: &Disk<'_>,
    cut: Option<Cause>,
    any: bool,
) -> Option<Bottleneck> {
    let Disk { plain, arm, curve } = disk;
    let factors = Factors::of(plain, arm)?;
    // Relative to the accuracy of the curve for plain storage.
    let predicted = arm.on(curve)? * asked.plain_rate / plain.on(curve)?;
    let cause = match cut {
        Some(pieces) => pieces,
        None if more_bytes(asked, plain, arm)
            && factors.in_flight < factors.requests + factors.residence =>
        {
            more_requests(asked, arm)
        }
        _ if !any => return None,
        _ if asked.depth <= 1.0 && asked.reads_first.is_some() => return None,
        _ if asked.depth <= 1.0 => {
            added(asked, (asked.rate, asked.plain_rate), asked.work_s, false)
        }
        _ if asked.occupied().is_some_and(|share| share > MUCH) => return None,
        _ => Cause::FewerInFlight { in_flight: arm.in_flight },
    };
    Some(Bottleneck { cause, predicted: Some(predicted) })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A disk that serves 8 requests in parallel, each in 50 µs plus 1 ns per byte.
    fn curve() -> Curve {
        let rate = |k: f64, bytes: f64| k.min(8.0) / (50e-6 + bytes * 1e-9);
        let point = |k: f64, bytes: f64| Point { in_flight: k, bytes, rate: rate(k, bytes) };
        let by_depth = [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0].map(|k| point(k, 4096.0));
        let sizes = (14..=20).map(|bits| f64::from(1 << bits));
        let by_size = sizes.flat_map(|bytes| [1.0, 8.0].map(|k| point(k, bytes)));
        Curve::new(by_size.chain(by_depth).collect())
    }

    #[test]
    fn a_curve_is_read_between_its_points_and_beyond_them() {
        let curve = curve();
        let close = |k: f64, bytes: f64, rate: f64| {
            let found = curve.rate(k, bytes).unwrap();
            assert!((found / rate - 1.0).abs() < 0.03, "{k} {bytes}: {found} {rate}");
        };
        close(3.0, 4096.0, 3.0 / SERVICE);
        close(0.1, 4096.0, 0.1 / SERVICE);
        close(64.0, 4096.0, 8.0 / SERVICE);
        close(2.0, 1_048_576.0, 2.0 / (50e-6 + 1_048_576e-9));
        close(1.0, 2.0 * 1_048_576.0, 0.5 / (50e-6 + 1_048_576e-9));
        close(4.0, 49_152.0, 4.0 / (50e-6 + 49_152e-9));
        assert_eq!(Curve::default().rate(1.0, 4096.0), None);
        let cut = Flow { per_request: 2.0, bytes: 2048.0, ..plain() };
        assert_eq!(Curve::new(vec![cut.point()]).rate(32.0, 2048.0), Some(2.0 * plain().rate));
    }

    const SERVICE: f64 = 50e-6 + 4096e-9;

    const ASKED: Asked = Asked {
        depth: 32.0,
        bytes: 4096.0,
        reads: true,
        rate: 0.0,
        plain_rate: 0.0,
        alone: None,
        pieces_alone: None,
        work_s: None,
        unshared_work_s: None,
        reads_first: None,
        busiest_thread: None,
        waits: 0.0,
        processors: None,
        cipher_s: None,
    };

    fn plain() -> Flow {
        Flow { rate: 8.0 / SERVICE, in_flight: 32.0, per_request: 1.0, bytes: 4096.0, busy: 1.0 }
    }

    fn named(asked: Asked, plain: Flow, arm: Flow) -> Option<Cause> {
        let asked = Asked { rate: arm.rate, plain_rate: plain.rate, ..asked };
        bottleneck(&asked, Some(Disk { plain, arm, curve: &curve() })).map(|b| b.cause)
    }

    #[test]
    fn without_the_disk_s_counts_speeds_and_work_alone_tell() {
        let asked = Asked { rate: 10_000.0, plain_rate: 83_000.0, ..ASKED };
        assert_eq!(bottleneck(&asked, None), None);
        let alone = Some((9_600.0, 18_400.0));
        let found = bottleneck(&Asked { alone, ..asked }, None).unwrap();
        assert_eq!(found.cause, Cause::OneAtATime { alone: 9_600.0 });
        assert_eq!(found.predicted, Some(9_600.0));
        // It is twice as fast at a high queue depth as at depth 1, or plain storage does not benefit either.
        assert_eq!(bottleneck(&Asked { alone: Some((5_000.0, 18_400.0)), ..asked }, None), None);
        assert_eq!(bottleneck(&Asked { alone: Some((9_600.0, 80_000.0)), ..asked }, None), None);
        let one = Asked { depth: 1.0, rate: 9_570.0, plain_rate: 18_400.0, ..ASKED };
        let found = bottleneck(&Asked { work_s: Some(45e-6), ..one }, None).unwrap();
        assert!(matches!(found.cause, Cause::AddedTime { work_s: Some(_), .. }), "{found:?}");
        assert!((found.predicted.unwrap() - 10_066.0).abs() < 5.0, "{found:?}");
        assert_eq!(bottleneck(&Asked { work_s: Some(15e-6), ..one }, None), None, "it waits, too");
    }

    #[test]
    fn what_is_no_faster_with_more_at_once_adds_to_each_where_plain_gains_as_little() {
        let asked = Asked { depth: 8.0, rate: 590.0, plain_rate: 7_400.0, ..ASKED };
        let asked = Asked { alone: Some((600.0, 5_900.0)), work_s: Some(1.4e-3), ..asked };
        let found = bottleneck(&asked, None).unwrap();
        let Cause::AddedTime { seconds, .. } = found.cause else { panic!("{found:?}") };
        assert!((seconds - (1.0 / 590.0 - 1.0 / 5_900.0)).abs() < 1e-9);
        assert!((found.predicted.unwrap() - 637.0).abs() < 1.0, "{found:?}");
        let twice = Asked { rate: 1_200.0, ..asked };
        assert_eq!(bottleneck(&twice, None), None, "more at once help it");
    }

    #[test]
    fn factors_multiply_to_the_loss() {
        let arm =
            Flow { rate: 9_000.0, in_flight: 0.7, per_request: 1.5, bytes: 6_000.0, busy: 0.7 };
        let f = Factors::of(&plain(), &arm).unwrap();
        let loss = (plain().rate / arm.rate).ln();
        assert!((f.in_flight + f.requests + f.residence - loss).abs() < 1e-12);
        assert_eq!(Factors::of(&plain(), &Flow { rate: 0.0, ..arm }), None);
    }

    #[test]
    fn one_at_a_time_is_named_with_what_plain_does_so() {
        // The disk has a request for half of the time.
        let arm = Flow { rate: 0.5 / SERVICE, in_flight: 0.5, busy: 0.5, ..plain() };
        let cause = named(ASKED, plain(), arm);
        assert_eq!(cause, Some(Cause::FewerInFlight { in_flight: 0.5 }));
    }

    #[test]
    fn a_disk_that_is_slower_than_its_curve_explains_nothing() {
        let arm = Flow { rate: 0.5 / SERVICE / 1.3, in_flight: 0.5, busy: 0.5, ..plain() };
        assert_eq!(named(ASKED, plain(), arm), None);
    }

    #[test]
    fn no_loss_has_no_cause() {
        assert_eq!(named(ASKED, plain(), Flow { rate: plain().rate * 0.99, ..plain() }), None);
    }

    #[test]
    fn a_full_core_is_named_before_what_follows_from_it() {
        let arm = Flow { rate: 0.5 / SERVICE, in_flight: 0.5, busy: 0.5, ..plain() };
        let asked = Asked { busiest_thread: Some(0.97), ..ASKED };
        assert_eq!(named(asked, plain(), arm), Some(Cause::CoreFull { share: 0.97, waits: 0.0 }));
        // In the rest of the time it would do 12 % more, which is within the tolerance; or 25 %.
        let found = |share| named(Asked { busiest_thread: Some(share), ..ASKED }, plain(), arm);
        assert_eq!(found(0.89), Some(Cause::CoreFull { share: 0.89, waits: 0.0 }));
        // It shares its CPU with another program.
        let asked = Asked { busiest_thread: Some(0.5), waits: 0.5, ..ASKED };
        let full = named(asked, plain(), arm);
        assert_eq!(full, Some(Cause::CoreFull { share: 0.5, waits: 0.5 }));
        assert_eq!(found(0.8), None, "the thread or the disk: that is not told by these figures");
        assert!(matches!(found(0.3), Some(Cause::FewerInFlight { .. })));
        let asked = Asked { processors: Some(0.95), busiest_thread: Some(0.6), ..ASKED };
        assert_eq!(named(asked, plain(), arm), Some(Cause::ProcessorsFull { share: 0.95 }));
    }

    #[test]
    fn work_on_many_at_once_adds_to_each_where_the_disk_rests_meanwhile() {
        let work = Asked { work_s: Some(14e-6), unshared_work_s: Some(8e-6), ..ASKED };
        let asked = Asked { rate: 55e3, plain_rate: 90e3, ..work };
        let found = bottleneck(&asked, None).unwrap();
        let Cause::AddedTime { seconds, work_s } = found.cause else { panic!("{found:?}") };
        assert!((seconds - (1.0 / 55e3 - 1.0 / 90e3)).abs() < 1e-12);
        assert_eq!(work_s, Some(8e-6), "the rest is done beside it");
        let overlaps = Asked { rate: 80e3, ..asked };
        assert_eq!(bottleneck(&overlaps, None), None);
    }

    #[test]
    fn writes_that_read_first_wait_for_the_reads_and_not_for_the_disk_s_writes() {
        // gocryptfs, 4 KiB at random, one at a time: 2 reads of 39 µs, 68 µs of work; plain's 52 µs have 36 at the disk.
        let reads_first =
            ReadsFirst { per_request: 2.0, bytes: 4096.0, seconds: 78e-6, written_later_s: 36e-6 };
        let asked = Asked { depth: 1.0, reads: false, work_s: Some(68e-6), ..ASKED };
        let asked = Asked { rate: 1.0 / 148e-6, plain_rate: 1.0 / 52e-6, ..asked };
        assert_eq!(bottleneck(&asked, None), None);
        let asked = Asked { reads_first: Some(reads_first), ..asked };
        let found = bottleneck(&asked, None).unwrap();
        let cause = Cause::ReadsFirst { per_request: 2.0, bytes: 4096.0, seconds: 78e-6 };
        assert_eq!(found.cause, cause);
        assert!((found.predicted.unwrap() * 162e-6 - 1.0).abs() < 1e-9, "{found:?}");
        // Reads that nobody waits for leave other causes possible, but work by itself is not one.
        let beside = Asked { rate: 1.0 / 120e-6, ..asked };
        assert_eq!(bottleneck(&beside, None), None);
        // At a high queue depth: the disk is not idle while a CPU works, because its reads are also waited for.
        let many = Asked { depth: 8.0, unshared_work_s: Some(68e-6), ..beside };
        assert_eq!(bottleneck(&many, None), None);
        assert!(bottleneck(&Asked { reads_first: None, ..many }, None).is_some());
    }

    #[test]
    fn work_that_the_disk_hides_is_not_what_a_small_loss_comes_from() {
        let asked = Asked { depth: 1.0, rate: 1.0 / 1.04e-3, plain_rate: 1e3, ..ASKED };
        assert_eq!(bottleneck(&Asked { work_s: Some(170e-6), ..asked }, None), None);
        assert!(bottleneck(&Asked { work_s: Some(50e-6), ..asked }, None).is_some());
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
            busy: 1.0,
        };
        let piece = 131_072.0;
        let arm = Flow {
            rate: 1.0 / service(piece) / 8.0,
            in_flight: 1.0,
            per_request: 8.0,
            bytes: piece,
            busy: 1.0,
        };
        let pieces = Cause::Pieces { bytes: piece, pieces: 8.0, work_s: None };
        assert_eq!(named(large, plain, arm), Some(pieces));
        // In sequence, each with its own work, which takes longer than the disk: not just added time.
        let alone = Asked { depth: 1.0, work_s: Some(8.0 * 200e-6), ..large };
        let plain_alone = Flow { rate: 1.0 / service(large.bytes), in_flight: 1.0, ..plain };
        let rate = 1.0 / (1.0 / plain_alone.rate + 8.0 * 220e-6);
        let arm = Flow { rate, in_flight: 0.1, per_request: 8.0, bytes: piece, busy: 0.1 };
        assert_eq!(
            named(alone, plain_alone, arm),
            Some(Cause::Pieces { bytes: piece, pieces: 8.0, work_s: alone.work_s })
        );
        // At the disk in parallel, which is idle for half of the time: on average as many are in flight as in
        // sequence.
        let rate = 0.5 * 4.0 / service(piece) / 8.0;
        let arm = Flow { rate, in_flight: 2.0, per_request: 8.0, bytes: piece, busy: 0.5 };
        assert_eq!(named(large, plain, arm), Some(pieces));
        // The disk driver merges fewer of them: nothing was split.
        let arm = Flow { per_request: 1.3, bytes: large.bytes / 1.3, ..plain };
        let arm = Flow { rate: plain.rate / 1.05, in_flight: 7.6, ..arm };
        assert!(!matches!(named(large, plain, arm), Some(Cause::Pieces { .. })));
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
            Flow { rate, in_flight: rate * SERVICE, busy: rate * SERVICE, ..plain }
        };
        let Some(Cause::AddedTime { seconds, .. }) = named(alone, plain, arm(30e-6)) else {
            panic!()
        };
        assert!((seconds - 30e-6).abs() < 1e-9);
        let asked = Asked { cipher_s: Some(25e-6), ..alone };
        assert_eq!(named(asked, plain, arm(30e-6)), Some(Cause::Cipher { seconds: 25e-6 }));
    }

    #[test]
    fn the_cipher_is_named_where_the_disk_hides_a_part_of_its_work() {
        // A hard disk reads on while a CPU works: 5.6 ms of work add 4.5 ms to the 5 ms of 1 MiB.
        let disk = Asked { depth: 1.0, rate: 1.0 / 9.5e-3, plain_rate: 200.0, ..ASKED };
        let asked = Asked { work_s: Some(5.6e-3), cipher_s: Some(5.4e-3), ..disk };
        let found = bottleneck(&asked, None).unwrap();
        assert_eq!(found.cause, Cause::Cipher { seconds: 5.4e-3 });
        // The disk also waits longer than the CPU works: 22 µs of work, 13 of them the cipher's.
        let waits = Asked { depth: 1.0, rate: 1.0 / 243e-6, plain_rate: 1.0 / 210e-6, ..ASKED };
        let waits = Asked { work_s: Some(22e-6), cipher_s: Some(13e-6), ..waits };
        let found = bottleneck(&waits, None).unwrap();
        assert_eq!(found.cause, Cause::Cipher { seconds: 13e-6 });
        let found = bottleneck(&Asked { cipher_s: Some(10e-6), ..waits }, None).unwrap();
        assert!(matches!(found.cause, Cause::AddedTime { .. }), "{found:?}");
        // More than all work: another cipher was measured in RAM.
        let found = bottleneck(&Asked { cipher_s: Some(7.5e-3), ..asked }, None).unwrap();
        assert!(matches!(found.cause, Cause::AddedTime { .. }), "{found:?}");
        // Two CPUs share 20 µs of work, of which the cipher causes 18.
        let many = Asked { rate: 1.0 / 23e-6, plain_rate: 1.0 / 12e-6, ..ASKED };
        let many = Asked { work_s: Some(20e-6), unshared_work_s: Some(10e-6), ..many };
        let found = bottleneck(&Asked { cipher_s: Some(18e-6), ..many }, None).unwrap();
        let Cause::Cipher { seconds } = found.cause else { panic!("{found:?}") };
        assert!((seconds - 9e-6).abs() < 1e-12);
    }

    /// Reads of 1 MiB one at a time. The disk has a request for `busy` of the time.
    fn large(rate: f64, busy: f64) -> Flow {
        Flow { rate, in_flight: busy, per_request: 1.0, bytes: 1_048_576.0, busy }
    }

    #[test]
    fn the_cipher_is_named_where_the_disk_reads_ahead_during_its_work() {
        // Of 6.85 ms the disk has the request for 2.94 ms, where plain storage's have it for 4.95 ms.
        let asked = Asked { depth: 1.0, bytes: 1_048_576.0, work_s: Some(3.78e-3), ..ASKED };
        let asked = Asked { cipher_s: Some(4.3e-3), ..asked };
        let cause = |asked, arm| named(asked, large(202.0, 1.0), arm);
        assert_eq!(cause(asked, large(146.0, 0.43)), Some(Cause::Cipher { seconds: 4.3e-3 }));
        // Half of the time is neither at the disk nor work.
        assert_eq!(cause(asked, large(80.0, 0.23)), None);
        let other = cause(Asked { cipher_s: None, ..asked }, large(146.0, 0.43));
        assert!(matches!(other, Some(Cause::AddedTime { .. })), "{other:?}");
    }

    #[test]
    fn more_requests_are_named_where_the_disk_does_them_faster_than_its_curve() {
        let plain =
            Flow { rate: 58.7, in_flight: 0.982, per_request: 1.0, bytes: 4096.0, busy: 0.982 };
        let arm = Flow { rate: 54.0, in_flight: 0.994, per_request: 2.0, ..plain };
        let asked = Asked { depth: 1.0, reads: false, work_s: Some(2.3e-4), ..ASKED };
        let cause = named(asked, plain, arm);
        assert_eq!(cause, Some(Cause::MoreRequests { per_request: 2.0, per_byte: 2.0 }));
        // As many requests that take longer have another cause, which is not known.
        assert_eq!(named(asked, plain, Flow { per_request: 1.0, ..arm }), None);
    }

    #[test]
    fn pieces_that_are_no_faster_with_more_requests_are_named() {
        let plain =
            Flow { rate: 2_745.0, in_flight: 7.7, per_request: 1.0, bytes: 131_072.0, busy: 1.0 };
        let arm =
            Flow { rate: 1_300.0, in_flight: 7.0, per_request: 8.0, bytes: 16_384.0, busy: 0.95 };
        let asked = Asked { depth: 8.0, bytes: 131_072.0, ..ASKED };
        let cut = |pieces_alone| named(Asked { pieces_alone, ..asked }, plain, arm);
        assert!(matches!(cut(Some(9_800.0)), Some(Cause::Pieces { .. })));
        assert_eq!(cut(Some(5_000.0)), None, "they are twice as fast with more requests");
    }

    #[test]
    fn a_small_gain_by_depth_that_the_arm_lacks_is_fewer_in_flight() {
        let plain = Flow { rate: 60.6, in_flight: 6.3, per_request: 1.0, bytes: 4096.0, busy: 1.0 };
        let arm = Flow { rate: 58.0, in_flight: 0.99, ..plain };
        let asked = Asked { depth: 8.0, alone: Some((60.4, 58.7)), work_s: Some(8e-5), ..ASKED };
        let cause = named(Asked { reads: false, ..asked }, plain, arm);
        assert_eq!(cause, Some(Cause::OneAtATime { alone: 60.4 }));
    }

    #[test]
    fn reads_from_a_cache_are_not_the_disks() {
        let arm = Flow {
            rate: plain().rate / 2.0,
            per_request: 0.1,
            in_flight: 0.4,
            busy: 0.4,
            ..plain()
        };
        assert_eq!(named(ASKED, plain(), arm), Some(Cause::Cache { per_byte: 0.1 }));
    }
}
