//! What a client says.

use super::{can, packet};

/// Commands.
const QUIT: u8 = 0x01;
const QUERY: u8 = 0x03;
const PING: u8 = 0x0e;
const PREPARE: u8 = 0x16;
const EXECUTE: u8 = 0x17;
/// UTF-8 of four bytes.
const UTF8MB4: u8 = 45;
/// The longest packet that a client says it takes.
const TAKES: u32 = 1 << 30;
/// Types of parameters.
const TYPE_LONG: u16 = 0x03;
const TYPE_VAR_STRING: u16 = 0xfd;

/// Appends a statement as text.
pub fn query(out: &mut Vec<u8>, text: &str) {
    packet(out, 0, |out| {
        out.push(QUERY);
        out.extend(text.as_bytes());
    });
}

/// Appends a message that asks for no work.
pub fn ping(out: &mut Vec<u8>) {
    packet(out, 0, |out| out.push(PING));
}

/// Appends a farewell.
pub fn quit(out: &mut Vec<u8>) {
    packet(out, 0, |out| out.push(QUIT));
}

/// Appends the order to prepare a statement.
pub fn prepare(out: &mut Vec<u8>, text: &str) {
    packet(out, 0, |out| {
        out.push(PREPARE);
        out.extend(text.as_bytes());
    });
}

/// The value of a parameter.
#[derive(Clone, Copy, Debug)]
pub enum Value<'a> {
    /// A text.
    Text(&'a str),
    /// A whole number.
    Int(i32),
}

/// Appends the order to run what was prepared under `id`.
pub fn execute<'a>(
    out: &mut Vec<u8>,
    id: u32,
    values: impl ExactSizeIterator<Item = Value<'a>> + Clone,
) {
    packet(out, 0, |out| {
        out.push(EXECUTE);
        out.extend(id.to_le_bytes());
        out.extend([0, 1, 0, 0, 0]); // no cursor, once
        if values.len() == 0 {
            return;
        }
        out.resize(out.len() + values.len().div_ceil(8), 0); // none is null
        out.push(1); // types follow
        for value in values.clone() {
            let of_type = match value {
                Value::Int(_) => TYPE_LONG,
                Value::Text(_) => TYPE_VAR_STRING,
            };
            out.extend(of_type.to_le_bytes());
        }
        for value in values {
            match value {
                Value::Text(text) => put_bytes(out, text.as_bytes()),
                Value::Int(number) => out.extend(number.to_le_bytes()),
            }
        }
    });
}

/// How a client logs on.
#[derive(Clone, Copy, Debug)]
pub struct LogOn<'a> {
    /// What the client can do, bits of [`can`].
    pub can: u32,
    /// Who logs on.
    pub user: &'a str,
    /// The database that it wants to use.
    pub database: &'a str,
    /// What proves who it is, made by the method `method`.
    pub proof: &'a [u8],
    /// The method of the proof.
    pub method: &'a str,
}

impl LogOn<'_> {
    /// Appends the part that goes out before TLS begins.
    pub fn write_tls_request(&self, out: &mut Vec<u8>, number: u8) {
        packet(out, number, |out| self.write_head(out));
    }

    /// Appends the whole.
    pub fn write(&self, out: &mut Vec<u8>, number: u8) {
        packet(out, number, |out| {
            self.write_head(out);
            out.extend(self.user.as_bytes());
            out.push(0);
            put_bytes(out, self.proof);
            if self.can & can::CONNECT_WITH_DB != 0 {
                out.extend(self.database.as_bytes());
                out.push(0);
            }
            out.extend(self.method.as_bytes());
            out.push(0);
        });
    }

    fn write_head(&self, out: &mut Vec<u8>) {
        out.extend(self.can.to_le_bytes());
        out.extend(TAKES.to_le_bytes());
        out.push(UTF8MB4);
        out.extend([0; 23]);
    }
}

/// Bytes with their number before them.
pub(super) fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    let length = bytes.len().to_le_bytes();
    match bytes.len() {
        0..0xfb => out.push(length[0]),
        0xfb..0x1_0000 => {
            out.push(0xfc);
            out.extend(&length[..2]);
        }
        0x1_0000..0x100_0000 => {
            out.push(0xfd);
            out.extend(&length[..3]);
        }
        _ => {
            out.push(0xfe);
            out.extend(length);
        }
    }
    out.extend(bytes);
}
