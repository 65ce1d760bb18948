//! Whether the bytes of a workload reached the device, or were served from a cache.
//!
//! - Reads and writes are compared with the device's counter for their direction, and mixed workloads with the sum of
//!   both counters.
//! - Creating small files transfers their bytes to the device (creation ends with a flush), and reading transfers these
//!   bytes back. If less than half of these bytes were transferred, the data came from a cache.
//! - `stat`, `rename` and `delete` do not transfer file data. The cost of these actions is the work on directories,
//!   which normally also happens in a warm cache, so the actions are never reported as cached.
//! - Opening a volume consists of key derivation; the few sectors that are read prove nothing.

use cryptbench_record::{Operation, Trial, Workload};

/// Bytes transferred by the device per requested byte; `None` if the device has no counters, nothing was requested,
/// or the ratio has no meaning for this workload.
pub fn device_ratio(trial: &Trial, workload: &Workload) -> Option<f64> {
    let moved = trial.measured.device?;
    let bytes = match workload.operation {
        Operation::Read => moved.read_bytes,
        Operation::Write | Operation::Create => moved.written_bytes,
        Operation::Mixed => moved.read_bytes.saturating_add(moved.written_bytes),
        _ => return None,
    };
    (trial.measured.bytes > 0).then(|| bytes as f64 / trial.measured.bytes as f64)
}

/// Whether CPU time per byte is meaningful: the workload transfers file data.
pub fn moves_bytes(workload: &Workload) -> bool {
    use Operation::{Create, Mixed, Read, Write};
    matches!(workload.operation, Read | Write | Mixed | Create)
}

#[cfg(test)]
mod tests {
    use cryptbench_record::{DeviceMoved, Observation};

    use super::*;

    fn ratio(operation: &str) -> Option<f64> {
        let device = DeviceMoved { read_bytes: 30, written_bytes: 60, reads: 3, writes: 6 };
        let measured = Observation { bytes: 100, device: Some(device), ..Observation::default() };
        let trial = Trial { measured, ..Trial::default() };
        device_ratio(
            &trial,
            &Workload { operation: operation.to_owned().into(), ..Workload::default() },
        )
    }

    #[test]
    fn each_operation_is_held_against_what_it_moves() {
        assert_eq!(ratio("read"), Some(0.3));
        assert_eq!(ratio("write"), Some(0.6));
        assert_eq!(ratio("create"), Some(0.6));
        assert_eq!(ratio("mixed"), Some(0.9));
        for without in ["stat", "rename", "delete", "unlock"] {
            assert_eq!(ratio(without), None, "{without}");
        }
    }
}
