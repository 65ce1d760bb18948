//! The answer on one screen: its content for every set of systems, and that it stays within its lines and
//! columns.

use std::path::Path;

use cryptbench_answer::Labelled;
use cryptbench_record::{ArmRole, EmulatedDevice, Evidence, Record, StopReason};
use cryptbench_view::terminal::Style;
use cryptbench_view::terminal::answer::{Outlook, render};

use crate::analyse;
use crate::fixture::{
    Fixture, FixtureArm, encrypted, null_layer, plain, plain_again, profiles, quick, system,
    ten_systems, volume,
};
use crate::terminal::{kinds, within};

const OUTLOOK: Outlook<'_> = Outlook {
    here: None,
    full: "cryptbench report last --full",
    page: Some("~/.local/share/cryptbench/runs/20240229-120000-1a2b/report.html"),
    run: None,
};

fn answer(record: &Record, width: usize) -> String {
    render(&Labelled::of(record).report(), Style { width, colour: false }, OUTLOOK)
}

/// Without line breaks.
fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn floor() -> Vec<FixtureArm> {
    vec![
        encrypted("AES-256-XTS 512 B", 512, &[0.51, 0.65, 0.68, 0.7, 0.98, 1.0], 0.31),
        encrypted("AES-256-XTS 4096 B", 4096, &[0.58, 0.69, 0.79, 0.87, 1.0], 0.19),
    ]
}

fn luks() -> FixtureArm {
    volume("dm-crypt", "LUKS2", 512, &[0.5, 0.6, 0.66, 0.7, 0.9, 0.93, 1.0])
}

fn veracrypt() -> FixtureArm {
    volume("veracrypt", "VeraCrypt", 512, &[0.4, 0.5, 0.5, 0.6, 0.8, 0.8, 0.9])
}

