//! The reader of HTTP responses under arbitrary bytes: never a panic, and the same result however
//! the bytes are cut.
//!
//! `PLUMB_FUZZ_CASES` sets the number of cases of each property.

use plumb_wire::http::{Ask, Body, Memo, RawHead, Url, basic_realm, told};
use proptest::prelude::*;

use crate::cases::cases;

/// What a reader of responses sees.
#[derive(Clone, Debug, PartialEq)]
enum DecodedHead {
    Response { status: u16, content: u64, complete: bool },
    Refused(String),
}

/// A response that is coming in.
struct Reading {
    memo: Memo,
    body: Option<(u16, Body)>,
    seen: Vec<DecodedHead>,
}

impl Reading {
    fn new(ask: Ask) -> Self {
        Self { memo: Memo::new(ask), body: None, seen: Vec::new() }
    }

    /// One step; the bytes consumed, `None` when more are needed or nothing more can be read.
    fn step(&mut self, bytes: &[u8]) -> Option<usize> {
        if let Some((status, body)) = &mut self.body {
            return match body.take(bytes) {
                Err(error) => self.refuse(&error.to_string()),
                Ok(taken) => {
                    if taken.complete {
                        let (status, content) = (*status, body.content());
                        self.seen.push(DecodedHead::Response { status, content, complete: true });
                        self.body = None;
                    }
                    (taken.consumed > 0 || taken.complete).then_some(taken.consumed)
                }
            };
        }
        match self.memo.read(bytes) {
            Err(error) => self.refuse(&error.to_string()),
            Ok(None) => None,
            Ok(Some((head, length))) => {
                assert!(length <= bytes.len() && (100..1000).contains(&head.status));
                if head.tells_times {
                    told(&RawHead::new(self.memo.last()))
                        .for_each(|told| assert!(!told.name.is_empty()));
                }
                self.body = Some((head.status, Body::new(head.framing)));
                Some(length)
            }
        }
    }

    fn refuse(&mut self, why: &str) -> Option<usize> {
        self.seen.push(DecodedHead::Refused(why.to_owned()));
        None
    }

    fn refused(&self) -> bool {
        matches!(self.seen.last(), Some(DecodedHead::Refused(_)))
    }

    /// What was seen, the response that is under way included.
    fn finish(mut self) -> Vec<DecodedHead> {
        if let Some((status, body)) = self.body {
            self.seen.push(DecodedHead::Response {
                status,
                content: body.content(),
                complete: false,
            });
        }
        self.seen
    }
}

/// Everything seen in `bytes` that come cut at `cuts`, lengths of pieces in turn.
fn read(bytes: &[u8], cuts: &[usize], ask: Ask) -> Vec<DecodedHead> {
    let mut reading = Reading::new(ask);
    let (mut from, mut to) = (0, 0);
    let mut cuts = cuts.iter().copied().cycle();
    while to < bytes.len() && !reading.refused() {
        to = bytes.len().min(to + cuts.next().unwrap_or(bytes.len()).max(1));
        while !reading.refused() && (from < to || reading.body.is_some()) {
            match reading.step(&bytes[from..to]) {
                Some(consumed) => from += consumed,
                None => break,
            }
        }
    }
    reading.finish()
}

fn line() -> impl Strategy<Value = String> {
    prop_oneof![
        (0u64..40).prop_map(|n| format!("Content-Length: {n}")),
        Just("Transfer-Encoding: chunked".to_owned()),
        Just("Connection: close".to_owned()),
        Just("Server-Timing: db;dur=1.5, \"".to_owned()),
        Just("sap-statistics: gwtotal=45,=".to_owned()),
        "[A-Za-z-]{1,12}: [ -~]{0,20}",
    ]
}

fn response() -> impl Strategy<Value = Vec<u8>> {
    let status = prop_oneof![Just(200u16), Just(100), Just(204), Just(304), Just(401), 0u16..1100];
    let body = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..60),
        Just(b"4\r\nWiki\r\n5;x=y\r\npedia\r\n0\r\n\r\n".to_vec()),
        Just(b"a\r\n0123456789\r\n0\r\nA: b\r\n\r\n".to_vec()),
    ];
    (status, prop::collection::vec(line(), 0..5), body).prop_map(|(status, lines, body)| {
        let lines: String = lines.iter().map(|line| format!("{line}\r\n")).collect();
        [format!("HTTP/1.1 {status} x\r\n{lines}\r\n").into_bytes(), body].concat()
    })
}

fn several() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(response(), 1..4).prop_map(|all| all.concat())
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let noise = prop::collection::vec(any::<u8>(), 0..200);
    let bent =
        (several(), any::<prop::sample::Index>(), any::<u8>()).prop_map(|(mut bytes, at, byte)| {
            let at = at.index(bytes.len());
            bytes[at] = byte;
            bytes
        });
    prop_oneof![3 => several(), 2 => bent, 1 => noise]
}

proptest! {
    #![proptest_config(cases(2_000))]

    #[test]
    fn the_same_is_seen_however_the_bytes_are_cut(
        bytes in bytes(),
        cuts in prop::collection::vec(1usize..30, 1..20),
        ask in prop_oneof![Just(Ask::Content), Just(Ask::Head), Just(Ask::Connect)],
    ) {
        let whole = read(&bytes, &[], ask);
        prop_assert_eq!(&read(&bytes, &cuts, ask), &whole);
        prop_assert_eq!(&read(&bytes, &[1], ask), &whole);
    }

    #[test]
    fn a_head_that_is_remembered_says_what_it_would_say_anew(
        heads in prop::collection::vec((response(), 1usize..4), 1..8),
    ) {
        let mut memo = Memo::default();
        for (bytes, times) in heads {
            for _ in 0..times {
                prop_assert_eq!(memo.read(&bytes), Memo::default().read(&bytes));
            }
        }
    }

    #[test]
    fn texts_from_elsewhere_never_panic(base in "http://[a-z]{1,8}/[ -~]{0,20}", text in ".{0,80}") {
        let _ = basic_realm(&text);
        if let Ok(url) = Url::parse(&text) {
            prop_assert_eq!(Url::parse(&url.to_string()), Ok(url));
        }
        if let Ok(base) = Url::parse(&base)
            && let Ok(joined) = base.join(&text)
        {
            prop_assert_eq!(Url::parse(&joined.to_string()), Ok(joined));
        }
    }
}
