//! Resolves a user's request into functions and costs, and executes the rounds.

use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use cryptbench_kdf::pim::{VolumeKind, derivation};
use cryptbench_kdf::{Argon2Params, Derivation, Effort, Function, Tier};
use cryptbench_os::machine::Machine;
use cryptbench_stats::{block_order, median};
use cryptbench_text::human;

use super::sample::{TOGETHER, guesses, header_key};
use super::{GUESS_KEY_BYTES, Guesses, HEADER_KEY_BYTES, KdfSpeed, KdfSpeeds, Point};
use crate::MicrobenchError;

/// Minimum number of rounds: with fewer than five rounds, quartiles are meaningless.
const MIN_ROUNDS: u32 = 5;
/// Maximum number of rounds.
const MAX_ROUNDS: u32 = 99;
/// Shares of a function's time in a round: one each for a header key at the higher cost, for
/// guesses on one thread, and for guesses on all threads; half a share for the lower cost and
/// estimation errors.
const SHARES: f64 = 3.5;
/// Maximum number of shares for a header key of Argon2id, whose costs come in large steps.
const ARGON2_SHARES: f64 = 4.0;
/// Shortest share that yields a useful measurement.
const MIN_SHARE: Duration = Duration::from_millis(10);

/// The measurements to make; an empty list selects the default.
#[derive(Clone, Debug)]
pub struct KdfRequest {
    /// Names of functions; an empty list selects all functions of the kind of volume.
    pub functions: Vec<String>,
    /// The kind of volume that determines the costs.
    pub volume: VolumeKind,
    /// PIMs whose costs should be measured if time allows.
    pub pims: Vec<u32>,
    /// Number of threads for multi-threaded guesses; 0 means one per CPU.
    pub threads: usize,
    /// Rounds over all functions, 5 to 99.
    pub rounds: u32,
    /// Approximate time for everything together.
    pub time: Duration,
    /// Seed for the order of samples; `None` selects a random seed.
    pub seed: Option<u64>,
}

/// A checked request.
#[derive(Debug)]
pub struct KdfPlan {
    functions: Vec<Function>,
    complete: bool,
    volume: VolumeKind,
    pims: Vec<u32>,
    tier: Tier,
    threads: usize,
    rounds: u32,
    share: Duration,
    seed: u64,
}

/// Checks and completes a request without measuring anything.
///
/// # Errors
/// A function that is unknown or never used by this kind of volume, or a PIM that the volume does not allow
/// ([`MicrobenchError::Kdf`]); an unknown CPU tier ([`MicrobenchError::Cpu`]); too few or too many rounds
/// ([`MicrobenchError::Usage`]).
pub fn plan(request: &KdfRequest) -> Result<KdfPlan, MicrobenchError> {
    let tier = cryptbench_kdf::tier()?;
    let all: Vec<Function> =
        Function::all().filter(|&f| derivation(request.volume, f, None).is_ok()).collect();
    let mut functions: Vec<Function> = Vec::new();
    for name in &request.functions {
        let function = Function::find(name)?;
        if functions.iter().all(|known| known.name() != function.name()) {
            functions.push(function);
        }
    }
    let complete = functions.is_empty() || functions.len() == all.len();
    if functions.is_empty() {
        functions = all;
    }
    for &function in &functions {
        derivation(request.volume, function, None)?;
        for &pim in &request.pims {
            derivation(request.volume, function, Some(pim))?;
        }
    }
    if !(MIN_ROUNDS..=MAX_ROUNDS).contains(&request.rounds) {
        return Err(MicrobenchError::Usage(format!(
            "{} rounds: use {MIN_ROUNDS} to {MAX_ROUNDS}",
            request.rounds
        )));
    }
    let threads = match request.threads {
        0 => available_parallelism().map_or(1, Into::into),
        n => n,
    };
    let samples = f64::from(request.rounds) * functions.len() as f64;
    let share = request.time.div_f64(samples * SHARES).max(MIN_SHARE);
    let seed = request
        .seed
        .unwrap_or_else(|| getrandom::u64().expect("the kernel's random generator answers"));
    Ok(KdfPlan {
        functions,
        complete,
        volume: request.volume,
        pims: request.pims.clone(),
        tier,
        threads,
        rounds: request.rounds,
        share,
        seed,
    })
}

