//! The familiar pictures in the terminal: snapshots, widths, and numbers that follow from known costs.

use cryptbench_answer::Labelled;
use cryptbench_estimate::cells::cell;
use cryptbench_record::{Pattern, Record, Trial};
use cryptbench_view::terminal::{Style, render};

use crate::analyse;
use crate::fixture::{Fixture, encrypted, plain, plain_again, profiles};

const SMALL_UNITS: &str = "builtin/aes-256-xts-512-b";

fn text(record: &Record, width: usize) -> String {
    render(&Labelled::of(record).report(), Style { width, colour: false })
}

/// iozone with three of its operations and files of up to 1 MiB, on one encrypted arm.
fn small_iozone() -> Record {
    let mut fixture = profiles::iozone();
    let ratios = std::mem::take(&mut fixture.arms[2].ratios);
    let small = |label: &str| {
        ["write", "reread", "stride read"].iter().any(|o| label.starts_with(&format!("{o} ")))
    };
    let kept: Vec<_> = fixture
        .workloads
        .drain(..)
        .zip(ratios)
        .filter(|(w, _)| small(&w.label) && w.file_bytes <= Some(1 << 20))
        .collect();
    (fixture.workloads, fixture.arms[2].ratios) = kept.into_iter().unzip();
    fixture.arms.truncate(3);
    fixture.record()
}

fn all() -> Vec<(&'static str, Record)> {
    let mut all: Vec<_> =
        profiles::all().into_iter().filter(|(name, _)| *name != "iozone").collect();
    all.push(("iozone", small_iozone()));
    all
}

#[test]
fn the_report_of_every_profile_at_80_and_120_columns() {
    for (name, record) in all() {
        for width in [80, 120] {
            insta::with_settings!({ snapshot_suffix => format!("{name}_{width}") }, {
                insta::assert_snapshot!("profile", text(&record, width));
            });
        }
    }
}

#[test]
fn no_line_is_wider_than_asked_for() {
    for (name, record) in all() {
        for width in [40, 60, 80, 100, 120, 160, 200] {
            for line in text(&record, width).lines() {
                let columns = textwrap::core::display_width(line);
                assert!(columns <= width, "{name} at {width}: {columns} columns in {line:?}");
            }
        }
    }
}

#[test]
fn a_presentation_that_is_not_known_is_a_table() {
    let mut record = Fixture::default().record();
    let table = text(&record, 100);
    record.plan.presentation = Some("hologram".to_owned());
    record.plan.estimator = Some("guess".to_owned());
    assert_eq!(text(&record, 100), table);
}

/// If a record contains no data for a picture, the table is shown instead.
#[test]
fn pictures_of_records_that_hold_nothing_for_them_are_left_out() {
    for presentation in ["bars", "curve", "grid", "heatmap", "copies", "files", "unlock"] {
        let none = Fixture { blocks: 0, ..Fixture::default() };
        let plain_only = Fixture { arms: vec![plain()], ..Fixture::default() };
        let armless = Fixture { arms: Vec::new(), ..Fixture::default() };
        let empty = Fixture { workloads: Vec::new(), ..Fixture::default() };
        for fixture in [none, plain_only, armless, empty, Fixture::default()] {
            let record =
                Fixture { presentation: Some(presentation.to_owned()), ..fixture }.record();
            let text = text(&record, 80);
            assert!(!text.contains("NaN") && !text.contains("inf"), "{presentation}: {text}");
        }
    }
}

#[test]
fn bars_are_as_long_as_the_speeds_that_they_stand_for() {
    let record = profiles::atto().record();
    let text = text(&record, 200);
    let row =
        |size: &str| text.lines().find(|l| l.contains(&format!(" {size} "))).unwrap().to_owned();
    let read_halves = |line: &str| {
        let after = line.rsplit("KiB").next().unwrap();
        2 * after.matches('█').count() + after.matches('▌').count()
    };
    // Plain storage reads 16 KiB in 70 us + 7.8 us and 4 KiB in 70 us + 2 us, at queue depth 4.
    let expected = (16.0 / (70.0 + 16_384.0 / 2_100.0)) / (4.0 / (70.0 + 4_096.0 / 2_100.0));
    let found = read_halves(&row("16 KiB")) as f64 / read_halves(&row("4 KiB")) as f64;
    assert!((found / expected - 1.0).abs() < 0.12, "{found} instead of {expected}");
    assert!(row("512 B").trim_end().ends_with("29.1"), "reads are on the right");
}

