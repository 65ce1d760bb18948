//! Compares our key derivation with that of other libraries: on one thread, for header keys, interleaved.
//!
//! `cargo xtask bench kdf` builds and runs this.

mod comparison;
mod job;
mod peers;
mod veracrypt;

use std::path::PathBuf;

use clap::Parser;
use cryptbench_kdf::Tier;
use serde_json::json;

use comparison::{Comparison, compare};
use job::jobs;
use peers::Peer;

/// Compares our key derivation with other libraries.
#[derive(Parser)]
struct Args {
    /// Rounds; each runs every contender once
    #[arg(long, default_value_t = 15)]
    rounds: usize,
    /// Only functions whose names contain this
    #[arg(long, default_value = "")]
    prf: String,
    /// Highest tier of our kernels: soft, aesni, avx2 or avx512
    #[arg(long, default_value = "avx512")]
    tier: Tier,
    /// A library that contains VeraCrypt's key derivation
    #[arg(long)]
    veracrypt: Option<PathBuf>,
    /// Description of the machine for the output
    #[arg(long, default_value = "")]
    machine: String,
    /// Print all measurements as JSON
    #[arg(long)]
    json: bool,
}

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    let (mut peers, mut skipped) = peers::load();
    if let Some(file) = &args.veracrypt {
        peers.push(Box::new(veracrypt::VeraCrypt::load(file)?));
    }
    let mut done = Vec::new();
    for job in jobs().into_iter().filter(|job| job.function.contains(&args.prf)) {
        eprintln!("{}", job.title());
        match compare(&job, &peers, args.tier, args.rounds.max(1)) {
            Ok(comparison) => done.push(comparison),
            Err(error) => skipped.push(format!("{}: {error:#}", job.function)),
        }
    }
    if args.json {
        let versions: Vec<_> =
            peers.iter().map(|p| json!({ "name": p.name(), "version": p.version() })).collect();
        let all = json!({
            "machine": args.machine,
            "rounds": args.rounds.max(1),
            "peers": versions,
            "skipped": skipped,
            "comparisons": done,
        });
        println!("{all:#}");
    } else {
        print!("{}", markdown(&args, &peers, &skipped, &done));
    }
    Ok(())
}

fn markdown(
    args: &Args,
    peers: &[Box<dyn Peer>],
    skipped: &[String],
    done: &[Comparison],
) -> String {
    let mut text = format!("{}\n\n", args.machine);
    for peer in peers {
        text += &format!("- {}: {}\n", peer.name(), peer.version());
    }
    for why in skipped {
        text += &format!("- SKIPPED: {why}\n");
    }
    text += &format!(
        "\nOne header key on one thread; medians of {} rounds, contenders in turning order, CPU time of the \
         process. PBKDF2: µs per iteration of the whole key; Argon2id: ms. Each output is seen to be ours \
         before it is timed. Ratio: median over the rounds of best peer / ours in the same round; above 1, ours \
         is faster.\n\n\
         | function | key | ours (kernel) | best peer | ratio [95 %] | all peers |\n\
         |---|---|---|---|---|---|\n",
        args.rounds.max(1)
    );
    for comparison in done {
        text += &comparison.markdown();
    }
    let faults: Vec<_> = done
        .iter()
        .flat_map(|c| c.faults.iter().map(move |fault| format!("- {}: {fault}\n", c.function)))
        .collect();
    if !faults.is_empty() {
        text += &format!("\n{}", faults.concat());
    }
    text
}
