//! Rows of an XML document.
//!
//! The library reads events; what else makes a document well-formed is checked here: one element
//! around all, names, characters, references, one declaration at the beginning.

use std::io::BufRead;

use quick_xml::XmlVersion;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesDecl, BytesRef, BytesStart, Event};
use quick_xml::reader::Reader;

use super::plan::RowPlan;
use super::position::{Counted, Position};
use super::row::Row;
use super::walk::Walk;
use super::{Late, StreamError};

/// Gives `sink` the rows of the XML document that `source` yields; their number. Memory holds one row,
/// and those that wait for late fields.
///
/// # Errors
/// [`StreamError`] for a document that is not well-formed, has a DOCTYPE, another encoding than UTF-8
/// or values beyond the limits, for fields behind their rows, and for what `sink` gives back.
pub fn rows_of_xml<R: BufRead, E>(
    source: R,
    plan: &RowPlan,
    late: Late,
    sink: impl FnMut(Row<'_>) -> Result<(), E>,
) -> Result<u64, StreamError<E>> {
    let mut reader = Reader::from_reader(Counted::new(source));
    reader.config_mut().check_comments = true;
    let mut document =
        Document { walk: Walk::new(plan, late, sink), depth: 0, roots: 0, begun: false };
    let mut buffer = Vec::new();
    document.walk.begin(Position::START);
    loop {
        buffer.clear();
        reader.get_mut().mark();
        let at = reader.get_ref().position();
        match reader.read_event_into(&mut buffer) {
            Ok(Event::Eof) => break,
            Ok(event) => document.take(&event, at)?,
            Err(error) => return Err(unreadable(error, at)),
        }
    }
    let at = reader.get_ref().position();
    document.finish(at)
}

struct Document<'p, S> {
    walk: Walk<'p, S>,
    /// Elements that are open.
    depth: usize,
    /// Elements that stand beside each other at the top.
    roots: usize,
    /// Something has been read.
    begun: bool,
}

