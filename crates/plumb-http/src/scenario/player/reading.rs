//! Answers as they come in: where they end, and whether they are right.

use plumb_engine::{Op, Step as Reading, Then};
use plumb_measure::{Answer, FailureKind, Outcome, ServerTimes};
use plumb_scenario::answer;
use plumb_scenario::check::CheckFailed;
use plumb_scenario::extract::Address;
use plumb_scenario::file::Cookies;
use plumb_scenario::refused::REFUSED;
use plumb_scenario::variables::{Slot, Value};
use plumb_wire::charset::Charset;
use plumb_wire::http::{Body, Head, RawHead, ends_idle_connection};

use super::super::coding::Coding;
use super::super::origin::Origins;
use super::exchange::{Astray, Exchange, led_to};
use super::stages::Stage;
use super::{NOW_NS, Player, User};
use crate::digest::DigestProof;
use crate::probe::{bad_head, unreadable_head};
use crate::proof::Proof;
use crate::scenario::program::Step;

/// Content that is kept for checks and extractions at most, decoded.
const KEPT_BYTES_MAX: usize = 32 << 20;

/// An answer that is coming in; `None` between two.
#[derive(Debug, Default)]
pub(crate) struct Wire {
    coming: Option<Box<Coming>>,
}

#[derive(Debug)]
struct Coming {
    status: u16,
    keep_alive: bool,
    body: Body,
    coding: Coding,
    /// Of a content that is not in UTF-8.
    charset: Option<Charset>,
    head: Vec<u8>,
    content: Vec<u8>,
    told: ServerTimes,
}

/// What is wrong with an answer, in words.
struct Fault {
    kind: FailureKind,
    words: String,
}

impl Player {
    /// Goes on with what comes in.
    pub(super) fn read(
        &mut self,
        user: &mut User,
        wire: &mut Wire,
        op: Option<Op>,
        bytes: &[u8],
    ) -> Reading {
        if op.is_none() {
            return match ends_idle_connection(bytes) {
                Some(true) => Reading::Leave { consumed: bytes.len() },
                Some(false) => Reading::broken(FailureKind::Garbled, bytes.len(), None),
                None => Reading::Need { consumed: 0 },
            };
        }
        let number = user.exchange.step;
        match wire.coming.take() {
            None => self.head(user, wire, number, bytes),
            Some(coming) => self.body(user, wire, number, *coming, bytes, 0),
        }
    }

    /// The connection has ended: a body without a length is complete, any other was cut.
    pub(super) fn end(&mut self, user: &mut User, wire: &mut Wire) -> Answer {
        let number = user.exchange.step;
        match wire.coming.take() {
            Some(mut coming) if coming.body.ends_with_the_connection() => {
                self.judge(user, number, &mut coming)
            }
            cut => {
                self.complain(number, || match &cut {
                    Some(coming) => format!(
                        "the connection was closed after {} bytes of a longer body",
                        coming.body.content()
                    ),
                    None => "the connection was closed before the answer".to_owned(),
                });
                Answer { code: cut.map(|it| it.status), ..Answer::failed(FailureKind::Closed) }
            }
        }
    }

    /// The head at the start of `bytes`.
    fn head(&mut self, user: &mut User, wire: &mut Wire, tag: u16, bytes: &[u8]) -> Reading {
        let seen = &mut self.seen[usize::from(tag)];
        let (head, length) = match seen.memo.read(bytes) {
            Ok(Some(found)) => found,
            Ok(None) => return Reading::Need { consumed: 0 },
            Err(error) => {
                let (kind, words) = (unreadable_head(error), bad_head(error, bytes));
                return self.wrong(tag, bytes.len(), None, Fault { kind, words });
            }
        };
        if head.interim() {
            return Reading::Aside { consumed: length };
        }
        self.keep_cookies(user, tag, &bytes[..length]);
        let told = if head.tells_times { self.told(tag) } else { ServerTimes::default() };
        let coming = Coming { told, ..self.coming(tag, head, &bytes[..length]) };
        self.body(user, wire, tag, coming, &bytes[length..], length)
    }

