//! What `devices` promises its users, one module for each subject.

mod behaviour;
mod calibration;
