//! The output in a terminal: snapshots, widths, and no escape sequences unless requested.

use cryptbench_answer::Labelled;
use cryptbench_answer::names::Names;
use cryptbench_record::{Evidence, Record, StopReason};
use cryptbench_view::terminal::answer::brief;
use cryptbench_view::terminal::{Style, explain, render};

use crate::analyse;
use crate::fixture::{Fixture, encrypted, null_layer, plain, plain_again, profiles, system};

fn text(record: &Record, width: usize) -> String {
    render(&Labelled::of(record).report(), Style { width, colour: false })
}

fn sentences(fixture: &Fixture) -> String {
    analyse(&fixture.record()).sentences.join("\n")
}

pub fn kinds() -> Vec<(&'static str, Fixture)> {
    let standard = Fixture::default;
    let many: Vec<_> = (0..20_u32)
        .map(|i| {
            let label = format!("Serpent-Twofish-AES-256-XTS number {i}");
            encrypted(&label, 512, &[0.98 - 0.03 * f64::from(i)], 0.1)
        })
        .collect();
    let many = [plain(), plain_again(), null_layer(&[0.99])].into_iter().chain(many).collect();
    vec![
        ("standard", standard()),
        ("one", standard().one_workload()),
        ("alike", Fixture { drift_sd: 0.02, ..Fixture::one_arm(1.0) }),
        ("faster", Fixture::one_arm(1.2).one_workload()),
        ("noisy", Fixture { noise_sd: 0.15, blocks: 6, reason: StopReason::Budget, ..standard() }),
        ("cached", Fixture { cached: vec!["seq-read-1048576-q1".to_owned()], ..standard() }),
        (
            "partial",
            Fixture {
                blocks: 4,
                partial: true,
                reason: StopReason::Interrupted,
                notes: vec!["Temperatures could not be read here.".to_owned()],
                ..standard()
            },
        ),
        ("few", Fixture { blocks: 1, partial: true, ..standard() }),
        ("many", Fixture { arms: many, ..standard() }),
        ("plain only", Fixture { arms: vec![plain()], ..standard() }),
        ("no arms", Fixture { arms: Vec::new(), ..standard() }),
        ("no workloads", Fixture { workloads: Vec::new(), ..standard() }),
        ("no blocks", Fixture { blocks: 0, ..standard() }),
    ]
}

#[test]
fn the_report_at_80_columns() {
    insta::assert_snapshot!(text(&Fixture::default().record(), 80));
}

#[test]
fn the_report_at_120_columns() {
    insta::assert_snapshot!(text(&Fixture::default().record(), 120));
}

#[test]
fn the_report_at_200_columns() {
    insta::assert_snapshot!(text(&Fixture::default().record(), 200));
}

#[test]
fn a_mount_that_is_out_of_sight_is_said_to_be() {
    let mut record = Fixture::default().record();
    for part in
        [&mut record.target.filesystem, &mut record.target.source, &mut record.target.mount_options]
    {
        part.clear();
    }
    let text = text(&record, 200);
    assert!(
        text.contains("file system  unknown (its mount is not visible from here), in /"),
        "{text}"
    );
}

#[test]
fn the_report_of_one_workload() {
    insta::assert_snapshot!(text(&Fixture::one_arm(0.86).one_workload().record(), 80));
}

#[test]
fn the_sentences_of_every_kind_of_run() {
    for (kind, fixture) in kinds() {
        insta::with_settings!({ snapshot_suffix => kind.replace(' ', "_") }, {
            insta::assert_snapshot!("sentences", sentences(&fixture));
        });
    }
}

#[test]
fn sentences_are_few_and_never_read_a_large_p_as_no_cost() {
    for (kind, fixture) in kinds() {
        let results = analyse(&fixture.record());
        assert!(results.sentences.len() <= 8, "{kind}");
        for sentence in &results.sentences {
            let lower = sentence.to_lowercase();
            assert!(!lower.contains("no cost") && !lower.contains("for free"), "{sentence}");
            assert!(!sentence.contains("NaN") && !sentence.contains("inf "), "{sentence}");
            assert!(sentence.ends_with('.'), "{sentence}");
        }
    }
}

#[test]
fn no_line_is_wider_than_asked_for() {
    // If time is short, a fifth of the widths, different ones for each kind.
    let step = if nightly() { 1 } else { 5 };
    for (number, (kind, fixture)) in kinds().into_iter().enumerate() {
        let mut record = fixture.record();
        let arms = record.plan.arms.iter().map(|arm| arm.id.clone());
        let looked_at = |arm| Evidence {
            arm,
            written_bytes: 1 << 23,
            verified_bytes: 1 << 23,
            ..Evidence::default()
        };
        record.evidence = arms.map(looked_at).collect();
        let labelled = Labelled::of(&record);
        let report = labelled.report();
        for width in (40..60).step_by(5).chain((60 + number % step..=220).step_by(step)) {
            let text = render(&report, Style { width, colour: false });
            // Beyond 200 columns, nothing becomes wider.
            within(kind, &text, width.min(200));
        }
    }
}

