//! The permitted content of each value of a plan, so that the value has the same meaning in every script.

use cryptbench_text::printable;

use super::{Concurrency, Plan};

/// The error in a plan with its correction; `None` if the plan is valid.
pub(super) fn fault(plan: &Plan) -> Option<String> {
    shape(plan).or_else(|| {
        texts(plan).into_iter().find_map(|(key, text, holds)| {
            let problem = holds(text)?;
            Some(format!("{key} {text:?} {problem}"))
        })
    })
}

/// Values that Kubernetes does not accept.
pub(super) fn fault_in_kubernetes(plan: &Plan) -> Option<String> {
    let target = plan.pair.is_empty().then_some(plan.target.as_str());
    let bad = |path: &&str| path.contains(':') || path.split('/').any(|part| part == "..");
    let found = plan.places().chain(target).chain([plan.fleet.as_str()]).find(bad);
    found.map(|path| {
        format!("{path:?} cannot be mounted in a pod: choose a path without \":\" and \"..\"")
    })
}

/// Values that Ansible changes: its modules expand variables and `~`, which cannot be escaped.
pub(super) fn fault_in_ansible(plan: &Plan) -> Option<String> {
    let bad = |(_, text, _): &(&str, &str, Check)| text.contains('$') || text.starts_with('~');
    let (key, text, _) = texts(plan).into_iter().find(bad)?;
    Some(format!("{key} {text:?} would be expanded by Ansible: choose one without \"$\" and \"~\""))
}

/// The rules for combinations of values, and for numbers.
fn shape(plan: &Plan) -> Option<String> {
    let refuse = |problem: &str| Some(problem.to_owned());
    let unnamed = plan.systems.is_empty() || plan.systems.iter().any(|s| s == "all");
    if plan.pair.is_empty() && unnamed {
        return refuse(
            "systems must list each system, because the machines could choose different ones",
        );
    }
    if !plan.pair.is_empty() && (!plan.systems.is_empty() || !plan.target.is_empty()) {
        return refuse("pair replaces target and systems: remove these");
    }
    if plan.pair.len() == 1 {
        return refuse("pair needs a plain location and at least one encrypted location");
    }
    if !plan.storage_classes.is_empty() && plan.storage_classes.len() != plan.pair.len() {
        return refuse("storage_classes needs one class for each location of pair");
    }
    match &plan.concurrency {
        Some(Concurrency::Most(0)) => refuse("concurrency must be at least 1"),
        Some(Concurrency::Each(each)) if each.is_empty() || each.contains(&0) => {
            refuse("concurrency lists numbers of at least 1")
        }
        _ => None,
    }
}

/// The error in a text, as the end of a sentence.
type Check = fn(&str) -> Option<&'static str>;

/// Every text of a plan except its nodes, with its key and its permitted content.
fn texts(plan: &Plan) -> Vec<(&'static str, &str, Check)> {
    let mut found: Vec<(&str, &str, Check)> = vec![
        ("name", &plan.name, label),
        ("profile", &plan.profile, value),
        ("budget", &plan.budget, value),
        ("fleet", &plan.fleet, absolute),
        ("program", &plan.program, program),
        ("claim_size", &plan.claim_size, quantity),
    ];
    if plan.pair.is_empty() {
        found.push(("target", &plan.target, absolute));
    }
    let lists: [(_, Vec<&String>, Check); 10] = [
        ("nodes", plan.nodes.iter().collect(), shown),
        ("systems", plan.systems.iter().collect(), system),
        ("pair", plan.pair.iter().collect(), place),
        ("options", plan.options.iter().collect(), option),
        ("fetch_to", plan.fetch_to.iter().collect(), value),
        ("partition", plan.partition.iter().collect(), partition),
        ("image", plan.image.iter().collect(), image),
        ("claim", plan.claim.iter().collect(), object),
        ("storage_classes", plan.storage_classes.iter().collect(), object),
        ("tolerate", plan.tolerate.iter().collect(), taint),
    ];
    for (key, texts, check) in lists {
        found.extend(texts.into_iter().map(|text| (key, text.as_str(), check)));
    }
    found
}

fn unless(holds: bool, problem: &'static str) -> Option<&'static str> {
    (!holds).then_some(problem)
}

fn all_of(text: &str, more: &str) -> bool {
    text.chars().all(|c| c.is_ascii_alphanumeric() || more.contains(c))
}

fn begins_well(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphanumeric())
}

fn shown(text: &str) -> Option<&'static str> {
    unless(printable(text) == text, "contains a line break or an invisible character: remove it")
}

/// The value of an option.
fn value(text: &str) -> Option<&'static str> {
    let problem =
        "would be parsed as an option, or is empty: start it with a character other than -";
    shown(text).or(unless(!text.is_empty() && !text.starts_with('-'), problem))
}

fn absolute(text: &str) -> Option<&'static str> {
    shown(text).or(unless(text.starts_with('/'), "is not an absolute path: start it with /"))
}

