//! What a user asks for, resolved into contenders and time slices; and the rounds over them.

use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use cryptbench_cipher::{CipherError, CipherInfo, Layout, SectorCipher, Tier, ciphers, find};
use cryptbench_stats::block_order;
use cryptbench_system::SystemError;

use super::visit::{Visit, Worker, visit};
use super::{Speed, Speeds};
use crate::RunError;
use crate::machine;
use crate::target::human;

/// Bytes per thread unless asked otherwise: a usual large request, and within the caches of most
/// CPUs.
pub const BUFFER: u64 = 1 << 20;

/// Time for the whole table unless asked otherwise.
pub const TIME: Duration = Duration::from_secs(20);

/// Data units measured unless asked otherwise: VeraCrypt's, and LUKS2's on modern disks.
pub const DATA_UNITS: [u32; 2] = [512, 4096];

/// Fewest rounds: below five, quartiles say nothing.
const MIN_ROUNDS: u32 = 5;
/// Most rounds: more time makes the visits longer instead.
const MAX_ROUNDS: u32 = 15;
/// Shortest visit, both directions together.
const MIN_VISIT: Duration = Duration::from_millis(20);
/// A visit long enough that further time makes more rounds.
const GOOD_VISIT: Duration = Duration::from_millis(100);

/// What to measure; an empty list stands for the default.
#[derive(Clone, Debug)]
pub struct SpeedRequest {
    /// Names of ciphers; empty means all.
    pub ciphers: Vec<String>,
    /// Data units in bytes; empty means [`DATA_UNITS`].
    pub data_units: Vec<u32>,
    /// Numbers of threads, 0 standing for one per processor; empty means one thread, and all.
    pub threads: Vec<usize>,
    /// Bytes per thread, a multiple of every data unit.
    pub buffer: u64,
    /// Time for everything together; a floor per visit can exceed it.
    pub time: Duration,
    /// Seed of the order of visits; `None` draws one.
    pub seed: Option<u64>,
}

/// One cipher with one data unit on one number of threads.
pub(super) struct Contender {
    pub(super) info: &'static CipherInfo,
    pub(super) data_unit: u32,
    pub(super) threads: usize,
    pub(super) kernel: &'static str,
}

/// A request that can be carried out.
pub struct SpeedPlan {
    contenders: Vec<Contender>,
    tier: Tier,
    buffer: usize,
    rounds: u32,
    visit: Duration,
    seed: u64,
}

/// Checks and completes a request; nothing is measured yet.
///
/// # Errors
/// An unknown cipher or an impossible data unit ([`SystemError::Cipher`]), an unknown CPU tier
/// ([`RunError::Cpu`]), a buffer that no data unit divides or that memory cannot hold
/// ([`RunError::Request`]).
pub fn plan(request: &SpeedRequest) -> Result<SpeedPlan, RunError> {
    let tier = cryptbench_cipher::tier()?;
    let infos: Vec<&CipherInfo> = match request.ciphers.is_empty() {
        true => ciphers().iter().collect(),
        false => distinct(&request.ciphers)
            .into_iter()
            .map(|name| find(name))
            .collect::<Result<_, _>>()
            .map_err(SystemError::from)?,
    };
    let data_units = match request.data_units.as_slice() {
        [] => DATA_UNITS.to_vec(),
        asked => distinct(asked).into_iter().copied().collect(),
    };
    let threads = threads(&request.threads, available_parallelism().map_or(1, Into::into));
    let mut contenders = Vec::new();
    for info in infos {
        for &data_unit in &data_units {
            let kernel = keyed(info, data_unit, tier).map_err(SystemError::from)?.tier();
            contenders.extend(threads.iter().map(|&threads| Contender {
                info,
                data_unit,
                threads,
                kernel,
            }));
        }
    }
    let buffer = buffer(request.buffer, &data_units, &threads, machine(0.0).memory_bytes)?;
    let (rounds, visit) = slices(request.time, contenders.len() as u32);
    let seed = request
        .seed
        .unwrap_or_else(|| getrandom::u64().expect("the kernel's random generator answers"));
    Ok(SpeedPlan { contenders, tier, buffer, rounds, visit, seed })
}

impl SpeedPlan {
    /// Visits in all; [`run`](Self::run) announces each.
    pub fn visits(&self) -> u32 {
        self.contenders.len() as u32 * self.rounds
    }

    /// The time that the visits take if no cipher needs longer for one buffer.
    pub fn time(&self) -> Duration {
        self.visit * self.visits()
    }

