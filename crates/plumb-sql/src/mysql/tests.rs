use super::answer::Payload;
use super::command::put_bytes;
use super::*;
use proptest::collection::vec;
use proptest::prelude::*;

/// A greeting as MariaDB 10.11 sends it.
fn greeting() -> Vec<u8> {
    let mut payload = b"\x0a5.5.5-10.11.19-MariaDB\0".to_vec();
    payload.extend(7_u32.to_le_bytes());
    payload.extend(b"abcdefgh\0");
    payload.extend([0xfe, 0xff, 45, 2, 0, 0xff, 0x81, 21]);
    payload.extend([0; 10]);
    payload.extend(b"ijklmnopqrst\0mysql_native_password\0");
    payload
}

#[test]
fn a_greeting_names_the_server_and_what_proofs_are_made_with() {
    let payload = greeting();
    let found = Greeting::read(&payload).unwrap();
    assert_eq!((found.version, found.id), (&b"5.5.5-10.11.19-MariaDB"[..], 7));
    assert_eq!(found.salt(), b"abcdefghijklmnopqrst");
    assert_eq!(found.method, b"mysql_native_password");
    assert_ne!(found.can & can::TLS, 0);
    assert_eq!(Greeting::read(&payload[..40]), None);
    assert_eq!(Greeting::read(b"\x09old"), None);
}

#[test]
fn the_end_of_an_answer_reports_what_changed() {
    // status: state changed, in a read-only transaction
    let mut payload = vec![0xfe, 0, 0, 0x00, 0x60, 2, 0, 0];
    let pairs = b"\x0ctx_read_only\x02ON\x01a\x01b";
    let entry: Vec<u8> = [&[0, u8::try_from(pairs.len()).unwrap()][..], pairs].concat();
    payload.push(u8::try_from(entry.len() + 3).unwrap());
    payload.extend(b"\x01\x01x"); // a schema, which is passed over
    payload.extend(&entry);
    let done = Done::read(&payload, true).unwrap();
    let variables: Vec<_> = done.variables().collect();
    assert_eq!(variables, [(&b"tx_read_only"[..], &b"ON"[..]), (b"a", b"b")]);
    assert!(done.is_read_only() && !done.is_followed());
    assert_eq!(done.warnings, 2);
    assert_eq!(Done::read(&payload, false).unwrap().variables().count(), 0);
    assert_eq!(Done::read(&payload[..10], true), None);
    assert!(Done::read_old(&[0xfe, 0, 0, 8, 0]).unwrap().is_followed());
}

#[test]
fn a_refusal_has_its_number_and_its_reason() {
    let refusal = Refusal::read(b"\xff\x15\x04#28000Access denied").unwrap();
    assert_eq!((refusal.code, refusal.message), (1045, &b"Access denied"[..]));
    let bare = Refusal::read(b"\xff\x10\x04Too many connections").unwrap();
    assert_eq!((bare.code, bare.message), (1040, &b"Too many connections"[..]));
}

#[test]
fn rows_are_read_value_by_value() {
    let row = b"\x011\xfb\x00";
    let values: Vec<_> = texts(row).collect();
    assert_eq!(values, [Some(&b"1"[..]), None, Some(b"")]);
    assert_eq!(columns(b"\x0a"), Some(10));
    assert_eq!(columns(b"\x00"), None);
}

#[test]
fn parameters_are_written_with_their_types() {
    let mut out = Vec::new();
    execute(&mut out, 3, [Value::Text("ab"), Value::Int(10)].into_iter());
    let expected = b"\x17\0\0\0\x17\x03\0\0\0\0\x01\0\0\0\0\x01\xfd\0\x03\0\x02ab\x0a\0\0\0";
    assert_eq!(out, expected);
    let mut out = Vec::new();
    execute(&mut out, 3, std::iter::empty::<Value<'_>>().collect::<Vec<_>>().into_iter());
    assert_eq!(head(out[..4].try_into().unwrap()), (10, 0));
}

#[test]
fn lengths_of_every_size_are_read_as_they_were_written() {
    for length in [0, 250, 251, 65_535, 65_536] {
        let mut out = Vec::new();
        put_bytes(&mut out, &vec![b'x'; length]);
        let mut it = Payload(&out);
        assert_eq!(it.counted().map(<[u8]>::len), Some(length));
        assert!(it.0.is_empty());
    }
}

proptest! {
    #[test]
    fn no_bytes_bring_it_down(mut payload in vec(any::<u8>(), 0..120), first in 0..6_usize) {
        let kinds = [0, 0xff, 0xfe, 1, 10, 0xfb];
        if let Some(byte) = payload.first_mut() {
            *byte = kinds[first];
        }
        let _ = Greeting::read(&payload).map(|it| it.salt());
        let _ = Reply::read(&payload);
        let _ = Refusal::read(&payload);
        let _ = Prepared::read(&payload);
        let _ = columns(&payload);
        prop_assert!(texts(&payload).count() <= payload.len());
        for tracks in [false, true] {
            if let Some(done) = Done::read(&payload, tracks) {
                prop_assert!(done.variables().count() <= payload.len());
            }
        }
        let _ = Done::read_old(&payload);
    }

    #[test]
    fn a_greeting_that_was_changed_brings_nothing_down(at in 0..90_usize, byte in any::<u8>(), keep in 0..100_usize) {
        let mut payload = greeting();
        if let Some(place) = payload.get_mut(at) {
            *place = byte;
        }
        payload.truncate(keep);
        let _ = Greeting::read(&payload).map(|it| it.salt());
    }
}
