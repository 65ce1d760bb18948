//! The routes of the server.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Redirect, Response};
use axum::routing::{get, post};
use axum::{Json, Router, middleware};
use cryptbench_os::terminal::STDOUT;
use cryptbench_text::shown;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::address::Address;
use crate::asked::{Asked, NoAnswer, Turn};
use crate::assets::{ASSETS, PAGE, answer};
use crate::events::stream_from;
use crate::guard::guard;
use crate::measurement::{Measurement, NotStarted};
use crate::offer::Offer;
use crate::refused::Refused;
use crate::reports::{self, Reports};
use crate::runs::{self, NotChanged, Run, Runs};
use crate::{Catalogue, Invalid, Offered, Order};

/// A report may run its own script and style in a separate origin, and loads nothing else.
const REPORT_POLICY: &str = "sandbox allow-scripts allow-downloads; default-src 'none'; \
    script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; font-src data:; \
    base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const RUNS: &str = "A run is already in progress; only one can be measured at a time.";

const DISTURBS: &str =
    "A run is in progress, and this would disturb it. Try again when it has finished.";

/// State shared by the handlers.
#[derive(Clone)]
pub(crate) struct App {
    pub address: Arc<Address>,
    pub measurement: Arc<Measurement>,
    pub runs: Arc<Runs>,
    pub fleet: Option<Arc<PathBuf>>,
    pub asked: Arc<Asked>,
    pub options: Arc<[Offered]>,
    pub plan: fn(&[OsString]) -> Result<Value, Invalid>,
    pub reports: Arc<Reports>,
    pub offer: Arc<Offer>,
    pub watchers: Arc<Semaphore>,
}

type Answer<T> = Result<T, Refused>;

/// Serves everything below the token and the opened reports; refuses everything else.
pub(crate) fn router(app: App) -> Router {
    let address = Arc::clone(&app.address);
    let at = |path: &str| address.path(path);
    let mut router = Router::new()
        .route(&at("/"), get(async || answer(&PAGE)))
        .route(&at("/api/catalogue"), get(catalogue))
        .route(&at("/api/events"), get(events))
        .route(&at("/api/runs"), get(runs))
        .route(&at("/api/fleet"), get(fleet))
        .route(&at("/fleet/report.html"), get(open_fleet))
        .route(&at("/api/plan"), post(plan))
        .route(&at("/api/run"), post(run))
        .route(&at("/api/cancel"), post(cancel))
        .route(&at("/api/compare"), get(compare))
        .route(&at("/api/runs/{name}/answer"), get(answer_of))
        .route(&at("/api/runs/{name}/title"), post(rename))
        .route(&at("/api/runs/{name}/delete"), post(delete))
        .route(&at("/runs/{name}/report.html"), get(open_report))
        .route(&at("/runs/{name}/record.json"), get(record))
        .route(&at("/runs/{name}/export/{format}"), get(export))
        .route(reports::ROUTE, get(report));
    for asset in ASSETS {
        router = router.route(&at(asset.0), get(async || answer(asset)));
    }
    router
        .fallback(async || Refused::not_found())
        .layer(middleware::from_fn_with_state(app.clone(), guard))
        .with_state(app)
}

/// Runs file system work outside the threads that answer requests.
async fn aside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Answer<T> {
    let failed = |_| {
        Refused::new(StatusCode::INTERNAL_SERVER_ERROR, "The server failed to process the request.")
    };
    tokio::task::spawn_blocking(work).await.map_err(failed)
}

async fn catalogue(State(app): State<App>) -> Answer<Response> {
    Ok(Json(&*offered(&app).await?).into_response())
}

async fn offered(app: &App) -> Answer<Arc<Catalogue>> {
    let (offer, running) = (Arc::clone(&app.offer), app.measurement.is_running());
    aside(move || offer.get(running)).await
}

async fn events(State(app): State<App>, headers: HeaderMap) -> Answer<Response> {
    let full =
        |_| Refused::new(StatusCode::SERVICE_UNAVAILABLE, "Too many pages are open. Close one.");
    let place = Arc::clone(&app.watchers).try_acquire_owned().map_err(full)?;
    Ok(stream_from(app.measurement, &headers, place))
}

async fn runs(State(app): State<App>) -> Answer<Json<Vec<Run>>> {
    Ok(Json(aside(move || app.runs.list()).await?))
}

/// The fleet's directory, or null.
async fn fleet(State(app): State<App>) -> Json<Value> {
    Json(json!(app.fleet.map(|directory| shown(&directory))))
}

