//! `cryptbench kdf` through the binary: every output format, its arithmetic, and what it refuses.

use crate::sandbox::{Sandbox, text};
use serde_json::Value;

/// Two fast functions and the one that needs memory, measured as briefly as possible.
const BRIEF: [&str; 5] = ["kdf", "--seconds", "1", "--prf", "sha512,blake2s,argon2id"];

fn brief<'a>(more: &[&'a str]) -> Vec<&'a str> {
    BRIEF.iter().chain(more).copied().collect()
}

fn answer(s: &Sandbox, args: &[&str]) -> String {
    let done = s.run(args);
    assert!(done.status.success(), "{}", text(&done.stderr));
    text(&done.stdout)
}

fn object(s: &Sandbox, more: &[&str]) -> Value {
    serde_json::from_str(&answer(s, &[&brief(&["--json"])[..], more].concat())).unwrap()
}

fn function<'a>(object: &'a Value, name: &str) -> &'a Value {
    let list = object["functions"].as_array().unwrap();
    list.iter().find(|f| f["function"] == name).unwrap_or_else(|| panic!("{name} in {object:#}"))
}

/// `a` equals `b`, to the five digits that are printed.
fn assert_near(a: &Value, b: f64) {
    let a = a.as_f64().unwrap();
    assert!((a / b - 1.0).abs() < 1e-3, "{a} is not {b}");
}

#[test]
fn times_are_work_times_rate() {
    let s = Sandbox::new();
    let all =
        object(&s, &["--pim", "485,9999", "--entropy", "1,30.5", "--multiplier", "10,argon2=2"]);
    for name in ["sha-512", "blake2s-256"] {
        let f = function(&all, name);
        let us = f["us_per_iteration"].as_f64().unwrap();
        assert!(us > 0.0);
        // The speed of a graphics card, only for functions with a published rate.
        let card = &f["published_card_guesses_per_s"];
        assert_eq!(card.as_f64(), (name == "sha-512").then_some(2_837.0), "{card}");
        assert_eq!(f["default"]["cost"]["iterations"], 500_000);
        assert_eq!(f["pims"][1]["cost"]["iterations"], 10_014_000);
        assert_eq!(f["pims"][1]["measured"], false);
        assert_near(&f["pims"][1]["s"], us * 1e-6 * 10_014_000.0);
        // The result is the largest PIM that takes at most 1 s.
        let pim = f["largest_pim_within_limit"].as_f64().unwrap();
        let second = 1e6 / us;
        let iterations = |pim: f64| 15_000.0 + 1000.0 * pim;
        assert!(iterations(pim) <= second * 1.0001 && iterations(pim + 1.0) >= second * 0.9999);
        // One bit takes one guess, and each further bit doubles the number.
        let guess = 1.0 / f["guesses_per_s"]["attacker"].as_f64().unwrap();
        assert_near(&f["attacks"][0]["pim_known_s"], guess);
        assert_near(&f["attacks"][1]["pim_known_s"], guess * 2f64.powf(29.5));
        let tenth = f["guesses_per_s"]["all_threads"].as_f64().unwrap();
        assert_near(&f["guesses_per_s"]["attacker"], tenth * 10.0);
        // Any PIM from 1 to 1000, starting with the cheapest: 2^bits / 1000 * sum of work(p) * (1000 - p + 1/2).
        let sum: f64 = (1..=1000).map(|p| iterations(f64::from(p)) * (1000.5 - f64::from(p))).sum();
        let known = f["attacks"][0]["pim_known_s"].as_f64().unwrap();
        assert_near(&f["attacks"][0]["pim_unknown_s"], known / 500_000.0 * 2.0 * sum / 1000.0);
    }
    let argon2 = function(&all, "argon2id");
    assert_eq!(argon2["default"]["cost"]["passes"], 6);
    assert_eq!(argon2["default"]["cost"]["memory_kib"], 416 << 10);
    assert_eq!(argon2["us_per_iteration"], Value::Null);
    let own = argon2["guesses_per_s"]["all_threads"].as_f64().unwrap();
    assert_near(&argon2["guesses_per_s"]["attacker"], own * 2.0);
    // Three of seven functions are not all functions that a volume could have.
    assert_eq!(all["every_function_s"], Value::Null);
}

