//! The address of the page: a port of the loopback address, and a random token that only the user
//! learns.
//!
//! The token is the first part of the path. The server sets no cookie: browsers send the cookies for 127.0.0.1 to every
//! port, including the servers of the machine's other users, and pages from other sites can trigger requests to which
//! the browser adds its cookies. Browsers do not reveal a path to others (`Referrer-Policy: no-referrer`), and pages
//! from other sites do not know it.

use std::fmt;

use crate::ServeError;

/// Random bytes of a token.
const TOKEN: usize = 24;

/// Random bytes as hexadecimal digits.
pub(crate) fn random<const BYTES: usize>() -> Result<String, getrandom::Error> {
    let mut random = [0; BYTES];
    getrandom::fill(&mut random)?;
    Ok(random.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Whether a guess equals the secret. The comparison takes the same time however much of the guess is right.
pub(crate) fn is_same(guess: &str, secret: &str) -> bool {
    let (guess, secret) = (guess.as_bytes(), secret.as_bytes());
    let differ = guess.iter().zip(secret).fold(0, |sum, (a, b)| sum | (a ^ b));
    guess.len() == secret.len() && std::hint::black_box(differ) == 0
}

/// The address of the page.
pub struct Address {
    port: u16,
    token: String,
}

impl Address {
    pub(crate) fn new(port: u16) -> Result<Self, ServeError> {
        Ok(Self { port, token: random::<TOKEN>().map_err(ServeError::Random)? })
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// `/TOKEN` followed by `rest`.
    pub(crate) fn path(&self, rest: &str) -> String {
        format!("/{}{rest}", self.token)
    }

    /// Whether a path starts with the token.
    pub(crate) fn opens(&self, path: &str) -> bool {
        let guess = path.strip_prefix('/').unwrap_or(path).split('/').next().unwrap_or_default();
        is_same(guess, &self.token)
    }

    /// Whether a `Host` header contains the name of this server. Any other name was set up to resolve to this
    /// address.
    pub(crate) fn is_host(&self, host: &str) -> bool {
        // Browsers omit the default port of http (RFC 9110, section 4.2.1).
        let with_port = |name: &str| host == format!("{name}:{}", self.port);
        ["127.0.0.1", "localhost"]
            .into_iter()
            .any(|name| with_port(name) || (self.port == 80 && host == name))
    }

    /// Whether an `Origin` header specifies this server.
    pub(crate) fn is_origin(&self, origin: &str) -> bool {
        origin.strip_prefix("http://").is_some_and(|host| self.is_host(host))
    }
}

/// `http://127.0.0.1:PORT/TOKEN/`.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "http://127.0.0.1:{}/{}/", self.port, self.token)
    }
}

/// Omits the token, because it must not appear in logs.
impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Address({})", self.port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_whole_token_opens() {
        let address = Address::new(7373).unwrap();
        let right = address.path("/api/runs");
        assert!(address.opens(&right) && address.opens(&address.path("")));
        let token = &address.token;
        let mut wrong = token.clone();
        wrong.replace_range(0..1, if token.starts_with('0') { "1" } else { "0" });
        for path in ["", "/", "//", &token[1..], &format!("/{wrong}/"), &format!("/{token}0/")] {
            assert!(!address.opens(path), "{path}");
        }
        assert_ne!(*token, Address::new(7373).unwrap().token);
        assert!(!format!("{address:?}").contains(token.as_str()));
    }

    #[test]
    fn only_names_of_the_loopback_address_with_this_port_are_this_server() {
        let address = Address::new(7373).unwrap();
        assert!(address.is_host("127.0.0.1:7373") && address.is_host("localhost:7373"));
        assert!(address.is_origin("http://localhost:7373"));
        for host in ["127.0.0.1", "127.0.0.1:80", "evil.example:7373", "127.0.0.1:7373.evil", ""] {
            assert!(!address.is_host(host), "{host}");
        }
        let usual = Address::new(80).unwrap();
        assert!(usual.is_host("127.0.0.1") && usual.is_origin("http://localhost"));
        assert!(usual.is_host("localhost:80") && !usual.is_host("127.0.0.1:7373"));
        for origin in ["null", "https://localhost:7373", "http://evil.example", "localhost:7373"] {
            assert!(!address.is_origin(origin), "{origin}");
        }
    }
}
