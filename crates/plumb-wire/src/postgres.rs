//! The protocol of PostgreSQL, version 3: what a client says to log in and to run prepared
//! statements, and what the server answers. Texts are bytes: neither side says here how they are
//! encoded.
//!
//! # Source
//! PostgreSQL's documentation, chapter "Frontend/Backend Protocol": message formats.

mod answer;

pub use answer::{Authentication, Malformed, Message, Report, Row, message};

/// The version of the protocol, as a startup message says it: 3.0.
const VERSION: i32 = 3 << 16;
/// A value, or a result, in binary form.
const BINARY: i16 = 1;

/// Appends the first message of a connection with its parameters, such as `user`.
pub fn push_startup(out: &mut Vec<u8>, parameters: &[(&str, &str)]) {
    framed(out, None, |out| {
        out.extend_from_slice(&VERSION.to_be_bytes());
        for (name, value) in parameters {
            push_text(out, name.as_bytes());
            push_text(out, value.as_bytes());
        }
        out.push(0);
    });
}

/// Appends a password, as the server asked for it.
pub fn push_password(out: &mut Vec<u8>, password: &[u8]) {
    framed(out, Some(b'p'), |out| push_text(out, password));
}

/// Appends the choice of a SASL mechanism, with its first message.
pub fn push_sasl_choice(out: &mut Vec<u8>, mechanism: &str, first: &[u8]) {
    framed(out, Some(b'p'), |out| {
        push_text(out, mechanism.as_bytes());
        push_value(out, first);
    });
}

/// Appends a further message of a SASL mechanism.
pub fn push_sasl_message(out: &mut Vec<u8>, message: &[u8]) {
    framed(out, Some(b'p'), |out| out.extend_from_slice(message));
}

/// Appends the order to prepare `sql` under `name`; the server finds the types of its parameters.
pub fn push_parse(out: &mut Vec<u8>, name: &str, sql: &str) {
    framed(out, Some(b'P'), |out| {
        push_text(out, name.as_bytes());
        push_text(out, sql.as_bytes());
        out.extend_from_slice(&0_i16.to_be_bytes());
    });
}

/// Appends the order to run the prepared statement `name` with `value` as its only parameter, in
/// binary form as its results are, and to send all rows; then a [`push_sync`].
#[inline]
pub fn push_call(out: &mut Vec<u8>, name: &str, value: &[u8]) {
    framed(out, Some(b'B'), |out| {
        out.push(0); // the portal without a name
        push_text(out, name.as_bytes());
        for number in [1, BINARY, 1] {
            out.extend_from_slice(&number.to_be_bytes()); // one form for all of one value
        }
        push_value(out, value);
        for number in [1, BINARY] {
            out.extend_from_slice(&number.to_be_bytes());
        }
    });
    framed(out, Some(b'E'), |out| out.extend_from_slice(&[0; 5])); // that portal, every row
    push_sync(out);
}

/// Appends the end of a series of orders: the server answers all of them and is ready again.
#[inline]
pub fn push_sync(out: &mut Vec<u8>) {
    framed(out, Some(b'S'), |_| {});
}

/// A message: its kind, the length of the rest with itself, and what `body` appends.
#[inline]
fn framed(out: &mut Vec<u8>, kind: Option<u8>, body: impl FnOnce(&mut Vec<u8>)) {
    out.extend(kind);
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    body(out);
    let length = u32::try_from(out.len() - start).unwrap_or(u32::MAX); // what we say is short
    out[start..start + 4].copy_from_slice(&length.to_be_bytes());
}

/// A text and the zero that ends it. What stands behind a zero of its own is left out.
fn push_text(out: &mut Vec<u8>, text: &[u8]) {
    out.extend(text.iter().take_while(|byte| **byte != 0));
    out.push(0);
}

/// A value behind its length.
fn push_value(out: &mut Vec<u8>, value: &[u8]) {
    out.extend_from_slice(&u32::try_from(value.len()).unwrap_or(u32::MAX).to_be_bytes());
    out.extend_from_slice(value);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(push: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
        let mut out = Vec::new();
        push(&mut out);
        out
    }

    #[test]
    fn golden_messages_of_a_client() {
        let startup = written(|out| push_startup(out, &[("user", "me")]));
        assert_eq!(startup, b"\0\0\0\x11\0\x03\0\0user\0me\0\0");
        assert_eq!(written(|out| push_password(out, b"md5ab")), b"p\0\0\0\x0amd5ab\0");
        let choice = written(|out| push_sasl_choice(out, "SCRAM-SHA-256", b"n,,"));
        assert_eq!(choice, b"p\0\0\0\x19SCRAM-SHA-256\0\0\0\0\x03n,,");
        assert_eq!(written(|out| push_sasl_message(out, b"c=x")), b"p\0\0\0\x07c=x");
        let parse = written(|out| push_parse(out, "t", "SELECT $1"));
        assert_eq!(parse, b"P\0\0\0\x12t\0SELECT $1\0\0\0");
        let call = written(|out| push_call(out, "t", &[0, 0, 0, 0, 0, 0, 0, 7]));
        let bind = b"B\0\0\0\x1d\0t\0\0\x01\0\x01\0\x01\0\0\0\x08\0\0\0\0\0\0\0\x07\0\x01\0\x01";
        let rest = b"E\0\0\0\x09\0\0\0\0\0S\0\0\0\x04";
        assert_eq!(call, [&bind[..], &rest[..]].concat());
    }

    #[test]
    fn a_zero_within_a_text_does_not_begin_another() {
        let startup = written(|out| push_startup(out, &[("user", "me\0database\0other")]));
        assert_eq!(startup, written(|out| push_startup(out, &[("user", "me")])));
    }
}
