//! The files of the page, compiled into the program.

use axum::http::header;
use axum::response::{IntoResponse as _, Response};

/// Path below the token, media type, and content.
type Asset = (&'static str, &'static str, &'static str);

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";

macro_rules! asset {
    ($path:literal, $kind:expr) => {
        (concat!("/", $path), $kind, include_str!(concat!("../assets/", $path)))
    };
}

/// All files except the page itself, which is at `/`.
pub(crate) const ASSETS: &[Asset] = &[
    asset!("page.css", CSS),
    asset!("icon.svg", "image/svg+xml"),
    asset!("js/answer.js", SCRIPT),
    asset!("js/app.js", SCRIPT),
    asset!("js/chart.js", SCRIPT),
    asset!("js/compare.js", SCRIPT),
    asset!("js/dom.js", SCRIPT),
    asset!("js/form.js", SCRIPT),
    asset!("js/live.js", SCRIPT),
    asset!("js/run.js", SCRIPT),
    asset!("js/runs.js", SCRIPT),
    asset!("js/server.js", SCRIPT),
    asset!("js/state.js", SCRIPT),
];

pub(crate) const PAGE: Asset = ("/", HTML, include_str!("../assets/index.html"));

pub(crate) fn answer(asset: &Asset) -> Response {
    ([(header::CONTENT_TYPE, asset.1)], asset.2).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_loaded_from_elsewhere_and_nothing_is_inline() {
        for (path, _, text) in ASSETS.iter().chain([&PAGE]) {
            let namespace = text.replace("http://www.w3.org/2000/svg", "");
            assert!(!namespace.contains("http://") && !namespace.contains("https://"), "{path}");
            for word in ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("]
            {
                assert!(!text.contains(word), "{path}: {word}");
            }
        }
        for word in [" style=", "<style", " onclick", "<script>"] {
            assert!(!PAGE.2.contains(word), "{word}");
        }
    }
}
