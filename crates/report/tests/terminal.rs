//! What a person reads in a terminal: snapshots, widths, and no escape sequences unless asked for.

mod fixture;

use cryptbench_record::{Evidence, Record, StopReason};
use cryptbench_report::analyse;
use cryptbench_report::terminal::{Style, render, summary};
use fixture::{Fixture, encrypted, null_layer, plain, plain_again};

fn text(record: &Record, width: usize) -> String {
    render(record, &analyse(record), Style { width, colour: false })
}

fn sentences(fixture: &Fixture) -> String {
    analyse(&fixture.record()).sentences.join("\n")
}

fn kinds() -> Vec<(&'static str, Fixture)> {
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
    for (kind, fixture) in kinds() {
        let record = fixture.record();
        for width in [40, 60, 80, 100, 120, 200] {
            for line in text(&record, width).lines() {
                let columns = textwrap::core::display_width(line);
                assert!(columns <= width, "{kind} at {width}: {columns} columns in {line:?}");
            }
        }
    }
}

#[test]
fn every_arm_and_workload_is_in_every_layout() {
    for (kind, fixture) in kinds() {
        let record = fixture.record();
        let flat: String = text(&record, 200).split_whitespace().collect::<Vec<_>>().join(" ");
        for workload in &record.plan.workloads {
            assert!(flat.contains(&workload.label), "{kind}: {}", workload.label);
        }
    }
}

#[test]
fn a_verdict_is_marked_without_colour_and_explained() {
    let text = text(&Fixture::default().record(), 80);
    assert!(text.contains("86 [86, 87] ▼"));
    assert!(text.contains("▼ costs speed"));
    assert!(!text.contains("answered from a cache"), "marks that do not occur are not explained");
}

#[test]
fn colour_only_when_asked_for_and_no_cursor_control_ever() {
    let record = Fixture::default().record();
    let results = analyse(&record);
    let plain = render(&record, &results, Style { width: 120, colour: false });
    assert!(!plain.contains('\u{1b}'));
    let coloured = render(&record, &results, Style { width: 120, colour: true });
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
fn the_summary_is_the_sentences_alone() {
    let record = Fixture::default().record();
    let results = analyse(&record);
    let short = summary(&record, &results, Style { width: 60, colour: false });
    let joined: String = short.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(joined, results.sentences.join(" "));
}

#[test]
fn systems_are_ranked_by_what_they_keep_and_share_a_place_where_they_cannot_be_told_apart() {
    let mut cached = encrypted("Answered from memory", 512, &[1.4], 0.1);
    cached.cached = true;
    let record = Fixture {
        arms: vec![
            plain(),
            plain_again(),
            encrypted("Slow", 512, &[0.5], 0.3),
            encrypted("Quick", 512, &[0.9], 0.3),
            encrypted("As quick", 4096, &[0.9], 0.3),
            cached,
        ],
        ..Fixture::default()
    }
    .record();
    let text = render(&record, &analyse(&record), Style { width: 80, colour: false });
    let from = text.find("Ranked by").expect("a ranking");
    let lines: Vec<&str> = text[from..].lines().take(9).collect();
    let starts = |line: usize, place: &str| {
        assert!(lines[line].trim_start().starts_with(place), "{lines:#?}");
    };
    starts(4, "1  ");
    starts(5, "1  ");
    starts(6, "3  Slow");
    assert!(lines[4..6].iter().any(|l| l.contains("As quick")), "{lines:#?}");
    let rest = text[from..].split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(rest.contains("cannot be told from the first of them"), "{rest}");
    assert!(rest.contains("in most workloads: Answered from memory."), "{rest}");
    let mut record = record;
    let arm = record.plan.arms.iter().find(|a| a.label == "Quick").unwrap().id.clone();
    record.evidence.push(Evidence {
        arm,
        written_bytes: 10,
        verified_bytes: 9,
        ..Evidence::default()
    });
    let text = render(&record, &analyse(&record), Style { width: 80, colour: false });
    let rest = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(rest.contains("is not as it must be: Quick."), "{rest}");
}
