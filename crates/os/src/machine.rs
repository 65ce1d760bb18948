//! Describes the machine.

/// The machine as described by the system. Unknown values are empty, 0 or `None`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Machine {
    /// CPU model, as the kernel reports it.
    pub cpu_model: String,
    /// Number of CPUs that this process may use.
    pub cpus: u32,
    /// Usable CPU features that matter to ciphers.
    pub cpu_features: Vec<String>,
    /// Memory size in bytes.
    pub memory_bytes: u64,
    /// Kernel name, release and version.
    pub kernel: String,
    /// Name of the distribution.
    pub os: String,
    /// Name of the hypervisor or container, if one is detected.
    pub virtualisation: Option<String>,
    /// Name of the emulator, if any, in which case speeds do not apply to hardware.
    pub emulated: Option<String>,
    /// One-minute load average.
    pub load_average: f64,
    /// The settings that determine the clock rate of the CPUs.
    pub power: Power,
}

/// The word before the hypervisor's name in [`Machine::virtualisation`].
pub const VIRTUAL_MACHINE: &str = "virtual machine";

impl Machine {
    /// Whether the devices are provided by a hypervisor, or by a kernel that runs as a program.
    pub fn is_virtual(&self) -> bool {
        self.virtualisation.as_deref().is_some_and(|name| name != "container")
    }
}

/// The limits that control groups impose on all their processes together; `None` means no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Limits {
    /// Bytes of memory.
    pub memory_bytes: Option<u64>,
    /// Seconds of CPU time per second.
    pub cpus: Option<f64>,
}

impl Limits {
    /// Those of this process.
    pub fn this() -> Self {
        crate::system::machine::limits()
    }
}

/// How long the processes of this process's control groups had to wait for CPU time because of a limit; `None` if there
/// is no limit.
pub fn throttled() -> Option<std::time::Duration> {
    crate::system::machine::throttled()
}

/// How a machine saves power, in the system's terms. Unknown values are `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Power {
    /// The policies that choose the CPUs' clock rates, without duplicates, such as `powersave`.
    pub governor: Option<String>,
    /// The driver that sets the clock rates, such as `intel_pstate`.
    pub driver: Option<String>,
    /// The preference set for the CPU itself, such as `balance_performance`.
    pub preference: Option<String>,
    /// Whether the machine runs on a battery; `None` if the machine has no battery.
    pub on_battery: Option<bool>,
}

impl Machine {
    /// Describes this machine as it is now.
    pub fn this() -> Self {
        crate::system::machine::describe()
    }
}

/// The kernel file system that is needed to find and remove what was set up (`/proc` on Linux); returned only if that
/// file system is not mounted.
pub fn missing_file_system() -> Option<&'static str> {
    crate::system::machine::missing_file_system()
}

/// Number of CPUs for which the kernel is prepared, including offline CPUs; 1 if the kernel does not report the number.
pub fn possible_cpus() -> u32 {
    crate::system::machine::possible_cpus().unwrap_or(1).max(1)
}

/// Memory size in bytes; `None` if the system does not report the size.
pub fn memory_bytes() -> Option<u64> {
    crate::system::machine::memory_bytes()
}

/// Memory in bytes that can be used without swapping; `None` if the system does not report it.
pub fn memory_available() -> Option<u64> {
    crate::system::machine::memory_available()
}

/// Busy and total time of all CPUs together since boot, in a system-specific unit. `None` if the system does not report
/// these times.
pub fn processor_time() -> Option<(u64, u64)> {
    crate::system::machine::processor_time()
}

/// The trimmed value of a kernel setting, named as in sysctl(8); `None` if there is no such setting.
pub fn kernel_setting(name: &str) -> Option<String> {
    crate::system::machine::kernel_setting(name)
}

/// The name of this machine on the network; empty if the system does not report the name.
pub fn host_name() -> String {
    crate::system::machine::host_name().unwrap_or_default()
}

/// The ID of this installation (machine-id(5)), which its owner may want to keep private; `None` if the installation
/// has no ID.
pub fn machine_id() -> Option<String> {
    crate::system::machine::machine_id()
}

/// A random ID of the current boot; `None` if the system does not report an ID.
pub fn boot_id() -> Option<String> {
    kernel_setting("kernel.random.boot_id")
}

/// Drops the kernel's directory and inode caches. False if this process is not permitted to do so, which requires root.
pub fn drop_directory_caches() -> bool {
    crate::system::machine::drop_directory_caches()
}
