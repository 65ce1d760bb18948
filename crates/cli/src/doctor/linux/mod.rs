//! Findings from Linux's own files in /proc and /sys.

pub mod disturbances;
