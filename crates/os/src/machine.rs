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
