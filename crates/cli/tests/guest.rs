//! Volumes exchanged between cryptbench and a real dm-crypt, systems on device mapper, and power cuts, in user-mode
//! Linux; volumes as ublk disks under a distribution's kernel.

#[path = "guest/adapters.rs"]
mod adapters;
#[path = "guest/distribution.rs"]
mod distribution;
#[path = "guest/lower.rs"]
mod lower;
#[path = "guest/machine.rs"]
mod machine;
#[path = "guest/matrix.rs"]
mod matrix;
#[path = "guest/ours.rs"]
mod ours;
#[path = "guest/power.rs"]
mod power;
#[path = "guest/run.rs"]
mod run;
#[path = "integration/sandbox/mod.rs"]
mod sandbox;
#[path = "guest/theirs.rs"]
mod theirs;
#[path = "guest/ublk.rs"]
mod ublk;
