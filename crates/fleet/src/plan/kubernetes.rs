//! A manifest for Kubernetes: one Indexed Job with one pod per node, following the published schema of
//! `batch/v1`.

use std::time::Duration;

use serde_json::{Value, json};

use super::{Plan, longest};

/// Label whose value is the job's name, on the job and its pods.
const LABEL: &str = "app.kubernetes.io/name";
const HOST: &str = "kubernetes.io/hostname";
const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";

/// The manifest in JSON, for `kubectl apply -f`.
///
/// All pods are scheduled together, one per node. If they were started one after another, a pod that exits would free
/// its node, and the next pod could be scheduled there again. If not all pods may measure in parallel, each pod waits
/// according to its index. If a plan compares several concurrency levels, there is a separate job for each level; all
/// jobs but the first are suspended, because Kubernetes cannot run jobs in a given order.
pub(super) fn manifest(plan: &Plan, nodes: &[String], budget: Duration) -> String {
    let rounds = plan.rounds(nodes.len());
    let several = rounds.len() > 1;
    let mut jobs: Vec<Value> = rounds
        .into_iter()
        .map(|(at_once, words)| {
            let name = if several { format!("{}-{at_once}", plan.name) } else { plan.name.clone() };
            job(plan, nodes, &name, at_once, &words, longest(budget).as_secs())
        })
        .collect();
    for later in jobs.iter_mut().skip(1) {
        later["spec"]["suspend"] = true.into();
    }
    let whole = match several {
        false => jobs.swap_remove(0),
        true => json!({ "apiVersion": "v1", "kind": "List", "items": jobs }),
    };
    format!("{whole:#}\n")
}

fn job(
    plan: &Plan,
    nodes: &[String],
    name: &str,
    at_once: usize,
    words: &[String],
    turn: u64,
) -> Value {
    let turns = nodes.len().div_ceil(at_once) as u64;
    let labels = json!({ LABEL: name });
    let privileged = plan.privileged();
    let why = match (privileged.is_empty(), plan.pair.is_empty()) {
        (true, true) => "none: builtin encrypts in the measuring process".to_owned(),
        (true, false) => "none: the storage encrypts by itself".to_owned(),
        _ => format!("privileged, as these mount or map devices: {}", privileged.join(", ")),
    };
    let tolerate = |key: &String| json!({ "key": key, "operator": "Exists" });
    let (volumes, mounts) = volumes(plan);
    json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": name,
            "labels": labels,
            "annotations": { "cryptbench/privileges": why },
        },
        "spec": {
            "completionMode": "Indexed",
            "completions": nodes.len(),
            "parallelism": nodes.len(),
            "backoffLimitPerIndex": 1,
            "activeDeadlineSeconds": turns * turn + 600,
            "template": {
                "metadata": { "labels": labels },
                "spec": {
                    "restartPolicy": "Never",
                    "affinity": affinity(nodes, &labels),
                    "tolerations": plan.tolerate.iter().map(tolerate).collect::<Vec<_>>(),
                    "containers": [container(plan, &command(plan, at_once, words, turns, turn), &mounts)],
                    "volumes": volumes,
                    // The pod never connects to the cluster's API server.
                    "automountServiceAccountToken": false,
                },
            },
        },
    })
}

/// The command of a pod. If not all pods measure in parallel, the pod first waits, according to its index.
fn command(plan: &Plan, at_once: usize, words: &[String], turns: u64, turn: u64) -> Vec<String> {
    let mut command: Vec<String> = Vec::new();
    if turns > 1 {
        let wait = format!("sleep $((JOB_COMPLETION_INDEX / {at_once} * {turn})); exec \"$@\"");
        command.extend(["/bin/sh", "-c", &wait, "sh"].map(literal));
    }
    command.extend(plan.command().iter().chain(words).map(|word| literal(word)));
    command.extend(["--node".to_owned(), "$(NODE_NAME)".to_owned()]);
    command
}

/// A word in which the cluster does not expand anything. Kubernetes replaces `$$` with `$`, and only `$(` starts an
/// expansion.
fn literal(word: &str) -> String {
    word.replace('$', "$$")
}

