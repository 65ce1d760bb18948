//! `cargo xtask tidy`: checks the structure of the code against ARCHITECTURE.md.

mod errors;
mod length;
mod markup;
mod one_system;
mod own_words;
mod pipeline;
pub mod sources;
mod switched_off;
mod words;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};

use crate::msrv;

/// The pages about the code and the program, except for the history of changes.
fn pages() -> anyhow::Result<Vec<PathBuf>> {
    let mut pages: Vec<_> = ["ARCHITECTURE.md", "CONTRIBUTING.md", "README.md", "SECURITY.md"]
        .map(PathBuf::from)
        .into();
    for entry in fs::read_dir("docs").context("docs")? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "md") {
            pages.push(path);
        }
    }
    Ok(pages)
}

/// Names that say nothing about the contents.
const VAGUE: &[&str] = &["common", "utils", "util", "helpers", "helper", "misc"];

pub fn run() -> anyhow::Result<()> {
    let mut faults = Vec::new();
    dependencies(&mut faults)?;
    let mut files = Vec::new();
    sources(Path::new("crates"), &mut files)?;
    sources(Path::new("xtask"), &mut files)?;
    for file in &files {
        opening(file, &mut faults)?;
        vague(file, &mut faults);
        unsafety(file, &mut faults)?;
        words::check(file, &fs::read_to_string(file)?, &mut faults);
        if !file.starts_with("xtask") {
            let text = fs::read_to_string(file)?;
            errors::check(file, &text, &mut faults);
            pipeline::check(file, &text, &mut faults);
            markup::check(file, &text, &mut faults);
            own_words::check(file, &text, &mut faults);
        }
    }
    for page in pages()? {
        words::check(&page, &fs::read_to_string(&page)?, &mut faults);
    }
    length::check(&mut faults)?;
    one_system::check(&files, &mut faults)?;
    let metadata = msrv::metadata()?;
    switched_off::check(&metadata, &files, &mut faults)?;
    msrv::dependencies(&metadata, &mut faults)?;
    profiles(&mut faults)?;
    adapters(&mut faults)?;
    if faults.is_empty() {
        return Ok(());
    }
    for fault in &faults {
        println!("{fault}");
    }
    bail!("faults in the structure: {}", faults.len())
}

fn dependencies(faults: &mut Vec<String>) -> anyhow::Result<()> {
    let page = fs::read_to_string("ARCHITECTURE.md").context("ARCHITECTURE.md")?;
    let table = crates_of(&page);
    for entry in fs::read_dir("crates")? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        let manifest = format!("crates/{name}/Cargo.toml");
        let text = fs::read_to_string(&manifest).with_context(|| manifest.clone())?;
        let Some(allowed) = table.get(name.as_str()) else {
            faults.push(format!("ARCHITECTURE.md: its table of crates lacks {name}"));
            continue;
        };
        let runtime = text.split("[dev-dependencies]").next().unwrap_or_default();
        let on: BTreeSet<_> = runtime
            .lines()
            .filter_map(|line| line.strip_prefix("cryptbench-"))
            .filter_map(|line| line.split(['.', ' ', '=']).next())
            .collect();
        for other in on.difference(allowed) {
            faults.push(format!("{manifest}: may not depend on {other} (ARCHITECTURE.md)"));
        }
        for other in allowed.difference(&on) {
            faults.push(format!("ARCHITECTURE.md: {name} does not use {other}"));
        }
    }
    for name in table.keys().filter(|name| !OUTSIDE.contains(name)) {
        if !Path::new("crates").join(name).is_dir() {
            faults.push(format!("ARCHITECTURE.md: there is no crate {name}"));
        }
    }
    Ok(())
}

/// Rows in the table of crates that are not part of the product.
const OUTSIDE: &[&str] = &["xtask", "fuzz", "bench-peers"];

