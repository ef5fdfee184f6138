//! Bytes that come in pieces, and bytes that are wrong.

use proptest::prelude::*;

use super::*;

/// What a server may say to three requests.
fn conversation() -> Vec<u8> {
    [
        settings(&[(3, 100), (4, 1_000)]),
        frame(kind::SETTINGS, flag::ACK, 0, b""),
        frame(kind::WINDOW_UPDATE, 0, 0, &1_000_u32.to_be_bytes()),
        head(3, 0, &[OK, ("content-length", "6"), ("server", "x")]),
        data(3, b"\x03abc\0\0\0", flag::PADDED),
        frame(kind::PING, 0, 0, b"12345678"),
        head(1, 0, &[(":status", "103")]),
        frame(kind::HEADERS, 0, 1, &[0x88]),
        frame(kind::CONTINUATION, flag::END_HEADERS, 1, &block(&[("x-b", "2")])),
        data(3, b"def", flag::END_STREAM),
        data(1, b"", 0),
        head(1, flag::END_STREAM, &[("x-trailer", "1")]),
        frame(kind::GOAWAY, 0, 0, &[0, 0, 0, 3, 0, 0, 0, 0]),
    ]
    .concat()
}

/// What `bytes` mean to a client of three requests when they come in pieces of these lengths, content
/// put together.
fn in_pieces(bytes: &[u8], pieces: impl Iterator<Item = usize>) -> Vec<String> {
    let mut client = Client::default();
    let (mut kept, mut rest, mut out) = (Vec::new(), bytes, Vec::new());
    let (mut found, mut text, mut left) = (Vec::new(), String::new(), 3);
    for length in pieces {
        let (piece, behind) = rest.split_at(length.min(rest.len()));
        kept.extend_from_slice(piece);
        rest = behind;
        loop {
            let (taken, event) = match client.read(&kept, &mut out) {
                Ok(read) => read,
                Err(violation) => {
                    found.push(violation.to_string());
                    return found;
                }
            };
            let all = matches!(event, Event::None);
            match event {
                Event::Content { bytes, ends, .. } => {
                    text += &String::from_utf8_lossy(bytes);
                    if ends {
                        found.push(std::mem::take(&mut text));
                    }
                }
                Event::None => {}
                event => found.push(words(event)),
            }
            kept.drain(..taken);
            if all {
                break;
            }
        }
        while client.takes_more() && left > 0 {
            client.begin(&request(b"0123456789"), 0, b"", &mut out);
            left -= 1;
        }
        if rest.is_empty() {
            break;
        }
    }
    found
}

proptest! {
    #[test]
    fn pieces_of_any_length_mean_the_same(lengths in proptest::collection::vec(1..40_usize, 1..60)) {
        let bytes = conversation();
        let whole = in_pieces(&bytes, [9 + 12].into_iter().chain(std::iter::repeat(bytes.len())));
        let all = ["1 200 false", "0 200 false", "abcdef", "0 ended", "2 unprocessed", "left NO_ERROR"];
        prop_assert_eq!(&whole, &all);
        let pieces = [9 + 12].into_iter().chain(lengths.into_iter().cycle());
        prop_assert_eq!(in_pieces(&bytes, pieces), whole);
    }

    #[test]
    fn a_conversation_that_was_changed_is_understood_or_refused(
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..5),
        lengths in proptest::collection::vec(1..200_usize, 1..20),
    ) {
        let mut bytes = conversation();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        in_pieces(&bytes, lengths.into_iter().cycle());
    }

    #[test]
    fn any_frames_are_understood_or_refused(
        all in proptest::collection::vec(
            (0..11_u8, any::<u8>(), 0..8_u32, proptest::collection::vec(any::<u8>(), 0..40)), 0..30,
        ),
    ) {
        let said: Vec<u8> = all.iter().flat_map(|(kind, flags, id, bytes)| frame(*kind, *flags, *id, bytes)).collect();
        in_pieces(&[settings(&[]), said].concat(), std::iter::repeat(64));
    }
}
