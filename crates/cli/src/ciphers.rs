//! `cryptbench ciphers`: how fast ciphers are in RAM, and which disks each cipher keeps up with.

mod answer;
mod by_size;
mod data;
mod page;
mod table;

use std::process::ExitCode;
use std::time::Duration;

use cryptbench_answer::quantity::thousands;
use cryptbench_microbench::cipher::{
    Bottleneck, Direction, INTERFACES, Interface, SpeedRequest, Speeds, bottleneck, plan,
};
use cryptbench_runner::{DiskRates, disk_rates};

use crate::args::CiphersArgs;
use crate::progress;
use crate::say::{message, print, print_text, terminal_style};

pub fn ciphers(args: &CiphersArgs) -> anyhow::Result<ExitCode> {
    let width = terminal_style(false).width;
    if args.list {
        print(table::list(&args.cipher, width)?.trim_end());
        return Ok(ExitCode::SUCCESS);
    }
    let speeds = measure(args)?;
    if args.form.json {
        print_text(&data::json(&speeds));
    } else if args.form.csv {
        print_text(&data::csv(&speeds));
    } else if args.by_size {
        print(&by_size::render(&speeds, width));
    } else {
        let disk = disk();
        let bottlenecks = bottlenecks(&speeds, disk.as_ref());
        match (args.form.html, args.full) {
            (true, _) => print_text(&page::page(&speeds, &bottlenecks)),
            (false, true) => print(table::render(&speeds, &bottlenecks, width).trim_end()),
            (false, false) => print(&answer::render(&speeds, disk.as_ref(), width)),
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The complete table, and the disks for which the speeds are high enough.
pub fn full(speeds: &Speeds) -> String {
    let bottlenecks = bottlenecks(speeds, disk().as_ref());
    table::render(speeds, &bottlenecks, terminal_style(false).width)
}

pub fn measure(args: &CiphersArgs) -> anyhow::Result<Speeds> {
    let mut request = SpeedRequest {
        ciphers: args.cipher.clone(),
        data_units: args.data_unit.clone(),
        threads: args.threads.clone(),
        buffers: vec![args.buffer],
        time: args.seconds,
        seed: None,
    };
    if args.by_size {
        by_size::complete(&mut request)?;
    }
    let plan = plan(&request)?;
    let longer = plan.time().saturating_sub(args.seconds);
    if longer > Duration::from_secs(1) {
        message(&format!(
            "these combinations take at least {:.0} s; to measure fewer, use --cipher, --data-unit and --threads",
            plan.time().as_secs_f64()
        ));
    }
    let bar = progress::of_time("measuring in RAM", plan.samples(), plan.time());
    let speeds = plan.run(|| bar.inc(1));
    bar.finish_and_clear();
    Ok(speeds?)
}

/// Rates from the newest record for the disk that holds the current directory.
fn disk() -> Option<DiskRates> {
    disk_rates(&std::env::current_dir().ok()?, &crate::output::runs_directory()?)
}

/// The interfaces in ascending order of their rates, then the disk's rates in both directions.
fn bottlenecks(speeds: &Speeds, disk: Option<&DiskRates>) -> Vec<Bottleneck> {
    let mut interfaces: Vec<_> = INTERFACES
        .iter()
        .map(|(common, mb_s)| Interface {
            name: common.name().to_owned(),
            mb_s: *mb_s,
            direction: Direction::Both,
        })
        .collect();
    if let Some(disk) = disk {
        let of = |verb: &str, rate: Option<f64>, direction| {
            let name = format!("{verb} the disk that holds this directory ({})", disk.device);
            rate.map(|mb_s| Interface { name, mb_s, direction })
        };
        interfaces.extend(of("reading", disk.read_mb_s, Direction::Reading));
        interfaces.extend(of("writing", disk.write_mb_s, Direction::Writing));
    }
    interfaces.into_iter().map(|interface| bottleneck(&speeds.rows, interface)).collect()
}

/// `1 thread`, `8 threads`.
fn threads(count: usize) -> String {
    format!("{count} thread{}", if count == 1 { "" } else { "s" })
}

/// A rate in MB/s with three significant figures, and with a thousands separator for four or more digits.
fn rate(mb_s: f64) -> String {
    match mb_s {
        _ if mb_s < 9.995 => format!("{mb_s:.2}"),
        _ if mb_s < 99.95 => format!("{mb_s:.1}"),
        _ => thousands(mb_s),
    }
}

/// The kernels that ran, each with its ciphers in registry order.
fn kernels(speeds: &Speeds) -> Vec<(&'static str, Vec<&'static str>)> {
    let mut kernels: Vec<(&str, Vec<&str>)> = Vec::new();
    for row in &speeds.rows {
        let known = kernels.iter().position(|(kernel, _)| *kernel == row.kernel);
        let index = known.unwrap_or_else(|| {
            kernels.push((row.kernel, Vec::new()));
            kernels.len() - 1
        });
        if !kernels[index].1.contains(&row.label) {
            kernels[index].1.push(row.label);
        }
    }
    kernels
}

/// The numbers of threads that were measured, in ascending order.
fn thread_counts(speeds: &Speeds) -> Vec<usize> {
    let mut counts: Vec<_> = speeds.rows.iter().map(|row| row.threads).collect();
    counts.sort_unstable();
    counts.dedup();
    counts
}

/// Describes the measurement in one sentence.
fn method(speeds: &Speeds) -> String {
    format!(
        "MB/s (10^6 bytes per second) in RAM, with a buffer of {} per thread; medians of {} rounds, interleaved over \
         all rows, {:.0} s in total; IQR: interquartile range in % of the median",
        size(speeds.buffer),
        speeds.rounds,
        speeds.elapsed.as_secs_f64()
    )
}

/// `512 bytes`, `64 KiB`, `1 MiB`.
fn size(bytes: usize) -> String {
    match bytes {
        b if b.is_multiple_of(1 << 20) => format!("{} MiB", b >> 20),
        b if b.is_multiple_of(1 << 10) => format!("{} KiB", b >> 10),
        b => format!("{b} bytes"),
    }
}

/// One line per class of ciphers: the number of threads that these ciphers need, and their names.
fn classes(bottleneck: &Bottleneck) -> Vec<(String, String)> {
    let mut lines = Vec::new();
    for (index, (count, names)) in bottleneck.keep_up.iter().enumerate() {
        if !names.is_empty() {
            let only = if index == 0 { "" } else { "only " };
            lines.push((format!("{only}with {}", threads(*count)), names.join(", ")));
        }
    }
    if !bottleneck.too_slow.is_empty() {
        lines.push(("too slow".to_owned(), bottleneck.too_slow.join(", ")));
    }
    if let [(_, names)] = lines.as_mut_slice() {
        "every cipher in the table".clone_into(names);
    }
    lines
}

/// The meaning and the limits of the classes.
const CAVEAT: &str = "Interface rates are typical payload rates. They are compared with the slower of encryption and \
decryption on an otherwise idle CPU. To measure the cost on a disk, use `cryptbench run`.";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_have_three_figures_and_grouped_thousands() {
        let written: Vec<_> =
            [0.5, 9.996, 45.25, 99.96, 999.4, 1234.5, 1_234_567.0].map(rate).into();
        assert_eq!(written, ["0.50", "10.0", "45.2", "100", "999", "1,234", "1,234,567"]);
    }

    #[test]
    fn one_class_for_all_is_the_whole_table() {
        let interface = Interface { name: "a".to_owned(), mb_s: 1.0, direction: Direction::Both };
        let names = |n: &[&str]| n.iter().map(ToString::to_string).collect::<Vec<_>>();
        let mut m = Bottleneck {
            interface,
            keep_up: vec![(1, vec![]), (2, names(&["x", "y"]))],
            too_slow: vec![],
        };
        let of = |m: &Bottleneck| {
            classes(m).into_iter().map(|(a, b)| format!("{a}: {b}")).collect::<Vec<_>>()
        };
        assert_eq!(of(&m), ["only with 2 threads: every cipher in the table"]);
        m.keep_up[0].1 = names(&["z"]);
        m.too_slow = names(&["w"]);
        assert_eq!(of(&m), ["with 1 thread: z", "only with 2 threads: x, y", "too slow: w"]);
    }
}
