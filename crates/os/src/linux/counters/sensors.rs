//! Energy, temperature and clock frequency of the CPUs, if the machine reports them.

use std::fs;
use std::path::{Path, PathBuf};

use super::task;

/// Names of hwmon drivers that measure a CPU (Linux, Documentation/hwmon; device trees of
/// small boards use `cpu_thermal`).
const PROCESSOR: [&str; 4] = ["coretemp", "k10temp", "zenpower", "cpu_thermal"];

/// The readable sensors of the machine, which are searched for only once.
#[derive(Debug)]
pub(super) struct Sensors {
    packages: Vec<Package>,
    /// Directories of the machine's own batteries.
    batteries: Vec<PathBuf>,
    /// Files with values in millidegrees Celsius.
    temperatures: Vec<PathBuf>,
    /// Files with values in kilohertz.
    frequencies: Vec<PathBuf>,
}

/// The energy counter of one CPU package (RAPL; Linux, Documentation/power/powercap).
#[derive(Debug)]
struct Package {
    energy: PathBuf,
    /// Value in microjoules at which the counter wraps around.
    range: u64,
}

/// Microjoules per package.
pub(super) type EnergyReading = Vec<u64>;

impl Sensors {
    /// Searches below `/sys`. Omits sensors that this process may not read.
    pub(super) fn find(sys: &Path) -> Self {
        let mut temperatures = hwmon(&sys.join("class/hwmon"));
        if temperatures.is_empty() {
            temperatures = zones(&sys.join("class/thermal"));
        }
        let policies = entries(&sys.join("devices/system/cpu/cpufreq"), "policy");
        let mut frequencies: Vec<_> =
            policies.into_iter().map(|policy| policy.join("scaling_cur_freq")).collect();
        frequencies.retain(|file| number(file).is_some());
        Self {
            packages: packages(&sys.join("class/powercap")),
            batteries: batteries(&sys.join("class/power_supply")),
            temperatures,
            frequencies,
        }
    }

    /// Watts that the whole machine draws from its batteries; `None` on mains power.
    pub(super) fn battery_w(&self) -> Option<f64> {
        let drawn: Vec<f64> =
            self.batteries.iter().filter_map(|battery| drawn_w(battery)).collect();
        (!drawn.is_empty()).then(|| drawn.iter().sum())
    }

    /// `None` if the machine does not count energy.
    pub(super) fn energy(&self) -> Option<EnergyReading> {
        if self.packages.is_empty() {
            return None;
        }
        self.packages.iter().map(|p| number(&p.energy)).collect()
    }

    /// Joules between two readings. The time between the readings must be shorter than one wrap-around of the counter
    /// (minutes at full power).
    pub(super) fn joules(&self, before: &EnergyReading, now: &EnergyReading) -> f64 {
        let used =
            |(package, (before, now)): (&Package, (&u64, &u64))| match now.checked_sub(*before) {
                Some(used) => used,
                None => package.range.saturating_sub(*before) + now,
            };
        let pairs = before.iter().zip(now);
        self.packages.iter().zip(pairs).map(used).sum::<u64>() as f64 / 1e6
    }

    /// Highest temperature, degrees Celsius.
    pub(super) fn temperature_c(&self) -> Option<f64> {
        self.temperatures.iter().filter_map(|file| number(file)).max().map(|t| t as f64 / 1e3)
    }

    /// Mean over the CPUs, MHz. Without a frequency driver, the kernel knows only a nominal frequency, not a measured
    /// frequency.
    pub(super) fn frequency_mhz(&self) -> Option<f64> {
        let rates: Vec<u64> = self.frequencies.iter().filter_map(|file| number(file)).collect();
        (!rates.is_empty()).then(|| rates.iter().sum::<u64>() as f64 / rates.len() as f64 / 1e3)
    }
}

/// `intel-rapl:0` is a package (on AMD as well) and `intel-rapl:0:1` a part of that package. `intel-rapl-mmio:0` counts
/// the same energy again, and `psys` covers the whole board.
fn packages(powercap: &Path) -> Vec<Package> {
    let mut found = Vec::new();
    for zone in entries(powercap, "intel-rapl:") {
        let package = Package {
            range: number(&zone.join("max_energy_range_uj")).unwrap_or(0),
            energy: zone.join("energy_uj"),
        };
        if text(&zone.join("name")).is_some_and(|n| n.starts_with("package"))
            && number(&package.energy).is_some()
        {
            found.push(package);
        }
    }
    found
}

