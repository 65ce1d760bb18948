//! Who this process is.

/// Number of the user whose rights it has (the effective user). 0 where users have no numbers, as owners have there.
#[must_use]
pub fn effective() -> u32 {
    crate::system::user::effective()
}

/// Number of the user who started it. 0 as for [`effective`].
#[must_use]
pub fn real() -> u32 {
    crate::system::user::real()
}

/// Whether it may do everything. Where the system does not tell, no.
#[must_use]
pub fn is_root() -> bool {
    crate::system::user::is_root()
}
