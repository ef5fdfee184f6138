use super::*;

const LIMITS: Limits = Limits { words: 4, word_bytes: 10, command_bytes: 60 };

type Read = Option<(usize, Vec<Vec<u8>>)>;

fn read(bytes: &[u8]) -> Result<Read, Malformed> {
    let mut words = Words::default();
    let taken = command(bytes, &LIMITS, &mut words)?;
    Ok(taken
        .map(|taken| (taken, (0..words.len()).map(|at| words.get(bytes, at).to_vec()).collect())))
}

fn words(of: &[&str]) -> Vec<Vec<u8>> {
    of.iter().map(|word| word.as_bytes().to_vec()).collect()
}

#[test]
fn golden_frames() {
    let frame = b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$0\r\n\r\nrest";
    assert_eq!(read(frame), Ok(Some((26, words(&["SET", "k", ""])))));
    assert_eq!(read(b"PING\r\n"), Ok(Some((6, words(&["PING"])))));
    assert_eq!(read(b"SET k \"a b\"\n"), Ok(Some((12, words(&["SET", "k", "a b"])))));
    assert_eq!(read(b"\r\n"), Ok(Some((2, vec![]))));
    assert_eq!(read(b"*0\r\n"), Ok(Some((4, vec![]))));
    assert_eq!(read(b"*-1\r\n"), Ok(Some((5, vec![]))));
    let mut sent = Vec::new();
    push_command(&mut sent, &[b"SET", b"k", b""]);
    assert_eq!(sent, frame[..26]);
}

#[test]
fn a_command_cut_anywhere_is_waited_for() {
    for whole in [&b"*2\r\n$4\r\nECHO\r\n$2\r\nhi\r\n"[..], b"ECHO 'a b'\r\n"] {
        for cut in 0..whole.len() {
            assert_eq!(read(&whole[..cut]), Ok(None), "cut at {cut}");
        }
        assert!(matches!(read(whole), Ok(Some((taken, _))) if taken == whole.len()));
    }
}

#[test]
fn what_is_no_command_is_refused_at_once() {
    assert_eq!(read(b"*5\r\n"), Err(Malformed::TooManyWords));
    assert_eq!(read(b"*1\r\n$11\r\n"), Err(Malformed::WordTooLong));
    assert_eq!(read(b"*1\r\n$-1\r\n"), Err(Malformed::WordTooLong));
    assert_eq!(read(b"*1\r\n:1\r\n"), Err(Malformed::Type));
    assert_eq!(read(b"*x\r\n"), Err(Malformed::Length));
    assert_eq!(read(b"*\r\n"), Err(Malformed::Length));
    assert_eq!(read(b"*99999999999\r\n"), Err(Malformed::Length));
    assert_eq!(read(b"*1\r\n$1\r\nab"), Err(Malformed::End));
    assert_eq!(read(b"GET \"k\r\n"), Err(Malformed::Quotes));
    for escape in ["\"\\x41k\"", "\"a\\\" b\"", "'a\\' b'"] {
        assert_eq!(read(format!("GET {escape}\r\n").as_bytes()), Err(Malformed::Escape));
    }
    assert!(matches!(read(b"GET 'a\\n' b\\n\r\n"), Ok(Some(_))), "as Redis reads them, too");
    assert_eq!(read(b"a b c d e\r\n"), Err(Malformed::TooManyWords));
    assert_eq!(read(&[b'x'; 64 << 10]), Err(Malformed::TooLong));
}

#[test]
fn replies_are_what_clients_read() {
    let mut out = Vec::new();
    push_simple(&mut out, "OK");
    push_error(&mut out, b"ERR two\r\nlines");
    push_integer(&mut out, u64::MAX);
    push_signed(&mut out, -2);
    push_bulk(&mut out, b"a\r\n");
    [2, 3].into_iter().for_each(|version| push_null(&mut out, version));
    push_array(&mut out, 0);
    [2, 3].into_iter().for_each(|version| push_map(&mut out, 1, version));
    let expected = "+OK\r\n-ERR two  lines\r\n:18446744073709551615\r\n:-2\r\n$3\r\na\r\n\r\n\
                    $-1\r\n_\r\n*0\r\n*2\r\n%1\r\n";
    assert_eq!(String::from_utf8(out).unwrap(), expected);
}

#[test]
fn numbers_are_written_as_they_are_read() {
    let powers = std::iter::successors(Some(1_u64), |power| power.checked_mul(10));
    for number in powers.flat_map(|power| [power - 1, power, power + 1, 5 * (power / 3)]) {
        let mut out = Vec::new();
        push_integer(&mut out, number);
        push_digits(&mut out, number);
        assert_eq!(String::from_utf8(out).unwrap(), format!(":{number}\r\n{number}"));
    }
}
