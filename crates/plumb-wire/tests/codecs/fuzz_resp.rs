//! Any bytes, in pieces of any size, give the same commands, and no panic.

use plumb_wire::resp::{
    Limits, Malformed, Reply, ReplyLimits, Words, command, push_array, push_bulk, push_command,
    push_error, push_null, push_signed, push_simple, reply,
};
use proptest::prelude::*;

use crate::cases::cases;

const LIMITS: Limits = Limits { words: 8, word_bytes: 64, command_bytes: 512 };

type Read = (Vec<Vec<Vec<u8>>>, Option<Malformed>);

fn read(bytes: &[u8]) -> (Read, usize) {
    let (mut commands, mut at, mut words) = (Vec::new(), 0, Words::default());
    loop {
        match command(&bytes[at..], &LIMITS, &mut words) {
            Err(malformed) => return ((commands, Some(malformed)), at),
            Ok(None) => return ((commands, None), at),
            Ok(Some(taken)) => {
                assert!(taken > 0 && at + taken <= bytes.len());
                let here = &bytes[at..];
                commands.push((0..words.len()).map(|n| words.get(here, n).to_vec()).collect());
                at += taken;
            }
        }
    }
}

/// The same from bytes that come one by one.
fn read_one_by_one(bytes: &[u8]) -> Read {
    let (mut kept, mut commands) = (Vec::new(), Vec::new());
    for byte in bytes {
        kept.push(*byte);
        let ((mut more, malformed), end) = read(&kept);
        commands.append(&mut more);
        kept.drain(..end);
        if malformed.is_some() {
            return (commands, malformed);
        }
    }
    (commands, None)
}

fn frames() -> impl Strategy<Value = Vec<u8>> {
    let word = prop::collection::vec(any::<u8>(), 0..12);
    let words = prop::collection::vec(word, 0..5);
    prop::collection::vec(words, 1..4).prop_map(|commands| {
        let mut bytes = Vec::new();
        for words in &commands {
            let words: Vec<&[u8]> = words.iter().map(|word| &**word).collect();
            push_command(&mut bytes, &words);
        }
        bytes
    })
}

const REPLIES: ReplyLimits = ReplyLimits { bytes: 512, items: 64 };

/// Replies as text, what is wrong behind them, and how many bytes were taken.
fn read_replies(bytes: &[u8]) -> ((Vec<String>, Option<Malformed>), usize) {
    let (mut replies, mut at) = (Vec::new(), 0);
    loop {
        match reply(&bytes[at..], &REPLIES) {
            Err(malformed) => return ((replies, Some(malformed)), at),
            Ok(None) => return ((replies, None), at),
            Ok(Some((found, taken))) => {
                assert!(taken > 0 && at + taken <= bytes.len());
                replies.push(written(found));
                at += taken;
            }
        }
    }
}

fn replies_one_by_one(bytes: &[u8]) -> (Vec<String>, Option<Malformed>) {
    let (mut kept, mut replies) = (Vec::new(), Vec::new());
    for byte in bytes {
        kept.push(*byte);
        let ((mut more, malformed), end) = read_replies(&kept);
        replies.append(&mut more);
        kept.drain(..end);
        if malformed.is_some() {
            return (replies, malformed);
        }
    }
    (replies, None)
}

/// A reply in words; an array has as many items as it says.
fn written(found: Reply<'_>) -> String {
    match found {
        Reply::Array(items) => {
            let count = items.len();
            let parts: Vec<String> = items.map(written).collect();
            assert_eq!(parts.len(), count);
            format!("[{}]", parts.join(" "))
        }
        other => format!("{other:?}"),
    }
}

/// A reply as a server writes it, and in words.
fn replies() -> impl Strategy<Value = (Vec<u8>, String)> {
    let text = "[a-zA-Z ]{0,12}";
    let leaf = prop_oneof![
        text.prop_map(|it| {
            let mut bytes = Vec::new();
            push_simple(&mut bytes, &it);
            (bytes, written(Reply::Simple(it.as_bytes())))
        }),
        text.prop_map(|it| {
            let mut bytes = Vec::new();
            push_error(&mut bytes, it.as_bytes());
            (bytes, written(Reply::Error(it.as_bytes())))
        }),
        any::<i64>().prop_map(|it| {
            let mut bytes = Vec::new();
            push_signed(&mut bytes, it);
            (bytes, written(Reply::Integer(it)))
        }),
        prop::collection::vec(any::<u8>(), 0..12).prop_map(|it| {
            let mut bytes = Vec::new();
            push_bulk(&mut bytes, &it);
            (bytes, written(Reply::Bulk(&it)))
        }),
        Just(()).prop_map(|()| {
            let mut bytes = Vec::new();
            push_null(&mut bytes, 2);
            (bytes, written(Reply::Null))
        }),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop::collection::vec(inner, 0..4).prop_map(|items| {
            let mut bytes = Vec::new();
            push_array(&mut bytes, items.len());
            items.iter().for_each(|(more, _)| bytes.extend_from_slice(more));
            let words: Vec<&str> = items.iter().map(|(_, word)| &**word).collect();
            (bytes, format!("[{}]", words.join(" ")))
        })
    })
}

proptest! {
    #![proptest_config(cases(5_000))]

    #[test]
    fn noise_instead_of_replies_is_read_without_harm(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        prop_assert_eq!(replies_one_by_one(&bytes), read_replies(&bytes).0);
    }

    #[test]
    fn what_looks_like_replies_is_read_without_harm(text in "[*$:+0-9a\r\n-]{0,60}") {
        prop_assert_eq!(replies_one_by_one(text.as_bytes()), read_replies(text.as_bytes()).0);
    }

    #[test]
    fn replies_come_back_as_they_were_sent((bytes, words) in replies()) {
        prop_assert_eq!(read_replies(&bytes).0, (vec![words.clone()], None));
        prop_assert_eq!(replies_one_by_one(&bytes), (vec![words], None));
    }

    #[test]
    fn noise_is_read_without_harm(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        prop_assert_eq!(read_one_by_one(&bytes), read(&bytes).0);
    }

    #[test]
    fn what_looks_like_resp_is_read_without_harm(text in "[*$0-9a\" \r\n-]{0,60}") {
        prop_assert_eq!(read_one_by_one(text.as_bytes()), read(text.as_bytes()).0);
    }

    #[test]
    fn commands_come_back_as_they_were_sent(bytes in frames()) {
        let ((commands, malformed), end) = read(&bytes);
        prop_assert_eq!((malformed, end), (None, bytes.len()));
        let mut again = Vec::new();
        for words in &commands {
            let words: Vec<&[u8]> = words.iter().map(|word| &**word).collect();
            push_command(&mut again, &words);
        }
        prop_assert_eq!(again, bytes);
    }

    #[test]
    fn frames_changed_anywhere_are_read_without_harm(
        bytes in frames(),
        place in any::<prop::sample::Index>(),
        byte in any::<u8>(),
    ) {
        let mut bytes = bytes;
        let at = place.index(bytes.len());
        bytes[at] = byte;
        prop_assert_eq!(read_one_by_one(&bytes), read(&bytes).0);
    }
}