/// Renders the fleet's report each time, because new records may have arrived, and redirects to it.
async fn open_fleet(State(app): State<App>) -> Answer<Redirect> {
    let directory = app.fleet.as_ref().ok_or_else(Refused::not_found)?;
    let mut question: Vec<OsString> = ["fleet", "report", "--html", "--"].map(Into::into).into();
    question.push(directory.as_os_str().to_owned());
    let page = ask(&app, &question).await?;
    let path = app.reports.keep_fleet(page.into()).map_err(no_random)?;
    Ok(Redirect::to(&path))
}

fn no_random(_: getrandom::Error) -> Refused {
    Refused::new(StatusCode::INTERNAL_SERVER_ERROR, "The system provides no random numbers.")
}

/// The order as arguments of `run`.
fn arguments(offered: &[Offered], body: &Bytes) -> Answer<Vec<OsString>> {
    Ok(sent::<Order>(body)?.arguments(offered)?)
}

/// The body that a page sent.
fn sent<T: DeserializeOwned>(body: &Bytes) -> Answer<T> {
    let wrong =
        |e| Refused::new(StatusCode::BAD_REQUEST, format!("The request is not valid: {e}."));
    serde_json::from_slice(body).map_err(wrong)
}

/// Waits for a running query, then refuses the request if a run is in progress.
async fn quiet<'a>(app: &'a App, problem: &str) -> Answer<Turn<'a>> {
    let turn = app.asked.turn().await;
    match app.measurement.is_running() {
        true => Err(Refused::busy(problem)),
        false => Ok(turn),
    }
}

async fn plan(State(app): State<App>, body: Bytes) -> Answer<Json<Value>> {
    let _turn = quiet(&app, DISTURBS).await?;
    let (plan, offered) = (app.plan, Arc::clone(&app.options));
    let planned = aside(move || Ok::<_, Refused>(plan(&arguments(&offered, &body)?)?));
    Ok(Json(planned.await??))
}

async fn run(State(app): State<App>, body: Bytes) -> Answer<Response> {
    // Waits for a running query, because it would otherwise disturb the measurement.
    let _turn = quiet(&app, RUNS).await?;
    let (measurement, plan) = (Arc::clone(&app.measurement), app.plan);
    let offered = Arc::clone(&app.options);
    let started = aside(move || {
        let order = arguments(&offered, &body)?;
        // A refused value belongs to a field, but only the plan shows to which field.
        plan(&order)?;
        Ok::<_, Refused>(measurement.start(&order))
    });
    let started = started.await??;
    started.map_err(|not| match not {
        NotStarted::Busy => Refused::busy(RUNS),
        NotStarted::Closed => {
            Refused::new(StatusCode::SERVICE_UNAVAILABLE, "The server is shutting down.")
        }
        NotStarted::Failed(error) => {
            let problem = format!("The run cannot be started: {error}.");
            Refused::new(StatusCode::INTERNAL_SERVER_ERROR, problem)
        }
    })?;
    Ok((StatusCode::ACCEPTED, Json(json!({ "started": true }))).into_response())
}

async fn cancel(State(app): State<App>) -> Answer<Response> {
    match app.measurement.cancel() {
        true => Ok((StatusCode::ACCEPTED, Json(json!({ "cancelling": true }))).into_response()),
        false => Err(Refused::busy("No run is in progress.")),
    }
}

/// Runs a query. During a run, nothing that needs CPU time may be done.
async fn ask(app: &App, question: &[OsString]) -> Answer<Vec<u8>> {
    Ok(quiet(app, DISTURBS).await?.ask(question).await?)
}

/// A run's answer, as on the terminal and on its page.
async fn answer_of(State(app): State<App>, Path(name): Path<String>) -> Answer<Response> {
    let directory = find(&app, name).await?;
    let mut question: Vec<OsString> = ["report", "--format", "answer", "--"].map(Into::into).into();
    question.push(directory.into());
    Ok(json_text(ask(&app, &question).await?))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Title {
    title: String,
}

/// Sets the title of a run; its directory and its record are not changed.
async fn rename(
    State(app): State<App>,
    Path(name): Path<String>,
    body: Bytes,
) -> Answer<Json<Value>> {
    let asked: Title = sent(&body)?;
    let _turn = quiet(&app, DISTURBS).await?;
    let runs = Arc::clone(&app.runs);
    aside(move || runs.rename(&name, &asked.title)).await??;
    Ok(Json(json!({ "renamed": true })))
}

/// The consent to delete a run: its name, typed again.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Consent {
    confirm: String,
}