#[test]
fn no_line_of_a_profile_is_wider_than_asked_for() {
    for (kind, record) in profiles::all() {
        let labelled = Labelled::of(&record);
        let report = labelled.report();
        let step = if nightly() { 7 } else { 17 };
        for width in (60..=220).step_by(step).chain([80, 139, 140, 200]) {
            let text = render(&report, Style { width, colour: false });
            within(kind, &text, width.min(200));
        }
    }
}

fn nightly() -> bool {
    std::env::var("CRYPTBENCH_TEST_TIER").is_ok_and(|tier| tier == "nightly")
}

pub fn within(kind: &str, text: &str, width: usize) {
    for line in text.lines() {
        let columns = textwrap::core::display_width(line);
        assert!(columns <= width, "{kind} at {width}: {columns} columns in {line:?}");
    }
}

#[test]
fn a_wide_terminal_shows_every_figure_and_the_trials() {
    let record = Fixture::default().record();
    let wide = text(&record, 160);
    let head = wide.lines().find(|l| l.starts_with("workload")).unwrap();
    for column in ["MB/s", "IOPS", "p50", "p99", "% of plain", "noise", "CPU s/GiB", "trials"] {
        assert!(head.contains(column), "{column}: {head}");
    }
    let row = wide.lines().find(|l| l.starts_with("  AES-256 alone, 512 B")).unwrap();
    assert_eq!(row.chars().filter(|c| ('▁'..='█').contains(c)).count(), 12, "one a block: {row}");
    assert!(!text(&record, 139).contains("p99"), "one column less has no room");
}

fn explained(record: &Record, cell: &str, width: usize) -> Result<String, String> {
    explain(&Labelled::of(record).report(), cell, Style { width, colour: false })
        .map_err(|e| e.to_string())
}

#[test]
fn a_cell_is_explained() {
    let record = Fixture::default().record();
    insta::assert_snapshot!(
        explained(&record, "seq. read 1 MiB QD1/AES-256 alone, 512 B", 80).unwrap()
    );
}

#[test]
fn a_workload_that_was_not_come_to_is_explained_without_empty_tables() {
    let record = Fixture { blocks: 0, ..Fixture::default() }.record();
    let said = explained(&record, "seq. read 1 MiB QD1", 80).unwrap();
    assert!(said.contains("No trial of it was measured."), "{said}");
    assert!(!said.contains("Latency") && !said.contains('─'), "{said}");
}

#[test]
fn labels_in_wide_letters_stay_within_the_width() {
    let mut record = Fixture::default().record();
    record.plan.arms[3].label = "暗号化された仮想ドライブ".repeat(3);
    for width in [60, 80, 200] {
        within("wide letters", &text(&record, width), width);
        within("wide letters", &explained(&record, "seq. read 1 MiB QD1", width).unwrap(), width);
    }
}

#[test]
fn each_kernel_is_named_once() {
    let mut record = Fixture::default().record();
    let kernels = ["vaes-avx512", "avx512", "vaes-avx512"];
    for (arm, kernel) in record.plan.arms.iter_mut().skip(1).zip(kernels) {
        arm.kernel_tier = Some(kernel.to_owned());
    }
    let text = text(&record, 80);
    let line = text.lines().find(|l| l.starts_with("cipher code")).unwrap();
    assert_eq!(line.matches("vaes-avx512").count(), 1, "{line}");
}

#[test]
fn a_cell_that_needs_more_pairs_says_how_many() {
    let noisy = Fixture {
        noise_sd: 0.3,
        blocks: 5,
        reason: StopReason::Budget,
        ..Fixture::one_arm(0.9).one_workload()
    };
    let record = noisy.record();
    let workload = record.plan.workloads[0].id.clone();
    insta::assert_snapshot!(explained(&record, &workload, 120).unwrap());
}

#[test]
fn every_cell_of_every_kind_of_run_can_be_explained_in_any_width() {
    for (kind, fixture) in kinds().into_iter().filter(|(kind, _)| *kind != "many") {
        let record = fixture.record();
        let names = Names::of(&record.plan);
        for workload in &record.plan.workloads {
            for width in [40, 60, 79, 80, 100, 120, 160, 200] {
                let all = explained(&record, &workload.id, width).unwrap();
                within(kind, &all, width);
            }
            for arm in &record.plan.arms {
                // Found by its label, and called by its current name.
                let cell = format!("{}/{}", workload.label, today(&arm.label));
                let name = names.arm(arm);
                let one = explained(&record, &cell, 80).unwrap();
                within(kind, &one, 80);
                assert!(one.contains(name) && !one.contains("NaN"), "{kind}: {one}");
            }
        }
    }
}

