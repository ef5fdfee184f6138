//! A protocol whose server is asked how long it has single messages.

use plumb_engine::{Next, Op, Protocol, Step, Then};
use plumb_measure::{Answer, Residence};
use plumb_wire::extension::{self, EYE_CATCHER, Request, StampTerms};
use plumb_wire::ni::{self, HEADER_BYTES};

use crate::aside;

/// No frame of ours that stands between answers is longer.
const FRAME_BYTES_MAX: usize = 64;

/// `inner`, whose server tells of one message in so many, if it is asked.
#[derive(Debug)]
pub struct Stamped<P> {
    terms: Option<StampTerms>,
    inner: P,
    complaint: Option<String>,
}

/// Where a connection stands. What every message touches stands first.
#[derive(Debug, Default)]
#[repr(C)]
pub struct StampState<W> {
    stage: Stage,
    /// A part of an answer was read: what follows belongs to it.
    within: bool,
    wire: W,
    told: Option<(u32, Residence)>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    /// Nothing was said yet.
    #[default]
    New,
    /// The server was asked to tell.
    Asked,
    /// It tells.
    Telling,
    /// It was not asked.
    Silent,
}

impl<P: Protocol> Stamped<P> {
    /// `inner` with a server that tells under these `terms`; without any, `inner` as it is.
    #[must_use]
    pub fn new(terms: Option<StampTerms>, inner: P) -> Self {
        Self { terms, inner, complaint: None }
    }

    fn garbled(&mut self, consumed: usize, text: String) -> Step {
        let (step, complaint) = aside::garbled(consumed, text);
        self.complaint = self.complaint.take().or(complaint); // the first is shown
        step
    }

    /// What the server said to the question.
    fn agreed(&mut self, stage: &mut Stage, bytes: &[u8]) -> Step {
        let (answer, consumed) = match read(bytes) {
            Frame::Ours(answer, consumed) => (answer, consumed),
            Frame::Cut => return Step::Need { consumed: 0 },
            Frame::Another => {
                let text = "does not tell how long it has messages: leave --timestamps out";
                return self.garbled(bytes.len(), text.into());
            }
        };
        match answer {
            extension::Answer::Stamps(terms) if Some(terms) == self.terms => {
                *stage = Stage::Telling;
                Step::Done { consumed, answer: Answer::ok(0), then: Then::Keep }
            }
            _ => self.garbled(consumed, "agreed to other time stamps than it was asked for".into()),
        }
    }
}

/// What stands at the front of some bytes.
enum Frame {
    /// A whole frame of the extension, and its bytes.
    Ours(extension::Answer, usize),
    /// The beginning of what may be one.
    Cut,
    /// Something else.
    Another,
}

fn read(bytes: &[u8]) -> Frame {
    let Some(length) = ni::payload_length(bytes) else { return Frame::Cut };
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    let payload = &bytes[HEADER_BYTES..];
    let start = &payload[..payload.len().min(EYE_CATCHER.len())];
    if length > FRAME_BYTES_MAX || length < EYE_CATCHER.len() || !EYE_CATCHER.starts_with(start) {
        return Frame::Another;
    }
    let Some(payload) = payload.get(..length) else { return Frame::Cut };
    match extension::Answer::parse(payload) {
        Ok(Some(answer)) => Frame::Ours(answer, HEADER_BYTES + length),
        Ok(None) | Err(_) => Frame::Another,
    }
}

impl<P: Protocol> Protocol for Stamped<P> {
    type User = P::User;
    type Wire = StampState<P::Wire>;

    fn user(&mut self, n: usize) -> P::User {
        self.inner.user(n)
    }

    fn hello(
        &mut self,
        user: &mut P::User,
        state: &mut StampState<P::Wire>,
        out: &mut Vec<u8>,
    ) -> Option<Op> {
        if state.stage == Stage::New {
            if let Some(terms) = self.terms {
                state.stage = Stage::Asked;
                Request::Stamps(terms).push(out);
                return Some(Op { label: 0, tag: 0 });
            }
            state.stage = Stage::Silent;
        }
        self.inner.hello(user, &mut state.wire, out)
    }

    fn encode(
        &mut self,
        user: &mut P::User,
        state: &mut StampState<P::Wire>,
        out: &mut Vec<u8>,
    ) -> Next {
        self.inner.encode(user, &mut state.wire, out)
    }

