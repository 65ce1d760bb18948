//! A modelled device as the storage of a run: how large it must be, and whether there is room for it.

use cryptbench_load::WorkloadSpec;
use cryptbench_os::machine::memory_available;
use cryptbench_os::storage::space;
use cryptbench_os::user;

use super::{MIB, Range, human};
use crate::RunError;
use crate::plan::arms::{Arms, makes_a_disk};
use crate::plan::request::EmulateRequest;
use crate::plan::sizes::{containers, file_space, least_scratch, makes_files};

/// The scratch file where nobody asks for a size.
const USUAL: u64 = 256 * MIB;

/// What ext4 takes for itself beside a sixteenth.
const FILE_SYSTEM: u64 = 96 * MIB;

/// A modelled device of the right size.
#[derive(Clone, Debug)]
pub(crate) struct EmulatedStorage {
    /// The device, and what is to hold its bytes.
    pub(crate) emulate: EmulateRequest,
    /// Bytes of the device.
    pub(crate) size: u64,
    /// The part of it that requests go to.
    pub(crate) range: Range,
}

/// Whether the device gets a file system: that takes root.
pub(crate) fn with_file_system() -> bool {
    user::is_root()
}

impl EmulatedStorage {
    /// How large the device must be for `arms` and `workloads`, with as many bytes of scratch file as were `asked` for.
    ///
    /// # Errors
    /// [`RunError::Usage`] if it does not fit into what may be taken.
    pub(super) fn plan(
        emulate: &EmulateRequest,
        asked: Option<u64>,
        arms: &Arms,
        workloads: &[WorkloadSpec],
    ) -> Result<Self, RunError> {
        if !with_file_system() {
            refuse_files(arms, workloads)?;
        }
        let least = least_scratch(workloads).next_multiple_of(MIB);
        let scratch = asked.unwrap_or(USUAL.max(least)) / MIB * MIB;
        let each = scratch + file_space(workloads);
        let mut size = each;
        if with_file_system() {
            // What systems make depends on what is free, and that on the device.
            for _ in 0..8 {
                let need = each + containers(arms.systems(), each, size);
                size = (need / 19 * 20 + need / 16 + FILE_SYSTEM).next_multiple_of(MIB).max(size);
            }
        }
        let size = size.next_multiple_of(MIB);
        let (there, of) = match &emulate.backing {
            None => (memory_available().unwrap_or(0) / 2, "half of the free memory is".to_owned()),
            Some(directory) => {
                let space = space(directory).map_err(|e| RunError::Target {
                    path: directory.clone(),
                    problem: e.to_string(),
                })?;
                let free = space.free / 20 * 19;
                (free, format!("{} has", directory.display()))
            }
        };
        if size > there.min(emulate.model.capacity_bytes) {
            let remedy = match &emulate.backing {
                None => "name a directory with --emulate-backing, or ask for less with --size",
                Some(_) => "ask for less with --size",
            };
            return Err(RunError::Usage(format!(
                "the emulated {} needs {}, and {of} {}: {remedy}",
                emulate.model.name,
                human(size),
                human(there.min(emulate.model.capacity_bytes))
            )));
        }
        let reason = "the emulated device is made to fit".to_owned();
        Ok(Self { emulate: emulate.clone(), size, range: Range { size: scratch, reason } })
    }

    /// What holds the bytes, in words.
    pub(crate) fn backing_in_words(&self) -> String {
        match &self.emulate.backing {
            None => "memory".to_owned(),
            Some(directory) => format!("a file in {}", directory.display()),
        }
    }
}

/// Refuses what takes a file system.
fn refuse_files(arms: &Arms, workloads: &[WorkloadSpec]) -> Result<(), RunError> {
    let what = match arms {
        Arms::Volumes(_) => Some("volumes to be opened are files".to_owned()),
        Arms::Systems(arms) => {
            let work = workloads.iter().find(|w| makes_files(&w.work));
            let arm = arms.iter().find(|arm| makes_a_disk(arm));
            work.map(|w| format!("the workload {:?} makes new files", w.id))
                .or_else(|| arm.map(|arm| format!("{} keeps its data in files", arm.label)))
        }
    };
    let Some(what) = what else { return Ok(()) };
    Err(RunError::Usage(format!(
        "the emulated device has a file system only if root runs this, and {what}: run it as root, or choose others"
    )))
}
