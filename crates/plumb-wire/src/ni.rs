//! NI, the framing of SAP's network interface in its normal mode (`NI_MSG_IO`).
//!
//! A frame is a length of four bytes, big-endian, that does not count itself, and that many bytes
//! of payload. Three payloads are the protocol's own: `NI_PING\0` asks for `NI_PONG\0` at any
//! moment, and `NI_RTERR\0` starts an error or control message.
//!
//! # Source
//! SAP Help, "Communication modes", "NI Error Information" and "NI Control Messages".

use std::fmt;

/// Bytes of the length in front of every payload.
pub const HEADER_BYTES: usize = 4;
/// The payload that asks whether the other side is alive.
pub const PING: &[u8] = b"NI_PING\0";
/// The payload that answers [`PING`].
pub const PONG: &[u8] = b"NI_PONG\0";
/// The payload with which a router is asked for a route starts with this.
pub const ROUTE: &[u8] = b"NI_ROUTE\0";
const ERROR: &[u8] = b"NI_RTERR\0";
/// Eye-catcher, NI version, opcode, an unused byte, return code, length of the text.
const ERROR_HEAD_BYTES: usize = ERROR.len() + 3 + 4 + 4;
/// Behind the text of an error stand four bytes more, without a known meaning.
const ERROR_TAIL: &[u8] = &[0; 4];
/// The NI version of kernel releases since 7.20.
pub const NI_VERSION: u8 = 40;

/// The length of the payload that `bytes` announce; `None` while the length itself is incomplete.
#[must_use]
#[inline]
pub fn payload_length(bytes: &[u8]) -> Option<u32> {
    bytes.first_chunk().map(|head| u32::from_be_bytes(*head))
}

/// What a complete payload is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Payload<'a> {
    /// Content of the application.
    Data(&'a [u8]),
    /// The other side asks for a [`PONG`].
    Ping,
    /// The answer to a [`PING`].
    Pong,
    /// A request for a route, which only a router can serve.
    Route,
    /// An error or a control message.
    Message(Message<'a>),
}

impl<'a> Payload<'a> {
    /// Tells content from the protocol's own payloads.
    ///
    /// # Errors
    /// [`Malformed`] when the payload starts as an error message but is not one.
    #[inline]
    pub fn of(payload: &'a [u8]) -> Result<Self, Malformed> {
        if !payload.starts_with(b"NI_") {
            return Ok(Self::Data(payload));
        }
        match payload {
            PING => Ok(Self::Ping),
            PONG => Ok(Self::Pong),
            _ if payload.starts_with(ERROR) => Message::parse(payload).map(Self::Message),
            _ if payload.starts_with(ROUTE) => Ok(Self::Route),
            _ => Ok(Self::Data(payload)),
        }
    }
}

/// A payload starts with `NI_RTERR` but its lengths do not add up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an NI_RTERR message of {payload_bytes} bytes does not hold what its lengths announce")]
pub struct Malformed {
    /// Length of the payload in bytes.
    pub payload_bytes: usize,
}

/// An error (opcode 0) or control message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message<'a> {
    /// NI version of the sender.
    pub version: u8,
    /// 0 for an error; 1 asks for the version, 2 answers it.
    pub opcode: u8,
    /// Zero or one of [`ReturnCode`].
    pub return_code: ReturnCode,
    /// Fields that each end with a zero byte, between two `*ERR*`; may be empty.
    pub text: &'a [u8],
}

/// Opcode of an error message.
pub const OPCODE_ERROR: u8 = 0;
/// Opcode that asks for the NI version.
pub const OPCODE_VERSION_REQUEST: u8 = 1;
/// Opcode that answers with the NI version.
pub const OPCODE_VERSION_RESPONSE: u8 = 2;

