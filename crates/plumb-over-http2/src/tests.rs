use plumb_engine::Then;
use plumb_measure::Outcome;

use super::*;

/// Asks for one page after the other, and takes answers of HTTP/1.1 up to their end.
#[derive(Debug, Default)]
struct Asker {
    /// What came, as the player saw it.
    heard: Vec<u8>,
    /// Requests that it may have under way.
    at_once: usize,
}

impl Protocol for Asker {
    const SCRIPTED: bool = true;

    type User = ();
    type Wire = ();

    fn user(&mut self, _: usize) {}

    fn encode(&mut self, (): &mut (), (): &mut (), out: &mut Vec<u8>) -> Next {
        out.extend_from_slice(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n");
        Next::Send(Op { label: 0, tag: 7 })
    }

    fn decode(
        &mut self,
        (): &mut (),
        (): &mut (),
        _: Option<Op>,
        bytes: &[u8],
        _: &mut Vec<u8>,
    ) -> Step {
        self.heard.extend_from_slice(bytes);
        let ends: [&[u8]; 2] = [b"\r\n0\r\n\r\n", b"!"];
        match ends.iter().any(|end| self.heard.ends_with(end)) {
            true => Step::Done { consumed: bytes.len(), answer: Answer::ok(1), then: Then::Keep },
            false => Step::Need { consumed: bytes.len() },
        }
    }
}

impl AsksAtOnce for Asker {
    fn ask_at_once(&mut self, most: usize) {
        self.at_once = most;
    }
}

/// A frame.
fn frame(kind: u8, flags: u8, stream: u8, payload: &[u8]) -> Vec<u8> {
    let length = u8::try_from(payload.len()).unwrap();
    [&[0, 0, length, kind, flags, 0, 0, 0, stream], payload].concat()
}

/// A connection that stands, one request under way; and what was sent.
fn asked() -> (OverHttp2<Asker>, Streams<()>, Vec<u8>) {
    let mut over = OverHttp2::new(Asker::default(), vec![Scheme::Https], |_| String::new());
    let (mut wire, mut out) = (Streams::default(), Vec::new());
    stands(&mut over, &mut wire, &[]);
    let mut user = over.user(0);
    assert_eq!(over.encode(&mut user, &mut wire, &mut out), Next::Send(OP));
    (over, wire, out)
}

/// Opens a connection to a server with these settings.
fn stands(over: &mut OverHttp2<Asker>, wire: &mut Streams<()>, settings: &[u8]) {
    let (mut user, mut out) = (over.user(0), Vec::new());
    assert!(over.hello(&mut user, wire, &mut out).is_some());
    let step = over.decode(&mut user, wire, None, &frame(4, 0, 0, settings), &mut out);
    assert!(matches!(step, Step::Done { .. }), "{step:?}");
    assert!(over.hello(&mut user, wire, &mut out).is_none());
}

const OP: Op = Op { label: 0, tag: 7 };

fn told(over: &mut OverHttp2<Asker>, wire: &mut Streams<()>, bytes: &[u8]) -> Step {
    let mut user = over.user(0);
    over.decode(&mut user, wire, Some(OP), bytes, &mut Vec::new())
}

#[test]
fn a_request_becomes_a_stream_and_its_answer_one_of_http1() {
    let (mut over, mut wire, out) = asked();
    // HEADERS that end the stream, on stream 1: GET, https
    assert_eq!(out[3..9], [1, 5, 0, 0, 0, 1]);
    assert_eq!(out[9..11], [0x82, 0x87]);
    let head = frame(1, 4, 1, &[&[0x88, 0x00, 1][..], b"a", &[1, b'b']].concat());
    let step = told(&mut over, &mut wire, &head);
    assert_eq!(step, Step::Aside { consumed: head.len() }, "nothing more of it");
    let pieces = [frame(0, 0, 1, b"hello"), frame(6, 0, 0, b"12345678"), frame(0, 1, 1, b"")];
    let step = told(&mut over, &mut wire, &pieces.concat());
    let Step::DoneOf { tag: 7, answer, then: Then::Keep, .. } = step else { panic!("{step:?}") };
    assert_eq!(answer.outcome, Outcome::Ok);
    let heard =
        "HTTP/1.1 200 \r\na: b\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n";
    assert_eq!(String::from_utf8_lossy(&over.inner.heard), heard);
    let (_, figures) = over.into_parts();
    assert_eq!((figures.connections, figures.streams), (1, 1));
}

#[test]
fn content_of_a_known_length_is_handed_on_as_it_is() {
    let (mut over, mut wire, _) = asked();
    let length = [&[0x88, 0x0f, 13, 1][..], b"3"].concat();
    let bytes = [frame(1, 4, 1, &length), frame(0, 1, 1, b"hi!")].concat();
    assert!(matches!(told(&mut over, &mut wire, &bytes), Step::DoneOf { .. }));
    assert_eq!(over.inner.heard, b"HTTP/1.1 200 \r\ncontent-length: 3\r\n\r\nhi!");
}

#[test]
fn an_answer_whose_end_comes_in_a_frame_of_its_own_is_read_to_it() {
    let length = [&[0x88, 0x0f, 13, 1][..], b"3"].concat();
    // 200 with three bytes, and 204
    let whole = [frame(1, 4, 1, &length), frame(0, 0, 1, b"hi!")].concat();
    for (pieces, kept) in [(whole, "hi"), (frame(1, 4, 1, &[0x89]), "\r\n\r")] {
        let (mut over, mut wire, mut out) = asked();
        out.clear();
        let mut user = over.user(0);
        let step = over.decode(&mut user, &mut wire, Some(OP), &pieces, &mut out);
        assert_eq!(step, Step::Aside { consumed: pieces.len() });
        assert!(over.inner.heard.ends_with(kept.as_bytes()), "its last byte waits: {over:?}");
        let step = over.decode(&mut user, &mut wire, Some(OP), &frame(0, 1, 1, b""), &mut out);
        assert!(matches!(step, Step::DoneOf { tag: 7, then: Then::Keep, .. }), "{step:?}");
        assert!(out.is_empty(), "nothing is given up: {out:?}");
    }
}

#[test]
fn a_stream_that_fails_leaves_the_connection_and_an_error_of_the_connection_does_not() {
    let failed = |bytes: &[u8]| {
        let (mut over, mut wire, _) = asked();
        match told(&mut over, &mut wire, bytes) {
            Step::Done { answer: Answer { outcome: Outcome::Failed(kind), .. }, then, .. }
            | Step::DoneOf {
                answer: Answer { outcome: Outcome::Failed(kind), .. }, then, ..
            } => (kind, then),
            step => panic!("{step:?}"),
        }
    };
    assert_eq!(failed(&frame(3, 0, 1, &[0, 0, 0, 7])), (FailureKind::StreamRefused, Then::Keep));
    assert_eq!(failed(&frame(3, 0, 1, &[0, 0, 0, 2])), (FailureKind::StreamReset, Then::Keep));
    assert_eq!(failed(&frame(1, 5, 1, b"")), (FailureKind::Garbled, Then::Keep));
    let error = frame(7, 0, 0, &[0, 0, 0, 1, 0, 0, 0, 1]);
    assert_eq!(failed(&error), (FailureKind::ConnectionError, Then::Close));
    assert_eq!(failed(&frame(5, 0, 1, b"push")), (FailureKind::Garbled, Then::Close));
}

#[test]
fn what_a_server_had_not_begun_with_when_it_left_is_asked_again() {
    let (mut over, mut wire, _) = asked();
    let (mut user, mut out) = (over.user(0), Vec::new());
    let step = over.decode(&mut user, &mut wire, Some(OP), &frame(7, 0, 0, &[0; 8]), &mut out);
    assert!(matches!(step, Step::Unprocessed { tag: 7, .. }), "{step:?}");
    assert!(!over.takes_more(&wire));
    let mut next = Streams::default();
    stands(&mut over, &mut next, &[]);
    out.clear();
    assert_eq!(over.encode_again(&mut user, &mut next, OP, &mut out), OP);
    assert_eq!(out[3..11], [1, 5, 0, 0, 0, 1, 0x82, 0x87]);
    assert_eq!(over.into_parts().1.sent_again, 1);
}

/// Two requests that wait for a connection.
fn kept() -> Vec<u8> {
    let mut kept = Vec::new();
    for (tag, encrypted) in [(3, true), (4, false)] {
        let request = b"GET /other HTTP/1.1\r\nHost: b\r\n\r\n";
        Kept::add(encrypted, Op { label: 9, tag }, request, &mut kept);
    }
    kept
}

#[test]
fn what_waits_for_another_connection_is_made_streams_there() {
    let (mut over, _, _) = asked();
    let (mut kept, mut wire) = (kept(), Streams::default());
    stands(&mut over, &mut wire, &[]);
    assert_eq!(over.inner.at_once, 100);
    over.carry(&mut wire, &mut kept);
    assert_eq!(kept[3..11], [1, 5, 0, 0, 0, 1, 0x82, 0x87]);
    let tags: Vec<u16> = wire.under_way.iter().map(|stream| stream.op.tag).collect();
    assert_eq!(tags, [3, 4]);
    // answers in the other order, each that of its own
    let second = [frame(1, 4, 3, &[0x88]), frame(0, 1, 3, b"4!")].concat();
    let mut ended = Vec::new();
    for bytes in [second, [frame(1, 4, 1, &[0x88]), frame(0, 1, 1, b"3!")].concat()] {
        over.inner.heard.clear();
        match told(&mut over, &mut wire, &bytes) {
            Step::DoneOf { tag, then: Then::Keep, .. } => ended.push(tag),
            step => panic!("{step:?}"),
        }
    }
    assert_eq!(ended, [4, 3]);
    let (_, figures) = over.into_parts();
    assert_eq!(figures.streams_at_once, 2);
}

#[test]
fn a_server_that_takes_one_at_a_time_is_sent_the_next_behind_it() {
    let (mut over, _, _) = asked();
    let (mut kept, mut wire) = (kept(), Streams::default());
    stands(&mut over, &mut wire, &[0, 3, 0, 0, 0, 1]);
    assert_eq!(over.inner.at_once, 1);
    over.carry(&mut wire, &mut kept);
    assert_eq!((wire.under_way.len(), wire.waiting.len()), (1, 1));
    let (mut user, mut out) = (over.user(0), Vec::new());
    let first = [frame(1, 4, 1, &[0x88]), frame(0, 1, 1, b"3!")].concat();
    let step = over.decode(&mut user, &mut wire, None, &first, &mut out);
    assert!(matches!(step, Step::DoneOf { tag: 3, .. }), "{step:?}");
    assert_eq!(out[3..11], [1, 5, 0, 0, 0, 3, 0x82, 0x86]);
    // and one that waits when the server leaves goes over the next connection
    let mut more = Vec::new();
    Kept::add(true, OP, b"GET / HTTP/1.1\r\n\r\n", &mut more);
    over.carry(&mut wire, &mut more);
    let farewell = frame(7, 0, 0, &[0, 0, 0, 3, 0, 0, 0, 0]);
    let step = over.decode(&mut user, &mut wire, None, &farewell, &mut out);
    assert_eq!(step, Step::Unprocessed { consumed: 17, tag: 7 });
    // what is given up is forgotten, whether it had begun or not
    assert!(over.cancel(&mut wire, OP, &mut out));
}

#[test]
fn what_waits_for_a_server_that_takes_none_for_a_while_is_sent_once_it_takes_some() {
    let (mut over, _, _) = asked();
    let (mut kept, mut wire) = (kept(), Streams::default());
    stands(&mut over, &mut wire, &[]);
    let allowed = |streams: u8| frame(4, 0, 0, &[0, 3, 0, 0, 0, streams]);
    let step = told(&mut over, &mut wire, &allowed(0));
    assert_eq!(step, Step::Aside { consumed: 15 });
    over.carry(&mut wire, &mut kept);
    assert_eq!((wire.under_way.len(), wire.waiting.len()), (0, 2));
    let (mut user, mut out) = (over.user(0), Vec::new());
    let step = over.decode(&mut user, &mut wire, None, &allowed(1), &mut out);
    assert_eq!(step, Step::Aside { consumed: 15 });
    assert_eq!((wire.under_way.len(), wire.waiting.len()), (1, 1));
    assert_eq!(out[12..20], [1, 5, 0, 0, 0, 1, 0x82, 0x87], "behind what confirms the settings");
}

/// A connection with so many streams at the same time, and what `bytes` from the server lead to when
/// three requests, 3, 4 and 7, are begun or wait.
fn left(most: u8, bytes: &[u8]) -> (Vec<String>, Http2Figures) {
    let (mut over, _, _) = asked();
    let (mut kept, mut wire) = (kept(), Streams::default());
    Kept::add(true, OP, b"GET / HTTP/1.1\r\n\r\n", &mut kept);
    stands(&mut over, &mut wire, &[0, 3, 0, 0, 0, most]);
    over.carry(&mut wire, &mut kept);
    let (mut user, mut at, mut all) = (over.user(0), 0, Vec::new());
    while at < bytes.len() && !all.last().is_some_and(|it: &String| it.ends_with("Close")) {
        let step = over.decode(&mut user, &mut wire, None, &bytes[at..], &mut Vec::new());
        let (consumed, what) = match step {
            Step::DoneOf { consumed, tag, then, .. } => (consumed, format!("{tag} {then:?}")),
            Step::Unprocessed { consumed, tag } => (consumed, format!("{tag} again")),
            Step::Leave { consumed } => (consumed, "left".into()),
            step => panic!("{step:?}"),
        };
        all.push(what);
        at += consumed;
    }
    (all, over.into_parts().1)
}

#[test]
fn what_waits_when_the_last_stream_of_a_server_that_leaves_ends_is_asked_again() {
    let end = [frame(1, 4, 1, &[0x88]), frame(0, 1, 1, b"3!")].concat();
    let farewell = frame(7, 0, 0, &[0, 0, 0, 1, 0, 0, 0, 0]);
    let (all, figures) = left(1, &[farewell, end].concat());
    assert_eq!(all, ["3 Keep", "4 again", "7 again", "left"]);
    assert_eq!(figures.farewells, 1);
}

#[test]
fn a_connection_that_ends_with_an_error_counts_once_whatever_was_under_way() {
    let error = frame(7, 0, 0, &[0, 0, 0, 0, 0, 0, 0, 2]);
    for (most, expected) in [
        (100, &["3 Keep", "4 Keep", "7 Close"][..]),
        (1, &["3 Keep", "4 again", "7 again", "left"]),
    ] {
        let (all, figures) = left(most, &error);
        assert_eq!(all, expected);
        assert_eq!(figures.connection_errors, [("INTERNAL_ERROR".to_owned(), 1)].into());
    }
}

proptest::proptest! {
    #[test]
    fn requests_that_wait_are_read_again_or_not_at_all(bytes: Vec<u8>, cut: usize) {
        Kept::of(&bytes).for_each(drop);
        let mut kept = Vec::new();
        for tag in 0..3 {
            Kept::add(tag == 1, Op { label: tag, tag }, &bytes, &mut kept);
        }
        let all: Vec<_> = Kept::of(&kept).collect();
        assert_eq!(all.len(), 3);
        assert!(all.iter().all(|(_, _, request)| *request == bytes));
        let cut = &kept[..cut % kept.len()];
        assert!(Kept::of(cut).count() < 3);
    }
}