#[test]
fn an_arm_that_leaves_workloads_out_has_no_bars_and_no_open_questions_there() {
    let mut record = profiles::atto().record();
    let large_units = "builtin/aes-256-xts-4096-b";
    record.trials.retain(|t| t.arm != large_units || !t.workload.ends_with("-512"));
    let text = text(&record, 100);
    let mut bars = text.lines().skip_while(|l| !l.contains(" 512 B  "));
    assert!(bars.nth(1).unwrap().contains("  a  "));
    assert!(bars.next().unwrap().contains(" 1 KiB "));
    let tally = text.lines().skip_while(|l| !l.starts_with("write (21)")).nth(2).unwrap();
    assert!(tally.starts_with("  AES-256 alone, 4096 B") && !tally.contains('?'), "{tally}");
}

#[test]
fn heat_maps_show_the_differences_that_the_costs_make() {
    let record = profiles::iozone().record();
    let text = text(&record, 80);
    // The first map of the first arm: write. The row for 64 KiB files, with records of 4 and 64 KiB.
    let row = text.lines().find(|l| l.starts_with("  64K ")).unwrap();
    let cells: Vec<f64> = row.split_whitespace().skip(1).map(|c| c.parse().unwrap()).collect();
    let difference = |bytes: f64| {
        let plain = 2.0 + bytes / 4.0e3;
        100.0 * (plain / (plain + 12.0 + 0.12e-3 * bytes) - 1.0)
    };
    assert_eq!(cells.len(), 5, "{row}");
    for (cell, bytes) in cells.iter().zip([4_096.0, 8_192.0, 16_384.0, 32_768.0, 65_536.0]) {
        // Because the fixture limits bandwidth, large records are a little faster than that.
        assert!((cell - difference(bytes)).abs() < 12.0, "{cell} instead of {}", difference(bytes));
    }
    assert!((cells[0] + 80.0).abs() < 2.0, "{row}");
    assert_eq!(text.matches("on average, ").count(), 2 * 13, "13 maps for each of two arms");
    assert!(text.contains("all served from a cache"), "{row}");
}

#[test]
fn iozone_has_126_pairs_and_1638_cells() {
    assert_eq!(profiles::pairs().len(), 126);
    assert_eq!(profiles::iozone().workloads.len(), 1_638);
}

#[test]
fn sentences_of_very_many_workloads_stay_a_handful() {
    for record in [profiles::atto().record(), profiles::iozone().record()] {
        let results = analyse(&record);
        assert!((1..=8).contains(&results.sentences.len()));
        let words: usize = results.sentences.iter().map(|s| s.split_whitespace().count()).sum();
        assert!(words < 300, "{words} words: {:#?}", results.sentences);
        for sentence in &results.sentences {
            assert!(sentence.len() < 330, "{sentence}");
        }
    }
}

#[test]
fn copies_follow_the_trimmed_rule() {
    let mut record = profiles::dd().record();
    // Ten known times. One longest and one shortest are discarded, and the other eight have a mean of 8 s.
    let seconds = [8.0, 7.0, 9.0, 40.0, 8.0, 8.0, 1.0, 7.5, 8.5, 8.0];
    let wanted =
        |t: &&mut Trial| t.workload == "copy-random" && t.arm == "plain" && t.block.is_some();
    for (trial, s) in record.trials.iter_mut().filter(wanted).zip(seconds) {
        trial.measured.elapsed_s = s;
    }
    let text = text(&record, 100);
    let row: Vec<&str> = text
        .lines()
        .skip_while(|l| l.trim() != "copy random")
        .nth(1)
        .unwrap()
        .split_whitespace()
        .collect();
    // 134.217728 MB / 8 s, and the root of 2.5 / 7.
    assert_eq!(row, ["plain", "8.00", "s", "598", "ms", "16.8", "MB/s", "8", "of", "10"]);

    // With the other rule all ten count: 105 s, and 134.217728 MB / 10.5 s.
    record.plan.estimator = Some("mean".to_owned());
    let text = self::text(&record, 100);
    let row = text.lines().skip_while(|l| l.trim() != "copy random").nth(1).unwrap();
    let fields: Vec<&str> = row.split_whitespace().collect();
    assert_eq!((fields[1], fields[5]), ("10.5", "12.8"), "{row}");
    assert!(row.ends_with("10 of 10"), "{row}");
}

