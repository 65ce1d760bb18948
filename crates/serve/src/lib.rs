//! The local page: a server on the loopback address that starts runs as processes of their own and shows them.
//!
//! The server measures nothing. A run is this program started again with `run --progress json`; what it tells on its
//! standard error goes into one log, from which every page is told the same. A page that is closed, a client
//! that does not read and a server that dies leave the run as it is.
//!
//! Whoever knows the address may start runs: it holds a random token, and requests that name another host or come
//! from another origin are refused (DNS rebinding, pages of others). Nothing is loaded from elsewhere.
#![forbid(unsafe_code)]

mod address;
mod asked;
mod assets;
mod busy;
mod catalogue;
mod connections;
mod error;
mod events;
mod guard;
mod log;
mod measurement;
mod offer;
mod opener;
mod order;
mod refused;
mod reports;
mod routes;
mod runs;

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

use tokio::net::TcpListener;

pub use address::Address;
pub use catalogue::{Catalogue, Choice, Device, Format, Profile, System};
pub use error::ServeError;
pub use opener::{Opener, open};
pub use order::{Invalid, Order};

use measurement::Measurement;
use runs::Runs;

/// The port that is tried first where none is asked for.
pub const PORT: u16 = 7373;

/// What the page is about: the program that it starts, and where runs lie.
pub struct Site {
    /// The program; it understands `run`, `compare` and `report`.
    pub program: PathBuf,
    /// The directory in which each run has one of its own.
    pub runs: PathBuf,
    /// What can be chosen here; asked for anew when the page is opened and no run goes on.
    pub catalogue: fn() -> Catalogue,
}

/// A server that listens and does not answer yet.
pub struct Server {
    listener: std::net::TcpListener,
    address: Address,
}

impl Server {
    /// Takes a port of the loopback address: the one that is asked for, else [`PORT`], else any.
    ///
    /// # Errors
    /// The port is taken, or there is no randomness for the token.
    pub fn bind(port: Option<u16>) -> Result<Self, ServeError> {
        let at = |port| std::net::TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
        let failed = |port| move |source| ServeError::Bind { port, source };
        let listener = match port {
            Some(port) => at(port).map_err(failed(port))?,
            None => at(PORT).or_else(|_| at(0)).map_err(failed(PORT))?,
        };
        listener.set_nonblocking(true).map_err(ServeError::Runtime)?;
        let port = listener.local_addr().map_err(ServeError::Runtime)?.port();
        Ok(Self { listener, address: Address::new(port)? })
    }

    /// Where the page is.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Answers until SIGINT, SIGTERM or SIGHUP. A run that goes on then is told to end in good order and waited for,
    /// unless a second signal comes; `tell` receives a sentence for the user. `ready` is called once all this holds.
    ///
    /// # Errors
    /// No runtime can be had, or no signal handler.
    pub fn run(
        self,
        site: Site,
        tell: fn(&str),
        ready: impl FnOnce(&Address),
    ) -> Result<(), ServeError> {
        // Two threads: one client that keeps one of them busy does not keep others waiting, and a run has the rest.
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .max_blocking_threads(8)
            .enable_all()
            .build()
            .map_err(ServeError::Runtime)?;
        let done = runtime.block_on(self.answer(site, tell, ready));
        // Clients that read no further must not keep the program.
        runtime.shutdown_background();
        done
    }

    async fn answer(
        self,
        site: Site,
        tell: fn(&str),
        ready: impl FnOnce(&Address),
    ) -> Result<(), ServeError> {
        let listener = TcpListener::from_std(self.listener).map_err(ServeError::Runtime)?;
        let mut signals = connections::Signals::new().map_err(ServeError::Runtime)?;
        ready(&self.address);
        let measurement = Arc::new(Measurement::new(site.program.clone()));
        let app = routes::App {
            address: Arc::new(self.address),
            measurement: Arc::clone(&measurement),
            runs: Arc::new(Runs::new(site.runs)),
            asked: Arc::new(asked::Asked::new(site.program)),
            reports: Arc::default(),
            offer: Arc::new(offer::Offer::new(site.catalogue)),
            watchers: Arc::new(tokio::sync::Semaphore::new(events::MOST_WATCHERS)),
        };
        // The first page need not wait for it.
        let offer = Arc::clone(&app.offer);
        tokio::task::spawn_blocking(move || offer.get(false));
        tokio::spawn(busy::watch(Arc::clone(&measurement)));
        tokio::spawn(connections::accept(listener, routes::router(app)));
        signals.next().await;
        if measurement.close() {
            tell(
                "ending the run in good order; what was measured is kept (again: do not wait for it)",
            );
        }
        tokio::select! {
            () = measurement.ended() => {}
            () = signals.next() => tell("the run is told to end, and not waited for"),
        }
        Ok(())
    }
}
