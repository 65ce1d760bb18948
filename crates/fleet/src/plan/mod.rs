//! One plan for a fleet, and its scripts: Slurm, Kubernetes, Ansible, or a shell with ssh.

mod ansible;
mod kubernetes;
mod script;
mod shell;
mod slurm;
mod values;

use std::path::Path;
use std::time::Duration;

use cryptbench_os::read_text;
use cryptbench_text::shown;
use script::Script;
use serde::Deserialize;

use crate::{FleetError, expand};

/// Maximum size of a plan, in bytes.
const LONGEST: u64 = 1 << 20;

/// Maximum size in bytes of the data fetched from one machine: four of the largest records of a fleet.
const FETCHED_BYTES: usize = 256 << 20;

/// The only system that requires neither mounts nor devices.
const UNPRIVILEGED: &str = cryptbench_catalog::BUILTIN.name;

/// The launcher of the machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum For {
    /// A script for sbatch.
    Slurm,
    /// A manifest of an Indexed Job, in JSON.
    Kubernetes,
    /// A playbook.
    Ansible,
    /// A shell script.
    Ssh,
}

/// The measurement on every machine of a fleet, and the way in which the runs are started.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Name of the job: lower-case letters, digits and hyphens.
    #[serde(default = "default_name")]
    pub name: String,
    /// The machines, such as `["node[01-16]"]`.
    pub nodes: Vec<String>,
    /// The workload profile.
    #[serde(default = "default_profile")]
    pub profile: String,
    /// The systems to measure; they must be given, because the program would choose different systems on different
    /// machines.
    #[serde(default)]
    pub systems: Vec<String>,
    /// Time budget of each machine, such as `5m`.
    pub budget: String,
    /// The directory to measure, on every machine.
    #[serde(default)]
    pub target: String,
    /// Instead of `target` and `systems`: directories on plain and on encrypted storage, as for `run --pair`.
    #[serde(default)]
    pub pair: Vec<String>,
    /// Path of the fleet's directory on the machines.
    pub fleet: String,
    /// Maximum number of machines that measure in parallel; absent means all. If several numbers are given, the plan is
    /// measured with each number, to compare different numbers of machines that share the storage.
    pub concurrency: Option<Concurrency>,
    /// Further options of `cryptbench run`.
    #[serde(default)]
    pub options: Vec<String>,
    /// The program on the machines.
    #[serde(default = "default_program")]
    pub program: String,
    /// Whether the program is started with sudo.
    #[serde(default)]
    pub sudo: bool,
    /// Ansible and ssh: directory to which the records are copied afterwards, if the machines do not share a
    /// directory.
    pub fetch_to: Option<String>,
    /// Slurm: the partition.
    pub partition: Option<String>,
    /// Kubernetes: the image with the program and its systems.
    pub image: Option<String>,
    /// Kubernetes: the volume claim that contains `fleet`; if absent, `fleet` is a path on the hosts.
    pub claim: Option<String>,
    /// Kubernetes: the storage classes of `pair`, in the same order. Each pod gets a volume claim for each class,
    /// which is deleted with the pod.
    #[serde(default)]
    pub storage_classes: Vec<String>,
    /// Kubernetes: the size of each of these claims.
    #[serde(default = "default_claim_size")]
    pub claim_size: String,
    /// Kubernetes: keys of taints that are tolerated.
    #[serde(default)]
    pub tolerate: Vec<String>,
}

/// Number of machines that measure in parallel.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged, expecting = "a number of machines, or a list of them such as [1, 16]")]
pub enum Concurrency {
    /// At most this many.
    Most(usize),
    /// The plan is measured with each of these numbers, one after another.
    Each(Vec<usize>),
}

fn default_name() -> String {
    "cryptbench-fleet".to_owned()
}

fn default_profile() -> String {
    "quick".to_owned()
}

fn default_claim_size() -> String {
    "10Gi".to_owned()
}

fn default_program() -> String {
    "cryptbench".to_owned()
}

impl Plan {
    /// Reads a plan.
    ///
    /// # Errors
    /// [`FleetError`] if the plan cannot be read, is not TOML, or is invalid.
    pub fn read(path: &Path) -> Result<Self, FleetError> {
        let text = read_text(path, LONGEST).map_err(FleetError::io("read", path))?;
        Self::parse(&text, path)
    }

    /// Parses the text of a plan; errors refer to the file as `origin`.
    ///
    /// # Errors
    /// As for [`Self::read`].
    pub fn parse(text: &str, origin: &Path) -> Result<Self, FleetError> {
        let plan: Self = toml::from_str(text)
            .map_err(|source| FleetError::Plan { path: origin.to_owned(), source })?;
        let unfit = |problem| FleetError::Unfit(format!("{}: {problem}", shown(origin)));
        if let Some(problem) = values::fault(&plan) {
            return Err(unfit(problem));
        }
        if plan.nodes()?.is_empty() {
            return Err(unfit("nodes is empty: specify at least one machine".to_owned()));
        }
        Ok(plan)
    }

    /// The list of machines, expanded.
    ///
    /// # Errors
    /// [`FleetError::Unfit`].
    pub fn nodes(&self) -> Result<Vec<String>, FleetError> {
        expand(&self.nodes.join(","))
    }