/// A function and its measured costs.
struct Case {
    function: Function,
    default: Derivation,
    short: Derivation,
    long: Derivation,
    guess: Derivation,
}

/// The result of a sample: seconds, and work per second.
struct Sample {
    short: f64,
    long: f64,
    guesses: Guesses,
}

impl KdfPlan {
    /// Total number of samples; [`run`](Self::run) reports each sample.
    pub fn samples(&self) -> u32 {
        self.functions.len() as u32 * self.rounds
    }

    /// Approximate duration of all samples.
    pub fn time(&self) -> Duration {
        self.share.mul_f64(SHARES * f64::from(self.samples()))
    }

    /// Runs the measurement. Calls `sampled` after each sample, outside the measured time.
    ///
    /// # Errors
    /// [`MicrobenchError::Kdf`] if the memory that Argon2 needs is not available; [`MicrobenchError::Usage`] if the
    /// system cannot start this many threads.
    pub fn run(&self, mut sampled: impl FnMut()) -> Result<KdfSpeeds, MicrobenchError> {
        let start = Instant::now();
        let here = Machine::this();
        let cases = self
            .functions
            .iter()
            .map(|&function| self.case(function, here.memory_bytes))
            .collect::<Result<Vec<_>, _>>()?;
        let mut seen: Vec<Vec<Sample>> = cases.iter().map(|_| Vec::new()).collect();
        for round in 0..self.rounds {
            for index in block_order(self.seed, 0, round, cases.len()) {
                seen[index].push(self.sample(&cases[index])?);
                sampled();
            }
        }
        Ok(KdfSpeeds {
            cpu_model: here.cpu_model,
            cpus: here.cpus,
            cpu_features: here.cpu_features,
            tier: self.tier,
            volume: self.volume,
            threads: self.threads,
            rounds: self.rounds,
            elapsed: start.elapsed(),
            complete: self.complete,
            rows: cases.iter().zip(&seen).map(|(c, v)| self.row(c, v)).collect(),
        })
    }

    /// Times the function briefly, and chooses its costs accordingly.
    fn case(&self, function: Function, memory_bytes: u64) -> Result<Case, MicrobenchError> {
        let default = derivation(self.volume, function, None)?;
        // If the memory size is unknown, there is no limit.
        let room = if memory_bytes == 0 { u64::MAX } else { memory_bytes / 2 / 1024 };
        let share = self.share.as_secs_f64();
        match function {
            Function::Pbkdf2(prf) => {
                let at = |work: f64| Derivation::Pbkdf2 {
                    prf,
                    iterations: work.clamp(16.0, f64::from(u32::MAX)) as u32,
                };
                let per_second =
                    pilot(|work| header_key(&at(work), self.tier).map_err(Into::into))?;
                let (short, long) =
                    costs(&self.asked(function), &self.small(function), share * per_second);
                let guessed = pilot(|work| {
                    let rate = guesses(&at(work / TOGETHER as f64), 1, self.tier)?;
                    Ok(work / rate)
                })?;
                Ok(Case {
                    function,
                    default,
                    short: at(short),
                    long: at(long),
                    guess: at(share * guessed / TOGETHER as f64),
                })
            }
            Function::Argon2id => {
                let Derivation::Argon2 { kind, params } =
                    derivation(self.volume, function, Some(1))?
                else {
                    return Err(MicrobenchError::Usage("Argon2id costs no memory".to_owned()));
                };
                let least = Derivation::Argon2 { kind, params };
                let need = |d: &Derivation| u64::from(d.memory_kib());
                if need(&least) > room {
                    return Err(MicrobenchError::Usage(format!(
                        "Argon2id needs at least {}, which is more than half of the memory ({}): exclude it with --prf",
                        human(need(&least) * 1024),
                        human(memory_bytes)
                    )));
                }
                let per_second = least.work() as f64 / header_key(&least, self.tier)?;
                let most = share * ARGON2_SHARES * per_second;
                let candidates = [self.asked(function), self.small(function)].concat();
                let fits = candidates.iter().filter(|d| d.work() as f64 <= most && need(d) <= room);
                let long = fits.max_by_key(|d| d.work()).copied().unwrap_or(least);
                // Falls back to a single pass over the same memory if no other cost is lower.
                let single =
                    Derivation::Argon2 { kind, params: Argon2Params { passes: 1, ..params } };
                let short = if long.work() > least.work() { least } else { single };
                let each = (room / self.threads.max(1) as u64).min(need(&least)).max(8) as u32;
                let guess = Derivation::Argon2 {
                    kind,
                    params: Argon2Params { memory_kib: each, ..params },
                };
                Ok(Case { function, default, short, long, guess })
            }
        }
    }

