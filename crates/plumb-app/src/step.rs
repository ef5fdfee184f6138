//! A dialog step: who asks, in which session, and which program answers.

use std::sync::Arc;

use bytes::Bytes;
use hyper::header::{COOKIE, LOCATION, SET_COOKIE};
use hyper::http::request::Parts;
use hyper::{HeaderMap, Method, StatusCode};
use plumb_engine::clock::MonotonicClock;
use plumb_measure::Clock as _;

use crate::answer::{Answer, Failure};
use crate::database::{Database, wait};
use crate::instance::Instance;
use crate::program::{self, Program};
use crate::session::{CLIENT, Context, LANGUAGE};
use crate::url::{SapPath, mangled};
use crate::{flights, pages, production, sales};

/// The cookie that names a session.
const COOKIE_NAME: &str = "sap-contextid";

/// A request with its whole body.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) head: Parts,
    pub(crate) body: Bytes,
    /// True when it came encrypted.
    pub(crate) tls: bool,
}

impl Request {
    pub(crate) fn path(&self) -> &str {
        self.head.uri.path()
    }

    pub(crate) fn query(&self) -> &str {
        self.head.uri.query().unwrap_or("")
    }

    pub(crate) fn method(&self) -> &Method {
        &self.head.method
    }

    pub(crate) fn headers(&self) -> &HeaderMap {
        &self.head.headers
    }

    /// The text of the header `name`; absent, or no text, is empty.
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers().get(name).and_then(|value| value.to_str().ok()).unwrap_or("")
    }

    fn cookie(&self, name: &str) -> Option<&str> {
        let cookies = self.headers().get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
        cookies.flat_map(|line| line.split(';')).find_map(|pair| {
            let (key, value) = pair.trim().split_once('=')?;
            (key == name).then_some(value)
        })
    }

    #[cfg(test)]
    pub(crate) fn get(path: &str) -> Self {
        let (head, ()) = hyper::Request::get(path).body(()).unwrap().into_parts();
        Self { head, body: Bytes::new(), tls: false }
    }
}

/// The time that getting programs took.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LoadTime {
    pub(crate) time_ns: u64,
    /// Of that, in database calls.
    pub(crate) database_ns: u64,
}

/// One step in its work process.
#[derive(Debug)]
pub(crate) struct Step<'a> {
    pub(crate) instance: &'a Instance,
    pub(crate) database: &'a mut Database,
    pub(crate) request: &'a Request,
    pub(crate) load: LoadTime,
}

/// Whose session a step has.
#[derive(Debug)]
pub(crate) struct Visit {
    pub(crate) context: Context,
    /// The name of a session that stays.
    name: Option<String>,
}

impl<'a> Step<'a> {
    pub(crate) fn new(
        instance: &'a Instance,
        database: &'a mut Database,
        request: &'a Request,
    ) -> Self {
        Self { instance, database, request, load: LoadTime::default() }
    }

    /// The program `name`, compiled.
    ///
    /// # Errors
    /// [`Failure`] when there is none, or the database fails.
    pub(crate) fn program(&mut self, name: &str) -> Result<Arc<Program>, Failure> {
        let (began_ns, spent_ns) = (MonotonicClock.now_ns(), self.database.spent_ns());
        let costs = &self.instance.config.programs;
        let found = program::load(name, &self.instance.buffer, costs, self.database);
        self.load.time_ns += MonotonicClock.now_ns() - began_ns;
        self.load.database_ns += self.database.spent_ns() - spent_ns;
        Ok(found?)
    }

    /// Does the step.
    pub(crate) fn perform(&mut self) -> Answer {
        let path = self.request.path();
        if let Some(path) = SapPath::parse(path) {
            let rest = path.rest;
            return if let Some(below) = rest.strip_prefix("/bc/bsp/") {
                self.page(path, below).unwrap_or_else(|failure| failure.plain())
            } else if let Some((service, below)) = flights::Service::at(rest) {
                let done = self.visited(|step, _| flights::serve(step, service, below));
                done.unwrap_or_else(|failure| service.failure(&failure, self.request))
            } else if let Some(below) = rest.strip_prefix("/bc/sd/") {
                let done = self.visited(|step, visit| sales::serve(step, &visit.context, below));
                done.unwrap_or_else(|failure| failure.json())
            } else if rest == "/bc/production/confirmations" {
                let done = self.visited(|step, visit| production::confirm(step, &visit.context));
                done.unwrap_or_else(|failure| failure.json())
            } else if rest == "/public/bc/icf/logoff" {
                self.logoff()
            } else {
                nothing_at(path.rest).plain()
            };
        }
        if let Some(below) = path.strip_prefix("/rest/flights") {
            let done = self.visited(|step, _| flights::compact(step, below));
            return done.unwrap_or_else(|failure| failure.json());
        }
        nothing_at(path).plain()
    }

