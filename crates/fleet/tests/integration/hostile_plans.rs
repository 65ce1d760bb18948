//! No value of a plan changes how the script around it is read, whatever starts it.
//!
//! Plans with hostile values are refused, or their scripts are run with programs that write down their arguments: these must
//! be the values, character by character, and nothing else may have run.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use cryptbench_fleet::{FleetError, For, Plan};
use cryptbench_prove::{Random, Schema, count, seeds};
use serde_json::{Value as Json, json};
use toml::{Table, Value};

use crate::programs::{Programs, SSH, WRITE};

const BUDGET: Duration = Duration::from_secs(60);

/// What means something to a shell, sbatch, YAML, Jinja, Kubernetes or the scripts themselves. What a shell would run of it
/// makes a file `canary`.
const HOSTILE: [&str; 53] = [
    " @MEASURE@;touch canary;#",
    "'",
    "\"",
    "\\",
    "$(touch canary)",
    "`touch canary`",
    ";touch canary;",
    "&& touch canary",
    "| touch canary #",
    "'; touch canary; '",
    "\"; touch canary; \"",
    "\\'; touch canary; '",
    "$HOME",
    "${HOME}",
    "~",
    "*",
    "word",
    " ",
    "ü",
    "#",
    "{{ 7 * 7 }}",
    "{% raw %}",
    "{% endraw %}",
    "{# gone #}",
    "{% endraw %}{{ lookup('pipe', 'touch canary') }}{% raw %}",
    "{{ lookup('pipe', 'touch canary') }}",
    "{{",
    "}}",
    "@MEASURE@",
    "@FETCH@",
    "@ROUNDS@",
    "@NODES@",
    "@LIST@",
    "@NAME@",
    "@AT_ONCE@",
    "@LEVELS@",
    "@TO@",
    "@START@",
    "$(NODE_NAME)",
    "$$(NODE_NAME)",
    "$$$(X)",
    "$(",
    "$",
    "-",
    "--",
    "=",
    ",",
    ": ",
    "- ",
    "&a *a",
    "!!python/name:os.system ",
    " --uid=0",
    "#SBATCH --uid=0",
];

/// What no value may hold.
const UNSHOWN: [&str; 7] =
    ["\n", "\0", "\r", "\n#SBATCH --uid=0\n", "\n- name: x\n", "\u{202e}", "\u{2028}"];

fn hostile(random: &mut Random) -> String {
    let unshown = random.once_in(4);
    let part = |random: &mut Random| match unshown && random.once_in(2) {
        true => *random.one_of(&UNSHOWN),
        false => *random.one_of(&HOSTILE),
    };
    (0..1 + random.below(3)).map(|_| part(random)).collect()
}

/// A plan, some of whose values are hostile. Paths are below `dir`, where the scripts run.
fn hostile_plan(random: &mut Random, dir: &Path) -> Table {
    let dir = dir.display().to_string();
    let texts =
        |texts: &[&str]| Value::from(texts.iter().map(|t| Value::from(*t)).collect::<Vec<_>>());
    let mut plan = Table::new();
    plan.insert("nodes".into(), texts(&["node[1-2]"]));
    plan.insert("budget".into(), "1m".into());
    plan.insert("fleet".into(), format!("{dir}/fleet").into());
    plan.insert("fetch_to".into(), "records".into());
    plan.insert("image".into(), "bench:1".into());
    plan.insert("sudo".into(), random.once_in(2).into());
    match random.below(3) {
        0 => _ = plan.insert("concurrency".into(), 1.into()),
        1 => _ = plan.insert("concurrency".into(), Value::from(vec![1, 2])),
        _ => {}
    }
    if random.once_in(4) {
        plan.insert("pair".into(), texts(&["/plain", "encrypted=/crypt"]));
    } else {
        plan.insert("systems".into(), texts(&["builtin", "gocryptfs"]));
        plan.insert("target".into(), "/var/tmp".into());
    }
    for _ in 0..1 + random.below(3) {
        let text = hostile(random);
        let below = |place: &str| Value::from(format!("{place}/{text}"));
        match random.below(16) {
            0 => _ = plan.insert("fleet".into(), below(&dir)),
            1 => _ = plan.insert("program".into(), below(&format!("{dir}/bin"))),
            2 if plan.contains_key("target") => _ = plan.insert("target".into(), below("")),
            2 => _ = plan.insert("pair".into(), texts(&["/plain", &format!("{text}=/{text}")])),
            3 | 4 => {
                _ = plan.insert("options".into(), texts(&["--seed", &text, "x", &hostile(random)]));
            }
            5 => _ = plan.insert("fetch_to".into(), text.into()),
            6 => _ = plan.insert("profile".into(), text.into()),
            7 => _ = plan.insert("partition".into(), format!("all{text}").into()),
            8 => _ = plan.insert("name".into(), format!("a{text}").into()),
            9 => _ = plan.insert("nodes".into(), texts(&["node[1-2]", &format!("n{text}")])),
            10 => _ = plan.insert("image".into(), format!("a{text}").into()),
            11 => _ = plan.insert("claim".into(), format!("a{text}").into()),
            12 => _ = plan.insert("tolerate".into(), texts(&[&format!("a{text}")])),
            13 if plan.contains_key("systems") => {
                _ = plan.insert("systems".into(), texts(&[&format!("a{text}")]));
            }
            14 => _ = plan.insert("program".into(), text.into()),
            _ => _ = plan.insert("fetch_to".into(), below("records")),
        }
    }
    plan
}