fn container(plan: &Plan, command: &[String], mounts: &[Value]) -> Value {
    json!({
        "name": "cryptbench",
        "image": plan.image,
        "command": command,
        "env": [{ "name": "NODE_NAME", "valueFrom": { "fieldRef": { "fieldPath": "spec.nodeName" } } }],
        // There are no limits, because throttling by a quota would be measured as a cost of encryption.
        "resources": { "requests": { "cpu": "1", "memory": "1Gi" } },
        "securityContext": { "privileged": !plan.privileged().is_empty() },
        "volumeMounts": mounts,
    })
}

/// The volumes for the measured directories and the fleet's directory, with their mount points.
fn volumes(plan: &Plan) -> (Vec<Value>, Vec<Value>) {
    let of_host = |path: &str| ("hostPath", json!({ "path": path, "type": "DirectoryOrCreate" }));
    let (mut volumes, mut mounts) = (Vec::new(), Vec::new());
    let mut add = |name: &str, path: &str, (kind, source): (&str, Value)| {
        volumes.push(json!({ "name": name, kind: source }));
        mounts.push(json!({ "name": name, "mountPath": path }));
    };
    if plan.pair.is_empty() {
        add("target", &plan.target, of_host(&plan.target));
    }
    for (i, path) in plan.places().enumerate() {
        let class = plan.storage_classes.get(i);
        let source = class.map_or_else(|| of_host(path), |class| claim_of(plan, class));
        add(&format!("place-{i}"), path, source);
    }
    let fleet = match &plan.claim {
        Some(claim) => ("persistentVolumeClaim", json!({ "claimName": claim })),
        None => of_host(&plan.fleet),
    };
    add("fleet", &plan.fleet, fleet);
    (volumes, mounts)
}

/// A volume claim for a storage class, created for each pod and removed with the pod.
fn claim_of(plan: &Plan, class: &str) -> (&'static str, Value) {
    let spec = json!({
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": class,
        "resources": { "requests": { "storage": plan.claim_size } },
    });
    ("ephemeral", json!({ "volumeClaimTemplate": { "spec": spec } }))
}

