//! What a layer says to the loop that drives it: the next request, and what the bytes mean.

use plumb_measure::{Answer, FailureKind, Outcome, Residence, ServerHalf};

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
    /// The request was appended to the buffer, and goes over a connection of its own, which is made
    /// where there is none that is free. Only of a protocol that is
    /// [`SCRIPTED`](Protocol::SCRIPTED).
    SendOver {
        /// The place it goes to: 0 is that of the load, others as
        /// [`run_crews`](crate::load::run_crews) numbers them.
        route: u16,
        /// The operation.
        op: Op,
        /// The user has another one to ask for beside it: ask at once.
        more: bool,
    },
    /// Nothing before an operation under way has ended. Only of a protocol that is
    /// [`SCRIPTED`](Protocol::SCRIPTED).
    Wait,
    /// Nothing for so many nanoseconds, then ask again.
    Pause(u64),
    /// The script is at its end: ask again when the next one is to begin. Only of a protocol that
    /// is [`SCRIPTED`](Protocol::SCRIPTED).
    Turn,
    /// The operation cannot even be asked for: it has failed. Only of a protocol that is
    /// [`SCRIPTED`](Protocol::SCRIPTED).
    Fail(Op, FailureKind),
    /// Nothing more: this user is done.
    Finish,
}

/// What a user of a script does after one of its operations has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum After {
    /// The next request, at once.
    Go,
    /// Nothing before another operation under way has ended.
    Wait,
    /// Nothing for so many nanoseconds, then the next request: it is due then.
    Pause(u64),
    /// The script is at its end.
    Turn,
    /// Nothing more: this user is done.
    Finish,
}

/// An operation of a script that has ended, however it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpEnd {
    /// The operation; the protocol may have it recorded in another row now that it has ended.
    pub op: Op,
    /// How it ended; the protocol may change its mind now that it knows how long it took.
    pub answer: Answer,
    /// From the send to the last byte, nanoseconds.
    pub took_ns: u64,
    /// From the due time to the last byte, nanoseconds.
    pub response_ns: u64,
    /// It began within the recorded part of the run.
    pub counts: bool,
}

/// Several operations of one user, timed as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OperationGroup {
    /// The row of the groups that records it.
    pub row: u16,
    /// How long they took together, nanoseconds.
    pub took_ns: u64,
    /// How they ended.
    pub outcome: Outcome,
}

/// What bytes from the other side are.
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
    /// `consumed` bytes, none among them perhaps, complete the answer of one of several operations under
    /// way. Only of a protocol that is [`MULTIPLEXED`](Protocol::MULTIPLEXED).
    DoneOf {
        /// Bytes that need not be given again.
        consumed: usize,
        /// Which: the [tag](Op::tag) that no other operation under way has.
        tag: u16,
        /// How it ended.
        answer: Answer,
        /// What becomes of the connection.
        then: Then,
    },
    /// The other side has done nothing for the operation with this tag and will not: it is asked for
    /// again on the next connection, and stays due since it was. Only of a protocol that is
    /// [`MULTIPLEXED`](Protocol::MULTIPLEXED).
    Unprocessed {
        /// Bytes that need not be given again.
        consumed: usize,
        /// Which.
        tag: u16,
    },
    /// `consumed` bytes end the connection in order, and nothing is under way on it: it is made anew.
    Leave {
        /// Bytes that need not be given again.
        consumed: usize,
    },
}

impl Step {
    /// An answer that cannot be read to its end, or is the last one: the operation failed with
    /// `code`, if one came, and the connection cannot be trusted any more.
    #[must_use]
    pub fn broken(kind: FailureKind, consumed: usize, code: Option<u16>) -> Self {
        let answer = Answer { code, ..Answer::failed(kind) };
        Self::Done { consumed, answer, then: Then::Close }
    }
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
    /// Its users follow scripts. Each then connects when it begins and takes part as the
    /// [`UserSchedule`](plumb_measure::user_schedule::UserSchedule) of the load says; every operation
    /// is [settled](Self::settle), at depth 1; a user that pauses or whose script is over needs no
    /// connection. False costs nothing.
    const SCRIPTED: bool = false;

    /// Each request and each answer is one datagram, at depth 1, and any of them may be lost. An
    /// operation without an answer in time is then [`Lost`](FailureKind::Lost), and the socket goes
    /// on: [`decode`](Self::decode) must tell its late answer, which is an aside, from the one that is
    /// due. A hello without an answer is asked for again. False costs nothing.
    const DATAGRAMS: bool = false;

    /// Answers come in any order, each with the [tag](Op::tag) of its operation ([`Step::DoneOf`]), and
    /// one that is late is given up alone. False costs nothing.
    const MULTIPLEXED: bool = false;

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