/// What a machine must be asked for, by the plan as its user wrote it.
fn expected(plan: &Table) -> Vec<String> {
    let text =
        |key: &str, usual: &str| plan.get(key).map_or(usual, |v| v.as_str().unwrap()).to_owned();
    let list = |key: &str| -> Vec<String> {
        let all = plan.get(key).map_or(&[][..], |v| v.as_array().unwrap());
        all.iter().map(|v| v.as_str().unwrap().to_owned()).collect()
    };
    let mut words = vec![text("program", "cryptbench"), "run".to_owned()];
    if plan.contains_key("pair") {
        words.push("--pair".to_owned());
        words.extend(list("pair"));
        words.extend(["--fleet".to_owned(), text("fleet", "")]);
    } else {
        words.extend([text("target", ""), "--fleet".to_owned(), text("fleet", "")]);
        words.extend(["--system".to_owned(), list("systems").join(",")]);
    }
    words.extend([
        "--profile".to_owned(),
        text("profile", "quick"),
        "--budget".to_owned(),
        text("budget", ""),
    ]);
    words.extend(list("options"));
    words.extend(["--progress", "none"].map(str::to_owned));
    words
}

/// One plan in its directory.
struct Case {
    seed: u64,
    table: Table,
    plan: Plan,
    nodes: Vec<String>,
    place: Programs,
}

impl Case {
    /// The plan of a seed, unless it is refused: then with a reason that names the file and the key.
    fn of(seed: u64) -> Option<Self> {
        let mut random = Random::new(seed);
        let place = Programs::new(&[
            ("ssh", SSH),
            ("sudo", "shift; exec \"$@\""),
            ("cryptbench", WRITE),
            ("sleep", ""),
            ("squeue", ""),
            ("sinfo", "echo node1"),
            ("scontrol", "printf 'node1\\nnode2\\n'"),
            ("sbatch", WRITE),
            ("srun", WRITE),
        ]);
        let table = hostile_plan(&mut random, place.path());
        match Plan::parse(&toml::to_string(&table).unwrap(), Path::new("fleet.toml")) {
            Ok(plan) => Some(Self { seed, nodes: plan.nodes().unwrap(), table, plan, place }),
            Err(FleetError::Unfit(why)) => {
                let named = table.keys().any(|key| why.contains(key.as_str()));
                assert!(named || why.starts_with("list of nodes"), "seed {seed}: {why}");
                None
            }
            Err(other) => panic!("seed {seed}: {other}: {table}"),
        }
    }

    fn has_levels(&self) -> bool {
        self.table.get("concurrency").is_some_and(Value::is_array)
    }

    /// What is started on each node, with the name that a program sees of itself.
    fn commands(&self, more: &[&str]) -> Vec<Vec<String>> {
        let one = |node: &String| {
            let mut words = expected(&self.table);
            words[0] = words[0].rsplit('/').next().unwrap().to_owned();
            words.extend(["--node", node].iter().chain(more).map(|word| (*word).to_owned()));
            words
        };
        self.nodes.iter().map(one).collect()
    }

