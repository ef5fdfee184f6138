//! Back ends: HTTP servers that are called by their names.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use plumb_engine::clock::MonotonicClock;
use plumb_measure::{Clock as _, Span};

use plumb_serve::Log;
use plumb_serve::link::{Connection, LinkFigures, Links};
use plumb_wire::document::nearest;
use plumb_wire::secret::masked_url;

use super::back_end_file::{BackEndPlan, FILE, Keep, Keys};
use super::described::Description;
use super::http::{self, Heading};
use super::pool::pause;
use super::presence::Presence;
use plumb_transaction::{BackEndAnswer, BackEndRequest, OutsideError};

/// All back ends, by name.
#[derive(Debug, Default)]
pub struct BackEnds {
    by_name: BTreeMap<String, Arc<BackEnd>>,
}

#[derive(Debug)]
struct BackEnd {
    plan: BackEndPlan,
    links: Links,
    calls: AtomicU64,
    failed: AtomicU64,
    presence: Presence,
}

/// The connections with one back end, and its calls.
#[derive(Clone, Copy, Debug)]
pub struct BackEndFigures {
    /// The connections.
    pub links: LinkFigures,
    /// Calls since the start.
    pub calls: u64,
    /// Those that nobody answered.
    pub failed: u64,
    /// Nobody answered the last one, and that was not for want of time.
    pub away: bool,
}

impl BackEnds {
    pub(super) fn new(plans: Vec<BackEndPlan>) -> Self {
        let back_ends = plans.into_iter().map(|plan| {
            let links = Links::new(plan.host.clone(), plan.timeout, plan.connections);
            let links = match plan.encryption.clone() {
                Some(encryption) => links.encrypted(encryption),
                None => links,
            };
            let (calls, failed) = (AtomicU64::new(0), AtomicU64::new(0));
            let presence = Presence::new(format!("the back end {}", plan.name));
            (plan.name.clone(), Arc::new(BackEnd { plan, links, calls, failed, presence }))
        });
        Self { by_name: back_ends.collect() }
    }

    /// Takes over those that `before` has described in the same words, with their connections.
    pub(super) fn keep(&mut self, before: &Self) {
        for (name, back_end) in &mut self.by_name {
            if let Some(old) = before.by_name.get(name)
                && old.plan.description == back_end.plan.description
            {
                *back_end = Arc::clone(old);
            }
        }
    }

    /// The names of those that are others than in `before`, are new, or are there no more.
    pub(super) fn changed_since(&self, before: &Self) -> Vec<String> {
        let is_kept = |name: &str| match (self.by_name.get(name), before.by_name.get(name)) {
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            _ => false,
        };
        let names: BTreeSet<&str> = self.names().chain(before.names()).collect();
        names.into_iter().filter(|name| !is_kept(name)).map(str::to_owned).collect()
    }

    pub(super) fn tell(&self, log: &Arc<Log>) {
        self.by_name.values().for_each(|back_end| back_end.presence.tell(log));
    }

    pub(super) fn descriptions(&self) -> impl Iterator<Item = &Description> {
        self.by_name.values().map(|back_end| &back_end.plan.description)
    }

