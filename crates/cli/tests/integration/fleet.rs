//! Fleets from the command line: the record of a machine, a repeated run, a failure, and the report on one screen.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use cryptbench_record::Record;
use serde_json::Value;

use crate::formats::python;
use crate::sandbox::nightly;
use crate::sandbox::{Sandbox, skipped, text};

fn files(directory: &Path) -> Vec<PathBuf> {
    let mut found: Vec<_> = fs::read_dir(directory).unwrap().map(|e| e.unwrap().path()).collect();
    found.sort();
    found
}

#[test]
fn a_machine_leaves_one_record_and_measures_nothing_when_asked_again() {
    let s = Sandbox::new();
    let fleet = s.out().join("fleet");
    let dir = fleet.display().to_string();
    let args = s.tiny(&["--builtin-only", "--fleet", &dir, "--node", "node17"]);
    let done = s.run(&args);
    assert!(done.status.success(), "{}", text(&done.stderr));
    assert!(text(&done.stdout).starts_with("node17 measured: "), "{}", text(&done.stdout));
    let found = files(&fleet);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].file_name().unwrap().to_str().unwrap().starts_with("node17-"), "{found:?}");
    let record: Record = cryptbench_record::read(&found[0]).unwrap();
    assert_eq!(record.node.as_ref().unwrap().name, "node17");
    assert!(!record.partial && record.results.is_some());
    let before = fs::metadata(&found[0]).unwrap().modified().unwrap();
    let again = s.run(&args);
    assert!(again.status.success());
    assert!(
        text(&again.stdout).starts_with("node17 has already measured this plan"),
        "{}",
        text(&again.stdout)
    );
    assert_eq!(fs::metadata(&found[0]).unwrap().modified().unwrap(), before);
    // Neither a directory of the run nor anything else is left.
    assert!(s.left_behind().is_empty(), "{:?}", s.left_behind());
    // Different options result in a different record.
    let other = s.tiny(&["--builtin-only", "--fleet", &dir, "--node", "node17", "--trials", "3"]);
    assert!(s.run(&other).status.success());
    assert_eq!(files(&fleet).len(), 2);
}

#[test]
fn a_machine_that_cannot_measure_leaves_the_reason_and_takes_it_back_later() {
    let s = Sandbox::new();
    let fleet = s.out().join("fleet");
    let dir = fleet.display().to_string();
    let target = s.target().join("mounted-later");
    let at = target.display().to_string();
    let args = s.tiny(&[&at, "--builtin-only", "--fleet", &dir, "--node", "node3"]);
    let done = s.run(&args);
    assert_eq!(done.status.code(), Some(3), "{}", text(&done.stderr));
    let found = files(&fleet);
    assert!(found.len() == 1 && found[0].to_str().unwrap().ends_with(".failed.json"), "{found:?}");
    let failure: Value = serde_json::from_slice(&fs::read(&found[0]).unwrap()).unwrap();
    assert_eq!((&failure["exit_code"], &failure["node"]["name"]), (&3.into(), &"node3".into()));
    assert!(failure["why"].as_str().unwrap().contains("mounted-later"), "{failure}");
    let report = s.run(&["fleet", "report", &dir, "--nodes", "node[3-5]"]);
    let said = text(&report.stdout);
    assert!(said.contains("1 machine could not measure: node3"), "{said}");
    assert!(said.contains("2 machines missing: node4, node5"), "{said}");
    fs::create_dir(&target).unwrap();
    let done = s.run(&args);
    assert!(done.status.success(), "{}", text(&done.stderr));
    let found = files(&fleet);
    assert!(found.len() == 1 && !found[0].to_str().unwrap().contains("failed"), "{found:?}");
}

#[test]
fn machines_do_not_choose_systems_by_themselves() {
    let s = Sandbox::new();
    let dir = s.out().join("fleet").display().to_string();
    for args in [vec!["run", "--fleet", &dir], vec!["run", "--fleet", &dir, "--system", "all"]] {
        let done = s.run(&args);
        assert_eq!(done.status.code(), Some(2), "{}", text(&done.stderr));
        assert!(text(&done.stderr).contains("needs named systems"), "{}", text(&done.stderr));
    }
    assert!(!s.out().join("fleet").exists());
}

/// Records of `machines` machines. The encrypted trials of the last one are slower by the factor `slower`.
fn made(directory: &Path, machines: usize, slower: f64) {
    fs::create_dir_all(directory).unwrap();
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/builtin-only.json");
    let base = cryptbench_record::read(&fixture).unwrap();
    for i in 0..machines {
        let mut record = base.clone();
        record.node = Some(cryptbench_record::Node {
            name: format!("node{i:02}"),
            machine: format!("{i:016x}"),
            ..Default::default()
        });
        // The machines differ slightly, each by a different factor.
        let own = 1.0 + 0.01 * (i as f64 * 2.399).sin();
        let factor = if i + 1 == machines { slower } else { own };
        for trial in record.trials.iter_mut().filter(|t| t.arm.contains("aes")) {
            trial.measured.elapsed_s *= factor;
        }
        let name = format!("node{i:02}.json");
        cryptbench_record::write(&record, &directory.join(name)).unwrap();
    }
}