    #[track_caller]
    fn nothing_else_ran(&self) {
        assert!(!self.place.holds("canary"), "seed {}: {}", self.seed, self.table);
    }
}

/// Judges the plans of many seeds, and counts those of which there are scripts.
fn judge(usual: u64, what: &str, judge: impl Fn(&Case)) {
    let (mut taken, mut refused) = (0, 0);
    for seed in seeds(usual) {
        match Case::of(seed) {
            Some(case) => {
                judge(&case);
                taken += 1;
            }
            None => refused += 1,
        }
        count(1, &format!("attacks: plans of fleets for {what}"));
    }
    assert!(
        cryptbench_prove::is_asked() || (taken > usual / 20 && refused > usual / 20),
        "{taken}, {refused}"
    );
}

/// The second audit's way from a plan to the administrator's shell: a place of the script in a quoted value.
#[test]
fn a_place_in_a_value_is_text() {
    let place = Programs::new(&[("ssh", SSH), ("cryptbench", WRITE)]);
    let text = "nodes = [\"node1\"]\nsystems = [\"builtin\"]\nbudget = \"1m\"\ntarget = \"/var/tmp\"\nfleet = \"/fleet\"\n\
                options = [\"two words\"]\nfetch_to = \"to @MEASURE@;touch canary;#\"\n";
    let plan = Plan::parse(text, Path::new("fleet.toml")).unwrap();
    place.run("sh", &plan.render(For::Ssh, BUDGET).unwrap(), &[]);
    assert!(!place.holds("canary"));
}

#[test]
fn ssh() {
    judge(200, "ssh", |case| {
        let Case { seed, table, plan, place, .. } = case;
        let program = expected(table)[0].clone();
        let is_there =
            program == "cryptbench" || program.starts_with(&place.path().display().to_string());
        if is_there && program != "cryptbench" {
            place.add(&program, WRITE);
        }
        let fleet = Path::new(table["fleet"].as_str().unwrap());
        fs::create_dir_all(fleet).unwrap();
        for node in &case.nodes {
            fs::write(fleet.join(format!("{node}-0a-1b-2c.json")), node).unwrap();
        }
        let script = plan.render(For::Ssh, BUDGET).unwrap();
        let done = place.run("sh", &script, &[]);
        let said = String::from_utf8_lossy(&done.stderr);
        case.nothing_else_ran();
        if is_there {
            let commands = if case.has_levels() {
                let last = case.nodes.len().min(2).to_string();
                [case.commands(&["--at-once", "1"]), case.commands(&["--at-once", &last])].concat()
            } else {
                case.commands(&[])
            };
            assert!(done.status.success(), "seed {seed}: {said}: {table}: {script}");
            let mut commands = commands;
            commands.sort();
            assert_eq!(place.called(), commands, "seed {seed}: {table}");
        }
        for node in &case.nodes {
            let to = place.path().join(table["fetch_to"].as_str().unwrap());
            let record = to.join(node).join(format!("{node}-0a-1b-2c.json"));
            assert_eq!(
                fs::read_to_string(&record).ok().as_ref(),
                Some(node),
                "seed {seed}: {said}: {table}"
            );
        }
    });
}

