//! A protocol that is spoken through SAProuters: the route is asked for first.

use plumb_engine::{Next, Op, Protocol, Step, Then};
use plumb_measure::{Answer, FailureKind, Residence};
use plumb_wire::ni::{self, HEADER_BYTES, Payload};
use plumb_wire::route::Route;

/// The longest answer of a router that is believed.
const ANSWER_MAX: usize = 64 << 10;

/// `inner`, through a route if there is one.
#[derive(Debug)]
pub struct Routed<P> {
    route: Option<Route>,
    inner: P,
    complaint: Option<String>,
}

/// Where a connection stands. What every message touches stands first.
#[derive(Debug)]
#[repr(C)]
pub struct RouteState<W> {
    stage: Stage,
    wire: W,
}

impl<W: Default> Default for RouteState<W> {
    fn default() -> Self {
        Self { stage: Stage::New, wire: W::default() }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Nothing was said yet.
    New,
    /// The router was asked for the route.
    Asked,
    /// The way to the server stands.
    Open,
}

impl<P: Protocol> Routed<P> {
    /// `inner` through `route`; without one, `inner` as it is.
    #[must_use]
    pub fn new(route: Option<Route>, inner: P) -> Self {
        Self { route, inner, complaint: None }
    }

    /// What the router answered.
    fn judge(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> (Stage, Step) {
        let Some(length) = ni::payload_length(bytes) else {
            return (Stage::Asked, Step::Need { consumed: 0 });
        };
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        if length > ANSWER_MAX {
            let text = "does not answer as a SAProuter does; is that the router's port?";
            return self.refused(bytes.len(), FailureKind::Garbled, text.into());
        }
        let consumed = HEADER_BYTES + length;
        let Some(payload) = bytes.get(HEADER_BYTES..consumed) else {
            return (Stage::Asked, Step::Need { consumed: 0 });
        };
        match Payload::of(payload) {
            Ok(Payload::Pong) => {
                let answer = Answer::ok(0);
                (Stage::Open, Step::Done { consumed, answer, then: Then::Keep })
            }
            Ok(Payload::Ping) => {
                ni::push_frame(out, ni::PONG);
                (Stage::Asked, Step::Aside { consumed })
            }
            Ok(Payload::Message(message)) => {
                let remedy = match message.return_code.0 {
                    -94 => {
                        "the router's table does not permit this route: check host, port and \
                            password, or ask its administrator"
                    }
                    -92..=-90 | -10 | -5 | -2 => {
                        "the router cannot reach the next hop: is it started, and are its name and \
                         port right?"
                    }
                    _ => "see the log of the router",
                };
                let text = format!("did not open the route: {message}; {remedy}");
                self.refused(consumed, FailureKind::Refused, text)
            }
            Ok(Payload::Data(_) | Payload::Route) | Err(_) => {
                let text = "does not answer as a SAProuter does; is that the router's port?";
                self.refused(consumed, FailureKind::Garbled, text.into())
            }
        }
    }

    fn refused(&mut self, consumed: usize, kind: FailureKind, text: String) -> (Stage, Step) {
        self.complaint = Some(text);
        (Stage::Asked, Step::broken(kind, consumed, None))
    }
}

impl<P: Protocol> Protocol for Routed<P> {
    type User = P::User;
    type Wire = RouteState<P::Wire>;

    fn user(&mut self, n: usize) -> P::User {
        self.inner.user(n)
    }

    fn hello(
        &mut self,
        user: &mut P::User,
        way: &mut RouteState<P::Wire>,
        out: &mut Vec<u8>,
    ) -> Option<Op> {
        if way.stage == Stage::New {
            if let Some(route) = &self.route {
                way.stage = Stage::Asked;
                route.push_request(out);
                return Some(Op { label: 0, tag: 0 });
            }
            way.stage = Stage::Open;
        }
        self.inner.hello(user, &mut way.wire, out)
    }

    fn encode(
        &mut self,
        user: &mut P::User,
        way: &mut RouteState<P::Wire>,
        out: &mut Vec<u8>,
    ) -> Next {
        self.inner.encode(user, &mut way.wire, out)
    }