    /// Measures. `visited` is called after each visit, outside measured time.
    ///
    /// # Errors
    /// [`RunError::Request`] if the system does not start so many threads.
    pub fn run(&self, mut visited: impl FnMut()) -> Result<Speeds, RunError> {
        let most = self.contenders.iter().map(|c| c.threads).max().unwrap_or(0);
        let mut buffers: Vec<Vec<u8>> = (0..most).map(|_| vec![0; self.buffer]).collect();
        // Incompressible, and every page is there before the clock runs.
        buffers.iter_mut().for_each(|buffer| random(buffer));
        let start = Instant::now();
        let mut seen: Vec<Vec<Visit>> = vec![Vec::new(); self.contenders.len()];
        for round in 0..self.rounds {
            for index in block_order(self.seed, 0, round, self.contenders.len()) {
                let contender = &self.contenders[index];
                seen[index].push(self.visit(contender, &mut buffers, round)?);
                visited();
            }
        }
        let here = machine(0.0);
        Ok(Speeds {
            cpu_model: here.cpu_model,
            cpus: here.cpus,
            cpu_features: here.cpu_features,
            tier: self.tier,
            buffer: self.buffer,
            rounds: self.rounds,
            elapsed: start.elapsed(),
            rows: self.contenders.iter().zip(&seen).map(|(c, v)| Speed::new(c, v)).collect(),
        })
    }

    fn visit(
        &self,
        contender: &Contender,
        buffers: &mut [Vec<u8>],
        round: u32,
    ) -> Result<Visit, RunError> {
        let mut workers = Vec::with_capacity(contender.threads);
        for (thread, buffer) in buffers.iter_mut().take(contender.threads).enumerate() {
            let cipher =
                keyed(contender.info, contender.data_unit, self.tier).map_err(SystemError::from)?;
            let first_tweak = (u64::from(round) << 56) | ((thread as u64) << 40);
            let step = layout(contender.data_unit).tweak_step;
            workers.push(Worker::new(cipher, buffer, step, first_tweak));
        }
        visit(&mut workers, self.visit / 2)
    }
}

/// The cipher under a random key.
fn keyed(
    info: &CipherInfo,
    data_unit: u32,
    tier: Tier,
) -> Result<Box<dyn SectorCipher>, CipherError> {
    let mut key = vec![0; info.key_bytes];
    random(&mut key);
    info.with_key(&key, layout(data_unit), tier)
}

fn random(bytes: &mut [u8]) {
    getrandom::fill(bytes).expect("the kernel's random generator answers");
}

/// Tweaks count 512-byte sectors where units are made of them (dm-crypt without
/// `iv_large_sectors`), else units.
fn layout(data_unit: u32) -> Layout {
    let step = if data_unit.is_multiple_of(512) { u64::from(data_unit / 512).max(1) } else { 1 };
    Layout { data_unit: data_unit as usize, tweak_step: step }
}

fn distinct<T: PartialEq>(items: &[T]) -> Vec<&T> {
    let mut found: Vec<&T> = Vec::new();
    for item in items {
        if !found.contains(&item) {
            found.push(item);
        }
    }
    found
}

/// Ascending and distinct; 0 is `all`.
fn threads(asked: &[usize], all: usize) -> Vec<usize> {
    let asked = if asked.is_empty() { &[1, 0] } else { asked };
    let mut threads: Vec<_> = asked.iter().map(|&n| if n == 0 { all } else { n }).collect();
    threads.sort_unstable();
    threads.dedup();
    threads
}

/// Bytes per thread, if every data unit divides them and all threads' buffers fit in half of memory.
fn buffer(asked: u64, units: &[u32], threads: &[usize], memory: u64) -> Result<usize, RunError> {
    if let Some(unit) = units.iter().find(|&&unit| !asked.is_multiple_of(u64::from(unit))) {
        return Err(RunError::Request(format!(
            "a buffer of {asked} bytes is no whole number of {unit}-byte data units: ask for a \
             multiple, such as 1MiB or 50MiB"
        )));
    }
    let most = threads.iter().max().map_or(1, |&n| n as u64);
    let total = asked.saturating_mul(most);
    // An unknown size of memory forbids nothing.
    let room = if memory == 0 { u64::MAX } else { memory / 2 };
    match usize::try_from(asked) {
        Ok(buffer) if total <= room => Ok(buffer),
        _ => Err(RunError::Request(format!(
            "{most} buffers of {} do not fit in half of the memory ({}): ask for less",
            human(asked),
            human(memory)
        ))),
    }
}