impl<'a> Message<'a> {
    fn parse(payload: &'a [u8]) -> Result<Self, Malformed> {
        let malformed = Malformed { payload_bytes: payload.len() };
        if payload.len() < ERROR_HEAD_BYTES {
            return Err(malformed);
        }
        let (head, text) = payload.split_at(ERROR_HEAD_BYTES);
        let [version, opcode, _, code @ .., l0, l1, l2, l3] = &head[ERROR.len()..] else {
            return Err(malformed);
        };
        let announced = u32::from_be_bytes([*l0, *l1, *l2, *l3]);
        let code: [u8; 4] = code.try_into().map_err(|_| malformed)?;
        let announced = usize::try_from(announced).map_err(|_| malformed)?;
        let text = text.get(..announced).ok_or(malformed)?;
        Ok(Self {
            version: *version,
            opcode: *opcode,
            return_code: ReturnCode(i32::from_be_bytes(code)),
            text,
        })
    }

    /// The second field of the text: what went wrong, in the sender's words.
    #[must_use]
    pub fn error(&self) -> Option<&'a str> {
        let mut fields = self.text.split(|byte| *byte == 0);
        (fields.next() == Some(b"*ERR*")).then_some(())?;
        fields.nth(1).and_then(|field| str::from_utf8(field).ok()).filter(|text| !text.is_empty())
    }
}

impl fmt::Display for Message<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.error() {
            Some(error) => write!(f, "{error} ({})", self.return_code),
            None => write!(f, "{}", self.return_code),
        }
    }
}

/// A return code of NI, zero or below.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReturnCode(pub i32);

impl ReturnCode {
    /// The host name is unknown.
    pub const HOST_UNKNOWN: Self = Self(-2);
    /// Nothing came in time.
    pub const TIMEOUT: Self = Self(-5);
    /// The connection broke.
    pub const CONN_BROKEN: Self = Self(-6);
    /// The parameter is not valid here.
    pub const INVAL: Self = Self(-8);
    /// Nobody listens there, or it takes no more connections.
    pub const CONN_REFUSED: Self = Self(-10);
    /// The frame is larger than the receiver accepts.
    pub const TOO_BIG: Self = Self(-20);

    /// The name that SAP's documentation gives the code; `NIE...` for one it does not list.
    ///
    /// # Source
    /// SAP Note 63342, as cited by public NI implementations.
    #[must_use]
    pub fn name(self) -> &'static str {
        const NAMES: [&str; 20] = [
            "NIEINTERN",
            "NIEHOST_UNKNOWN",
            "NIESERV_UNKNOWN",
            "NIESERV_USED",
            "NIETIMEOUT",
            "NIECONN_BROKEN",
            "NIETOO_SMALL",
            "NIEINVAL",
            "NIEWAKEUP",
            "NIECONN_REFUSED",
            "NIEPING",
            "NIECONN_PENDING",
            "NIEVERSION",
            "NIEMYHOSTNAME",
            "NIENOFREEPORT",
            "NIEMYHOST_VERIFY",
            "NIESNC_FAILURE",
            "NIEOPCODE",
            "NIEQUE_FULL",
            "NIETOO_BIG",
        ];
        match self.0 {
            0 => "NIEOK",
            code @ -20..=-1 => NAMES[code.unsigned_abs() as usize - 1],
            -104..=-90 => "NIEROUT",
            _ => "NIE...",
        }
    }
}

impl fmt::Display for ReturnCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, rc = {}", self.name(), self.0)
    }
}

/// Appends a frame around `payload`.
///
/// # Panics
/// When the payload is longer than a frame can announce (4 GiB).
pub fn push_frame(out: &mut Vec<u8>, payload: &[u8]) {
    push_length(out, payload.len());
    out.extend_from_slice(payload);
}

/// Appends a frame with an error or control message; `error` is what went wrong, for people.
pub fn push_message(out: &mut Vec<u8>, opcode: u8, return_code: ReturnCode, error: &str) {
    let text = if error.is_empty() { Vec::new() } else { error_text(return_code, error) };
    let tail = if opcode == OPCODE_ERROR { ERROR_TAIL } else { &[] };
    push_length(out, ERROR_HEAD_BYTES + text.len() + tail.len());
    out.extend_from_slice(ERROR);
    out.extend_from_slice(&[NI_VERSION, opcode, 0]);
    out.extend_from_slice(&return_code.0.to_be_bytes());
    out.extend_from_slice(&length_of(text.len()).to_be_bytes());
    out.extend_from_slice(&text);
    out.extend_from_slice(tail);
}