    /// The requested costs: the default cost, and the costs with the PIMs.
    fn asked(&self, function: Function) -> Vec<Derivation> {
        let pims = self.pims.iter().copied().map(Some).chain([None]);
        pims.filter_map(|pim| derivation(self.volume, function, pim).ok()).collect()
    }

    /// Other costs, including low costs that occur in practice.
    fn small(&self, function: Function) -> Vec<Derivation> {
        let pims = [1, 2, 4, 8, 12, 20, 50, 100, 200].into_iter();
        pims.filter_map(|pim| derivation(self.volume, function, Some(pim)).ok()).collect()
    }

    fn sample(&self, case: &Case) -> Result<Sample, MicrobenchError> {
        if let Derivation::Pbkdf2 { prf, iterations } = case.short {
            // Untimed warm-up: loads code and tables, and lets the clock rate settle for these instructions.
            header_key(&Derivation::Pbkdf2 { prf, iterations: iterations.div_ceil(4) }, self.tier)?;
        }
        let short = header_key(&case.short, self.tier)?;
        let long = header_key(&case.long, self.tier)?;
        let one = guesses(&case.guess, 1, self.tier)?;
        let all = match self.threads {
            1 => one,
            threads => guesses(&case.guess, threads, self.tier)?,
        };
        Ok(Sample { short, long, guesses: Guesses { one, all } })
    }

    fn row(&self, case: &Case, samples: &[Sample]) -> KdfSpeed {
        let each = |pick: fn(&Sample) -> f64| samples.iter().map(pick).collect::<Vec<_>>();
        let works = case.long.work() as f64 / case.short.work() as f64;
        let excess: Vec<f64> =
            samples.iter().map(|v| (v.long / v.short / works - 1.0) * 100.0).collect();
        let effort = Effort::new(self.tier, 1);
        let (kernel, guess_kernel) = match case.function {
            Function::Pbkdf2(prf) => {
                let blocks = GUESS_KEY_BYTES.div_ceil(prf.output_bytes) * TOGETHER;
                (
                    prf.kernel(HEADER_KEY_BYTES, effort),
                    prf.kernel(blocks * prf.output_bytes, effort),
                )
            }
            Function::Argon2id => {
                let kernel = cryptbench_kdf::argon2_kernel(effort).to_owned();
                (kernel.clone(), kernel)
            }
        };
        KdfSpeed {
            function: case.function,
            default: case.default,
            old_volumes_only: !self.volume.makes_new(case.function),
            kernel,
            guess_kernel,
            short: Point::of(case.short, &each(|v| v.short)),
            long: Point::of(case.long, &each(|v| v.long)),
            linearity_percent: median(&excess).unwrap_or(0.0),
            guesses: Guesses {
                one: median(&each(|v| v.guesses.one)).unwrap_or(0.0),
                all: median(&each(|v| v.guesses.all)).unwrap_or(0.0),
            },
        }
    }
}

/// Work per second, measured for a few milliseconds; `seconds` returns the time for an amount of work.
fn pilot(seconds: impl Fn(f64) -> Result<f64, MicrobenchError>) -> Result<f64, MicrobenchError> {
    const LONG_ENOUGH: f64 = 0.004;
    let mut work = 1024.0;
    loop {
        let taken = seconds(work)?;
        if taken >= LONG_ENOUGH {
            return Ok(work / taken);
        }
        work *= (1.5 * LONG_ENOUGH / taken.max(1e-9)).clamp(2.0, 64.0);
    }
}

/// The lower and the higher cost, in units of work, near `target`. Requested costs are preferred if they are close
/// enough; otherwise other costs are chosen.
fn costs(asked: &[Derivation], others: &[Derivation], target: f64) -> (f64, f64) {
    let largest = |least: f64, most: f64| {
        let among = |costs: &[Derivation]| {
            let works = costs.iter().map(|d| d.work() as f64);
            works.filter(|work| (least..=most).contains(work)).reduce(f64::max)
        };
        among(asked).or_else(|| among(others))
    };
    let target = target.max(64.0);
    let long = largest(target / 4.0, target * 1.25).unwrap_or(target).floor();
    let short = largest(long / 32.0, long / 3.0).unwrap_or(long / 4.0).floor();
    (short, long)
}

