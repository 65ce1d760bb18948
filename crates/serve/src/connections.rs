//! Connections: limits their number, and drops clients that do not keep up.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use cryptbench_os::net::end_when_unread;
use cryptbench_os::signals::when_asked_to_end;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, Semaphore};

/// Maximum number of simultaneous connections; further ones wait to be accepted.
const MOST: usize = 160;
/// Maximum time for a request's head, and for the next request on a kept connection.
const HEAD: Duration = Duration::from_secs(10);
/// Maximum size of a request's head, in bytes.
const HEAD_BYTES: usize = 16 << 10;
/// How long a client may leave sent data unread.
const UNREAD: Duration = Duration::from_secs(30);

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
            // If there are no file descriptors left or the client has gone, the server continues.
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
}

async fn serve(stream: TcpStream, router: Router) {
    let _ = stream.set_nodelay(true);
    end_when_unread(&stream, UNREAD);
    // A malformed request has already been answered; any other error concerns only the client.
    let _ = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .max_buf_size(HEAD_BYTES)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router))
        .await;
}

/// The signals that stop the server.
pub(crate) struct Signals(Arc<Notify>);

impl Signals {
    pub(crate) fn new() -> std::io::Result<Self> {
        let came = Arc::new(Notify::new());
        let tells = Arc::clone(&came);
        // A notification that nobody is waiting for is kept until somebody waits.
        when_asked_to_end(move || tells.notify_one())?;
        Ok(Self(came))
    }

    /// Waits for the next signal.
    pub(crate) async fn next(&mut self) {
        self.0.notified().await;
    }
}