#[test]
fn the_curve_has_the_speeds_and_the_access_times_of_its_samples() {
    let record = profiles::hdtune();
    let text = text(&record, 120);
    let row = |name: &str| -> Vec<String> {
        let line = text.lines().find(|l| l.starts_with(name)).unwrap();
        line.split_whitespace().map(str::to_owned).collect()
    };
    // 64 KiB in 70 us + 31.2 us, and a fifth more at the end of the surface.
    let start = 65_536.0 / (70.0 + 65_536.0 / 2_100.0);
    let near = |found: &str, expected: f64| {
        let found: f64 = found.parse().unwrap();
        assert!((found / expected - 1.0).abs() < 0.04, "{found} instead of {expected}");
    };
    near(&row("maximum")[1], start);
    near(&row("minimum")[1], start / 1.2);
    near(&row("access time 4K")[3], 70.0 + 4_096.0 / 2_100.0);
    assert!(row("burst 64K")[4..].contains(&"c".to_owned()), "a cache answered the burst");
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("Dots: individual requests of access time 512."));
}

/// Samples from a read of the whole surface are far apart, but also make a curve of 100 points.
#[test]
fn the_curve_of_the_whole_surface_has_its_speeds() {
    let mut record = profiles::hdtune();
    let surface = record.plan.workloads.iter_mut().find(|w| w.pattern == Pattern::Sampled).unwrap();
    surface.pattern = Pattern::Sequential;
    let id = surface.id.clone();
    for t in record.trials.iter_mut().filter(|t| t.workload == id) {
        let offsets = t.measured.samples.iter_mut().flat_map(|s| s.offset.iter_mut());
        offsets.enumerate().for_each(|(i, at)| *at = i as u64 * (10 << 20));
    }
    let text = text(&record, 120);
    let row = |name: &str| -> f64 {
        let line = text.lines().find(|l| l.starts_with(name)).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    };
    let start = 65_536.0 / (70.0 + 65_536.0 / 2_100.0);
    assert!((row("maximum") / start - 1.0).abs() < 0.04, "{text}");
    assert!((row("minimum") / (start / 1.2) - 1.0).abs() < 0.04, "{text}");
}

#[test]
fn curves_survive_samples_that_are_broken_or_touch_everywhere() {
    let mut record = profiles::hdtune();
    for (i, t) in record.trials.iter_mut().enumerate() {
        let Some(samples) = &mut t.measured.samples else { continue };
        match i % 4 {
            0 => samples.latency_us.iter_mut().for_each(|us| *us = 0.0),
            1 => samples.latency_us.truncate(7),
            2 => samples.latency_us.iter_mut().for_each(|us| *us = f32::NAN),
            _ => samples.offset.iter_mut().for_each(|at| *at = u64::MAX),
        }
    }
    assert!(!text(&record, 80).contains("NaN"));
    let mut record = profiles::hdtune();
    for t in &mut record.trials {
        // Without access times, the surface ends at its own last sample.
        t.measured.samples =
            t.measured.samples.take().filter(|_| t.workload.starts_with("surface"));
        let offsets = t.measured.samples.iter_mut().flat_map(|s| s.offset.iter_mut());
        offsets.enumerate().for_each(|(i, at)| *at = i as u64 * 65_536);
    }
    assert!(text(&record, 80).contains("25 MiB"), "400 blocks that touch each other");
}

#[test]
fn small_files_are_never_called_cached_for_what_moves_no_bytes() {
    let mut record = profiles::small_files().record();
    for t in &mut record.trials {
        let device = t.measured.device.as_mut().unwrap();
        (device.read_bytes, device.written_bytes) = (0, 0);
    }
    let results = analyse(&record);
    for workload in &record.plan.workloads {
        let cached = cell(&results.cells, &workload.id, SMALL_UNITS).unwrap().cached;
        let moves = matches!(workload.operation.as_str(), "create" | "read" | "write");
        assert_eq!(cached, moves, "{}", workload.label);
    }
    // The picture still shows the numbers, with the mark.
    assert!(text(&record, 120).contains("files/s  84c"));
}

