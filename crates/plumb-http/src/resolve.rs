//! What happens to a user once: redirects, a challenge, cookies. It is done before anything is
//! measured, and shown.

use std::num::NonZeroUsize;
use std::sync::Arc;

use plumb_engine::options::LoadOptions;
use plumb_engine::{Extent, LoadPlan, LoadResult, Pace, Stop, Waiting, clock};
use plumb_measure::{FirstHit, LoadPart, Row, Span, StepRecord};
use plumb_negotiate::Initiator;
use plumb_scenario::Expected;
use plumb_scenario::cookies::{Jar, Site};
use plumb_wire::http::{RawHead, Scheme, Url, basic_realm, negotiate_token};
use plumb_wire::secret::masked_url;

use crate::credentials::{Credentials, Source};
use crate::pages::{PageReport, Pages};
use crate::probe::Limits;
use crate::proof::Negotiating;
use crate::route::{Routes, Supervision};
use crate::{HttpError, Request};

/// The moment for which cookies are judged: a cookie that has not ended when it comes is kept for as
/// long as the measurement.
const NOW_NS: u64 = 0;
/// What a step says of a challenge that was answered with a ticket.
const NEGOTIATE: &str = "Negotiate";
/// The same of one that was not answered.
const NOT_NAMED: &str = "not answered, it is another server than the one named";
/// Redirects that are followed for one URL.
const REDIRECTS_MAX: usize = 10;

/// Finds out what a URL stands for, as one user: what is learnt at one URL (cookies, that a server
/// wants to know who asks) holds for the next.
pub(crate) struct Resolver<'a> {
    pub(crate) request: &'a Request,
    pub(crate) limits: Limits,
    pub(crate) load: &'a LoadOptions,
    pub(crate) source: Source,
    pub(crate) stop: &'a Stop,
    pub(crate) routes: &'a Routes,
    /// What is expected of the answers that are measured.
    pub(crate) expected: &'a Expected,
    /// Who asks with tickets.
    pub(crate) initiator: Option<Arc<Initiator>>,
    /// The origin that wants a ticket, and whether with each request.
    pub(crate) negotiated: Option<(Url, bool)>,
    /// The origins that were told who asks, and what they were told.
    pub(crate) known: Vec<(Url, Credentials)>,
    /// The cookies of each origin.
    pub(crate) jars: Vec<(Url, Jar)>,
}

/// What a URL stands for.
#[derive(Debug)]
pub(crate) struct Resolved {
    pub(crate) url: Url,
    pub(crate) steps: Vec<StepRecord>,
    /// The last answer, when it was asked for.
    pub(crate) first_hit: Option<FirstHit>,
}

/// One answer on the way to the page.
struct Answer {
    status: u16,
    head: Vec<u8>,
    hit: FirstHit,
}

