//! The clock: every contender once per round, in turning order, each for a short slot.

use std::hint::black_box;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use crate::contender::Contender;

/// What a contender gets if already this takes it longer than a slot; below, a round of the whole
/// buffer would take seconds.
pub const SLOW_BYTES: usize = 64 << 10;

/// How long to measure.
#[derive(Clone, Copy)]
pub struct Schedule {
    /// Visits to each contender.
    pub rounds: usize,
    /// Length of a visit, of this thread's CPU time; at least one pass.
    pub slot: Duration,
}

/// Runs `contenders` over `data` in units of `unit` bytes. Returns for each of them the speeds of its
/// rounds, MB/s (10^6 bytes).
///
/// The clock is the thread's CPU time: everything here computes on one thread, and time for which the
/// machine ran something else instead is not the cipher's.
///
/// # Errors
/// What a contender refused to do.
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
            // Untimed: brings its code and tables back into the caches, and the core's clock to
            // what its instructions allow.
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

/// The core's clock, GHz: the best of several chains of additions and rotations, each of which waits one cycle for
/// the one before.
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
