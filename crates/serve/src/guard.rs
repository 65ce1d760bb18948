//! Checks that every request must pass: who may access the server, how much data a request may send, and what the
//! response may do in a browser.

use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};

use crate::address::Address;
use crate::refused::Refused;
use crate::reports::is_report;
use crate::routes::App;

/// Maximum size of a request's body, in bytes.
const BODY: usize = 32 << 10;
/// Maximum time for a request's body.
const BODY_TIME: Duration = Duration::from_secs(10);

/// Allows nothing from other servers, nothing inline, no frames, and no forms that the browser
/// submits itself.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
    connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Headers of every answer that does not set them itself.
const HEADERS: [(HeaderName, &str); 7] = [
    (header::CONTENT_SECURITY_POLICY, POLICY),
    (header::CACHE_CONTROL, "no-store"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

/// Passes a request on or refuses it, and sets the headers of the response.
pub(crate) async fn guard(State(app): State<App>, request: Request, next: Next) -> Response {
    let opened = is_opened(request.headers());
    let mut response =
        match check(&app.address, request.method(), request.uri().path(), request.headers()) {
            Ok(()) => match whole(request).await {
                Ok(request) => next.run(request).await,
                Err(refused) => refused.into_response(),
            },
            Err(refused) => refused.into_response(),
        };
    if opened && let Some(refused) = response.extensions_mut().remove::<Refused>() {
        response = refused.into_page();
    }
    for (name, value) in HEADERS {
        response.headers_mut().entry(name).or_insert(HeaderValue::from_static(value));
    }
    response
}

/// Whether a person opened the address and should see a page instead of JSON.
fn is_opened(headers: &HeaderMap) -> bool {
    let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
    accept.is_some_and(|kinds| kinds.contains("text/html"))
}

fn check(
    address: &Address,
    method: &Method,
    path: &str,
    headers: &HeaderMap,
) -> Result<(), Refused> {
    let of = |name| headers.get(name).map(|value: &HeaderValue| value.to_str().unwrap_or("?"));
    let forbidden = |problem| Err(Refused::new(StatusCode::FORBIDDEN, problem));
    // Requests with several headers are refused like those without any, because it is unknown which one a proxy
    // used.
    let hosts = headers.get_all(header::HOST).iter().count();
    if hosts != 1 || !of(header::HOST).is_some_and(|host| address.is_host(host)) {
        return forbidden("This server accepts requests only for 127.0.0.1 and localhost.");
    }
    if of(header::ORIGIN).is_some_and(|origin| !address.is_origin(origin)) {
        return forbidden("Another page sent this request.");
    }
    // Browsers state where a request comes from. Opening the page from another source, such as a link in a
    // terminal, is allowed.
    let opens = method == Method::GET
        && of(HeaderName::from_static("sec-fetch-mode")) == Some("navigate")
        && of(HeaderName::from_static("sec-fetch-dest")) == Some("document");
    let site = of(HeaderName::from_static("sec-fetch-site"));
    if !opens && site.is_some_and(|site| !matches!(site, "same-origin" | "none")) {
        return forbidden("Another page sent this request.");
    }
    // A report's address is a separate secret and gives access only to that report.
    if !address.opens(path) && !is_report(path) {
        return forbidden(
            "This is not the address of the page, or no longer: each start of `cryptbench serve` has a new one. \
             Open the whole address that it printed.",
        );
    }
    let is_json =
        |kind: &str| kind.split(';').next().is_some_and(|k| k.trim() == "application/json");
    if method == Method::POST && !of(header::CONTENT_TYPE).is_some_and(is_json) {
        let problem = "The request must be application/json.";
        return Err(Refused::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, problem));
    }
    Ok(())
}

/// The request with its complete body, which must be small and arrive within [`BODY_TIME`].
async fn whole(request: Request) -> Result<Request, Refused> {
    let (head, body) = request.into_parts();
    match tokio::time::timeout(BODY_TIME, to_bytes(body, BODY)).await {
        Ok(Ok(bytes)) => Ok(Request::from_parts(head, Body::from(bytes))),
        Ok(Err(_)) => Err(Refused::new(StatusCode::PAYLOAD_TOO_LARGE, "The request is too large.")),
        Err(_) => {
            Err(Refused::new(StatusCode::REQUEST_TIMEOUT, "The request took too long to arrive."))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(address: &Address, method: &Method, path: &str, headers: &[(&str, &str)]) -> u16 {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(name.parse::<HeaderName>().unwrap(), value.parse().unwrap());
        }
        let refused = check(address, method, path, &map);
        refused.map_or_else(|r| r.into_response().status().as_u16(), |()| 200)
    }

    #[test]
    fn who_may_ask() {
        let address = Address::new(7373).unwrap();
        let path = address.path("/api/runs");
        let host = ("host", "127.0.0.1:7373");
        let get = |headers: &[(&str, &str)]| asked(&address, &Method::GET, &path, headers);
        assert_eq!(get(&[host]), 200);
        assert_eq!(get(&[host, ("origin", "http://127.0.0.1:7373")]), 200);
        assert_eq!(get(&[host, ("sec-fetch-site", "none")]), 200);
        assert_eq!(get(&[]), 403);
        assert_eq!(get(&[host, host]), 403);
        assert_eq!(get(&[("host", "evil.example:7373")]), 403);
        assert_eq!(get(&[host, ("origin", "null")]), 403);
        assert_eq!(get(&[host, ("origin", "http://evil.example")]), 403);
        assert_eq!(get(&[host, ("sec-fetch-site", "cross-site")]), 403);
        let opened = [
            host,
            ("sec-fetch-site", "cross-site"),
            ("sec-fetch-mode", "navigate"),
            ("sec-fetch-dest", "document"),
        ];
        assert_eq!(get(&opened), 200);
        let post = |headers: &[(&str, &str)]| asked(&address, &Method::POST, &path, headers);
        assert_eq!(post(&[host, ("content-type", "application/json; charset=utf-8")]), 200);
        assert_eq!(post(&[host, ("content-type", "text/plain")]), 415);
        let sent = [host, opened[1], opened[2], opened[3], ("content-type", "application/json")];
        assert_eq!(post(&sent), 403);
        let report =
            |headers: &[(&str, &str)]| asked(&address, &Method::GET, "/report/0123/", headers);
        assert_eq!(report(&[host]), 200);
        assert_eq!(report(&[]), 403);
        assert_eq!(report(&[("host", "evil.example:7373")]), 403);
        assert_eq!(report(&[host, ("origin", "null")]), 403);
        assert_eq!(report(&[host, ("sec-fetch-site", "cross-site")]), 403);
        assert_eq!(asked(&address, &Method::GET, "/report", &[host]), 403);
        assert_eq!(asked(&address, &Method::GET, "/", &[host]), 403);
        assert_eq!(asked(&address, &Method::GET, "/0123/api/runs", &[host]), 403);
    }
}