    fn coming(&mut self, tag: u16, head: Head, bytes: &[u8]) -> Coming {
        let step = &self.script.steps[usize::from(tag)];
        let (coding, charset) = match step.keeps_content() {
            true => (Coding::of(bytes), charset(bytes)),
            false => (Coding::Unread, None),
        };
        let mut content = std::mem::take(&mut self.content);
        content.clear();
        Coming {
            status: head.status,
            keep_alive: head.keep_alive,
            body: Body::new(head.framing),
            coding,
            charset,
            head: if step.keeps_head()
                || leads_on(head.status)
                || matches!(self.script.proof, Some(Proof::Negotiate(_)))
            {
                bytes.to_vec()
            } else {
                Vec::new()
            },
            content,
            told: ServerTimes::default(),
        }
    }

    /// What the head that was just read tells of the server's own time.
    fn told(&mut self, tag: u16) -> ServerTimes {
        let seen = &mut self.seen[usize::from(tag)];
        if seen.told.0 != seen.memo.parsed() {
            let head = RawHead::new(seen.memo.last());
            seen.told = (seen.memo.parsed(), self.heard.read(&head));
        }
        seen.told.1
    }

    /// Goes on with the body of `coming`; `before` bytes of the answer were read in front of it.
    fn body(
        &mut self,
        user: &mut User,
        wire: &mut Wire,
        tag: u16,
        mut coming: Coming,
        bytes: &[u8],
        before: usize,
    ) -> Reading {
        let all = before + bytes.len();
        let code = Some(coming.status);
        let keeps = coming.coding != Coding::Unread;
        let (body, content) = (&mut coming.body, &mut coming.content);
        let taken = body.take_with(bytes, |part| {
            if keeps && content.len() + part.len() <= KEPT_BYTES_MAX {
                content.extend_from_slice(part);
            }
        });
        let taken = match taken {
            Ok(taken) => taken,
            Err(error) => {
                let words = format!("sent a body that cannot be read: {error}");
                return self.wrong(tag, all, code, Fault { kind: FailureKind::Garbled, words });
            }
        };
        let most = match keeps {
            true => self.script.body_bytes_max.min(KEPT_BYTES_MAX as u64),
            false => self.script.body_bytes_max,
        };
        if coming.body.content() > most {
            let words = format!("sent more than {most} bytes of content");
            return self.wrong(tag, all, code, Fault { kind: FailureKind::BodyTooLarge, words });
        }
        let consumed = before + taken.consumed;
        if !taken.complete {
            match &mut wire.coming {
                Some(place) => **place = coming,
                None => wire.coming = Some(Box::new(coming)),
            }
            return Reading::Need { consumed };
        }
        if consumed < all {
            let words = "sent more bytes than its head announced".to_owned();
            return self.wrong(tag, all, code, Fault { kind: FailureKind::Garbled, words });
        }
        let then = if coming.keep_alive && !self.script.close { Then::Keep } else { Then::Close };
        let answer = self.judge(user, tag, &mut coming);
        self.content = coming.content;
        Reading::Done { consumed, answer, then }
    }

    /// A complete answer.
    fn judge(&mut self, user: &mut User, tag: u16, coming: &mut Coming) -> Answer {
        let length = coming.body.content();
        let fault = self.fault(user, tag, coming);
        let outcome = match &fault {
            None => Outcome::Ok,
            Some(fault) => Outcome::Failed(fault.kind),
        };
        if let Some(fault) = fault {
            self.complain(tag, || fault.words);
        }
        let (code, told) = (Some(coming.status), Some(coming.told));
        Answer { outcome, code, body_bytes: length, told }
    }