/// The crates in the table of ARCHITECTURE.md, and for each the crates that it may use.
fn crates_of<'p>(page: &'p str) -> BTreeMap<&'p str, BTreeSet<&'p str>> {
    let section = page.split("\n## ").find(|section| section.starts_with("The crates"));
    let rows = section.unwrap_or_default().lines().filter(|line| line.starts_with('`'));
    let cells = rows.map(|row| row.split(" | ").collect::<Vec<_>>());
    let cells: Vec<_> = cells.filter(|cells| cells.len() == 3).collect();
    let names: BTreeSet<_> = cells.iter().map(|cells| cells[0].trim_matches('`')).collect();
    let quoted = |cell: &'p str| cell.split('`').skip(1).step_by(2).collect::<BTreeSet<_>>();
    let uses = |name: &str, cell: &'p str| match cell.strip_prefix("all but ") {
        Some(others) => {
            let others = quoted(others);
            let is_other =
                |used: &&'p str| *used == name || OUTSIDE.contains(used) || others.contains(used);
            names.iter().copied().filter(|used| !is_other(used)).collect()
        }
        None => quoted(cell),
    };
    let named = |cells: &Vec<&'p str>| {
        let name = cells[0].trim_matches('`');
        (name, uses(name, cells[2]))
    };
    cells.iter().map(named).collect()
}

fn sources(dir: &Path, files: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        if path.is_dir() {
            sources(&path, files)?;
        } else if path.extension().is_some_and(|e| e == "rs") {
            files.push(path);
        }
    }
    Ok(())
}

/// Checks that every module starts with a sentence about its purpose.
fn opening(file: &Path, faults: &mut Vec<String>) -> anyhow::Result<()> {
    let text = fs::read_to_string(file)?;
    if !text.trim_start().starts_with("//! ") {
        faults.push(format!("{}: does not open with a sentence (//!)", file.display()));
    }
    Ok(())
}

fn vague(file: &Path, faults: &mut Vec<String>) {
    let parts = file.components().filter_map(|c| c.as_os_str().to_str());
    for part in parts.map(|p| p.trim_end_matches(".rs")) {
        if VAGUE.contains(&part) {
            faults.push(format!("{}: {part:?} says nothing about its contents", file.display()));
        }
    }
}

/// Checks that `unsafe` occurs only in SIMD kernels, the engines, the FUSE server, memory, a system call
/// without a safe wrapper, and tests.
fn unsafety(file: &Path, faults: &mut Vec<String>) -> anyhow::Result<()> {
    const HOMES: &[&str] = &[
        "crates/cipher/src",
        "crates/cipher/tests",
        "crates/cipher/examples",
        "crates/kdf/src/argon2/block.rs",
        "crates/kdf/src/pbkdf2",
        "crates/blockdev/src/aligned.rs",
        "crates/blockdev/src/locked.rs",
        "crates/blockdev/src/linux",
        "crates/blockdev/src/windows.rs",
        "crates/os/src/linux/call",
        "crates/os/src/windows/call.rs",
        "crates/os/src/windows/call",
        "crates/load/src/engine/linux",
        "crates/load/src/engine/windows/port.rs",
        "crates/export/src/arena.rs",
        "crates/export/src/fuse",
        "crates/export/src/rings",
        "crates/export/src/ublk",
        "crates/system/tests",
        "crates/cli/tests/guest/xstate.rs",
        "crates/cli/tests/integration/confined/tries.rs",
        "crates/cli/tests/integration/hostile_volume/liar.rs",
        "crates/cli/tests/integration/hostile_volume/unfiltered.rs",
        "xtask/src/test/hurried/preload.rs",
        "xtask/src/tidy.rs",
    ];
    if HOMES.iter().any(|h| file.starts_with(h)) {
        return Ok(());
    }
    let text = fs::read_to_string(file)?;
    if text.lines().any(|l| l.contains("unsafe ") && !l.trim_start().starts_with("//")) {
        faults
            .push(format!("{}: unsafe code is not allowed here (ARCHITECTURE.md)", file.display()));
    }
    Ok(())
}

/// Checks that every profile file is in the table of built-in profiles.
fn profiles(faults: &mut Vec<String>) -> anyhow::Result<()> {
    let known: Vec<_> = cryptbench_load::Profile::builtin().iter().map(|(n, _)| *n).collect();
    for entry in fs::read_dir("crates/load/profiles")? {
        let path = entry?.path();
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if !known.contains(&name.as_str()) {
            faults.push(format!("{}: not among Profile::builtin()", path.display()));
        }
    }
    Ok(())
}

/// Checks that every adapter module has a line in the list of systems.
fn adapters(faults: &mut Vec<String>) -> anyhow::Result<()> {
    let registry = fs::read_to_string("crates/system/src/adapter/mod.rs")?;
    for entry in fs::read_dir("crates/system/src/adapter")? {
        let path = entry?.path();
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if name != "mod" && !registry.contains(&format!("{name}::")) {
            faults.push(format!("{}: no line in SYSTEMS of adapter/mod.rs", path.display()));
        }
    }
    Ok(())
}