/// Rounds, and the length of one visit, for so many contenders within `time`.
fn slices(time: Duration, contenders: u32) -> (u32, Duration) {
    let contenders = contenders.max(1);
    let affordable = time.as_secs_f64() / (GOOD_VISIT.as_secs_f64() * f64::from(contenders));
    let rounds = (affordable as u32).clamp(MIN_ROUNDS, MAX_ROUNDS);
    (rounds, (time / (contenders * rounds)).max(MIN_VISIT))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_five_rounds_at_least_and_no_visit_is_too_short() {
        let ms = Duration::from_millis;
        assert_eq!(slices(ms(20_000), 40), (5, ms(100)));
        assert_eq!(slices(ms(20_000), 20), (10, ms(100)));
        assert_eq!(slices(ms(20_000), 4), (15, Duration::from_secs(20) / 60));
        assert_eq!(slices(ms(1), 1000), (5, ms(20)));
        assert_eq!(slices(ms(1000), 0).0, 10);
    }

    #[test]
    fn threads_are_ascending_and_distinct() {
        assert_eq!(threads(&[], 8), [1, 8]);
        assert_eq!(threads(&[], 1), [1]);
        assert_eq!(threads(&[4, 0, 2, 4], 4), [2, 4]);
    }

    #[test]
    fn layouts_count_512_byte_sectors() {
        assert_eq!(layout(512), Layout::SECTOR_512);
        assert_eq!(layout(4096), Layout::LUKS2_4096);
        assert_eq!(layout(528).tweak_step, 1);
    }

    #[test]
    fn buffers_must_hold_whole_units_and_fit_in_memory() {
        let ask = |bytes, threads| buffer(bytes, &[512, 4096], &[1, threads], 1 << 30);
        assert_eq!(ask(1 << 20, 512).unwrap(), 1 << 20);
        let error = |bytes, threads| ask(bytes, threads).unwrap_err().to_string();
        assert!(error(1 << 20, 513).contains("513 buffers"), "{}", error(1 << 20, 513));
        assert!(error(50_000_000, 1).contains("512-byte"), "{}", error(50_000_000, 1));
        assert!(error(u64::MAX / 4096 * 4096, 8).contains("memory"));
        assert!(buffer(1 << 20, &[512], &[4], 0).is_ok(), "unknown memory");
    }

    fn request() -> SpeedRequest {
        SpeedRequest {
            ciphers: vec!["aes-128-xts".to_owned(); 2],
            data_units: vec![4096, 512, 4096],
            threads: vec![2, 1],
            buffer: 8192,
            time: Duration::from_millis(1),
            seed: Some(1),
        }
    }

    #[test]
    fn every_contender_is_visited_in_every_round() {
        let plan = plan(&request()).unwrap();
        let mut visits = 0;
        let speeds = plan.run(|| visits += 1).unwrap();
        assert_eq!((visits, plan.visits()), (4 * 5, 4 * 5));
        let rows: Vec<_> = speeds.rows.iter().map(|r| (r.data_unit, r.threads)).collect();
        assert_eq!(rows, [(4096, 1), (4096, 2), (512, 1), (512, 2)]);
        assert!(speeds.rows.iter().all(|r| r.encrypt.mb_s > 0.0 && r.decrypt.mb_s > 0.0));
        for row in &speeds.rows {
            let kernel = keyed(find(row.cipher).unwrap(), 512, plan.tier).unwrap().tier();
            assert_eq!(row.kernel, kernel);
        }
    }

    #[test]
    fn what_cannot_be_measured_is_refused() {
        let refused = |change: fn(&mut SpeedRequest)| {
            let mut r = request();
            change(&mut r);
            plan(&r).err().unwrap()
        };
        let unknown = refused(|r| r.ciphers.push("rot13".to_owned()));
        assert!(matches!(
            unknown,
            RunError::System(SystemError::Cipher(CipherError::Unknown { .. }))
        ));
        for unit in [0_u32, 100] {
            let mut r = request();
            r.data_units.push(unit);
            let error = plan(&r).err().unwrap();
            assert!(matches!(
                error,
                RunError::System(SystemError::Cipher(CipherError::DataUnit { .. }))
            ));
        }
        assert!(matches!(refused(|r| r.buffer = 1000), RunError::Request(_)));
    }
}
