//! A manifest for Kubernetes: one Indexed Job with one pod a node.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;

use super::{Plan, longest};
use crate::FleetError;

/// Label and annotation keys are in a domain of their own.
const LABEL: &str = "app.kubernetes.io/name";
const HOST: &str = "kubernetes.io/hostname";

/// The manifest in JSON, which `kubectl apply -f` takes.
///
/// All pods are placed at once, one a node: a pod that ends frees its node, and the next would be placed there again. Where
/// fewer than all may measure at once, the others wait by their index.
pub(super) fn manifest(
    plan: &Plan,
    nodes: &[String],
    budget: Duration,
) -> Result<String, FleetError> {
    let Some(image) = &plan.image else {
        let problem = "fleet's plan: Kubernetes needs an image with the program and its systems";
        return Err(FleetError::Unfit(problem.to_owned()));
    };
    let at_once = plan.at_once(nodes.len());
    let turn = longest(budget).as_secs();
    let turns = nodes.len().div_ceil(at_once) as u64;
    let labels = BTreeMap::from([(LABEL, plan.name.as_str())]);
    // `$(NAME)` is the cluster's own expansion, `$$(` what it leaves alone.
    let mut command: Vec<String> =
        plan.command().iter().map(|word| word.replace("$(", "$$(")).collect();
    command.extend(["--node", "$(NODE_NAME)"].map(str::to_owned));
    if turns > 1 {
        let wait = format!("sleep $$((JOB_COMPLETION_INDEX / {at_once} * {turn})); exec \"$@\"");
        command.splice(0..0, ["/bin/sh", "-c", &wait, "sh"].map(str::to_owned));
    }
    let privileged = plan.privileged();
    let why = match privileged.is_empty() {
        true => "none: builtin encrypts in the measuring process".to_owned(),
        false => format!("privileged, as these mount or map devices: {}", privileged.join(", ")),
    };
    let of_host = |path: &str| HostPath { path: path.to_owned(), kind: "DirectoryOrCreate" };
    let fleet = match &plan.claim {
        Some(claim) => Volume {
            name: "fleet",
            host_path: None,
            persistent_volume_claim: Some(Claim { claim_name: claim.clone() }),
        },
        None => Volume {
            name: "fleet",
            host_path: Some(of_host(&plan.fleet)),
            persistent_volume_claim: None,
        },
    };
    let target = Volume {
        name: "target",
        host_path: Some(of_host(&plan.target)),
        persistent_volume_claim: None,
    };
    let mount = |name, path: &String| Mount { name, mount_path: path.clone() };
    let container = Container {
        name: "cryptbench",
        image: image.clone(),
        command,
        env: vec![EnvVar {
            name: "NODE_NAME",
            value_from: Source { field_ref: FieldRef { field_path: "spec.nodeName" } },
        }],
        // No limits: what a quota withholds would be measured as the cost of encryption.
        resources: Resources { requests: BTreeMap::from([("cpu", "1"), ("memory", "1Gi")]) },
        security_context: SecurityContext { privileged: !privileged.is_empty() },
        volume_mounts: vec![mount("target", &plan.target), mount("fleet", &plan.fleet)],
    };
    let tolerations =
        plan.tolerate.iter().map(|key| Toleration { key: key.clone(), operator: "Exists" });
    let job = Job {
        api_version: "batch/v1",
        kind: "Job",
        metadata: Metadata {
            name: Some(plan.name.clone()),
            labels: labels.clone(),
            annotations: BTreeMap::from([("cryptbench/privileges", why)]),
        },
        spec: JobSpec {
            completion_mode: "Indexed",
            completions: nodes.len(),
            parallelism: nodes.len(),
            backoff_limit_per_index: 1,
            active_deadline_seconds: turns * turn + 600,
            template: Template {
                metadata: Metadata {
                    name: None,
                    labels: labels.clone(),
                    annotations: BTreeMap::new(),
                },
                spec: PodSpec {
                    restart_policy: "Never",
                    affinity: affinity(nodes, labels),
                    tolerations: tolerations.collect(),
                    containers: vec![container],
                    volumes: vec![target, fleet],
                },
            },
        },
    };
    Ok(serde_json::to_string_pretty(&job).expect("a manifest is plain data") + "\n")
}

/// On the plan's nodes only, and never beside another pod of the same job.
fn affinity<'a>(nodes: &[String], labels: BTreeMap<&'a str, &'a str>) -> Affinity<'a> {
    Affinity {
        node_affinity: NodeAffinity {
            required: NodeSelector {
                node_selector_terms: vec![NodeTerm {
                    match_expressions: vec![Requirement {
                        key: HOST,
                        operator: "In",
                        values: nodes.to_vec(),
                    }],
                }],
            },
        },
        pod_anti_affinity: PodAntiAffinity {
            required: vec![PodTerm {
                label_selector: LabelSelector { match_labels: labels },
                topology_key: HOST,
            }],
        },
    }
}

// The fields of Kubernetes' API (batch/v1, core/v1) that the manifest uses.

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Job<'a> {
    api_version: &'static str,
    kind: &'static str,
    metadata: Metadata<'a>,
    spec: JobSpec<'a>,
}

