//! What a fleet's directory comes to, on records whose costs are known.

mod collect;
mod emulated;
mod hostile_nodes;
mod hostile_plans;
mod made;
mod plan;
mod programs;
mod report;
mod scale;
mod shared;