#[test]
fn slurm() {
    judge(200, "Slurm", |case| {
        let Case { seed, table, plan, place, .. } = case;
        let script = plan.render(For::Slurm, BUDGET).unwrap();
        // One option in each line that is for sbatch, and no line too many.
        let lines: Vec<&str> = script.lines().filter(|line| line.starts_with("#SBATCH")).collect();
        let usual = if case.has_levels() { 2 } else { 5 };
        assert_eq!(
            lines.len(),
            usual + usize::from(table.contains_key("partition")),
            "seed {seed}: {lines:?}"
        );
        assert!(
            lines.iter().all(|line| line.split_whitespace().count() == 2),
            "seed {seed}: {lines:?}"
        );
        let done = place.run("bash", &script, &[]);
        case.nothing_else_ran();
        assert!(
            done.status.success(),
            "seed {seed}: {}: {table}",
            String::from_utf8_lossy(&done.stderr)
        );
        for call in place.called() {
            let is_known = |word: &String| {
                let known = ["--nodelist=node", "--nodes=", "--ntasks", "--no-", "--parsable"];
                known.iter().any(|known| word.starts_with(known))
                    || *word == format!("--job-name={}", plan.name)
                    || word.ends_with("/script")
                    || word == "--measure"
            };
            assert!(call[0] == "sbatch" && call[1..].iter().all(is_known), "seed {seed}: {call:?}");
        }
        let done = Command::new("bash")
            .env(
                "PATH",
                place.command("x").get_envs().find(|(k, _)| *k == "PATH").unwrap().1.unwrap(),
            )
            .envs([("SLURMD_NODENAME", "node1"), ("SLURM_JOB_NODELIST", "node[1-2]")])
            .env("CALLED", place.path().join("called"))
            .current_dir(place.path())
            .args(["script", "--measure"])
            .output()
            .unwrap();
        case.nothing_else_ran();
        assert!(done.status.success(), "seed {seed}: {}", String::from_utf8_lossy(&done.stderr));
        let mut command = expected(table);
        if plan.sudo {
            command.splice(0..0, ["sudo", "-n"].map(str::to_owned));
        }
        let calls = place.called();
        assert!(!calls.is_empty());
        for call in calls {
            let more = if case.has_levels() { 2 } else { 0 };
            let after = if case.has_levels() { "--at-once" } else { "--node" };
            let end = call.iter().rposition(|word| word == after).unwrap();
            assert_eq!(call[end - command.len()..end], command, "seed {seed}: {table}");
            // srun's own options, and bash where it adds the node.
            let own = end - command.len();
            assert_eq!(own, if more == 0 { 2 } else { 8 }, "seed {seed}: {call:?}");
            assert_eq!(call.len(), end + 2, "seed {seed}: {call:?}");
        }
    });
}

/// How a cluster expands a word of a container's command: `third_party/forked/golang/expansion` of Kubernetes.
fn expanded(word: &str, variables: &BTreeMap<&str, &str>) -> String {
    let mut out = String::new();
    let mut rest = word;
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        if let Some(left) = after.strip_prefix('$') {
            out.push('$');
            rest = left;
        } else if let Some((name, left)) =
            after.strip_prefix('(').and_then(|inside| inside.split_once(')'))
        {
            match variables.get(name) {
                Some(value) => out.push_str(value),
                None => out.extend(["$(", name, ")"]),
            }
            rest = left;
        } else {
            out.push('$');
            rest = after;
        }
    }
    out + rest
}

#[test]
fn the_reference_expands_as_kubernetes_documents_it() {
    let variables = BTreeMap::from([("X", "value")]);
    for (word, becomes) in [
        ("$(X)", "value"),
        ("$$(X)", "$(X)"),
        ("$$$(X)", "$value"),
        ("$$$$(X)", "$$(X)"),
        ("$(Y) $X ${X}", "$(Y) $X ${X}"),
        ("$(X", "$(X"),
        ("a$", "a$"),
        ("$$", "$"),
    ] {
        assert_eq!(expanded(word, &variables), becomes, "{word}");
    }
}