#[derive(Serialize)]
struct Metadata<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    labels: BTreeMap<&'a str, &'a str>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    annotations: BTreeMap<&'static str, String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct JobSpec<'a> {
    completion_mode: &'static str,
    completions: usize,
    parallelism: usize,
    backoff_limit_per_index: u32,
    active_deadline_seconds: u64,
    template: Template<'a>,
}

#[derive(Serialize)]
struct Template<'a> {
    metadata: Metadata<'a>,
    spec: PodSpec<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PodSpec<'a> {
    restart_policy: &'static str,
    affinity: Affinity<'a>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tolerations: Vec<Toleration>,
    containers: Vec<Container>,
    volumes: Vec<Volume>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Affinity<'a> {
    node_affinity: NodeAffinity,
    pod_anti_affinity: PodAntiAffinity<'a>,
}

#[derive(Serialize)]
struct NodeAffinity {
    #[serde(rename = "requiredDuringSchedulingIgnoredDuringExecution")]
    required: NodeSelector,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct NodeSelector {
    node_selector_terms: Vec<NodeTerm>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct NodeTerm {
    match_expressions: Vec<Requirement>,
}

#[derive(Serialize)]
struct Requirement {
    key: &'static str,
    operator: &'static str,
    values: Vec<String>,
}

#[derive(Serialize)]
struct PodAntiAffinity<'a> {
    #[serde(rename = "requiredDuringSchedulingIgnoredDuringExecution")]
    required: Vec<PodTerm<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PodTerm<'a> {
    label_selector: LabelSelector<'a>,
    topology_key: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct LabelSelector<'a> {
    match_labels: BTreeMap<&'a str, &'a str>,
}

#[derive(Serialize)]
struct Toleration {
    key: String,
    operator: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Container {
    name: &'static str,
    image: String,
    command: Vec<String>,
    env: Vec<EnvVar>,
    resources: Resources,
    security_context: SecurityContext,
    volume_mounts: Vec<Mount>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct EnvVar {
    name: &'static str,
    value_from: Source,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Source {
    field_ref: FieldRef,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FieldRef {
    field_path: &'static str,
}

#[derive(Serialize)]
struct Resources {
    requests: BTreeMap<&'static str, &'static str>,
}

#[derive(Serialize)]
struct SecurityContext {
    privileged: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Mount {
    name: &'static str,
    mount_path: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Volume {
    name: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    host_path: Option<HostPath>,
    #[serde(skip_serializing_if = "Option::is_none")]
    persistent_volume_claim: Option<Claim>,
}

#[derive(Serialize)]
struct HostPath {
    path: String,
    #[serde(rename = "type")]
    kind: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Claim {
    claim_name: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::tests::plan;

    fn job(more: &str) -> serde_json::Value {
        let plan = plan(&format!("image = \"bench:1\"\n{more}")).unwrap();
        let text = manifest(&plan, &plan.nodes().unwrap(), Duration::from_secs(60)).unwrap();
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
        // It keeps apart exactly the pods of this job.
        assert_eq!(apart["labelSelector"]["matchLabels"], spec["template"]["metadata"]["labels"]);
        let terms = &pod["affinity"]["nodeAffinity"][required]["nodeSelectorTerms"][0];
        assert_eq!(terms["matchExpressions"][0]["values"].as_array().unwrap().len(), 3);
        let command = pod["containers"][0]["command"].as_array().unwrap();
        assert_eq!(command[2], "sleep $$((JOB_COMPLETION_INDEX / 2 * 690)); exec \"$@\"");
        assert_eq!(spec["activeDeadlineSeconds"], 2 * 690 + 600);
    }

    #[test]
    fn privileges_are_had_only_where_a_system_needs_them() {
        let of = |job: &serde_json::Value| {
            let pod = &job["spec"]["template"]["spec"]["containers"][0];
            pod["securityContext"]["privileged"].as_bool().unwrap()
        };
        assert!(!of(&job("")));
        let text = super::super::tests::PLAN.replace("\"builtin\"", "\"builtin\", \"dm-crypt\"");
        let plan = Plan::parse(&format!("{text}\nimage = \"b\""), "x".as_ref()).unwrap();
        let text = manifest(&plan, &plan.nodes().unwrap(), Duration::from_secs(60)).unwrap();
        let job: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert!(of(&job));
        let why = job["metadata"]["annotations"]["cryptbench/privileges"].as_str().unwrap();
        assert!(why.ends_with("devices: dm-crypt"), "{why}");
    }

    #[test]
    fn an_image_is_needed_and_volumes_follow_the_claim() {
        let without = plan("").unwrap();
        assert!(manifest(&without, &["a".to_owned()], Duration::from_secs(60)).is_err());
        let volumes = |job: serde_json::Value| job["spec"]["template"]["spec"]["volumes"].clone();
        assert_eq!(volumes(job(""))[1]["hostPath"]["path"], "/shared/fleet");
        let claimed = volumes(job("claim = \"shared\""));
        assert_eq!(claimed[1]["persistentVolumeClaim"]["claimName"], "shared");
        assert!(claimed[1].get("hostPath").is_none());
    }
}