/// A driver that suits any CPU is mentioned before any figure; a fast one, and one for a cipher without a
/// faster one, are not mentioned.
#[test]
fn a_kernel_that_leaves_instructions_unused_is_told_first() {
    let with = |driver: &str| {
        let mut record = of(vec![luks(), gocryptfs()], Vec::new());
        record.plan.arms[2].kernel_tier = Some(driver.to_owned());
        let headline = answer(&record, 80).split("\n\n").next().unwrap().to_owned();
        format!("{headline}\nUse {}", analyse(&record).advice[0])
    };
    let slow = ["xts(ecb(aes-fixed-time))", "xts(ecb(aes-generic))", "xts-aes-aesni + aes-generic"];
    insta::assert_snapshot!(slow.map(with).join("\n\n"), @"
        This kernel leaves the CPU's AES instructions unused: it encrypts with
        xts(ecb(aes-fixed-time)) for LUKS2 (dm-crypt). Fastest of 2 choices on
        nvme0n1p2: LUKS2 (dm-crypt), at 76 % of plain speed on average, about 6 times
        the next.
        Use The kernel's driver for the CPU's AES instructions: sudo modprobe aesni_intel, or a kernel that has it.

        This kernel leaves the CPU's AES instructions unused: it encrypts with
        xts(ecb(aes-generic)) for LUKS2 (dm-crypt). Fastest of 2 choices on nvme0n1p2:
        LUKS2 (dm-crypt), at 76 % of plain speed on average, about 6 times the next.
        Use The kernel's driver for the CPU's AES instructions: sudo modprobe aesni_intel, or a kernel that has it.

        This kernel leaves the CPU's AES instructions unused: it encrypts with
        aes-generic for LUKS2 (dm-crypt). Fastest of 2 choices on nvme0n1p2: LUKS2
        (dm-crypt), at 76 % of plain speed on average, about 6 times the next.
        Use The kernel's driver for the CPU's AES instructions: sudo modprobe aesni_intel, or a kernel that has it.
        ");
    for fast in ["xts-aes-vaes-avx2", "xts(ecb(cast6-generic))"] {
        assert!(!with(fast).contains("unused"));
    }
    // A dataset that belongs to the user and about which ZFS reports.
    let dataset = |driver: &str| {
        let mut record = of(vec![luks(), gocryptfs()], Vec::new());
        let arm = &mut record.plan.arms[2];
        (arm.system, arm.kernel_tier) = ("paired".to_owned(), Some(driver.to_owned()));
        let headline = answer(&record, 80).split("\n\n").next().unwrap().to_owned();
        format!("{headline}\nUse {}", analyse(&record).advice[0])
    };
    insta::assert_snapshot!(dataset("aes-x86_64 (ICP) + gcm-generic (ICP)"), @"
        This kernel leaves the CPU's AES instructions unused: it encrypts with
        aes-x86_64 (ICP) for dm-crypt LUKS2 512. Fastest of 2 choices on nvme0n1p2:
        dm-crypt LUKS2 512, at 76 % of plain speed on average, about 6 times the next.
        Use ZFS's code for the CPU's AES instructions: another OpenZFS, or icp_aes_impl in /sys/module/zfs/parameters.
        ");
    assert!(!dataset("aes-aesni (ICP) + gcm-avx (ICP)").contains("unused"));
}

/// The same for AES without instructions for it: because the CPU has none, because that is unknown, or because
/// they are disabled.
#[test]
fn aes_without_instructions_is_told_first() {
    let mut record = of(Vec::new(), floor());
    let mut said = |features: &[&str], kernel: &str| {
        record.machine.cpu_features = features.iter().map(|f| (*f).to_owned()).collect();
        record.plan.arms[2].kernel_tier = Some(kernel.to_owned());
        flat(&answer(&record, 80))
    };
    let none = "This CPU has no AES instructions; the alternative, Adiantum, must be chosen with --cipher adiantum-12.";
    let masked = "CRYPTBENCH_CPU disables the CPU's AES instructions in this run.";
    assert!(said(&["avx2"], "soft").starts_with(none));
    assert!(said(&[], "soft").starts_with(none), "the code tells");
    assert!(said(&["aes"], "soft").starts_with(masked));
    for (features, kernel) in [(&["aes"][..], "aes-ni"), (&[], "aes-ce")] {
        let text = said(features, kernel);
        assert!(!text.contains(none) && !text.contains(masked), "{text}");
    }
}

fn gocryptfs() -> FixtureArm {
    system("gocryptfs", "aes-256-gcm", &[0.07, 0.09, 0.1, 0.1, 0.2, 0.2, 0.15], 4.0)
}

fn of(systems: Vec<FixtureArm>, engines: Vec<FixtureArm>) -> Record {
    let arms = [vec![plain(), plain_again()], engines, systems].concat();
    Fixture { arms, ..Fixture::default() }.record()
}

fn ranked() -> Record {
    Fixture { arms: ten_systems(), blocks: 6, noise_sd: 0.1, ..Fixture::default() }.record()
}

/// Each set of systems that a run may measure, with the maximum number of lines of its answer.
fn sets() -> Vec<(&'static str, Record, usize)> {
    let one = || vec![floor().remove(1)];
    let noisy = Fixture {
        noise_sd: 0.2,
        blocks: 6,
        reason: StopReason::Budget,
        arms: [vec![plain(), plain_again(), null_layer(&[0.98])], floor()].concat(),
        ..Fixture::default()
    };
    vec![
        ("floor", of(Vec::new(), floor()), 24),
        ("floor of one size", of(Vec::new(), one()), 24),
        ("noisy floor", noisy.record(), 24),
        ("one system", of(vec![luks()], one()), 24),
        ("two systems", of(vec![luks(), gocryptfs()], one()), 24),
        ("three systems", of(vec![luks(), veracrypt(), gocryptfs()], one()), 24),
        ("a system without a floor", of(vec![luks()], Vec::new()), 24),
        ("ten systems", ranked(), 35),
    ]
}

#[test]
fn the_answer_of_each_set_of_systems() {
    for (name, record, _) in sets() {
        insta::with_settings!({ snapshot_suffix => name.replace(' ', "_") }, {
            insta::assert_snapshot!("answer", answer(&record, 80));
        });
    }
}

#[test]
fn the_answer_of_each_profile() {
    for (name, record) in profiles::all() {
        insta::with_settings!({ snapshot_suffix => name.replace(' ', "_") }, {
            insta::assert_snapshot!("profile", answer(&record, 80));
        });
    }
}

#[test]
fn every_answer_fits_its_screen_in_any_width() {
    let mut all = sets();
    all.extend(kinds().into_iter().map(|(name, fixture)| {
        let lines = if name == "many" { 35 } else { 24 };
        (name, fixture.record(), lines)
    }));
    all.extend(profiles::all().into_iter().map(|(name, record)| (name, record, 24)));
    for (name, record, lines) in all {
        for width in [40, 60, 66, 72, 79, 80, 81, 100, 120, 160, 200] {
            let text = answer(&record, width);
            // The path of the page is never broken.
            let printed: Vec<&str> =
                text.lines().filter(|l| !l.ends_with("/report.html")).collect();
            within(name, &printed.join("\n"), width);
            assert!(!text.contains("NaN") && !text.contains("inf "), "{name}: {text}");
            if width >= 80 {
                assert!(text.contains("More"), "{name}: {text}");
                assert!(text.lines().count() <= lines, "{name} at {width}:\n{text}");
            }
        }
    }
}

/// The legend, plain speeds and where to find more are omitted first. What to use and each open question stay,
/// and are never replaced by a number.
#[test]
fn a_small_terminal_has_all_that_is_to_be_taken_and_open() {
    let mut all = sets();
    all.extend(profiles::all().into_iter().map(|(name, record)| (name, record, 24)));
    let mut fitted = 0;
    for (name, record, lines) in all {
        let text = answer(&record, 60);
        let said = flat(&text);
        let labelled = Labelled::of(&record);
        let report = labelled.report();
        let open = report.answer.open.iter().map(|open| open.line(None));
        for line in report.answer.take.iter().cloned().chain(open) {
            assert!(said.contains(&flat(&line)), "{name}: {line}\nis not in\n{text}");
        }
        let headline = flat(&report.answer.headline.join(" "));
        assert!(said.starts_with(&headline), "{name}: {text}");
        let has_figures = text.contains('%') || text.contains(" s ");
        assert!(has_figures, "{name}: {text}");
        let is_long = text.lines().count() > lines;
        fitted += usize::from(!is_long);
        assert!(!is_long || !text.contains("More "), "{name}: {text}");
    }
    assert!(fitted > 10, "{fitted}");
}

/// Each figure of a column with its spread and its mark.
fn figures(text: &str) -> Vec<(f64, f64, Option<char>)> {
    let mut found = Vec::new();
    for line in text.lines().filter(|l| l.starts_with("Large") || l.starts_with("Small")) {
        let words: Vec<&str> = line.split_whitespace().collect();
        for (at, by) in
            words.iter().enumerate().filter_map(|(i, w)| Some((i, w.strip_prefix('±')?)))
        {
            let Ok(value) = words[at - 1].parse() else { continue };
            let mark = words.get(at + 1).and_then(|w| w.chars().next());
            let mark = mark.filter(|c| ['▼', '▲', '=', '?'].contains(c));
            found.push((value, by.parse().unwrap(), mark));
        }
    }
    found
}

#[test]
fn no_mark_denies_its_interval() {
    let mut seen = 0;
    for seed in 0..40_u32 {
        let fixture = Fixture {
            seed: seed.into(),
            blocks: 6 + seed % 5,
            noise_sd: 0.01 + 0.01 * f64::from(seed % 10),
            ..Fixture::one_arm(0.93)
        };
        let text = answer(&fixture.record(), 80);
        for (value, by, mark) in figures(&text) {
            seen += 1;
            // Values that exclude 100 by more than rounding are marked.
            let left_out = value + by < 99.0 || value - by > 101.0;
            assert!(!left_out || mark.is_some(), "seed {seed}: {value} ±{by}\n{text}");
            assert!(mark != Some('▼') || value < 100.5, "seed {seed}: {value} ±{by}\n{text}");
            assert!(mark != Some('▲') || value > 99.5, "seed {seed}: {value} ±{by}\n{text}");
        }
    }
    assert!(seen > 200, "{seen}");
}

#[test]
fn the_floor_is_the_last_column_without_a_place_and_no_floor_where_a_system_beats_it() {
    let text = answer(&of(vec![luks(), gocryptfs()], floor()), 80);
    let place = |word: &str| {
        text.lines()
            .skip(2)
            .find_map(|l| l.find(word))
            .unwrap_or_else(|| panic!("{word} in {text}"))
    };
    assert!(text.contains("Floor: the cipher alone."), "{text}");
    assert!(place("gocryptfs") < place("floor:"), "{text}");
    let faster = volume("dm-crypt", "LUKS2", 512, &[0.9, 0.9, 0.99]);
    let text = answer(&of(vec![faster], floor()), 80);
    assert!(!text.to_lowercase().contains("floor"), "{text}");

    let ranked = answer(&ranked(), 80);
    let row = ranked.lines().find(|l| l.contains("AES-256 alone")).unwrap();
    assert!(row.starts_with("   AES-256 alone, "), "{row}");
    assert!(ranked.lines().any(|l| l.starts_with(" – VeraCrypt (own process)")), "{ranked}");
}

#[test]
fn a_cached_choice_takes_no_workload_from_the_others() {
    let text = flat(&answer(&ranked(), 80));
    assert!(text.contains("geometric mean of 8 workloads"), "{text}");
    assert!(text.contains("VeraCrypt (own process): served from a cache in"), "{text}");
}

#[test]
fn what_is_undecided_names_its_repeats_and_the_run_that_decides() {
    let open =
        Fixture { noise_sd: 0.06, blocks: 8, reason: StopReason::Budget, ..Fixture::one_arm(0.9) };
    let mut record = open.record();
    (record.plan.budget_s, record.elapsed_s) = (120.0, 120.0);
    let text = flat(&answer(&record, 80));
    assert!(text.contains("8 repeats ran; about "), "{text}");
    assert!(text.contains("cryptbench run /home/me --budget "), "{text}");
    let here = Outlook { here: Some(Path::new("/home/me")), ..OUTLOOK };
    let there = render(&Labelled::of(&record).report(), Style { width: 80, colour: false }, here);
    assert!(flat(&there).contains("cryptbench run --budget "), "{there}");

    let hopeless = Fixture { noise_sd: 0.6, ..open };
    let text = flat(&answer(&hopeless.record(), 80));
    assert!(text.contains("this disk is too noisy"), "{text}");
}

#[test]
fn a_failed_check_is_the_headline() {
    let mut record = of(vec![luks(), gocryptfs()], floor());
    let arm = record.plan.arms.last().unwrap().id.clone();
    record.evidence.push(Evidence {
        arm,
        written_bytes: 10,
        verified_bytes: 9,
        ..Evidence::default()
    });
    let text = answer(&record, 80);
    assert!(
        text.starts_with("gocryptfs did not return what was written: data was lost."),
        "{text}"
    );
    let take = text.lines().find(|l| l.starts_with("Use")).unwrap();
    assert!(!take.contains("gocryptfs"), "{text}");
    assert!(flat(&text).contains("Avoid gocryptfs: failed a check of its data."), "{text}");
}

#[test]
fn an_emulated_disk_is_said_to_be_one_first() {
    let mut record = Fixture::default().record();
    record.target.emulated =
        Some(EmulatedDevice { model: "hdd-7200".to_owned(), ..EmulatedDevice::default() });
    let text = answer(&record, 80);
    let headline = text.split("\n\n").next().unwrap();
    assert!(headline.contains("EMULATED hdd-7200"), "{text}");
}

/// A command that users paste must be trustworthy, even if the record comes from a stranger.
#[test]
fn no_name_of_a_record_becomes_more_than_a_word_of_a_command() {
    let open =
        Fixture { noise_sd: 0.06, blocks: 8, reason: StopReason::Budget, ..Fixture::one_arm(0.9) };
    let mut record = open.record();
    (record.plan.budget_s, record.elapsed_s) = (120.0, 120.0);
    record.plan.set = None;
    let arm = record.plan.arms.iter_mut().find(|arm| arm.role == ArmRole::Encrypted).unwrap();
    arm.system = "a;reboot".to_owned();
    let text = flat(&answer(&record, 120));
    assert!(text.contains("--systems 'a;reboot' "), "{text}");
}

/// Headline and what to use.
fn praised(text: &str) -> String {
    let headline = text.split("\n\n").next().unwrap();
    let take = text.split("\nTake").nth(1).unwrap_or_default();
    format!("{headline} {}", take.split("\nAvoid").next().unwrap())
}

#[test]
fn what_is_to_be_avoided_is_praised_nowhere_however_fast_it_is() {
    let encfs = |kept: f64| system("encfs", "aes-256-cbc", &[kept], 4.0);
    let cryfs = || system("cryfs", "aes-256-gcm", &[0.05], 19.0);
    let own = || volume("builtin-mounted", "LUKS2", 4096, &[0.02]);
    // Faster than all others, as fast as the next one, and the only other one.
    for (systems, begins) in [
        (
            vec![encfs(0.9), gocryptfs(), cryfs()],
            "Fastest of 2 choices on nvme0n1p2: gocryptfs, at ",
        ),
        (
            vec![encfs(0.3), system("gocryptfs", "aes-256-gcm", &[0.3], 4.0), cryfs(), own()],
            "Fastest of 3 choices on nvme0n1p2: gocryptfs, at 30 % ",
        ),
        (vec![encfs(0.9), gocryptfs()], "Large reads and writes on nvme0n1p2 run at 7 "),
    ] {
        let text = answer(&of(systems, floor()), 80);
        let praised = flat(&praised(&text));
        assert!(praised.starts_with(begins), "{text}");
        let counts = praised.starts_with("Fastest of ");
        assert_eq!(praised.contains("Not counted: 1 to avoid."), counts, "{text}");
        assert!(!praised.contains("EncFS"), "{text}");
        assert!(flat(&text).contains("Avoid EncFS: "), "{text}");
    }
    // A user who asked for nothing else gets its figures, and the advice to avoid it.
    let text = flat(&answer(&of(vec![encfs(0.5)], floor()), 80));
    assert!(text.starts_with("Large reads and writes on nvme0n1p2 run at 50 %"), "{text}");
    assert!(text.contains("Avoid EncFS: "), "{text}");
}

/// The figures of the large rows that have one of these marks.
fn large(text: &str, marks: &[char]) -> Vec<f64> {
    let rows: String =
        text.lines().filter(|l| l.starts_with("Large ")).map(|l| format!("{l}\n")).collect();
    let of = |mark: Option<char>| mark.is_some_and(|mark| marks.contains(&mark));
    figures(&rows).into_iter().filter(|f| of(f.2)).map(|f| f.0).collect()
}

#[test]
fn the_range_of_the_headline_is_of_decided_figures_and_the_others_are_counted() {
    let (mut ranges, mut counted, mut together) = (0, 0, 0);
    for seed in 0..90_u32 {
        let of = |workloads: usize| {
            let fixture = Fixture {
                seed: seed.into(),
                blocks: 6,
                noise_sd: 0.02 + 0.01 * f64::from(seed % 10),
                workloads: quick().into_iter().take(workloads).collect(),
                ..Fixture::one_arm(0.85)
            };
            answer(&fixture.record(), 80)
        };
        // If several sizes have such figures, they are counted together.
        let all = of(8);
        let said = flat(all.split("\n\n").next().unwrap());
        if let Some((before, _)) = said.split_once(" of 8 figures are undecided") {
            let marked = figures(&all).iter().filter(|f| f.2 == Some('?')).count();
            assert_eq!(before.rsplit(' ').next(), Some(&*marked.to_string()), "seed {seed}: {all}");
            together += 1;
        }
        let text = of(4);
        let decided = large(&text, &['▼', '▲', '=']);
        let undecided = large(&text, &['?']).len();
        let headline = flat(text.split("\n\n").next().unwrap());
        let Some(said) = headline.strip_prefix("Large reads and writes on nvme0n1p2 run at ")
        else {
            continue;
        };
        let range: Vec<f64> = said
            .split(" %")
            .next()
            .unwrap()
            .split(" to ")
            .map(|end| end.parse().unwrap_or_else(|_| panic!("{headline}")))
            .collect();
        let low = decided.iter().copied().fold(f64::INFINITY, f64::min);
        let high = decided.iter().copied().fold(0.0, f64::max);
        // The table rounds to fewer digits if an interval is wide.
        let ends = (range[0] - low).abs() <= 1.0 && (range[range.len() - 1] - high).abs() <= 1.0;
        assert!(ends, "seed {seed}: {text}");
        ranges += 1;
        let be = if undecided == 1 { "is" } else { "are" };
        let count = format!("{undecided} of 4 large ones {be} undecided");
        assert_eq!(undecided > 0, headline.contains(&count), "seed {seed}: {text}");
        counted += usize::from(undecided > 0);
    }
    assert!(ranges > 10 && counted > 3 && together > 1, "{ranges} {counted} {together}");
}

#[test]
fn no_loss_is_not_said_of_what_is_undecided() {
    let fixture = Fixture {
        arms: vec![plain(), plain_again(), gocryptfs()],
        noise_sd: 2.0,
        blocks: 4,
        ..Fixture::default()
    };
    let text = flat(&answer(&fixture.record(), 80));
    assert!(text.starts_with("Whether gocryptfs is slower on nvme0n1p2 is undecided."), "{text}");
    assert!(!text.contains("no loss was found") && !text.contains("Use "), "{text}");
}
