//! The CPUs: their instructions for ciphers, and the cipher kernels that are used with them.

use cryptbench_answer::place::cpus_in_words;
use cryptbench_catalog::BUILTIN;
use cryptbench_cipher::Tier;
use cryptbench_record::{Limits, Machine};
use cryptbench_system::{Selection, find};
use cryptbench_text::human;

use super::diagnosis::Finding;

const AES: &str = "aes-256-xts";

/// One cipher of each algorithm.
const SHOWN: [(&str, &str); 6] = [
    ("Adiantum", "adiantum-12"),
    ("AES", AES),
    ("Camellia", "camellia-256-xts"),
    ("Kuznyechik", "kuznyechik-xts"),
    ("Serpent", "serpent-256-xts"),
    ("Twofish", "twofish-256-xts"),
];

pub fn look(machine: &Machine) -> Vec<Finding> {
    let cpus = match machine.cpus {
        1 => "1 CPU".to_owned(),
        n => format!("{n} CPUs"),
    };
    let where_it_runs =
        machine.virtualisation.as_ref().map_or_else(String::new, |v| format!("; {v}"));
    let mut findings = vec![Finding::ok(
        "model",
        format!(
            "{}, {cpus}, {} of memory{where_it_runs}",
            machine.cpu_model,
            human(machine.memory_bytes)
        ),
    )];
    if let Some(emulated) = &machine.emulated {
        let words = format!("this is {emulated}: its speed says nothing about real hardware");
        findings.push(Finding::warning("emulated", words));
    }
    findings.extend(limits(&machine.limits));
    let features = machine.cpu_features.join(" ");
    findings.push(match features.is_empty() {
        true => Finding::lacking("features", "none that ciphers use"),
        false => Finding::ok("features", features),
    });
    findings.push(match cryptbench_cipher::tier() {
        Ok(tier) => kernels(tier),
        Err(error) => {
            Finding::warning("cipher code", error.to_string()).remedy("unset CRYPTBENCH_CPU")
        }
    });
    findings.extend(aes());
    findings
}

/// The resource limits of a container, if there are any.
fn limits(limits: &Limits) -> Option<Finding> {
    let memory = limits.memory_bytes.map(|bytes| format!("{} of memory", human(bytes)));
    let cpus = limits.cpus.map(|cpus| format!("{} CPUs", cpus_in_words(cpus)));
    let all: Vec<String> = cpus.into_iter().chain(memory).collect();
    if all.is_empty() {
        return None;
    }
    let words = format!("this container is limited to {}", all.join(" and "));
    Some(match limits.cpus {
        Some(_) => Finding::warning("limits", format!("{words}: the CPU limit affects every figure"))
            .remedy("remove the limit: --cpus (Docker, Podman), CPUQuota= (systemd) or cpu.max (control group)"),
        None => Finding::ok("limits", words),
    })
}

/// The kernel of each algorithm; algorithms with the same kernel are grouped.
fn kernels(tier: Tier) -> Finding {
    let mut by_kernel: Vec<(String, Vec<&str>)> = Vec::new();
    for (algorithm, cipher) in SHOWN {
        let Some(kernel) = kernel(cipher, tier) else { continue };
        match by_kernel.iter_mut().find(|(k, _)| *k == kernel) {
            Some((_, algorithms)) => algorithms.push(algorithm),
            None => by_kernel.push((kernel, vec![algorithm])),
        }
    }
    let words: Vec<String> =
        by_kernel.iter().map(|(k, algorithms)| format!("{} {k}", algorithms.join(", "))).collect();
    let best = Tier::available().pop();
    if best.is_some_and(|best| best > tier) {
        let words = format!("{} (limited to {tier} by CRYPTBENCH_CPU)", words.join("; "));
        return Finding::warning("cipher code", words).remedy("unset CRYPTBENCH_CPU");
    }
    Finding::ok("cipher code", words.join("; "))
}

fn kernel(cipher: &str, tier: Tier) -> Option<String> {
    let builtin = find(BUILTIN.name).ok()?;
    let selection = Selection { ciphers: vec![cipher.to_owned()], ..Selection::default() };
    let arms = builtin.arms(&selection).ok()?;
    let arm = arms.iter().find(|arm| arm.cipher == Some(cipher))?;
    builtin.kernel_tier(arm, tier)
}

/// Warns about a CPU without AES instructions, on which the choice of a cipher matters most.
fn aes() -> Option<Finding> {
    let best = Tier::available().pop()?;
    (kernel(AES, best)? == "soft").then(|| {
        Finding::warning("AES", "this CPU has no AES instructions that cryptbench uses").remedy(
            "use --cipher adiantum-12, which is designed for such CPUs; cryptbench ciphers shows how much faster it is",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_algorithm_has_a_kernel_at_every_tier() {
        for tier in Tier::available() {
            for (algorithm, cipher) in SHOWN {
                assert!(kernel(cipher, tier).is_some(), "{algorithm} at {tier}");
            }
        }
    }
}
