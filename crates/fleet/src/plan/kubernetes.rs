//! A manifest for Kubernetes: one Indexed Job with one pod a node, of the API's own types.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::api::batch::v1::{Job, JobSpec};
use k8s_openapi::api::core::v1::{
    Affinity, Container, EnvVar, EnvVarSource, EphemeralVolumeSource, HostPathVolumeSource,
    NodeAffinity, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, ObjectFieldSelector,
    PersistentVolumeClaimSpec, PersistentVolumeClaimTemplate, PersistentVolumeClaimVolumeSource,
    PodAffinityTerm, PodAntiAffinity, PodSpec, PodTemplateSpec, ResourceRequirements,
    SecurityContext, Toleration, Volume, VolumeMount, VolumeResourceRequirements,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use serde_json::json;

use super::{Plan, longest};

/// Label and annotation keys are in a domain of their own.
const LABEL: &str = "app.kubernetes.io/name";
const HOST: &str = "kubernetes.io/hostname";

type Texts = BTreeMap<String, String>;

/// The manifest in JSON, which `kubectl apply -f` takes.
///
/// All pods are placed at once, one a node: a pod that ends frees its node, and the next would be placed there again. Where
/// fewer than all may measure at once, the others wait by their index. Where a plan compares several numbers, each has a job
/// of its own; all but the first are suspended, since Kubernetes has no order between jobs.
pub(super) fn manifest(plan: &Plan, nodes: &[String], budget: Duration) -> String {
    let rounds = plan.rounds(nodes.len());
    let several = rounds.len() > 1;
    let mut jobs = rounds.into_iter().enumerate().map(|(i, (at_once, words))| {
        let name = if several { format!("{}-{at_once}", plan.name) } else { plan.name.clone() };
        let mut job = job(plan, nodes, name, at_once, &words, longest(budget).as_secs());
        if let Some(spec) = job.spec.as_mut().filter(|_| i > 0) {
            spec.suspend = Some(true);
        }
        job
    });
    let text = match several {
        false => serde_json::to_string_pretty(&jobs.next()),
        true => serde_json::to_string_pretty(
            &json!({ "apiVersion": "v1", "kind": "List", "items": jobs.collect::<Vec<_>>() }),
        ),
    };
    text.expect("a manifest is plain data") + "\n"
}

fn job(
    plan: &Plan,
    nodes: &[String],
    name: String,
    at_once: usize,
    words: &[String],
    turn: u64,
) -> Job {
    let turns = nodes.len().div_ceil(at_once) as u64;
    let labels = Texts::from([(LABEL.to_owned(), name.clone())]);
    let privileged = plan.privileged();
    let why = match (privileged.is_empty(), plan.pair.is_empty()) {
        (true, true) => "none: builtin encrypts in the measuring process".to_owned(),
        (true, false) => "none: the storage encrypts by itself".to_owned(),
        _ => format!("privileged, as these mount or map devices: {}", privileged.join(", ")),
    };
    let count = i32::try_from(nodes.len()).unwrap_or(i32::MAX);
    let tolerate = |key: &String| Toleration {
        key: Some(key.clone()),
        operator: Some("Exists".to_owned()),
        ..Toleration::default()
    };
    let (volumes, mounts) = volumes(plan);
    let pod = PodSpec {
        restart_policy: Some("Never".to_owned()),
        affinity: Some(affinity(nodes, &labels)),
        tolerations: Some(plan.tolerate.iter().map(tolerate).collect()),
        containers: vec![container(plan, command(plan, at_once, words, turns, turn), mounts)],
        volumes: Some(volumes),
        // It never speaks to the cluster.
        automount_service_account_token: Some(false),
        ..PodSpec::default()
    };
    let seconds = i64::try_from(turns * turn + 600).unwrap_or(i64::MAX);
    Job {
        metadata: ObjectMeta {
            name: Some(name),
            labels: Some(labels.clone()),
            annotations: Some(Texts::from([("cryptbench/privileges".to_owned(), why)])),
            ..ObjectMeta::default()
        },
        spec: Some(JobSpec {
            completion_mode: Some("Indexed".to_owned()),
            completions: Some(count),
            parallelism: Some(count),
            backoff_limit_per_index: Some(1),
            active_deadline_seconds: Some(seconds),
            template: PodTemplateSpec {
                metadata: Some(ObjectMeta { labels: Some(labels), ..ObjectMeta::default() }),
                spec: Some(pod),
            },
            ..JobSpec::default()
        }),
        ..Job::default()
    }
}

/// What a pod executes; one that has to wait does so by its index.
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

/// A word in which the cluster expands nothing: `$$` is a `$` there, and only `$(` begins something else.
fn literal(word: &str) -> String {
    word.replace('$', "$$")
}

fn container(plan: &Plan, command: Vec<String>, mounts: Vec<VolumeMount>) -> Container {
    let node = ObjectFieldSelector { field_path: "spec.nodeName".to_owned(), api_version: None };
    let request = |name: &str, amount: &str| (name.to_owned(), Quantity(amount.to_owned()));
    Container {
        name: "cryptbench".to_owned(),
        image: plan.image.clone(),
        command: Some(command),
        env: Some(vec![EnvVar {
            name: "NODE_NAME".to_owned(),
            value_from: Some(EnvVarSource { field_ref: Some(node), ..EnvVarSource::default() }),
            ..EnvVar::default()
        }]),
        // No limits: what a quota withholds would be measured as the cost of encryption.
        resources: Some(ResourceRequirements {
            requests: Some(BTreeMap::from([request("cpu", "1"), request("memory", "1Gi")])),
            ..ResourceRequirements::default()
        }),
        security_context: Some(SecurityContext {
            privileged: Some(!plan.privileged().is_empty()),
            ..SecurityContext::default()
        }),
        volume_mounts: Some(mounts),
        ..Container::default()
    }
}

/// What is measured, and the fleet's directory, with where each is mounted.
fn volumes(plan: &Plan) -> (Vec<Volume>, Vec<VolumeMount>) {
    let of_host = |name: String, path: &str| Volume {
        name,
        host_path: Some(HostPathVolumeSource {
            path: path.to_owned(),
            type_: Some("DirectoryOrCreate".to_owned()),
        }),
        ..Volume::default()
    };
    let mut found: Vec<(Volume, &str)> = Vec::new();
    if plan.pair.is_empty() {
        found.push((of_host("target".to_owned(), &plan.target), &plan.target));
    }
    for (i, path) in plan.places().enumerate() {
        let name = format!("place-{i}");
        let volume = match plan.storage_classes.get(i) {
            Some(class) => {
                Volume { ephemeral: Some(claim_of(plan, class)), name, ..Volume::default() }
            }
            None => of_host(name, path),
        };
        found.push((volume, path));
    }
    let fleet = match &plan.claim {
        Some(claim) => Volume {
            name: "fleet".to_owned(),
            persistent_volume_claim: Some(PersistentVolumeClaimVolumeSource {
                claim_name: claim.clone(),
                read_only: None,
            }),
            ..Volume::default()
        },
        None => of_host("fleet".to_owned(), &plan.fleet),
    };
    found.push((fleet, &plan.fleet));
    let mount = |(volume, path): &(Volume, &str)| VolumeMount {
        name: volume.name.clone(),
        mount_path: (*path).to_owned(),
        ..VolumeMount::default()
    };
    let mounts = found.iter().map(mount).collect();
    (found.into_iter().map(|(volume, _)| volume).collect(), mounts)
}

/// A claim of a storage class, made for each pod and removed with it.
fn claim_of(plan: &Plan, class: &str) -> EphemeralVolumeSource {
    let size = Quantity(plan.claim_size.clone());
    let spec = PersistentVolumeClaimSpec {
        access_modes: Some(vec!["ReadWriteOnce".to_owned()]),
        storage_class_name: Some(class.to_owned()),
        resources: Some(VolumeResourceRequirements {
            requests: Some(BTreeMap::from([("storage".to_owned(), size)])),
            limits: None,
        }),
        ..PersistentVolumeClaimSpec::default()
    };
    let template = PersistentVolumeClaimTemplate { metadata: None, spec };
    EphemeralVolumeSource { volume_claim_template: Some(template) }
}

/// On the plan's nodes only, and never beside another pod of the same job.
fn affinity(nodes: &[String], labels: &Texts) -> Affinity {
    let term = NodeSelectorTerm {
        match_expressions: Some(vec![NodeSelectorRequirement {
            key: HOST.to_owned(),
            operator: "In".to_owned(),
            values: Some(nodes.to_vec()),
        }]),
        ..NodeSelectorTerm::default()
    };
    let apart = PodAffinityTerm {
        label_selector: Some(LabelSelector {
            match_labels: Some(labels.clone()),
            ..LabelSelector::default()
        }),
        topology_key: HOST.to_owned(),
        ..PodAffinityTerm::default()
    };
    Affinity {
        node_affinity: Some(NodeAffinity {
            required_during_scheduling_ignored_during_execution: Some(NodeSelector {
                node_selector_terms: vec![term],
            }),
            ..NodeAffinity::default()
        }),
        pod_anti_affinity: Some(PodAntiAffinity {
            required_during_scheduling_ignored_during_execution: Some(vec![apart]),
            ..PodAntiAffinity::default()
        }),
        ..Affinity::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::For;
    use crate::plan::tests::plan;

    fn job(more: &str) -> serde_json::Value {
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
        // It keeps apart exactly the pods of this job.
        assert_eq!(apart["labelSelector"]["matchLabels"], spec["template"]["metadata"]["labels"]);
        let terms = &pod["affinity"]["nodeAffinity"][required]["nodeSelectorTerms"][0];
        assert_eq!(terms["matchExpressions"][0]["values"].as_array().unwrap().len(), 3);
        let command = pod["containers"][0]["command"].as_array().unwrap();
        assert_eq!(command[2], "sleep $$((JOB_COMPLETION_INDEX / 2 * 690)); exec \"$$@\"");
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
        let text = plan.render(For::Kubernetes, Duration::from_secs(60)).unwrap();
        let job: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert!(of(&job));
        let why = job["metadata"]["annotations"]["cryptbench/privileges"].as_str().unwrap();
        assert!(why.ends_with("devices: dm-crypt"), "{why}");
    }

    #[test]
    fn an_image_is_needed_and_volumes_follow_the_claim() {
        let without = plan("").unwrap();
        assert!(without.render(For::Kubernetes, Duration::from_secs(60)).is_err());
        let volumes = |job: serde_json::Value| job["spec"]["template"]["spec"]["volumes"].clone();
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
        let job: serde_json::Value = serde_json::from_str(&text).unwrap();
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
        // Elsewhere there are no classes.
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
