//! Faults of the machine itself, which cost more than any choice between systems.

use cryptbench_catalog::{Encrypts, PAIRED, ZFS, encrypts};
use cryptbench_estimate::rate_limit::{Limit, is_rate_limited, limits};
use cryptbench_record::{Arm, ArmRole, Device, Power, SlowAes, Target};

use crate::answer::View;
use crate::quantity::{digits, thousands};
use crate::wording::list;

/// Remedies, the most urgent first; usually there are none.
pub(crate) fn remedies(view: &View<'_, '_>) -> Vec<String> {
    let mut found = Vec::new();
    found.extend(slow_aes(view).map(|slow| match slow {
        SlowAes::NoInstructions => {
            "Adiantum instead of AES: this CPU has no AES instructions. cryptbench ciphers shows how much faster it is."
                .to_owned()
        }
        SlowAes::Masked => "All features of the CPU: unset CRYPTBENCH_CPU.".to_owned(),
    }));
    if let Some(slow) = slow_drivers(view).first() {
        found.push(match is_zfs(slow.arm) {
            true => format!(
                "ZFS's code for {}: another OpenZFS, or icp_aes_impl in /sys/module/zfs/parameters.",
                slow.what
            ),
            false => format!(
                "The kernel's driver for {}: sudo modprobe {}, or a kernel that has it.",
                slow.what, slow.module
            ),
        });
    }
    found.extend(saves_power(&view.lookup.record.machine.power));
    let judged = |w| view.lookup.plain(w).is_some_and(|c| c.trials > 0);
    let workloads = || view.lookup.workloads().iter().filter(|w| judged(w));
    let target = &view.lookup.record.target;
    let (compressed, cached): (Vec<_>, Vec<_>) = workloads()
        .filter(|w| view.lookup.plain(w).is_some_and(|c| c.cached))
        .partition(|w| target.compresses(w));
    if let (Some(how), false) = (target.compression(), compressed.is_empty()) {
        found.push(format!(
            "Rows with random data: {} compresses ({how}), so the disk received less data than was written in {} of {} \
            workloads.",
            target.filesystem,
            compressed.len(),
            workloads().count()
        ));
    }
    let cached = cached.len();
    if cached > 0 {
        found.push(format!(
            "{}: in {cached} of {} workloads, plain storage was served from a cache.",
            larger(target),
            workloads().count()
        ));
    }
    if is_rate_limited(view.lookup) {
        found.push(
            "A disk without a rate limit, or with a higher one: a cloud quota, a hypervisor or a control group sets \
             such limits."
                .to_owned(),
        );
    }
    found
}

/// The rate limits of the disk, and their consequences.
pub(crate) fn held(view: &View<'_, '_>) -> Vec<String> {
    let hides = |limit| match limit {
        Limit::Requests(per_s) => (format!("{} requests", thousands(per_s.round())), "small"),
        Limit::Bytes(per_s) => (format!("{} MB", digits(per_s / 1e6)), "large"),
    };
    let said = |(limit, size)| {
        let place = view.place();
        format!(
            "A limit of {limit} per second on {place} hides what encryption costs for {size} requests."
        )
    };
    limits(view.lookup).into_iter().map(hides).map(said).collect()
}

/// The option for data larger than a cache. A device that is only read, or overwritten as a whole,
/// has a fixed size.
fn larger(target: &Target) -> &'static str {
    let has_more = |device: &Device| device.size_bytes > 2 * target.scratch.size_bytes;
    match target.kind.as_deref() {
        _ if target.is_directory() => "A larger file (--size)",
        Some("device") if !target.only_read && target.device.as_ref().is_some_and(has_more) => {
            "More of the device (--size)"
        }
        _ => "Larger storage",
    }
}

/// Whether AES was measured without AES instructions.
pub(crate) fn slow_aes(view: &View<'_, '_>) -> Option<SlowAes> {
    let record = view.lookup.record;
    SlowAes::of(&record.machine.cpu_features, &record.plan.arms)
}

