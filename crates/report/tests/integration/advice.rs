//! What a run advises, and that it stays silent where its figures do not carry a sentence.

use crate::fixture::{Fixture, FixtureArm, encrypted, null_layer, plain, plain_again};
use cryptbench_record::Record;
use cryptbench_report::analyse;

fn advice(record: &Record) -> Vec<String> {
    analyse(record).advice
}

fn of(arms: Vec<FixtureArm>) -> Vec<String> {
    let arms = [vec![plain(), plain_again(), null_layer(&[0.98])], arms].concat();
    advice(&Fixture { arms, ..Fixture::default() }.record())
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

#[test]
fn the_faster_arm_is_named_with_its_interval() {
    let found = of(vec![
        encrypted("AES-256-XTS 512 B", 512, &[0.7], 0.31),
        encrypted("AES-256-XTS 4096 B", 4096, &[0.95], 0.19),
    ]);
    for kind in ["large reads", "large writes", "small reads", "small writes"] {
        let sentence = told(&found, &format!("For {kind} take AES-256-XTS 4096 B")).unwrap();
        assert!(has_interval(sentence), "{sentence}");
        assert!(sentence.contains("AES-256-XTS 512 B keeps"), "{sentence}");
    }
    let change = told(&found, "Change data unit from 512 B to 4096 B").unwrap();
    assert!(has_interval(change), "{change}");
    let small = told(&found, "Frequent small writes").unwrap();
    assert!(small.contains("suited for it: AES-256-XTS 4096 B (loses "), "{small}");
    assert!(small.contains("think twice with AES-256-XTS 512 B (loses 30"), "{small}");
}

#[test]
fn every_sentence_but_a_risk_has_its_interval() {
    let found = of(vec![
        encrypted("AES-256-XTS 512 B", 512, &[0.7, 0.9], 0.31),
        encrypted("AES-256-XTS 4096 B", 4096, &[0.95], 0.19),
        encrypted("Serpent-XTS 4096 B", 4096, &[0.5], 0.9),
    ]);
    assert!(found.len() > 6, "{found:#?}");
    for sentence in found.iter().filter(|s| !s.starts_with("Risk: ")) {
        assert!(has_interval(sentence), "{sentence}");
    }
}

#[test]
fn arms_that_cannot_be_told_apart_are_called_so() {
    let found = of(vec![
        encrypted("AES-256-XTS 512 B", 512, &[0.9], 0.31),
        encrypted("Camellia-XTS 512 B", 512, &[0.9], 0.31),
    ]);
    assert!(told(&found, "For large reads take").is_none(), "{found:#?}");
    let tied = told(&found, "For large reads this run shows no arm ahead").unwrap();
    assert!(tied.contains("AES-256-XTS 512 B") && tied.contains("Camellia-XTS 512 B"), "{tied}");
    assert!(told(&found, "Change ").is_none(), "nothing gains: {found:#?}");
}

#[test]
fn between_ten_and_twenty_five_percent_nothing_is_said_of_a_use() {
    let found = of(vec![encrypted("AES-256-XTS 512 B", 512, &[0.83], 0.31)]);
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
    assert!(found.iter().all(|s| s.starts_with("Risk: ")), "{found:#?}");
}

#[test]
fn the_fastest_cipher_is_told_by_its_cpu_time() {
    let inline = |label: &str, cpu| {
        let mut made = encrypted(label, 512, &[0.9], cpu);
        made.arm.attachment = Some("inline".to_owned());
        made.arm.cipher = Some(label.to_owned());
        made
    };
    let found = of(vec![inline("AES-256-XTS 512 B", 0.3), inline("Serpent-XTS 512 B", 1.2)]);
    let fastest = told(&found, "The fastest cipher on this processor: AES-256-XTS 512 B").unwrap();
    // 0.30 less the layer's 0.07 s/GiB, and 1.20 less it.
    assert!(fastest.contains("takes 0.21 ns [") && fastest.contains("Serpent-XTS 512 B 1.05 ns ["));
    // The same cipher twice has nothing that it could be faster than.
    let twice = ["AES-256-XTS 512 B", "AES-256-XTS 4096 B"].map(|label| {
        let mut made = inline(label, 0.3);
        made.arm.cipher = Some("aes-256-xts".to_owned());
        made
    });
    assert!(told(&of(twice.into()), "The fastest cipher").is_none());
}

#[test]
fn risks_are_told_of_the_systems_that_ran() {
    let aes = || encrypted("AES-256-XTS 512 B", 512, &[0.9], 0.3);
    assert!(!of(vec![aes()]).iter().any(|s| s.contains("EncFS")));
    let mut encfs = aes();
    encfs.arm.system = "encfs".to_owned();
    encfs.arm.id = "encfs/standard".to_owned();
    assert!(of(vec![encfs]).iter().any(|s| s.starts_with("Risk: EncFS")));
}

#[test]
fn what_opens_within_a_second_is_told_and_the_pim_that_leaves_room() {
    let found = advice(&crate::fixture::profiles::mount());
    let within = told(&found, "If opening may take 1").unwrap();
    let (opens, longer) = within.split_once("; take longer: ").unwrap();
    assert!(
        opens.contains("VeraCrypt SHA-512") && opens.contains("VeraCrypt Whirlpool"),
        "{within}"
    );
    assert!(longer.contains("LUKS1") && longer.contains("LUKS2"), "{within}");
    assert!(has_interval(&within.replace(" s", "").replace(" ms", "")), "{within}");
    // 0.306 s for 500,000 iterations leave room for 1.63 million: a PIM of 1600.
    let pim = told(&found, "VeraCrypt SHA-512 still opens in 1").unwrap();
    let number = pim.split("a PIM of ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap();
    let number: f64 = number.replace(',', "").parse().unwrap();
    assert!((1300.0..2000.0).contains(&number), "{pim}");
    assert!(told(&found, "LUKS1 still opens").is_none(), "{found:#?}");
}

#[test]
fn a_container_is_held_against_its_device() {
    let place = |ratio, value: &str| {
        let mut made = encrypted("VeraCrypt", 512, &[ratio], 0.3);
        made.arm.system = "veracrypt".to_owned();
        made.arm.id = format!("veracrypt/{value}");
        made.arm.label = format!("VeraCrypt, {value}");
        made.arm.settings.insert("surface".to_owned(), value.to_owned());
        made
    };
    let found = of(vec![place(0.6, "file"), place(0.9, "device")]);
    let sentence = told(&found, "Container or partition: VeraCrypt, file has ").unwrap();
    assert!(
        has_interval(sentence) && sentence.ends_with("the container costs speed."),
        "{sentence}"
    );
    assert!(told(&found, "Change surface").is_none(), "{found:#?}");
    let alike = of(vec![place(0.8, "file"), place(0.8, "device")]);
    let sentence = told(&alike, "Container or partition: ").unwrap();
    assert!(sentence.ends_with("take whichever is handier."), "{sentence}");
}
