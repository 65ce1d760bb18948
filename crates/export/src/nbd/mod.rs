//! A block device over NBD on a Unix socket, for virtual machines, `nbdcopy`, `nbd-client` and similar clients.
//!
//! Source: the protocol's `doc/proto.md` (github.com/NetworkBlockDevice/nbd): fixed newstyle negotiation, simple
//! replies. A flush on any connection covers the writes of all connections, so clients may open several connections.

mod handshake;
mod protocol;
mod server;
mod transmission;

pub use server::{NbdOptions, NbdServer, NbdSocket, serve, serve_on};
