//! Connections, beyond what every system does with them.

pub use crate::system::net::end_when_unread;