/// The 21 fields of an error text, those we do not know left empty.
fn error_text(return_code: ReturnCode, error: &str) -> Vec<u8> {
    let code = return_code.0.to_string();
    let mut fields = [""; 21];
    fields[..5].copy_from_slice(&["*ERR*", "1", error, &code, "NI (network interface)"]);
    fields[6] = "40"; // version
    fields[20] = "*ERR*";
    let mut text = fields.join("\0").into_bytes();
    text.push(0);
    text
}

fn push_length(out: &mut Vec<u8>, bytes: usize) {
    out.extend_from_slice(&length_of(bytes).to_be_bytes());
}

#[expect(clippy::expect_used, reason = "documented: no caller makes a payload of 4 GiB")]
fn length_of(bytes: usize) -> u32 {
    u32::try_from(bytes).expect("a payload is shorter than 4 GiB")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn payload_of(frame: &[u8]) -> &[u8] {
        let length = usize::try_from(payload_length(frame).unwrap()).unwrap();
        assert_eq!(frame.len(), HEADER_BYTES + length);
        &frame[HEADER_BYTES..]
    }

    #[test]
    fn a_length_needs_four_bytes() {
        assert_eq!(payload_length(&[0, 0, 1]), None);
        assert_eq!(payload_length(&[0, 0, 1, 2, 9]), Some(258));
    }

    #[test]
    fn only_the_exact_payload_is_a_ping() {
        assert_eq!(Payload::of(b"NI_PING\0"), Ok(Payload::Ping));
        assert_eq!(Payload::of(b"NI_PONG\0"), Ok(Payload::Pong));
        let longer = b"NI_PING\0 and more";
        assert_eq!(Payload::of(longer), Ok(Payload::Data(longer)));
        assert_eq!(Payload::of(b""), Ok(Payload::Data(b"")));
        assert_eq!(Payload::of(b"NI_ROUTE\0\x02\x28"), Ok(Payload::Route));
    }

    #[test]
    fn an_error_comes_back_as_it_was_sent() {
        let mut frame = Vec::new();
        push_message(&mut frame, OPCODE_ERROR, ReturnCode::TOO_BIG, "message of 9 bytes");
        let Ok(Payload::Message(message)) = Payload::of(payload_of(&frame)) else {
            panic!("not a message");
        };
        assert_eq!(message.opcode, OPCODE_ERROR);
        assert_eq!(message.error(), Some("message of 9 bytes"));
        assert_eq!(message.to_string(), "message of 9 bytes (NIETOO_BIG, rc = -20)");
    }

    #[test]
    fn a_control_message_has_no_text() {
        let mut frame = Vec::new();
        push_message(&mut frame, OPCODE_VERSION_RESPONSE, ReturnCode(0), "");
        let Ok(Payload::Message(message)) = Payload::of(payload_of(&frame)) else {
            panic!("not a message");
        };
        assert_eq!((message.version, message.opcode), (NI_VERSION, OPCODE_VERSION_RESPONSE));
        assert_eq!(message.to_string(), "NIEOK, rc = 0");
    }

    #[test]
    fn a_cut_error_message_is_malformed() {
        let mut frame = Vec::new();
        push_message(&mut frame, OPCODE_ERROR, ReturnCode::TIMEOUT, "late");
        let payload = payload_of(&frame);
        for length in ERROR.len()..payload.len() - ERROR_TAIL.len() {
            let cut = Payload::of(&payload[..length]);
            assert_eq!(cut, Err(Malformed { payload_bytes: length }));
        }
    }

    #[test]
    fn every_documented_code_has_a_name() {
        assert_eq!(ReturnCode(-1).name(), "NIEINTERN");
        assert_eq!(ReturnCode::CONN_REFUSED.name(), "NIECONN_REFUSED");
        assert_eq!(ReturnCode(-20).name(), "NIETOO_BIG");
        assert_eq!(ReturnCode(-94).name(), "NIEROUT");
        assert_eq!(ReturnCode(i32::MIN).name(), "NIE...");
    }
}
