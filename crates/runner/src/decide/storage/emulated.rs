//! An emulated device as the storage of a run: computes its size and checks that there is space for
//! it.

use cryptbench_load::WorkloadSpec;
use cryptbench_text::{human_both, shown};

use super::{MIB, Range};
use crate::RunError;
use crate::decide::arms::{Arms, makes_a_disk};
use crate::decide::sizes::{containers, file_space, least_scratch, makes_files};
use crate::look::Facts;
use crate::request::EmulateRequest;

/// Size of the scratch file if the user does not specify a size.
const USUAL: u64 = 256 * MIB;

/// Bytes that ext4 needs in addition to a sixteenth.
const FILE_SYSTEM: u64 = 96 * MIB;

/// An emulated device of the right size.
#[derive(Clone, Debug)]
pub(crate) struct EmulatedStorage {
    /// The model, and the storage for its bytes.
    pub(crate) emulate: EmulateRequest,
    /// Size of the device in bytes.
    pub(crate) size: u64,
    /// Whether the device gets a file system, which requires root.
    pub(crate) has_file_system: bool,
    /// The region of the device that is accessed by requests.
    pub(crate) range: Range,
}

impl EmulatedStorage {
    /// Computes the size of the device for `arms` and `workloads`, with a requested scratch file size of
    /// `asked` bytes, if any.
    ///
    /// # Errors
    /// [`RunError::Option`] if it does not fit into the available space.
    pub(super) fn plan(
        emulate: &EmulateRequest,
        asked: Option<u64>,
        arms: &Arms,
        workloads: &[WorkloadSpec],
        facts: &Facts,
    ) -> Result<Self, RunError> {
        let has_file_system = facts.is_root;
        if !has_file_system {
            refuse_files(arms, workloads)?;
        }
        let least = least_scratch(workloads).next_multiple_of(MIB);
        let scratch = asked.unwrap_or(USUAL.max(least)) / MIB * MIB;
        let each = scratch + file_space(workloads);
        let mut size = each;
        if has_file_system {
            // The sizes of systems depend on the free space, which depends on the size of the
            // device.
            for _ in 0..8 {
                let need = each + containers(arms.systems(), each, size);
                size = (need / 19 * 20 + need / 16 + FILE_SYSTEM).next_multiple_of(MIB).max(size);
            }
        }
        let size = size.next_multiple_of(MIB);
        let room = match (&facts.room_to_emulate, &emulate.backing) {
            (Some(Err(why)), Some(directory)) => {
                return Err(RunError::Target { path: directory.clone(), problem: why.clone() });
            }
            (Some(Ok(room)), _) => *room,
            _ => 0,
        };
        let backing = match &emulate.backing {
            None => (
                room / 2,
                "half of the free memory is".to_owned(),
                "specify a directory with --emulate-backing, or reduce --size",
            ),
            Some(directory) => {
                (room / 20 * 19, format!("{} has room for", shown(directory)), "reduce --size")
            }
        };
        let model = (emulate.model.capacity_bytes, "its capacity is".to_owned(), "reduce --size");
        let (there, of, remedy) = if model.0 < backing.0 { model } else { backing };
        if size > there {
            let (needed, there) = human_both(size, there);
            let problem = format!(
                "the emulated {} needs {needed}, but {of} {there}: {remedy}",
                emulate.model.name
            );
            return Err(RunError::Option { option: "size", problem });
        }
        let reason = "the emulated device is sized to fit".to_owned();
        let range = Range { size: scratch, reason };
        Ok(Self { emulate: emulate.clone(), size, has_file_system, range })
    }

    /// The storage for the device's data, in words.
    pub(crate) fn backing_in_words(&self) -> String {
        match &self.emulate.backing {
            None => "memory".to_owned(),
            Some(directory) => format!("a file in {}", shown(directory)),
        }
    }
}

/// Refuses work that requires a file system.
fn refuse_files(arms: &Arms, workloads: &[WorkloadSpec]) -> Result<(), RunError> {
    let what = match arms {
        Arms::Volumes(_) => Some("the volumes to open are files".to_owned()),
        Arms::Systems(arms) => {
            let work = workloads.iter().find(|w| makes_files(&w.work));
            let arm = arms.iter().find(|arm| makes_a_disk(arm));
            work.map(|w| format!("workload {:?} creates new files", w.id))
                .or_else(|| arm.map(|arm| format!("{} stores its data in files", arm.label)))
        }
    };
    let Some(what) = what else { return Ok(()) };
    Err(RunError::Usage(format!(
        "the emulated device has a file system only for root, but {what}: run this as root, or choose another \
         profile or system"
    )))
}
