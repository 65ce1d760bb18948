//! The scripts of a plan do what they say, with programs in the place of the cluster's that write down how they are called.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;

use cryptbench_fleet::{For, Plan};

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

/// Runs a script where `programs` write their arguments into `called`; returns its lines.
fn called(shell: &str, script: &str, programs: &[(&str, &str)]) -> Vec<String> {
    let (done, lines) = run(shell, script, programs);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    lines
}

fn run(shell: &str, script: &str, programs: &[(&str, &str)]) -> (Output, Vec<String>) {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("script");
    fs::write(&file, script).unwrap();
    for (name, text) in programs {
        let path = dir.path().join(name);
        fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let path = format!("{}:{}", dir.path().display(), std::env::var("PATH").unwrap());
    let done = Command::new(shell)
        .arg(&file)
        .env("PATH", path)
        .env("CALLED", dir.path().join("called"))
        .current_dir(dir.path())
        .output()
        .unwrap();
    let text = fs::read_to_string(dir.path().join("called")).unwrap_or_default();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    lines.sort();
    (done, lines)
}

/// In one write, as several run at once.
const WRITE: &str =
    r#"line=$(printf '%s|' "$0" "$@" | sed 's,[^|]*/\([a-z]*\)|,\1|,'); echo "$line" >> "$CALLED""#;

#[test]
fn ssh_starts_every_node_and_fetches_its_records() {
    // In the place of ssh, what the other side's shell would do with the words; then how its program was called.
    let ssh =
        r#"while [ "$1" != login ] && [ "${1#node}" = "$1" ]; do shift; done; shift; sh -c "$*""#;
    let program = format!("[ \"$2\" = '/var/tmp/two words' ] || exit 9\n{WRITE}");
    let lines = called(
        "sh",
        &rendered(For::Ssh),
        &[("ssh", ssh), ("tar", WRITE), ("cryptbench", &program)],
    );
    assert_eq!(lines.len(), 12, "{lines:?}");
    for (line, node) in lines.iter().zip(["login", "node01", "node02", "node03"]) {
        let expected = format!(
            "cryptbench|run|/var/tmp/two words|--fleet|/shared/it's|--system|builtin,gocryptfs|--profile|quick|--budget|5m|\
             --progress|none|--node|{node}|"
        );
        assert_eq!(*line, expected);
    }
    // Packed over there and unpacked here, once for each.
    let tars = ["tar|-C|/shared/it's|-cf|-|.|", "tar|-C|records here|-xof|-|"];
    assert_eq!(lines[4..], [[tars[0]; 4], [tars[1]; 4]].concat(), "{lines:?}");
}

#[test]
fn slurm_gets_one_pinned_job_for_each_node_and_says_what_it_could_not_submit() {
    let scontrol = r#"[ "$*" = 'show hostnames node[01-03],login' ] && printf 'node01\nnode02\nnode03\nlogin\n'"#;
    let all = PLAN.replace("concurrency = 2", "");
    let plan = Plan::parse(&all, Path::new("fleet.toml")).unwrap();
    let script = plan.render(For::Slurm, Duration::from_secs(300)).unwrap();
    let lines = called("bash", &script, &[("scontrol", scontrol), ("sbatch", WRITE)]);
    assert_eq!(lines.len(), 4, "{lines:?}");
    assert!(lines[0].contains("|--nodelist=login|") && lines[0].ends_with("|--measure|"));
    assert!(lines[1].contains("|--nodelist=node01|"), "{lines:?}");
    // As Slurm would start it on the node.
    let as_job = script.replace("\"${1-}\"", "--measure");
    let lines = called("bash", &format!("SLURMD_NODENAME=node02\n{as_job}"), &[("srun", WRITE)]);
    assert!(
        lines[0].starts_with("srun|--ntasks=1|cryptbench|run|/var/tmp/two words|"),
        "{lines:?}"
    );
    assert!(lines[0].ends_with("|--node|node02|"), "{lines:?}");
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
        "            - \"/var/tmp/two words\"\n",
        "            - \"{{ inventory_hostname }}\"\n",
        "        dest: \"records here/\"\n",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}
