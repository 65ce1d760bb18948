//! What a fleet's directory comes to, on records whose costs are known.

#[cfg(feature = "parquet")]
mod collect;
mod emulated;
mod made;
mod plan;
mod report;
mod scale;
mod shared;
