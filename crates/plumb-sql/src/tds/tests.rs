use proptest::collection::vec;
use proptest::prelude::*;

use super::said::{clock, done, error, let_in, one};
use super::tokens::{Token, Tokens};
use super::types::{Length, columns, joined, nanoseconds, number, row, type_of, value};
use super::wire::{self, Encryption, HEAD, Head, Kind, LogOn};
use crate::Bytes;

fn bytes(parts: &[&[u8]]) -> Vec<u8> {
    parts.concat()
}

#[test]
fn values_of_every_kind_are_passed_over() {
    // types as a column has them, and a value of each that is three bytes long
    let pieces: &[u8] = &[3, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 1, 2, 1, 0, 0, 0, 3, 0, 0, 0, 0];
    let pointed = [&[16][..], &[0; 24], &[3, 0, 0, 0, 1, 2, 3]].concat();
    for (kind, length, value_of) in [
        (&[0x38][..], Length::Fixed(4), &[1, 2, 3, 4][..]),
        (&[0x28], Length::Byte, &[3, 1, 2, 3]),
        (&[0x6a, 17, 38, 2], Length::Byte, &[3, 1, 2, 3]),
        (&[0xe7, 20, 0, 9, 4, 0xd0, 0, 0x34], Length::Short, &[3, 0, 1, 2, 3]),
        (&[0xe7, 0xff, 0xff, 9, 4, 0xd0, 0, 0x34], Length::Pieces, pieces),
        (&[0xa5, 0xff, 0xff], Length::Pieces, pieces),
        (&[0xf1, 0], Length::Pieces, pieces),
        (&[0x62, 0, 0, 0, 0], Length::Long, &[3, 0, 0, 0, 1, 2, 3]),
        (&[0x22, 0, 0, 0, 0], Length::Pointed, &pointed),
    ] {
        let mut of_type = Bytes(kind);
        assert_eq!((type_of(&mut of_type), of_type.0.len()), (Some(length), 0));
        let mut of_value = Bytes(value_of);
        assert!(value(&mut of_value, length).is_some(), "{length:?}");
        assert!(of_value.0.is_empty(), "{length:?}");
        assert_eq!(value(&mut Bytes(&value_of[..value_of.len() - 1]), length), None);
    }
    let of_pieces = value(&mut Bytes(pieces), Length::Pieces).unwrap().unwrap();
    assert_eq!(joined(of_pieces), Some(vec![1, 2, 3]));
    assert_eq!((joined(&of_pieces[..9]), joined(&[0; 5])), (None, None));
    assert_eq!(type_of(&mut Bytes(&[0x01])), None);
    // nulls are marked by bits: the second of three
    let marked = row(&mut Bytes(&[0b010, 7, 9]), &[Length::Fixed(1); 3], true).unwrap();
    assert_eq!(marked, [Some(&[7][..]), None, Some(&[9])]);
    assert_eq!((number(&[0xff, 0xff]), number(&[1, 2, 3])), (Some(-1), None));
    assert_eq!(nanoseconds(&[1, 0, 0, 0, 0, 1, 0, 0]), Some(86_400_000_000_100));
}

#[test]
fn what_says_nothing_of_interest_is_passed_over() {
    let payload = bytes(&[
        &[0xe3, 2, 0, 1, 2],                                           // what changed
        &[0xab, 1, 0, 9],                                              // information
        &[0x79, 0, 0, 0, 0],                                           // a status
        &[0xac, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0x26, 4, 4, 1, 0, 0, 0], // a value
        &[0xae, 1, 1, 0, 0, 0, 5, 0xff],
        &[0xe4, 1, 0, 0, 0, 7],
        &[0xfd, 0x20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
    ]);
    let mut tokens = Tokens::of(&payload);
    assert_eq!(tokens.take().unwrap(), Some(Token::GivenUp));
    assert_eq!(tokens.take().unwrap(), None);
    assert!(Tokens::of(&[0x01]).take().is_err());
}

#[test]
fn what_the_server_agrees_to_is_found_behind_its_options() {
    let of = |byte: u8| {
        let mut said = vec![0, 0, 11, 0, 6, 1, 0, 17, 0, 1, 0xff];
        said.extend([16, 0, 0, 0, 0, 0, byte]);
        wire::agreed(&said)
    };
    assert_eq!(
        [of(0), of(1), of(3)],
        [Some(Encryption::LogOn), Some(Encryption::All), Some(Encryption::All)]
    );
    assert_eq!([of(2), of(9), wire::agreed(&[0xff])], [Some(Encryption::None), None, None]);
    assert_eq!(wire::agreed(&wire::pre_login(Encryption::All)), Some(Encryption::All));
}

fn any_answer() -> impl Strategy<Value = Vec<u8>> {
    let kind = prop::sample::select(vec![
        0xad_u8, 0xaa, 0xab, 0xe3, 0xe4, 0x79, 0xac, 0xae, 0x81, 0xd1, 0xd2, 0xfd, 0xa4, 0x0,
    ]);
    let right =
        vec![bytes(&[&clock(1), &one(1), &done(0)]), bytes(&[&let_in(), &error(1, 1, "no")])];
    prop_oneof![
        (kind, vec(any::<u8>(), 0..80)).prop_map(|(kind, rest)| [&[kind][..], &rest].concat()),
        (prop::sample::select(right), any::<prop::sample::Index>(), any::<u8>()).prop_map(
            |(mut payload, at, byte)| {
                let at = at.index(payload.len());
                payload[at] = byte;
                payload
            }
        ),
    ]
}

proptest! {
    #[test]
    fn no_answer_brings_it_down(payload in any_answer(), cut in 0_usize..200) {
        let mut tokens = Tokens::of(&payload);
        let mut count = 0;
        while let Ok(Some(_)) = tokens.take() {
            count += 1;
        }
        prop_assert!(count <= payload.len());
        let _ = wire::agreed(&payload[..cut.min(payload.len())]);
        let _ = columns(&mut Bytes(&payload));
        let _ = joined(&payload);
    }

    #[test]
    fn what_is_sent_is_what_is_read(payload in vec(any::<u8>(), 0..9_000)) {
        let mut out = Vec::new();
        wire::message(&mut out, Kind::Batch, &payload);
        let (mut at, mut found, mut ended) = (0, Vec::<u8>::new(), false);
        while let Some(head) = out.get(at..at + HEAD).and_then(|it| it.try_into().ok()) {
            prop_assert!(!ended);
            let head = Head::read(head).unwrap();
            found.extend(&out[at + HEAD..at + head.length]);
            at += head.length;
            ended = head.ends;
        }
        prop_assert!(ended && at == out.len());
        prop_assert_eq!(found, payload);
    }

    #[test]
    fn a_log_on_is_as_long_as_it_says(user in "\\PC{0,30}", password in "\\PC{0,30}") {
        let log_on = LogOn {
            user: &user, password: &password, application: "a", server: "s", database: "d",
        };
        let written = log_on.write();
        let length = u32::from_le_bytes(written[..4].try_into().unwrap());
        prop_assert_eq!(length as usize, written.len());
    }
}
