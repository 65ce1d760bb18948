//! The scripts of a plan do what they say, with programs in the place of the cluster's that write down how they are called.

use std::fs;
use std::path::Path;
use std::process::Output;
use std::time::Duration;

use cryptbench_fleet::{For, Plan};

use crate::programs::{Programs, SSH, WRITE};

const PLAN: &str = r#"
    nodes = ["node[01-03]", "login"]
    systems = ["builtin", "gocryptfs"]
    budget = "5m"
    target = "/var/tmp/two words"
    fleet = "/shared/it's"
    concurrency = 2
    fetch_to = "records here"
"#;

fn rendered(by: For) -> String {
    let plan = Plan::parse(PLAN, Path::new("fleet.toml")).unwrap();
    plan.render(by, Duration::from_secs(300)).unwrap()
}

/// Runs a script with these programs; how they were called, with their words joined.
fn called(shell: &str, script: &str, programs: &[(&str, &str)]) -> Vec<String> {
    let (done, lines) = run(shell, script, programs);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    lines
}

fn run(shell: &str, script: &str, programs: &[(&str, &str)]) -> (Output, Vec<String>) {
    let place = Programs::new(programs);
    let done = place.run(shell, script, &[]);
    let lines = place.called().iter().map(|words| words.join("|")).collect();
    (done, lines)
}

#[test]
fn ssh_starts_every_node_and_fetches_its_records() {
    let place = Programs::new(&[("ssh", SSH), ("cryptbench", WRITE)]);
    let fleet = place.path().join("it's");
    fs::create_dir(&fleet).unwrap();
    let nodes = ["login", "node01", "node02", "node03"];
    for node in nodes {
        fs::write(fleet.join(format!("{node}-0a-1b-2c.json")), node).unwrap();
        fs::write(fleet.join(format!("{node}-0a-1b-2c.failed.json")), node).unwrap();
    }
    let text = PLAN.replace("/shared/it's", fleet.to_str().unwrap());
    let plan = Plan::parse(&text, Path::new("fleet.toml")).unwrap();
    let done = place.run("sh", &plan.render(For::Ssh, Duration::from_secs(300)).unwrap(), &[]);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let lines: Vec<String> = place.called().iter().map(|words| words.join("|")).collect();
    for (line, node) in lines.iter().zip(nodes) {
        let expected = format!(
            "cryptbench|run|/var/tmp/two words|--fleet|{}|--system|builtin,gocryptfs|--profile|quick|--budget|5m|\
             --progress|none|--node|{node}",
            fleet.display(),
        );
        assert_eq!(*line, expected);
    }
    assert_eq!(lines.len(), nodes.len());
    for node in nodes {
        for end in ["json", "failed.json"] {
            let record = format!("records here/{node}/{node}-0a-1b-2c.{end}");
            assert_eq!(fs::read_to_string(place.path().join(record)).unwrap(), node);
        }
    }
}

#[test]
fn slurm_gets_one_pinned_job_for_each_node_and_says_what_it_could_not_submit() {
    let scontrol = r#"[ "$*" = 'show hostnames node[01-03],login' ] && printf 'node01\nnode02\nnode03\nlogin\n'"#;
    let all = PLAN.replace("concurrency = 2", "");
    let plan = Plan::parse(&all, Path::new("fleet.toml")).unwrap();
    let script = plan.render(For::Slurm, Duration::from_secs(300)).unwrap();
    let lines = called("bash", &script, &[("scontrol", scontrol), ("sbatch", WRITE)]);
    assert_eq!(lines.len(), 4, "{lines:?}");
    assert!(lines[0].contains("|--nodelist=login|") && lines[0].ends_with("|--measure"));
    assert!(lines[1].contains("|--nodelist=node01|"), "{lines:?}");
    // As Slurm would start it on the node.
    let as_job = script.replace("\"${1-}\"", "--measure");
    let lines = called("bash", &format!("SLURMD_NODENAME=node02\n{as_job}"), &[("srun", WRITE)]);
    assert!(
        lines[0].starts_with("srun|--ntasks=1|cryptbench|run|/var/tmp/two words|"),
        "{lines:?}"
    );
    assert!(lines[0].ends_with("|--node|node02"), "{lines:?}");
    // A list that cannot be expanded, and jobs that are refused, are no success.
    for programs in [
        [("scontrol", "exit 1"), ("sbatch", WRITE)],
        [("scontrol", scontrol), ("sbatch", "exit 1")],
    ] {
        for script in [&script, &rendered(For::Slurm)] {
            let (done, _) = run("bash", script, &programs);
            assert!(!done.status.success(), "{done:?}");
        }
    }
}

#[test]
fn the_playbook_has_the_command_word_by_word() {
    let text = rendered(For::Ansible);
    for part in [
        "# Start it with: ansible-playbook -i node01,node02,node03,login, FILE\n",
        "  serial: 2\n",
        "        argv: \"{{ words + ['--node', inventory_hostname] }}\"\n",
        "          - \"/var/tmp/two words\"\n",
        "        to: !unsafe\n          - \"records here\"\n",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}
