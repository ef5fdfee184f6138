//! The frames of the plumb extension: as they are written down, and under arbitrary bytes.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should end")]

use std::fmt::Write as _;
use std::path::Path;

use plumb_wire::extension::{
    Answer, Carried, ClientTotals, Cpu, Direction, Exchange, Request, StampTerms, StampedMessage,
    Stream, Totals, Traffic,
};
use plumb_wire::ni::HEADER_BYTES;
use proptest::prelude::*;

use crate::cases::cases;

fn requests() -> Vec<(&'static str, Request)> {
    let stream = |direction| Request::Stream(Stream { direction, token: 0x0102_0304_0506_0708 });
    vec![
        ("exchange", Request::Exchange(Exchange { response_bytes: 1200, replies: 4 })),
        ("stream to server", stream(Direction::ToServer)),
        ("stream from server", stream(Direction::FromServer)),
        ("stream both", stream(Direction::Both)),
        ("totals", Request::Totals),
        ("carried", Request::Carried(0x0102_0304_0506_0708)),
        ("stamps", Request::Stamps(StampTerms { every: 64, skip: 1 })),
    ]
}

fn answers() -> Vec<(&'static str, Answer)> {
    let served = Traffic { messages_in: 10, bytes_in: 3000, messages_out: 40, bytes_out: 48_000 };
    let row =
        ClientTotals { handle: 1, connected_ns: 2_000_000, served, peer: "10.1.2.3:40000".into() };
    let another = ClientTotals { handle: 2, peer: "unix".into(), ..ClientTotals::default() };
    let cpu = Cpu { user_ns: 7_000, system_ns: 9_000 };
    vec![
        ("exchange", Answer::Exchange(Exchange { response_bytes: 1200, replies: 4 })),
        ("stream", Answer::Stream(Stream { direction: Direction::Both, token: 5 })),
        (
            "totals",
            Answer::Totals(Totals { cpu, clients: 3, gone: 2, served, rows: vec![row, another] }),
        ),
        ("stamps", Answer::Stamps(StampTerms { every: 64, skip: 1 })),
        (
            "stamped",
            Answer::Stamped(StampedMessage {
                number: 128,
                waking_ns: 12_000,
                work_ns: 3_000,
                sending_ns: 4_000,
            }),
        ),
        ("no totals yet", Answer::Totals(Totals::default())),
        (
            "carried",
            Answer::Carried(Carried {
                began: 5,
                ended: 4,
                broken: 1,
                now_ns: 900,
                first_ns: 100,
                last_ns: 800,
                bytes_in: 1 << 33,
                bytes_out: 17,
                retransmits: 3,
                cpu,
            }),
        ),
    ]
}

fn hex(frame: &[u8]) -> String {
    frame.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[test]
fn frames_are_as_they_are_written_down() {
    let mut text = String::new();
    let mut line = |name: &str, frame: &[u8]| {
        let _ = writeln!(text, "{name}: {}", hex(frame));
    };
    for (name, request) in requests() {
        let mut frame = Vec::new();
        request.push(&mut frame);
        line(&format!("ask {name}"), &frame);
    }
    for (name, answer) in answers() {
        let mut frame = Vec::new();
        answer.push(&mut frame);
        line(&format!("answer {name}"), &frame);
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/extension.txt");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, &text).unwrap();
    }
    assert_eq!(text, std::fs::read_to_string(path).unwrap());
}

#[test]
fn what_is_written_is_read_again_and_a_cut_or_longer_message_is_not() {
    for (name, answer) in answers() {
        let mut frame = Vec::new();
        answer.push(&mut frame);
        let payload = &frame[HEADER_BYTES..];
        assert_eq!(Answer::parse(payload), Ok(Some(answer.clone())), "{name}");
        assert!(Request::parse(payload).is_err(), "{name} is no request");
        let longer = [payload, b"x"].concat();
        assert!(Answer::parse(&longer).is_err(), "{name} with a byte more");
        for cut in 8..payload.len() {
            assert_ne!(Answer::parse(&payload[..cut]), Ok(Some(answer.clone())), "{name} at {cut}");
        }
    }
}

/// Whatever is read is written as it was read.
fn read_and_write(payload: &[u8]) {
    let mut frame = Vec::new();
    if let Ok(Some(request)) = Request::parse(payload) {
        request.push(&mut frame);
        assert_eq!(&frame[HEADER_BYTES..], payload);
    }
    frame.clear();
    if let Ok(Some(answer)) = Answer::parse(payload) {
        answer.push(&mut frame);
        assert_eq!(&frame[HEADER_BYTES..], payload);
    }
}

proptest! {
    #![proptest_config(cases(5_000))]

    #[test]
    fn noise_is_read_without_harm(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        read_and_write(&bytes);
    }

    #[test]
    fn noise_behind_a_head_is_read_without_harm(
        kind in prop::sample::select(vec![1_u8, 2, 3, 4, 0x81, 0x82, 0x83, 0x84, 0x99]),
        fields in prop::collection::vec(any::<u8>(), 0..300),
    ) {
        read_and_write(&[b"PLUMB\0\x01".as_slice(), &[kind], &fields].concat());
    }

    #[test]
    fn a_table_changed_anywhere_is_read_without_harm(
        place in any::<prop::sample::Index>(),
        byte in any::<u8>(),
        which in any::<prop::sample::Index>(),
    ) {
        let mut frame = Vec::new();
        which.get(&answers()).1.push(&mut frame);
        let mut payload = frame.split_off(HEADER_BYTES);
        let place = place.index(payload.len());
        payload[place] = byte;
        read_and_write(&payload);
    }
}