impl Resolver<'_> {
    /// Follows `url` to what it stands for. `None` when it was interrupted.
    pub(crate) fn resolve(&mut self, url: &Url) -> Result<Option<Resolved>, HttpError> {
        let mut at = url.clone();
        let mut steps: Vec<StepRecord> = Vec::new();
        let mut redirects = 0;
        loop {
            let asked = self.authorization(&at).is_some() || self.negotiating(&at).is_some();
            let Some(answer) = self.ask(&at)? else {
                return Ok(None);
            };
            let cookies = self.keep_cookies(&at, &answer);
            if let Some(next) = self.next(&at, &answer)? {
                steps.push(StepRecord {
                    status: answer.status,
                    text: format!("-> {}", shown(&at, &next)),
                });
                redirects += 1;
                if redirects > REDIRECTS_MAX {
                    let (url, last) = (url.masked(), next.masked());
                    return Err(HttpError::Redirects { url, most: REDIRECTS_MAX, last });
                }
                at = next;
                continue;
            }
            if answer.status == 401
                && !asked
                && self.answer_challenge(url, &at, &answer, &mut steps)?
            {
                continue;
            }
            self.refuse_bad_request(&at, answer.status)?;
            self.refuse_credentials(&at, answer.status)?;
            self.learn_when_to_prove(&at, &mut steps)?;
            let to_itself = match self.leads_to(&at, &answer)? {
                Some(_) => ", and leads to itself: a circle, which is not followed",
                None => "",
            };
            let hint = self.hint(&at, answer.status);
            let text = format!("{} bytes{cookies}{to_itself}{hint}", answer.hit.length);
            steps.push(StepRecord { status: answer.status, text });
            return Ok(Some(Resolved { url: at, steps, first_hit: Some(answer.hit) }));
        }
    }

    /// `url` as it stands, without asking for it. Credentials that a file names are sent to it with
    /// the first request already.
    pub(crate) fn as_given(&mut self, url: &Url) -> Result<Resolved, HttpError> {
        if let Some(initiator) = &self.initiator {
            initiator.ready()?;
            self.negotiated.get_or_insert_with(|| (url.clone(), true));
        } else if self.authorization(url).is_none()
            && let Some(credentials) = self.source.in_the_file()?
        {
            self.known.push((url.clone(), credentials));
        }
        Ok(Resolved { url: url.clone(), steps: Vec::new(), first_hit: None })
    }

    /// What we send is no bad request: a server that says so over plain HTTP may want TLS.
    fn refuse_bad_request(&self, at: &Url, status: u16) -> Result<(), HttpError> {
        if status == 400 && at.scheme() == Scheme::Http && !self.expected.has(status) {
            return Err(HttpError::BadRequest { url: at.masked() });
        }
        Ok(())
    }

    /// Whoever was told who asks and lets nobody in is not asked again.
    fn refuse_credentials(&self, at: &Url, status: u16) -> Result<(), HttpError> {
        if !matches!(status, 401 | 403) || self.expected.has(status) {
            return Ok(());
        }
        let told = self.known.iter().find(|(origin, _)| origin.same_origin(at));
        let who = match told {
            Some(_) => "the user and the password that were given (Basic)".to_owned(),
            None if self.negotiating(at).is_some() => format!("a ticket of Kerberos ({NEGOTIATE})"),
            None => return Ok(()),
        };
        Err(HttpError::NotLetIn { url: at.masked(), status, who })
    }

    /// What the last status may mean.
    fn hint(&self, at: &Url, status: u16) -> &'static str {
        match status {
            400 if at.scheme() == Scheme::Https && !self.routes.shows_certificate() => {
                "; a server that demands a client certificate may say so: give --cert and --key"
            }
            407 => {
                "; the proxy wants to know who asks: set PLUMB_PROXY_USER and PLUMB_PROXY_PASSWORD"
            }
            _ => "",
        }
    }

    /// The bytes of a request for `url`, with everything that was learnt.
    pub(crate) fn bytes(&self, url: &Url) -> Vec<u8> {
        let jar = self.jars.iter().find(|(origin, _)| origin.same_origin(url));
        let mut cookies = Vec::new();
        let any = jar.is_some_and(|(_, jar)| jar.write(0, url.target(), NOW_NS, &mut cookies));
        let cookies = std::str::from_utf8(&cookies).ok().filter(|_| any);
        self.request.bytes(url, self.authorization(url), cookies)
    }

    fn authorization(&self, url: &Url) -> Option<&str> {
        let known = self.known.iter().find(|(origin, _)| origin.same_origin(url));
        known.map(|(_, credentials)| credentials.authorization())
    }

    /// Which requests to `url` carry a ticket.
    pub(crate) fn negotiating(&self, url: &Url) -> Option<Negotiating> {
        let (_, each) = self.negotiated.as_ref().filter(|(origin, _)| origin.same_origin(url))?;
        let initiator = Arc::clone(self.initiator.as_ref()?);
        Some(Negotiating { initiator, each: *each })
    }

    /// Finds out whether a connection that a ticket went over is known from then on, which is asked with
    /// two requests.
    fn learn_when_to_prove(&mut self, at: &Url, steps: &mut [StepRecord]) -> Result<(), HttpError> {
        let Some(negotiating) = self.negotiating(at) else { return Ok(()) };
        let once = Negotiating { each: false, ..negotiating };
        let load = self.load_of(at, 2, Some(once))?;
        let codes = load.recorder.rows().first().map(|row| &row.codes);
        let each = codes.is_none_or(|codes| codes.iter().any(|(status, _)| status == 401));
        let text =
            if each { "Negotiate, with each request" } else { "Negotiate, once a connection" };
        steps.iter_mut().filter(|step| step.text == NEGOTIATE).for_each(|it| it.text = text.into());
        self.negotiated = Some((at.clone(), each));
        Ok(())
    }

    /// Asks once, on a connection of its own. `None` when it was interrupted.
    fn ask(&self, url: &Url) -> Result<Option<Answer>, HttpError> {
        let load = self.load_of(url, 1, self.negotiating(url))?;
        if self.stop.asked() {
            return Ok(None);
        }
        answer_of(url, &load).map(Some)
    }

    /// A load of so many requests, on one connection.
    fn load_of(
        &self,
        url: &Url,
        count: u64,
        negotiating: Option<Negotiating>,
    ) -> Result<LoadResult<PageReport>, HttpError> {
        let pages = Pages {
            version: self.routes.version(),
            requests: vec![self.bytes(url)],
            scheme: url.scheme(),
            ask: self.request.ask(),
            limits: self.limits.clone(),
            seed: 0,
            closing: false,
            traces: None,
            negotiating,
        };
        let route = self.routes.to(url, self.stop)?;
        pages.drive(&route, &self.plan(count), Supervision::none(self.stop))
    }

    /// So many requests.
    fn plan(&self, count: u64) -> LoadPlan {
        LoadPlan {
            pace: Pace::AsFast,
            extent: Extent::Count(count),
            warmup: Span::from_ns(0),
            threads: NonZeroUsize::MIN,
            depth: NonZeroUsize::MIN,
            waiting: Waiting::Epoll,
            part: LoadPart::default(), // each process asks for itself
            stamps: None,
            ..self.load.plan(NonZeroUsize::MIN)
        }
    }

    /// Where an answer leads that is followed.
    fn next(&self, at: &Url, answer: &Answer) -> Result<Option<Url>, HttpError> {
        // a session in a cookie leads back to the same page: it ends when nothing changes
        let changes = || RawHead::new(&answer.head).values("set-cookie").next().is_some();
        Ok(self.leads_to(at, answer)?.filter(|next| next != at || changes()))
    }

    /// Where an answer leads, if to anywhere.
    fn leads_to(&self, at: &Url, answer: &Answer) -> Result<Option<Url>, HttpError> {
        let kept_method = matches!(answer.status, 307 | 308);
        if !(kept_method || matches!(answer.status, 301..=303) && self.request.only_reads()) {
            return Ok(None);
        }
        let head = RawHead::new(&answer.head);
        let Some(location) = head.locations().next() else {
            return Ok(None);
        };
        let next = at.join(&location).map_err(|error| HttpError::Astray {
            url: at.masked(),
            status: answer.status,
            cause: error.to_string(),
        })?;
        Ok(Some(next))
    }

    /// Answers a challenge, once; false when it stays unanswered, which the steps then say.
    fn answer_challenge(
        &mut self,
        asked: &Url,
        at: &Url,
        answer: &Answer,
        steps: &mut Vec<StepRecord>,
    ) -> Result<bool, HttpError> {
        let mut step = |text: String| steps.push(StepRecord { status: answer.status, text });
        let head = RawHead::new(&answer.head);
        if let Some(initiator) = &self.initiator {
            let offered = head.values("www-authenticate").any(|it| negotiate_token(it).is_some());
            let is_named = at.same_origin(asked);
            match (offered, is_named) {
                (false, _) => step("no Negotiate challenge: nothing to answer it with".into()),
                (true, false) => step(format!("{NEGOTIATE}: {NOT_NAMED}")),
                (true, true) => {
                    initiator.ready()?;
                    step(NEGOTIATE.into());
                    self.negotiated = Some((at.clone(), true));
                }
            }
            return Ok(offered && is_named);
        }
        let Some(realm) = head.values("www-authenticate").find_map(basic_realm) else {
            step("not a Basic challenge: nothing to answer it with".into());
            return Ok(false);
        };
        let realm = format!("Basic realm=\"{realm}\"");
        if !at.same_origin(asked) {
            // what belongs to one server is not told to another because the first one says so
            step(format!("{realm}: {NOT_NAMED}"));
            return Ok(false);
        }
        match self.source.find(at.host(), &realm)? {
            None => {
                step(format!(
                    "{realm}: no user known; set PLUMB_HTTP_USER and PLUMB_HTTP_PASSWORD, or give \
                     --credentials FILE"
                ));
                Ok(false)
            }
            Some(credentials) => {
                step(realm);
                self.known.push((at.clone(), credentials));
                Ok(true)
            }
        }
    }

    /// Keeps the cookies that came, and names them.
    fn keep_cookies(&mut self, at: &Url, answer: &Answer) -> String {
        let head = RawHead::new(&answer.head);
        let place = match self.jars.iter().position(|(origin, _)| origin.same_origin(at)) {
            Some(place) => place,
            None => {
                self.jars.push((at.clone(), Jar::new([site(at)].into())));
                self.jars.len() - 1
            }
        };
        let jar = &mut self.jars[place].1;
        let date = head.values("date").next();
        for line in head.values("set-cookie") {
            jar.take(0, (line, date), at.target(), NOW_NS);
        }
        let names: Vec<&str> = jar.names().collect();
        if names.is_empty() { String::new() } else { format!(", cookies {}", names.join(", ")) }
    }
}