#[test]
fn kubernetes() {
    let variables =
        BTreeMap::from([("NODE_NAME", "node1"), ("X", "other"), ("JOB_COMPLETION_INDEX", "0")]);
    let schema = include_str!("../fixtures/kubernetes-1.37.schema.json");
    let schema = Schema::new(serde_json::from_str(schema).unwrap());
    judge(400, "Kubernetes", |case| {
        let Case { seed, table, plan, place, .. } = case;
        // Paths that cannot be mounted are refused here alone.
        let Ok(manifest) = plan.render(For::Kubernetes, BUDGET) else { return };
        let parsed: Json = serde_json::from_str(&manifest).unwrap();
        let jobs = match parsed["kind"].as_str() {
            Some("List") => parsed["items"].as_array().unwrap().clone(),
            _ => vec![parsed],
        };
        for job in jobs {
            assert_eq!(schema.faults(&job), [""; 0], "seed {seed}");
            let container = &job["spec"]["template"]["spec"]["containers"][0];
            assert_eq!(container["image"].as_str(), plan.image.as_deref());
            let words = container["command"].as_array().unwrap();
            let command: Vec<String> =
                words.iter().map(|word| expanded(word.as_str().unwrap(), &variables)).collect();
            let mut wanted = expected(table);
            let begin = command.iter().position(|word| *word == wanted[0]).unwrap_or(usize::MAX);
            assert!(begin == 0 || begin == 4, "seed {seed}: {command:?}");
            let more = if case.has_levels() { 4 } else { 2 };
            wanted.extend(command[command.len() - more..].iter().cloned());
            assert_eq!(command[begin..], wanted, "seed {seed}: {table}");
            assert_eq!(command[command.len() - 2..], ["--node", "node1"], "seed {seed}");
            if begin == 4 {
                // The shell that waits for the pod's turn passes the words on.
                let wait = command[2].replace("exec", "printf '%s\\0'");
                let mut sh = place.command("sh");
                sh.env("JOB_COMPLETION_INDEX", "0").args(["-c", &wait]).args(&command[3..]);
                let done = sh.output().unwrap();
                let words = String::from_utf8(done.stdout).unwrap();
                assert_eq!(
                    words.split_terminator('\0').collect::<Vec<_>>(),
                    command[4..],
                    "seed {seed}"
                );
            }
        }
        case.nothing_else_ran();
    });
}

/// What Ansible's loader and templates make of playbooks: for each the words of its commands, and everything but the values.
const READ: &str = r#"
import json, sys, yaml, jinja2
class Unsafe(str): pass
class Loader(yaml.SafeLoader): pass
def unsafe(loader, node):
    # Ansible finds numbers in scalars that are unsafe, whether they are quoted or not.
    assert isinstance(node, yaml.SequenceNode), node
    return [Unsafe(one) for one in loader.construct_sequence(node)]
Loader.add_constructor('!unsafe', unsafe)
# No function of Ansible's may be reached; its lookups are the most dangerous of them.
def lookup(*words): raise Exception('a lookup ran: ' + repr(words))
env = jinja2.Environment(undefined=jinja2.StrictUndefined)
def command(task):
    names = dict(task.get('vars', {}), inventory_hostname='node1', lookup=lookup)
    argv = task['ansible.builtin.command']['argv']
    if isinstance(argv, list): return [env.from_string(word).render(names) for word in argv]
    return env.compile_expression(argv.strip('{}'))(names)
def masked(value):
    if isinstance(value, Unsafe): return 'UNSAFE'
    if isinstance(value, list): return [masked(one) for one in value]
    if isinstance(value, dict): return {key: masked(one) for key, one in value.items()}
    return value
found = []
for playbook in json.load(sys.stdin):
    plays = yaml.load(playbook, Loader)
    last = plays[-1]['tasks']
    found.append({
        'commands': [command(play['tasks'][0]) for play in plays],
        'paths': last[1]['ansible.builtin.find']['paths'],
        'to': last[2].get('vars', {}).get('to'),
        'shape': masked(plays),
    })
json.dump(found, sys.stdout)
"#;

fn ansible_python() -> Option<std::path::PathBuf> {
    let found =
        cryptbench_prove::python("ansible-core", "ansible", Path::new(env!("CARGO_TARGET_TMPDIR")));
    if found.is_none() {
        eprintln!("SKIPPED: no ansible for python3, and pip cannot install ansible-core");
    }
    found
}

