//! The NI decoder under arbitrary bytes: the committed corpus, the corpus mutated, and noise.
//!
//! `PLUMB_FUZZ_CASES` sets the number of cases of each property.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should end")]

use plumb_wire::ni::{self, HEADER_BYTES, Message, Payload};
use proptest::prelude::*;

use crate::cases::cases;
use crate::corpus::files_of;

/// What a reader of frames sees.
#[derive(Clone, Debug, PartialEq)]
enum DecodedFrame {
    Data(usize),
    Ping,
    Pong,
    Route,
    Message { opcode: u8, return_code: i32, error: Option<String> },
    Malformed,
}

/// All complete frames of `bytes`, and where the last of them ends.
fn frames(bytes: &[u8]) -> (Vec<DecodedFrame>, usize) {
    let (mut seen, mut at) = (Vec::new(), 0);
    while let Some(length) = ni::payload_length(&bytes[at..]) {
        let Ok(length) = usize::try_from(length) else { break };
        let Some(payload) = bytes[at + HEADER_BYTES..].get(..length) else { break };
        seen.push(judge(payload));
        at += HEADER_BYTES + length;
    }
    (seen, at)
}

fn judge(payload: &[u8]) -> DecodedFrame {
    match Payload::of(payload) {
        Ok(Payload::Data(data)) => {
            assert_eq!(data, payload, "content is shown whole and unchanged");
            DecodedFrame::Data(data.len())
        }
        Ok(Payload::Ping) => DecodedFrame::Ping,
        Ok(Payload::Pong) => DecodedFrame::Pong,
        Ok(Payload::Route) => DecodedFrame::Route,
        Ok(Payload::Message(message)) => {
            assert!(!message.to_string().is_empty());
            let Message { opcode, return_code, .. } = message;
            let error = message.error().map(str::to_owned);
            DecodedFrame::Message { opcode, return_code: return_code.0, error }
        }
        Err(malformed) => {
            assert_eq!(malformed.payload_bytes, payload.len());
            DecodedFrame::Malformed
        }
    }
}

/// The same frames, from bytes that come in pieces of `piece` bytes.
fn frames_in_pieces(bytes: &[u8], piece: usize) -> Vec<DecodedFrame> {
    let (mut seen, mut kept) = (Vec::new(), Vec::new());
    for part in bytes.chunks(piece) {
        kept.extend_from_slice(part);
        let (mut more, end) = frames(&kept);
        seen.append(&mut more);
        kept.drain(..end);
    }
    seen
}

/// Where frames lie that are read as they are, and changed.
const FRAMES: [&str; 1] = ["corpus/ni"];

#[test]
fn the_corpus_reads_as_it_is_meant() {
    let read: Vec<(String, Vec<DecodedFrame>)> =
        files_of(&FRAMES).into_iter().map(|(name, bytes)| (name, frames(&bytes).0)).collect();
    let of = |name: &str| &read.iter().find(|(other, _)| other == name).unwrap().1;
    let error = |return_code, error: Option<&str>| DecodedFrame::Message {
        opcode: ni::OPCODE_ERROR,
        return_code,
        error: error.map(str::to_owned),
    };
    assert_eq!(read.len(), 19);
    assert_eq!(*of("data"), [DecodedFrame::Data(60)]);
    assert_eq!(*of("empty-frame"), [DecodedFrame::Data(0)]);
    assert_eq!(*of("ping-pong"), [DecodedFrame::Ping, DecodedFrame::Pong]);
    assert_eq!(*of("ping-longer"), [DecodedFrame::Data(17)]);
    assert_eq!(
        *of("coalesced"),
        [DecodedFrame::Data(3), DecodedFrame::Ping, DecodedFrame::Data(0), DecodedFrame::Data(5)]
    );
    assert_eq!(*of("error"), [error(-20, Some("too big"))]);
    assert_eq!(*of("error-no-text"), [error(i32::MIN, None)]);
    assert_eq!(*of("error-text-not-utf8"), [error(-90, None)]);
    for name in ["error-cut", "error-text-longer", "error-text-huge"] {
        assert_eq!(*of(name), [DecodedFrame::Malformed], "{name}");
    }
    assert_eq!(*of("route"), [DecodedFrame::Route]);
    for name in ["half-header", "half-payload", "length-beyond", "length-all-ones", "http", "tls"] {
        assert!(of(name).is_empty(), "{name}");
    }
}

#[test]
fn pieces_of_any_size_give_the_same_frames() {
    for (name, bytes) in files_of(&FRAMES) {
        let whole = frames(&bytes).0;
        for piece in 1..=bytes.len() {
            assert_eq!(frames_in_pieces(&bytes, piece), whole, "{name} in pieces of {piece}");
        }
    }
}

proptest! {
    #![proptest_config(cases(5_000))]

    #[test]
    fn noise_is_read_without_harm(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let (seen, end) = frames(&bytes);
        prop_assert!(end <= bytes.len());
        prop_assert_eq!(frames_in_pieces(&bytes, 7), seen);
    }

    #[test]
    fn a_payload_that_starts_as_a_message_is_read_without_harm(
        tail in prop::collection::vec(any::<u8>(), 0..80),
    ) {
        judge(&[b"NI_RTERR\0".as_slice(), &tail].concat());
    }

    #[test]
    fn the_corpus_changed_anywhere_is_read_without_harm(
        which in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in any::<prop::sample::Index>(),
    ) {
        let files = files_of(&FRAMES);
        let mut bytes = which.get(&files).1.clone();
        for (place, byte) in changes {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        bytes.truncate(cut.index(bytes.len()) + 1);
        let seen = frames(&bytes).0;
        prop_assert_eq!(frames_in_pieces(&bytes, 1), seen);
    }
}