#[test]
fn the_kind_of_volume_decides_the_cost() {
    let s = Sandbox::new();
    let of = |kind: &str| -> Value {
        let args = ["kdf", "--json", "--seconds", "1", "--volume-kind", kind];
        serde_json::from_str(&answer(&s, &args)).unwrap()
    };
    let system = of("veracrypt-system");
    let iterations =
        |all: &Value, name| function(all, name)["default"]["cost"]["iterations"].clone();
    assert_eq!(iterations(&system, "sha-512"), 500_000);
    assert_eq!(iterations(&system, "sha-256"), 200_000);
    assert_eq!(iterations(&system, "ripemd-160"), 327_661);
    assert_eq!(function(&system, "ripemd-160")["old_volumes_only"], true);
    let names = |all: &Value| all["functions"].as_array().unwrap().len();
    assert_eq!(names(&system), 6, "Argon2id is not for system volumes");
    assert!(system["every_function_s"].as_f64().unwrap() > 0.0);
    let truecrypt = of("truecrypt");
    assert_eq!(iterations(&truecrypt, "whirlpool"), 1000);
    assert_eq!(names(&truecrypt), 4);
    for f in truecrypt["functions"].as_array().unwrap() {
        assert_eq!(f["largest_pim_within_limit"], Value::Null);
        assert_eq!(f["attacks"][0]["pim_unknown_s"], Value::Null);
        assert!(f["pims"].as_array().unwrap().is_empty());
    }
}

#[test]
fn csv_has_a_line_for_each_function_and_pim() {
    let s = Sandbox::new();
    let csv = answer(&s, &brief(&["--csv", "--pim", "1,20"]));
    let lines: Vec<Vec<&str>> = csv.lines().map(|l| l.split(',').collect()).collect();
    assert_eq!(lines.len(), 1 + 3 * 3, "{csv}");
    assert!(lines.iter().all(|line| line.len() == lines[0].len()), "{csv}");
    assert_eq!(lines[0][..3], ["function", "pim", "iterations"]);
    let cell = |name, pim, column: &str| {
        let column = lines[0].iter().position(|c| *c == column).unwrap();
        lines.iter().find(|l| (l[0], l[1]) == (name, pim)).unwrap()[column]
    };
    assert_eq!(cell("sha-512", "", "iterations"), "500000");
    assert_eq!(cell("sha-512", "20", "iterations"), "35000");
    assert_eq!((cell("argon2id", "1", "iterations"), cell("argon2id", "1", "passes")), ("", "3"));
}

#[test]
fn the_tables_fit_and_say_what_they_mean_and_rest_on() {
    let s = Sandbox::new();
    let all = answer(&s, &["kdf", "--seconds", "1", "--multiplier", "1000", "--full"]);
    for line in all.lines() {
        assert!(line.chars().count() <= 80, "wider than 80 columns: {line}\n{all}");
    }
    for expected in [
        "At the default cost",
        "655,331",
        "6x416 MiB",
        "9999",
        "Largest PIM that unlocks within 1 s",
        "Guesses per second",
        "x 1000",
        "40 bits",
        "What it means",
        "Per iteration:",
        "If the function is not specified",
        "What it rests on",
        "--multiplier",
        "Deviation of the time from proportionality",
        "RIPEMD-160 (old)",
    ] {
        assert!(all.contains(expected), "no {expected:?} in:\n{all}");
    }
    assert!(!all.contains('\x1b'), "control codes in a pipe");
    assert!(s.left_behind().is_empty());
    // For a kind of volume without PIMs, the tables of PIMs are omitted.
    let truecrypt = answer(&s, &["kdf", "--seconds", "1", "--volume-kind", "truecrypt", "--full"]);
    assert!(!truecrypt.contains("PIM") && truecrypt.contains("SHA-1 (old)"), "{truecrypt}");
}

#[test]
fn the_page_is_complete_and_loads_nothing() {
    let s = Sandbox::new();
    let page = answer(&s, &brief(&["--html"]));
    assert!(page.starts_with("<!DOCTYPE html>") && page.trim_end().ends_with("</html>"));
    for expected in ["Argon2id", "<svg class=\"chart\"", "What it rests on", "Largest PIM"] {
        assert!(page.contains(expected), "no {expected:?}");
    }
    for outside in ["http:", "https:", "<script", "url("] {
        assert!(!page.contains(outside), "{outside}");
    }
}

