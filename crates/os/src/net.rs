//! System-specific options of connections.

pub use crate::system::net::end_when_unread;
