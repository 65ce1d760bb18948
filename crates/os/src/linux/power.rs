//! The machine's power saving: cpufreq's policies and the batteries in /sys.

use std::fs;
use std::path::{Path, PathBuf};

use crate::machine::Power;

/// Linux, Documentation/admin-guide/pm/cpufreq.rst and Documentation/ABI/testing/sysfs-class-power.
pub(super) fn power(sys: &Path) -> Power {
    let policies = below(&sys.join("devices/system/cpu/cpufreq"), "policy");
    let said = |file: &str| {
        let mut all: Vec<String> = policies.iter().filter_map(|p| text(&p.join(file))).collect();
        all.sort_unstable();
        all.dedup();
        (!all.is_empty()).then(|| all.join(", "))
    };
    Power {
        governor: said("scaling_governor"),
        driver: said("scaling_driver"),
        preference: said("energy_performance_preference"),
        on_battery: on_battery(&sys.join("class/power_supply")),
    }
}

fn on_battery(class: &Path) -> Option<bool> {
    let is = |supply: &Path, file: &str, wanted: &str| {
        text(&supply.join(file)).is_some_and(|found| found == wanted)
    };
    let mut batteries = below(class, "");
    // A mouse's battery has the scope `Device`.
    batteries.retain(|s| is(s, "type", "Battery") && !is(s, "scope", "Device"));
    let discharging = batteries.iter().any(|battery| is(battery, "status", "Discharging"));
    (!batteries.is_empty()).then_some(discharging)
}

/// Entries of a directory whose names start with `beginning`.
fn below(directory: &Path, beginning: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let fits = |e: &fs::DirEntry| e.file_name().to_string_lossy().starts_with(beginning);
    entries.filter(fits).map(|e| e.path()).collect()
}

fn text(file: &Path) -> Option<String> {
    let text = fs::read_to_string(file).ok()?;
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(files: &[(&str, &str)]) -> Power {
        let dir = tempfile::tempdir().unwrap();
        for (path, content) in files {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        power(dir.path())
    }

    #[test]
    fn policies_and_batteries_are_read() {
        let found = of(&[
            ("devices/system/cpu/cpufreq/policy0/scaling_governor", "powersave\n"),
            ("devices/system/cpu/cpufreq/policy0/scaling_driver", "intel_pstate\n"),
            ("devices/system/cpu/cpufreq/policy0/energy_performance_preference", "power\n"),
            ("devices/system/cpu/cpufreq/policy1/scaling_governor", "powersave\n"),
            ("class/power_supply/BAT0/type", "Battery\n"),
            ("class/power_supply/BAT0/status", "Discharging\n"),
        ]);
        assert_eq!(found.governor.as_deref(), Some("powersave"));
        assert_eq!(found.driver.as_deref(), Some("intel_pstate"));
        assert_eq!(found.preference.as_deref(), Some("power"));
        assert_eq!(found.on_battery, Some(true));
    }

    #[test]
    fn a_mouse_is_no_battery_of_the_machine_and_nothing_is_guessed() {
        let mouse = [
            ("class/power_supply/AC/type", "Mains\n"),
            ("class/power_supply/mouse/type", "Battery\n"),
            ("class/power_supply/mouse/scope", "Device\n"),
            ("class/power_supply/mouse/status", "Discharging\n"),
        ];
        assert_eq!(of(&mouse), Power::default());
        let charged = [
            ("class/power_supply/BAT0/type", "Battery\n"),
            ("class/power_supply/BAT0/status", "Full\n"),
        ];
        assert_eq!(of(&charged).on_battery, Some(false));
    }
}
