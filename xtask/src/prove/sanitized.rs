//! Tests of the crates with `unsafe`, under Miri and under AddressSanitizer.

use std::process::{Command, Output};

use super::tally::Counted;

/// Crates, and the unit tests that Miri runs; all tests if none are listed. Miri supports only the oldest CPU
/// instructions, and needs minutes for long tests.
const MIRI: &[(&str, &[&str])] = &[
    ("blockdev", &["aligned", "memory::tests"]),
    (
        "cipher",
        &["poly1305", "aes::soft::tests::fips", "aes::schedule", "mode::iv", "mode::xts", "essiv"],
    ),
    ("kdf", &["it_stops"]),
];

/// Why other code with `unsafe` is not tested with Miri.
const NOT_UNDER_MIRI: &str = "export, load, and blockdev's files and locked pages under Miri: their system calls \
                              (io_uring, ioctl, fcntl, madvise, mlock) are none that it knows";

/// Crates whose tests run under AddressSanitizer, and the tests to omit.
const ADDRESSES: &[(&str, &[&str])] =
    &[("blockdev", &[]), ("cipher", &[]), ("kdf", &[]), ("export", &[]), ("load", &["engine::"])];

pub fn run(counted: &mut Counted) -> anyhow::Result<()> {
    let has_miri = Command::new("cargo")
        .args(["+nightly", "miri", "--version"])
        .env_remove("RUSTUP_TOOLCHAIN")
        .env_remove("CARGO")
        .output()
        .is_ok_and(|done| done.status.success());
    if has_miri {
        for (package, only) in MIRI {
            take(counted, package, "Miri", &miri(package, only)?);
        }
        counted.skipped.insert(NOT_UNDER_MIRI.to_owned());
    } else {
        let why = "Miri: rustup toolchain install nightly --component miri --component rust-src";
        counted.skipped.insert(why.to_owned());
    }
    for (package, skip) in ADDRESSES {
        take(counted, package, "AddressSanitizer", &addresses(package, skip)?);
    }
    Ok(())
}

fn miri(package: &str, only: &[&str]) -> anyhow::Result<Output> {
    let mut command = Command::new("cargo");
    command
        .args(["+nightly", "miri", "test", "--lib", "-p", &format!("cryptbench-{package}")])
        .env("CARGO_TARGET_DIR", std::path::absolute("target/miri/sources")?)
        .env("MIRIFLAGS", "-Zmiri-disable-isolation")
        .env_remove("RUSTUP_TOOLCHAIN")
        .env_remove("CARGO")
        .arg("--");
    Ok(command.args(only).output()?)
}

fn addresses(package: &str, skip: &[&str]) -> anyhow::Result<Output> {
    let mut command = Command::new(env!("CARGO"));
    command
        .args(["test", "--lib", "--tests", "-p", &format!("cryptbench-{package}")])
        .args(["--target", &crate::fuzz::host()?])
        .env("CARGO_TARGET_DIR", std::path::absolute("target/addresses")?)
        .env("RUSTC_BOOTSTRAP", "1")
        .env("RUSTFLAGS", "-Zsanitizer=address")
        // Leaks are ignored, because tests leave threads behind. An allocation that is too large must fail, as
        // a test expects, and not abort the test.
        .env("ASAN_OPTIONS", "detect_leaks=0:allocator_may_return_null=1")
        .arg("--");
    Ok(command.args(skip.iter().flat_map(|name| ["--skip", name])).output()?)
}

/// Adds up the results of the test binaries.
fn take(counted: &mut Counted, package: &str, under: &str, done: &Output) {
    let said = String::from_utf8_lossy(&done.stdout);
    let passed = passed(&said);
    *counted.counts.entry(format!("tests of {package} under {under}")).or_default() += passed;
    println!("           {package} under {under}: {passed} passed, {}", done.status);
    if !done.status.success() {
        let errors = String::from_utf8_lossy(&done.stderr);
        let line = errors.lines().chain(said.lines()).find(|line| {
            line.contains("ERROR: AddressSanitizer")
                || line.starts_with("error")
                || line.contains("FAILED")
        });
        let line = line.unwrap_or("no reason was given");
        counted.failures.push(format!("{package} under {under}: {line}"));
    }
}

fn passed(output: &str) -> u64 {
    let results = output.lines().filter_map(|line| line.trim().strip_prefix("test result: "));
    results.filter_map(|line| line.split(". ").nth(1)?.split(' ').next()?.parse::<u64>().ok()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_added_up() {
        let said = "running 2 tests\ntest result: ok. 2 passed; 0 failed\n\ntest result: FAILED. 3 passed; 1 failed\n";
        assert_eq!(passed(said), 5);
    }
}
