//! `cryptbench ciphers` through the binary: every output format, and what it refuses.

use crate::sandbox::{Sandbox, skipped, text};
use serde_json::Value;

/// One fast cipher, measured as briefly as possible.
const BRIEF: [&str; 5] = ["ciphers", "--cipher", "aes-256-xts", "--seconds", "1"];

fn brief<'a>(more: &[&'a str]) -> Vec<&'a str> {
    BRIEF.iter().chain(more).copied().collect()
}

fn answer(s: &Sandbox, args: &[&str]) -> String {
    let done = s.run(args);
    assert!(done.status.success(), "{}", text(&done.stderr));
    text(&done.stdout)
}

#[test]
fn json_is_a_list_of_objects() {
    let s = Sandbox::new();
    let list: Vec<Value> = serde_json::from_str(&answer(&s, &brief(&["--json"]))).unwrap();
    let all = std::thread::available_parallelism().unwrap().get() as u64;
    let mut expected = vec![(512, 1), (4096, 1)];
    if all > 1 {
        expected.extend([(512, all), (4096, all)]);
    }
    let mut found = Vec::new();
    for object in &list {
        assert_eq!(object["cipher"], "aes-256-xts");
        assert_eq!(object["mode"], "xts");
        assert!(object["tier"].as_str().is_some_and(|t| !t.is_empty()), "{object}");
        let number = |field: &str| object[field].as_f64().unwrap();
        for field in ["encrypt_mb_s", "decrypt_mb_s", "mean_mb_s"] {
            assert!(number(field) > 0.0, "{field} in {object}");
        }
        let mean = f64::midpoint(number("encrypt_mb_s"), number("decrypt_mb_s"));
        assert!((number("mean_mb_s") - mean).abs() < 0.01, "{object}");
        found.push((object["data_unit"].as_u64().unwrap(), object["threads"].as_u64().unwrap()));
    }
    expected.sort_unstable();
    found.sort_unstable();
    assert_eq!(found, expected);
}

#[test]
fn csv_has_the_fields_of_json_and_the_choice_narrows_the_rows() {
    let s = Sandbox::new();
    let narrow = ["--data-unit", "4096", "--threads", "1", "--buffer", "64KiB"];
    let csv = answer(&s, &[&brief(&["--csv"])[..], &narrow].concat());
    let json = answer(&s, &[&brief(&["--json"])[..], &narrow].concat());
    let lines: Vec<Vec<&str>> = csv.lines().map(|l| l.split(',').collect()).collect();
    let [names, row] = lines.as_slice() else { panic!("{csv}") };
    assert_eq!(names.len(), row.len());
    assert_eq!(row[..4], ["aes-256-xts", "xts", "4096", "1"]);
    assert!(row[5..].iter().all(|n| n.parse::<f64>().is_ok_and(|n| n >= 0.0)), "{csv}");
    let list: Vec<Value> = serde_json::from_str(&json).unwrap();
    assert_eq!(list.len(), 1);
    let mut fields: Vec<_> = list[0].as_object().unwrap().keys().map(String::as_str).collect();
    let mut names = names.clone();
    fields.sort_unstable();
    names.sort_unstable();
    assert_eq!(names, fields);
}

#[test]
fn the_table_fits_and_says_what_it_means() {
    let s = Sandbox::new();
    let table = answer(&s, &brief(&["--full"]));
    for line in table.lines() {
        assert!(line.chars().count() <= 80, "wider than 80 columns: {line}");
    }
    for expected in ["AES-256 ", "4096", "What it means", "SATA 3, 560 MB/s", "PCIe 4.0 x4"] {
        assert!(table.contains(expected), "no {expected:?} in:\n{table}");
    }
    assert!(!table.contains('\x1b'), "control codes in a pipe");
    assert!(s.left_behind().is_empty());
}

#[test]
fn the_answer_for_all_ciphers_fits_a_screen() {
    let s = Sandbox::new();
    let shown = answer(&s, &["ciphers", "--seconds", "1", "--threads", "1", "--buffer", "64KiB"]);
    assert!(shown.lines().count() <= 24, "{shown}");
    assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
    for expected in ["Use ", "AES-256", "Cascades of three", "More   cryptbench ciphers --full"] {
        assert!(shown.contains(expected), "no {expected:?} in:\n{shown}");
    }
}

