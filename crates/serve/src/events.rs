//! Server-sent events (WHATWG HTML, section 9.2): the run's log as a stream that a page can resume.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse as _, Response};
use futures_util::stream;
use tokio::sync::{OwnedSemaphorePermit, watch};
use tokio::time::timeout;

use crate::log::Entry;
use crate::measurement::Measurement;

/// Maximum number of simultaneous streams; a browser opens at most six to one server.
pub(crate) const MOST_WATCHERS: usize = 48;
/// After this time without an event, the server sends a comment line, so that both sides notice a dead connection.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// Minimum interval between updates of a page, because each update slightly disturbs the machine being measured.
const EVERY: Duration = Duration::from_millis(500);
/// Size of one part in bytes. The next part is read from the log only while the current part is being sent, so a page
/// that does not read holds back only one part.
const PART: usize = 64 << 10;

struct Watcher {
    measurement: Arc<Measurement>,
    news: watch::Receiver<u64>,
    last: u64,
    greeted: bool,
    /// Whether the page has received all events so far.
    up_to_date: bool,
    _place: OwnedSemaphorePermit,
}

/// The stream of events, which starts after the last event that the page already has.
pub(crate) fn stream_from(
    measurement: Arc<Measurement>,
    headers: &HeaderMap,
    place: OwnedSemaphorePermit,
) -> Response {
    let last = headers.get("last-event-id").and_then(|v| v.to_str().ok()?.trim().parse().ok());
    let watcher = Watcher {
        news: measurement.log().subscribe(),
        measurement,
        last: last.unwrap_or(0),
        greeted: false,
        up_to_date: false,
        _place: place,
    };
    let parts = stream::unfold(watcher, |mut watcher| async move {
        let part = watcher.next().await?;
        Some((Ok::<_, std::convert::Infallible>(part), watcher))
    });
    let kind = [(header::CONTENT_TYPE, "text/event-stream")];
    (kind, Body::from_stream(parts)).into_response()
}

impl Watcher {
    async fn next(&mut self) -> Option<Bytes> {
        if !std::mem::replace(&mut self.greeted, true) {
            // Sent immediately, so that the page knows that it is connected, when to reconnect, and what has
            // happened so far.
            return Some(format!("retry: 2000\n\n{}", self.part()).into());
        }
        if self.up_to_date {
            tokio::time::sleep(EVERY).await;
        }
        loop {
            self.news.mark_unchanged();
            let part = self.part();
            if !part.is_empty() {
                return Some(part.into());
            }
            match timeout(HEARTBEAT, self.news.changed()).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) => return None,
                Err(_) => return Some(Bytes::from_static(b":\n\n")),
            }
        }
    }

    /// The new events, up to the size of one part.
    fn part(&mut self) -> String {
        let entries = self.measurement.log().after(self.last, PART);
        self.last = entries.last().map_or(self.last, |newest| newest.id);
        self.up_to_date = self.last >= *self.news.borrow();
        let line = |e: &Entry| format!("id: {}\ndata: {}\n\n", e.id, e.text);
        entries.iter().map(line).collect()
    }
}