    /// What is wrong with an answer; takes from it what is to be taken.
    fn fault(&mut self, user: &mut User, tag: u16, coming: &mut Coming) -> Option<Fault> {
        if let Err(problem) = coming.coding.decode(&mut coming.content, KEPT_BYTES_MAX) {
            return Some(Fault { kind: FailureKind::Garbled, words: problem });
        }
        if let Some(charset) = coming.charset
            && std::str::from_utf8(&coming.content).is_err()
        {
            coming.content = charset.text(&coming.content).into_bytes();
        }
        let step = &self.script.steps[usize::from(tag)];
        let address = match step.checker.needs_address() {
            true => asked_for(&self.script.origins, &user.exchange),
            false => String::new(),
        };
        let answer = answer::Answer {
            status: coming.status,
            address: &address,
            length: coming.body.content(),
            took_ns: 0, // judged when the time is known
            head: &coming.head,
            content: &coming.content,
        };
        let answers = answer.status == 401 && !step.checker.expects(401);
        if let (true, Some(proof)) = (answers, &self.script.proof) {
            let fault = self.answer_challenge(user, proof, answer.head);
            if user.exchange.route != 0 {
                user.refused = self.basic_refused(user, step);
            }
            return fault;
        }
        if let (true, Some(key)) = (answer.status != 401, user.exchange.log_on)
            && self.accepted.insert(key)
        {
            self.script.refused.accept(key);
        }
        if let Some(Err(words)) = user.exchange.negotiation.take().map(|it| it.proved(answer.head))
        {
            return Some(Fault { kind: FailureKind::CheckFailed, words });
        }
        if step.follows(answer.status) {
            let heard = (answer.status, answer.head);
            match user.exchange.lead_on(step, heard, &self.script.origins) {
                Ok(true) => return None,
                Ok(false) => {}
                Err(Astray(words)) => {
                    return Some(Fault { kind: FailureKind::UnexpectedStatus, words });
                }
            }
        }
        if let Err(failed) = step.checker.judge(&answer, &user.variables) {
            let kind = match failed {
                CheckFailed::Status(_) => FailureKind::UnexpectedStatus,
                _ => FailureKind::CheckFailed,
            };
            if failed == CheckFailed::Status(401) {
                user.refused = self.basic_refused(user, step);
            }
            let words = step.checker.words(failed, &answer, &self.script.names)
                + &led_to(answer.status, answer.head);
            return Some(Fault { kind, words });
        }
        let fault = self.extract(user, tag, &answer);
        if fault.is_none() {
            self.look_for_resources(user, tag, &answer);
        }
        fault
    }

    /// Answers the challenge with `head` by `proof`; what is wrong where that is not done.
    fn answer_challenge(&self, user: &mut User, proof: &Proof, head: &[u8]) -> Option<Fault> {
        let answered = match proof {
            Proof::Digest(who) => {
                let authorization = who.authorization();
                // while this was under way, as another request of the user or as that of another user
                user.refused = self.script.refused.has(user.exchange.route, authorization);
                if user.refused {
                    let words = format!("the status is 401: {REFUSED} (Digest)");
                    return Some(Fault { kind: FailureKind::UnexpectedStatus, words });
                }
                let drawn = [(); 2].map(|()| user.draw.one_of(usize::MAX) as u64);
                let is_first = user.exchange.proof.is_some_and(DigestProof::is_first);
                let answered = user.exchange.challenged(&mut user.digest, head, drawn);
                // a session ends only where its first answer was refused
                if is_first && answered.is_err() && user.digest.is_none() {
                    user.refused = self.refused(user, authorization, "Digest");
                }
                answered
            }
            Proof::Negotiate(initiator) => user.exchange.negotiate(initiator, head),
        };
        let Astray(words) = answered.err()?;
        Some(Fault { kind: FailureKind::UnexpectedStatus, words })
    }

    /// Notes that the server of the request under way refused the user and the password of `authorization`.
    /// False where they may be sent again: a server that says so to a log-off wants them forgotten, and what
    /// the step was answered otherwise before is no wrong password.
    fn refused(&self, user: &User, authorization: &str, scheme: &str) -> bool {
        let accepted = user.exchange.log_on.is_some_and(|key| self.script.refused.accepts(key));
        if accepted || user.stage == Stage::Finish || self.script.prepares {
            return false;
        }
        let route = user.exchange.route;
        let server = self.script.origins.name(route);
        self.script.refused.add((route, &server), authorization, scheme)
    }

    /// Notes the same of those that the request of `step` under way carried by itself, if it did.
    fn basic_refused(&self, user: &User, step: &Step) -> bool {
        let servers = (user.exchange.route, user.exchange.first());
        let basic = step.request_template.authorization(servers, &user.variables);
        basic.is_some_and(|basic| self.refused(user, &basic, "Basic"))
    }

