//! Any bytes, in pieces of any size, are the same messages of PostgreSQL, those that drivers read, and
//! no panic.

use bytes::BytesMut;
use fallible_iterator::FallibleIterator as _;
use plumb_wire::postgres::{Malformed, Message, message};
use postgres_protocol::message::backend;
use proptest::prelude::*;

use crate::cases::cases;

const BYTES_MAX: usize = 300;

type Heard = (Vec<String>, Option<Malformed>);

/// Messages in words, what is wrong behind them, and how many bytes were taken.
fn heard(bytes: &[u8]) -> (Heard, usize) {
    let (mut messages, mut at) = (Vec::new(), 0);
    loop {
        match message(&bytes[at..], BYTES_MAX) {
            Err(malformed) => return ((messages, Some(malformed)), at),
            Ok(None) => return ((messages, None), at),
            Ok(Some((found, taken))) => {
                assert!(taken >= 5 && at + taken <= bytes.len());
                messages.push(written(found));
                at += taken;
            }
        }
    }
}

/// The same from bytes that come one by one.
fn one_by_one(bytes: &[u8]) -> Heard {
    let (mut kept, mut messages) = (Vec::new(), Vec::new());
    for byte in bytes {
        kept.push(*byte);
        let ((mut more, malformed), end) = heard(&kept);
        messages.append(&mut more);
        kept.drain(..end);
        if malformed.is_some() {
            return (messages, malformed);
        }
    }
    (messages, None)
}

/// Everything that can be asked of a message.
fn written(found: Message<'_>) -> String {
    match found {
        Message::Row(row) => format!("{:?}", row.values().collect::<Vec<_>>()),
        Message::Error(report) | Message::Notice(report) => {
            let parts = [b'V', b'C', b'M'].map(|letter| report.part(letter));
            format!("{} {parts:?}", report.is_fatal())
        }
        Message::Authentication(step) => format!("{step:?} {}", step.offers("SCRAM-SHA-256")),
        Message::Ready | Message::Other(_) => format!("{found:?}"),
    }
}

/// A message with a length that fits, of a kind that exists or does not.
fn frame() -> impl Strategy<Value = Vec<u8>> {
    let kind = prop_oneof![prop::sample::select(b"RZDEN123CKST".to_vec()), any::<u8>()];
    (kind, prop::collection::vec(any::<u8>(), 0..40)).prop_map(|(kind, body)| {
        let length = u32::try_from(body.len() + 4).expect("short");
        [&[kind][..], &length.to_be_bytes(), &body].concat()
    })
}

type Values = Vec<Option<Vec<u8>>>;

/// How many bytes the library of drivers takes for the first message, and the values if it is a row.
fn by_the_library(bytes: &[u8]) -> Option<(usize, Option<Values>)> {
    let mut rest = BytesMut::from(bytes);
    let found = backend::Message::parse(&mut rest).ok()??;
    let values = match found {
        backend::Message::DataRow(row) => {
            let value = |range| row.buffer().get(range).map(<[u8]>::to_vec);
            Some(row.ranges().map(|range| Ok(range.and_then(value))).collect().ok()?)
        }
        _ => None,
    };
    Some((bytes.len() - rest.len(), values))
}

/// The same by ours.
fn by_ours(bytes: &[u8]) -> Option<(usize, Option<Values>)> {
    let (found, taken) = message(bytes, BYTES_MAX).ok()??;
    let Message::Row(row) = found else { return Some((taken, None)) };
    Some((taken, Some(row.values().map(|value| value.map(<[u8]>::to_vec)).collect())))
}

/// Rows of values, with the values.
fn rows() -> impl Strategy<Value = (Vec<u8>, Values)> {
    let value = prop::option::of(prop::collection::vec(any::<u8>(), 0..12));
    prop::collection::vec(value, 0..6).prop_map(|values| {
        let mut body = u16::try_from(values.len()).expect("few").to_be_bytes().to_vec();
        for value in &values {
            let length = value.as_ref().map_or(-1, |it| i32::try_from(it.len()).expect("short"));
            body.extend_from_slice(&length.to_be_bytes());
            body.extend(value.iter().flatten());
        }
        let length = u32::try_from(body.len() + 4).expect("short");
        ([&b"D"[..], &length.to_be_bytes(), &body].concat(), values)
    })
}

proptest! {
    #![proptest_config(cases(5_000))]

    #[test]
    fn noise_is_read_without_harm(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        prop_assert_eq!(one_by_one(&bytes), heard(&bytes).0);
    }

    #[test]
    fn what_looks_like_messages_is_read_without_harm(
        frames in prop::collection::vec(frame(), 0..6),
    ) {
        let bytes = frames.concat();
        prop_assert_eq!(one_by_one(&bytes), heard(&bytes).0);
    }

    #[test]
    fn messages_changed_anywhere_are_read_without_harm(
        frames in prop::collection::vec(frame(), 1..4),
        place in any::<prop::sample::Index>(),
        byte in any::<u8>(),
    ) {
        let mut bytes = frames.concat();
        let at = place.index(bytes.len());
        bytes[at] = byte;
        prop_assert_eq!(one_by_one(&bytes), heard(&bytes).0);
    }

    #[test]
    fn drivers_read_the_same_rows(
        (mut bytes, values) in rows(),
        more in prop::collection::vec(any::<u8>(), 0..9),
    ) {
        let found = Some((bytes.len(), Some(values)));
        bytes.extend(more);
        prop_assert_eq!(by_the_library(&bytes), found.clone());
        prop_assert_eq!(by_ours(&bytes), found);
    }

    #[test]
    fn what_drivers_understand_and_we_do_is_the_same(bytes in frame()) {
        if let (Some(library), Some(ours)) = (by_the_library(&bytes), by_ours(&bytes)) {
            prop_assert_eq!(library, ours);
        }
    }

    #[test]
    fn rows_come_back_as_they_were_sent((bytes, values) in rows()) {
        let Ok(Some((Message::Row(row), taken))) = message(&bytes, BYTES_MAX) else {
            panic!("{bytes:?} is a row");
        };
        let found: Vec<Option<Vec<u8>>> =
            row.values().map(|value| value.map(<[u8]>::to_vec)).collect();
        prop_assert_eq!((found, taken), (values, bytes.len()));
    }
}