    /// The other side takes another operation on this connection now, whatever the depth of the plan.
    /// Asked only of a protocol that is [`MULTIPLEXED`](Self::MULTIPLEXED).
    fn takes_more(&self, wire: &Self::Wire) -> bool {
        let _ = wire;
        true
    }

    /// The tag of an operation whose answer has begun and is not complete. Asked after bytes were
    /// decoded, until `None`, of a protocol that is [`MULTIPLEXED`](Self::MULTIPLEXED).
    fn begun(&mut self, wire: &mut Self::Wire) -> Option<u16> {
        let _ = wire;
        None
    }

    /// `op` has had no answer in time: appends what gives it up. False when the connection is to be
    /// given up with it. Asked only of a protocol that is [`MULTIPLEXED`](Self::MULTIPLEXED).
    fn cancel(&mut self, wire: &mut Self::Wire, op: Op, out: &mut Vec<u8>) -> bool {
        let _ = (wire, op, out);
        false
    }

    /// Appends the request of `op`, which was [not processed](Step::Unprocessed) on an earlier
    /// connection, and describes it anew. Asked only of a protocol that is
    /// [`MULTIPLEXED`](Self::MULTIPLEXED).
    fn encode_again(
        &mut self,
        user: &mut Self::User,
        wire: &mut Self::Wire,
        op: Op,
        out: &mut Vec<u8>,
    ) -> Op {
        let _ = (user, wire, out);
        op
    }

    /// Makes of `bytes`, a request that was encoded for a [connection of its own](Next::SendOver), what is
    /// sent there. Asked once that connection stands.
    fn carry(&mut self, wire: &mut Self::Wire, bytes: &mut Vec<u8>) {
        let _ = (wire, bytes);
    }

    /// The other side closed the connection while `op` was due: how does that end it? A body that
    /// runs until the close ends well.
    fn eof(&mut self, user: &mut Self::User, wire: &mut Self::Wire, op: Op) -> Answer {
        let _ = (user, wire, op);
        Answer::failed(FailureKind::Closed)
    }

    /// Who the connections of `user` show themselves as: 0 is whoever the load is, others are as the
    /// maker of links numbers them. Asked only of a protocol that is [`SCRIPTED`](Self::SCRIPTED).
    fn identity(&self, user: &Self::User) -> u32 {
        let _ = user;
        0
    }

    /// It is `now_ns` on the clock of the run: holds for the calls that follow. Asked only of a
    /// protocol that is [`SCRIPTED`](Self::SCRIPTED), before it settles, resumes or encodes.
    fn moment(&mut self, now_ns: u64) {
        let _ = now_ns;
    }

    /// An operation has ended, with an answer or without: what does the user do next? Asked only
    /// of a protocol that is [`SCRIPTED`](Self::SCRIPTED).
    fn settle(&mut self, user: &mut Self::User, end: &mut OpEnd) -> After {
        let _ = (user, end);
        After::Go
    }

    /// A pause is over, or a connection was lost, and the user has none: what does it do next?
    /// [`After::Go`] lets it connect, and [`encode`](Self::encode) is asked then. Asked only of a
    /// protocol that is [`SCRIPTED`](Self::SCRIPTED).
    fn resume(&mut self, user: &mut Self::User) -> After {
        let _ = user;
        After::Go
    }

    /// The load is over for `user`: it asks for nothing more. Asked of every user, those that never
    /// began among them.
    fn leave(&mut self, user: Self::User) {
        drop(user);
    }

    /// A group that is complete and was not handed out before. Asked only of a protocol that is
    /// [`SCRIPTED`](Self::SCRIPTED), after it settled or encoded something.
    fn complete(&mut self) -> Option<OperationGroup> {
        None
    }

    /// True when the other side tells, sooner or later, how long it had each message that is stamped.
    /// Asked of a connection that is in use, where messages are stamped.
    fn tells_residence(&self, wire: &Self::Wire) -> bool {
        let _ = wire;
        false
    }

    /// What `answer` itself says of the other side's half of its message. Asked where messages are
    /// stamped, of right answers of a side that does not [tell](Self::tells_residence).
    fn server_half(&self, answer: &Answer) -> ServerHalf {
        let _ = answer;
        ServerHalf::Unknown
    }

    /// What the other side has told of a stamped message since this was asked last: its number on the
    /// connection, among the [requests](Self::encode) from one, and how long it had it. Asked after
    /// bytes were decoded, until `None`, where messages are stamped.
    fn residence(&mut self, wire: &mut Self::Wire) -> Option<(u32, Residence)> {
        let _ = wire;
        None
    }

    /// What the last answer that was not as demanded said, in words that follow the address of
    /// the other side (`does not speak NI: ...`), with what to try.
    fn complaint(&self) -> Option<String> {
        None
    }

    /// What is said, in words that follow the address of the other side, where that ends a connection
    /// before it has answered the [greeting](Self::hello). `None`: that it did.
    fn ungreeted(&self) -> Option<String> {
        None
    }
}