    /// Their names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.by_name.keys().map(String::as_str)
    }

    /// The figures of each, with its name.
    pub fn figures(&self) -> impl Iterator<Item = (&str, BackEndFigures)> {
        self.by_name.iter().map(|(name, it)| {
            let links = it.links.figures();
            let (calls, failed) = (&it.calls, &it.failed);
            let figures = BackEndFigures {
                links,
                calls: calls.load(Ordering::Relaxed),
                failed: failed.load(Ordering::Relaxed),
                away: it.presence.is_away(),
            };
            (name.as_str(), figures)
        })
    }

    /// What is wrong with a call of `name`, in words.
    #[must_use]
    pub fn problem_of(&self, name: &str) -> Option<String> {
        self.find(name).err().map(|error| error.to_string())
    }

    /// Asks a back end, as often as its plan says when nobody answers, but no longer than
    /// [`BackEndRequest::patience`].
    ///
    /// # Errors
    /// [`OutsideError`] when there is no answer; one of any status is an answer.
    pub fn call(&self, request: &BackEndRequest<'_>) -> Result<BackEndAnswer, OutsideError> {
        let back_end = self.find(request.server)?;
        let target = request.target;
        let plain = |byte: u8| byte.is_ascii_graphic();
        if !target.starts_with('/') || !target.bytes().all(plain) {
            let target = masked_url(target);
            return Err(OutsideError::Refused(format!(
                "`{target}` is no target of a call: it begins with `/`, and values in it are \
                 written ${{NAME:url}}"
            )));
        }
        let keys = back_end.plan.keys == Keys::Send;
        let idempotency_key = request.idempotency_key.filter(|_| keys);
        back_end.call(&BackEndRequest { idempotency_key, ..*request })
    }

    fn find(&self, name: &str) -> Result<&BackEnd, OutsideError> {
        self.by_name.get(name).map(|back_end| &**back_end).ok_or_else(|| {
            let meant = nearest(name, self.names());
            let meant = meant.map_or(String::new(), |name| format!("; did you mean `{name}`?"));
            OutsideError::Refused(format!("{FILE} has no back end `{name}`{meant}"))
        })
    }
}

/// Why there was no answer, and whether the request may have been done.
struct Unanswered {
    error: io::Error,
    sent: bool,
    /// It was not asked: all connections are in use.
    crowded: bool,
}

impl BackEnd {
    fn call(&self, request: &BackEndRequest<'_>) -> Result<BackEndAnswer, OutsideError> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        let answer = self.answer(request);
        if answer.is_err() {
            self.failed.fetch_add(1, Ordering::Relaxed);
        }
        answer
    }

    /// Asks until there is an answer, or as often as its plan says.
    fn answer(&self, request: &BackEndRequest<'_>) -> Result<BackEndAnswer, OutsideError> {
        let mut left = self.plan.retries;
        // why it cannot be used: an attempt that had less time than it may take does not tell
        let mut problem = None;
        let until_ns = MonotonicClock.now_ns().saturating_add(request.patience.ns());
        loop {
            let left_ns = until_ns.saturating_sub(MonotonicClock.now_ns());
            let limit = self.plan.timeout.min(Span::from_ns(left_ns));
            let Unanswered { error, sent, crowded } = match self.once(request, limit) {
                Ok(answer) => {
                    self.presence.answered(MonotonicClock.now_ns());
                    return Ok(answer);
                }
                Err(unanswered) => unanswered,
            };
            let name = &self.plan.name;
            let said = format!("the back end {name} at {} fails: {error}", self.plan.host);
            if error.kind() == io::ErrorKind::FileTooLarge {
                return Err(OutsideError::Refused(said));
            }
            let late = MonotonicClock.now_ns() >= until_ns;
            let cut_short = late && limit < self.plan.timeout;
            if crowded {
                problem = None; // others use it
            } else if !cut_short {
                problem = Some(format!("{} fails: {error}", self.plan.host));
            }
            // what changes something is not sent twice from here
            let again = !sent || ["GET", "HEAD", "PUT", "DELETE"].contains(&request.method);
            if late || left == 0 || !again {
                if let Some(problem) = &problem {
                    self.presence.failed(problem);
                }
                return Err(match late {
                    true => OutsideError::Late(format!("{said}; that is the rest of `time-limit`")),
                    false => OutsideError::Lost(said),
                });
            }
            left -= 1;
            let rest_ns = until_ns.saturating_sub(MonotonicClock.now_ns());
            pause(Duration::from_nanos(self.plan.retry_interval.ns().min(rest_ns)));
        }
    }

