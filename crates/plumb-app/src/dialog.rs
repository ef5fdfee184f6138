//! The dialog: which program answers a request.

use hyper::header::{LOCATION, SET_COOKIE};
use hyper::{Method, StatusCode};
use plumb_engine::clock::MonotonicClock;
use plumb_measure::Clock as _;

use crate::answer::{Answer, Failure, TEXT};
use crate::route::Route;
use crate::session::{CLIENT, COOKIE, LANGUAGE};
use crate::step::Step;
use crate::url::mangled;
use crate::{flights, pages, production, sales};

/// Does `step`.
pub(crate) fn perform(step: &mut Step<'_>) -> Answer {
    let errors = step.asked.errors;
    lead(step).unwrap_or_else(|failure| errors.answer(&failure))
}

fn lead(step: &mut Step<'_>) -> Result<Answer, Failure> {
    match &step.asked.route {
        Route::Page { segment, rest, name } => {
            reads(step)?;
            match segment {
                None => redirect(step, rest),
                Some(segment) => {
                    step.visited(|step, visit| pages::text(step, &visit.context, segment, name))
                }
            }
        }
        Route::Image(name) => {
            reads(step)?;
            pages::image(step, name) // from the repository, for everybody
        }
        Route::Flights(service, resource) => {
            step.visited(|step, _| flights::serve(step, *service, resource))
        }
        Route::Changes(service, changes) => {
            step.visited(|step, _| flights::change(step, *service, changes))
        }
        Route::Compact(below) => step.visited(|step, _| flights::compact(step, below)),
        Route::Sales(below) => {
            step.visited(|step, visit| sales::serve(step, &visit.context, below))
        }
        Route::Confirmations => {
            step.visited(|step, visit| production::confirm(step, &visit.context))
        }
        Route::LogOff => Ok(logoff(step)),
        Route::Batch(_) => {
            Err(Failure::new(StatusCode::METHOD_NOT_ALLOWED, "$batch is sent with POST"))
        }
        Route::Home | Route::Status(_) | Route::ResetBuffers | Route::Nowhere => {
            Err(Failure::nothing_at(step.asked.request.path()))
        }
    }
}

fn reads(step: &Step<'_>) -> Result<(), Failure> {
    match *step.asked.request.method() {
        Method::GET | Method::HEAD => Ok(()),
        _ => Err(Failure::new(StatusCode::METHOD_NOT_ALLOWED, "pages are read with GET")),
    }
}

/// Says where the session of whoever asks goes on: that of the cookie, if it is open, or else a new
/// one that stays.
fn redirect(step: &mut Step<'_>, rest: &str) -> Result<Answer, Failure> {
    let request = &step.asked.request;
    let mut to = mangled(LANGUAGE, CLIENT, rest);
    if let Some(query) = request.head.uri.query() {
        to = format!("{to}?{query}");
    }
    let answer = Answer::new(TEXT, "").with_status(StatusCode::FOUND).with(LOCATION, &to);
    let (sessions, now_ns) = (&step.services.sessions, MonotonicClock.now_ns());
    if request.cookie(COOKIE).is_some_and(|name| sessions.touch(name, now_ns)) {
        return Ok(answer);
    }
    let user = step.user()?;
    let session = sessions.open(&user, now_ns)?;
    // over TLS it must never leave without
    let secure = if request.peer.tls { "; Secure" } else { "" };
    let cookie = format!("{COOKIE}={session}; Path=/; HttpOnly; SameSite=Lax{secure}");
    Ok(answer.with(SET_COOKIE, &cookie))
}

fn logoff(step: &Step<'_>) -> Answer {
    let request = &step.asked.request;
    if let Some(name) = request.cookie(COOKIE) {
        step.services.sessions.close(name);
    }
    let secure = if request.peer.tls { "; Secure" } else { "" };
    let gone = format!("{COOKIE}=; Path=/; Max-Age=0{secure}");
    Answer::new(TEXT, "logged off\n").with(SET_COOKIE, &gone)
}