    fn decode(
        &mut self,
        user: &mut P::User,
        way: &mut RouteState<P::Wire>,
        op: Option<Op>,
        bytes: &[u8],
        out: &mut Vec<u8>,
    ) -> Step {
        if way.stage == Stage::Asked {
            let (stage, step) = self.judge(bytes, out);
            way.stage = stage;
            return step;
        }
        self.inner.decode(user, &mut way.wire, op, bytes, out)
    }

    fn eof(&mut self, user: &mut P::User, way: &mut RouteState<P::Wire>, op: Op) -> Answer {
        self.inner.eof(user, &mut way.wire, op)
    }

    fn tells_residence(&self, way: &RouteState<P::Wire>) -> bool {
        self.inner.tells_residence(&way.wire)
    }

    fn residence(&mut self, way: &mut RouteState<P::Wire>) -> Option<(u32, Residence)> {
        self.inner.residence(&mut way.wire)
    }

    fn complaint(&self) -> Option<String> {
        self.complaint.clone().or_else(|| self.inner.complaint())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Probe;
    use plumb_wire::ni::{OPCODE_ERROR, ReturnCode};

    fn asked() -> (Routed<Probe>, RouteState<<Probe as Protocol>::Wire>) {
        let route = Route::parse("/H/router/W/hush/H/db").unwrap();
        let mut routed = Routed::new(Some(route), Probe::new(10));
        let (mut way, mut out) = (RouteState::default(), Vec::new());
        assert!(routed.hello(&mut (), &mut way, &mut out).is_some());
        assert!(out[HEADER_BYTES..].starts_with(ni::ROUTE));
        (routed, way)
    }

    fn answered(payload: &[u8]) -> (Step, Option<String>, Stage) {
        let (mut routed, mut way) = asked();
        let mut frame = Vec::new();
        ni::push_frame(&mut frame, payload);
        for cut in 0..frame.len() {
            let step = routed.decode(&mut (), &mut way, None, &frame[..cut], &mut Vec::new());
            assert_eq!(step, Step::Need { consumed: 0 }, "cut at {cut}");
        }
        let step = routed.decode(&mut (), &mut way, None, &frame, &mut Vec::new());
        (step, routed.complaint(), way.stage)
    }

    #[test]
    fn a_route_that_stands_is_followed_by_the_greeting_of_the_probe() {
        let (mut routed, mut way) = asked();
        let mut pong = Vec::new();
        ni::push_frame(&mut pong, ni::PONG);
        let step = routed.decode(&mut (), &mut way, None, &pong, &mut Vec::new());
        assert!(matches!(step, Step::Done { consumed: 12, then: Then::Keep, .. }), "{step:?}");
        let mut out = Vec::new();
        assert!(routed.hello(&mut (), &mut way, &mut out).is_some());
        assert!(out[HEADER_BYTES..].starts_with(b"EYECATCHER"));
        assert!(routed.hello(&mut (), &mut way, &mut out).is_none());
    }

    #[test]
    fn a_refusal_is_told_with_what_to_try_and_without_the_password() {
        let mut frame = Vec::new();
        ni::push_message(&mut frame, OPCODE_ERROR, ReturnCode(-94), "route permission denied");
        let (step, complaint, stage) = answered(&frame[HEADER_BYTES..]);
        assert!(matches!(step, Step::Done { then: Then::Close, .. }), "{step:?}");
        assert_eq!(stage, Stage::Asked);
        let complaint = complaint.unwrap();
        assert!(complaint.contains("route permission denied"), "{complaint}");
        assert!(complaint.contains("does not permit this route"), "{complaint}");
        assert!(!complaint.contains("hush"));
    }

    #[test]
    fn an_echo_server_is_no_router() {
        let (step, complaint, _) = answered(b"something else");
        assert!(matches!(step, Step::Done { then: Then::Close, .. }), "{step:?}");
        assert!(complaint.unwrap().contains("SAProuter"));
    }

    #[test]
    fn without_a_route_only_the_probe_speaks() {
        let mut routed = Routed::new(None, Probe::new(10));
        let (mut way, mut out) = (RouteState::default(), Vec::new());
        assert!(routed.hello(&mut (), &mut way, &mut out).is_some());
        assert!(out[HEADER_BYTES..].starts_with(b"EYECATCHER"));
        assert!(routed.hello(&mut (), &mut way, &mut out).is_none());
    }
}
