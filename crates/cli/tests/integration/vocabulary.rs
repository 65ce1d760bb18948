//! The same names everywhere: every table for people uses the answer's names for choices and workloads, and
//! programs get the identifiers.

use std::fs;
use std::path::Path;

use cryptbench_answer::names::Names;
use cryptbench_record::Record;

use crate::sandbox::{Sandbox, text};

fn said(s: &Sandbox, args: &[&str]) -> String {
    let done = s.command(args).env("COLUMNS", "200").output().unwrap();
    assert!(done.status.success(), "{args:?}: {}{}", text(&done.stdout), text(&done.stderr));
    text(&done.stdout)
}

/// Names that a record stores but for which the answer uses others.
fn stored(record: &Record) -> Vec<String> {
    let names = Names::of(&record.plan);
    let workloads = record.plan.workloads.iter().map(|w| (&w.id, &w.label, names.workload(w)));
    let arms = record.plan.arms.iter().map(|a| (&a.id, &a.label, names.arm(a)));
    let other = |(id, label, name): (&String, &String, &str)| {
        [id, label]
            .map(ToOwned::to_owned)
            .into_iter()
            .filter(|of| !name.contains(of.as_str()))
            .collect::<Vec<_>>()
    };
    workloads.chain(arms).flat_map(other).collect()
}

#[test]
fn tables_for_people_have_the_names_of_the_answer_and_programs_the_identifiers() {
    let s = Sandbox::new();
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/readme.json");
    let document = fs::read_to_string(&fixture).unwrap();
    let record = cryptbench_record::read(&fixture).unwrap();
    let (database, fleet) = (s.out().join("history"), s.out().join("fleet"));
    fs::create_dir_all(&fleet).unwrap();
    let [database, fleet] = [database, fleet].map(|path| path.display().to_string());
    let mut files = Vec::new();
    for day in 10..16 {
        let file = s.target().join(format!("{day}.json"));
        let started = record.started.replace("-23T", &format!("-{day}T"));
        assert_ne!(started, record.started);
        let of_day = document
            .replace(&record.run_id, &format!("202611{day}-181240-641607"))
            .replace(&record.started, &started);
        fs::write(&file, &of_day).unwrap();
        fs::write(Path::new(&fleet).join(format!("node{day}.json")), of_day).unwrap();
        files.push(file.display().to_string());
    }
    let [first, second, ..] = &files[..] else { panic!("{files:?}") };
    let add = [
        &["history", "--database", &database, "add"][..],
        &files.iter().map(String::as_str).collect::<Vec<_>>(),
    ];
    said(&s, &add.concat());
    let history = ["history", "--database", &database, "check"];
    for (args, has) in [
        (&["compare", "--joint", first, second][..], "cryptbench mount (LUKS2)"),
        (&history, "cryptbench mount (LUKS2)"),
        (&["fleet", "report", &fleet], "gocryptfs"),
        (&["fleet", "report", &fleet, "--full"], "cryptbench mount (LUKS2)"),
        (&["studies", "A", "--beside", first], "cryptbench mount (LUKS2)"),
    ] {
        let shown = said(&s, args);
        assert!(shown.contains(has) && shown.contains(", one at a time"), "{shown}");
        for word in stored(&record) {
            assert!(!shown.contains(&word), "{args:?}: {word} in\n{shown}");
        }
    }
    for args in [
        &["compare", "--joint", first, second, "--json"][..],
        &["compare", "--joint", first, second, "--csv"],
        &[&history[..], &["--json"]].concat(),
    ] {
        assert!(said(&s, args).contains("mounted AES-256-XTS 4096 B"), "{args:?}");
    }
    for args in [&["fleet", "report", &fleet, "--json"], &["fleet", "report", &fleet, "--csv"]] {
        assert!(said(&s, args).contains("builtin-mounted/aes-256-xts/4096"), "{args:?}");
    }
}
