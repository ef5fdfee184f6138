//! A request becomes an answer.

mod baselines;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hyper::body::Incoming;
use hyper::{Method, Response, StatusCode};
use plumb_folder::Baselines;
use plumb_measure::Span;
use plumb_serve::settings::kib;
use plumb_serve::{
    Body, ConnectionLimits, Counters, Gauge, HttpService, Log, Peer, ReadError, Request,
};

use crate::access::{Access, NoSession};
use crate::answer::{Answer, CSS, JAVASCRIPT};
use crate::index::{Filter, Index, Keeper};
use crate::jobs::{self, Jobs, NotStarted};
use crate::pages::{self, ListPage, door, frame};
use crate::route::{self, Change, Route};
use crate::{Reports, live};

/// A form has at most so much, and comes within so long.
const FORM_KIB: u64 = 64;
const FORM_PATIENCE: Span = Span::from_ns(10_000_000_000);
/// How long a page waits for a look at the folders before it shows what was known.
const REFRESH: Duration = Duration::from_millis(80);
/// Streams of events at once.
const STREAMS_MAX: u64 = 24;
/// Pages of reports that are made at once.
const REPORTS_MAX: u64 = 4;
/// Runs that are compared at once.
const COMPARED_MAX: usize = 12;

/// The app behind its listeners.
pub(crate) struct Site {
    pub(crate) access: Access,
    pub(crate) limits: ConnectionLimits,
    pub(crate) shared: Arc<Shared>,
}

/// What answers are made of.
pub(crate) struct Shared {
    pub(crate) index: Arc<Index>,
    pub(crate) keeper: Keeper,
    pub(crate) jobs: Arc<Jobs>,
    pub(crate) reports: Box<dyn Reports>,
    pub(crate) log: Arc<Log>,
    pub(crate) counters: Counters,
    /// True once the app is to stop.
    pub(crate) stopping: Arc<AtomicBool>,
    pub(crate) streams: Gauge,
    pub(crate) making: Gauge,
}

impl HttpService for Site {
    async fn answer(&self, request: hyper::Request<Incoming>, peer: Peer) -> Response<Body> {
        self.shared.counters.requests();
        self.answered(request, peer).await.response()
    }

    fn is_urgent(&self, _: &hyper::Request<Incoming>) -> bool {
        false
    }

    fn limits(&self) -> &ConnectionLimits {
        &self.limits
    }

    fn counters(&self) -> &Counters {
        &self.shared.counters
    }

    fn tell(&self, event: String) {
        self.shared.log.tell(event);
    }
}

impl Site {
    async fn answered(&self, request: hyper::Request<Incoming>, peer: Peer) -> Answer {
        let headers = request.headers();
        if !self.access.is_meant(headers) {
            let words = "this server is asked under another name, or by a page of another site";
            return Answer::plain(StatusCode::MISDIRECTED_REQUEST, words);
        }
        let known = self.access.knows(headers);
        match *request.method() {
            Method::GET => {
                let uri = request.uri();
                let route = Route::of(uri.path(), uri.query().unwrap_or(""));
                if !known && !route.is_open() {
                    return self.door(StatusCode::UNAUTHORIZED, None);
                }
                self.shown(route).await
            }
            Method::POST if !self.access.is_own(headers) => {
                let words = "only a page of this server changes something (header Origin)";
                Answer::plain(StatusCode::FORBIDDEN, words)
            }
            Method::POST => self.changed(request, peer, known).await,
            _ => Answer::plain(StatusCode::METHOD_NOT_ALLOWED, "use GET or POST"),
        }
    }

    fn door(&self, status: StatusCode, trouble: Option<&str>) -> Answer {
        let page = door::door(self.access.asks_for_password(), trouble);
        Answer::whole("text/html; charset=utf-8", page).with_status(status)
    }

    async fn shown(&self, route: Route) -> Answer {
        match route {
            Route::Style => Answer::whole(CSS, frame::style()),
            Route::Script => Answer::whole(JAVASCRIPT, frame::SCRIPT),
            Route::DoorScript => Answer::whole(JAVASCRIPT, frame::DOOR_SCRIPT),
            Route::LiveEvents(path) => self.live_events(path).await,
            Route::JobEvents(id) => self.job_events(id),
            other => {
                let shared = Arc::clone(&self.shared);
                blocking(move || shared.page(other)).await
            }
        }
    }

    async fn changed(&self, request: hyper::Request<Incoming>, peer: Peer, known: bool) -> Answer {
        let path = request.uri().path().to_owned();
        let request = match Request::read(request, peer, kib(FORM_KIB), FORM_PATIENCE).await {
            Ok(request) => request,
            Err(error @ ReadError::TooLarge(_)) => {
                return Answer::plain(StatusCode::PAYLOAD_TOO_LARGE, &error.to_string());
            }
            Err(error) => return Answer::plain(StatusCode::BAD_REQUEST, &error.to_string()),
        };
        let change = Change::of(&path, &String::from_utf8_lossy(&request.body));
        match change {
            Change::LogOn(secret) => self.log_on(&secret),
            _ if !known => self.door(StatusCode::UNAUTHORIZED, None),
            change => {
                let shared = Arc::clone(&self.shared);
                blocking(move || shared.change(change)).await
            }
        }
    }

