//! Describes the machine from the registry and Windows calls.

use std::thread::available_parallelism;

use super::call;
use crate::machine::{Machine, Power};

const PROCESSOR: &str = r"HARDWARE\DESCRIPTION\System\CentralProcessor\0";
const VERSION: &str = r"SOFTWARE\Microsoft\Windows NT\CurrentVersion";

/// Location in the registry that contains the name of the active power plan.
const PLANS: &str = r"SYSTEM\CurrentControlSet\Control\Power\User\PowerSchemes";

pub(crate) fn describe() -> Machine {
    let text = call::registry_text;
    let build = text(VERSION, "CurrentBuildNumber").unwrap_or_else(|| "unknown".to_owned());
    let name = text(VERSION, "ProductName").unwrap_or_else(|| "Windows".to_owned());
    let release = text(VERSION, "DisplayVersion").map_or(String::new(), |r| format!(" {r}"));
    Machine {
        cpu_model: text(PROCESSOR, "ProcessorNameString")
            .unwrap_or_else(|| std::env::consts::ARCH.to_owned()),
        cpus: available_parallelism().map_or(1, |n| n.get() as u32),
        cpu_features: features(),
        memory_bytes: memory_bytes().unwrap_or(0),
        kernel: format!("Windows NT build {build} {}", std::env::consts::ARCH),
        os: format!("{name}{release}"),
        emulated: wine(),
        power: Power { governor: plan(), on_battery: call::on_battery(), ..Power::default() },
        ..Machine::default()
    }
}

/// Wine runs Windows programs on another kernel, so measurements there do not apply to Windows.
fn wine() -> Option<String> {
    call::is_wine().then(|| "Wine, not Windows".to_owned())
}

/// The name of the power plan in use: `Balanced`.
fn plan() -> Option<String> {
    let active = call::registry_text(PLANS, "ActivePowerScheme")?;
    let name = call::registry_text(&format!(r"{PLANS}\{active}"), "FriendlyName")?;
    // `@%SystemRoot%\system32\powrprof.dll,-15,Balanced`
    Some(name.rsplit(',').next().unwrap_or(&name).to_owned())
}

/// CPU features that ciphers and hashes use, named as on Linux.
#[cfg(target_arch = "x86_64")]
fn features() -> Vec<String> {
    macro_rules! found {
        ($($feature:tt: $name:expr),*) => {
            [$((is_x86_feature_detected!($feature), $name)),*]
        };
    }
    let all = found!(
        "aes": "aes", "pclmulqdq": "pclmulqdq", "ssse3": "ssse3", "sse4.1": "sse4_1", "avx": "avx",
        "avx2": "avx2", "bmi2": "bmi2", "sha": "sha_ni", "vaes": "vaes",
        "vpclmulqdq": "vpclmulqdq", "gfni": "gfni", "avx512f": "avx512f", "avx512bw": "avx512bw",
        "avx512vl": "avx512vl", "avx512vbmi": "avx512vbmi"
    );
    all.iter().filter(|(has, _)| *has).map(|(_, name)| (*name).to_owned()).collect()
}

#[cfg(not(target_arch = "x86_64"))]
fn features() -> Vec<String> {
    Vec::new()
}

pub(crate) fn limits() -> crate::machine::Limits {
    crate::machine::Limits::default()
}

pub(crate) fn throttled() -> Option<std::time::Duration> {
    None
}

pub(crate) fn missing_file_system() -> Option<&'static str> {
    None
}

pub(crate) fn possible_cpus() -> Option<u32> {
    None
}

pub(crate) fn memory_bytes() -> Option<u64> {
    call::memory().map(|(all, _)| all)
}

pub(crate) fn memory_available() -> Option<u64> {
    call::memory().map(|(_, available)| available)
}

pub(crate) fn processor_time() -> Option<(u64, u64)> {
    call::system_times().map(|(idle, all)| (all.saturating_sub(idle), all))
}

pub(crate) fn kernel_setting(_name: &str) -> Option<String> {
    None
}

pub(crate) fn host_name() -> Option<String> {
    std::env::var("COMPUTERNAME").ok()
}

pub(crate) fn machine_id() -> Option<String> {
    call::registry_text(r"SOFTWARE\Microsoft\Cryptography", "MachineGuid")
}

pub(crate) fn drop_directory_caches() -> bool {
    false
}
