//! Decisions on stored machines: each file in `fixtures/machines` contains a request and the facts about a machine.
//! The decision next to it is in the form that a person reads.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use cryptbench_devices::Model;
use cryptbench_load::Profile;
use cryptbench_runner::{
    Consent, EmulateRequest, Facts, PairRequest, Request, RunError, TargetRequest, dry_run,
    dry_run_on, look, only_reads,
};
use cryptbench_text::{chain, human};
use serde::Deserialize;

use crate::request::request;

/// A stored machine, with a request made on it.
#[derive(Deserialize)]
struct Machine {
    about: String,
    asked: Asked,
    facts: Facts,
}

/// A command line: everything that differs from `cryptbench run PATH`.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Asked {
    path: PathBuf,
    systems: Vec<String>,
    settings: BTreeMap<String, Vec<String>>,
    split: bool,
    profile: Option<String>,
    size: Option<u64>,
    buffered: Option<bool>,
    destroy: Vec<PathBuf>,
    erase: Vec<String>,
    pair: Vec<PathBuf>,
    read_only: bool,
    emulate: Option<String>,
    precondition: u32,
}

impl Asked {
    fn request(self) -> Request {
        let mut profile = Profile::named(self.profile.as_deref().unwrap_or("quick")).unwrap();
        if self.read_only {
            profile = only_reads(profile, "--read-only").unwrap();
        }
        let pair = |encrypted| PairRequest { encrypted, name: None, id: None, in_use: None };
        let model =
            |name: String| EmulateRequest { model: Model::named(&name).unwrap(), backing: None };
        let mut request = Request::of(&self.path, profile);
        request.target = TargetRequest {
            consent: Consent { destroy: self.destroy, erase: self.erase },
            only_read: self.read_only,
            pair: self.pair.into_iter().map(pair).collect(),
            emulate: self.emulate.map(model),
            size: self.size,
            buffered: self.buffered,
            ..request.target
        };
        (request.selection.systems, request.selection.split) = (self.systems, self.split);
        request.selection.settings = self.settings;
        Request { precondition: self.precondition, ..request }
    }
}

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/machines")
}

/// The decision in words.
fn decision(request: &Request, facts: &Facts) -> Result<String, RunError> {
    let dry = dry_run_on(request, facts, None)?;
    let (plan, (bytes, why)) = (&dry.plan, &dry.scratch);
    let mut text = format!("storage  {}, in {}\n", dry.storage, dry.directory);
    let mut add = |what: &str, words: String| writeln!(text, "{what:8} {words}").unwrap();
    for (place, storage) in &dry.paired {
        add("beside", format!("{storage}, in {place}"));
    }
    add("scratch", format!("{} ({why})", human(*bytes)));
    add("set", plan.set.clone().unwrap_or_else(|| "of the user".to_owned()));
    for arm in &plan.arms {
        add("arm", format!("{}: {}", arm.id, arm.label));
    }
    for left in &plan.left_out {
        add("left out", format!("{}: {}; {}", left.system, left.reason, left.remedy));
    }
    let whole: BTreeSet<_> = plan.workloads.iter().filter_map(|w| w.unsliced.clone()).collect();
    add("work", format!("{} workloads of {}", plan.workloads.len(), plan.profile));
    whole.into_iter().for_each(|why| add("whole", why));
    add(
        "time",
        format!(
            "{:.0} s, {} to {} trials of {:.3} s",
            plan.budget_s, plan.min_pairs, plan.max_pairs, plan.trial_s
        ),
    );
    let moved = [dry.forecast.bytes_written, dry.forecast.bytes_read, dry.forecast.scratch_bytes];
    let [written, read, taken] = moved.map(human);
    add("moves", format!("writes {written}, reads {read}, takes up {taken}"));
    dry.remarks.iter().for_each(|remark| add("remark", remark.clone()));
    Ok(text)
}

fn refusal(error: &RunError) -> String {
    let kind = match error {
        RunError::Usage(_) | RunError::Option { .. } => "usage",
        RunError::Target { .. } => "target",
        RunError::System(_) => "system",
        RunError::Cpu(_) => "processor",
        other => panic!("no decision refuses with {other:?}"),
    };
    format!("refused  {kind}: {}\n", chain(error))
}

#[test]
fn each_stored_machine_has_its_decision() {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(directory());
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    let mut files: Vec<_> = fs::read_dir(directory()).unwrap().map(|e| e.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    assert!(files.len() >= 40, "{}", files.len());
    for file in files {
        let name = file.file_stem().unwrap().to_str().unwrap();
        let stored = fs::read_to_string(&file).unwrap();
        let Machine { about, asked, facts } =
            serde_json::from_str(&stored).unwrap_or_else(|e| panic!("{name}: {e}"));
        let request = asked.request();
        let said = decision(&request, &facts).unwrap_or_else(|error| refusal(&error));
        settings.bind(|| insta::assert_snapshot!(name, format!("{about}\n\n{said}")));
    }
}

#[test]
fn this_machine_decides_the_same_from_its_stored_facts() {
    let place = tempfile::tempdir().unwrap();
    let request = request(place.path());
    let stored = serde_json::to_string(&look(&request)).unwrap();
    let facts: Facts = serde_json::from_str(&stored).unwrap();
    let (now, then) =
        (dry_run(&request, None).unwrap(), dry_run_on(&request, &facts, None).unwrap());
    let text = |plan: &cryptbench_record::Plan| serde_json::to_string_pretty(plan).unwrap();
    assert_eq!(text(&now.plan), text(&then.plan));
    assert_eq!((now.storage, now.scratch), (then.storage, then.scratch));
}