    fn log_on(&self, secret: &str) -> Answer {
        match self.access.log_on(secret) {
            Ok(cookie) => Answer::see("/").with_cookie(cookie),
            Err(NoSession::Wrong) => {
                self.tell("a wrong secret was shown".into());
                self.door(StatusCode::FORBIDDEN, Some("That is not the right one."))
            }
            Err(NoSession::TooMany) => {
                let words = "Too many were wrong. Wait a minute.";
                self.door(StatusCode::TOO_MANY_REQUESTS, Some(words))
            }
        }
    }

    async fn live_events(&self, path: String) -> Answer {
        let shared = Arc::clone(&self.shared);
        let found = tokio::task::spawn_blocking(move || shared.folder_of(&path)).await;
        let Ok(Some(folder)) = found else { return nowhere() };
        self.stream(move |pieces, stopped| live::follow(folder, pieces, stopped))
    }

    fn job_events(&self, id: u64) -> Answer {
        let Some(job) = self.shared.jobs.find(id) else { return nowhere() };
        self.stream(move |pieces, stopped| jobs::follow(job, pieces, stopped))
    }

    /// A stream of events, if there is room for one more.
    fn stream<F>(
        &self,
        follow: impl FnOnce(plumb_serve::Pieces, Box<dyn Fn() -> bool + Send + Sync>) -> F,
    ) -> Answer
    where
        F: Future<Output = ()> + Send + 'static,
    {
        if !self.shared.streams.enter(STREAMS_MAX) {
            let words = "as many pages follow something as may: close one";
            return Answer::plain(StatusCode::SERVICE_UNAVAILABLE, words);
        }
        let (pieces, body) = Body::pieces();
        let shared = Arc::clone(&self.shared);
        let stopping = Arc::clone(&shared.stopping);
        let following = follow(pieces, Box::new(move || stopping.load(Ordering::Relaxed)));
        tokio::spawn(async move {
            following.await;
            shared.streams.leave();
        });
        Answer::events(body)
    }
}

/// Does what reads files on a thread that may wait for them.
async fn blocking(work: impl FnOnce() -> Answer + Send + 'static) -> Answer {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|_| {
        Answer::refused(StatusCode::INTERNAL_SERVER_ERROR, "This page could not be made.")
    })
}

fn nowhere() -> Answer {
    Answer::refused(StatusCode::NOT_FOUND, "There is nothing of that name.")
}

/// Of a folder that the index does not know, or no longer.
fn gone(path: &str) -> Answer {
    let words = format!("There is nothing called {path} in the folder of the runs, or no longer.");
    Answer::refused(StatusCode::NOT_FOUND, &words)
}

fn trouble(error: &dyn std::fmt::Display) -> Answer {
    Answer::refused(
        StatusCode::INTERNAL_SERVER_ERROR,
        &format!("The index cannot be read: {error}"),
    )
}

impl Shared {
    fn page(&self, route: Route) -> Answer {
        let made = match route {
            Route::List(filter) => self.list(&filter),
            Route::Show(path) => return self.show(&path),
            Route::Compare(runs) => return self.compare(&runs),
            Route::Trends => {
                self.fresh(|index| Ok(Answer::page("Trends", &pages::trends(&index.all_series()?))))
            }
            Route::Trend(series) => self.fresh(|index| {
                let found = index.series(&series)?;
                Ok(found.map_or_else(nowhere, |(name, points)| {
                    Answer::page("Trend", &pages::trend(&name, &points))
                }))
            }),
            Route::Baselines => return self.show_baselines(),
            Route::Work => return Answer::page("Measure", &pages::work(&self.jobs)),
            Route::Job(id) => {
                let job = self.jobs.find(id);
                return job
                    .map_or_else(nowhere, |job| Answer::page("Started here", &pages::job(&job)));
            }
            Route::LiveEvents(_)
            | Route::JobEvents(_)
            | Route::Style
            | Route::Script
            | Route::DoorScript
            | Route::Nowhere => return nowhere(),
        };
        made.unwrap_or_else(|error| trouble(&error))
    }

    /// What `make` makes of the index, once somebody has looked at the folders.
    fn fresh(
        &self,
        make: impl FnOnce(&Index) -> rusqlite::Result<Answer>,
    ) -> rusqlite::Result<Answer> {
        self.keeper.refresh(REFRESH);
        make(&self.index)
    }

