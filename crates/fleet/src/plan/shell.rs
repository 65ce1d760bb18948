//! A shell script that starts each machine by ssh.

use super::{Plan, line, quoted};

pub(super) fn script(plan: &Plan, nodes: &[String]) -> String {
    let at_once = plan.at_once(nodes.len());
    let mut command: Vec<String> = Vec::new();
    if plan.sudo {
        command.extend(["sudo", "-n"].map(str::to_owned));
    }
    command.extend(plan.command());
    // Once for the shell here, once for the one over there.
    let remote = quoted(&(line(&command) + " --node "));
    let fetch = plan.fetch_to.as_ref().map_or(String::new(), |to| {
        let to = quoted(to);
        let from = quoted(&(quoted(&plan.fleet) + "/*.json"));
        format!("    mkdir -p {to} && scp -q -o BatchMode=yes \"$2\":{from} {to}/ || status=1\n")
    });
    format!(
        "#!/bin/sh\n\
         # Start it with: sh FILE. It measures at most {at_once} machines at once; again is harmless, as a machine that has\n\
         # measured in this boot ends at once.\n\
         if [ \"${{1-}}\" = --one ]; then\n\
         \x20   status=0\n\
         \x20   ssh -n -o BatchMode=yes -o ConnectTimeout=30 \"$2\" {remote}\"$2\" || status=1\n\
         {fetch}\
         \x20   [ $status = 0 ] || echo \"$2 failed\" >&2\n\
         \x20   exit $status\n\
         fi\n\
         printf '%s\\n' {nodes} | xargs -n 1 -P {at_once} sh \"$0\" --one\n",
        nodes = nodes.join(" "),
    )
}
