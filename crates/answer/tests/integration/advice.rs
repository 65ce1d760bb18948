//! What a run advises, and that it stays silent where its figures do not carry a sentence.

use cryptbench_answer::Labelled;
use cryptbench_answer::advice::observations;
use cryptbench_answer::command::budget_for_all;
use cryptbench_estimate::lookup::Lookup;
use cryptbench_record::{LeftOut, Record};

use crate::fixture::{
    Fixture, FixtureArm, encrypted, null_layer, plain, plain_again, system, ten_systems, volume,
};

fn advice(record: &Record) -> Vec<String> {
    Labelled::of(record).report().results().advice
}

fn of(arms: Vec<FixtureArm>) -> Vec<String> {
    let arms = [vec![plain(), plain_again(), null_layer(&[0.98])], arms].concat();
    advice(&Fixture { arms, ..Fixture::default() }.record())
}

/// What is said beside the advice.
fn observed(arms: Vec<FixtureArm>) -> Vec<String> {
    let arms = [vec![plain(), plain_again(), null_layer(&[0.98])], arms].concat();
    let record = Fixture { arms, ..Fixture::default() }.record();
    observations(&Lookup::of(&record))
}

fn told<'a>(advice: &'a [String], begins: &str) -> Option<&'a str> {
    advice.iter().map(String::as_str).find(|s| s.starts_with(begins))
}

/// A sentence of measured advice carries a figure with its interval.
fn has_interval(sentence: &str) -> bool {
    sentence.split('[').skip(1).any(|rest| {
        rest.split_once(']').is_some_and(|(inside, _)| {
            inside.split(", ").all(|n| n.trim_start_matches('-').parse::<f64>().is_ok())
        })
    })
}

/// `(38-49)`, as lines on one screen have it.
fn has_range(sentence: &str) -> bool {
    sentence.split('(').skip(1).any(|rest| {
        rest.split_once(')').is_some_and(|(inside, _)| {
            let ends: Vec<&str> = inside.split('-').collect();
            ends.len() == 2 && ends.iter().all(|n| n.parse::<f64>().is_ok())
        })
    })
}

fn luks(unit: u32, ratios: &[f64]) -> FixtureArm {
    volume("dm-crypt", "LUKS2", unit, ratios)
}

