//! What machine this is.

/// The machine as the system describes it. What it does not tell is empty, 0 or `None`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Machine {
    /// CPU model as the kernel names it.
    pub cpu_model: String,
    /// Processors that this process may use.
    pub cpus: u32,
    /// CPU features that matter to ciphers and are usable here.
    pub cpu_features: Vec<String>,
    /// Bytes of memory.
    pub memory_bytes: u64,
    /// Kernel name, release and version.
    pub kernel: String,
    /// The distribution.
    pub os: String,
    /// Name of the hypervisor or container, when one is recognised.
    pub virtualisation: Option<String>,
    /// What emulates the machine, where its speed says nothing about hardware.
    pub emulated: Option<String>,
    /// One-minute load average.
    pub load_average: f64,
}

impl Machine {
    /// Describes this machine as it is now.
    #[must_use]
    pub fn this() -> Self {
        crate::system::machine::describe()
    }
}

/// Bytes of memory that the machine has; `None` where the system does not tell.
#[must_use]
pub fn memory_bytes() -> Option<u64> {
    crate::system::machine::memory_bytes()
}

/// Bytes of memory that can be taken without swapping; `None` where the system does not tell.
#[must_use]
pub fn memory_available() -> Option<u64> {
    crate::system::machine::memory_available()
}

/// Time of all processors together since the machine started, in a unit of the system's: busy, and all of it. `None` where
/// the system does not tell.
#[must_use]
pub fn processor_time() -> Option<(u64, u64)> {
    crate::system::machine::processor_time()
}

/// A setting of the kernel by its name, as sysctl(8) has it, trimmed; `None` where there is none.
#[must_use]
pub fn kernel_setting(name: &str) -> Option<String> {
    crate::system::machine::kernel_setting(name)
}

/// Empties the kernel's caches of directories and of what is known of files; whether it could: it takes root.
pub fn drop_directory_caches() -> bool {
    crate::system::machine::drop_directory_caches()
}