    /// Takes the values out of `answer` that the step of `tag` names; what is wrong with the first that is not there.
    fn extract(&mut self, user: &mut User, tag: u16, answer: &answer::Answer<'_>) -> Option<Fault> {
        let mut fault = None;
        for number in 0..self.script.steps[usize::from(tag)].extracts.len() {
            // looked up anew: what was found is remembered meanwhile
            let extract = &self.script.steps[usize::from(tag)].extracts[number];
            let slot = extract.slot();
            match extract.value(answer, &mut user.draw) {
                Ok(value) => {
                    let value = match extract.address() {
                        Some(which) => {
                            let origins = &self.script.origins;
                            absolute(value, which, answer, (origins, &user.exchange))
                        }
                        None => value,
                    };
                    self.remember(slot, &value);
                    user.variables.set(slot, value);
                }
                Err(nothing) => {
                    // an old value would be taken for one of this answer
                    user.variables.unset(slot);
                    fault.get_or_insert_with(|| Fault {
                        kind: FailureKind::NothingExtracted,
                        words: format!("{}: {nothing}", self.script.names.name(slot)),
                    });
                }
            }
        }
        fault
    }

    /// Keeps what a preparation extracts.
    fn remember(&mut self, slot: Slot, value: &Value) {
        if self.script.prepares {
            self.extracted.retain(|(known, _)| *known != slot);
            self.extracted.push((slot, value.clone()));
        }
    }

    fn keep_cookies(&mut self, user: &mut User, tag: u16, bytes: &[u8]) {
        if self.script.cookies == Cookies::Off {
            return;
        }
        let seen = &mut self.seen[usize::from(tag)];
        let head = RawHead::new(bytes);
        if seen.cookies.0 != seen.memo.parsed() {
            seen.cookies = (seen.memo.parsed(), head.values("set-cookie").next().is_some());
        }
        if seen.cookies.1 {
            let date = head.values("date").next();
            for line in head.values("set-cookie") {
                let Exchange { route, target, .. } = &user.exchange;
                user.jar.take(usize::from(*route), (line, date), target, NOW_NS);
            }
        }
    }

    /// An answer that cannot be read to its end: the connection cannot be trusted any more.
    fn wrong(&mut self, tag: u16, consumed: usize, code: Option<u16>, fault: Fault) -> Reading {
        let kind = fault.kind;
        self.complain(tag, || fault.words);
        Reading::broken(kind, consumed, code)
    }
}

/// The charset of the content behind `head`, where that names one.
fn charset(head: &[u8]) -> Option<Charset> {
    RawHead::new(head).values("content-type").next().and_then(Charset::of)
}

/// The address that `exchange` asked for last, as checks see it: of the base the path alone.
fn asked_for(origins: &Origins, exchange: &Exchange) -> String {
    let path = answer::path_of(&exchange.target);
    match exchange.route {
        0 => path,
        route => origins.name(route) + &path,
    }
}

/// True of a redirect and of a challenge.
fn leads_on(status: u16) -> bool {
    (300..400).contains(&status) || status == 401
}

/// `value` with addresses in the place of references: they are relative to what `exchange` asked for.
/// What is only a part of a `Location` stays.
///
/// # Source
/// RFC 9110, section 10.2.2; RFC 3986, section 5.
fn absolute(
    value: Value,
    which: Address,
    answer: &answer::Answer<'_>,
    (origins, exchange): (&Origins, &Exchange),
) -> Value {
    let address = |text: &str| {
        let is_whole = || RawHead::new(answer.head).locations().any(|whole| whole == text);
        let asked = origins.url(exchange.route, &exchange.target);
        let asked = asked.filter(|_| which == Address::Any || is_whole());
        match asked.and_then(|asked| asked.join(text).ok()) {
            Some(url) if url.same_origin(origins.base()) => url.target().to_owned(),
            Some(url) => url.to_string(),
            None => text.to_owned(), // whoever asks for it is told
        }
    };
    match value {
        Value::Text(text) => Value::Text(address(&text).into()),
        Value::List(texts) => Value::list(texts.iter().map(|text| address(text))),
    }
}