#[test]
fn the_faster_system_is_named_with_its_interval() {
    let arms = vec![luks(512, &[0.7]), luks(4096, &[0.95])];
    let found = of(arms.clone());
    insta::assert_snapshot!(found.join("\n"), @"
        LUKS2 (dm-crypt), 4096 B, 95.1 % (94.8-95.4).
        Sector size 4096 B instead of 512 B (LUKS2 (dm-crypt), 4096 B): 36 % (35-37) faster in small writes, one at a time, measurably slower in none.
        ");
    let observed = observed(arms);
    insta::assert_snapshot!(told(&observed, "Frequent small writes").unwrap(), @"Frequent small writes: suitable: dm-crypt LUKS2 4096 (loses 4.8 % [4.2, 5.3] at worst, in random write 4 KiB QD32); think twice with dm-crypt LUKS2 512 (loses 30 % [29, 30] at worst, in random write 4 KiB QD1).");
}

#[test]
fn every_sentence_but_a_risk_has_its_interval() {
    let arms =
        vec![luks(512, &[0.7, 0.9]), luks(4096, &[0.95]), system("gocryptfs", "", &[0.2], 4.0)];
    let (advice, observed) = (of(arms.clone()), observed(arms));
    assert!(advice.len() > 1 && observed.len() > 2, "{advice:#?} {observed:#?}");
    for sentence in advice.iter().chain(&observed).filter(|s| !s.starts_with("Risk: ")) {
        assert!(has_interval(sentence) || has_range(sentence), "{sentence}");
    }
}

#[test]
fn the_engine_is_never_advised_and_no_advice_is_longer_than_five_lines() {
    let found = of(vec![
        encrypted("AES-256-XTS 512 B", 512, &[0.95], 0.31),
        encrypted("AES-256-XTS 4096 B", 4096, &[0.97], 0.19),
        luks(4096, &[0.8]),
    ]);
    assert!(found.iter().all(|line| !line.contains("AES")), "{found:#?}");
    let record = Fixture { arms: ten_systems(), ..Fixture::default() }.record();
    insta::assert_snapshot!(advice(&record).join("\n"), @"
        One volume: cryptbench mount (LUKS2), 37.7 % (37.6-37.8); opens in cryptsetup.
        Separate files, as for syncing: fscrypt, 14.0 % (14.0-14.1).
        EncFS: insecure if someone sees two versions of the files (audit, 2014).
        ");
}

#[test]
fn of_two_sector_sizes_the_faster_one_is_advised_unless_none_is() {
    let both = |small, large| {
        of(vec![
            encrypted("AES-256-XTS 512 B", 512, &[small], 0.31),
            encrypted("AES-256-XTS 4096 B", 4096, &[large], 0.19),
        ])
    };
    let found = [both(0.7, 0.9), both(0.9, 0.9)].concat();
    insta::assert_snapshot!(found.join("\n"), @"
        4096-byte sectors if available (LUKS2 has them, VeraCrypt does not): 29 % (28-30) faster in large writes, nowhere proven slower.
        Either sector size: no difference was found between 512 and 4096 bytes.
        ");
    assert!(both(0.9, 0.7).is_empty(), "nothing is advised against its own figures");
}

#[test]
fn ties_are_said_once() {
    let found = of(vec![luks(512, &[0.9]), volume("veracrypt", "VeraCrypt", 512, &[0.9])]);
    insta::assert_snapshot!(found.join("\n"), @"VeraCrypt, 90.1 % (89.9-90.3); no difference from LUKS2 (dm-crypt) was found.");
}

#[test]
fn the_machines_own_trouble_comes_first() {
    let mut record = Fixture::default().record();
    record.machine.cpu_features = vec!["avx2".to_owned()];
    let none = advice(&record).remove(0);
    let arms = vec![plain(), plain_again(), luks(512, &[0.3])];
    let mut record = Fixture { arms, ..Fixture::default() }.record();
    record.plan.arms[2].kernel_tier = Some("xts(ecb(aes-generic))".to_owned());
    insta::assert_snapshot!([none, advice(&record).remove(0)].join("\n"), @"
        Adiantum instead of AES: this CPU has no AES instructions. cryptbench ciphers shows how much faster it is.
        The kernel's driver for the CPU's AES instructions: sudo modprobe aesni_intel, or a kernel that has it.
        ");
}

#[test]
fn between_ten_and_twenty_five_percent_nothing_is_said_of_a_use() {
    let found = observed(vec![luks(512, &[0.83])]);
    for a_use in ["Frequent small writes", "Archive and backup", "A whole disk"] {
        assert!(told(&found, a_use).is_none(), "{found:#?}");
    }
}

#[test]
fn a_cache_carries_no_advice() {
    let arms = vec![
        plain(),
        plain_again(),
        encrypted("AES-256-XTS 512 B", 512, &[0.7], 0.31),
        encrypted("AES-256-XTS 4096 B", 4096, &[0.95], 0.19),
    ];
    let cached = crate::fixture::quick().iter().map(|w| w.id.clone()).collect();
    let found = advice(&Fixture { arms, cached, ..Fixture::default() }.record());
    insta::assert_snapshot!(found.join("\n"), @"A larger file (--size): in 8 of 8 workloads, plain storage was served from a cache.");
}

#[test]
fn the_fastest_cipher_is_told_by_its_cpu_time() {
    let inline = |label: &str, cpu| {
        let mut made = encrypted(label, 512, &[0.9], cpu);
        made.arm.attachment = Some("inline".to_owned());
        made.arm.cipher = Some(label.to_owned());
        made
    };
    let found = observed(vec![inline("AES-256-XTS 512 B", 0.3), inline("Serpent-XTS 512 B", 1.2)]);
    // 0.30 less the layer's 0.07 s/GiB, and 1.20 less it.
    insta::assert_snapshot!(told(&found, "The fastest cipher").unwrap(), @"The fastest cipher on this CPU: AES-256-XTS 512 B uses 0.21 ns [0.21, 0.21] of CPU time per byte in sequential read 1 MiB QD1; Serpent-XTS 512 B 1.05 ns [1.05, 1.05].");
    // The same cipher twice has nothing that it could be faster than.
    let twice = ["AES-256-XTS 512 B", "AES-256-XTS 4096 B"].map(|label| {
        let mut made = inline(label, 0.3);
        made.arm.cipher = Some("aes-256-xts".to_owned());
        made
    });
    assert!(told(&observed(twice.into()), "The fastest cipher").is_none());
}

#[test]
fn risks_are_told_of_the_systems_that_ran() {
    let aes = luks(512, &[0.9]);
    assert!(!observed(vec![aes.clone()]).iter().any(|s| s.contains("EncFS")));
    assert!(!of(vec![aes]).iter().any(|s| s.contains("EncFS")));
    let encfs = || vec![system("encfs", "standard", &[0.9], 0.3)];
    assert!(observed(encfs()).iter().any(|s| s.starts_with("Risk: EncFS")));
    insta::assert_snapshot!(of(encfs()).join("\n"), @"EncFS: insecure if someone sees two versions of the files (audit, 2014).");
}

#[test]
fn what_opens_within_a_second_is_told_and_the_pim_that_leaves_room() {
    let found = advice(&crate::fixture::profiles::mount());
    let within = told(&found, "Within 1 s open ").unwrap();
    insta::assert_snapshot!(within, @"Within 1 s open VeraCrypt SHA-512 (304 ms) and VeraCrypt Whirlpool (726 ms), but not VeraCrypt Argon2id (1.89 s), LUKS1 (1.09 s) and LUKS2 (2.03 s).");
    // 0.306 s for 500,000 iterations leave room for 1.63 million: a PIM of 1600.
    let pim = told(&found, "VeraCrypt SHA-512: a PIM up to ").unwrap();
    assert!(has_range(&pim.replace(',', "")), "{pim}");
    let number = pim.split("a PIM up to ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap();
    let number: f64 = number.replace(',', "").parse().unwrap();
    assert!((1300.0..2000.0).contains(&number), "{pim}");
    assert!(told(&found, "LUKS1: a PIM").is_none(), "{found:#?}");
}

#[test]
fn a_container_is_held_against_its_device() {
    let place = |ratio, value: &str| {
        let mut made = volume("veracrypt", "VeraCrypt", 512, &[ratio]);
        made.arm.id = format!("veracrypt/{value}");
        made.arm.label = format!("VeraCrypt, {value}");
        made.arm.settings.insert("on".to_owned(), value.to_owned());
        made
    };
    let (container, partition) = ("container-in-partition", "partition");
    let found = of(vec![place(0.6, container), place(0.9, partition)]);
    let told_of = "Container or partition: VeraCrypt, on container-in-partition reaches ";
    let sentence = told(&found, told_of).unwrap();
    assert!(has_interval(sentence) && sentence.ends_with("the container is slower."), "{sentence}");
    assert!(told(&found, "Change on").is_none(), "{found:#?}");
    let alike = of(vec![place(0.8, container), place(0.8, partition)]);
    let sentence = told(&alike, "Container or partition: ").unwrap();
    assert!(sentence.ends_with("use whichever is more convenient."), "{sentence}");
    // Both are a file on the target: a difference would be none of containers.
    let equal = of(vec![place(0.6, "container"), place(0.9, partition)]);
    assert!(told(&equal, "Container or partition: ").is_none(), "{equal:#?}");
}

#[test]
fn a_server_is_told_at_how_much_its_processors_are_full() {
    let arms = vec![plain(), plain_again(), luks(512, &[0.7]), luks(4096, &[0.95])];
    let mut record = Fixture { arms, ..Fixture::default() }.record();
    let said = |record: &Record| Labelled::of(record).report().results().headline.join("\n");
    assert!(!said(&record).contains("would be full"), "nobody asked");
    (record.plan.presentation, record.machine.cpus) = (Some("server".to_owned()), 8);
    insta::assert_snapshot!(said(&record));
}

#[test]
fn a_system_that_takes_more_than_a_day_to_set_up_is_missed_with_its_budget() {
    let floor = encrypted("AES-256-XTS 512 B", 512, &[0.9], 0.3);
    let mut record =
        Fixture { arms: vec![plain(), plain_again(), floor], ..Fixture::default() }.record();
    record.plan.set = Some("default/floor".to_owned());
    record.plan.left_out = vec![LeftOut {
        system: "gocryptfs".to_owned(),
        reason: "there was no time to set it up; --budget 28h would do".to_owned(),
        remedy: String::new(),
        enough_s: Some(100_800.0),
    }];
    let labelled = Labelled::of(&record);
    let open = labelled.report().answer.open;
    insta::assert_snapshot!(open[0].line(None), @"No system was measured: there was no time to set one up. To measure one: cryptbench run /home/me --budget 28h");
}

/// What one budget is in one sentence it is in every other.
#[test]
fn advised_budgets_are_those_of_the_runner() {
    let floor = encrypted("AES-256-XTS 512 B", 512, &[0.9], 0.3);
    let mut record =
        Fixture { arms: vec![plain(), plain_again(), floor], ..Fixture::default() }.record();
    (record.plan.budget_s, record.elapsed_s) = (30.0, 20.0);
    record.stops.iter_mut().for_each(|stop| (stop.pairs, stop.needs_s) = (0, Some(20.0)));
    assert_eq!(budget_for_all(&record).as_deref(), Some("--budget 1m"));
    record.stops.iter_mut().for_each(|stop| stop.needs_s = Some(80_000.0));
    assert_eq!(budget_for_all(&record).as_deref(), Some("--budget 38h"));
}