    fn decode(
        &mut self,
        user: &mut P::User,
        state: &mut StampState<P::Wire>,
        op: Option<Op>,
        bytes: &[u8],
        out: &mut Vec<u8>,
    ) -> Step {
        match state.stage {
            Stage::Asked => return self.agreed(&mut state.stage, bytes),
            Stage::Telling if !state.within => match read(bytes) {
                Frame::Ours(extension::Answer::Stamped(message), consumed) => {
                    let extension::StampedMessage { number, waking_ns, work_ns, sending_ns } =
                        message;
                    state.told = Some((number, Residence { waking_ns, work_ns, sending_ns }));
                    return Step::Aside { consumed };
                }
                Frame::Cut => return Step::Need { consumed: 0 },
                Frame::Ours(..) | Frame::Another => {}
            },
            Stage::New | Stage::Telling | Stage::Silent => {}
        }
        let step = self.inner.decode(user, &mut state.wire, op, bytes, out);
        state.within = match step {
            Step::Need { consumed } => state.within || consumed > 0,
            Step::Aside { .. } => state.within,
            Step::Done { .. }
            | Step::DoneOf { .. }
            | Step::Unprocessed { .. }
            | Step::Leave { .. } => false,
        };
        step
    }

    fn eof(&mut self, user: &mut P::User, state: &mut StampState<P::Wire>, op: Op) -> Answer {
        self.inner.eof(user, &mut state.wire, op)
    }

    fn tells_residence(&self, state: &StampState<P::Wire>) -> bool {
        state.stage == Stage::Telling
    }

    fn residence(&mut self, state: &mut StampState<P::Wire>) -> Option<(u32, Residence)> {
        state.told.take()
    }

    fn complaint(&self) -> Option<String> {
        self.complaint.clone().or_else(|| self.inner.complaint())
    }
}

#[cfg(test)]
mod tests {
    use plumb_wire::extension::StampedMessage;

    use super::*;
    use crate::Probe;

    const TERMS: StampTerms = StampTerms { every: 64, skip: 1 };

    fn frame(answer: &extension::Answer) -> Vec<u8> {
        let mut bytes = Vec::new();
        answer.push(&mut bytes);
        bytes
    }

    fn telling(probe: &mut Stamped<Probe>) -> StampState<crate::Position> {
        let (mut state, mut out) = (StampState::default(), Vec::new());
        let op = probe.hello(&mut (), &mut state, &mut out);
        let answer = frame(&extension::Answer::Stamps(TERMS));
        for cut in 0..answer.len() {
            let step = probe.decode(&mut (), &mut state, op, &answer[..cut], &mut Vec::new());
            assert_eq!(step, Step::Need { consumed: 0 }, "cut at {cut}");
        }
        let step = probe.decode(&mut (), &mut state, op, &answer, &mut Vec::new());
        assert!(matches!(step, Step::Done { then: Then::Keep, .. }), "{step:?}");
        assert!(probe.tells_residence(&state));
        state
    }

    #[test]
    fn what_stands_between_two_answers_is_told_and_no_answer() {
        let mut probe = Stamped::new(Some(TERMS), Probe::new(500));
        let mut state = telling(&mut probe);
        let message = StampedMessage { number: 64, waking_ns: 12, work_ns: 3, sending_ns: 4 };
        let told = frame(&extension::Answer::Stamped(message));
        let mut request = Vec::new();
        let Next::Send(op) = probe.encode(&mut (), &mut state, &mut request) else { panic!() };
        for op in [None, Some(op)] {
            let step = probe.decode(&mut (), &mut state, op, &told, &mut Vec::new());
            assert_eq!(step, Step::Aside { consumed: told.len() });
            let expected = Residence { waking_ns: 12, work_ns: 3, sending_ns: 4 };
            assert_eq!(probe.residence(&mut state), Some((64, expected)));
            assert_eq!(probe.residence(&mut state), None);
        }
        let step = probe.decode(&mut (), &mut state, Some(op), &request, &mut Vec::new());
        assert!(matches!(step, Step::Done { .. }), "an echo is still one: {step:?}");
    }

    #[test]
    fn a_frame_that_is_cut_is_waited_for() {
        let mut probe = Stamped::new(Some(TERMS), Probe::new(500));
        let mut state = telling(&mut probe);
        let told = frame(&extension::Answer::Stamped(StampedMessage::default()));
        for cut in 0..told.len() {
            let step = probe.decode(&mut (), &mut state, None, &told[..cut], &mut Vec::new());
            assert_eq!(step, Step::Need { consumed: 0 }, "cut at {cut}");
            assert_eq!(probe.residence(&mut state), None);
        }
    }

    #[test]
    fn a_plain_echo_is_recognised() {
        let mut probe = Stamped::new(Some(TERMS), Probe::new(500));
        let (mut state, mut question) = (StampState::default(), Vec::new());
        let op = probe.hello(&mut (), &mut state, &mut question);
        let step = probe.decode(&mut (), &mut state, op, &question, &mut Vec::new());
        assert!(matches!(step, Step::Done { then: Then::Close, .. }));
        assert!(probe.complaint().unwrap().contains("leave --timestamps out"));
    }
}
