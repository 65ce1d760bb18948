//! Findings from the files in /proc and /sys.

pub mod disturbances;
