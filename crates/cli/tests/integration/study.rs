//! `cryptbench run --study` through the binary, with tiny sizes: its plan, its table, its records.

use crate::sandbox::{Sandbox, text};
use serde_json::Value;

#[test]
fn every_study_says_what_it_would_do() {
    let s = Sandbox::new();
    for (study, parts) in [
        (
            "a",
            [
                "Study A on this machine: atto, then hdtune",
                "First, ciphers and key derivation are measured in RAM for about 40 s, without writing to the disk: \
                 the study's 5 ciphers and 10 cascades with 50 MB on all CPUs, and its PRFs at PIM 485 and 9999.",
            ],
        ),
        (
            "B",
            [
                "Study B on this machine: dd-removable",
                "the Mac's encrypted volume (its default) cannot be set up here: builtin",
            ],
        ),
        ("C", ["Study C on this machine: iozone, then dd-copy", "profile dd-copy, 2 workloads"]),
        (
            "D",
            ["Study D on this machine: anvil", "BestCrypt (the same three) cannot be set up here"],
        ),
        ("A", ["- VeraCrypt (AES, NTFS)", "as in the study, the encrypted devices also use NTFS"]),
        (
            "D",
            [
                "- TrueCrypt (AES, Serpent, Twofish)",
                "ciphers: aes-256-xts, serpent-256-xts, twofish-256-xts",
            ],
        ),
        ("C", ["- LUKS (LUKS1, aes-cbc-essiv:sha256, 256 bits)", "- EncFS (paranoia"]),
        ("C", ["- TrueCrypt (AES, RIPEMD-160)", "- eCryptfs (AES, 16 bytes of key)"]),
    ] {
        let done = s.run(&["run", "--study", study, "--dry-run"]);
        assert!(done.status.success(), "{study}: {}", text(&done.stderr));
        let flat = text(&done.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
        if study == "D" {
            // Two programs with three ciphers each, whichever systems replace them.
            let arms =
                flat.split("choices ").nth(1).and_then(|a| a.split(" trials ").next()).unwrap();
            for cipher in ["AES-256", "Serpent-256", "Twofish-256"] {
                let of = arms.to_lowercase().matches(&cipher.to_lowercase()).count();
                assert!(of >= 2, "{cipher} is {of} times in {arms}");
            }
        }
        let always =
            ["would write", "would take", "ciphers: ", "The whole study would take about "];
        for part in parts.iter().chain(&always) {
            assert!(flat.contains(part), "{study}: {part} is not in {flat}");
        }
    }
    // The study's LUKS has the format of that time, whether it is the kernel's or a replacement. TrueCrypt has a
    // separate arm.
    let done = s.run(&["run", "--study", "C", "--dry-run"]);
    let shown = text(&done.stdout);
    for cipher in ["aes-256-cbc-essiv", "aes-256-xts"] {
        assert!(shown.contains(cipher), "{cipher} is not in {shown}");
    }
    let done = s.run(&["run", "--study", "A", "--emulate", "sata-ssd", "--dry-run"]);
    let flat = text(&done.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
    for part in ["also measuring builtin with driver=serial", "AES-256, one at a time"] {
        assert!(flat.contains(part), "{part} is not in {flat}");
    }
    assert!(s.left_behind().is_empty());
    assert_eq!(s.run(&["run", "--study", "E"]).status.code(), Some(2));
    assert_eq!(s.run(&["run", "--study", "A", "--profile", "quick"]).status.code(), Some(2));
}

#[test]
fn a_study_of_two_profiles_has_two_records() {
    let s = Sandbox::new();
    let out = s.out().join("a").display().to_string();
    // In memory if possible, because 42 workloads flush often.
    let memory = crate::sandbox::disk::images();
    let done = s.run(&[
        "run",
        memory.path().to_str().unwrap(),
        "--study",
        "A",
        "--systems",
        "builtin",
        "--cipher",
        "aes-256-xts",
        "--data-unit",
        "512",
        "--size",
        "128MiB",
        "--trials",
        "1",
        "--trial",
        "5ms",
        "--pause",
        "0",
        "--output",
        &out,
        "--json",
    ]);
    assert!(done.status.success(), "{}", text(&done.stderr));
    let json: Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!(json["records"].as_array().unwrap().len(), 2);
    for profile in ["atto", "hdtune"] {
        assert!(s.out().join("a").join(profile).join("record.json").is_file(), "{profile}");
    }
    // 21 block sizes in both directions. Each printed change is that between the two speeds in its row.
    let atto = json["tables"][0]["rows"].as_array().unwrap();
    // The tables: speed, IO/s and CPU of ATTO, and HD Tune.
    assert_eq!((atto.len(), json["tables"].as_array().unwrap().len()), (21, 4));
    assert!(json["in_ram"]["ciphers"].as_array().unwrap().len() >= 15, "{}", json["in_ram"]);
    assert!(json["in_ram"]["derivations"].as_array().unwrap().len() >= 5);
    let record = cryptbench_record::read(&s.out().join("a/atto/record.json")).unwrap();
    assert_eq!(serde_json::to_value(record.in_ram.unwrap()).unwrap(), json["in_ram"]);
    let lines = json["answers"][0]["lines"].as_array().unwrap();
    assert_eq!(lines.len(), 2, "reads and writes of one arm: {lines:?}");
    assert!(lines[0].as_str().unwrap().contains("The study's "), "{lines:?}");
    let conclusions = json["conclusions"].as_array().unwrap();
    assert!(conclusions.iter().any(|c| c["id"] == "fastest-cipher"), "{conclusions:?}");
    for row in atto {
        let number = |i: usize| -> f64 {
            row[i].as_str().unwrap().trim_end_matches(" %").parse().expect("a number")
        };
        // The largest rounding error of a printed number, relative to the number.
        let rounded = |i: usize| {
            let places = row[i].as_str().unwrap().split_once('.').map_or(0, |(_, p)| p.len());
            0.5 * 10_f64.powi(-(places as i32)) / number(i)
        };
        for at in [1, 4] {
            let ratio = number(at + 1) / number(at);
            let off = 0.6 + 100.0 * ratio * (rounded(at) + rounded(at + 1));
            assert!((number(at + 2) - 100.0 * (ratio - 1.0)).abs() < off, "{row}");
        }
    }
    assert!(s.left_behind().is_empty(), "{:?}", s.left_behind());
}

#[test]
fn study_cs_table_has_losses_and_the_noise_of_series() {
    let s = Sandbox::new();
    let done = s.run(&[
        "run",
        "--study",
        "C",
        "--systems",
        "builtin",
        "--cipher",
        "aes-256-xts",
        "--data-unit",
        "512",
        "--max-file",
        "64KiB",
        "--size",
        "16MiB",
        "--trials",
        "2",
        "--pause",
        "0",
        "--json",
    ]);
    assert!(done.status.success(), "{}", text(&done.stderr));
    let json: Value = serde_json::from_slice(&done.stdout).unwrap();
    let remarks = json["remarks"].to_string();
    assert!(remarks.contains("dd-copy is left out: no workload"), "{remarks}");
    // A scratch file is at least 1 MiB, however small the largest file of a workload is.
    let small = ["run", "--study", "C", "--max-file", "256KiB", "--dry-run"];
    let done = s.run(&small);
    assert!(done.status.success(), "{}", text(&done.stderr));
    assert!(text(&done.stdout).contains("1 MiB"), "{}", text(&done.stdout));
    let rows = json["tables"][0]["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 2, "{rows:?}");
    // Plain loses nothing compared with itself, its series differ slightly, and dd was not run.
    let field = |row: usize, column: usize| rows[row][column].as_str().unwrap().to_owned();
    assert_eq!([field(0, 1), field(1, 3)], ["", ""]);
    for (row, column) in [(0, 2), (1, 1), (1, 2)] {
        assert!(field(row, column).parse::<f64>().is_ok(), "{row}, {column}: {rows:?}");
    }
}

#[test]
fn study_ds_table_on_the_terminal() {
    let s = Sandbox::new();
    let done = s.run(&[
        "run",
        "--study",
        "D",
        "--systems",
        "builtin",
        "--cipher",
        "aes-256-xts,serpent-256-xts",
        "--data-unit",
        "512",
        "--size",
        "16MiB",
        "--trials",
        "2",
        "--trial",
        "10ms",
        "--pause",
        "0",
        "--quiet",
        "--output",
        &s.out().display().to_string(),
    ]);
    assert!(done.status.success(), "{}", text(&done.stderr));
    let out = text(&done.stdout);
    // The record yields the same tables.
    let record = s.out().join("anvil").display().to_string();
    let again = text(&s.run(&["studies", "D", "--from", &record]).stdout);
    assert!(again.len() > 500 && out.contains(again.trim_end()), "{again} is not in {out}");
    for (format, part) in
        [("csv", "test,system and cipher,MB/s"), ("markdown", "|---|"), ("latex", "\\toprule")]
    {
        let table = text(&s.run(&["studies", "D", "--from", &record, "--format", format]).stdout);
        assert!(table.contains(part), "{part} is not in {table}");
    }
    for line in out.lines() {
        assert!(line.chars().count() <= 80, "wider than 80 columns: {line}");
    }
    let flat = out.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "measuring the systems that you specified",
        "Anvil's Storage Utilities, MB/s",
        "Seq 4MB read",
        "Serpent-256 alone",
        "0.0 %",
        "means without intervals",
    ] {
        assert!(flat.contains(part), "{part} is not in {flat}");
    }
}

/// Writing hundreds of gigabytes wears an SSD, so the output of such a study starts with this warning, and with the
/// share of a drive's endurance.
#[test]
fn a_study_that_writes_much_says_so_first() {
    let s = Sandbox::new();
    let done = s.run(&["run", "--study", "A", "--dry-run", "--json"]);
    assert!(done.status.success(), "{}", text(&done.stderr));
    let json: Value = serde_json::from_slice(&done.stdout).unwrap();
    let plans = json["plans"].as_array().unwrap();
    let written: f64 = plans.iter().map(|plan| plan["bytes_written"].as_f64().unwrap()).sum();
    assert!(written > 2e11, "{written}");
    let wear = json["wear"].as_str().unwrap();
    // The total of all parts, with at least two digits.
    let words = match written {
        n if n < 999.5e9 => format!("This plan writes {:.0} GB", n / 1e9),
        n if n < 9.95e12 => format!("This plan writes {:.1} TB", n / 1e12),
        n => format!("This plan writes {:.0} TB", n / 1e12),
    };
    assert!(wear.starts_with(&words), "{words}: {wear}");
    assert!(wear.contains(" is typically rated for (Samsung 870 EVO: 600 TB per TB)"), "{wear}");
    let done = s.run(&["run", "--study", "A", "--dry-run"]);
    let flat = text(&done.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.starts_with(wear), "{flat}");
    // A short run writes little, and prints no warning.
    let short = ["--budget", "30s", "--size", "16MiB", "--builtin-only"];
    let little = s.run(&[&["run", "--dry-run", "--json"], &short[..]].concat());
    let little: Value = serde_json::from_slice(&little.stdout).unwrap();
    assert!(little["wear"].is_null(), "{little}");
    let short = "A budget of 30 s is short for ";
    assert!(
        little["remarks"][0].as_str().is_some_and(|remark| remark.starts_with(short)),
        "{little}"
    );
}
