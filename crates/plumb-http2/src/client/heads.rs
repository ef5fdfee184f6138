//! Header blocks: put together, decoded, and remembered.

use super::{Client, Event, WRONG_LENGTH};
use crate::fields::{Fault, FieldReader, Head, LINES_BYTES_MAX};
use crate::hpack::Meaning;
use crate::{ErrorCode, Violation};

/// Labels whose heads are remembered; answers of others share one place.
const REMEMBERED: u16 = 64;

/// A block whose end has not come.
#[derive(Debug)]
pub(super) struct Continued {
    pub(super) stream: u32,
    pub(super) ends: bool,
    block: Vec<u8>,
}

impl Continued {
    pub(super) fn new(stream: u32, ends: bool, start: &[u8]) -> Self {
        Self { stream, ends, block: start.to_vec() }
    }

    pub(super) fn block(&self) -> &[u8] {
        &self.block
    }

    /// Adds a piece.
    pub(super) fn add(&mut self, piece: &[u8]) -> Result<(), Violation> {
        self.block.extend_from_slice(piece);
        if self.block.len() > LINES_BYTES_MAX {
            let what = "sent a head that has no end within 64 KiB";
            return Err(Violation::new(ErrorCode::ENHANCE_YOUR_CALM, what));
        }
        Ok(())
    }
}

/// The last heads, by the labels of their answers.
#[derive(Debug, Default)]
pub(super) struct Heads {
    last: Vec<Remembered>,
    /// Heads that were decoded.
    decoded: u64,
}

/// A block and what it meant.
#[derive(Debug, Default)]
struct Remembered {
    /// Empty: the same bytes may mean something else now.
    block: Vec<u8>,
    /// Of the table when it was decoded; `None`: it means the same whatever that holds.
    generation: Option<u64>,
    /// It puts something into the table.
    adds: bool,
    head: Head,
    lines: Vec<u8>,
}

impl Heads {
    pub(super) fn lines(&self, label: u16) -> &[u8] {
        self.last.get(usize::from(label.min(REMEMBERED))).map_or(&[], |found| &found.lines)
    }

    fn of(&mut self, label: u16) -> &mut Remembered {
        let at = usize::from(label.min(REMEMBERED));
        if at >= self.last.len() {
            self.last.resize_with(at + 1, Remembered::default);
        }
        &mut self.last[at]
    }
}

impl Client {
    /// Takes a whole block on the stream `id`; `None` when it concerns no answer.
    pub(super) fn block(
        &mut self,
        (id, ends): (u32, bool),
        block: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Option<Event<'static>>, Violation> {
        let Some(slot) = self.streams.find(id) else {
            self.of_no_stream(id)?;
            self.decoder.decode(block, |_, _| {})?; // others may refer to it
            return Ok(None);
        };
        let Some(stream) = self.streams.get(slot) else { return Ok(None) };
        if stream.headed {
            return self.trailers((slot, ends), block, out).map(Some);
        }
        let label = stream.label;
        let head = match self.head(label, block)? {
            Ok(head) => head,
            Err(fault) => return Ok(Some(self.faulty(slot, fault, out))),
        };
        if head.status < 200 {
            // an announcement; a switch of protocols there is none
            let sound = !ends && head.status != 101;
            let fault = Fault::Malformed("an interim answer that is none");
            return Ok((!sound).then(|| self.faulty(slot, fault, out)));
        }
        let Some(stream) = self.streams.get(slot) else { return Ok(None) };
        stream.headed = true;
        stream.length = head.length;
        stream.without_content |= matches!(head.status, 204 | 304);
        if ends {
            if stream.differs() {
                return Ok(Some(self.faulty(slot, Fault::Malformed(WRONG_LENGTH), out)));
            }
            self.over(slot, out);
        }
        Ok(Some(Event::Head { slot, head, ends }))
    }

    /// The head that `block` holds. The same bytes mean the same as long as no table has changed.
    #[inline]
    fn head(&mut self, label: u16, block: &[u8]) -> Result<Result<Head, Fault>, Violation> {
        let generation = self.decoder.generation();
        let last = self.heads.of(label);
        let holds = last.generation.is_none_or(|its| its == generation);
        if holds && last.block == block && !block.is_empty() {
            let (head, adds) = (last.head, last.adds);
            if adds {
                self.decoder.repeat(block)?;
            }
            return Ok(Ok(head));
        }
        self.heads.decoded += 1;
        let number = self.heads.decoded;
        let last = self.heads.of(label);
        let mut reader = FieldReader::new(&mut last.lines, false);
        let meaning = self.decoder.decode(block, |name, value| reader.take(name, value))?;
        let head = reader.finish().map(|head| Head { number, ..head });
        last.block.clear();
        if let Ok(head) = head {
            last.head = head;
            let now = self.decoder.generation();
            last.adds = now != generation;
            last.generation = (meaning == Meaning::OfTable).then_some(now);
            if meaning == Meaning::Alone || !last.adds {
                last.block.extend_from_slice(block);
            }
        }
        Ok(head)
    }

    /// Fields behind the content.
    fn trailers(
        &mut self,
        (slot, ends): (u16, bool),
        block: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Event<'static>, Violation> {
        let mut lines = Vec::new();
        let mut reader = FieldReader::new(&mut lines, true);
        self.decoder.decode(block, |name, value| reader.take(name, value))?;
        let fault = match reader.finish() {
            Err(fault) => Some(fault),
            Ok(_) if !ends => Some(Fault::Malformed("a second head")),
            Ok(_) if self.streams.get(slot).is_some_and(|stream| stream.differs()) => {
                Some(Fault::Malformed(WRONG_LENGTH))
            }
            Ok(_) => None,
        };
        if let Some(fault) = fault {
            return Ok(self.faulty(slot, fault, out));
        }
        self.over(slot, out);
        Ok(Event::Ended { slot })
    }
}
