//! The errors that prevent the server from starting.

/// Why the page cannot be served.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The port is not available.
    #[error("cannot listen on 127.0.0.1:{port}; choose another port with --port")]
    Bind {
        /// The port.
        port: u16,
        /// The operating system's error.
        source: std::io::Error,
    },
    /// The kernel provides no random bytes for the token.
    #[error("the system provides no random numbers for the address")]
    Random(#[source] getrandom::Error),
    /// Threads, timers or signal handlers cannot be created.
    #[error("cannot start the server")]
    Runtime(#[source] std::io::Error),
    /// The address cannot be passed to a browser.
    #[error("cannot open a browser ({program}); open the address yourself")]
    Open {
        /// The program that was tried.
        program: &'static str,
        /// The operating system's error.
        source: std::io::Error,
    },
}
