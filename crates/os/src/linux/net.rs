//! Options of sockets.

use std::os::fd::AsFd;
use std::time::Duration;

/// Ends a connection whose other side takes nothing of what it was sent for so long, its window closed or not (tcp(7),
/// `TCP_USER_TIMEOUT`), as far as the system can be asked for that.
pub fn end_when_unread(stream: impl AsFd, after: Duration) {
    let after = u32::try_from(after.as_millis()).unwrap_or(u32::MAX);
    let _ = rustix::net::sockopt::set_tcp_user_timeout(stream, after);
}