#[test]
fn one_cipher_by_size_fits_a_screen() {
    let s = Sandbox::new();
    let by_size = ["ciphers", "--by-size", "--seconds", "1"];
    let shown = answer(&s, &by_size);
    assert!(shown.lines().count() <= 24, "{shown}");
    assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
    for expected in ["AES-256-XTS", "512 bytes", "64 KiB", "64 MiB", "4096 B*"] {
        assert!(shown.contains(expected), "no {expected:?} in:\n{shown}");
    }
    // A sector is one request of 512 bytes, but not a multiple of 4096.
    let list: Vec<Value> =
        serde_json::from_str(&answer(&s, &[&by_size[..], &["--json"]].concat())).unwrap();
    let has = |unit: u64, bytes: u64| {
        list.iter().any(|row| row["data_unit"] == unit && row["buffer"] == bytes)
    };
    assert!(has(512, 512) && has(512, 64 << 20) && has(4096, 4096) && !has(4096, 512));
}

#[test]
fn a_disk_that_was_measured_before_is_compared_with() {
    let s = Sandbox::new();
    let done = s.run(&s.tiny(&["--profile", "quick", "--json", "--quiet", "--system", "plain"]));
    assert!(done.status.success(), "{}", text(&done.stderr));
    let record: cryptbench_record::Record = serde_json::from_slice(&done.stdout).unwrap();
    let table = answer(&s, &brief(&["--threads", "1", "--full"]));
    match record.target.device.filter(|_| record.target.engine.direct) {
        Some(device) => {
            for verb in ["reading", "writing"] {
                let words = format!("{verb} the disk that holds this directory ({})", device.name);
                assert!(table.contains(&words), "no {words:?} in:\n{table}");
            }
        }
        None => {
            assert!(!table.contains("the disk that holds this directory"), "{table}");
            skipped("no block device with direct I/O under the temporary directory");
        }
    }
}

#[test]
fn the_kernel_tier_can_be_limited_and_is_named() {
    let s = Sandbox::new();
    let soft = |more: &[&str]| {
        let done = s.command(&brief(more)).env("CRYPTBENCH_CPU", "soft").output().unwrap();
        assert!(done.status.success(), "{}", text(&done.stderr));
        text(&done.stdout)
    };
    let small = ["--buffer", "4KiB", "--threads", "1", "--data-unit", "512"];
    assert!(soft(&[&["--full"][..], &small].concat()).contains("tier soft"));
    let list: Vec<Value> =
        serde_json::from_str(&soft(&[&["--json"][..], &small].concat())).unwrap();
    assert_eq!(list[0]["tier"], "soft");
    assert!(soft(&["--list"]).contains("instruction-set tier in use: soft"));
    // Ciphers of old programs are measured if they are named, but encrypt no volume.
    let history = soft(&[
        "--cipher",
        "blowfish-448-cbc,3DES-168-cbc,aes-192-xts",
        "--data-unit",
        "512",
        "--json",
    ]);
    let list: Vec<Value> = serde_json::from_str(&history).unwrap();
    assert!(
        list.len() >= 3 && list.iter().all(|row| row["encrypt_mb_s"].as_f64() > Some(0.0)),
        "{list:?}"
    );
}

#[test]
fn the_page_is_complete_and_loads_nothing() {
    let s = Sandbox::new();
    let page = answer(&s, &brief(&["--html"]));
    assert!(page.starts_with("<!DOCTYPE html>") && page.trim_end().ends_with("</html>"));
    assert!(page.contains("AES-256-XTS, 512 B") && page.contains("SATA 3"), "{page}");
    for outside in ["http:", "https:", "<script", "url("] {
        assert!(!page.contains(outside), "{outside}");
    }
}

#[test]
fn the_list_measures_nothing_and_shows_the_registry() {
    let s = Sandbox::new();
    let list = answer(&s, &["ciphers", "--list"]);
    for cipher in ["aes-128-xts", "aes-256-xts", "512"] {
        assert!(list.contains(cipher), "no {cipher} in:\n{list}");
    }
    assert!(!list.contains("MB/s"));
}

#[test]
fn bad_requests_are_usage_errors() {
    let s = Sandbox::new();
    let mut said = String::new();
    for args in [
        &["--cipher", "rot13"][..],
        &["--list", "--cipher", "rot13"],
        &["--data-unit", "1000"],
        &["--data-unit", "0"],
        &["--threads", "0"],
        &["--seconds", "soon"],
        &["--buffer", "1000"],
        &["--json", "--csv"],
        &["--html", "--list"],
        &["--by-size", "--buffer", "1MiB"],
        &["--by-size", "--cipher", "aes-256-xts,aes-128-xts"],
    ] {
        said += &s.refused(&[&["ciphers"][..], args].concat());
    }
    insta::assert_snapshot!(said);
    let done = s.command(&["ciphers", "--list"]).env("CRYPTBENCH_CPU", "fast").output().unwrap();
    assert_eq!(done.status.code(), Some(2));
}