#[test]
fn the_report_fits_one_screen_and_names_the_odd_machine() {
    let s = Sandbox::new();
    let fleet = s.out().join("fleet");
    made(&fleet, 12, 3.0);
    fs::write(fleet.join("cut.json"), "{").unwrap();
    let dir = fleet.display().to_string();
    let done = s.run(&["fleet", "report", &dir, "--nodes", "node[00-13]"]);
    let screen = text(&done.stdout);
    assert!(done.status.success(), "{}", text(&done.stderr));
    assert!(screen.lines().count() <= 24, "{screen}");
    for line in screen.lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
    for part in ["12 machines", "next machine", "! node11 reaches", "node12, node13", "cut.json"] {
        assert!(screen.contains(part), "{part}: {screen}");
    }
    let full = text(&s.run(&["fleet", "report", &dir, "--full"]).stdout);
    assert!(full.lines().all(|line| line.chars().count() <= 80), "{full}");
    let json: Value =
        serde_json::from_slice(&s.run(&["fleet", "report", &dir, "--json"]).stdout).unwrap();
    assert_eq!(json["schema"], "cryptbench.fleet-report/1");
    assert_eq!(json["outliers"][0]["node"], "node11");
    let csv = text(&s.run(&["fleet", "report", &dir, "--csv"]).stdout);
    let rows: usize = json["groups"]
        .as_array()
        .unwrap()
        .iter()
        .map(|g| g["rows"].as_array().unwrap().len())
        .sum();
    assert_eq!(csv.lines().count(), 1 + rows);
    let page = text(&s.run(&["fleet", "report", &dir, "--html"]).stdout);
    assert!(page.starts_with("<!DOCTYPE html>") && page.trim_end().ends_with("</html>"), "{page}");
    // The plot has a row for each group and workload, which expands to its machines.
    assert_eq!(page.matches("<details class=\"forest\"").count(), rows);
    assert!(page.contains("<span>node11</span>") && page.contains("node11 reaches"), "{page}");
    let empty = s.out().join("empty");
    fs::create_dir(&empty).unwrap();
    let done = s.run(&["fleet", "report", empty.to_str().unwrap()]);
    assert_eq!(done.status.code(), Some(5), "{}", text(&done.stderr));
}

#[test]
fn a_volume_that_is_held_to_a_rate_is_named_as_it_hides_the_cost() {
    let s = Sandbox::new();
    let fleet = s.out().join("fleet");
    made(&fleet, 5, 1.0);
    let dir = fleet.display().to_string();
    let report = || text(&s.run(&["fleet", "report", &dir]).stdout);
    assert!(!report().contains("rate limit"), "{}", report());
    // A volume limited to 3,000 requests a second answers at this rate for every workload.
    let mut record = cryptbench_record::read(&fleet.join("node02.json")).unwrap();
    for trial in record.trials.iter_mut().filter(|t| t.workload.ends_with("-4k-q32")) {
        trial.measured.elapsed_s = trial.measured.ios as f64 / 3000.0;
    }
    cryptbench_record::write(&record, &fleet.join("node02.json")).unwrap();
    assert!(report().contains("A rate limit hides the cost on 1 machine: node02"), "{}", report());
}

#[test]
fn a_plan_becomes_a_script_and_a_bad_one_says_what_is_wrong() {
    let s = Sandbox::new();
    let file = s.out().join("fleet.toml");
    let plan = "nodes = [\"n[1-3]\"]\nsystems = [\"builtin\"]\nbudget = \"1m\"\ntarget = \"/tmp\"\nfleet = \"/f\"\n";
    fs::write(&file, plan).unwrap();
    let at = file.display().to_string();
    for (by, part) in
        [("slurm", "#SBATCH --exclusive"), ("ansible", "serial: 3"), ("ssh", "xargs -n 1 -P 3")]
    {
        let done = s.run(&["fleet", "plan", &at, "--for", by]);
        assert!(text(&done.stdout).contains(part), "{}{}", text(&done.stdout), text(&done.stderr));
    }
    for (from, to, code, said) in [
        ("builtin", "biultin", 2, "biultin"),
        ("1m", "soon", 2, "not a time"),
        ("budget", "bugdet", 5, "bugdet"),
    ] {
        fs::write(&file, plan.replace(from, to)).unwrap();
        let done = s.run(&["fleet", "plan", &at, "--for", "ssh"]);
        assert_eq!(done.status.code(), Some(code), "{}", text(&done.stderr));
        assert!(text(&done.stderr).contains(said), "{}", text(&done.stderr));
    }
}

/// Validates a manifest with the published schema of Kubernetes 1.37.
const CHECK: &str = "
import json, sys, kubernetes_validate
text = json.load(sys.stdin)
for document in text.get('items', [text]) if text['kind'] == 'List' else [text]:
    kubernetes_validate.validate(document, '1.37', strict=True)