    /// A page or an image of the test application.
    fn page(&mut self, path: SapPath<'_>, below: &str) -> Result<Answer, Failure> {
        if *self.request.method() != Method::GET && *self.request.method() != Method::HEAD {
            return Err(Failure::new(StatusCode::METHOD_NOT_ALLOWED, "pages are read with GET"));
        }
        if let Some(image) = pages::image_name(below) {
            return pages::image(self, &image); // from the repository, for everybody
        }
        if path.segment.is_none() {
            return self.redirect(path.rest);
        }
        self.visited(|step, visit| pages::text(step, &visit.context, path, below))
    }

    /// Opens a session that stays, and says where it goes on.
    fn redirect(&mut self, rest: &str) -> Result<Answer, Failure> {
        let user = self.user()?;
        let session = self.instance.sessions.open(&user, MonotonicClock.now_ns())?;
        let mut to = mangled(LANGUAGE, CLIENT, rest);
        if let Some(query) = self.request.head.uri.query() {
            to = format!("{to}?{query}");
        }
        let cookie = format!("{COOKIE_NAME}={session}; Path=/; HttpOnly; SameSite=Lax");
        let answer = Answer::new(crate::answer::TEXT, "").with_status(StatusCode::FOUND);
        Ok(answer.with(LOCATION, &to).with(SET_COOKIE, &cookie))
    }

    fn logoff(&self) -> Answer {
        if let Some(name) = self.request.cookie(COOKIE_NAME) {
            self.instance.sessions.close(name);
        }
        let gone = format!("{COOKIE_NAME}=; Path=/; Max-Age=0");
        Answer::new(crate::answer::TEXT, "logged off\n").with(SET_COOKIE, &gone)
    }

    /// Does `work` in the session of whoever asks: rolled in, and rolled out.
    fn visited(
        &mut self,
        work: impl FnOnce(&mut Self, &Visit) -> Result<Answer, Failure>,
    ) -> Result<Answer, Failure> {
        let visit = self.roll_in()?;
        let ending = Ending { instance: self.instance, visit: &visit };
        let done = self.costs().and_then(|()| work(self, &visit));
        drop(ending);
        done
    }

    fn roll_in(&mut self) -> Result<Visit, Failure> {
        let (sessions, now_ns) = (&self.instance.sessions, MonotonicClock.now_ns());
        if let Some(name) = self.request.cookie(COOKIE_NAME)
            && let Some(context) = sessions.roll_in(name, now_ns)
        {
            return Ok(Visit { context, name: Some(name.into()) });
        }
        let user = self.user()?;
        Ok(Visit { context: sessions.for_one_step(&user, now_ns)?, name: None })
    }

    /// Logs on: whoever the request proves, with the record that the database has of them, which is
    /// read once.
    fn user(&mut self) -> Result<String, Failure> {
        let user = self.instance.accounts.user(self.request.headers());
        let user = user.ok_or_else(Failure::unauthorized)?;
        if self.instance.records.has(user) {
            return Ok(user.to_owned());
        }
        let statement = "SELECT name FROM app_user WHERE name = $1";
        let row = self.database.row(statement, &[user.into()])?;
        let name = row.map(|mut row| row.take_text(0)).ok_or_else(Failure::unauthorized)?;
        self.instance.records.keep(&name);
        Ok(name)
    }

    /// What each step costs in addition to its work.
    fn costs(&mut self) -> Result<(), Failure> {
        let costs = &self.instance.config.step;
        if let Some(time) = costs.database_wait {
            wait(self.database, time)?;
        }
        if let Some(time) = costs.cpu {
            program::burn(time);
        }
        Ok(())
    }
}

/// Ends the visit with its step, however that ends.
struct Ending<'a> {
    instance: &'a Instance,
    visit: &'a Visit,
}

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        let sessions = &self.instance.sessions;
        match &self.visit.name {
            Some(name) => sessions.roll_out(name, &self.visit.context, MonotonicClock.now_ns()),
            None => sessions.end_of_step(),
        }
    }
}

fn nothing_at(path: &str) -> Failure {
    Failure::not_found(format!("there is nothing at {path}"))
}
