//! Chooses the cost of a new key so that unlocking takes a given time on this machine.

use std::time::{Duration, Instant};

use cryptbench_kdf::{Argon2Kind, Argon2Params, Derivation, Effort, Function, KdfError};
use zeroize::Zeroizing;

use super::create::most_argon2_memory_kib;

/// cryptsetup's lower limit.
const FEWEST_ITERATIONS: u32 = 1000;
/// Minimum number of passes in cryptsetup, which uses less memory rather than fewer passes.
const FEWEST_PASSES: u32 = 4;
/// cryptsetup's upper limit.
const MOST_LANES: usize = 4;
/// Smallest memory cost of Argon2, in KiB.
const LEAST_MEMORY: u32 = 32 << 10;

/// The cost at which `function` takes about `target` (cryptsetup's default is 2 s) to derive a key of
/// `key_bytes`.
///
/// For PBKDF2 this sets the iterations. For Argon2id it first sets the memory: as much as the target time
/// allows with 4 passes, but at most 1 GiB and half of the memory available to this process. Then it sets the
/// passes. Calibration runs the function a few times and takes about twice `target` in total.
///
/// # Errors
/// [`KdfError::Stopped`], [`KdfError::Memory`].
pub fn calibrate(
    function: Function,
    key_bytes: usize,
    target: Duration,
    effort: Effort<'_>,
) -> Result<Derivation, KdfError> {
    let lanes = effort.threads().min(MOST_LANES) as u32;
    let most = most_argon2_memory_kib().max(LEAST_MEMORY);
    choose(function, target, most, lanes, |derivation| {
        let mut key = Zeroizing::new(vec![0; key_bytes]);
        let start = Instant::now();
        derivation.derive(b"calibration", &[0; 32], &mut key, effort)?;
        Ok(start.elapsed())
    })
}

/// [`calibrate`] with an arbitrary clock.
fn choose(
    function: Function,
    target: Duration,
    most_memory: u32,
    lanes: u32,
    mut measure: impl FnMut(&Derivation) -> Result<Duration, KdfError>,
) -> Result<Derivation, KdfError> {
    let with_work = |work: f64| match function {
        Function::Pbkdf2(prf) => {
            let iterations = (work as u32).max(FEWEST_ITERATIONS);
            Derivation::Pbkdf2 { prf, iterations }
        }
        Function::Argon2id => {
            let memory = work / f64::from(FEWEST_PASSES);
            let memory_kib = (memory as u32).clamp(LEAST_MEMORY, most_memory);
            let passes = ((work / f64::from(memory_kib)) as u32).max(FEWEST_PASSES);
            let params = Argon2Params { memory_kib, passes, lanes };
            Derivation::Argon2 { kind: Argon2Kind::Id, params }
        }
    };
    let mut cost = with_work(0.0);
    // Short measurements are imprecise, so each one may raise the cost by at most this factor.
    const GROWTH: f64 = 16.0;
    for _ in 0..12 {
        let taken = measure(&cost)?.as_secs_f64().max(1e-6);
        let factor = target.as_secs_f64() / taken;
        let next = with_work(cost.work() as f64 * factor.min(GROWTH));
        let settled = factor < 2.0 || next.work() == cost.work();
        cost = next;
        if settled {
            break;
        }
    }
    Ok(cost)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine that needs a fixed time for each unit of work, and some time to start.
    fn on_machine(function: Function, nanos_per_work: u64, target_ms: u64) -> Derivation {
        let measure = |derivation: &Derivation| {
            Ok(Duration::from_nanos(50_000 + derivation.work() * nanos_per_work))
        };
        choose(function, Duration::from_millis(target_ms), 1 << 20, 4, measure).unwrap()
    }

    #[test]
    fn pbkdf2_gets_the_iterations_that_take_the_time() {
        let sha256 = Function::Pbkdf2(cryptbench_kdf::find("sha-256").unwrap());
        for (nanos, target_ms) in [(300, 2000), (1000, 2000), (40, 500)] {
            let work = on_machine(sha256, nanos, target_ms).work();
            let exact = target_ms * 1_000_000 / nanos;
            assert!(work.abs_diff(exact) < exact / 50, "{work} instead of {exact}");
        }
        // A machine that is too slow for the time still gets the minimum that is safe.
        assert_eq!(on_machine(sha256, 10_000_000, 1).work(), 1000);
    }

    #[test]
    fn argon2_gets_memory_first_then_passes() {
        let cost = |nanos, target_ms| match on_machine(Function::Argon2id, nanos, target_ms) {
            Derivation::Argon2 { params, .. } => (params.memory_kib, params.passes),
            Derivation::Pbkdf2 { .. } => unreachable!("the caller asked for Argon2id"),
        };
        // 1 us per KiB and pass allows 2 million KiB in 2 s, which is 4 passes over half a million.
        let (memory, passes) = cost(1000, 2000);
        assert_eq!(passes, 4);
        assert!((480_000..=500_000).contains(&memory), "{memory}");
        // A fast machine: the maximum memory, and more passes.
        let (memory, passes) = cost(100, 2000);
        assert_eq!(memory, 1 << 20);
        assert!((18..=19).contains(&passes), "{passes}");
        // A slow machine.
        assert_eq!(cost(1_000_000, 100), (32 << 10, 4));
    }

    #[test]
    fn a_real_clock_gives_a_cost_that_this_machine_can_pay() {
        let effort = Effort::new(cryptbench_kdf::tier().unwrap(), 2);
        let sha256 = Function::Pbkdf2(cryptbench_kdf::find("sha-256").unwrap());
        for function in [sha256, Function::Argon2id] {
            let cost = calibrate(function, 64, Duration::from_millis(1), effort).unwrap();
            assert!(cost.work() >= 1000);
            assert!(cost.memory_kib() <= most_argon2_memory_kib().max(LEAST_MEMORY));
        }
        let stop = std::sync::atomic::AtomicBool::new(true);
        let stopped = calibrate(sha256, 64, Duration::from_secs(2), effort.stopped_by(&stop));
        assert_eq!(stopped.map(|cost| cost.work()), Err(KdfError::Stopped));
    }
}
