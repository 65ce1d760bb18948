//! Current conditions that may disturb measurements: other load, power saving, drivers between the files and the
//! disk, and encryption of the disk.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use cryptbench_os::machine::{Machine, processor_time};
use cryptbench_os::storage::{Tree, mount_of, number_of};
use cryptbench_os::{dirs, user};

use crate::doctor::diagnosis::Finding;

/// Duration for which the counters are observed.
const WATCHED: Duration = Duration::from_secs(1);

/// Minimum share of the time for which other load counts as a disturbance, as on Linux.
const BUSY: f64 = 0.10;

pub fn look(directory: &Path) -> Vec<Finding> {
    let before = processor_time();
    std::thread::sleep(WATCHED);
    let busy = before
        .zip(processor_time())
        .map(|(a, b)| b.0.saturating_sub(a.0) as f64 / b.1.saturating_sub(a.1).max(1) as f64);
    let machine = Machine::this();
    let mut findings = vec![load(busy), plan(&machine), supply(&machine)];
    let volume = volume(directory);
    findings.push(encryption(volume.as_deref()));
    findings.push(write_cache(volume.as_deref()));
    findings.push(filters(volume.as_deref()));
    findings
}

fn load(busy: Option<f64>) -> Finding {
    let name = "processor";
    match busy {
        None => Finding::lacking(name, "Windows does not report the CPU load"),
        Some(busy) if busy >= BUSY => {
            Finding::warning(name, format!("{:.0}% busy with other work", busy * 100.0))
                .remedy("close other programs, and wait for updates and scans to end")
        }
        Some(busy) => Finding::ok(name, format!("{:.0}% busy", busy * 100.0)),
    }
}

fn plan(machine: &Machine) -> Finding {
    match &machine.power.governor {
        Some(plan) => Finding::ok("power plan", plan.clone()),
        None => Finding::lacking("power plan", "Windows does not report the active plan")
            .remedy("powercfg /getactivescheme"),
    }
}

fn supply(machine: &Machine) -> Finding {
    match machine.power.on_battery {
        Some(true) => Finding::warning("power", "on battery: the CPU may save power")
            .remedy("connect the machine to mains power"),
        Some(false) => Finding::ok("power", "on mains power"),
        None => Finding::lacking("power", "Windows does not report the power source"),
    }
}

/// The drive letter of the volume that holds a directory, such as `C:`.
fn volume(directory: &Path) -> Option<String> {
    let directory = dirs::resolved(directory).ok()?;
    let mount = mount_of(number_of(&directory).ok()?, &directory)?;
    Some(mount.mountpoint.display().to_string().trim_end_matches('\\').to_owned())
}

/// Whether the disk has a write cache; if so, a flush waits until the cache has been written.
fn write_cache(volume: Option<&str>) -> Finding {
    let name = "write cache";
    let node = Tree::this().all().unwrap_or_default();
    let node = node.iter().find(|node| volume.is_some_and(|volume| node.name() == volume));
    match node.and_then(|node| node.attribute("queue/write_cache")) {
        Some(state) => Finding::ok(name, format!("{state}, as reported by the disk")),
        None => Finding::lacking(name, "not reported by the disk"),
    }
}

/// VeraCrypt and TrueCrypt volumes are identified by their devices. Any user can query the Windows shell whether
/// BitLocker encrypts the volume; only administrators can query the encryption method.
fn encryption(volume: Option<&str>) -> Finding {
    let name = "encryption";
    let Some(volume) = volume else {
        return Finding::lacking(name, "cannot determine which volume the directory is on");
    };
    let nodes = Tree::this().all().unwrap_or_default();
    let mut opened: Vec<String> = Vec::new();
    for node in nodes {
        if let Some(system) = node.encryption() {
            opened.push(format!("{} is encrypted by {system}", node.name()));
        }
    }
    if !opened.is_empty() {
        return Finding::ok(name, opened.join(", "))
            .remedy(format!("to compare it: cryptbench run --pair {volume}\\plain X:\\"));
    }
    if !user::is_root() {
        let asked = format!(
            "(New-Object -ComObject Shell.Application).NameSpace('{volume}').Self.\
             ExtendedProperty('System.Volume.BitLockerProtection')"
        );
        let state = said("powershell", &["-NoProfile", "-NonInteractive", "-Command", &asked]);
        let finding = match state.as_deref().map(str::trim).map(protection) {
            Ok(Some(does)) => Finding::ok(name, format!("{volume}: BitLocker {does}")),
            _ => Finding::lacking(
                name,
                format!("Windows does not show this user whether BitLocker encrypts {volume}"),
            ),
        };
        return finding.remedy(format!(
            "manage-bde -status {volume}, as administrator, also shows the method"
        ));
    }
    match said("manage-bde", &["-status", volume]) {
        Ok(text) => Finding::ok(name, bitlocker(volume, &text)),
        Err(why) => Finding::lacking(name, format!("manage-bde failed: {why}")),
    }
}

