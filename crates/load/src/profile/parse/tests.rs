//! What the parser of profiles accepts, refuses, and says about it.

use proptest::prelude::*;

use super::*;

const GOOD: &str = r#"name = "mine"
description = "One workload."

[[workload]]
id = "a"
label = "seq. read 1 MiB QD1"
operation = "read"
pattern = "sequential"
block_size = "1MiB"
queue_depth = 1
headline = "bandwidth"
"#;

#[test]
fn a_profile_becomes_what_it_says() {
    let p = Profile::from_toml(GOOD, "x").unwrap();
    assert_eq!(p.name, "mine");
    assert_eq!(
        p.workloads,
        [WorkloadSpec {
            id: "a".into(),
            label: "seq. read 1 MiB QD1".into(),
            operation: Operation::Read,
            pattern: Pattern::Sequential,
            block_size: 1 << 20,
            queue_depth: 1,
            headline: Headline::Bandwidth,
        }]
    );
}

#[test]
fn builtin_profiles_parse_under_their_names() {
    for (name, _) in Profile::builtin() {
        let p = Profile::named(name).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(p.name, *name);
    }
    let quick = Profile::named("quick").unwrap();
    let ids: Vec<_> = quick.workloads.iter().map(|w| w.id.as_str()).collect();
    assert_eq!(
        ids,
        [
            "seq-read-1m-q1",
            "seq-write-1m-q1",
            "seq-read-1m-q8",
            "seq-write-1m-q8",
            "rand-read-4k-q1",
            "rand-write-4k-q1",
            "rand-read-4k-q32",
            "rand-write-4k-q32",
        ]
    );
    let e = Profile::named("quikc").unwrap_err().to_string();
    assert!(e.contains("quikc") && e.contains("quick"), "{e}");
}

/// Each defect: what to replace, by what, and what the message must name.
#[test]
fn defects_name_origin_line_field_and_remedy() {
    for (from, to, wanted) in [
        ("\"1MiB\"", "\"0\"", &["line 9", "block_size", "zero", "multiple of 512B"][..]),
        ("\"1MiB\"", "\"1000B\"", &["line 9", "block_size", "multiple of 512"]),
        ("\"1MiB\"", "\"2GiB\"", &["line 9", "block_size", "1 GiB"]),
        ("\"1MiB\"", "\"1MB\"", &["line 9", "block_size", "1MB", "MiB"]),
        ("\"1MiB\"", "1048576", &["line 9", "string"]),
        ("queue_depth = 1", "queue_depth = 0", &["line 10", "queue_depth", "1 to 1024"]),
        ("queue_depth = 1", "queue_depth = 1025", &["line 10", "queue_depth", "1 to 1024"]),
        ("queue_depth = 1", "queue_depth = -3", &["line 10", "queue_depth", "-3"]),
        ("queue_depth", "queue_deep", &["line 10", "queue_deep", "unknown"]),
        ("\"read\"", "\"trim\"", &["line 7", "trim", "read"]),
        ("\"sequential\"", "\"stride\"", &["line 8", "stride", "random"]),
        ("\"bandwidth\"", "\"speed\"", &["line 11", "speed", "iops"]),
        ("id = \"a\"", "id = \"A b\"", &["line 5", "id", "A b", "hyphens"]),
        ("QD1\"", "QD1, and more\"", &["line 6", "label", "29 characters", "22"]),
        ("\"One workload.\"", "\"\"", &["line 2", "description", "empty"]),
        ("\"One workload.\"", "\"a\\nb\"", &["line 2", "description", "one line"]),
        ("name = \"mine\"", "name = \"\"", &["line 1", "name"]),
        ("name = \"mine\"\n", "", &["name", "missing"]),
        ("[[workload]]", "[[workload", &["line 4"]),
    ] {
        let text = GOOD.replacen(from, to, 1);
        assert_ne!(text, GOOD, "{from}");
        let e = Profile::from_toml(&text, "my.toml").unwrap_err().to_string();
        assert!(e.contains("my.toml"), "{to}: {e}");
        for word in wanted {
            assert!(e.contains(word), "{to}: expected {word:?} in: {e}");
        }
    }
}

#[test]
fn duplicate_ids_are_refused() {
    let second = &GOOD[GOOD.find("[[").unwrap()..];
    let e = Profile::from_toml(&format!("{GOOD}\n{second}"), "x").unwrap_err().to_string();
    assert_eq!(e, "x, line 14: id 'a' is that of line 5 too; give each workload its own");
}

#[test]
fn a_profile_without_workloads_is_refused() {
    let text = "name = \"a\"\ndescription = \"b\"\nworkload = []\n";
    let e = Profile::from_toml(text, "x").unwrap_err().to_string();
    assert!(e.contains("line 3") && e.contains("[[workload]]"), "{e}");
}

proptest! {
    #[test]
    fn arbitrary_text_never_panics(text: String) {
        let _ = Profile::from_toml(&text, "x");
    }

    #[test]
    fn mutilated_profiles_never_panic(
        at in 0..GOOD.len(), cut in 0usize..20, insert in "[\\PC\\n\"\\[\\]=]{0,8}",
    ) {
        let end = (at + cut).min(GOOD.len());
        let text = format!("{}{insert}{}", &GOOD[..at], &GOOD[end..]);
        let _ = Profile::from_toml(&text, "x");
    }
}