#[test]
fn ansible() {
    let Some(python) = ansible_python() else { return };
    let mut cases = Vec::new();
    for seed in seeds(400) {
        if let Some(case) = Case::of(seed)
            && let Ok(playbook) = case.plan.render(For::Ansible, BUDGET)
        {
            cases.push((case, playbook));
        }
        count(1, "attacks: plans of fleets for Ansible");
    }
    assert!(cases.len() > 5 || cryptbench_prove::is_asked());
    let place = tempfile::tempdir().unwrap();
    let playbooks: Vec<&String> = cases.iter().map(|(_, playbook)| playbook).collect();
    let file = place.path().join("playbooks.json");
    fs::write(&file, serde_json::to_string(&playbooks).unwrap()).unwrap();
    let done = Command::new(python)
        .args(["-c", READ])
        .stdin(fs::File::open(&file).unwrap())
        .output()
        .unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let found: Vec<Json> = serde_json::from_slice(&done.stdout).unwrap();
    let mut shapes: BTreeMap<String, Json> = BTreeMap::new();
    for ((case, playbook), found) in cases.iter().zip(found) {
        let Case { seed, table, .. } = case;
        for command in found["commands"].as_array().unwrap() {
            let mut words = expected(table);
            if case.has_levels() {
                words.extend([
                    "--at-once".to_owned(),
                    command[words.len() + 1].as_str().unwrap().to_owned(),
                ]);
            }
            words.extend(["--node", "node1"].map(str::to_owned));
            assert_eq!(*command, json!(words), "seed {seed}: {playbook}");
        }
        assert_eq!(found["paths"], json!([table["fleet"].as_str().unwrap()]), "seed {seed}");
        assert_eq!(found["to"], json!([table["fetch_to"].as_str().unwrap()]), "seed {seed}");
        // The values apart, playbooks with as many words are the same.
        let key = format!(
            "{:?}",
            (expected(table).len(), case.nodes.len(), &case.plan.concurrency, case.plan.sudo)
        );
        let shape = shapes.entry(key).or_insert_with(|| found["shape"].clone());
        assert_eq!(*shape, found["shape"], "seed {seed}: {playbook}");
        case.nothing_else_ran();
    }
}

#[test]
fn ansible_itself() {
    let Some(python) = ansible_python() else { return };
    let place = Programs::new(&[("cryptbench", WRITE)]);
    let fleet = place.path().join("fleet, {{ 7 * 7 }}");
    fs::create_dir(&fleet).unwrap();
    // The second is of another machine, and the others are no names of records.
    let own = "node1-0a-1b-2c.json";
    for name in [
        own,
        "node2-0a-1b-2c.json",
        "record.json",
        "node1-{{ 7 * 7 }}-1b-2c.json",
        "node1-0a-1b-2c.json\n",
    ] {
        fs::write(fleet.join(name), "record").unwrap();
    }
    let options = HOSTILE.iter().filter(|text| **text != "--" && !text.contains(['$', '~']));
    let others = ["010", "1:30", "true", "null", "[1,2]", "2024-01-01"];
    let options: Vec<Value> = options.chain(&others).map(|text| Value::from(*text)).collect();
    let mut table = hostile_plan(&mut Random::new(0), place.path());
    table.retain(|key, _| ["budget", "sudo"].contains(&key));
    table.insert("nodes".into(), Value::from(vec!["node1"]));
    table.insert("systems".into(), Value::from(vec!["builtin"]));
    table.insert("target".into(), "/{{ 7 * 7 }}".into());
    table
        .insert("program".into(), place.path().join("bin/cryptbench").display().to_string().into());
    table.insert("fleet".into(), fleet.display().to_string().into());
    table.insert("fetch_to".into(), "{{ 7 * 7 }} it's {% raw %}".into());
    table.insert("options".into(), Value::from(options));
    table.insert("sudo".into(), false.into());
    let plan = Plan::parse(&toml::to_string(&table).unwrap(), Path::new("fleet.toml")).unwrap();
    fs::write(place.path().join("fleet.yml"), plan.render(For::Ansible, BUDGET).unwrap()).unwrap();
    let done = place
        .command(&python)
        .args(["-m", "ansible", "playbook", "-i", "node1,", "-c", "local", "fleet.yml"])
        .env("ANSIBLE_PYTHON_INTERPRETER", &python)
        .envs([("LC_ALL", "C.UTF-8"), ("ANSIBLE_RETRY_FILES_ENABLED", "false")])
        .env("HOME", place.path())
        .output()
        .unwrap();
    let said = [done.stdout, done.stderr].concat();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&said));
    let mut words = expected(&table);
    "cryptbench".clone_into(&mut words[0]);
    words.extend(["--node", "node1"].map(str::to_owned));
    assert_eq!(place.called(), [words], "{}", String::from_utf8_lossy(&said));
    let to = place.path().join(table["fetch_to"].as_str().unwrap());
    let there = |place: &Path| -> Vec<_> {
        fs::read_dir(place).unwrap().map(|entry| entry.unwrap().file_name()).collect()
    };
    assert_eq!(there(&to), ["node1"]);
    assert_eq!(there(&to.join("node1")), [own]);
    assert!(!place.holds("canary"));
}
