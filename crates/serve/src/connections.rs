//! Connections: limits their number, and drops clients that do not keep up.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::Semaphore;

/// Most simultaneous connections; further ones wait to be accepted.
const MOST: usize = 160;
/// Longest time for a request's head, and for the next request on a kept connection.
const HEAD: Duration = Duration::from_secs(10);
/// Most bytes of a request's head.
const HEAD_BYTES: usize = 16 << 10;
/// How long a client may leave sent data unread, in milliseconds.
const UNREAD_MS: u32 = 30_000;

/// Accepts and serves connections. Never returns.
pub(crate) async fn accept(listener: TcpListener, router: Router) {
    let places = Arc::new(Semaphore::new(MOST));
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        match listener.accept().await {
            Ok((stream, _)) => {
                let router = router.clone();
                tokio::spawn(async move {
                    serve(stream, router).await;
                    drop(place);
                });
            }
            // Out of descriptors, or the client has gone: neither ends the server.
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
}

async fn serve(stream: TcpStream, router: Router) {
    let _ = stream.set_nodelay(true);
    // The kernel closes a connection whose client takes nothing for this long, even with a closed
    // window (tcp(7)).
    let _ = rustix::net::sockopt::set_tcp_user_timeout(&stream, UNREAD_MS);
    // A malformed request has already been answered; any other error concerns only the client.
    let _ = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .max_buf_size(HEAD_BYTES)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router))
        .await;
}

/// The signals that end the server.
pub(crate) struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
}

impl Signals {
    pub(crate) fn new() -> std::io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }

    /// Waits for the next signal.
    pub(crate) async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            _ = self.hang_up.recv() => {}
        }
    }
}
