//! Compares one job: the contenders, whether their keys are right, and their times.

use std::fmt::Write as _;
use std::hint::black_box;
use std::time::Duration;

use anyhow::ensure;
use cryptbench_kdf::{Derivation, Effort, Prf, Tier, find};
use cryptbench_stats::{estimate, median};
use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;

use crate::job::{Job, PASSPHRASE, SALT};
use crate::peers::Peer;

/// The times of a contender in seconds, one per round.
#[derive(Serialize)]
pub struct Times {
    /// Name of the kernel (ours) or of the library.
    pub name: String,
    /// In the order of the rounds.
    pub seconds: Vec<f64>,
}

impl Times {
    fn median(&self) -> f64 {
        median(&self.seconds).unwrap_or(f64::NAN)
    }
}

/// The result of a job.
#[derive(Serialize)]
pub struct Comparison {
    /// Name in our registry.
    pub function: &'static str,
    /// A description of the job.
    pub title: String,
    /// Iterations of PBKDF2, or passes of Argon2id.
    pub iterations: u32,
    /// Memory in KiB; 0 for PBKDF2.
    pub memory_kib: u32,
    /// Length of the key in bytes.
    pub key_bytes: usize,
    /// Our kernels, highest tier first.
    pub ours: Vec<Times>,
    /// The other libraries, fastest first.
    pub peers: Vec<Times>,
    /// Contenders that were excluded, and the reasons.
    pub faults: Vec<String>,
}

type Contender<'a> = (String, Box<dyn Fn(&mut [u8]) -> anyhow::Result<()> + 'a>);

/// Compares our kernels with the peers.
///
/// # Errors
/// If one of our kernels fails, or they disagree.
pub fn compare(
    job: &Job,
    peers: &[Box<dyn Peer>],
    tier: Tier,
    rounds: usize,
) -> anyhow::Result<Comparison> {
    let derivation = job.derivation()?;
    let mut contenders = ours(job, derivation, tier);
    let mut expected = vec![0; job.key_bytes];
    for (name, contender) in &contenders {
        let mut key = vec![0; job.key_bytes];
        contender(&mut key)?;
        ensure!(
            expected.iter().all(|&byte| byte == 0) || key == expected,
            "WRONG: our kernel {name} disagrees with the others"
        );
        expected = key;
    }
    let our_count = contenders.len();
    let mut faults = Vec::new();
    for peer in peers {
        let mut key = vec![0; job.key_bytes];
        match peer.derive(job, PASSPHRASE, &SALT, &mut key) {
            Ok(true) if key == expected => contenders.push((
                peer.name().to_owned(),
                Box::new(move |key: &mut [u8]| {
                    peer.derive(job, PASSPHRASE, &SALT, key).map(|_| ())
                }),
            )),
            Ok(true) => faults.push(format!("WRONG: {}: its key is not ours", peer.name())),
            Ok(false) => {}
            Err(error) => faults.push(format!("{}: {error:#}", peer.name())),
        }
    }
    let mut times: Vec<Times> = contenders
        .iter()
        .map(|(name, _)| Times { name: name.clone(), seconds: Vec::with_capacity(rounds) })
        .collect();
    let mut key = vec![0; job.key_bytes];
    for round in 0..rounds {
        for turn in 0..contenders.len() {
            let index = (round + turn) % contenders.len();
            let start = cpu_time();
            contenders[index].1(black_box(&mut key))?;
            times[index].seconds.push((cpu_time() - start).as_secs_f64());
        }
    }
    let mut peers = times.split_off(our_count);
    peers.sort_by(|a, b| a.median().total_cmp(&b.median()));
    Ok(Comparison {
        function: job.function,
        title: job.title(),
        iterations: job.iterations,
        memory_kib: job.memory_kib,
        key_bytes: job.key_bytes,
        ours: times,
        peers,
        faults,
    })
}

/// Our kernels without duplicates, highest tier first.
fn ours<'a>(job: &Job, derivation: Derivation, tier: Tier) -> Vec<Contender<'a>> {
    let mut all: Vec<Contender<'a>> = Vec::new();
    for tier in Tier::available().into_iter().rev().filter(|&t| t <= tier) {
        let effort = Effort::new(tier, 1);
        let name = match find(job.function) {
            Ok(prf) => Prf::kernel(prf, job.key_bytes, effort),
            Err(_) => cryptbench_kdf::argon2_kernel(effort).to_owned(),
        };
        if all.iter().all(|(known, _)| *known != name) {
            let run = move |key: &mut [u8]| {
                derivation.derive(PASSPHRASE, &SALT, key, effort).map_err(Into::into)
            };
            all.push((name, Box::new(run)));
        }
    }
    all
}

impl Comparison {
    /// A table row for each of our kernels.
    pub fn markdown(&self) -> String {
        let unit = |times: &Times| match self.memory_kib {
            0 => format!("{:.3}", times.median() / f64::from(self.iterations) * 1e6),
            _ => format!("{:.1}", times.median() * 1e3),
        };
        let others: Vec<_> = self.peers.iter().map(|p| format!("{} {}", p.name, unit(p))).collect();
        let mut text = String::new();
        for ours in &self.ours {
            let best = self.peers.first();
            let _ = writeln!(
                text,
                "| {} | {} B | {} ({}) | {} | {} | {} |",
                self.function,
                self.key_bytes,
                unit(ours),
                ours.name,
                best.map_or_else(
                    || "none".to_owned(),
                    |best| format!("{} {}", best.name, unit(best))
                ),
                best.map_or_else(|| "-".to_owned(), |best| ratio(ours, best)),
                others.join(", "),
            );
        }
        text
    }
}

/// Ratio of a peer's time to ours: the median over the rounds. The interval is based on the signed ranks of the
/// logarithms or, for fewer than six rounds, on Student's t.
fn ratio(ours: &Times, theirs: &Times) -> String {
    let rounds = ours.seconds.iter().zip(&theirs.seconds);
    let d: Vec<f64> = rounds.map(|(ours, theirs)| (theirs / ours).ln()).collect();
    let Some(middle) = median(&d) else { return "-".to_owned() };
    match estimate(&d, 0.95).map(|e| e.signed_rank.unwrap_or((e.low, e.high))) {
        Some((low, high)) => format!("{:.2} [{:.2}, {:.2}]", middle.exp(), low.exp(), high.exp()),
        None => format!("{:.2}", middle.exp()),
    }
}

/// CPU time of this process so far. The process counts, because Argon2 may use a separate thread.
fn cpu_time() -> Duration {
    let now = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(now.tv_sec.cast_unsigned(), u32::try_from(now.tv_nsec).unwrap_or_default())
}