/// The meaning of the shell's volume property for BitLocker; other values are undocumented.
fn protection(state: &str) -> Option<&'static str> {
    Some(match state {
        "1" => "encrypts it",
        "2" => "does not encrypt it",
        "3" => "is still encrypting it: wait until the encryption is complete",
        "4" => "is still decrypting it: wait until the decryption is complete",
        "5" => "encrypts it, but protection is suspended",
        _ => return None,
    })
}

/// Percentage and method from `manage-bde -status` in any language: the two fields whose values have the form of a
/// percentage and of a cipher.
fn bitlocker(volume: &str, text: &str) -> String {
    let value = |line: &str| line.split_once(':').map(|(_, value)| value.trim().to_owned());
    let values: Vec<String> = text.lines().filter_map(value).collect();
    let share = values.iter().find(|value| value.ends_with('%'));
    let method = values.iter().find(|value| value.contains("AES"));
    match (share, method) {
        (Some(share), Some(method)) => {
            format!("{volume}: BitLocker with {method}, {share} encrypted")
        }
        (Some(share), None) => format!("{volume}: BitLocker encrypts {share} of it"),
        _ => format!("{volume}: not encrypted by BitLocker"),
    }
}

/// Drivers that intercept the opening of files, such as virus scanners.
fn filters(volume: Option<&str>) -> Finding {
    let name = "filter drivers";
    let Some(volume) = volume else {
        return Finding::lacking(name, "cannot determine which volume the directory is on");
    };
    if !user::is_root() {
        return Finding::lacking(name, "Windows lists them only for administrators")
            .remedy(format!("fltmc instances -v {volume}, as administrator"));
    }
    match said("fltmc", &["instances", "-v", volume]) {
        Ok(text) => {
            let found = instances(&text);
            match found.is_empty() {
                true => Finding::ok(name, format!("none on {volume}")),
                false => Finding::warning(name, format!("on {volume}: {}", found.join(", ")))
                    .remedy("exclude the directory from the virus scanner while you measure"),
            }
        }
        Err(why) => Finding::lacking(name, format!("fltmc failed: {why}")),
    }
}

/// The first column of the lines below the dashes.
fn instances(text: &str) -> Vec<String> {
    let below = text.lines().skip_while(|line| !line.starts_with("---")).skip(1);
    let mut names: Vec<String> =
        below.filter_map(|line| Some(line.split_whitespace().next()?.to_owned())).collect();
    names.dedup();
    names
}

/// The output of a Windows program.
#[expect(clippy::disallowed_methods, reason = "a program of Windows, by its whole path")]
fn said(program: &str, arguments: &[&str]) -> Result<String, String> {
    let output = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .map_err(|e| e.to_string())?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(format!("{}", output.status)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_method_is_read_in_any_language() {
        let english = "Volume C: [OS]\n    Size:                 237.87 GB\n    Percentage Encrypted: 100.0%\n    Encryption Method:    XTS-AES 128\n";
        assert_eq!(bitlocker("C:", english), "C:: BitLocker with XTS-AES 128, 100.0% encrypted");
        assert_eq!(
            bitlocker("D:", "    Conversion Status: Fully Decrypted\n"),
            "D:: not encrypted by BitLocker"
        );
    }

    #[test]
    fn only_known_states_of_the_shell_mean_something() {
        assert_eq!(protection("2"), Some("does not encrypt it"));
        assert_eq!((protection("0"), protection("")), (None, None));
    }

    #[test]
    fn instances_are_the_first_column() {
        let text = "Filter   Altitude  Instance Name\n-------  --------  ----\nWdFilter  328010  WdFilter Instance\nluafv  135000  luafv\n";
        assert_eq!(instances(text), ["WdFilter", "luafv"]);
        assert!(instances("").is_empty());
    }
}
