//! Messages of the Tabular Data Stream, as they lie on the wire: written, and taken apart. No I/O.
//!
//! # Source
//! MS-TDS, Tabular Data Stream Protocol, versions 7.2 to 7.4.

use crate::Bytes;

/// Bytes of the head of a packet.
pub const HEAD: usize = 8;
/// Bytes of the packets that are sent, with their heads: what a server takes before anything was agreed.
pub const PACKET: usize = 4096;
const PACKET_U32: u32 = 4096;
/// The status of the last packet of a message.
const END: u8 = 1;
/// The version that is asked for, 7.4.
const VERSION: u32 = 0x7400_0004;

/// What a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// Statements as text.
    Batch = 0x01,
    /// What the server says.
    Answer = 0x04,
    /// What was asked is given up.
    Attention = 0x06,
    /// The log-on.
    LogOn = 0x10,
    /// What is said before it, a handshake of TLS among it.
    PreLogin = 0x12,
}

/// Whether a connection is encrypted, as the two sides agree on it before the log-on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encryption {
    /// The log-on alone.
    LogOn,
    /// All of it.
    All,
    /// Nothing.
    None,
}

/// Writes a message of `kind`, cut into packets.
pub fn message(out: &mut Vec<u8>, kind: Kind, payload: &[u8]) {
    let mut parts = payload.chunks(PACKET - HEAD).peekable();
    let mut number = 1_u8;
    loop {
        let part = parts.next().unwrap_or_default();
        let status = if parts.peek().is_none() { END } else { 0 };
        let length = u16::try_from(HEAD + part.len()).unwrap_or(u16::MAX);
        out.extend([kind as u8, status]);
        out.extend(length.to_be_bytes());
        out.extend([0, 0, number, 0]);
        out.extend(part);
        number = number.wrapping_add(1);
        if status == END {
            return;
        }
    }
}

/// The head of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// What the message is, as a number of [`Kind`].
    pub kind: u8,
    /// It is the last of its message.
    pub ends: bool,
    /// Bytes of the packet with its head, at least [`HEAD`].
    pub length: usize,
}

impl Head {
    /// `None` for a packet that is shorter than its head.
    pub fn read(bytes: [u8; HEAD]) -> Option<Self> {
        let [kind, status, high, low, ..] = bytes;
        let length = usize::from(u16::from_be_bytes([high, low]));
        (length >= HEAD).then_some(Self { kind, ends: status & END != 0, length })
    }
}

/// What is said before the log-on: the version, and whether the connection is to be encrypted.
pub fn pre_login(encryption: Encryption) -> Vec<u8> {
    let asked = match encryption {
        Encryption::LogOn => 0,
        Encryption::All => 1,
        Encryption::None => 2,
    };
    // two options of five bytes each, their end, then what they hold
    let mut out = vec![0, 0, 11, 0, 6, 1, 0, 17, 0, 1, 0xff];
    out.extend([0; 6]);
    out.push(asked);
    out
}

/// What the server agrees to; `None` when it says nothing that can be understood.
pub fn agreed(payload: &[u8]) -> Option<Encryption> {
    let mut options = payload.chunks(5);
    loop {
        let option = options.next()?;
        match *option {
            [0xff, ..] => return None,
            [1, a, b, _, _] => {
                let at = usize::from(u16::from_be_bytes([a, b]));
                return match *payload.get(at)? {
                    0 => Some(Encryption::LogOn),
                    1 | 3 => Some(Encryption::All),
                    2 => Some(Encryption::None),
                    _ => None,
                };
            }
            [_, _, _, _, _] => {}
            _ => return None,
        }
    }
}

/// Who logs on, and where to.
#[derive(Clone, Copy)]
pub struct LogOn<'a> {
    /// The user.
    pub user: &'a str,
    /// Its password.
    pub password: &'a str,
    /// The program that asks.
    pub application: &'a str,
    /// The server as the client names it.
    pub server: &'a str,
    /// The database that it wants to use.
    pub database: &'a str,
}

// a password is shown nowhere
impl std::fmt::Debug for LogOn<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LogOn").field("user", &self.user).finish_non_exhaustive()
    }
}

/// Bytes of a log-on before its texts.
const LOG_ON: usize = 94;

impl LogOn<'_> {
    /// The log-on. Its password is turned about as the protocol says, which hides it from nobody.
    pub fn write(&self) -> Vec<u8> {
        let password: Vec<u8> =
            utf16(self.password).into_iter().map(|it| it.rotate_left(4) ^ 0xa5).collect();
        let texts = [
            Vec::new(), // the machine of the client
            utf16(self.user),
            password,
            utf16(self.application),
            utf16(self.server),
            Vec::new(), // extensions
            utf16("plumb"),
            Vec::new(), // language
            utf16(self.database),
        ];
        let mut out = Vec::with_capacity(LOG_ON + 200);
        out.extend([0; 4]);
        out.extend(VERSION.to_le_bytes());
        out.extend(PACKET_U32.to_le_bytes());
        out.extend([0; 12]); // version and process of the client, connection
        // fail without the database, tell its changes; settings as ODBC has them
        out.extend([0xe0, 0x03, 0, 0]);
        out.extend([0; 8]);
        let mut at = LOG_ON;
        let mut place = |out: &mut Vec<u8>, bytes: usize, units: usize| {
            out.extend(short(at).to_le_bytes());
            out.extend(short(units).to_le_bytes());
            at += bytes;
        };
        for text in &texts {
            place(&mut out, text.len(), text.len() / 2);
        }
        out.extend([0; 6]); // the number of the client's card
        for _ in ["a token", "a file", "a new password"] {
            place(&mut out, 0, 0);
        }
        out.extend([0; 4]);
        texts.iter().for_each(|text| out.extend(text));
        let length = u32::try_from(out.len()).unwrap_or(u32::MAX);
        out[..4].copy_from_slice(&length.to_le_bytes());
        out
    }
}

fn short(number: usize) -> u16 {
    u16::try_from(number).unwrap_or(u16::MAX)
}

/// `text` in UTF-16, as the protocol has all its texts.
pub fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

/// A batch of statements, outside of any transaction.
pub fn batch(text: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(22 + 2 * text.len());
    out.extend(22_u32.to_le_bytes());
    out.extend(18_u32.to_le_bytes());
    out.extend(2_u16.to_le_bytes()); // the transaction: none
    out.extend([0; 8]);
    out.extend(1_u32.to_le_bytes()); // requests under way
    out.extend(text.encode_utf16().flat_map(u16::to_le_bytes));
    out
}

/// Texts of a message, in UTF-16.
pub trait Texts<'a> {
    /// One with its length in units of UTF-16, in one byte.
    fn short_text(&mut self) -> Option<&'a [u8]>;

    /// The same with its length in two bytes.
    fn text(&mut self) -> Option<&'a [u8]>;
}

impl<'a> Texts<'a> for Bytes<'a> {
    fn short_text(&mut self) -> Option<&'a [u8]> {
        let units = self.byte()?;
        self.take(2 * usize::from(units))
    }

    fn text(&mut self) -> Option<&'a [u8]> {
        let units = self.u16()?;
        self.take(2 * usize::from(units))
    }
}

/// What UTF-16 says.
pub fn told(bytes: &[u8]) -> String {
    let units = bytes.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]]));
    char::decode_utf16(units).map(|it| it.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
}
