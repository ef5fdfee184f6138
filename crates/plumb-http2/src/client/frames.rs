//! What each type of frame does.

use super::heads::Continued;
use super::{Client, Event, Progress, Reading, payload};
use crate::frame::{self, FrameHead, HEAD_BYTES, PAYLOAD_BYTES, flag, kind, number};
use crate::settings::WINDOW_MAX;
use crate::streams::GRANTED;
use crate::{ErrorCode, Violation};

impl Client {
    /// Takes the frame at the start of `bytes`, of content only what stands before it.
    #[inline]
    pub(super) fn frame<'a>(
        &mut self,
        bytes: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Progress<'a>, Violation> {
        let Some(head) = FrameHead::read(bytes) else { return Ok(Progress::Incomplete) };
        if !self.settled && (head.kind != kind::SETTINGS || head.has(flag::ACK)) {
            return Err(Violation::protocol("did not begin with its settings"));
        }
        if head.length > PAYLOAD_BYTES {
            return Err(Violation::size("sent a frame of more than 16 KiB"));
        }
        let awaited = self.continued.as_ref().map(|block| block.stream);
        if awaited.is_some_and(|id| head.kind != kind::CONTINUATION || head.stream != id) {
            return Err(Violation::protocol("sent another frame within a head"));
        }
        match head.kind {
            kind::DATA => self.data(head, bytes, out),
            kind::HEADERS | kind::CONTINUATION => self.headers(head, bytes, out),
            _ => match payload(bytes, head.length) {
                Some(payload) => self.control(head, payload, out),
                None => Ok(Progress::Incomplete),
            },
        }
    }

    /// What stands before content.
    #[inline]
    fn data<'a>(
        &mut self,
        head: FrameHead,
        bytes: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Progress<'a>, Violation> {
        let (mut before, mut padding) = (HEAD_BYTES, 0);
        if head.has(flag::PADDED) {
            let Some(byte) = bytes.get(HEAD_BYTES) else { return Ok(Progress::Incomplete) };
            (before, padding) = (HEAD_BYTES + 1, usize::from(*byte));
        }
        let left = (HEAD_BYTES + head.length).checked_sub(before + padding);
        let left = left.ok_or(Violation::protocol("sent a frame that is all padding"))?;
        let length = u32::try_from(head.length).unwrap_or(u32::MAX);
        let beyond = Violation::flow("sent more content than it may");
        self.granted = self.granted.checked_sub(length).ok_or(beyond)?;
        if self.granted < GRANTED / 2 {
            frame::window_update(0, GRANTED - self.granted, out);
            self.granted = GRANTED;
        }
        let Some(slot) = self.streams.find(head.stream) else {
            self.of_no_stream(head.stream)?;
            self.reading = Reading::Skipped { left: left + padding };
            return Ok(Progress::Business(before));
        };
        let Some(stream) = self.streams.get(slot) else { return Ok(Progress::Business(before)) };
        stream.granted = stream.granted.checked_sub(length).ok_or(beyond)?;
        if !stream.headed {
            return Err(Violation::protocol("sent content before its head"));
        }
        let ends = head.has(flag::END_STREAM);
        self.reading = Reading::Content { slot, left, padding, ends };
        Ok(Progress::Business(before))
    }

    /// A head, or a further piece of one.
    fn headers<'a>(
        &mut self,
        head: FrameHead,
        bytes: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Progress<'a>, Violation> {
        let Some(payload) = payload(bytes, head.length) else { return Ok(Progress::Incomplete) };
        let taken = HEAD_BYTES + head.length;
        let whole = head.has(flag::END_HEADERS);
        let event = if head.kind == kind::CONTINUATION {
            let Some(mut begun) = self.continued.take() else {
                return Err(Violation::protocol("goes on with a head that did not begin"));
            };
            begun.add(payload)?;
            if !whole {
                self.continued = Some(begun);
                return Ok(Progress::Business(taken));
            }
            self.block((begun.stream, begun.ends), begun.block(), out)?
        } else {
            let ends = head.has(flag::END_STREAM);
            let piece = unpadded(head, payload)?;
            if !whole {
                self.continued = Some(Continued::new(head.stream, ends, piece));
                return Ok(Progress::Business(taken));
            }
            self.block((head.stream, ends), piece, out)?
        };
        Ok(event.map_or(Progress::Business(taken), |event| Progress::Event(taken, event)))
    }

    /// A frame that holds neither head nor content.
    fn control<'a>(
        &mut self,
        head: FrameHead,
        payload: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Progress<'a>, Violation> {
        let taken = HEAD_BYTES + head.length;
        match (head.kind, head.stream) {
            (kind::SETTINGS | kind::PING | kind::GOAWAY, 1..)
            | (kind::PRIORITY | kind::RST_STREAM, 0) => {
                return Err(Violation::protocol("sent a frame where it does not belong"));
            }
            (kind::PUSH_PROMISE, _) => {
                return Err(Violation::protocol("pushes, although it was told not to"));
            }
            (kind::SETTINGS, _) => self.settings(head, payload, out)?,
            (kind::PING, _) if payload.len() != 8 => {
                return Err(Violation::size("sent a ping that is not of eight bytes"));
            }
            (kind::PING, _) if !head.has(flag::ACK) => frame::pong(payload, out),
            (kind::PRIORITY, _) if payload.len() != 5 => {
                return Err(Violation::size("sent a priority that is not of five bytes"));
            }
            (kind::GOAWAY, _) => {
                let (last, code) = (number(payload), payload.get(4..).and_then(code));
                let both = last.zip(code).ok_or(Violation::size("sent a farewell that is cut"))?;
                return Ok(self.goaway(both, taken));
            }
            (kind::RST_STREAM, id) => {
                let code = code(payload).filter(|_| payload.len() == 4);
                let code = code.ok_or(Violation::size("sent an end that is not of four bytes"))?;
                return self.reset(id, code, taken);
            }
            (kind::WINDOW_UPDATE, id) => {
                let by = number(payload).filter(|_| payload.len() == 4);
                let by = by.ok_or(Violation::size("sent a window that is not of four bytes"))?;
                if let Some(event) = self.widen(id, by, out)? {
                    return Ok(Progress::Event(taken, event));
                }
            }
            _ => {} // what is not known is passed over
        }
        Ok(Progress::Business(taken))
    }

    fn settings(
        &mut self,
        head: FrameHead,
        payload: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), Violation> {
        if head.has(flag::ACK) {
            let sound = payload.is_empty();
            return sound.then_some(()).ok_or(Violation::size("confirms settings at length"));
        }
        let changed = self.allowed.take(payload)?;
        self.settled = true;
        self.table_changed |= changed.table;
        if changed.window_by != 0 && !self.streams.widen(changed.window_by) {
            return Err(Violation::flow("widens a window beyond 2 GiB"));
        }
        frame::acknowledge_settings(out);
        self.send_bodies(out);
        Ok(())
    }

    /// The server takes more content.
    fn widen(
        &mut self,
        id: u32,
        by: u32,
        out: &mut Vec<u8>,
    ) -> Result<Option<Event<'static>>, Violation> {
        if id == 0 {
            self.window += i64::from(by);
            if by == 0 || self.window > WINDOW_MAX {
                return Err(Violation::flow("widens a window by nothing, or beyond 2 GiB"));
            }
        } else if let Some(slot) = self.streams.find(id) {
            let Some(stream) = self.streams.get(slot) else { return Ok(None) };
            stream.window += i64::from(by);
            if by == 0 || stream.window > WINDOW_MAX {
                let fault = crate::Fault::Malformed("a window that is none");
                return Ok(Some(self.faulty(slot, fault, out)));
            }
        } else {
            self.not_idle(id)?;
        }
        self.send_bodies(out);
        Ok(None)
    }

    fn reset<'a>(
        &mut self,
        id: u32,
        code: ErrorCode,
        taken: usize,
    ) -> Result<Progress<'a>, Violation> {
        let Some(slot) = self.streams.find(id) else {
            self.not_idle(id)?;
            return Ok(Progress::Business(taken));
        };
        self.streams.close(slot);
        self.forget(slot);
        Ok(Progress::Event(taken, Event::Reset { slot, code }))
    }

    /// The server ends the connection. Its frame is taken only once every stream that it concerns has
    /// been told.
    fn goaway<'a>(&mut self, (last, code): (u32, ErrorCode), taken: usize) -> Progress<'a> {
        self.farewell = Some(code);
        let in_order = code == ErrorCode::NO_ERROR;
        let concerned = self.streams.above(if in_order { last } else { 0 });
        if let Some(slot) = concerned {
            self.streams.close(slot);
            self.forget(slot);
            let unprocessed = Event::Unprocessed { slot };
            return Progress::Event(
                0,
                if in_order { unprocessed } else { Event::Failed { slot, code } },
            );
        }
        match self.streams.under_way() {
            0 => Progress::Event(taken, Event::Left { code }),
            _ => Progress::Business(taken),
        }
    }

    /// A frame came for a stream that is not under way: no error where that was given up.
    pub(super) fn of_no_stream(&self, id: u32) -> Result<(), Violation> {
        self.not_idle(id)?;
        let after_its_end = Violation::new(
            ErrorCode::STREAM_CLOSED,
            "sent more on a stream whose answer was complete",
        );
        self.streams.was_cancelled(id).then_some(()).ok_or(after_its_end)
    }

    /// Refuses the number of a stream that never began.
    fn not_idle(&self, id: u32) -> Result<(), Violation> {
        let began = id < self.next && id % 2 == 1;
        began.then_some(()).ok_or(Violation::protocol("sent a frame on a stream that nobody began"))
    }
}

/// The code at the start of `bytes`.
fn code(bytes: &[u8]) -> Option<ErrorCode> {
    bytes.first_chunk().map(|four| ErrorCode(u32::from_be_bytes(*four)))
}

/// The piece of a block in a frame of headers.
fn unpadded(head: FrameHead, payload: &[u8]) -> Result<&[u8], Violation> {
    let cut = Violation::protocol("sent a head that is all padding");
    let (mut piece, mut padding) = (payload, 0);
    if head.has(flag::PADDED) {
        let (first, rest) = piece.split_first().ok_or(cut)?;
        (piece, padding) = (rest, usize::from(*first));
    }
    if head.has(flag::PRIORITY) {
        piece = piece.get(5..).ok_or(cut)?;
    }
    let length = piece.len().checked_sub(padding).ok_or(cut)?;
    Ok(&piece[..length])
}
