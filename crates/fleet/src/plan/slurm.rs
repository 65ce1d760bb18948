//! A script for Slurm. When started by hand, the script submits itself, and allocates each node exclusively.

use std::time::Duration;

use super::script::Script;
use super::{Plan, longest};

/// One job per node, all submitted together. A job array cannot be used: Slurm treats its elements as identical, and if
/// one element has to wait for its node, no other element is started.
const EACH: &str = r#"# Start it with: bash FILE [NODES]. It submits one job per node. Running it again is harmless: a node that has measured
# since its last boot exits immediately.
if [ "${1-}" = --measure ]; then
    exec srun --ntasks=1 @MEASURE@ --node "$SLURMD_NODENAME"
fi
@NODES@
status=0
for node in $nodes; do
    sbatch --nodelist="$node" --job-name=@NAME@ "$0" --measure || status=1
done
exit $status
"#;

/// Starts a few jobs at a time. Job dependencies are not used, because jobs would wait for ever for a node that does
/// not respond.
const FEW: &str = r#"# Start it with: bash FILE [NODES], and leave it running: it submits one job per node, the next one when one finishes, so
# that at most @AT_ONCE@ run at the same time. A node that does not respond delays only its own job. Running it again is harmless:
# a node that has measured since its last boot exits immediately.
if [ "${1-}" = --measure ]; then
    exec srun --ntasks=1 @MEASURE@ --node "$SLURMD_NODENAME"
fi
if [ "${1-}" = --one ]; then
    node=$2
    id=$(sbatch --parsable --nodelist="$node" --job-name=@NAME@ "$0" --measure) || exit 1
    id=${id%%;*}
    while sleep 5; do
        job=$(squeue --noheader --jobs="$id" --format=%T 2>&1)
        case "$job" in
        '' | *'Invalid job id'*) exit 0 ;;
        PENDING) ;;
        *) continue ;;
        esac
        case "$(sinfo --noheader --Node --nodes="$node" --format=%T | head -n 1)" in
        *\* | down* | drain* | fail* | unk*)
            echo "$node does not answer, or is taken out; its job $id waits for it" >&2
            exit 0 ;;
        esac
    done
fi
@NODES@
printf '%s\n' $nodes | xargs -n 1 -P @AT_ONCE@ bash "$0" --one
"#;

/// For storage that machines share: one job allocates all nodes, and each group is a step whose tasks Slurm
/// starts together.
const STEPS: &str = r#"# Start it with: bash FILE [NODES]. It submits one job with all nodes that respond; @LEVELS@ measure at the same time. Running
# it again is harmless: a node that has measured since its last boot exits immediately.
if [ "${1-}" = --measure ]; then
    nodes=($(scontrol show hostnames "$SLURM_JOB_NODELIST")) || exit 1
    status=0
    for at_once in @LEVELS@; do
        for ((i = 0; i < ${#nodes[@]}; i += at_once)); do
            group=("${nodes[@]:i:at_once}")
            n=${#group[@]}
            srun --nodes="$n" --ntasks="$n" --nodelist="$(IFS=,; echo "${group[*]}")" \
                bash -c 'exec "$@" --node "$SLURMD_NODENAME"' bash @MEASURE@ --at-once "$n" || status=1
        done
    done
    exit $status
fi
@NODES@
list=$(sinfo --noheader --Node --responding --states=idle,alloc,mixed,comp --nodes="$(echo $nodes | tr ' ' ,)" --format=%N) ||
    exit 1
list=$(printf '%s\n' $list | sort -u | paste -sd ,)
[ -n "$list" ] || { echo "none of the nodes answers" >&2; exit 1; }
echo "nodes that answer: $list" >&2
count=$(echo "$list" | tr , '\n' | wc -l)
exec sbatch --nodelist="$list" --nodes="$count" --ntasks="$count" --ntasks-per-node=1 --no-kill --no-requeue \
    --job-name=@NAME@ "$0" --measure
"#;

const NODES: &str = r#"[ $# -gt 0 ] || set -- @LIST@
nodes=$(scontrol show hostnames "$1") || exit 1
[ -n "$nodes" ] || { echo "no nodes" >&2; exit 1; }"#;

/// The script for `plan`, in which each node measures for at most `budget`.
pub(super) fn script(plan: &Plan, nodes: usize, budget: Duration) -> String {
    let levels = plan.levels(nodes);
    let (body, own, turns) = match (levels.is_empty(), plan.throttle(nodes)) {
        (false, _) => (STEPS, "", levels.iter().map(|at_once| nodes.div_ceil(*at_once)).sum()),
        (true, Some(_)) => (FEW, "#SBATCH --nodes=1\n#SBATCH --ntasks=1\n#SBATCH --requeue\n", 1),
        (true, None) => (EACH, "#SBATCH --nodes=1\n#SBATCH --ntasks=1\n#SBATCH --requeue\n", 1),
    };
    let minutes = longest(budget).as_secs().div_ceil(60) * turns as u64;
    // The check for a partition requires that no other option is on its line.
    let partition = plan.partition.as_ref();
    let partition = partition.map_or(String::new(), |p| format!("#SBATCH --partition={p}\n"));
    let levels: Vec<String> = levels.iter().map(ToString::to_string).collect();
    let list = Script::word(&plan.nodes.join(","));
    let places = [
        ("NODES", &Script::filled(NODES, &[("LIST", &list)])),
        ("NAME", &Script::word(&plan.name)),
        ("AT_ONCE", &Script::number(plan.throttle(nodes).unwrap_or(nodes))),
        ("LEVELS", &Script::words(&levels)),
        ("MEASURE", &plan.started()),
    ];
    let body = Script::filled(body, &places).into_text();
    format!("#!/bin/bash\n{own}#SBATCH --exclusive\n#SBATCH --time={minutes}\n{partition}{body}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::tests::plan;

    const BUDGET: Duration = Duration::from_secs(300);

    fn of(more: &str) -> String {
        script(&plan(more).unwrap(), 3, BUDGET)
    }

    #[test]
    fn each_node_has_a_job_of_its_own() {
        let text = of("sudo = true\npartition = \"all\"");
        for part in [
            "#SBATCH --exclusive\n",
            "#SBATCH --time=18\n",
            "#SBATCH --partition=all\n",
            "sbatch --nodelist=\"$node\" --job-name=cryptbench-fleet ",
            "srun --ntasks=1 sudo -n cryptbench run /var/tmp",
            "--node \"$SLURMD_NODENAME\"",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        // Directives count only before the first command.
        let first = text.find("\nif ").unwrap();
        assert!(text.rfind("#SBATCH").unwrap() < first);
    }

    #[test]
    fn every_kind_of_script_is_one_and_has_no_place_left_open() {
        for more in ["", "concurrency = 2", "concurrency = [1, 3]"] {
            let text = of(more);
            for place in ["NODES", "LIST", "NAME", "AT_ONCE", "LEVELS", "MEASURE"] {
                assert!(!text.contains(&format!("@{place}@")), "{text}");
            }
            let checked = std::process::Command::new("bash").args(["-n", "-c", &text]).output();
            let checked = checked.unwrap();
            assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
        }
        // One by one and all together: four rounds.
        assert!(of("concurrency = [1, 3]").contains("#SBATCH --time=72\n"));
        assert!(!of("concurrency = [1, 3]").contains("--requeue\n"));
    }
}
