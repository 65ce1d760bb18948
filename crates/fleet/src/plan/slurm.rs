//! A script for Slurm: run by hand it submits itself once for each node, each job alone on its node.

use std::time::Duration;

use super::{Plan, line, longest, quoted};

/// The script. Elements of an array cannot be sent to a node each, and one that ends early frees its node for another;
/// so each node gets a job of its own. Jobs of one name run one after another, which limits how many run at once.
pub(super) fn script(plan: &Plan, budget: Duration) -> String {
    let minutes = longest(budget).as_secs().div_ceil(60);
    let partition = plan.partition.as_ref();
    let partition = partition.map_or(String::new(), |p| format!("#SBATCH --partition={p}\n"));
    let nodes = quoted(&plan.nodes.join(","));
    let name = &plan.name;
    let lane = match plan.concurrency {
        Some(lanes) => format!("--job-name=\"{name}-$((i % {lanes}))\" --dependency=singleton"),
        None => format!("--job-name={name}"),
    };
    let mut command: Vec<String> = Vec::new();
    if plan.sudo {
        command.extend(["sudo", "-n"].map(str::to_owned));
    }
    command.extend(plan.command());
    let command = line(&command);
    format!(
        "#!/bin/bash\n\
         #SBATCH --nodes=1\n\
         #SBATCH --ntasks=1\n\
         #SBATCH --exclusive\n\
         #SBATCH --requeue\n\
         #SBATCH --time={minutes}\n\
         {partition}\
         # Start it with: bash FILE [NODES]. It submits one job for each node; again is harmless, as a node that has\n\
         # measured in this boot ends at once.\n\
         if [ \"${{1-}}\" != --measure ]; then\n\
         \x20   nodes={nodes}\n\
         \x20   i=0\n\
         \x20   for node in $(scontrol show hostnames \"${{1:-$nodes}}\"); do\n\
         \x20       sbatch --nodelist=\"$node\" {lane} \"$0\" --measure\n\
         \x20       i=$((i + 1))\n\
         \x20   done\n\
         \x20   exit\n\
         fi\n\
         exec srun --ntasks=1 {command} --node \"$SLURMD_NODENAME\"\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::tests::plan;

    const BUDGET: Duration = Duration::from_secs(300);

    #[test]
    fn each_node_has_a_job_of_its_own_and_lanes_limit_them() {
        let text =
            script(&plan("concurrency = 2\nsudo = true\npartition = \"all\"").unwrap(), BUDGET);
        for part in [
            "#SBATCH --exclusive\n",
            "#SBATCH --time=18\n",
            "#SBATCH --partition=all\n",
            "--job-name=\"cryptbench-fleet-$((i % 2))\" --dependency=singleton",
            "srun --ntasks=1 sudo -n cryptbench run /var/tmp",
            "--node \"$SLURMD_NODENAME\"",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(!script(&plan("").unwrap(), BUDGET).contains("singleton"));
        // Directives count only before the first command.
        let first = text.find("\nif ").unwrap();
        assert!(text.rfind("#SBATCH").unwrap() < first);
    }
}