#[cfg(test)]
mod tests {
    use cryptbench_kdf::KdfError;

    use super::*;

    const VERACRYPT: VolumeKind = VolumeKind::VeraCrypt { system: false };

    fn request() -> KdfRequest {
        KdfRequest {
            functions: vec!["SHA512".to_owned(), "blake2s".to_owned(), "sha-512".to_owned()],
            volume: VERACRYPT,
            pims: vec![3],
            threads: 2,
            rounds: 5,
            time: Duration::from_millis(1),
            seed: Some(1),
        }
    }

    #[test]
    fn every_function_is_sampled_in_every_round() {
        let plan = plan(&request()).unwrap();
        let mut samples = 0;
        let speeds = plan.run(|| samples += 1).unwrap();
        assert_eq!((samples, plan.samples()), (2 * 5, 2 * 5));
        let names: Vec<_> = speeds.rows.iter().map(|r| r.function.name()).collect();
        assert_eq!(names, ["sha-512", "blake2s-256"]);
        assert!(!speeds.complete);
        for row in &speeds.rows {
            assert!(row.short.derivation.work() * 2 < row.long.derivation.work());
            assert!(row.long.seconds > 0.0 && row.guesses.one > 0.0 && row.guesses.all > 0.0);
            assert!(!row.kernel.is_empty() && row.default.work() == 500_000);
        }
    }

    #[test]
    fn all_functions_of_the_volume_are_the_default() {
        let names = |volume, functions: &[&str]| {
            let functions = functions.iter().map(ToString::to_string).collect();
            let plan = plan(&KdfRequest { functions, volume, pims: vec![], ..request() }).unwrap();
            (plan.complete, plan.functions.iter().map(|f| f.name()).collect::<Vec<_>>())
        };
        let truecrypt = VolumeKind::TrueCrypt { system: false };
        assert_eq!(
            names(truecrypt, &[]),
            (true, vec!["sha-512", "whirlpool", "ripemd-160", "sha-1"])
        );
        assert_eq!(names(truecrypt, &["sha1"]), (false, vec!["sha-1"]));
        assert_eq!(names(VERACRYPT, &[]).1.len(), 7);
    }

    #[test]
    fn what_cannot_be_measured_is_refused() {
        let refused = |change: fn(&mut KdfRequest)| {
            let mut request = request();
            change(&mut request);
            plan(&request).unwrap_err()
        };
        let unknown = refused(|r| r.functions.push("md4".to_owned()));
        assert!(matches!(unknown, MicrobenchError::Kdf(KdfError::Unknown { .. })), "{unknown}");
        let never = refused(|r| r.functions.push("sha-1".to_owned()));
        assert!(matches!(never, MicrobenchError::Kdf(KdfError::NotThere { .. })), "{never}");
        let pim = refused(|r| r.pims.push(2_147_469));
        assert!(matches!(pim, MicrobenchError::Kdf(KdfError::Pim { .. })), "{pim}");
        for rounds in [4, 100] {
            let error = plan(&KdfRequest { rounds, ..request() }).unwrap_err();
            assert!(matches!(error, MicrobenchError::Usage(_)), "{error}");
        }
    }

    #[test]
    fn costs_that_are_asked_for_are_taken_where_they_are_near() {
        let at = |pims: &[u32]| -> Vec<Derivation> {
            let sha512 = Function::find("sha-512").unwrap();
            pims.iter().map(|&pim| derivation(VERACRYPT, sha512, Some(pim)).unwrap()).collect()
        };
        assert_eq!(costs(&at(&[1, 10, 485]), &[], 600_000.0), (25_000.0, 500_000.0));
        assert_eq!(costs(&at(&[1, 485]), &at(&[20, 400]), 420_000.0), (16_000.0, 500_000.0));
        assert_eq!(costs(&at(&[1, 485]), &at(&[20, 400]), 100_000.0), (8750.0, 35_000.0));
        assert_eq!(costs(&at(&[10, 485]), &at(&[1]), 110_000.0), (25_000.0, 110_000.0));
        assert_eq!(costs(&at(&[1, 485]), &[], 20_000.0), (4000.0, 16_000.0));
        assert_eq!(costs(&[], &[], 0.0), (16.0, 64.0));
    }
}