#[test]
fn the_kernel_tier_can_be_limited_and_is_named() {
    let s = Sandbox::new();
    let done = s
        .command(&["kdf", "--json", "--seconds", "1", "--prf", "sha-512"])
        .env("CRYPTBENCH_CPU", "soft")
        .output();
    let all: Value = serde_json::from_slice(&done.unwrap().stdout).unwrap();
    assert_eq!(all["tier"], "soft");
    assert!(function(&all, "sha-512")["kernel"].as_str().unwrap().starts_with("soft"));
}

#[test]
fn bad_requests_are_usage_errors() {
    let s = Sandbox::new();
    let mut said = String::new();
    for args in [
        &["--prf", "md4"][..],
        &["--prf", "sha-1"],
        &["--pim", "2147469"],
        &["--pim", "65536", "--volume-kind", "veracrypt-system"],
        &["--pim", "1", "--volume-kind", "truecrypt"],
        &["--prf", "argon2id", "--volume-kind", "veracrypt-system"],
        &["--volume-kind", "zip"],
        &["--unknown-pim", "0"],
        &["--unknown-pim", "5", "--volume-kind", "truecrypt"],
        &["--entropy", "lots"],
        &["--multiplier", "0"],
        &["--rounds", "4"],
        &["--threads", "0"],
        &["--mount-limit", "soon"],
        &["--json", "--csv"],
    ] {
        said += &s.refused(&[&["kdf", "--seconds", "1"][..], args].concat());
    }
    insta::assert_snapshot!(said);
}

#[test]
fn what_a_boot_loader_opens_is_told_for_a_keyslot_and_for_costs() {
    let s = Sandbox::new();
    let of = |args: &[&str]| -> Value {
        let all = [&["kdf", "--bootloader"][..], args, &["--json"]].concat();
        serde_json::from_str(&answer(&s, &all)).unwrap()
    };
    let costs = of(&[]);
    let rows = costs["rows"].as_array().unwrap();
    let seconds = |row: &Value| row["s"].as_f64().unwrap();
    let memory = |row: &Value| row["memory_kib"].as_f64().unwrap();
    for pair in rows.windows(2) {
        assert_near(&pair[1]["s"], seconds(&pair[0]) * memory(&pair[1]) / memory(&pair[0]));
    }
    let verdicts: Vec<_> = rows.iter().map(|row| row["verdict"].as_str().unwrap()).collect();
    assert!(verdicts[0].ends_with("yes") && verdicts.last().unwrap().contains("may fail"));
    let shown = answer(&s, &["kdf", "--bootloader"]);
    assert!(shown.lines().count() <= 24, "{shown}");
    assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
    // The keyslot of a volume.
    let (volume, secret) = (s.target().join("v"), s.target().join("secret"));
    std::fs::write(&secret, "a passphrase\n").unwrap();
    let (volume, secret) = (volume.to_str().unwrap(), secret.to_str().unwrap());
    let made = s.run(&[
        "volume",
        "create",
        volume,
        "--size",
        "20MiB",
        "--format",
        "luks2",
        "--unlock-time",
        "1ms",
        "--passphrase-file",
        secret,
    ]);
    assert!(made.status.success(), "{}", text(&made.stderr));
    let slots = of(&[volume]);
    assert_eq!(slots["rows"].as_array().unwrap().len(), 1, "{slots:#}");
    assert_eq!(slots["rows"][0]["function"], "argon2id", "{slots:#}");
    assert!(seconds(&slots["rows"][0]) > 0.0);
    let refused = s.run(&["kdf", "--bootloader", secret]);
    assert!(!refused.status.success() && text(&refused.stderr).contains("secret"));
    assert_eq!(s.run(&["kdf", "--bootloader", "--full"]).status.code(), Some(2));
}

#[test]
fn the_answer_fits_a_screen_for_all_functions_and_every_kind_of_volume() {
    let s = Sandbox::new();
    for (kind, expected) in [
        ("veracrypt", &["SHA-512", "Argon2id", "largest PIM within 1 s"][..]),
        ("truecrypt", &["SHA-512", "time at default"]),
    ] {
        let shown = answer(&s, &["kdf", "--seconds", "1", "--volume-kind", kind]);
        assert!(shown.lines().count() <= 24, "{shown}");
        assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
        for words in
            expected.iter().chain(&["random word (12.9 bits)", "More cryptbench kdf --full"])
        {
            let flat = shown.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(flat.contains(words), "no {words:?} in:\n{shown}");
        }
    }
}
