//! A response that explains a refusal: a sentence for the page, or a separate page if an address was opened.

use std::borrow::Cow;

use axum::Json;
use axum::http::StatusCode;
use axum::response::{Html, IntoResponse, Response};
use serde_json::json;

use crate::asked::NoAnswer;
use crate::order::Invalid;
use crate::runs::NotChanged;

#[derive(Clone, Debug)]
pub(crate) struct Refused {
    status: StatusCode,
    problem: String,
    field: Option<Cow<'static, str>>,
}

impl Refused {
    pub(crate) fn new(status: StatusCode, problem: impl Into<String>) -> Self {
        Self { status, problem: problem.into(), field: None }
    }

    /// A run is in progress; the request would disturb it, or would start a second run.
    pub(crate) fn busy(problem: &str) -> Self {
        Self::new(StatusCode::CONFLICT, problem)
    }

    pub(crate) fn not_found() -> Self {
        Self::new(StatusCode::NOT_FOUND, "There is nothing at this address.")
    }

    /// The refusal as a page.
    pub(crate) fn into_page(self) -> Response {
        let problem = self.problem.replace('&', "&amp;").replace('<', "&lt;");
        let page = format!(
            "<!DOCTYPE html>\n<html lang=\"en\"><meta charset=\"utf-8\">\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
             <meta name=\"color-scheme\" content=\"light dark\"><title>cryptbench</title>\
             <main><h1>cryptbench</h1><p>{problem}</p></main></html>\n"
        );
        (self.status, Html(page)).into_response()
    }
}

impl From<Invalid> for Refused {
    fn from(invalid: Invalid) -> Self {
        let Invalid { field, problem } = invalid;
        Self { status: StatusCode::UNPROCESSABLE_ENTITY, problem, field }
    }
}

impl From<NoAnswer> for Refused {
    fn from(no: NoAnswer) -> Self {
        match no {
            NoAnswer::Refused(problem) => Self::new(StatusCode::UNPROCESSABLE_ENTITY, problem),
            NoAnswer::Failed(problem) => Self::new(StatusCode::INTERNAL_SERVER_ERROR, problem),
        }
    }
}

impl From<NotChanged> for Refused {
    fn from(not: NotChanged) -> Self {
        match not {
            NotChanged::Unknown => Self::not_found(),
            NotChanged::Running => {
                Self::busy("This run is in progress. Try again when it has finished.")
            }
            NotChanged::Unfit(problem) => {
                let field = Some("title".into());
                Self { status: StatusCode::UNPROCESSABLE_ENTITY, problem, field }
            }
            NotChanged::Failed(problem) => Self::new(StatusCode::INTERNAL_SERVER_ERROR, problem),
        }
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let body = json!({ "problem": self.problem, "field": self.field });
        let mut response = (self.status, Json(body)).into_response();
        // The guard formats the error, because it knows the kind of the client.
        response.extensions_mut().insert(self);
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_was_asked_is_no_markup() {
        let refused = Refused::new(StatusCode::BAD_REQUEST, "\"<script>\" & more");
        let body = axum::body::to_bytes(refused.into_page().into_body(), 4096).await.unwrap();
        let page = String::from_utf8(body.to_vec()).unwrap();
        assert!(page.contains("\"&lt;script>\" &amp; more"), "{page}");
    }
}