    fn list(&self, filter: &Filter) -> rusqlite::Result<Answer> {
        let progress = self.keeper.refresh(REFRESH);
        let mut notes = Vec::new();
        if progress.busy {
            let (read, changed) = (progress.read, progress.changed);
            notes.push(match changed {
                0 if progress.looks > 0 => {
                    "The folders are being looked at again; what has changed \
                                            since the last look is not shown yet."
                        .to_owned()
                }
                0 => "The folders are being looked at; load this page again.".to_owned(),
                _ => format!(
                    "The folders are being read: {read} of {changed}; load this page again."
                ),
            });
        }
        if let Some(trouble) = progress.trouble {
            notes.push(format!("The folders could not be looked at: {trouble}"));
        }
        let (list, under_way) = (self.index.list(filter)?, self.index.under_way()?);
        let page = ListPage { filter, list: &list, under_way: &under_way, notes: &notes };
        Ok(Answer::page("Runs", &pages::list(&page)))
    }

    /// The folder of what the index knows as `path`.
    fn folder_of(&self, path: &str) -> Option<PathBuf> {
        let known = self.index.find(path).ok()?.is_some();
        known.then(|| self.index.folder().join(path))
    }

    fn show(&self, path: &str) -> Answer {
        self.keeper.refresh(REFRESH);
        let row = match self.index.find(path) {
            Ok(Some(row)) => row,
            Ok(None) if self.jobs.is_under_way(path) => {
                let words = "It has written nothing yet: load this page again.";
                return Answer::page("Under way", &maud::html! { p class="sentence" { (words) } });
            }
            Ok(None) => return gone(path),
            Err(error) => return trouble(&error),
        };
        if row.kind == "run" && row.is_under_way() {
            return Answer::page("Under way", &pages::live(&row));
        }
        let all = Baselines::read(self.index.folder());
        let series = self.index.series_of(&row).unwrap_or_default();
        let actions = match &all {
            Ok(all) if row.kind == "run" => pages::actions(path, series, all, &self.jobs),
            _ => maud::html! {},
        };
        let folder = self.index.folder().join(path);
        self.report(&frame::navigation("", &actions), || self.reports.page(&folder))
    }

    fn compare(&self, runs: &[String]) -> Answer {
        if runs.len() < 2 {
            return Answer::refused(StatusCode::BAD_REQUEST, "Mark two runs or more to compare.");
        }
        if runs.len() > COMPARED_MAX {
            let words = format!("At most {COMPARED_MAX} runs are compared at once.");
            return Answer::refused(StatusCode::BAD_REQUEST, &words);
        }
        self.keeper.refresh(REFRESH);
        let mut rows = Vec::new();
        for path in runs {
            match self.index.find(path) {
                Ok(Some(row)) => rows.push(row),
                Ok(None) => return gone(path),
                Err(error) => return trouble(&error),
            }
        }
        // a list shows the latest first, and a baseline comes before what is compared with it
        rows.sort_by_key(|row| row.started_ns);
        let folders: Vec<PathBuf> =
            rows.iter().map(|row| self.index.folder().join(&row.path)).collect();
        let links = maud::html! {
            @for (number, row) in (1..).zip(&rows) {
                a href=(route::show(&row.path)) { "Run " (number) }
            }
        };
        self.report(&frame::navigation("", &links), || self.reports.comparison(&folders))
    }

    /// A page that somebody else makes, below `bar`.
    fn report(&self, bar: &maud::Markup, make: impl FnOnce() -> Result<String, String>) -> Answer {
        if !self.making.enter(REPORTS_MAX) {
            let words = "Other reports are being made; load this page again.";
            return Answer::refused(StatusCode::SERVICE_UNAVAILABLE, words);
        }
        let made = make();
        self.making.leave();
        match made {
            Ok(page) => Answer::report(&page, bar),
            Err(words) => Answer::refused(StatusCode::UNPROCESSABLE_ENTITY, &words),
        }
    }

    fn change(&self, change: Change) -> Answer {
        let started = |started: Result<Arc<jobs::Job>, NotStarted>| match started {
            Ok(job) => {
                self.log.tell(format!("started: plumb {}", job.words.join(" ")));
                Answer::see(&format!("/job?id={}", job.id))
            }
            Err(error @ NotStarted::Busy) => {
                Answer::refused(StatusCode::CONFLICT, &error.to_string())
            }
            Err(error) => Answer::refused(StatusCode::BAD_REQUEST, &error.to_string()),
        };
        match change {
            Change::SetBaseline { .. } | Change::RemoveBaseline(_) if self.jobs.is_read_only() => {
                let words = "This app only looks: it was started with --read-only.";
                Answer::refused(StatusCode::FORBIDDEN, words)
            }
            Change::SetBaseline { name, run } => self.set_baseline(name, &run),
            Change::RemoveBaseline(name) => self.remove_baseline(&name),
            Change::StartCheckup { landscape, length } => {
                started(self.jobs.checkup(landscape.as_deref(), &length))
            }
            Change::StartExperiment(file) => started(self.jobs.experiment(&file)),
            Change::StopJob(id) => match self.jobs.find(id) {
                Some(job) => {
                    job.stop(rustix::process::Signal::TERM);
                    Answer::see(&format!("/job?id={id}"))
                }
                None => nowhere(),
            },
            Change::LogOn(_) | Change::Nowhere => nowhere(),
        }
    }
}
