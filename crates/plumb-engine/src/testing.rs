//! Peers that a test plays itself, on the thread of the loop, under time held still.

use std::io::{Read as _, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};

use plumb_measure::{Answer, FailureKind};
use plumb_socket::HeldTime;
use tempfile::TempDir;

use crate::Endpoint;
use crate::protocol::{Next, Op, Protocol, Step, Then};

pub(crate) const MS: u64 = 1_000_000;

/// Sends its number in a line, and demands the same line back.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Lines {
    sent: u16,
    /// One request in so many cannot be made; with zero all can.
    falters: u16,
}

impl Lines {
    /// One request in `every` cannot be made.
    pub(crate) fn faltering(every: u16) -> Self {
        Self { falters: every, ..Self::default() }
    }
}

impl Protocol for Lines {
    type User = ();
    type Wire = ();

    fn user(&mut self, _: usize) {}

    fn encode(&mut self, (): &mut (), (): &mut (), out: &mut Vec<u8>) -> Next {
        self.sent += 1;
        writeln!(out, "{}", self.sent).unwrap();
        if self.falters > 0 && self.sent.is_multiple_of(self.falters) {
            return Next::Fail(Op { label: 0, tag: 0 }, FailureKind::NotSent);
        }
        Next::Send(Op { label: 0, tag: self.sent })
    }

    fn decode(
        &mut self,
        (): &mut (),
        (): &mut (),
        op: Option<Op>,
        bytes: &[u8],
        _: &mut Vec<u8>,
    ) -> Step {
        let Some(end) = bytes.iter().position(|byte| *byte == b'\n') else {
            return Step::Need { consumed: 0 };
        };
        let right = op.is_some_and(|op| bytes[..end] == *op.tag.to_string().as_bytes());
        let answer =
            if right { Answer::ok(end as u64) } else { Answer::failed(FailureKind::Garbled) };
        let then = if right { Then::Keep } else { Then::Close };
        Step::Done { consumed: end + 1, answer, then }
    }
}

/// The same lines as datagrams: one whose answer does not come is lost.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Datagrams(Lines);

impl Protocol for Datagrams {
    type User = ();
    type Wire = ();

    const DATAGRAMS: bool = true;

    fn user(&mut self, number: usize) {
        self.0.user(number);
    }

    fn encode(&mut self, user: &mut (), wire: &mut (), out: &mut Vec<u8>) -> Next {
        self.0.encode(user, wire, out)
    }

    fn decode(
        &mut self,
        user: &mut (),
        wire: &mut (),
        op: Option<Op>,
        bytes: &[u8],
        out: &mut Vec<u8>,
    ) -> Step {
        self.0.decode(user, wire, op, bytes, out)
    }
}

/// What a played server does with each line it gets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Manner {
    /// Answers so long after a line came.
    pub(crate) delay_ns: u64,
    /// Is silent between these two moments; answers what came meanwhile at the second.
    pub(crate) silent: (u64, u64),
    /// Bytes written at once.
    pub(crate) piece: usize,
    /// Closes the connection after so many answers.
    pub(crate) close_after: usize,
    /// Closes the connection instead of giving this answer, counted over all connections.
    pub(crate) hang_up_at: usize,
    /// Gives every answer twice whose number, counted over all connections, this divides.
    pub(crate) twice_every: usize,
    /// Closes the connection instead of giving an answer that is due between these two moments.
    pub(crate) hangs_up: (u64, u64),
    /// Says nothing more on the connection instead of giving this answer, counted over all connections.
    pub(crate) silent_from: usize,
}

impl Default for Manner {
    fn default() -> Self {
        Self {
            delay_ns: 0,
            silent: (0, 0),
            piece: usize::MAX,
            close_after: usize::MAX,
            hang_up_at: usize::MAX,
            twice_every: usize::MAX,
            hangs_up: (0, 0),
            silent_from: usize::MAX,
        }
    }
}

/// A server of lines that a test plays.
pub(crate) struct Played {
    listener: UnixListener,
    manner: Manner,
    talks: Vec<Talk>,
    answers: usize,
    _folder: TempDir,
    pub(crate) endpoint: Endpoint,
}

struct Talk {
    stream: Option<UnixStream>,
    heard: Vec<u8>,
    /// Lines to send back, each not before its time.
    due: Vec<(u64, Vec<u8>)>,
    answers: usize,
    silent: bool,
}

impl Played {
    pub(crate) fn new(manner: Manner) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let listener = UnixListener::bind(&path).unwrap();
        listener.set_nonblocking(true).unwrap();
        Self {
            listener,
            manner,
            talks: Vec::new(),
            answers: 0,
            _folder: folder,
            endpoint: Endpoint::Unix(path),
        }
    }

    /// Time with this server in it, and where to reach it.
    pub(crate) fn time(manner: Manner) -> (HeldTime, Endpoint) {
        let mut server = Self::new(manner);
        let endpoint = server.endpoint.clone();
        (HeldTime::with(move |now| server.step(now)), endpoint)
    }

    /// Answers given so far, a hang-up included.
    pub(crate) fn answers(&self) -> usize {
        self.answers
    }

    /// Does what is due at `now`; says when it wants to be called next.
    pub(crate) fn step(&mut self, now: u64) -> Option<u64> {
        while let Ok((stream, _)) = self.listener.accept() {
            stream.set_nonblocking(true).unwrap();
            let (stream, heard, due) = (Some(stream), Vec::new(), Vec::new());
            self.talks.push(Talk { stream, heard, due, answers: 0, silent: false });
        }
        for talk in &mut self.talks {
            talk.listen(now, self.manner);
            talk.answer(now, self.manner, &mut self.answers);
        }
        self.talks.retain(|talk| talk.stream.is_some());
        let dues = self.talks.iter().flat_map(|talk| talk.due.first().map(|(at, _)| *at));
        dues.filter(|at| *at > now).min()
    }
}

impl Talk {
    fn listen(&mut self, now: u64, manner: Manner) {
        let Some(stream) = &mut self.stream else {
            return;
        };
        let mut buffer = [0; 4096];
        while let Ok(count) = stream.read(&mut buffer) {
            if count == 0 {
                self.stream = None;
                return;
            }
            self.heard.extend_from_slice(&buffer[..count]);
        }
        while let Some(end) = self.heard.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.heard.drain(..=end).collect();
            let mut at = now + manner.delay_ns;
            if (manner.silent.0..manner.silent.1).contains(&at) {
                at = manner.silent.1;
            }
            self.due.push((at, line));
        }
    }

    fn answer(&mut self, now: u64, manner: Manner, answers: &mut usize) {
        while let Some((at, line)) = self.due.first_mut() {
            let Some(stream) = &mut self.stream else {
                return;
            };
            if *at > now {
                return;
            }
            let hangs_up = (manner.hangs_up.0..manner.hangs_up.1).contains(at);
            if hangs_up || *answers + 1 == manner.hang_up_at {
                *answers += 1;
                self.stream = None;
                return;
            }
            self.silent |= *answers + 1 == manner.silent_from;
            if self.silent {
                *answers += 1;
                self.due.clear();
                return;
            }
            if (*answers + 1).is_multiple_of(manner.twice_every) && line.ends_with(b"\n") {
                line.extend_from_within(..);
            }
            let piece = line.len().min(manner.piece);
            stream.write_all(&line[..piece]).unwrap();
            line.drain(..piece);
            if !line.is_empty() {
                return; // the rest at the next look
            }
            self.due.remove(0);
            *answers += 1;
            self.answers += 1;
            if self.answers >= manner.close_after {
                self.stream = None;
            }
        }
    }
}