#[test]
fn a_cell_is_found_by_any_part_of_its_name() {
    let record = Fixture::default().record();
    let title = |cell: &str| {
        explained(&record, cell, 80).map(|text| text.lines().next().unwrap().to_owned())
    };
    let first = title("seq-read-1048576-q1").unwrap();
    assert_eq!(title("read 1 MiB QD1").unwrap(), first, "whole words before parts of them");
    assert_eq!(title("SEQ READ qd1").unwrap(), first);
    assert_eq!(title("large reads, one at a time").unwrap(), first, "as the answer calls it");
    let unclear =
        ["read", "fsync", "seq-read-1048576-q1/aes", "seq-read-1048576-q1/serpent", "pass-through"];
    let said = unclear.map(|cell| title(cell).unwrap_err());
    insta::assert_snapshot!(said.join("\n"), @r#"
        "read" matches several workloads, choose one:
          seq-read-1048576-q1  Large reads, one at a time
          seq-read-1048576-q8  Large reads, 8 at once
          ran-read-4096-q1     Small reads, one at a time
          ran-read-4096-q32    Small reads, 32 at once
        unknown workload "fsync"; known:
          seq-read-1048576-q1   Large reads, one at a time
          seq-write-1048576-q1  Large writes, one at a time
          seq-read-1048576-q8   Large reads, 8 at once
          seq-write-1048576-q8  Large writes, 8 at once
          ran-read-4096-q1      Small reads, one at a time
          ran-write-4096-q1     Small writes, one at a time
          ran-read-4096-q32     Small reads, 32 at once
          ran-write-4096-q32    Small writes, 32 at once
        "aes" matches several choices, choose one:
          builtin/aes-256-xts-512-b   AES-256 alone, 512 B
          builtin/aes-256-xts-4096-b  AES-256 alone, 4096 B
        unknown choice "serpent"; known:
          plain                       plain
          plain-again                 plain, repeated
          builtin/null                pass-through
          builtin/aes-256-xts-512-b   AES-256 alone, 512 B
          builtin/aes-256-xts-4096-b  AES-256 alone, 4096 B
        "pass-through" is a choice; add a workload, for example seq-read-1048576-q1/pass-through:
          seq-read-1048576-q1   Large reads, one at a time
          seq-write-1048576-q1  Large writes, one at a time
          seq-read-1048576-q8   Large reads, 8 at once
          seq-write-1048576-q8  Large writes, 8 at once
          ran-read-4096-q1      Small reads, one at a time
          ran-write-4096-q1     Small writes, one at a time
          ran-read-4096-q32     Small reads, 32 at once
          ran-write-4096-q32    Small writes, 32 at once
        "#);
    assert!(title("").is_err() && title("/").is_err());
}

/// A stored label in its current wording.
fn today(label: &str) -> String {
    label.replace("plain again", "plain, repeated").replace("null layer", "pass-through")
}

/// The words that follow `name` in the block of one arm.
fn fact<'a>(text: &'a str, name: &str) -> &'a str {
    let line = text.lines().find(|l| l.starts_with(&format!("  {name} ")));
    line.unwrap_or_else(|| panic!("{name} in {text}"))
}