/// The remedy if the machine saves power instead of running at full speed.
fn saves_power(power: &Power) -> Option<String> {
    // With these drivers the CPU chooses its frequency; a governor with this name is only a hint.
    let chooses = ["intel_pstate", "amd-pstate-epp"];
    let is = |value: &Option<String>, wanted: &str| value.as_deref() == Some(wanted);
    let left_to_it = chooses.iter().any(|driver| is(&power.driver, driver));
    Some(match () {
        () if power.on_battery == Some(true) => {
            "Mains power: this machine ran on its battery, and may have saved power.".to_owned()
        }
        () if is(&power.governor, "powersave") && !left_to_it => {
            "A faster clock: the powersave governor keeps the CPUs at their lowest frequency. sudo cpupower \
             frequency-set -g \
             performance"
                .to_owned()
        }
        () if is(&power.preference, "power") => {
            "A faster clock: the CPUs are set to prefer saving power. sudo cpupower set --epp balance_performance"
                .to_owned()
        }
        () => return None,
    })
}

/// A kernel driver that does not use the CPU's instructions for the cipher.
pub(crate) struct SlowDriver<'a> {
    pub(crate) arm: &'a Arm,
    /// The driver, such as `xts(ecb(aes-generic))`.
    pub(crate) driver: &'a str,
    /// The unused feature: `the CPU's AES instructions`.
    pub(crate) what: &'static str,
    /// The module of a driver that uses the feature.
    module: &'static str,
}

/// Linux ciphers for x86-64: a name that occurs in their drivers, the CPU feature that a faster driver needs, a
/// description of that feature, and the driver's module (arch/x86/crypto/Kconfig).
const FAST: [(&str, &str, &str, &str); 4] = [
    ("aes", "aes", "the CPU's AES instructions", "aesni_intel"),
    ("serpent", "avx2", "the CPU's AVX2", "serpent_avx2"),
    ("twofish", "avx2", "the CPU's AVX", "twofish_avx_x86_64"),
    ("camellia", "avx2", "the CPU's AVX2", "camellia_aesni_avx2"),
];

/// Whether an arm is encrypted by ZFS, which has its own cipher code in the kernel. Among users' locations, only those
/// on ZFS report their code.
fn is_zfs(arm: &Arm) -> bool {
    arm.system == ZFS.name || arm.system == PAIRED.name && arm.kernel_tier.is_some()
}

/// Whether the operating system's kernel encrypts for an arm, so that the code in use is one of its drivers.
pub fn is_kernels(arm: &Arm) -> bool {
    is_zfs(arm) || encrypts(&arm.system) == Some(Encrypts::Kernel)
}

/// The encrypted arms with a generic driver, although there is a driver for this CPU's instructions.
pub(crate) fn slow_drivers<'a>(view: &View<'a, '_>) -> Vec<SlowDriver<'a>> {
    let record = view.lookup.record;
    let has = |feature: &str| record.machine.cpu_features.iter().any(|f| f == feature);
    let of = |arm: &'a Arm| {
        arm.kernels().find_map(|driver| {
            let (_, _, what, module) = FAST.into_iter().find(|(cipher, feature, ..)| {
                // The last entry is ZFS's generic code, which does not use the CPU's instructions for the cipher.
                let portable = ["generic", "fixed-time", "x86_64 (ICP)"];
                has(feature) && portable.iter().any(|p| driver.contains(&format!("{cipher}-{p}")))
            })?;
            Some(SlowDriver { arm, driver, what, module })
        })
    };
    let kernels = record.plan.arms.iter().filter(|a| a.role == ArmRole::Encrypted && is_kernels(a));
    kernels.filter_map(of).collect()
}

/// The first sentence if the kernel is slower than it could be, because the costs that follow are then not costs of the
/// system itself.
pub(crate) fn slow_kernel(view: &View<'_, '_>) -> Option<String> {
    let slow = slow_drivers(view);
    let first = slow.first()?;
    let names: Vec<&str> = slow.iter().map(|s| view.names.arm(s.arm)).collect();
    Some(format!(
        "This kernel leaves {} unused: it encrypts with {} for {}.",
        first.what,
        first.driver,
        list(&names, 2)
    ))
}
