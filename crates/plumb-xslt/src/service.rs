//! Frames in, frames out: one stylesheet, then documents.

use std::io::{self, Read, Write};

use nix::unistd::alarm;
use plumb_wire::stylesheet::{FrameHead, FrameKind, HEAD_BYTES};

use crate::libxslt::{Fault, Stylesheet};

/// Answers until its input ends. After an error it goes on, though whoever started it would rather
/// start another.
///
/// # Errors
/// When its input is not made of frames, or one is beyond the limit.
pub(crate) fn serve(
    input: &mut impl Read,
    output: &mut impl Write,
    document_bytes: u32,
) -> io::Result<()> {
    let mut stylesheet = None;
    while let Some(head) = head(input)? {
        if head.length > document_bytes {
            return Err(wrong(&format!("{} bytes, at most {document_bytes}", head.length)));
        }
        let body = body(input, head.length)?;
        // whoever started it ends it before that; this is for when nobody is left to
        alarm::set(head.number.max(1));
        let done = match (head.kind, &stylesheet) {
            (FrameKind::Stylesheet, _) => Stylesheet::compile(&body).map(|compiled| {
                stylesheet = Some(compiled);
                Vec::new()
            }),
            (FrameKind::Document, Some(stylesheet)) => stylesheet.apply(&body),
            (kind, _) => return Err(wrong(&format!("a {kind:?} where none is expected"))),
        };
        answer(output, done)?;
        // an answer that nobody takes is waited for no longer than that
        alarm::cancel();
    }
    Ok(())
}

/// The next head; `None` when the input has ended.
fn head(input: &mut impl Read) -> io::Result<Option<FrameHead>> {
    let mut bytes = [0; HEAD_BYTES];
    if input.read(&mut bytes[..1])? == 0 {
        return Ok(None);
    }
    input.read_exact(&mut bytes[1..])?;
    FrameHead::decode(bytes).map(Some).ok_or_else(|| wrong("a frame of no kind"))
}

fn body(input: &mut impl Read, length: u32) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    input.take(u64::from(length)).read_to_end(&mut body)?;
    if body.len() < length as usize {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(body)
}

fn answer(output: &mut impl Write, done: Result<Vec<u8>, Fault>) -> io::Result<()> {
    let (kind, number, body) = match done {
        Ok(body) => (FrameKind::Done, 0, body),
        Err(fault) => (FrameKind::Failed, fault.line, fault.text.into_bytes()),
    };
    let length = u32::try_from(body.len()).map_err(|_| wrong("a result of more than 4 GiB"))?;
    output.write_all(&FrameHead { kind, number, length }.encode())?;
    output.write_all(&body)?;
    output.flush()
}

fn wrong(problem: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("in its input: {problem}"))
}
