//! Randomly damaged records, logs, profiles, fio jobs, results of other programs and fleet plans: they are read or
//! refused in bounded time and memory, and what can be read can be reported.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cryptbench_load::Profile;
use cryptbench_prove::{Random, Watch, damage_text, seeds};

/// Longer than any input takes unless it hangs: the largest report takes a second in an unoptimised build.
const LIMIT: Duration = Duration::from_secs(30);

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

/// Judges damaged copies of some of the `whole` texts.
fn judge(what: &'static str, usual: u64, whole: &[Vec<u8>], judge: impl Fn(&Path, &[u8])) {
    let place = tempfile::tempdir().unwrap();
    let watch = Watch::new(what, LIMIT);
    for seed in seeds(usual) {
        let mut random = Random::new(seed);
        let damaged = damage_text(random.one_of(whole).clone().as_slice(), &mut random);
        // A file with the damaged text, for readers that need a file.
        let path = place.path().join("damaged");
        fs::write(&path, &damaged).unwrap();
        watch.judge(seed, || judge(&path, &damaged));
        cryptbench_prove::count(1, what);
    }
}

/// Small records: a few trials of each of the fixtures.
fn small_records() -> Vec<Vec<u8>> {
    let names = ["readme.json", "builtin-only.json", "ranked.json"];
    let small = names.map(|name| {
        let mut record = cryptbench_record::read(&fixtures().join(name)).unwrap();
        record.trials.truncate(60);
        cryptbench_record::to_json(&record).into_bytes()
    });
    small.into()
}

#[test]
fn records() {
    judge("inputs: records", 20, &small_records(), |path, damaged| {
        if cryptbench_prove::is_broken("panic") {
            assert!(!damaged.ends_with(b"\0"), "a reader that is broken");
            assert!(damaged.windows(4).all(|w| w != b"1e30"), "a reader that is broken");
        }
        let _ = cryptbench_fleet::read(path);
        let Ok(record) = cryptbench_record::read(path) else { return };
        let labelled = cryptbench_answer::Labelled::of(&record);
        let report = labelled.report();
        let _ = cryptbench_view::table::markdown::render(&report);
        let _ = cryptbench_view::html::page(&report);
    });
}

#[test]
fn logs() {
    let record = cryptbench_record::read(&fixtures().join("builtin-only.json")).unwrap();
    let mut whole = serde_json::to_string(&cryptbench_record::Event::Start(Box::new(
        cryptbench_record::Record { trials: Vec::new(), ..record.clone() },
    )))
    .unwrap();
    for trial in record.trials.iter().take(20) {
        whole += "\n";
        whole +=
            &serde_json::to_string(&cryptbench_record::Event::Measured(Box::new(trial.clone())))
                .unwrap();
    }
    whole += "\n";
    judge("inputs: logs of runs", 20, &[whole.into_bytes()], |path, _| {
        let run = path.parent().unwrap().join("run");
        fs::create_dir_all(&run).unwrap();
        fs::copy(path, run.join(cryptbench_record::LOG)).unwrap();
        if let Ok(lines) = cryptbench_record::read_log(&run) {
            let _ = cryptbench_record::fold(&lines)
                .map(|record| cryptbench_answer::Labelled::of(&record).report().results());
            let _ = cryptbench_record::fold_to_resume(&lines);
        }
    });
}

#[test]
fn profiles() {
    let whole: Vec<_> =
        Profile::builtin().iter().map(|(_, text)| text.as_bytes().to_vec()).collect();
    judge("inputs: profiles", 100, &whole, |path, damaged| {
        let _ = Profile::from_file(path).map(|profile| format!("{profile:?}"));
        let _ = Profile::from_fio(&String::from_utf8_lossy(damaged), "damaged.fio");
    });
}

#[test]
fn foreign_results() {
    let mut whole = Vec::new();
    below(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../foreign/tests/fixtures"), &mut whole);
    assert!(whole.len() > 30);
    judge("inputs: results of other programs", 100, &whole, |path, _| {
        let _ = cryptbench_foreign::is_record(path);
        let _ = cryptbench_foreign::read(&[path.to_owned()]);
    });
}

fn below(directory: &Path, found: &mut Vec<Vec<u8>>) {
    for entry in fs::read_dir(directory).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            below(&path, found);
        } else if path.extension().is_none_or(|e| e != "md") {
            found.push(fs::read(&path).unwrap());
        }
    }
}
