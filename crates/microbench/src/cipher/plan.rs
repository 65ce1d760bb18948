//! Resolves a user's request into cases and time slices, and executes the rounds.

use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use cryptbench_cipher::{
    CipherError, CipherInfo, Layout, SectorCipher, Tier, ciphers, find_to_measure,
};
use cryptbench_os::machine::Machine;
use cryptbench_stats::block_order;
use cryptbench_text::human;

use super::sample::{Sample, Worker, sample};
use super::{Speed, Speeds};
use crate::MicrobenchError;

/// Default number of bytes per thread: the usual size of large requests, which fits in the caches of most CPUs.
pub const BUFFER: u64 = 1 << 20;

/// Default time for the whole table.
pub const TIME: Duration = Duration::from_secs(20);

/// Request sizes for a table by size, from one sector to more than the caches can hold.
pub const SIZES: [u64; 9] =
    [512, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20];

/// Default data units: VeraCrypt's, and LUKS2's on modern disks.
pub const DATA_UNITS: [u32; 2] = [512, 4096];

/// Minimum number of rounds: with fewer than five, quartiles are meaningless.
const MIN_ROUNDS: u32 = 5;
/// Maximum number of rounds; with more time, the samples become longer instead.
const MAX_ROUNDS: u32 = 15;
/// Shortest sample, both directions together.
const MIN_SAMPLE: Duration = Duration::from_millis(20);
/// A sample of this length is precise enough; with more time, rounds are added.
const GOOD_SAMPLE: Duration = Duration::from_millis(100);

/// The measurements to make; an empty list selects the default.
#[derive(Clone, Debug)]
pub struct SpeedRequest {
    /// Names of ciphers; an empty list selects all ciphers.
    pub ciphers: Vec<String>,
    /// Data units in bytes; an empty list selects [`DATA_UNITS`].
    pub data_units: Vec<u32>,
    /// Numbers of threads; 0 means one per CPU. An empty list selects one thread and all CPUs.
    pub threads: Vec<usize>,
    /// Numbers of bytes that each thread passes per call; every size is measured. A single size must be a multiple of
    /// every data unit. Each of several sizes is combined with the data units that divide it.
    pub buffers: Vec<u64>,
    /// Time for the whole measurement; the measurement can take longer because of the minimum length of samples.
    pub time: Duration,
    /// Seed for the order of samples; `None` selects a random seed.
    pub seed: Option<u64>,
}

/// One cipher with one data unit and one number of threads, in requests of one size.
pub(super) struct Case {
    pub(super) info: &'static CipherInfo,
    pub(super) data_unit: u32,
    pub(super) threads: usize,
    pub(super) buffer: usize,
    pub(super) kernel: &'static str,
}

/// A checked request.
pub struct SpeedPlan {
    cases: Vec<Case>,
    tier: Tier,
    buffer: usize,
    rounds: u32,
    sample: Duration,
    seed: u64,
}

/// Checks and completes a request without measuring anything.
///
/// # Errors
/// An unknown cipher or an impossible data unit ([`MicrobenchError::Cipher`]), an unknown CPU tier
/// ([`MicrobenchError::Cpu`]), a buffer that is not a multiple of the data units or exceeds memory
/// ([`MicrobenchError::Usage`]).
pub fn plan(request: &SpeedRequest) -> Result<SpeedPlan, MicrobenchError> {
    let tier = cryptbench_cipher::tier()?;
    let infos: Vec<&CipherInfo> = match request.ciphers.is_empty() {
        true => ciphers().iter().collect(),
        false => distinct(&request.ciphers)
            .into_iter()
            .map(|name| find_to_measure(name))
            .collect::<Result<_, _>>()?,
    };
    let data_units = match request.data_units.as_slice() {
        [] => DATA_UNITS.to_vec(),
        asked => distinct(asked).into_iter().copied().collect(),
    };
    for info in &infos {
        data_units.iter().try_for_each(|&unit| keyed(info, unit, tier).map(drop))?;
    }
    let threads = threads(&request.threads, available_parallelism().map_or(1, Into::into));
    let buffers: Vec<usize> = distinct(&request.buffers)
        .into_iter()
        .map(|&asked| {
            let units = if request.buffers.len() > 1 { &[] } else { data_units.as_slice() };
            buffer(asked, units, &threads, Machine::this().memory_bytes)
        })
        .collect::<Result<_, _>>()?;
    let mut cases = Vec::new();
    for info in infos {
        for &data_unit in &data_units {
            let kernel = keyed(info, data_unit, tier)?.tier();
            for &buffer in buffers.iter().filter(|b| b.is_multiple_of(data_unit as usize)) {
                let case = |&threads| Case { info, data_unit, threads, buffer, kernel };
                cases.extend(threads.iter().map(case));
            }
        }
    }
    let (rounds, sample) = slices(request.time, cases.len() as u32);
    let seed = request
        .seed
        .unwrap_or_else(|| getrandom::u64().expect("the kernel's random generator answers"));
    let buffer = buffers.into_iter().max().unwrap_or(0);
    Ok(SpeedPlan { cases, tier, buffer, rounds, sample, seed })
}

