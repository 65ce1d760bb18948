//! A fleet with a real Slurm: its daemons listen on the loopback address, in separate namespaces.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::sandbox::{Sandbox, skipped, text};

/// The programs of the cluster and their Debian packages.
const PROGRAMS: [(&str, &str); 6] = [
    ("slurmctld", "slurmctld"),
    ("slurmd", "slurmd"),
    ("sbatch", "slurm-client"),
    ("munged", "munge"),
    ("unshare", "util-linux"),
    ("ip", "iproute2"),
];

const SCRIPTS: [(&str, &str); 4] = [
    ("cluster.sh", include_str!("../fixtures/slurm/cluster.sh")),
    ("scenario.sh", include_str!("../fixtures/slurm/scenario.sh")),
    ("node.sh", include_str!("../fixtures/slurm/node.sh")),
    ("clock.sh", include_str!("../fixtures/slurm/clock.sh")),
];

/// When the first process ends, all processes that it started end with it.
const NAMESPACES: [&str; 7] =
    ["--mount", "--pid", "--net", "--uts", "--fork", "--mount-proc", "--kill-child"];

/// Why a cluster cannot run here.
fn missing() -> Option<String> {
    let path = format!("/usr/sbin:/sbin:{}", std::env::var("PATH").unwrap_or_default());
    let is_there = |name: &str| std::env::split_paths(&path).any(|dir| dir.join(name).is_file());
    if let Some((name, package)) = PROGRAMS.iter().find(|(name, _)| !is_there(name)) {
        return Some(format!("no {name} (apt install {package})"));
    }
    let made = Command::new("unshare").args(NAMESPACES).arg("true").output().unwrap();
    (!made.status.success()).then(|| format!("unshare: {}", text(&made.stderr).trim()))
}

/// The directory of a cluster in a sandbox, with what happened in the cluster.
struct Cluster {
    sandbox: Sandbox,
    dir: PathBuf,
}

impl Cluster {
    fn new() -> Self {
        let sandbox = Sandbox::new();
        let dir = sandbox.out().join("cluster");
        fs::create_dir(&dir).unwrap();
        for (name, script) in SCRIPTS {
            fs::write(dir.join(name), script).unwrap();
            fs::set_permissions(dir.join(name), fs::Permissions::from_mode(0o755)).unwrap();
        }
        Self { sandbox, dir }
    }

    fn path(&self, name: &str) -> String {
        self.dir.join(name).display().to_string()
    }

    /// Writes a plan and, as an administrator would, generates its script.
    fn plan(&self, name: &str, program: &str, more: &str) {
        let plan = format!(
            "name = {name:?}\nnodes = [\"node[01-17]\"]\nsystems = [\"builtin\"]\nprofile = {:?}\nbudget = \"1m\"\n\
             target = \"/tmp\"\nfleet = {:?}\nprogram = {:?}\noptions = [{}]\n{more}\n",
            self.sandbox.profile(),
            self.path(name),
            self.path(program),
            r#""--size", "4MiB", "--trial", "10ms", "--trials", "3", "--seed", "1", "--data-unit", "512""#,
        );
        fs::write(self.dir.join(format!("{name}.toml")), plan).unwrap();
        let file = self.path(&format!("{name}.toml"));
        let script = self.sandbox.run(&["fleet", "plan", &file, "--for", "slurm"]);
        assert!(script.status.success(), "{}", text(&script.stderr));
        fs::write(self.dir.join(format!("{name}.sbatch")), script.stdout).unwrap();
    }

    /// Starts the cluster, and returns when everything in it has ended.
    fn run(&self) {
        let done = Command::new("timeout")
            .args(["--signal=KILL", "240", "unshare"])
            .args(NAMESPACES)
            .arg("bash")
            .args([self.path("cluster.sh"), self.path("")])
            .env("CRYPTBENCH", env!("CARGO_BIN_EXE_cryptbench"))
            .env("PATH", format!("{}:/usr/sbin:/sbin", std::env::var("PATH").unwrap()))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .unwrap();
        assert!(done.success(), "{done}: {}", self.said("log/slurmctld"));
        assert_eq!(self.said("late"), "", "{}", self.said("log/slurmctld"));
    }

    /// The content of a file that the scenario wrote; empty if there is none.
    fn said(&self, name: &str) -> String {
        fs::read_to_string(self.dir.join(name)).unwrap_or_default().trim().to_owned()
    }

