//! A shell script that starts each machine by ssh.

use super::{Plan, line, quoted};

const SCRIPT: &str = r#"#!/bin/sh
# Start it with: sh FILE. Again is harmless: a machine that has measured since it was started ends at once.
if [ "${1-}" = --one ]; then
    node=$3
    status=0
    ssh -n -o BatchMode=yes -o ConnectTimeout=30 "$node" @MEASURE@"$node$2" || status=1
@FETCH@    [ $status = 0 ] || echo "$node failed" >&2
    exit $status
fi
status=0
@ROUNDS@exit $status
"#;

pub(super) fn script(plan: &Plan, nodes: &[String]) -> String {
    let mut command: Vec<String> = Vec::new();
    if plan.sudo {
        command.extend(["sudo", "-n"].map(str::to_owned));
    }
    command.extend(plan.command());
    // Once for the shell here, once for the one over there.
    let remote = quoted(&(line(&command) + " --node "));
    // Not scp: whether a shell over there takes quotes away depends on its version.
    let fetch = plan.fetch_to.as_ref().map_or(String::new(), |to| {
        let to = quoted(to);
        let pack = quoted(&format!("tar -C {} -cf - .", quoted(&plan.fleet)));
        format!(
            "    mkdir -p {to} &&\n        \
             ssh -n -o BatchMode=yes \"$node\" {pack} | tar -C {to} -xof - || status=1\n"
        )
    });
    let names = nodes.join(" ");
    let rounds: String = plan
        .rounds(nodes.len())
        .into_iter()
        .map(|(at_once, words)| {
            let words: String = words.iter().map(|word| format!(" {word}")).collect();
            format!(
                "printf '%s\\n' {names} |\n    xargs -n 1 -P {at_once} sh \"$0\" --one '{words}' || status=1\n"
            )
        })
        .collect();
    SCRIPT.replace("@ROUNDS@", &rounds).replace("@FETCH@", &fetch).replace("@MEASURE@", &remote)
}
