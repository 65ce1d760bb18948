//! Measures times: every contender once per round, in alternating order, each for a short slot.

use std::hint::black_box;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use crate::contender::Contender;

/// Buffer size for contenders that need longer than a slot even for this size. A round with the whole buffer
/// would take them seconds.
pub const SLOW_BYTES: usize = 64 << 10;

/// The duration of a measurement.
#[derive(Clone, Copy)]
pub struct Schedule {
    /// Number of slots for each contender.
    pub rounds: usize,
    /// Length of a slot in CPU time of this thread; at least one pass.
    pub slot: Duration,
}

/// Runs `contenders` on `data` in units of `unit` bytes. Returns the speeds of each contender in its rounds, in
/// MB/s (10^6 bytes).
///
/// The clock is the thread's CPU time. All contenders compute on one thread, and time in which the machine runs
/// something else must not count for the cipher.
///
/// # Errors
/// If a contender fails.
pub fn measure(
    contenders: &mut [Box<dyn Contender>],
    unit: usize,
    data: &mut [u8],
    schedule: Schedule,
) -> anyhow::Result<Vec<Vec<f64>>> {
    let count = contenders.len();
    let mut speeds = vec![Vec::with_capacity(schedule.rounds); count];
    let mut lengths = Vec::with_capacity(count);
    for contender in contenders.iter_mut() {
        let few = SLOW_BYTES.min(data.len());
        let start = cpu_time();
        contender.pass(unit, &mut data[..few])?;
        let slow = cpu_time() - start > schedule.slot;
        lengths.push(if slow { few } else { data.len() });
    }
    for round in 0..schedule.rounds {
        for turn in 0..count {
            let index = (round + turn) % count;
            let contender = &mut contenders[index];
            let data = &mut data[..lengths[index]];
            // Not measured: loads its code and tables into the caches, and brings the core's clock rate to the rate of
            // its instructions.
            contender.pass(unit, black_box(&mut *data))?;
            let start = cpu_time();
            let mut passes = 0;
            let elapsed = loop {
                contender.pass(unit, black_box(&mut *data))?;
                passes += 1;
                let elapsed = cpu_time() - start;
                if elapsed >= schedule.slot {
                    break elapsed;
                }
            };
            speeds[index].push((passes * data.len()) as f64 / elapsed.as_secs_f64() / 1e6);
        }
    }
    Ok(speeds)
}

/// The core's clock rate in GHz: the best of several chains of additions and rotations, in which each operation
/// waits one cycle for the previous one.
pub fn clock() -> f64 {
    const STEPS: u32 = 20_000_000;
    let chain = |_| {
        let (mut x, y) = black_box((1u64, 3));
        let start = cpu_time();
        for _ in 0..STEPS {
            x = x.wrapping_add(y).rotate_left(7);
        }
        black_box(x);
        f64::from(2 * STEPS) / (cpu_time() - start).as_secs_f64() / 1e9
    };
    (0..9).map(chain).fold(0.0, f64::max)
}

/// CPU time of this thread so far.
fn cpu_time() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec.cast_unsigned(), u32::try_from(now.tv_nsec).unwrap_or_default())
}
