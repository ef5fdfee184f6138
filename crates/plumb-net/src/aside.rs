//! Frames that are not the answer that is due: the protocol's own, and those of something else.

use plumb_measure::FailureKind;
use plumb_wire::ni::{self, HEADER_BYTES, Payload, ReturnCode};

use plumb_engine::Step;

/// The protocol's own messages are short; a longer one is not believed.
const MESSAGE_MAX: usize = 64 << 10;
/// What a TLS server says to somebody who speaks something else: an alert of version 3.x.
pub(crate) const TLS_ALERT: &[u8] = &[0x15, 0x03];
/// What a client of TLS says first: a handshake of version 3.x.
const TLS_HANDSHAKE: &[u8] = &[0x16, 0x03];
/// What such a server does, and who speaks that.
pub(crate) const SPEAKS_TLS: &str =
    "speaks TLS: add --tls to plumb net ping; net check, net stream and niping do not speak it";
/// Bytes of an unexpected answer that are shown.
const SHOWN_BYTES: usize = 40;

/// What such a frame means, and what is to be complained of.
pub(crate) type Judged = (Step, Option<String>);

/// Judges bytes that begin with a frame of `length` bytes of payload, where one of `expected` was
/// due. What NI must answer by itself is appended to `out`. At least the first bytes of the payload
/// have come.
pub(crate) fn judge(expected: usize, length: usize, bytes: &[u8], out: &mut Vec<u8>) -> Judged {
    let frame = HEADER_BYTES + length;
    let own = bytes[HEADER_BYTES..].starts_with(b"NI_") && length <= MESSAGE_MAX;
    if !own {
        let shown = show(&bytes[..bytes.len().min(SHOWN_BYTES)]);
        let text = if bytes.starts_with(TLS_ALERT) {
            SPEAKS_TLS.into()
        } else if looks_like_text(bytes) {
            format!(
                "does not speak NI: it answered `{shown}`; is that the port of plumb net serve or \
                 niping -s?"
            )
        } else {
            format!(
                "sent a frame of {length} bytes where {expected} were due; is that an echo server?"
            )
        };
        return garbled(bytes.len(), text);
    }
    let Some(payload) = bytes.get(HEADER_BYTES..frame) else {
        return (Step::Need { consumed: 0 }, None);
    };
    match Payload::of(payload) {
        Ok(Payload::Ping) => {
            ni::push_frame(out, ni::PONG);
            (Step::Aside { consumed: frame }, None)
        }
        Ok(Payload::Pong) => (Step::Aside { consumed: frame }, None),
        Ok(Payload::Message(message)) => {
            let remedy = if message.return_code == ReturnCode::TOO_BIG {
                "ask for less with --size, or start the server with a larger --max-message"
            } else {
                "see the log of the server"
            };
            let step = Step::broken(FailureKind::Refused, frame, None);
            (step, Some(format!("refused: {message}; {remedy}")))
        }
        Ok(Payload::Data(_) | Payload::Route) | Err(_) => garbled(
            frame,
            "answered with a control frame that has no meaning here; is that an echo server?"
                .into(),
        ),
    }
}

/// What a client sent that speaks something else than NI, as far as its first bytes tell.
pub(crate) fn foreign_request(bytes: &[u8]) -> Option<String> {
    if bytes.starts_with(TLS_HANDSHAKE) {
        return Some(
            "it speaks TLS, and this server does not: see --tls of plumb net serve".into(),
        );
    }
    looks_like_text(bytes).then(|| {
        let shown = show(&bytes[..bytes.len().min(SHOWN_BYTES)]);
        format!("it sent `{shown}`, which is no NI")
    })
}

/// An answer that is not what was asked for, and why.
pub(crate) fn garbled(consumed: usize, complaint: String) -> Judged {
    (Step::broken(FailureKind::Garbled, consumed, None), Some(complaint))
}

/// Text protocols answer with text: the length of such a frame would be absurd.
fn looks_like_text(bytes: &[u8]) -> bool {
    bytes.iter().take(HEADER_BYTES).all(|byte| byte.is_ascii_graphic() || *byte == b' ')
}

fn show(bytes: &[u8]) -> String {
    let line = bytes.split(|byte| matches!(byte, b'\r' | b'\n')).next().unwrap_or_default();
    line.escape_ascii().to_string()
}