    /// The script that starts the plan. `budget` is [`Self::budget`] as a duration.
    ///
    /// # Errors
    /// [`FleetError::Unfit`] if the plan lacks a value that only this script needs.
    pub fn render(&self, by: For, budget: Duration) -> Result<String, FleetError> {
        let nodes = self.nodes()?;
        let fault = match by {
            For::Kubernetes if self.image.is_none() => {
                Some("Kubernetes needs an image with the program and its systems".to_owned())
            }
            For::Kubernetes => values::fault_in_kubernetes(self),
            _ if !self.storage_classes.is_empty() => Some(
                "storage_classes are only for Kubernetes; elsewhere, pair specifies existing locations".to_owned(),
            ),
            For::Ansible => values::fault_in_ansible(self),
            For::Slurm | For::Ssh => None,
        };
        if let Some(problem) = fault {
            return Err(FleetError::Unfit(format!("the fleet's plan: {problem}")));
        }
        Ok(match by {
            For::Slurm => slurm::script(self, nodes.len(), budget),
            For::Kubernetes => kubernetes::manifest(self, &nodes, budget),
            For::Ansible => ansible::playbook(self, &nodes),
            For::Ssh => shell::script(self, &nodes),
        })
    }

    /// The command line for a shell on a machine, without `--node`.
    fn started(&self) -> Script {
        let sudo = if self.sudo { "sudo -n " } else { "" };
        Script::joined([Script::literal(sudo), Script::words(&self.command())])
    }

    /// The command on a machine, without `--node`.
    fn command(&self) -> Vec<String> {
        let mut words: Vec<&str> = vec![&self.program, "run"];
        let systems = self.systems.join(",");
        if self.pair.is_empty() {
            words.extend([&self.target, "--fleet", &self.fleet, "--system", &systems]);
        } else {
            words.push("--pair");
            words.extend(self.pair.iter().map(String::as_str));
            words.extend(["--fleet", &self.fleet]);
        }
        words.extend(["--profile", &self.profile, "--budget", &self.budget]);
        words.extend(self.options.iter().map(String::as_str));
        words.extend(["--progress", "none"]);
        words.into_iter().map(str::to_owned).collect()
    }

    /// Maximum number of machines that measure in parallel; `None` if all do.
    fn throttle(&self, nodes: usize) -> Option<usize> {
        match self.concurrency {
            Some(Concurrency::Most(most)) if most < nodes => Some(most),
            _ => None,
        }
    }

    /// The numbers of machines that are to measure in parallel, one after another; empty unless the plan lists such
    /// numbers.
    fn levels(&self, nodes: usize) -> Vec<usize> {
        let Some(Concurrency::Each(each)) = &self.concurrency else { return Vec::new() };
        let mut levels: Vec<usize> = each.iter().map(|n| *n.min(&nodes)).collect();
        levels.sort_unstable();
        levels.dedup();
        levels
    }

    /// The sequence of starts: each with the number of machines in parallel and additional arguments.
    fn rounds(&self, nodes: usize) -> Vec<(usize, Vec<String>)> {
        let levels = self.levels(nodes);
        if levels.is_empty() {
            return vec![(self.throttle(nodes).unwrap_or(nodes), Vec::new())];
        }
        let round = |n: usize| (n, vec!["--at-once".to_owned(), n.to_string()]);
        levels.into_iter().map(round).collect()
    }

    /// The directories in `pair`, without their optional names.
    fn places(&self) -> impl Iterator<Item = &str> {
        self.pair.iter().map(|place| path_of(place))
    }

    /// The systems that require a mount or a device mapping.
    fn privileged(&self) -> Vec<&str> {
        self.systems.iter().map(String::as_str).filter(|s| *s != UNPRIVILEGED).collect()
    }
}

/// Time limit for a machine: the budget plus time for preparation, checks of the stored data and clean-up.
fn longest(budget: Duration) -> Duration {
    budget.mul_f64(1.5) + Duration::from_secs(600)
}

/// The directory of a location in `pair`, without its optional name.
fn path_of(place: &str) -> &str {
    match place.split_once('=') {
        Some((name, path)) if !name.contains('/') => path,
        _ => place,
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) const PLAN: &str = r#"
        nodes = ["node[01-03]"]
        systems = ["builtin"]
        budget = "5m"
        target = "/var/tmp"
        fleet = "/shared/fleet"
    "#;

    pub(crate) fn plan(more: &str) -> Result<Plan, FleetError> {
        Plan::parse(&format!("{PLAN}\n{more}"), Path::new("fleet.toml"))
    }

    #[test]
    fn a_plan_names_its_systems_and_nothing_is_misspelt() {
        let found = plan("").unwrap();
        assert_eq!(found.nodes().unwrap(), ["node01", "node02", "node03"]);
        let expected = "cryptbench run /var/tmp --fleet /shared/fleet --system builtin --profile quick --budget 5m \
                        --progress none";
        assert_eq!(found.command().join(" "), expected);
        assert!(plan("concurency = 2").is_err(), "a misspelt key");
        for (from, to) in [
            ("[\"builtin\"]", "[]"),
            ("[\"builtin\"]", "[\"all\"]"),
            ("\"/var/tmp\"", "\"tmp\""),
            ("\"/var/tmp\"", "\"/a\\nb\""),
            ("\"5m\"", "\"5m\"\nname = \"Big Name\""),
            ("\"5m\"", "\"5m\"\nconcurrency = 0"),
            ("\"5m\"", "\"5m\"\nconcurrency = []"),
            ("\"5m\"", "\"5m\"\nconcurrency = [1, 0]"),
            ("node[01-03]", ""),
            ("node[01-03]", "node; rm -rf /"),
        ] {
            let text = PLAN.replace(from, to);
            assert!(Plan::parse(&text, Path::new("x")).is_err(), "{to}");
        }
    }
}
