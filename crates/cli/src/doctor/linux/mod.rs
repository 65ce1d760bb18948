//! What is looked at in Linux's own files, in /proc and /sys.

pub mod disturbances;
