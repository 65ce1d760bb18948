//! The measurements of study A's first figures: ciphers over 50 MB on all CPUs, and key derivation with the default PIM
//! and with PIM
//! 9999.

use std::time::Duration;

use clap::Parser as _;
use cryptbench_record::{CipherInRam, DerivationInRam, InRam, PimInRam};

use crate::args::{Args, CiphersArgs, Command, KdfArgs};
use crate::run::args::RunArgs;
use crate::say::print;
use crate::{ciphers, kdf};

/// Maximum time in seconds for each of the two measurements.
const LONGEST: f64 = 20.0;

/// Maximum time for each of the two measurements, as a multiple of a trial's duration.
const TRIALS: f64 = 200.0;

/// Buffer sizes for each cipher, in MB: the study's size, and a smaller size if there is too little time for the
/// study's.
const BUFFERS: [u32; 2] = [50, 1];

/// Seconds for each of the two measurements: at most a quarter of the run's budget.
fn seconds(args: &RunArgs) -> f64 {
    let part = |whole: Option<Duration>, times: f64| {
        whole.map_or(LONGEST, |whole| (whole.as_secs_f64() * times).min(LONGEST))
    };
    part(args.how.budget, 0.25).min(part(args.how.trial, TRIALS))
}

/// Seconds for both.
pub fn total(args: &RunArgs) -> f64 {
    2.0 * seconds(args)
}

/// Each cipher processes its buffer several times. With the study's buffer, a slow cascade takes most of a second.
fn buffer(seconds: f64) -> u32 {
    BUFFERS[usize::from(seconds < LONGEST / 4.0)]
}

/// What is measured in a run with these arguments, in one sentence.
pub fn forecast(args: &RunArgs) -> String {
    format!(
        "First, ciphers and key derivation are measured in RAM for about {:.0} s, without writing to the disk: the \
         study's 5 ciphers and 10 cascades with {} MB on all CPUs, and its PRFs at PIM 485 and 9999.",
        total(args),
        buffer(seconds(args))
    )
}

/// Measures ciphers and key derivation, and prints the tables if `shown` is set.
pub fn in_ram(args: &RunArgs, shown: bool) -> anyhow::Result<InRam> {
    let (of_ciphers, of_kdf) = arguments(seconds(args))?;
    let speeds = ciphers::measure(&of_ciphers)?;
    if shown {
        print(ciphers::full(&speeds).trim_end());
        print("");
    }
    let derivation = kdf::study(&of_kdf)?;
    if shown {
        kdf::print_full(&derivation);
        print("");
    }
    let derivations = derivation.by_default().into_iter().map(|row| DerivationInRam {
        function: row.function.name().to_owned(),
        kernel: row.kernel.clone(),
        old_volumes_only: row.old_volumes_only,
        default_s: derivation.default_time(row).seconds,
        us_per_iteration: row.us_per_iteration(),
        spread_percent: row.long.spread_percent,
        pims: derivation
            .question
            .pims
            .iter()
            .filter_map(|&pim| {
                let time = row.time(&derivation.at(row.function, pim)?);
                Some(PimInRam { pim, seconds: time.seconds, measured: time.measured })
            })
            .collect(),
    });
    let mut rows: Vec<_> = speeds.rows.iter().collect();
    rows.sort_by(|a, b| b.mean.mb_s.total_cmp(&a.mean.mb_s));
    Ok(InRam {
        buffer_bytes: speeds.buffer as u64,
        threads: rows.iter().map(|row| row.threads).max().unwrap_or(1) as u32,
        ciphers: rows
            .into_iter()
            .map(|row| CipherInRam {
                cipher: row.cipher.to_owned(),
                kernel: row.kernel.to_owned(),
                encrypt_mb_s: row.encrypt.mb_s,
                decrypt_mb_s: row.decrypt.mb_s,
                mean_mb_s: row.mean.mb_s,
                mean_spread_percent: row.mean.spread_percent,
            })
            .collect(),
        derivations: derivations.collect(),
    })
}

/// The study's settings for the two commands.
fn arguments(seconds: f64) -> anyhow::Result<(CiphersArgs, KdfArgs)> {
    let (buffer, seconds) = (&*format!("{}MB", buffer(seconds)), &*seconds.to_string());
    let ciphers =
        ["--threads", "all", "--data-unit", "512", "--buffer", buffer, "--seconds", seconds];
    let kdf = ["--pim", "485,9999", "--seconds", seconds];
    let parse = |command: &str, more: &[&str]| {
        Args::try_parse_from([&["cryptbench", command], more].concat())
    };
    match (parse("ciphers", &ciphers)?.command, parse("kdf", &kdf)?.command) {
        (Command::Ciphers(ciphers), Command::Kdf(kdf)) => Ok((ciphers, kdf)),
        _ => unreachable!("both were named"),
    }
}