/// Restricts pods to the plan's nodes, and to one pod of the job per node.
fn affinity(nodes: &[String], labels: &Value) -> Value {
    let here = json!({ "key": HOST, "operator": "In", "values": nodes });
    let apart = json!({ "labelSelector": { "matchLabels": labels }, "topologyKey": HOST });
    json!({
        "nodeAffinity": { REQUIRED: { "nodeSelectorTerms": [{ "matchExpressions": [here] }] } },
        "podAntiAffinity": { REQUIRED: [apart] },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::For;
    use crate::plan::tests::plan;

    fn job(more: &str) -> Value {
        let plan = plan(&format!("image = \"bench:1\"\n{more}")).unwrap();
        let text = plan.render(For::Kubernetes, Duration::from_secs(60)).unwrap();
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn every_node_has_one_pod_and_waits_for_its_turn() {
        let job = job("concurrency = 2");
        let spec = &job["spec"];
        assert_eq!((&job["apiVersion"], &job["kind"]), (&"batch/v1".into(), &"Job".into()));
        assert_eq!((&spec["completions"], &spec["parallelism"]), (&3.into(), &3.into()));
        assert_eq!(spec["completionMode"], "Indexed");
        let pod = &spec["template"]["spec"];
        let required = "requiredDuringSchedulingIgnoredDuringExecution";
        let apart = &pod["affinity"]["podAntiAffinity"][required][0];
        assert_eq!(apart["topologyKey"], HOST);
        // It separates exactly the pods of this job.
        assert_eq!(apart["labelSelector"]["matchLabels"], spec["template"]["metadata"]["labels"]);
        let terms = &pod["affinity"]["nodeAffinity"][required]["nodeSelectorTerms"][0];
        assert_eq!(terms["matchExpressions"][0]["values"].as_array().unwrap().len(), 3);
        let command = pod["containers"][0]["command"].as_array().unwrap();
        assert_eq!(command[2], "sleep $$((JOB_COMPLETION_INDEX / 2 * 690)); exec \"$$@\"");
        assert_eq!(spec["activeDeadlineSeconds"], 2 * 690 + 600);
    }

    #[test]
    fn privileges_are_had_only_where_a_system_needs_them() {
        let of = |job: &Value| {
            let pod = &job["spec"]["template"]["spec"]["containers"][0];
            pod["securityContext"]["privileged"].as_bool().unwrap()
        };
        assert!(!of(&job("")));
        let text = super::super::tests::PLAN.replace("\"builtin\"", "\"builtin\", \"dm-crypt\"");
        let plan = Plan::parse(&format!("{text}\nimage = \"b\""), "x".as_ref()).unwrap();
        let text = plan.render(For::Kubernetes, Duration::from_secs(60)).unwrap();
        let job: Value = serde_json::from_str(&text).unwrap();
        assert!(of(&job));
        let why = job["metadata"]["annotations"]["cryptbench/privileges"].as_str().unwrap();
        assert!(why.ends_with("devices: dm-crypt"), "{why}");
    }

    #[test]
    fn an_image_is_needed_and_volumes_follow_the_claim() {
        let without = plan("").unwrap();
        assert!(without.render(For::Kubernetes, Duration::from_secs(60)).is_err());
        let volumes = |job: Value| job["spec"]["template"]["spec"]["volumes"].clone();
        assert_eq!(volumes(job(""))[1]["hostPath"]["path"], "/shared/fleet");
        let claimed = volumes(job("claim = \"shared\""));
        assert_eq!(claimed[1]["persistentVolumeClaim"]["claimName"], "shared");
        assert!(claimed[1].get("hostPath").is_none());
    }

    #[test]
    fn a_pair_of_storage_classes_gives_each_pod_a_claim_of_each() {
        let text = r#"
            nodes = ["node[1-2]"]
            pair = ["/plain", "Longhorn encrypted=/crypt"]
            storage_classes = ["longhorn", "longhorn-crypto"]
            claim_size = "20Gi"
            budget = "5m"
            fleet = "/fleet"
            claim = "records"
            image = "bench:1"
        "#;
        let plan = Plan::parse(text, "x".as_ref()).unwrap();
        let text = plan.render(For::Kubernetes, Duration::from_secs(60)).unwrap();
        let job: Value = serde_json::from_str(&text).unwrap();
        let pod = &job["spec"]["template"]["spec"];
        let class = |i: usize| {
            let claim = &pod["volumes"][i]["ephemeral"]["volumeClaimTemplate"]["spec"];
            assert_eq!(claim["resources"]["requests"]["storage"], "20Gi");
            claim["storageClassName"].as_str().unwrap().to_owned()
        };
        assert_eq!([class(0), class(1)], ["longhorn", "longhorn-crypto"]);
        let mounts = &pod["containers"][0]["volumeMounts"];
        assert_eq!(
            (&mounts[0]["mountPath"], &mounts[1]["mountPath"]),
            (&"/plain".into(), &"/crypt".into())
        );
        let command: Vec<&str> = pod["containers"][0]["command"]
            .as_array()
            .unwrap()
            .iter()
            .map(|w| w.as_str().unwrap())
            .collect();
        let expected = [
            "cryptbench",
            "run",
            "--pair",
            "/plain",
            "Longhorn encrypted=/crypt",
            "--fleet",
            "/fleet",
        ];
        assert_eq!(command[..7], expected);
        assert_eq!(pod["containers"][0]["securityContext"]["privileged"], false);
        // Other schedulers have no classes.
        assert!(plan.render(For::Ssh, Duration::from_secs(60)).is_err());
    }

    #[test]
    fn each_number_at_once_has_a_job_and_waits_to_be_started() {
        let list = job("concurrency = [1, 9]");
        assert_eq!(list["kind"], "List");
        let [alone, all] = [&list["items"][0], &list["items"][1]];
        assert_eq!(
            (&alone["metadata"]["name"], &all["metadata"]["name"]),
            (&"cryptbench-fleet-1".into(), &"cryptbench-fleet-3".into())
        );
        assert_eq!((alone["spec"].get("suspend"), &all["spec"]["suspend"]), (None, &true.into()));
        let command = all["spec"]["template"]["spec"]["containers"][0]["command"].to_string();
        assert!(command.contains("\"--at-once\",\"3\""), "{command}");
        assert!(!command.contains("sleep"), "{command}");
    }
}