/// Batteries of the machine itself: batteries of a mouse or a keyboard have the scope `Device` (Linux,
/// Documentation/ABI/testing/sysfs-class-power).
fn batteries(class: &Path) -> Vec<PathBuf> {
    let mut found = entries(class, "");
    found.retain(|supply| {
        text(&supply.join("type")).is_some_and(|t| t == "Battery")
            && text(&supply.join("scope")).is_none_or(|scope| scope != "Device")
    });
    found
}

/// Watts that a battery supplies while it discharges: reported in microwatts, or as microamperes and microvolts.
fn drawn_w(battery: &Path) -> Option<f64> {
    if text(&battery.join("status"))? != "Discharging" {
        return None;
    }
    let micro = |name: &str| {
        let value: i64 = text(&battery.join(name))?.parse().ok()?;
        // Some drivers report discharging as a negative value.
        Some(value.unsigned_abs() as f64 / 1e6)
    };
    micro("power_now").or_else(|| Some(micro("current_now")? * micro("voltage_now")?))
}

/// The inputs for a whole CPU, or all inputs of a driver if no input has such a label.
fn hwmon(class: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for device in entries(class, "hwmon") {
        if !text(&device.join("name")).is_some_and(|n| PROCESSOR.contains(&n.as_str())) {
            continue;
        }
        let mut inputs = entries(&device, "temp");
        inputs.retain(|f| f.to_string_lossy().ends_with("_input") && number(f).is_some());
        let labelled = |wanted: &str| {
            let mut of: Vec<_> = inputs.clone();
            of.retain(|input| {
                let label = input.to_string_lossy().replace("_input", "_label");
                text(Path::new(&label)).is_some_and(|l| l.starts_with(wanted))
            });
            (!of.is_empty()).then_some(of)
        };
        // On some models, AMD's Tctl is Tdie plus an offset.
        let whole = ["Package id", "Tdie", "Tctl"].iter().find_map(|l| labelled(l));
        found.extend(whole.unwrap_or(inputs));
    }
    found
}

/// Thermal zones of CPUs.
fn zones(class: &Path) -> Vec<PathBuf> {
    let mut found = entries(class, "thermal_zone");
    found.retain(|zone| {
        text(&zone.join("type")).is_some_and(|t| t == "x86_pkg_temp" || t.starts_with("cpu"))
    });
    found.into_iter().map(|z| z.join("temp")).filter(|file| number(file).is_some()).collect()
}

/// Entries of a directory whose names start with `beginning`, sorted by name.
fn entries(directory: &Path, beginning: &str) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    let mut found: Vec<_> = entries
        .flatten()
        .filter(|e| e.file_name().to_string_lossy().starts_with(beginning))
        .map(|e| e.path())
        .collect();
    found.sort();
    found
}

fn text(file: &Path) -> Option<String> {
    let mut buffer = [0; 128];
    let text = std::str::from_utf8(task::read(file, &mut buffer)?).ok()?;
    Some(text.trim().to_owned())
}

