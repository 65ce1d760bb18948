//! Sets up arms according to the kind of their system.

pub(crate) mod in_place;
pub(crate) mod inline;
pub(crate) mod mapped;
pub(crate) mod place;
pub(crate) mod program;
pub(crate) mod served;
pub(crate) mod stacked;
pub(crate) mod unsupported;