";

#[test]
fn manifests_pass_the_published_schema() {
    let Some(python) = python("kubernetes_validate") else {
        return skipped("no kubernetes_validate for python3, and pip cannot install it");
    };
    let s = Sandbox::new();
    let file = s.out().join("fleet.toml");
    let at = file.display().to_string();
    let manifest = |more: &str| {
        let head = "nodes = [\"n[1-3]\"]\nbudget = \"1m\"\nfleet = \"/f\"\nimage = \"bench:1\"\n";
        fs::write(&file, format!("{head}{more}")).unwrap();
        let done = s.run(&["fleet", "plan", &at, "--for", "kubernetes"]);
        assert!(done.status.success(), "{}", text(&done.stderr));
        text(&done.stdout)
    };
    let valid = |manifest: &str| {
        let manifest_file = s.out().join("manifest.json");
        fs::write(&manifest_file, manifest).unwrap();
        let mut check = Command::new(&python);
        check.args(["-c", CHECK]).stdin(fs::File::open(&manifest_file).unwrap());
        let done = check.output().unwrap();
        if done.status.success() { Ok(()) } else { Err(text(&done.stderr)) }
    };
    let plain = "systems = [\"builtin\", \"dm-crypt\"]\ntarget = \"/t\"\n";
    let pair = "pair = [\"/plain\", \"/crypt\"]\nstorage_classes = [\"a\", \"b\"]\n";
    for more in [
        plain.to_owned(),
        format!("{plain}concurrency = [1, 3]\ntolerate = [\"gpu\"]\nclaim = \"records\"\n"),
        format!("{plain}concurrency = 2\n"),
        pair.to_owned(),
    ] {
        assert_eq!(valid(&manifest(&more)), Ok(()), "{more}");
    }
    // The check must detect an unknown field and a value of the wrong type.
    let job = manifest(plain);
    for (from, to) in [("\"completions\"", "\"completion\""), ("\"Indexed\"", "7")] {
        let wrong = valid(&job.replace(from, to));
        assert!(wrong.is_err_and(|why| why.contains("ValidationError")), "{from}");
    }
}

fn dataset_loads_in(module: &str, first: &str) {
    if module != "polars" && !nightly() {
        return;
    }
    let Some(python) = python(first) else {
        return skipped(&format!("no {first} for python3, and pip cannot install it"));
    };
    let has = |module: &str| {
        let check = Command::new(&python).args(["-c", &format!("import {module}")]).output();
        check.is_ok_and(|done| done.status.success())
    };
    if !has(module) {
        let pip = ["-m", "pip", "-q", "install", "--timeout", "20", "--retries", "1", module];
        let _ = Command::new(&python).args(pip).output();
    }
    if !has(module) {
        return skipped(&format!("no {module} beside {first}, and pip cannot install it"));
    }
    let s = Sandbox::new();
    let (fleet, dataset) = (s.out().join("fleet"), s.out().join("dataset"));
    made(&fleet, 4, 1.0);
    let [dir, to] = [&fleet, &dataset].map(|path| path.display().to_string());
    let done = s.run(&["fleet", "collect", &dir, "--output", &to]);
    assert!(done.status.success(), "{}", text(&done.stderr));
    let script = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join(format!("../../docs/loading/fleet_with_{module}.py"));
    let done = Command::new(&python).arg(script).arg(&dataset).output().unwrap();
    assert!(done.status.success(), "{}", text(&done.stderr));
    let json: Value =
        serde_json::from_slice(&s.run(&["fleet", "report", &dir, "--json"]).stdout).unwrap();
    let printed = text(&done.stdout);
    let mut compared = 0;
    for group in json["groups"].as_array().unwrap() {
        for row in group["rows"].as_array().unwrap() {
            let start = ["cpu_model", "arm"].map(|key| group[key].as_str().unwrap());
            let key =
                format!("{}\t{}\t{}\t4\t", start[0], row["workload"].as_str().unwrap(), start[1]);
            let found = printed.lines().find_map(|line| line.strip_prefix(&key));
            let kept: f64 = found.unwrap_or_else(|| panic!("{key}: {printed}")).parse().unwrap();
            let logs: Vec<f64> = row["members"]
                .as_array()
                .unwrap()
                .iter()
                .map(|member| member["ratio"].as_f64().unwrap().ln())
                .collect();
            let mean = (logs.iter().sum::<f64>() / logs.len() as f64).exp();
            assert!((kept / mean - 1.0).abs() < 1e-6, "{key}{kept}, {mean}");
            compared += 1;
        }
    }
    assert!(compared > 3, "{compared}");
}

#[test]
fn duckdb_loads_a_fleets_dataset() {
    dataset_loads_in("duckdb", "duckdb");
}

#[test]
fn polars_loads_a_fleets_dataset() {
    dataset_loads_in("polars", "polars");
}

#[test]
fn pandas_loads_a_fleets_dataset() {
    // pandas reads Parquet with pyarrow, which Debian's package lacks.
    dataset_loads_in("pandas", "pyarrow");
}
