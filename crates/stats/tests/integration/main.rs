//! What `stats` promises its users, one module for each subject.

mod coverage;
mod detect;
mod edge_cases;
mod explanation;
mod placement;
mod places;
mod pooled;
mod power;
mod prediction;
mod reference;
mod schedule;
mod simulation;
mod steady_state;
mod stopping;
mod turns;
