//! `cargo xtask devices`: compares the device models with the published sweeps, as in the tables of
//! docs/devices.md.

use anyhow::Context as _;
use cryptbench_devices::calibration::{Beside, HELD_AGAINST, beside, misfit};
use cryptbench_devices::published::{Point, anvil, atto};
use cryptbench_devices::{Model, Operation};
use cryptbench_text::human;

pub fn run() -> anyhow::Result<()> {
    let read = |name: &str| std::fs::read_to_string(format!("crates/studies/data/{name}.csv"));
    let atto = atto(&read("atto")?).context("atto.csv")?;
    let anvil = anvil(&read("anvil")?).context("anvil.csv")?;
    println!(
        "| model | held against | fitted to it | operation | points | median error | worst error | at |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    let mut all = Vec::new();
    for &(name, study, device, fitted) in HELD_AGAINST {
        let model = Model::named(name)?;
        let points: Vec<Point> = if study == 'A' { &atto } else { &anvil }
            .iter()
            .filter(|p| p.device == device)
            .cloned()
            .collect();
        let found = beside(&model, &points);
        for operation in [Operation::Read, Operation::Write] {
            let Some(m) = misfit(&found, Some(operation)) else { continue };
            let fitted = if fitted { "yes" } else { "no, another drive" };
            println!(
                "| {name} | study {study}, {device} | {fitted} | {} | {} | {:.1} % | {:+.0} % | {} |",
                verb(operation),
                m.points,
                m.median * 100.0,
                m.worst * 100.0,
                human(m.worst_bytes)
            );
        }
        all.push((name, study, device, found));
    }
    for (name, study, device, found) in &all {
        println!("\n### {name} and study {study}'s {device}\n");
        println!("| load | published MiB/s | model MiB/s | error | |\n|---|---|---|---|---|");
        found.iter().for_each(row);
    }
    Ok(())
}

fn row(b: &Beside) {
    let load = &b.point.load;
    let pattern = if load.random { "random" } else { "sequential" };
    let remark = if b.point.consistent { "" } else { "contradicts its own IO/s as printed" };
    println!(
        "| {pattern} {} {} QD{} | {:.2} | {:.2} | {:+.0} % | {remark} |",
        verb(load.operation),
        human(load.bytes),
        load.queue_depth,
        b.point.mib_s,
        b.model_mib_s,
        b.error() * 100.0
    );
}

fn verb(operation: Operation) -> &'static str {
    if operation == Operation::Read { "read" } else { "write" }
}
