//! Options of sockets.

use std::os::fd::AsFd;
use std::time::Duration;

/// Closes a connection if the peer accepts no data for this long, even with a closed window (tcp(7),
/// `TCP_USER_TIMEOUT`). No effect if the system does not support this timeout.
pub fn end_when_unread(stream: impl AsFd, after: Duration) {
    let after = u32::try_from(after.as_millis()).unwrap_or(u32::MAX);
    let _ = rustix::net::sockopt::set_tcp_user_timeout(stream, after);
}
