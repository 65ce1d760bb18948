//! A layer with a known cost: it waits for a given time per request and per byte, and does nothing else. The
//! results of a run can therefore be checked against the true values.

use std::hint::spin_loop;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cryptbench_blockdev::SectorTransform;

use cryptbench_catalog as catalog;

use crate::settings::{Choice, choices, identifier, in_words};
use crate::system::{Kind, Role, Setting, System};
use crate::{ArmSpec, Features, Selection, SystemError};

const PER_REQUEST: &str = "per-request";
const PER_BYTE: &str = "per-byte";
const BASE: &str = "base";

const SETTINGS: &[Setting] = &[
    Setting {
        name: PER_REQUEST,
        about: "delay added per request",
        values: &["20us", "0us", "5us", "10us", "50us", "100us", "500us"],
    },
    Setting {
        name: PER_BYTE,
        about: "delay added per byte",
        values: &["0.5ns", "0ns", "0.1ns", "0.2ns", "1ns", "2ns"],
    },
    Setting {
        name: BASE,
        about: "additional delay per request; also measured separately, as the pass-through",
        values: &["0us", "200us"],
    },
];

/// A layer with a known cost. Its name cannot be mistaken for the name of a real system.
pub(crate) static DELAY: System = System {
    settings: SETTINGS,
    in_all: false,
    arms,
    ..System::new(
        &catalog::DELAY,
        Kind::Inline(|arm, _| {
            let request_ns = nanoseconds(arm, BASE) + nanoseconds(arm, PER_REQUEST);
            Ok(Arc::new(Wait { request_ns, byte_ns: nanoseconds(arm, PER_BYTE) }))
        }),
    )
};

fn arms(system: &System, selection: &Selection, _: &Features) -> Result<Vec<ArmSpec>, SystemError> {
    let arm = |values: &Choice| {
        let base = match values[BASE] {
            "0us" => String::new(),
            base => format!("{base} + "),
        };
        let label = format!("wait {base}{} + {}/B", values[PER_REQUEST], values[PER_BYTE]);
        let settings = in_words(values);
        ArmSpec { settings, ..system.arm(identifier(system, values), label, Role::NullLayer) }
    };
    let choices = choices(system, selection);
    let nothing = |base| Choice::from([(PER_REQUEST, "0us"), (PER_BYTE, "0ns"), (BASE, base)]);
    let mut bases: Vec<_> = choices.iter().map(|c| c[BASE]).filter(|base| *base != "0us").collect();
    bases.dedup();
    Ok(bases.into_iter().map(nothing).chain(choices.iter().cloned()).map(|c| arm(&c)).collect())
}

fn nanoseconds(arm: &ArmSpec, setting: &str) -> f64 {
    let words = arm.settings.get(setting).map_or("0ns", String::as_str);
    let digits = words.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = if words.ends_with("us") { 1e3 } else { 1.0 };
    unit * digits.parse::<f64>().expect("values are those of the settings")
}

/// Waits for the duration of a request. It spins, because a sleep overshoots by more than the cost to be
/// detected.
struct Wait {
    request_ns: f64,
    byte_ns: f64,
}

impl Wait {
    fn until(&self, began: Instant, bytes: usize) {
        let wait = Duration::from_nanos((self.request_ns + self.byte_ns * bytes as f64) as u64);
        while began.elapsed() < wait {
            spin_loop();
        }
    }
}

impl SectorTransform for Wait {
    fn unit(&self) -> usize {
        512
    }

    /// The time for the out-of-place copy is part of the wait.
    fn seal(&self, _offset: u64, plain: &[u8], stored: &mut [u8]) {
        let began = Instant::now();
        stored.copy_from_slice(plain);
        self.until(began, plain.len());
    }

    fn open(&self, _offset: u64, data: &mut [u8]) {
        self.until(Instant::now(), data.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_is_an_arm_of_its_own() {
        let settings = [(BASE.to_owned(), vec!["200us".to_owned()])].into();
        let arms = DELAY.arms(&Selection { settings, ..Selection::default() }).unwrap();
        let labels: Vec<_> = arms.iter().map(|arm| &arm.label[..]).collect();
        assert_eq!(labels, ["wait 200us + 0us + 0ns/B", "wait 200us + 20us + 0.5ns/B"]);
    }

    #[test]
    fn a_request_waits_as_long_as_it_is_told_and_data_stay_the_same() {
        let wait = Wait { request_ns: 200_000.0, byte_ns: 10.0 };
        let mut data: Vec<u8> = (0..40_960).map(|i| i as u8).collect();
        let plain = data.clone();
        let began = Instant::now();
        wait.open(0, &mut data);
        assert!(began.elapsed() >= Duration::from_micros(600));
        let began = Instant::now();
        let mut stored = vec![0; data.len()];
        wait.seal(0, &plain, &mut stored);
        assert!(began.elapsed() >= Duration::from_micros(600));
        assert!(data == plain && stored == plain);
    }
}
