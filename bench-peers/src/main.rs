//! Compares our cipher kernels with those of other libraries: on one thread, with random data, interleaved.
//!
//! `cargo xtask bench ciphers` builds and runs this.

mod comparison;
mod contender;
mod kernel;
mod peers;
mod rounds;
mod table;
mod traced;
mod veracrypt;

use std::fs::File;
use std::io::Read as _;
use std::time::Duration;

use anyhow::Context as _;
use clap::Parser;
use cryptbench_cipher::Tier;
use serde_json::json;

use comparison::{Bench, Comparison, Fastest, selection};
use contender::Direction;
use peers::Peer;
use rounds::Schedule;

/// Number of bytes transformed per pass.
const BUFFER: usize = 1 << 20;

/// Compares our cipher kernels with other libraries.
#[derive(Parser)]
struct Args {
    /// Rounds; each runs every contender once
    #[arg(long, default_value_t = 15)]
    rounds: usize,
    /// Milliseconds for each contender per round
    #[arg(long, default_value_t = 25)]
    slot_ms: u64,
    /// Only ciphers whose names contain this
    #[arg(long, default_value = "")]
    cipher: String,
    /// Highest tier of our kernels [default: that of the CPU]: soft, aesni, avx2 or avx512; neon or crypto on
    /// ARM
    #[arg(long)]
    tier: Option<Tier>,
    /// Only let this contender, a peer or `ours`, transform a buffer three times, between system calls that a
    /// trace shows
    #[arg(long, hide = true)]
    traced: Option<String>,
    /// Size of the traced contender's data units in bytes
    #[arg(long, hide = true, default_value_t = 4096)]
    unit: usize,
    /// Size of its buffer in bytes
    #[arg(long, hide = true, default_value_t = 4096)]
    bytes: usize,
    /// Description of the machine for the output
    #[arg(long, default_value = "")]
    machine: String,
    /// Print all measurements as JSON
    #[arg(long)]
    json: bool,
    /// Print a row for each of our kernels as CSV
    #[arg(long, conflicts_with = "json")]
    csv: bool,
}

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    let (peers, mut skipped) = peers::load();
    let best = Tier::available().pop().unwrap_or(Tier::Soft);
    let tier = args.tier.unwrap_or(best);
    if let Some(who) = &args.traced {
        return traced::run(who, &args.cipher, [args.unit, args.bytes], tier, &peers);
    }
    let mut random = File::open("/dev/urandom").context("/dev/urandom")?;
    let mut bench = Bench {
        peers: &peers,
        has_kernel: false,
        tier,
        schedule: Schedule {
            rounds: args.rounds.max(1),
            slot: Duration::from_millis(args.slot_ms),
        },
        data: vec![0; BUFFER],
        key: vec![0; 1024],
    };
    random.read_exact(&mut bench.data)?;
    random.read_exact(&mut bench.key)?;
    let kernel = kernel::about(&mut bench.data, bench.schedule);
    match &kernel {
        Ok(_) => bench.has_kernel = true,
        Err(why) => skipped.push(format!("the kernel (AF_ALG): {why:#}")),
    }
    let kernel = kernel.ok();

    let mut done = Vec::new();
    let mut fastest = Fastest::new();
    for data_unit in [512, 4096] {
        for info in selection(&args.cipher) {
            for direction in [Direction::Encrypt, Direction::Decrypt] {
                eprintln!("{} {direction}, units of {data_unit}", info.name);
                match bench.compare(info, data_unit, direction, &mut fastest) {
                    Ok(comparison) => done.push(comparison),
                    Err(e) => skipped.push(format!("{} {direction} {data_unit}: {e:#}", info.name)),
                }
            }
        }
    }
    if args.json {
        println!("{:#}", as_json(&args, &peers, kernel.as_deref(), &skipped, &done));
    } else if args.csv {
        print!("{}", table::csv(&done));
    } else {
        print!("{}", as_markdown(&args, &peers, kernel.as_deref(), &skipped, &done));
    }
    Ok(())
}

fn as_markdown(
    args: &Args,
    peers: &[Box<dyn Peer>],
    kernel: Option<&str>,
    skipped: &[String],
    done: &[Comparison],
) -> String {
    let mut text = format!("{}\n\n", args.machine);
    for peer in peers {
        text += &format!("- {}: {}\n", peer.name(), peer.version());
    }
    text.extend(kernel.map(|about| format!("- {about}\n")));
    for why in skipped {
        text += &format!("- SKIPPED: {why}\n");
    }
    text += &format!(
        "\nXTS over {} KiB of random data in place, one thread, tweak and all but the key schedule \
         included; medians of {} rounds of {} ms of CPU time, contenders in turning order (over {} KiB where that alone outlasts a visit). Ratio: \
         median of ours / best peer in the same round.\n\n",
        BUFFER / 1024,
        args.rounds.max(1),
        args.slot_ms,
        rounds::SLOW_BYTES / 1024,
    );
    for data_unit in [512, 4096] {
        text += &table::markdown(data_unit, done);
        text.push('\n');
    }
    text += &veracrypt::markdown(done);
    let clock = rounds::clock();
    text += &format!(
        "The core's clock is {clock:.2} GHz, so one byte a cycle is {:.0} MB/s. AES-256 has 14 rounds: two instructions of \
         32 bytes a cycle make at most 4.57 bytes a cycle, {:.0} MB/s.\n\n",
        clock * 1e3,
        clock * 1e3 * 64.0 / 14.0,
    );
    text += &format!(
        "The {} of a cascade is 1 / sum(1 / best peer of each stage), round by round: none of the \
         libraries has cascades. \"RustCrypto batched\" is our XTS over their block ciphers, since \
         xts-mode passes them one block at a time. Peers choose their kernels themselves; \
         OPENSSL_ia32cap (OpenSSL, AWS-LC) and GCRYPT_DISABLE_HWF (libgcrypt's names, with colons \
         between them) take instruction sets away from them.\n",
        comparison::SERIAL_BOUND
    );
    for name in ["OPENSSL_ia32cap", "GCRYPT_DISABLE_HWF"] {
        if let Ok(value) = std::env::var(name) {
            text += &format!("Here {name}={value}.\n");
        }
    }
    text
}

fn as_json(
    args: &Args,
    peers: &[Box<dyn Peer>],
    kernel: Option<&str>,
    skipped: &[String],
    done: &[Comparison],
) -> serde_json::Value {
    let versions: Vec<_> =
        peers.iter().map(|p| json!({ "name": p.name(), "version": p.version() })).collect();
    let ratios = |c: &Comparison| -> Vec<_> {
        let best = c.peers.first();
        c.ours
            .iter()
            .map(|ours| {
                let ratio = best.and_then(|best| table::ratio(ours, best));
                json!({
                    "kernel": ours.name,
                    "best_peer": best.map(|b| &b.name),
                    "ratio": ratio.as_ref().map(|r| r.median),
                    "interval_95": ratio.and_then(|r| r.interval),
                })
            })
            .collect()
    };
    let comparisons: Vec<_> =
        done.iter().map(|c| json!({ "measured": c, "ratios": ratios(c) })).collect();
    json!({
        "machine": args.machine,
        "peers": versions,
        "kernel": kernel,
        "skipped": skipped,
        "rounds": args.rounds,
        "slot_ms": args.slot_ms,
        "buffer_bytes": BUFFER,
        "comparisons": comparisons,
    })
}