impl<S, E> Document<'_, S>
where
    S: FnMut(Row<'_>) -> Result<(), E>,
{
    fn take(&mut self, event: &Event<'_>, at: Position) -> Result<(), StreamError<E>> {
        let first = !std::mem::replace(&mut self.begun, true);
        match event {
            Event::Start(start) => self.start(start, at),
            Event::Empty(start) => {
                self.start(start, at)?;
                self.end(at)
            }
            Event::End(_) => self.end(at),
            Event::Text(text) => {
                if text.contains("]]>") {
                    return Err(malformed(at, "`]]>` in text, expected `]]&gt;`"));
                }
                self.text(&text.xml10_content(), at)
            }
            Event::CData(_) if self.depth == 0 => Err(outside(at)),
            Event::CData(text) => self.text(&text.xml10_content(), at),
            Event::GeneralRef(_) if self.depth == 0 => Err(outside(at)),
            Event::GeneralRef(reference) => self.reference(reference, at),
            Event::DocType(_) => Err(StreamError::Doctype { at }),
            Event::Decl(declaration) if first => encoding(declaration, at),
            Event::Decl(_) => Err(malformed(at, "an XML declaration that does not come first")),
            Event::Comment(_) | Event::PI(_) | Event::Eof => Ok(()),
        }
    }

    fn start(&mut self, start: &BytesStart<'_>, at: Position) -> Result<(), StreamError<E>> {
        if self.depth == 0 {
            self.roots += 1;
            if self.roots > 1 {
                return Err(malformed(at, "a second element beside the outermost"));
            }
        }
        self.depth += 1;
        let name = start.name();
        check_name(name.into_inner(), at)?;
        self.walk.element(name.local_name().into_inner(), at)?;
        let wanted = self.walk.wants_attributes();
        for attribute in start.attributes() {
            let attribute = attribute.map_err(|error| malformed(at, &error.to_string()))?;
            check_name(attribute.key.into_inner(), at)?;
            let value = attribute
                .normalized_value(XmlVersion::Implicit1_0)
                .map_err(|error| malformed(at, &error.to_string()))?;
            if attribute.value.contains('<') {
                return Err(malformed(at, "`<` in the value of an attribute, expected `&lt;`"));
            }
            check_characters(&value, at)?;
            if wanted {
                self.walk.attribute(attribute.key.local_name().into_inner(), &value, at)?;
            }
        }
        Ok(())
    }

    fn end(&mut self, at: Position) -> Result<(), StreamError<E>> {
        // the reader has checked that every end has its beginning
        self.depth -= 1;
        self.walk.end(at)
    }

    fn text(&mut self, text: &str, at: Position) -> Result<(), StreamError<E>> {
        check_characters(text, at)?;
        if self.depth == 0 {
            // a byte order mark is no text
            let text = text.strip_prefix('\u{feff}').unwrap_or(text);
            let blank = text.chars().all(|char| matches!(char, ' ' | '\t' | '\n' | '\r'));
            return if blank { Ok(()) } else { Err(outside(at)) };
        }
        if self.walk.wants_text() { self.walk.text(text, at) } else { Ok(()) }
    }

    fn reference(&mut self, reference: &BytesRef<'_>, at: Position) -> Result<(), StreamError<E>> {
        let char =
            reference.resolve_char_ref().map_err(|error| malformed(at, &error.to_string()))?;
        if let Some(char) = char {
            return self.text(char.encode_utf8(&mut [0; 4]), at);
        }
        let name = reference.xml10_content();
        let Some(text) = resolve_predefined_entity(&name) else {
            let problem = format!("`&{name};` is not defined, expected amp, lt, gt, apos or quot");
            return Err(malformed(at, &problem));
        };
        self.text(text, at)
    }

    fn finish(mut self, at: Position) -> Result<u64, StreamError<E>> {
        if self.depth > 0 {
            return Err(malformed(at, "the document ends within an element"));
        }
        if self.roots == 0 {
            return Err(malformed(at, "there is no element"));
        }
        self.walk.end(at)?;
        Ok(self.walk.rows())
    }
}

fn malformed<E>(at: Position, problem: &str) -> StreamError<E> {
    StreamError::Malformed { at, problem: problem.into() }
}

fn outside<E>(at: Position) -> StreamError<E> {
    malformed(at, "text outside of the outermost element")
}

fn unreadable<E>(error: quick_xml::Error, at: Position) -> StreamError<E> {
    match error {
        quick_xml::Error::Io(error) => {
            let error = std::io::Error::new(error.kind(), error.to_string());
            StreamError::Read { at, error }
        }
        other => malformed(at, &other.to_string()),
    }
}

/// A declared encoding that is not UTF-8, or a part of it, is refused.
fn encoding<E>(declaration: &BytesDecl<'_>, at: Position) -> Result<(), StreamError<E>> {
    let declared = declaration.encoding().transpose();
    let encoding = declared.map_err(|error| malformed(at, &error.to_string()))?;
    match encoding {
        Some(name) if !["utf-8", "utf8", "us-ascii"].contains(&&*name.to_ascii_lowercase()) => {
            Err(StreamError::Encoding { at, encoding: name.into_owned() })
        }
        Some(_) | None => Ok(()),
    }
}

/// Letters of every language and what XML allows beside them, so that no mark-up passes as a name.
fn check_name<E>(name: &str, at: Position) -> Result<(), StreamError<E>> {
    let begins = |char: char| char.is_alphabetic() || matches!(char, '_' | ':') || char > '\u{ff}';
    let goes_on = |char: char| begins(char) || char.is_numeric() || matches!(char, '-' | '.' | '·');
    let mut chars = name.chars();
    if chars.next().is_some_and(begins) && chars.all(goes_on) {
        return Ok(());
    }
    Err(malformed(at, &format!("`{name}` is no name")))
}

/// Control characters are no part of XML 1.0, however they are written.
fn check_characters<E>(text: &str, at: Position) -> Result<(), StreamError<E>> {
    let forbidden = |byte: &u8| *byte < b' ' && !matches!(byte, b'\t' | b'\n' | b'\r');
    match text.bytes().find(forbidden) {
        Some(byte) => Err(malformed(at, &format!("the character U+{byte:04X}, which XML forbids"))),
        None => Ok(()),
    }
}
