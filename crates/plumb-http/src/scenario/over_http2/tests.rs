use plumb_measure::Outcome;

use super::*;

/// Asks for one page after the other, and takes answers of HTTP/1.1 up to their end.
#[derive(Debug, Default)]
struct Asker {
    /// What came, as the player saw it.
    heard: Vec<u8>,
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

/// A frame.
fn frame(kind: u8, flags: u8, stream: u8, payload: &[u8]) -> Vec<u8> {
    let length = u8::try_from(payload.len()).unwrap();
    [&[0, 0, length, kind, flags, 0, 0, 0, stream], payload].concat()
}

/// A connection that stands, one request under way; and what was sent.
fn asked() -> (OverHttp2<Asker>, OneStream<()>, Vec<u8>) {
    let mut over = OverHttp2::new(Asker::default(), vec![Scheme::Https]);
    let (mut wire, mut out) = (OneStream::default(), Vec::new());
    assert!(over.hello(&mut (), &mut wire, &mut out).is_some());
    let step = over.decode(&mut (), &mut wire, None, &frame(4, 0, 0, b""), &mut out);
    assert!(matches!(step, Step::Done { consumed: 9, .. }), "{step:?}");
    assert!(over.hello(&mut (), &mut wire, &mut out).is_none());
    out.clear();
    assert_eq!(over.encode(&mut (), &mut wire, &mut out), Next::Send(OP));
    (over, wire, out)
}

const OP: Op = Op { label: 0, tag: 7 };

fn told(over: &mut OverHttp2<Asker>, wire: &mut OneStream<()>, bytes: &[u8]) -> Step {
    over.decode(&mut (), wire, Some(OP), bytes, &mut Vec::new())
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
    let Step::Done { answer, then: Then::Keep, .. } = step else { panic!("{step:?}") };
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
    assert!(matches!(told(&mut over, &mut wire, &bytes), Step::Done { .. }));
    assert_eq!(over.inner.heard, b"HTTP/1.1 200 \r\ncontent-length: 3\r\n\r\nhi!");
}

#[test]
fn a_stream_that_fails_leaves_the_connection_and_one_that_is_not_begun_with_does_not() {
    let failed = |bytes: &[u8]| {
        let (mut over, mut wire, _) = asked();
        match told(&mut over, &mut wire, bytes) {
            Step::Done { answer: Answer { outcome: Outcome::Failed(kind), .. }, then, .. } => {
                (kind, then)
            }
            step => panic!("{step:?}"),
        }
    };
    assert_eq!(failed(&frame(3, 0, 1, &[0, 0, 0, 7])), (FailureKind::StreamRefused, Then::Keep));
    assert_eq!(failed(&frame(3, 0, 1, &[0, 0, 0, 2])), (FailureKind::StreamReset, Then::Keep));
    assert_eq!(failed(&frame(1, 5, 1, b"")), (FailureKind::Garbled, Then::Keep));
    let unprocessed = frame(7, 0, 0, &[0; 8]);
    assert_eq!(failed(&unprocessed), (FailureKind::StreamRefused, Then::Close));
    let error = frame(7, 0, 0, &[0, 0, 0, 1, 0, 0, 0, 1]);
    assert_eq!(failed(&error), (FailureKind::ConnectionError, Then::Close));
    assert_eq!(failed(&frame(5, 0, 1, b"push")), (FailureKind::Garbled, Then::Close));
}

#[test]
fn what_waits_for_another_connection_is_made_a_stream_there() {
    let (mut over, _, _) = asked();
    let mut kept = vec![1];
    kept.extend_from_slice(b"GET /other HTTP/1.1\r\nHost: b\r\n\r\n");
    let (mut wire, mut out) = (OneStream::default(), Vec::new());
    over.hello(&mut (), &mut wire, &mut out);
    over.decode(&mut (), &mut wire, None, &frame(4, 0, 0, b""), &mut out);
    over.carry(&mut wire, &mut kept);
    assert_eq!(kept[3..11], [1, 5, 0, 0, 0, 1, 0x82, 0x87]);
    assert!(wire.current.is_some());
}