/// The server of `url`, as cookies know it.
pub(crate) fn site(url: &Url) -> Site {
    let began_unix_s = i64::try_from(clock::wall_ns() / 1_000_000_000).unwrap_or(0);
    match url.scheme() {
        Scheme::Http => Site::plain(url.host(), began_unix_s),
        Scheme::Https => Site::secure(url.host(), began_unix_s),
    }
}

/// The one answer of a load.
fn answer_of(url: &Url, load: &LoadResult<PageReport>) -> Result<Answer, HttpError> {
    let report = load.protocols.first();
    let row = load.recorder.rows().first();
    let status = row.and_then(|row| row.codes.iter().next());
    let (Some(report), Some(row), Some((status, _))) =
        (report, row.filter(|row| row.response.count() > 0), status)
    else {
        return Err(no_answer(url, load));
    };
    Ok(Answer { status, head: report.last_head.clone(), hit: hit(row, load) })
}

fn hit(row: &Row, load: &LoadResult<PageReport>) -> FirstHit {
    let recorder = &load.recorder;
    FirstHit {
        connect_ns: recorder.connect.max(),
        tls_ns: (!recorder.handshake.is_empty()).then(|| recorder.handshake.max()),
        first_byte_ns: row.first_byte.max(),
        last_byte_ns: row.service.max(),
        length: row.lengths.histogram().max(),
    }
}

fn no_answer(url: &Url, load: &LoadResult<PageReport>) -> HttpError {
    let failures = load.recorder.failures();
    let kind = failures.iter().next().map_or("no answer", |(kind, _)| kind.name());
    let complaint = load.protocols.iter().find_map(|report| report.complaint.as_ref());
    let complaint = match complaint {
        Some(text) => format!("{text} ({kind})"),
        None => format!("did not answer ({kind}); is it the right server, and does it still run?"),
    };
    HttpError::NoAnswer { url: url.masked(), complaint }
}

/// A URL as seen from another one: only what differs.
fn shown(from: &Url, to: &Url) -> String {
    if from.same_origin(to) { masked_url(to.target()) } else { to.masked() }
}
