//! The local page: a server on the loopback address that starts runs as separate processes and
//! displays them.
//!
//! The server measures nothing. A run is another process of this program, started with `run --progress json`. The
//! server writes the run's standard error to one log, and all pages receive the same log. The run is not affected
//! if a page is closed, if a client does not read, or if the server exits.
//!
//! Anyone who knows the address may start runs. The address contains a random token, and the server refuses
//! requests for another host or from another origin (DNS rebinding, other pages). The page loads nothing from other
//! servers.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::disallowed_methods, clippy::print_stderr))]

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

use std::ffi::OsString;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

use cryptbench_record::Plan;
use tokio::net::TcpListener;

pub use address::Address;
pub use catalogue::{Catalogue, Choice, Device, Format, Mounted, Offered, Profile, System};
pub use error::ServeError;
pub use opener::{Opener, open};
pub use order::{Invalid, Order, Pair};

use measurement::Measurement;
use runs::Runs;

/// The port that is tried first unless the user specifies one.
pub const PORT: u16 = 7373;

/// The environment of the page: the program that it starts, and the directory of runs.
pub struct Site {
    /// The program's path; it supports `run`, `compare` and `report`.
    pub program: PathBuf,
    /// The directory that contains one directory per run.
    pub runs: PathBuf,
    /// The directory of a fleet, whose report the page also shows.
    pub fleet: Option<PathBuf>,
    /// Returns the choices of this machine. The server calls this again when the page is opened while no run is in
    /// progress.
    pub catalogue: fn() -> Catalogue,
    /// Returns the names of a plan's choices, as in the answer and in the plan's order.
    pub names: fn(&Plan) -> Vec<String>,
    /// The options of `run` that an order may contain.
    pub options: Vec<Offered>,
    /// Plans the run with these arguments of `run`, with the program's own parser and checks, and
    /// returns the plan as `run --dry-run --json` prints it. Writes nothing.
    pub plan: fn(&[OsString]) -> Result<serde_json::Value, Invalid>,
}

/// A server that listens but does not accept connections yet.
pub struct Server {
    listener: std::net::TcpListener,
    address: Address,
}

impl Server {
    /// If the port is in use, or no random bytes are available for the token.
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

    /// The address of the page.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Serves requests until SIGINT, SIGTERM or SIGHUP. If a run is in progress at that time, the server asks it to
    /// exit cleanly and waits for it, unless a second signal arrives; `tell` receives a sentence for the user.
    /// `ready` is called once the signal handlers and the server are in place.
    ///
    /// # Errors
    /// If the runtime or a signal handler cannot be created.
    pub fn run(
        self,
        site: Site,
        tell: fn(&str),
        ready: impl FnOnce(&Address),
    ) -> Result<(), ServeError> {
        // Two threads: a client that keeps one of them busy does not block others, and the run gets the
        // remaining CPUs.
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .max_blocking_threads(8)
            .enable_all()
            .build()
            .map_err(ServeError::Runtime)?;
        let done = runtime.block_on(self.answer(site, tell, ready));
        // Clients that stop reading must not keep the program from exiting.
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
            runs: Arc::new(Runs::new(site.runs, site.names)),
            fleet: site.fleet.map(Arc::new),
            asked: Arc::new(asked::Asked::new(site.program)),
            plan: site.plan,
            options: site.options.into(),
            reports: Arc::default(),
            offer: Arc::new(offer::Offer::new(site.catalogue)),
            watchers: Arc::new(tokio::sync::Semaphore::new(events::MOST_WATCHERS)),
        };
        // The first page does not have to wait for the catalogue.
        let offer = Arc::clone(&app.offer);
        tokio::task::spawn_blocking(move || offer.get(false));
        tokio::spawn(busy::watch(Arc::clone(&measurement)));
        tokio::spawn(connections::accept(listener, routes::router(app)));
        signals.next().await;
        if measurement.close() {
            tell(
                "stopping the run; its results so far are kept (a second signal: exit without waiting)",
            );
        }
        tokio::select! {
            () = measurement.ended() => {}
            () = signals.next() => tell("the run was told to stop; exiting without waiting for it"),
        }
        Ok(())
    }
}
