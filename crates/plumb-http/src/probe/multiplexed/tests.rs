use plumb_measure::Outcome;
use proptest::prelude::*;

use super::*;

/// A frame.
fn frame(kind: u8, flags: u8, stream: u8, payload: &[u8]) -> Vec<u8> {
    let length = u8::try_from(payload.len()).unwrap();
    [&[0, 0, length, kind, flags, 0, 0, 0, stream], payload].concat()
}

fn probe() -> MultiplexedProbe {
    let limits = Limits { expected: "2xx".parse().unwrap(), body_bytes_max: 10 };
    let request = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n".to_vec();
    MultiplexedProbe::new(&[request], Scheme::Http, limits, 7).unwrap()
}

/// What a server may say to three requests: two answers, and an end in order.
fn said() -> Vec<Vec<u8>> {
    let timing = [&[0x88, 0x00, 13][..], b"server-timing", &[8], b"db;dur=1"].concat();
    vec![
        frame(4, 0, 0, b""),
        frame(1, 4, 3, &timing),
        frame(0, 1, 3, b"hello"),
        frame(1, 5, 1, &[0x8d]),
        frame(7, 0, 0, &[0, 0, 0, 3, 0, 0, 0, 0]),
    ]
}

/// What all steps are that `bytes` lead to, three requests sent when the connection stands; the last
/// where nothing more is to be had.
fn steps(probe: &mut MultiplexedProbe, bytes: &[u8]) -> Vec<Step> {
    let (mut user, mut wire, mut out) = (probe.user(0), Streams::default(), Vec::new());
    assert!(probe.hello(&mut user, &mut wire, &mut out).is_some());
    let (mut at, mut all) = (0, Vec::new());
    while at < bytes.len() && all.len() < 1_000 {
        let step = probe.decode(&mut user, &mut wire, None, &bytes[at..], &mut out);
        all.push(step);
        match step {
            Step::Need { .. } | Step::Leave { .. } => break,
            Step::Done { then: Then::Close, .. } => break,
            Step::Done { consumed, .. } => {
                assert!(probe.hello(&mut user, &mut wire, &mut out).is_none());
                for _ in 0..3 {
                    probe.encode(&mut user, &mut wire, &mut out);
                }
                at += consumed;
            }
            Step::Aside { consumed }
            | Step::DoneOf { consumed, .. }
            | Step::Unprocessed { consumed, .. } => at += consumed,
        }
    }
    all
}

#[test]
fn answers_belong_to_their_requests_and_what_was_not_begun_with_is_told() {
    let mut probe = probe();
    let (head, rest) = (said().remove(0), said()[1..].concat());
    let bytes = [head.clone(), rest].concat();
    // the settings come in a read of their own
    let (mut user, mut wire, mut out) = (probe.user(0), Streams::default(), Vec::new());
    probe.hello(&mut user, &mut wire, &mut out);
    let first = probe.decode(&mut user, &mut wire, None, &head, &mut out);
    assert!(matches!(first, Step::Done { consumed, .. } if consumed == head.len()));
    let ops: Vec<Next> = (0..3).map(|_| probe.encode(&mut user, &mut wire, &mut out)).collect();
    let op = |tag| Next::Send(Op { label: 0, tag });
    assert_eq!(ops, [op(0), op(1), op(2)]);
    let mut at = head.len();
    let mut of = Vec::new();
    while at < bytes.len() {
        match probe.decode(&mut user, &mut wire, None, &bytes[at..], &mut out) {
            Step::DoneOf { consumed, tag, answer, then: Then::Keep } => {
                at += consumed;
                of.push((tag, Some(answer)));
            }
            Step::Unprocessed { consumed, tag } => {
                at += consumed;
                of.push((tag, None));
            }
            Step::Aside { consumed } | Step::Leave { consumed } => at += consumed,
            other => panic!("{other:?}"),
        }
    }
    let [(1, Some(right)), (0, Some(wrong)), (2, None)] = of[..] else {
        panic!("{of:?}");
    };
    assert_eq!((right.outcome, right.code, right.body_bytes), (Outcome::Ok, Some(200), 5));
    assert_eq!(probe.judge.told_names(), ["db"]);
    assert_eq!(wrong.outcome, Outcome::Failed(FailureKind::UnexpectedStatus));
    let Http2Figures { connections, streams_at_once, farewells, .. } = probe.figures;
    assert_eq!((connections, streams_at_once, farewells), (1, 3, 1));
}

#[test]
fn too_much_content_ends_its_stream() {
    let mut probe = probe();
    let (mut user, mut wire, mut out) = (probe.user(0), Streams::default(), Vec::new());
    probe.hello(&mut user, &mut wire, &mut out);
    probe.decode(&mut user, &mut wire, None, &said()[0], &mut out);
    probe.encode(&mut user, &mut wire, &mut out);
    out.clear();
    let bytes = [frame(1, 4, 1, &[0x88]), frame(0, 1, 1, b"eleven bytes")].concat();
    let step = probe.decode(&mut user, &mut wire, None, &bytes, &mut out);
    let Step::DoneOf { tag: 0, answer, then: Then::Keep, .. } = step else {
        panic!("{step:?}");
    };
    assert_eq!(answer.outcome, Outcome::Failed(FailureKind::BodyTooLarge));
    assert_eq!(probe.begun(&mut wire), None, "nothing has begun that is not over");
    assert!(probe.complaint().unwrap().contains("raise --max-body"));
}

proptest! {
    #[test]
    fn anything_that_a_server_says_is_judged(
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
    ) {
        let mut bytes = said().concat();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let all = steps(&mut probe(), &bytes);
        prop_assert!(all.len() < 1_000, "{all:?}");
    }
}