impl SpeedPlan {
    /// Total number of samples; [`run`](Self::run) reports each sample.
    pub fn samples(&self) -> u32 {
        self.cases.len() as u32 * self.rounds
    }

    /// Duration of all samples, unless a cipher needs longer for a single buffer.
    pub fn time(&self) -> Duration {
        self.sample * self.samples()
    }

    /// Runs the measurement. Calls `sampled` after each sample, outside the measured time.
    ///
    /// # Errors
    /// [`MicrobenchError::Usage`] if the system cannot start this many threads.
    pub fn run(&self, mut sampled: impl FnMut()) -> Result<Speeds, MicrobenchError> {
        let most = self.cases.iter().map(|c| c.threads).max().unwrap_or(0);
        let mut buffers: Vec<Vec<u8>> = (0..most).map(|_| vec![0; self.buffer]).collect();
        // Incompressible data. Filling the buffers also allocates every page before the clock starts.
        buffers.iter_mut().for_each(|buffer| random(buffer));
        let start = Instant::now();
        let mut seen: Vec<Vec<Sample>> = vec![Vec::new(); self.cases.len()];
        for round in 0..self.rounds {
            for index in block_order(self.seed, 0, round, self.cases.len()) {
                let case = &self.cases[index];
                seen[index].push(self.sample(case, &mut buffers, round)?);
                sampled();
            }
        }
        let here = Machine::this();
        Ok(Speeds {
            cpu_model: here.cpu_model,
            cpus: here.cpus,
            cpu_features: here.cpu_features,
            tier: self.tier,
            buffer: self.buffer,
            rounds: self.rounds,
            elapsed: start.elapsed(),
            rows: self.cases.iter().zip(&seen).map(|(c, v)| Speed::new(c, v)).collect(),
        })
    }

    fn sample(
        &self,
        case: &Case,
        buffers: &mut [Vec<u8>],
        round: u32,
    ) -> Result<Sample, MicrobenchError> {
        let mut workers = Vec::with_capacity(case.threads);
        for (thread, buffer) in buffers.iter_mut().take(case.threads).enumerate() {
            let cipher = keyed(case.info, case.data_unit, self.tier)?;
            let first_tweak = (u64::from(round) << 56) | ((thread as u64) << 40);
            let step = layout(case.data_unit).tweak_step;
            let request = &mut buffer[..case.buffer];
            workers.push(Worker::new(cipher, request, step, first_tweak));
        }
        sample(&mut workers, self.sample / 2)
    }
}

/// A cipher with a random key.
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

/// Tweaks count 512-byte sectors if data units are multiples of such sectors (dm-crypt without `iv_large_sectors`),
/// otherwise data units.
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

/// Sorts and deduplicates; 0 becomes `all`.
fn threads(asked: &[usize], all: usize) -> Vec<usize> {
    let asked = if asked.is_empty() { &[1, 0] } else { asked };
    let mut threads: Vec<_> = asked.iter().map(|&n| if n == 0 { all } else { n }).collect();
    threads.sort_unstable();
    threads.dedup();
    threads
}