/// `None` for negative values as well: no working CPU is that cold.
fn number(file: &Path) -> Option<u64> {
    text(file)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(root: &Path, files: &[(&str, &str)]) {
        for (path, content) in files {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
    }

    #[test]
    fn energy_of_the_packages_over_a_turn_of_the_counter() {
        let dir = tempfile::tempdir().unwrap();
        put(
            dir.path(),
            &[
                ("class/powercap/intel-rapl:0/name", "package-0\n"),
                ("class/powercap/intel-rapl:0/energy_uj", "999000000\n"),
                ("class/powercap/intel-rapl:0/max_energy_range_uj", "1000000000\n"),
                ("class/powercap/intel-rapl:0:0/name", "core\n"),
                ("class/powercap/intel-rapl:0:0/energy_uj", "5\n"),
                ("class/powercap/intel-rapl:1/name", "psys\n"),
                ("class/powercap/intel-rapl:1/energy_uj", "7\n"),
                ("class/powercap/intel-rapl:2/name", "package-1\n"),
                ("class/powercap/intel-rapl:2/energy_uj", "10000000\n"),
                ("class/powercap/intel-rapl:2/max_energy_range_uj", "1000000000\n"),
                ("class/powercap/intel-rapl-mmio:0/name", "package-0\n"),
                ("class/powercap/intel-rapl-mmio:0/energy_uj", "9\n"),
            ],
        );
        let sensors = Sensors::find(dir.path());
        let before = sensors.energy().unwrap();
        assert_eq!(before, [999_000_000, 10_000_000]);
        put(
            dir.path(),
            &[
                ("class/powercap/intel-rapl:0/energy_uj", "2000000\n"),
                ("class/powercap/intel-rapl:2/energy_uj", "14500000\n"),
            ],
        );
        let joules = sensors.joules(&before, &sensors.energy().unwrap());
        assert!((joules - (1.0 + 2.0 + 4.5)).abs() < 1e-9, "{joules}");
    }

    #[test]
    fn what_the_machine_draws_from_its_batteries() {
        let dir = tempfile::tempdir().unwrap();
        put(
            dir.path(),
            &[
                ("class/power_supply/AC/type", "Mains\n"),
                ("class/power_supply/BAT0/type", "Battery\n"),
                ("class/power_supply/BAT0/status", "Discharging\n"),
                ("class/power_supply/BAT0/power_now", "6500000\n"),
                ("class/power_supply/BAT1/type", "Battery\n"),
                ("class/power_supply/BAT1/status", "Discharging\n"),
                ("class/power_supply/BAT1/current_now", "-500000\n"),
                ("class/power_supply/BAT1/voltage_now", "12000000\n"),
                ("class/power_supply/mouse/type", "Battery\n"),
                ("class/power_supply/mouse/scope", "Device\n"),
                ("class/power_supply/mouse/status", "Discharging\n"),
                ("class/power_supply/mouse/power_now", "9000000\n"),
            ],
        );
        let watts = || Sensors::find(dir.path()).battery_w();
        assert_eq!(watts(), Some(12.5));
        put(dir.path(), &[("class/power_supply/BAT0/status", "Full\n")]);
        assert_eq!(watts(), Some(6.0));
        put(dir.path(), &[("class/power_supply/BAT1/status", "Charging\n")]);
        assert_eq!(watts(), None, "on mains power");
    }

    #[test]
    fn the_hottest_processor() {
        let dir = tempfile::tempdir().unwrap();
        let zone = [
            ("class/thermal/thermal_zone0/type", "acpitz\n"),
            ("class/thermal/thermal_zone0/temp", "99000\n"),
            ("class/thermal/thermal_zone1/type", "x86_pkg_temp\n"),
            ("class/thermal/thermal_zone1/temp", "61000\n"),
        ];
        put(dir.path(), &zone);
        assert_eq!(Sensors::find(dir.path()).temperature_c(), Some(61.0));
        put(
            dir.path(),
            &[
                ("class/hwmon/hwmon0/name", "nvme\n"),
                ("class/hwmon/hwmon0/temp1_input", "90000\n"),
                ("class/hwmon/hwmon1/name", "coretemp\n"),
                ("class/hwmon/hwmon1/temp1_input", "55500\n"),
                ("class/hwmon/hwmon1/temp1_label", "Package id 0\n"),
                ("class/hwmon/hwmon1/temp2_input", "57000\n"),
                ("class/hwmon/hwmon1/temp2_label", "Core 0\n"),
                ("class/hwmon/hwmon2/name", "coretemp\n"),
                ("class/hwmon/hwmon2/temp1_input", "56000\n"),
                ("class/hwmon/hwmon2/temp1_label", "Package id 1\n"),
            ],
        );
        assert_eq!(Sensors::find(dir.path()).temperature_c(), Some(56.0));
        put(
            dir.path(),
            &[
                ("class/hwmon/hwmon3/name", "k10temp\n"),
                ("class/hwmon/hwmon3/temp1_input", "95000\n"),
                ("class/hwmon/hwmon3/temp1_label", "Tctl\n"),
                ("class/hwmon/hwmon3/temp2_input", "68000\n"),
                ("class/hwmon/hwmon3/temp2_label", "Tdie\n"),
            ],
        );
        assert_eq!(Sensors::find(dir.path()).temperature_c(), Some(68.0));
    }

    #[test]
    fn the_mean_clock_rate() {
        let dir = tempfile::tempdir().unwrap();
        put(
            dir.path(),
            &[
                ("devices/system/cpu/cpufreq/policy0/scaling_cur_freq", "3000000\n"),
                ("devices/system/cpu/cpufreq/policy1/scaling_cur_freq", "2000000\n"),
                ("devices/system/cpu/cpufreq/policy2/scaling_cur_freq", "<unknown>\n"),
            ],
        );
        assert_eq!(Sensors::find(dir.path()).frequency_mhz(), Some(2500.0));
    }

    #[test]
    fn a_machine_without_sensors() {
        let sensors = Sensors::find(Path::new("/nowhere"));
        assert!(sensors.energy().is_none() && sensors.battery_w().is_none());
        assert!(sensors.temperature_c().is_none() && sensors.frequency_mhz().is_none());
    }
}
