//! Why there is no server.

/// Why the page cannot be served.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The port cannot be had.
    #[error("cannot listen on 127.0.0.1:{port}; choose another port with --port")]
    Bind {
        /// The port.
        port: u16,
        /// Why.
        source: std::io::Error,
    },
    /// The kernel gives no random bytes for the token.
    #[error("the system gives no random numbers for the address")]
    Random(#[source] getrandom::Error),
    /// Threads, timers or signals cannot be had.
    #[error("cannot serve")]
    Runtime(#[source] std::io::Error),
    /// The address cannot be handed to a browser.
    #[error("cannot open a browser ({program}); open the address yourself")]
    Open {
        /// What was tried.
        program: &'static str,
        /// Why.
        source: std::io::Error,
    },
}