/// Number of bytes per thread. Fails unless the number is a multiple of every data unit, and the buffers of all threads
/// together fit in half of the memory.
fn buffer(
    asked: u64,
    units: &[u32],
    threads: &[usize],
    memory: u64,
) -> Result<usize, MicrobenchError> {
    if let Some(unit) = units.iter().find(|&&unit| !asked.is_multiple_of(u64::from(unit))) {
        return Err(MicrobenchError::Usage(format!(
            "a buffer of {asked} bytes is not a multiple of {unit}-byte data units: use, for example, 1MiB or 50MiB"
        )));
    }
    let most = threads.iter().max().map_or(1, |&n| n as u64);
    let total = asked.saturating_mul(most);
    // If the memory size is unknown, there is no limit.
    let room = if memory == 0 { u64::MAX } else { memory / 2 };
    match usize::try_from(asked) {
        Ok(buffer) if total <= room => Ok(buffer),
        _ => Err(MicrobenchError::Usage(format!(
            "{most} buffers of {} do not fit in half of the memory ({}): use smaller ones",
            human(asked),
            human(memory)
        ))),
    }
}

/// The number of rounds and the length of one sample for `cases` within `time`.
fn slices(time: Duration, cases: u32) -> (u32, Duration) {
    let cases = cases.max(1);
    let affordable = time.as_secs_f64() / (GOOD_SAMPLE.as_secs_f64() * f64::from(cases));
    let rounds = (affordable as u32).clamp(MIN_ROUNDS, MAX_ROUNDS);
    (rounds, (time / (cases * rounds)).max(MIN_SAMPLE))
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
        let wrong = [(1 << 20, 513), (50_000_000, 1), (u64::MAX / 4096 * 4096, 8)];
        let said = wrong.map(|(bytes, threads)| ask(bytes, threads).unwrap_err().to_string());
        insta::assert_snapshot!(said.join("\n"), @"
            513 buffers of 1 MiB do not fit in half of the memory (1 GiB): use smaller ones
            a buffer of 50000000 bytes is not a multiple of 512-byte data units: use, for example, 1MiB or 50MiB
            8 buffers of 17179869184 GiB do not fit in half of the memory (1 GiB): use smaller ones
            ");
        assert!(buffer(1 << 20, &[512], &[4], 0).is_ok(), "unknown memory");
    }

    fn request() -> SpeedRequest {
        SpeedRequest {
            ciphers: vec!["aes-128-xts".to_owned(); 2],
            data_units: vec![4096, 512, 4096],
            threads: vec![2, 1],
            buffers: vec![8192],
            time: Duration::from_millis(1),
            seed: Some(1),
        }
    }

    #[test]
    fn every_case_is_sampled_in_every_round() {
        let plan = plan(&request()).unwrap();
        let mut samples = 0;
        let speeds = plan.run(|| samples += 1).unwrap();
        assert_eq!((samples, plan.samples()), (4 * 5, 4 * 5));
        let rows: Vec<_> = speeds.rows.iter().map(|r| (r.data_unit, r.threads)).collect();
        assert_eq!(rows, [(4096, 1), (4096, 2), (512, 1), (512, 2)]);
        assert!(speeds.rows.iter().all(|r| r.encrypt.mb_s > 0.0 && r.decrypt.mb_s > 0.0));
        for row in &speeds.rows {
            let kernel =
                keyed(find_to_measure(row.cipher).unwrap(), 512, plan.tier).unwrap().tier();
            assert_eq!(row.kernel, kernel);
        }
    }

    #[test]
    fn every_size_goes_with_the_units_that_it_holds() {
        let sizes = SpeedRequest { buffers: vec![512, 8192], threads: vec![1], ..request() };
        let speeds = plan(&sizes).unwrap().run(|| ()).unwrap();
        let rows: Vec<_> = speeds.rows.iter().map(|r| (r.data_unit, r.buffer)).collect();
        assert_eq!(rows, [(4096, 8192), (512, 512), (512, 8192)]);
        assert_eq!(speeds.buffer, 8192);
    }

    #[test]
    fn what_cannot_be_measured_is_refused() {
        let refused = |change: fn(&mut SpeedRequest)| {
            let mut r = request();
            change(&mut r);
            plan(&r).err().unwrap()
        };
        let unknown = refused(|r| r.ciphers.push("rot13".to_owned()));
        assert!(matches!(unknown, MicrobenchError::Cipher(CipherError::Unknown { .. })));
        for unit in [0_u32, 100] {
            let mut r = request();
            r.data_units.push(unit);
            let error = plan(&r).err().unwrap();
            assert!(matches!(error, MicrobenchError::Cipher(CipherError::DataUnit { .. })));
        }
        assert!(matches!(refused(|r| r.buffers = vec![1000]), MicrobenchError::Usage(_)));
    }
}
