//! What a client says to PostgreSQL on every connection, written once by the library that drivers
//! of PostgreSQL use.

use std::io;

use bytes::BytesMut;
use postgres_protocol::IsNull;
use postgres_protocol::message::frontend::{self, BindError};

/// The statements: their names, and what they ask. Both answer with one boolean.
const STATEMENTS: [(&str, &str); 2] =
    [("take", "SELECT pg_try_advisory_lock($1)"), ("release", "SELECT pg_advisory_unlock($1)")];
/// A value, or a result, in binary form.
const BINARY: i16 = 1;
const KEY_BYTES: usize = size_of::<u64>();

/// The messages.
#[derive(Clone, Debug)]
pub(super) struct Orders {
    /// The first of a connection.
    pub(super) startup: Vec<u8>,
    /// Prepares both statements.
    pub(super) prepare: Vec<u8>,
    calls: [Call; 2],
}

/// A statement that is run with a key.
#[derive(Clone, Debug)]
struct Call {
    bytes: Vec<u8>,
    /// Where the key stands in them.
    key_at: usize,
}

impl Orders {
    /// Those of `user`, who works in `database`.
    ///
    /// # Errors
    /// When a name cannot be said: there is a zero in it.
    pub(super) fn of(user: &str, database: &str) -> io::Result<Self> {
        let parameters = [("user", user), ("database", database), ("application_name", "plumb")];
        let prepare = |out: &mut BytesMut| {
            for (name, sql) in STATEMENTS {
                frontend::parse(name, sql, [], out)?; // the server finds the type of the key
            }
            frontend::sync(out);
            Ok(())
        };
        let [take, release] = STATEMENTS.map(|(name, _)| Call::of(name));
        Ok(Self {
            startup: written(|out| frontend::startup_message(parameters, out))?,
            prepare: written(prepare)?,
            calls: [take?, release?],
        })
    }

    /// Appends the call of a statement, by its number, with `key`.
    #[inline]
    pub(super) fn push_call(&self, out: &mut Vec<u8>, statement: u16, key: u64) {
        let Call { bytes, key_at } = &self.calls[usize::from(statement)];
        let at = out.len() + key_at;
        out.extend_from_slice(bytes);
        out[at..at + KEY_BYTES].copy_from_slice(&key.to_be_bytes());
    }
}

impl Call {
    fn of(name: &str) -> io::Result<Self> {
        let mut key_at = 0;
        let bytes = written(|out| {
            let key = |(), out: &mut BytesMut| {
                key_at = out.len();
                out.extend_from_slice(&[0; KEY_BYTES]);
                Ok(IsNull::No)
            };
            let bound = frontend::bind("", name, [BINARY], [()], key, [BINARY], out);
            bound.map_err(|error| match error {
                BindError::Conversion(cause) => io::Error::other(cause),
                BindError::Serialization(cause) => cause,
            })?;
            frontend::execute("", 0, out)?; // every row
            frontend::sync(out);
            Ok(())
        })?;
        Ok(Self { bytes, key_at })
    }
}

/// What `write` writes.
///
/// # Errors
/// Its own.
pub(super) fn written(write: impl FnOnce(&mut BytesMut) -> io::Result<()>) -> io::Result<Vec<u8>> {
    let mut out = BytesMut::new();
    write(&mut out)?;
    Ok(out.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn golden_messages_of_a_client() {
        let orders = Orders::of("me", "data").unwrap();
        let startup = b"\0\0\0\x36\0\x03\0\0user\0me\0database\0data\0application_name\0plumb\0\0";
        assert_eq!(orders.startup, startup);
        assert_eq!(&orders.prepare[..5], b"P\0\0\0\x2b");
        assert!(orders.prepare.ends_with(b"unlock($1)\0\0\0S\0\0\0\x04"));
        let mut call = b"before".to_vec();
        orders.push_call(&mut call, 0, 7);
        let bind =
            b"beforeB\0\0\0\x20\0take\0\0\x01\0\x01\0\x01\0\0\0\x08\0\0\0\0\0\0\0\x07\0\x01\0\x01";
        let rest = b"E\0\0\0\x09\0\0\0\0\0S\0\0\0\x04";
        assert_eq!(call, [&bind[..], &rest[..]].concat());
    }

    #[test]
    fn a_name_with_a_zero_is_nobody() {
        assert!(Orders::of("me\0database\0other", "data").is_err());
    }
}