/// A location in `pair`: a path, optionally preceded by a name and `=`.
fn place(text: &str) -> Option<&'static str> {
    let problem = "is not an absolute path, nor a name, = and such a path";
    let is_named = super::path_of(text).starts_with('/') && !text.starts_with(['-', '=']);
    shown(text).or(unless(is_named, problem))
}

fn option(text: &str) -> Option<&'static str> {
    let problem = "would end the options, and the name of the machine follows: remove it";
    shown(text).or(unless(text != "--", problem))
}

/// Values that sudo, srun and a shell interpret as a program, not as an option or a variable.
fn program(text: &str) -> Option<&'static str> {
    let problem = "would be parsed as an option or a variable: start it with a character other than -, without =";
    value(text).or(unless(!text.contains('='), problem))
}

fn system(text: &str) -> Option<&'static str> {
    unless(
        begins_well(text) && all_of(text, "-_.+"),
        "is not the name of a system: see `cryptbench systems`",
    )
}

/// A DNS label (RFC 1123). Kubernetes requires a label for names, and appends to a job's name.
fn label(text: &str) -> Option<&'static str> {
    let part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let holds = text.len() <= 50
        && text.starts_with(part)
        && text.ends_with(part)
        && text.chars().all(|c| part(c) || c == '-');
    unless(holds, "is not a name: use small letters, digits and hyphens between them, at most 50")
}

/// For Slurm, several partitions are written as one text with commas.
fn partition(text: &str) -> Option<&'static str> {
    let holds = text.split(',').all(|name| begins_well(name) && all_of(name, "-_."));
    unless(
        holds,
        "is not a partition: use letters, digits, \".\", \"_\" and \"-\", and commas between several",
    )
}

fn image(text: &str) -> Option<&'static str> {
    let holds = begins_well(text) && all_of(text, "-_./:@+");
    unless(holds, "is not an image: use registry/name:tag or registry/name@digest")
}

/// The name of an object in Kubernetes: a DNS subdomain (RFC 1123).
fn object(text: &str) -> Option<&'static str> {
    let part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let is_label = |label: &str| {
        label.starts_with(part)
            && label.ends_with(part)
            && label.chars().all(|c| part(c) || c == '-')
    };
    let holds = text.len() <= 253 && text.split('.').all(is_label);
    unless(holds, "is not a name in Kubernetes: use small letters, digits, \".\" and \"-\"")
}

/// An amount in Kubernetes, such as `20Gi`.
fn quantity(text: &str) -> Option<&'static str> {
    let unit = text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let number = &text[..text.len() - unit.len()];
    const UNITS: [&str; 13] =
        ["", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
    let holds = number.parse::<f64>().is_ok() && UNITS.contains(&unit);
    unless(holds, "is not an amount; write, for example, 20Gi")
}

/// The key of a taint: a name, optionally after a domain and `/`.
fn taint(text: &str) -> Option<&'static str> {
    let (domain, name) = text.split_once('/').map_or((None, text), |(d, n)| (Some(d), n));
    let holds = name.len() <= 63
        && begins_well(name)
        && all_of(name, "-_.")
        && domain.is_none_or(|domain| object(domain).is_none());
    unless(holds, "is not the key of a taint; write, for example, example.com/gpu")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_place_takes_what_it_can_hold_and_nothing_else() {
        let checks: [(Check, &[&str], &[&str]); 12] = [
            (value, &["quick", "my profile.toml"], &["", "-x", "a\nb", "a\0", "\u{202e}b"]),
            (absolute, &["/a b", "/$(x)"], &["a", "", "/a\r"]),
            (place, &["/a", "name=/a", "two words=/b"], &["-x=/a", "=/a", "a", "b=a"]),
            (option, &["--size", "-", "a=b", ""], &["--", "a\tb"]),
            (program, &["cryptbench", "/a b/c"], &["", "-s", "A=b"]),
            (system, &["dm-crypt"], &["", "-x", "a b", "a,b"]),
            (label, &["a", "a-1"], &["", "-a", "a-", "A", "a.b"]),
            (partition, &["all", "a,b-1"], &["", "a b", "a --x", "-a", "a,", "a\nb"]),
            (image, &["r.io/a/b:1", "a@sha256:0"], &["", "a b", "$(X)", "-a"]),
            (object, &["longhorn", "a.b-c"], &["", "A", "a..b", "$(x)"]),
            (quantity, &["10Gi", "1.5T", "100"], &["", "Gi", "10 Gi", "1e9999x", "-1Gi"]),
            (taint, &["gpu", "example.com/gpu"], &["", "a b", "/gpu", "a/b/c"]),
        ];
        for (check, good, bad) in checks {
            good.iter().for_each(|text| assert_eq!(check(text), None, "{text:?}"));
            bad.iter().for_each(|text| assert!(check(text).is_some(), "{text:?}"));
        }
    }
}