    /// One request, which is done within `limit` or fails.
    fn once(&self, request: &BackEndRequest<'_>, limit: Span) -> Result<BackEndAnswer, Unanswered> {
        let Some(mut link) = self.links.take() else {
            let most = self.plan.connections;
            let problem = match most {
                1 => "its only connection is in use".to_owned(),
                _ => format!("all {most} connections are in use"),
            };
            let error = io::Error::other(problem);
            return Err(Unanswered { error, sent: false, crowded: true });
        };
        let closes = self.plan.keep == Keep::Nothing;
        let heading = Heading {
            host: &self.plan.host,
            base: &self.plan.base,
            authorization: self.plan.authorization.as_deref(),
            closes,
        };
        let mut sent = false;
        let asked = link.ask_fresh(limit, |connection: &mut Connection| {
            sent = true;
            http::write(connection.get_mut(), request, &heading)?;
            http::read(connection, request.method, self.plan.answer_size)
        });
        let (answer, keeps) = asked.map_err(|error| Unanswered { error, sent, crowded: false })?;
        if closes || !keeps {
            link.discard();
        }
        Ok(answer)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader, Write as _};
    use std::net::TcpListener;

    use super::super::back_end_file::parse;
    use super::*;

    fn request() -> BackEndRequest<'static> {
        BackEndRequest {
            server: "erp",
            method: "GET",
            target: "/",
            headers: &[],
            media_type: "",
            body: b"",
            patience: Span::from_ms(60_000),
            trace: None,
            idempotency_key: None,
        }
    }

    #[test]
    fn a_back_end_whose_connections_are_all_in_use_is_not_away() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let text = format!(
            "[back-end.erp]\nurl = \"http://{}\"\nretries = 1\nretry-interval = \"500ms\"\n\
             connections = 1\n",
            listener.local_addr().unwrap()
        );
        let back_ends = BackEnds::new(parse(&text, std::path::Path::new(".")).unwrap());
        let back_end = &back_ends.by_name["erp"];
        let error = std::thread::scope(|scope| {
            let call = scope.spawn(|| back_ends.call(&request()).unwrap_err());
            drop(listener.accept().unwrap());
            let other = loop {
                match back_end.links.take() {
                    Some(link) => break link,
                    None => std::thread::yield_now(),
                }
            };
            let error = call.join().unwrap();
            drop(other);
            error
        });
        assert!(error.to_string().contains("its only connection is in use"), "{error}");
        assert!(!back_end.presence.is_away());
    }

    #[test]
    fn a_call_that_fails_is_counted_once_and_one_that_is_answered_at_last_never() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let text = format!(
            "[back-end.erp]\nurl = \"http://{}\"\nretries = 2\nretry-interval = \"1ms\"\n",
            listener.local_addr().unwrap()
        );
        let plans = parse(&text, std::path::Path::new(".")).unwrap();
        let back_ends = BackEnds::new(plans);
        let figures = || {
            let (_, figures) = back_ends.figures().next().unwrap();
            (figures.calls, figures.failed)
        };
        std::thread::scope(|scope| {
            scope.spawn(|| {
                drop(listener.accept());
                let (mut second, _) = listener.accept().unwrap();
                let lines = BufReader::new(second.try_clone().unwrap()).lines();
                assert!(lines.map_while(Result::ok).any(|line| line.is_empty()));
                second.write_all(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n").unwrap();
            });
            assert_eq!(back_ends.call(&request()).unwrap().status, 204);
        });
        assert_eq!(figures(), (1, 0));
        drop(listener);
        assert!(matches!(back_ends.call(&request()), Err(OutsideError::Lost(_))));
        assert_eq!(figures(), (2, 1));
        let wrong = BackEndRequest { target: "/o?n=1 2&access_token=abc 123", ..request() };
        let refused = back_ends.call(&wrong).unwrap_err().to_string();
        assert!(
            refused.contains("/o?n=1 2&access_token=") && !refused.contains("abc"),
            "{refused}"
        );
    }
}