    /// The calls of the program that only takes time: start and end in seconds, node, and the number of
    /// simultaneous machines.
    fn clock(&self, name: &str) -> Vec<(f64, f64, String, String)> {
        let said = self.said(&format!("{name}.clock"));
        let line = |line: &str| {
            let words: Vec<&str> = line.split(' ').collect();
            let second = |i: usize| words[i].parse::<f64>().unwrap() / 1e9;
            let after = |option: &str| {
                let at = words.iter().position(|word| *word == option);
                at.map_or(String::new(), |at| words[at + 1].to_owned())
            };
            (second(0), second(1), after("--node"), after("--at-once"))
        };
        let mut found: Vec<_> = said.lines().map(line).collect();
        found.sort_by(|a, b| a.0.total_cmp(&b.0));
        found
    }
}

#[test]
fn a_fleet_on_slurm_survives_a_power_cut_and_a_node_that_never_answers() {
    if let Some(why) = missing() {
        return skipped(&format!("a fleet on Slurm: {why}"));
    }
    let cluster = Cluster::new();
    cluster.plan("each", "node.sh", "");
    cluster.plan("few", "clock.sh", "concurrency = 4");
    cluster.plan("levels", "clock.sh", "concurrency = [8, 17]");
    cluster.run();

    // Sixteen records. There is only one of node05, although it was started twice.
    assert_eq!(cluster.said("each.exit"), "0", "{}", cluster.said("each.out"));
    assert_eq!(cluster.said("each.waiting"), "node17 PENDING");
    let started = cluster.said("started");
    assert_eq!(started.lines().count(), 17, "{started}");
    assert!(started.contains("node05 0") && started.contains("node05 1"), "{started}");
    let fleet = cluster.path("each");
    let mut names: Vec<String> = fs::read_dir(&fleet)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| !name.starts_with('.'))
        .map(|name| name.split('-').next().unwrap().to_owned())
        .collect();
    names.sort();
    let expected: Vec<String> = (1..=16).map(|i| format!("node{i:02}")).collect();
    assert_eq!(names, expected);
    let plan = cluster.path("each.toml");
    let report = cluster.sandbox.run(&["fleet", "report", &fleet, "--plan", &plan, "--json"]);
    let report: Value = serde_json::from_slice(&report.stdout).unwrap();
    assert_eq!(report["missing"], serde_json::json!(["node17"]));
    assert_eq!((&report["records"], &report["machines"]), (&16.into(), &16.into()));
    assert_eq!(
        (&report["failed"], &report["damaged"]),
        (&serde_json::json!([]), &serde_json::json!([]))
    );
    // Three kinds of disk, each on enough machines to be pooled.
    let disks = |name: &str| {
        let groups = report["groups"].as_array().unwrap().iter();
        let of_kind = |g: &&Value| g["disk_model"] == format!("EMULATED {name}");
        groups.filter(of_kind).map(|g| g["machines"].as_u64().unwrap()).max().unwrap_or(0)
    };
    assert_eq!(["nvme", "sata-ssd", "usb-flash"].map(disks), [5, 6, 5]);
    let screen = cluster.sandbox.run(&["fleet", "report", &fleet, "--plan", &plan]);
    assert!(text(&screen.stdout).contains("1 machine missing: node17"), "{}", text(&screen.stdout));

    // Never more than four at a time. A node that does not answer delays nothing, and is named.
    assert_eq!(cluster.said("few.exit"), "0", "{}", cluster.said("few.out"));
    assert!(
        cluster.said("few.out").contains("node17 does not answer"),
        "{}",
        cluster.said("few.out")
    );
    assert_eq!(cluster.said("few.waiting"), "node17 PENDING");
    let few = cluster.clock("few");
    assert_eq!(few.len(), 16, "{few:?}");
    let at_once = |began: f64| few.iter().filter(|run| run.0 <= began && began < run.1).count();
    assert!(few.iter().all(|run| at_once(run.0) <= 4), "{few:?}");

    // Groups of eight, each of them a step whose tasks start together, followed by all nodes that answer.
    assert_eq!(cluster.said("levels.exit"), "0", "{}", cluster.said("levels.out"));
    let levels = cluster.clock("levels");
    let words: Vec<&str> = levels.iter().map(|run| run.3.as_str()).collect();
    assert_eq!(words, [["8"; 16], ["16"; 16]].concat(), "{levels:?}");
    for step in [&levels[..8], &levels[8..16], &levels[16..]] {
        let first_end = step.iter().map(|run| run.1).fold(f64::INFINITY, f64::min);
        assert!(step.iter().all(|run| run.0 < first_end), "{step:?}");
    }
    assert!(levels[8].0 > levels[0].1 && levels[16].0 > levels[8].1, "{levels:?}");

    // Failing to submit a job is not reported as success.
    assert_eq!(cluster.said("bad.exit"), "1", "{}", cluster.said("bad.out"));
    assert_eq!(cluster.said("unknown.exit"), "1", "{}", cluster.said("unknown.out"));
}