/// Deletes the files that a run created, and its directory unless it contains other files.
async fn delete(
    State(app): State<App>,
    Path(name): Path<String>,
    body: Bytes,
) -> Answer<Json<Value>> {
    if sent::<Consent>(&body)?.confirm != name {
        let problem = "To confirm the deletion, give the name of the run.";
        return Err(Refused::new(StatusCode::UNPROCESSABLE_ENTITY, problem));
    }
    let _turn = quiet(&app, DISTURBS).await?;
    let (runs, reports) = (Arc::clone(&app.runs), Arc::clone(&app.reports));
    let kept = aside(move || {
        let kept = runs.delete(&name)?;
        reports.forget(&name);
        Ok::<_, NotChanged>(kept)
    });
    Ok(Json(json!({ "deleted": true, "kept": kept.await?? })))
}

#[derive(Deserialize)]
struct Two {
    a: String,
    b: String,
    /// The only choice to compare, by its identifier.
    arm: Option<String>,
}

async fn compare(State(app): State<App>, Query(two): Query<Two>) -> Answer<Response> {
    let found = [find(&app, two.a).await?, find(&app, two.b).await?];
    let mut question: Vec<OsString> = ["compare", "--json"].map(Into::into).into();
    question.extend(two.arm.map(|arm| format!("--arm={arm}").into()));
    question.push("--".into());
    question.extend(found.iter().map(Into::into));
    let compared = quiet(&app, DISTURBS).await?.ask(&question).await;
    // The page calls the two runs A and B, and does not show their directories.
    let called = |problem: String| {
        let [a, b] = found.each_ref().map(|directory| shown(directory));
        problem.replace(&a, "A").replace(&b, "B")
    };
    Ok(json_text(compared.map_err(|no| match no {
        NoAnswer::Refused(problem) => NoAnswer::Refused(called(problem)),
        failed => failed,
    })?))
}

async fn find(app: &App, name: String) -> Answer<PathBuf> {
    let runs = Arc::clone(&app.runs);
    aside(move || runs.find(&name)).await?.ok_or_else(Refused::not_found)
}

/// Renders a report from the record and redirects to it. Ignores a page stored next to the record, because it may
/// come from another person and would run its own script.
async fn open_report(State(app): State<App>, Path(name): Path<String>) -> Answer<Redirect> {
    let directory = find(&app, name.clone()).await?;
    let place = directory.clone();
    let stamp = aside(move || runs::stamp(&place)).await?.ok_or_else(Refused::not_found)?;
    if let Some(path) = app.reports.path(&name, stamp) {
        return Ok(Redirect::to(&path));
    }
    let mut question: Vec<OsString> =
        ["report", "--format", "html", "--output", STDOUT, "--"].map(Into::into).into();
    question.push(directory.into());
    let page = ask(&app, &question).await?;
    Ok(Redirect::to(&app.reports.keep(name, stamp, page.into()).map_err(no_random)?))
}

/// A report that was opened, accessible to anyone who knows its address.
async fn report(State(app): State<App>, Path(key): Path<String>) -> Answer<Response> {
    let gone = || {
        let problem = "This report is no longer stored. Open it again from the list of past runs.";
        Refused::new(StatusCode::NOT_FOUND, problem)
    };
    let page = app.reports.page(&key).ok_or_else(gone)?;
    let headers = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CONTENT_SECURITY_POLICY, REPORT_POLICY),
    ];
    Ok((headers, page).into_response())
}

async fn record(State(app): State<App>, Path(name): Path<String>) -> Answer<Response> {
    let bytes = file(find(&app, name.clone()).await?.join("record.json")).await?;
    Ok(download(&format!("{name}.json"), "application/json", bytes))
}

async fn export(
    State(app): State<App>,
    Path((name, format)): Path<(String, String)>,
) -> Answer<Response> {
    let directory = find(&app, name.clone()).await?;
    let offered = offered(&app).await?;
    let format =
        offered.formats.iter().find(|f| f.name == format).ok_or_else(Refused::not_found)?;
    let mut question: Vec<OsString> = format.arguments.iter().map(Into::into).collect();
    question.extend(["--".into(), directory.into_os_string()]);
    let bytes = ask(&app, &question).await?;
    Ok(download(&format!("{name}.{}", format.extension), &format.media_type, bytes.into()))
}

async fn file(path: PathBuf) -> Answer<Bytes> {
    let read = aside(move || runs::bytes(&path)).await?;
    read.map(Bytes::from).ok_or_else(Refused::not_found)
}

fn json_text(text: Vec<u8>) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], text).into_response()
}

/// A file to download. Names of runs and extensions contain nothing that a header must quote.
fn download(name: &str, media_type: &str, bytes: Bytes) -> Response {
    let mut response = Response::new(Body::from(bytes));
    let disposition = format!("attachment; filename=\"{name}\"");
    for (key, value) in
        [(header::CONTENT_TYPE, media_type), (header::CONTENT_DISPOSITION, &disposition)]
    {
        if let Ok(value) = HeaderValue::from_str(value) {
            response.headers_mut().insert(key, value);
        }
    }
    response
}
