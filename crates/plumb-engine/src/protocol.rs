//! What a layer says to the loop that drives it: the next request, and what the bytes mean.

use plumb_measure::{Answer, FailureKind};

/// An operation under way, as its protocol described it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Op {
    /// The row that records it, below the number of labels of the plan.
    pub label: u16,
    /// What [`Protocol::decode`] needs to know about it; the engine only hands it back.
    pub tag: u16,
}

/// What a user does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// The request was appended to the buffer.
    Send(Op),
    /// Nothing for so many nanoseconds, then ask again.
    Pause(u64),
    /// Nothing more: this user is done.
    Finish,
}

/// What a stretch of bytes from the other side is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// `consumed` bytes belong to an answer that is not complete yet. The rest is given again,
    /// with more behind it.
    Need {
        /// Bytes that need not be given again.
        consumed: usize,
    },
    /// `consumed` bytes belong to no operation: a keep-alive, a setting. Above zero.
    Aside {
        /// Bytes that need not be given again.
        consumed: usize,
    },
    /// `consumed` bytes complete the answer.
    Done {
        /// Bytes up to the end of the answer.
        consumed: usize,
        /// How the operation ended.
        answer: Answer,
        /// What becomes of the connection.
        then: Then,
    },
}

/// What becomes of a connection after an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// It serves the next request.
    Keep,
    /// It is closed and made anew: the other side said so, or the stream cannot be trusted.
    Close,
}

/// A layer that is driven. It appends requests and judges answers; it neither waits, nor reads a
/// clock, nor touches a socket.
///
/// The engine calls [`hello`](Self::hello) until it returns `None`, then
/// [`encode`](Self::encode) whenever work is due and the depth allows it. Answers are matched to
/// requests in the order in which the requests were encoded.
pub trait Protocol {
    /// Cookies, the place in a script: outlives a connection.
    type User;
    /// The state of the parser: made anew for every connection.
    type Wire: Default;

    /// The user of connection `n`, counted from zero over all threads.
    fn user(&mut self, n: usize) -> Self::User;

    /// Appends the next unrecorded message that opens a connection (login, preface) and describes
    /// it; `None` when there is nothing (more) to say before the first request. A failed answer
    /// to it fails the connection.
    fn hello(
        &mut self,
        user: &mut Self::User,
        wire: &mut Self::Wire,
        out: &mut Vec<u8>,
    ) -> Option<Op> {
        let _ = (user, wire, out);
        None
    }

    /// Appends the next request to `out` and describes it.
    fn encode(&mut self, user: &mut Self::User, wire: &mut Self::Wire, out: &mut Vec<u8>) -> Next;

    /// Judges the bytes that came. `op` is the oldest operation under way, `None` when nothing is
    /// due; what the protocol must answer by itself is appended to `out`.
    fn decode(
        &mut self,
        user: &mut Self::User,
        wire: &mut Self::Wire,
        op: Option<Op>,
        bytes: &[u8],
        out: &mut Vec<u8>,
    ) -> Step;

    /// The other side closed the connection while `op` was due: how does that end it? A body that
    /// runs until the close ends well.
    fn eof(&mut self, user: &mut Self::User, wire: &mut Self::Wire, op: Op) -> Answer {
        let _ = (user, wire, op);
        Answer::failed(FailureKind::Closed)
    }

    /// What the last answer that was not as demanded said, in words that follow the address of
    /// the other side (`does not speak NI: ...`), with what to try.
    fn complaint(&self) -> Option<String> {
        None
    }
}