#[test]
fn the_reason_is_the_verdicts_own() {
    let costs = Fixture::one_arm(0.5).one_workload().record();
    let said = explained(&costs, &costs.plan.workloads[0].id, 200).unwrap();
    let mut why = vec![fact(&said, "why").to_owned()];
    assert!(!said.contains("to settle"), "nothing is open: {said}");
    let cached = Fixture {
        cached: vec!["seq-read-1048576-q1".to_owned()],
        ..Fixture::one_arm(0.5).one_workload()
    };
    let said = explained(&cached.record(), "seq-read-1048576-q1", 200).unwrap();
    why.push(fact(&said, "why").to_owned());
    let few = Fixture { blocks: 1, ..Fixture::one_arm(0.5).one_workload() };
    let said = explained(&few.record(), "seq-read-1048576-q1", 200).unwrap();
    why.push(fact(&said, "why").to_owned());
    insta::assert_snapshot!(why.join("\n"), @"
        why      chance is ruled out after correction, and the loss of 50 % is above the noise of 0.9 %
        why        the device transferred 0 % of the requested bytes: the result comes from a cache and says nothing about the
        why        1 trials make fewer than 3 repeats with plain, or all differ from plain by the same
        ");
}

#[test]
fn every_arm_and_workload_is_in_every_layout() {
    for (kind, fixture) in kinds() {
        let record = fixture.record();
        let flat: String = text(&record, 200).split_whitespace().collect::<Vec<_>>().join(" ");
        let labelled = Labelled::of(&record);
        for workload in &labelled.report().record.plan.workloads {
            assert!(flat.contains(&workload.label), "{kind}: {}", workload.label);
        }
    }
}

#[test]
fn a_verdict_is_marked_without_colour_and_explained() {
    let text = text(&Fixture::default().record(), 80);
    assert!(text.contains("86 [86, 87] ▼"));
    assert!(text.contains("▼ slower"));
    assert!(!text.contains("served from a cache"), "marks that do not occur are not explained");
}

#[test]
fn colour_only_when_asked_for_and_no_cursor_control_ever() {
    let record = Fixture::default().record();
    let labelled = Labelled::of(&record);
    let report = labelled.report();
    let plain = render(&report, Style { width: 120, colour: false });
    assert!(!plain.contains('\u{1b}'));
    let coloured = render(&report, Style { width: 120, colour: true });
    assert!(coloured.contains('\u{1b}'));
    for part in coloured.split('\u{1b}').skip(1) {
        let end = part.find(|c: char| c.is_ascii_alphabetic()).unwrap();
        assert_eq!(part.as_bytes()[end], b'm', "only colours: {part:?}");
    }
    let mut stripped = String::new();
    let mut rest = coloured.as_str();
    while let Some((before, after)) = rest.split_once('\u{1b}') {
        stripped.push_str(before);
        rest = &after[after.find('m').unwrap() + 1..];
    }
    assert_eq!(stripped + rest, plain, "colour changes no character");
}

#[test]
fn foreign_text_cannot_steer_the_terminal() {
    let mut record = Fixture::default().record();
    let hostile = "\u{1b}[2J\u{7}evil\nline";
    hostile.clone_into(&mut record.plan.arms[3].label);
    hostile.clone_into(&mut record.plan.workloads[0].label);
    hostile.clone_into(&mut record.target.mount_options);
    record.notes.push(hostile.to_owned());
    for width in [80, 160] {
        assert!(!text(&record, width).contains(['\u{1b}', '\u{7}']));
    }
}

#[test]
fn what_is_brief_is_headline_and_take() {
    let record = Fixture::default().record();
    let labelled = Labelled::of(&record);
    let report = labelled.report();
    let short = brief(&report, Style { width: 60, colour: false });
    let joined: String = short.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(joined.contains(" of plain speed with AES-256 alone"), "{joined}");
    assert!(joined.ends_with(&format!("Use {}", report.results().advice.join(" "))), "{joined}");
}

#[test]
fn systems_are_ranked_by_what_they_keep_and_share_a_place_where_they_cannot_be_told_apart() {
    let mut cached = system("Answered", "from memory", &[1.4], 0.1);
    cached.cached = true;
    let record = Fixture {
        arms: vec![
            plain(),
            plain_again(),
            encrypted("The engine", 512, &[0.99], 0.3),
            system("Slow", "one", &[0.5], 0.3),
            system("Quick", "one", &[0.9], 0.3),
            system("As quick", "one", &[0.9], 0.3),
            cached,
        ],
        ..Fixture::default()
    }
    .record();
    let text = render(&Labelled::of(&record).report(), Style { width: 80, colour: false });
    let from = text.find("Ranked by % of plain").expect("a ranking");
    let lines: Vec<&str> = text[from..].lines().take(9).collect();
    let starts = |line: usize, place: &str| {
        assert!(lines[line].trim_start().starts_with(place), "{lines:#?}");
    };
    let first = lines.iter().position(|l| l.starts_with('─')).unwrap() + 1;
    starts(first, "1  ");
    starts(first + 1, "1  ");
    starts(first + 2, "3  Slow one");
    assert!(lines[first..first + 2].iter().any(|l| l.contains("As quick")), "{lines:#?}");
    assert!(lines.iter().all(|l| !l.contains("The engine")), "nobody can take it: {lines:#?}");
    insta::assert_snapshot!(text[from..].split("\n\n").next().unwrap(), @"
        Ranked by % of plain speed, geometric mean over 8 workloads [95 % interval]:
                                   all   reads   writes
        ───────────────────────────────────────────────
         1  Quick one      90 [90, 90]      90       90
         1  As quick one   90 [90, 90]      90       90
         3  Slow one       50 [50, 50]      50       50
        Same rank: no difference from the first of that rank was found, compared repeat
          by repeat; the first of each rank differs from the first of the rank above.
        Not ranked, because they were served from a cache: Answered from memory.
        ");
    let mut record = record;
    let arm = record.plan.arms.iter().find(|a| a.label == "Quick one").unwrap().id.clone();
    record.evidence.push(Evidence {
        arm,
        written_bytes: 10,
        verified_bytes: 9,
        ..Evidence::default()
    });
    let text = render(&Labelled::of(&record).report(), Style { width: 80, colour: false });
    let rest = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(rest.contains("because a check of the stored data failed: Quick one."), "{rest}");
}
