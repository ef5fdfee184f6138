//! Datagrams under arbitrary bytes: whatever comes, nothing breaks, and what is read is written as it
//! came.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should end")]

use plumb_wire::datagram::{Account, Ask, Begin, HEAD_BYTES, Head, Kind};
use proptest::prelude::*;

use crate::cases::cases;

/// Bytes that start as ours do, or otherwise.
fn datagrams() -> impl Strategy<Value = Vec<u8>> {
    let any = prop::collection::vec(any::<u8>(), 0..300);
    let kinds = prop::sample::select(vec![1_u8, 0x81, 2, 0x82, 3, 4, 0x84, 5, 0x85, 0xff, 0]);
    let ours = (kinds, any.clone())
        .prop_map(|(kind, rest)| [b"PU\x01".as_slice(), &[kind], &rest].concat());
    prop_oneof![any, ours]
}

proptest! {
    #![proptest_config(cases(2_000))]

    #[test]
    fn every_head_that_is_read_is_written_as_it_came(datagram in datagrams()) {
        if let Ok((head, body)) = Head::parse(&datagram) {
            let mut again = datagram.clone();
            again[..HEAD_BYTES].fill(0);
            head.write(&mut again);
            prop_assert_eq!(&again, &datagram);
            prop_assert_eq!(body, &datagram[HEAD_BYTES..]);
        }
    }

    #[test]
    fn every_body_that_is_read_is_written_as_it_came(body in prop::collection::vec(any::<u8>(), 0..260)) {
        let mut again = Vec::new();
        if let Ok(begin) = Begin::parse(&body) {
            begin.push(&mut again);
            // of a stream that the client sends, nothing of a sender counts
            let counts = if begin.from_server.is_some() { 28 } else { 12 };
            prop_assert_eq!(&again[..counts], &body[..counts]);
        }
        again.clear();
        if let Ok(account) = Account::parse(&body) {
            account.push(&mut again);
            prop_assert_eq!(&again, &body);
        }
        again.clear();
        if let Ok(ask) = Ask::parse(&body) {
            ask.push(&mut again);
            prop_assert_eq!(&again[..16], &body[..16]);
        }
    }

    #[test]
    fn bodies_of_the_right_length_are_read(numbers in prop::collection::vec(any::<u64>(), 23)) {
        let mut body = vec![1];
        numbers.iter().for_each(|number| body.extend_from_slice(&number.to_be_bytes()));
        let mut again = Vec::new();
        Account::parse(&body).unwrap().push(&mut again);
        prop_assert_eq!(again, body);
    }
}

/// One of each kind, byte by byte: what other programs have to speak.
#[test]
fn the_bytes_of_a_message_are_these() {
    let head = Head { kind: Kind::Ping, token: 0x0102, number: 3, stamp: 4 };
    let expected = b"PU\x01\x02\0\0\0\0\0\0\x01\x02\0\0\0\0\0\0\0\x03\0\0\0\0\0\0\0\x04";
    assert_eq!(head.filled(HEAD_BYTES), expected);
}