#[test]
fn mixed_workloads_count_what_the_device_read_and_wrote() {
    let mut record = profiles::crystaldiskmark().record();
    for t in record.trials.iter_mut().filter(|t| t.workload.ends_with("mix")) {
        let device = t.measured.device.as_mut().unwrap();
        device.read_bytes = t.measured.bytes * 7 / 10;
        device.written_bytes = t.measured.bytes * 3 / 10;
    }
    let results = analyse(&record);
    let mixed = cell(&results.cells, "seq1m-q8t1-mix", SMALL_UNITS).unwrap();
    assert!((mixed.device_ratio.unwrap() - 1.0).abs() < 1e-3);
    assert!(!mixed.cached);
}

#[test]
fn an_opening_keeps_no_share_of_plain_speed() {
    let record = profiles::mount();
    let results = analyse(&record);
    assert!(results.cells.iter().all(|c| c.kept.is_none() && c.verdict.is_none()));
    let all = results.sentences.join(" ");
    assert!(!all.contains("of plain speed"), "{all}");
    assert!(all.contains("VeraCrypt SHA-512 is the fastest to open"), "{all}");
    assert!(all.contains("99 % of it for key derivation"), "{all}");
    // Trying every PRF: 0.92 s instead of 0.31 s.
    assert!(all.contains("3.0"), "{all}");
}

#[test]
fn of_many_arms_the_fastest_and_the_slowest_are_drawn() {
    let many = (0..9_u32)
        .map(|i| encrypted(&format!("Cipher {i}"), 512, &[0.9 - 0.05 * f64::from(i)], 0.2));
    let arms = [plain(), plain_again()].into_iter().chain(many).collect();
    let atto = Fixture { arms, ..profiles::atto() };
    let text = text(&atto.record(), 120);
    let legend = text.lines().find(|l| l.starts_with("█ plain")).unwrap();
    for (cipher, drawn) in [(0, true), (1, true), (2, false), (6, false), (7, true), (8, true)] {
        assert_eq!(legend.contains(&format!("Cipher {cipher}")), drawn, "{legend}");
    }
    assert!(text.contains("5 more choices are not drawn"));
}

#[test]
fn the_estimators_of_published_studies_stand_by_name_and_decide_nothing() {
    let record = profiles::crystaldiskmark().record();
    let before = analyse(&record);
    let best = record
        .trials_of("rnd4k-q1t1-read", "plain")
        .into_iter()
        .map(|(_, t)| t.iops())
        .fold(0.0, f64::max);
    let shown = text(&record, 120);
    assert!(shown.contains("the best of all trials"));
    assert!(shown.contains(&format!("{:.1}k IOPS", best / 1e3)), "{best}");
    let without = Record {
        plan: cryptbench_record::Plan { estimator: None, ..record.plan.clone() },
        ..record
    };
    let after = analyse(&without);
    assert_eq!(serde_json::to_value(&before).unwrap(), serde_json::to_value(&after).unwrap());
    assert!(!text(&without, 120).contains("the best of all trials"));
}

#[test]
fn cpu_time_is_split_by_who_used_it_and_remarkable_machines_are_noted() {
    let mut record = Fixture { accounted: true, ..Fixture::default() }.record();
    let quiet = text(&record, 100);
    let row = quiet
        .lines()
        .skip_while(|l| !l.contains("helpers"))
        .find(|l| l.starts_with("AES-256 alone, 512 B"))
        .unwrap();
    let fields: Vec<&str> = row.split_whitespace().collect();
    assert_eq!(fields[4..8], ["0.31", "0.000", "0.015", "0.005"], "{row}");
    assert!(!quiet.contains("Note: "), "nothing remarkable");
    for t in &mut record.trials {
        t.measured.accounting.as_mut().unwrap().cpu_pressure = Some(0.3);
    }
    assert!(!text(&record, 100).contains("Note: "), "the run itself made its threads wait");
    for t in &mut record.trials {
        let arm = t.arm.clone();
        let a = t.measured.accounting.as_mut().unwrap();
        a.other_s = 1.0;
        a.stolen_s = Some(0.4);
        a.temperature_c = Some(97.0);
        a.frequency_mhz = Some(if arm == SMALL_UNITS { 2_400.0 } else { 3_000.0 });
    }
    let loud = text(&record, 200);
    for note in [
        "other programs used more than 10 % of the CPUs",
        "The hypervisor stole 10 % of CPU time",
        "The CPU reached 97 °C",
        "The CPUs ran 20 % slower with AES-256 alone, 512 B than with plain",
    ] {
        assert!(loud.contains(note), "{note}");
    }
}
