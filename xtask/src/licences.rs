//! `cargo xtask licences`: whether everything that is linked in may be, by deny.toml.
//!
//! What cargo-deny does for licences, without having to build it: `cargo metadata` has every dependency's SPDX
//! expression, and deny.toml the licences that are allowed.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use anyhow::{Context as _, bail};
use serde_json::Value;

pub fn run() -> anyhow::Result<()> {
    let allowed = allowed(&std::fs::read_to_string("deny.toml")?)?;
    let metadata = metadata()?;
    let mut by_licence: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut faults = Vec::new();
    for package in linked(&metadata)? {
        match &package.licence {
            Some(licence) if may(licence, &allowed)? => {}
            Some(licence) => faults.push(format!("{}: {licence} is not allowed", package.name)),
            None => faults.push(format!("{}: names no licence", package.name)),
        }
        let licence = package.licence.unwrap_or_else(|| "none".to_owned());
        by_licence.entry(licence).or_default().push(package.name);
    }
    for (licence, mut packages) in by_licence {
        packages.sort();
        println!("{licence}: {}", packages.join(", "));
    }
    if !faults.is_empty() {
        bail!("{}", faults.join("\n"));
    }
    Ok(())
}

struct Package {
    name: String,
    licence: Option<String>,
}

fn metadata() -> anyhow::Result<Value> {
    let done = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--locked", "--filter-platform"])
        .arg("x86_64-unknown-linux-gnu")
        .output()
        .context("cannot start cargo")?;
    if !done.status.success() {
        bail!("cargo metadata: {}", String::from_utf8_lossy(&done.stderr).trim());
    }
    Ok(serde_json::from_slice(&done.stdout)?)
}

/// What the binary is made of: all that `cryptbench` reaches over other than development dependencies.
fn linked(metadata: &Value) -> anyhow::Result<Vec<Package>> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let id = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let packages: BTreeMap<String, Value> =
        list(&metadata["packages"]).into_iter().map(|p| (id(&p["id"]), p)).collect();
    let nodes: BTreeMap<String, Value> =
        list(&metadata["resolve"]["nodes"]).into_iter().map(|n| (id(&n["id"]), n)).collect();
    let root = packages.iter().find(|(_, p)| p["name"] == "cryptbench").map(|(id, _)| id.clone());
    let mut open = vec![root.context("cargo metadata knows no cryptbench")?];
    let mut reached = BTreeSet::new();
    while let Some(next) = open.pop() {
        if !reached.insert(next.clone()) {
            continue;
        }
        for dependency in list(&nodes.get(&next).context("a package without a node")?["deps"]) {
            let linked = list(&dependency["dep_kinds"]).iter().any(|k| k["kind"] != "dev");
            if linked {
                open.push(id(&dependency["pkg"]));
            }
        }
    }
    Ok(reached
        .into_iter()
        .filter_map(|id| packages.get(&id))
        .map(|p| Package {
            name: format!("{} {}", id(&p["name"]), id(&p["version"])),
            licence: p["license"].as_str().map(ToOwned::to_owned),
        })
        .collect())
}

/// The list `allow` of `[licenses]`.
fn allowed(deny: &str) -> anyhow::Result<Vec<String>> {
    let (_, licences) = deny.split_once("[licenses]").context("deny.toml has no [licenses]")?;
    let (_, rest) = licences.split_once("allow = [").context("deny.toml allows nothing")?;
    let (list, _) = rest.split_once(']').context("the list has no end")?;
    Ok(list
        .split(',')
        .map(|l| l.trim().trim_matches('"').to_owned())
        .filter(|l| !l.is_empty())
        .collect())
}

/// Whether an SPDX expression (SPDX 2.3, annex D) can be met with allowed licences: of `OR` one side, of `AND` both.
/// `A/B` is how old manifests write `A OR B`.
fn may(expression: &str, allowed: &[String]) -> anyhow::Result<bool> {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let tokens: Vec<&str> = spaced.split_whitespace().collect();
    let mut rest = &tokens[..];
    let met = either(&mut rest, allowed)?;
    if !rest.is_empty() {
        bail!("{expression:?} is no SPDX expression");
    }
    Ok(met)
}

fn either(rest: &mut &[&str], allowed: &[String]) -> anyhow::Result<bool> {
    let mut met = both(rest, allowed)?;
    while let ["OR", after @ ..] = *rest {
        *rest = after;
        met |= both(rest, allowed)?;
    }
    Ok(met)
}

fn both(rest: &mut &[&str], allowed: &[String]) -> anyhow::Result<bool> {
    let mut met = one(rest, allowed)?;
    while let ["AND", after @ ..] = *rest {
        *rest = after;
        met &= one(rest, allowed)?;
    }
    Ok(met)
}

fn one(rest: &mut &[&str], allowed: &[String]) -> anyhow::Result<bool> {
    let is_allowed = |name: &str| allowed.iter().any(|a| a == name);
    match *rest {
        ["(", after @ ..] => {
            *rest = after;
            let met = either(rest, allowed)?;
            let [")", after @ ..] = *rest else { bail!("a bracket is not closed") };
            *rest = after;
            Ok(met)
        }
        [name, "WITH", exception, after @ ..] => {
            *rest = after;
            // An exception only gives more than the licence does.
            Ok(is_allowed(name) || is_allowed(&format!("{name} WITH {exception}")))
        }
        [name, after @ ..] if !matches!(*name, ")" | "OR" | "AND" | "WITH") => {
            *rest = after;
            Ok(is_allowed(name))
        }
        _ => bail!("a licence is missing"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_that_is_linked_in_may_be() {
        std::env::set_current_dir(crate::root()).unwrap();
        run().unwrap();
    }

    #[test]
    fn expressions_are_met_by_allowed_licences() {
        let allowed: Vec<String> = ["MIT", "Apache-2.0", "Zlib"].map(str::to_owned).into();
        let met = |expression| may(expression, &allowed).unwrap();
        assert!(met("MIT") && met("MIT/GPL-3.0") && met("GPL-3.0 OR Zlib"));
        assert!(met("(MIT OR Apache-2.0) AND Zlib"));
        assert!(met("Apache-2.0 WITH LLVM-exception"));
        assert!(
            !met("GPL-3.0")
                && !met("MIT AND GPL-3.0")
                && !met("GPL-2.0 WITH Classpath-exception-2.0")
        );
        assert!(!met("GPL-3.0 OR MIT AND GPL-2.0"), "AND binds closer");
        for broken in ["", "MIT OR", "(MIT", "MIT MIT", "OR MIT"] {
            assert!(may(broken, &allowed).is_err(), "{broken:?}");
        }
    }

    #[test]
    fn the_list_of_deny_toml_is_read() {
        let deny = "[bans]\nallow = [\"x\"]\n[licenses]\nallow = [\"MIT\",\n  \"Apache-2.0 WITH LLVM-exception\"]\n";
        assert_eq!(allowed(deny).unwrap(), ["MIT", "Apache-2.0 WITH LLVM-exception"]);
        assert!(allowed("[licenses]\n").is_err());
    }
}
