//! Rows of an XML document.
//!
//! What makes a document well-formed beside its pieces ([`Markup`]) is checked here: one element around
//! all, characters, attributes, references, one declaration at the beginning. What is rare in all of a
//! document is looked for once, not in every piece.

use std::borrow::Cow;
use std::str::from_utf8;

use quick_xml::XmlVersion;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesRef, BytesStart};

use super::declaration::encoding_of;
use super::markup::{Markup, Piece, StartTag, are_apart, is_name};
use super::plan::RowPlan;
use super::row::Row;
use super::walk::RowReader;
use super::{Late, StreamError};

/// Bytes of one piece of a document at most: a tag, a text, a comment.
const PIECE_MAX: usize = 16 << 20;

/// Gives `sink` the rows of the XML document `bytes`; their number. Memory beside the document holds
/// one row, and those that wait for late fields.
///
/// # Errors
/// [`StreamError`] for a document that is not well-formed, has a DOCTYPE, another encoding than UTF-8
/// or values beyond the limits, for fields behind their rows, and for what `sink` gives back.
pub fn rows_of_xml<E>(
    bytes: &[u8],
    plan: &RowPlan,
    late: Late,
    sink: impl FnMut(Row<'_>) -> Result<(), E>,
) -> Result<u64, StreamError<E>> {
    let walk = RowReader::new(bytes, plan, late, sink);
    let mut document = Document {
        walk,
        depth: 0,
        roots: 0,
        begun: false,
        forbidden: has_forbidden(bytes),
        closings: memchr::memmem::find(bytes, b"]]>").is_some(),
        returns: memchr::memchr(b'\r', bytes).is_some(),
    };
    let text =
        from_utf8(bytes).map_err(|error| document.other_than_utf8(bytes, error.valid_up_to()))?;
    document.walk.begin(0);
    let mut markup = Markup::new(text);
    loop {
        let at = markup.at();
        let piece = markup.next();
        if markup.at() - at > PIECE_MAX {
            let problem = format!("a tag, text or comment of more than {PIECE_MAX} bytes");
            return Err(document.malformed(at, &problem));
        }
        match piece {
            Ok(Piece::Eof) => return document.finish(at),
            Ok(piece) => document.take(piece, at)?,
            Err(problem) => return Err(document.malformed(at, &problem)),
        }
    }
}

struct Document<'d, 'p, S> {
    walk: RowReader<'d, 'p, S>,
    /// Elements that are open.
    depth: usize,
    /// Elements that stand beside each other at the top.
    roots: usize,
    /// Something has been read.
    begun: bool,
    /// Somewhere in it stands a character that XML forbids.
    forbidden: bool,
    /// Somewhere in it stands `]]>`.
    closings: bool,
    /// Somewhere in it stands a carriage return, which is read as the end of a line.
    returns: bool,
}

impl<'d, S, E> Document<'d, '_, S>
where
    S: FnMut(Row<'_>) -> Result<(), E>,
{
    fn take(&mut self, piece: Piece<'d>, at: usize) -> Result<(), StreamError<E>> {
        let first = !std::mem::replace(&mut self.begun, true);
        match piece {
            Piece::Start(tag) => self.start(&tag, at),
            Piece::End => self.end(at),
            Piece::Text(text) => self.characters(text, at),
            Piece::Data(_) | Piece::Reference(_) if self.depth == 0 => Err(self.outside(at)),
            Piece::Data(text) => self.text(self.lines(text), at),
            Piece::Reference(name) => self.reference(name, at),
            Piece::Doctype => Err(StreamError::Doctype { at: self.walk.place(at) }),
            Piece::Declaration(text) if first => self.encoding(text, at),
            Piece::Declaration(_) => {
                Err(self.malformed(at, "an XML declaration that does not come first"))
            }
            Piece::Aside | Piece::Eof => Ok(()),
        }
    }

    fn start(&mut self, tag: &StartTag<'d>, at: usize) -> Result<(), StreamError<E>> {
        if self.depth == 0 {
            self.roots += 1;
            if self.roots > 1 {
                return Err(self.malformed(at, "a second element beside the outermost"));
            }
        }
        self.depth += 1;
        let child = self.walk.child(tag.local);
        self.walk.element(child, at)?;
        if tag.content.len() > tag.name.len() {
            self.attributes(tag, at)?;
        }
        if tag.is_empty { self.end(at) } else { Ok(()) }
    }

    fn attributes(&mut self, tag: &StartTag<'d>, at: usize) -> Result<(), StreamError<E>> {
        if !are_apart(&tag.content.as_bytes()[tag.name.len()..]) {
            return Err(self.malformed(at, "two attributes without a space between them"));
        }
        let start = BytesStart::from_content(tag.content, tag.name.len());
        let wanted = self.walk.wants_attributes();
        for attribute in start.attributes() {
            let attribute = attribute.map_err(|error| self.malformed(at, &error.to_string()))?;
            self.check_name(attribute.key.into_inner(), at)?;
            let value = attribute
                .normalized_value(XmlVersion::Implicit1_0)
                .map_err(|error| self.malformed(at, &error.to_string()))?;
            if attribute.value.contains('<') {
                let problem = "`<` in the value of an attribute, expected `&lt;`";
                return Err(self.malformed(at, problem));
            }
            if self.forbidden || matches!(value, Cow::Owned(_)) {
                self.check_characters(&value, at)?;
            }
            // a declaration of a namespace is no attribute, whatever its prefix
            if wanted && attribute.key.as_namespace_binding().is_none() {
                self.walk.attribute(attribute.key.local_name().into_inner(), &value, at)?;
            }
        }
        Ok(())
    }

    fn end(&mut self, at: usize) -> Result<(), StreamError<E>> {
        self.depth -= 1;
        self.walk.end(at)
    }

    fn characters(&mut self, text: &'d str, at: usize) -> Result<(), StreamError<E>> {
        if self.closings && text.contains("]]>") {
            return Err(self.malformed(at, "`]]>` in text, expected `]]&gt;`"));
        }
        // most of what stands between elements is wanted by nobody
        if self.depth > 0 && !self.forbidden && !self.walk.wants_text() {
            return Ok(());
        }
        self.text(self.lines(text), at)
    }

    /// Every way to end a line is one.
    fn lines(&self, text: &'d str) -> Cow<'d, str> {
        if self.returns && text.contains('\r') {
            return text.replace("\r\n", "\n").replace('\r', "\n").into();
        }
        text.into()
    }

    fn text(&mut self, text: Cow<'d, str>, at: usize) -> Result<(), StreamError<E>> {
        if self.forbidden {
            self.check_characters(&text, at)?;
        }
        if self.depth == 0 {
            let blank = text.bytes().all(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r'));
            return if blank { Ok(()) } else { Err(self.outside(at)) };
        }
        if self.walk.wants_text() { self.walk.text(text, at) } else { Ok(()) }
    }

    fn reference(&mut self, name: &'d str, at: usize) -> Result<(), StreamError<E>> {
        let char = BytesRef::new(name).resolve_char_ref();
        let char = char.map_err(|error| self.malformed(at, &error.to_string()))?;
        if let Some(char) = char {
            let text = char.to_string();
            self.check_characters(&text, at)?;
            return self.text(text.into(), at);
        }
        let Some(text) = resolve_predefined_entity(name) else {
            let problem = format!("`&{name};` is not defined, expected amp, lt, gt, apos or quot");
            return Err(self.malformed(at, &problem));
        };
        self.text(text.into(), at)
    }

    /// A declared encoding that is not UTF-8, or a part of it, is refused.
    fn encoding(&self, declaration: &str, at: usize) -> Result<(), StreamError<E>> {
        let declared = encoding_of(declaration);
        let encoding = declared.map_err(|problem| self.malformed(at, &problem))?;
        match encoding {
            Some(name) if !["utf-8", "utf8", "us-ascii"].contains(&&*name.to_ascii_lowercase()) => {
                let at = self.walk.place(at);
                Err(StreamError::Encoding { at, encoding: name.into() })
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Of bytes that are not UTF-8 from `end` on: what its declaration says, if it has one.
    fn other_than_utf8(&self, bytes: &[u8], end: usize) -> StreamError<E> {
        let begins = from_utf8(&bytes[..end]).unwrap_or("");
        let declared = match Markup::new(begins).next() {
            Ok(Piece::Declaration(text)) => self.encoding(text, 0),
            _ => Ok(()),
        };
        declared.err().unwrap_or_else(|| self.malformed(end, "a byte that is not UTF-8"))
    }

    fn finish(mut self, at: usize) -> Result<u64, StreamError<E>> {
        if self.depth > 0 {
            return Err(self.malformed(at, "the document ends within an element"));
        }
        if self.roots == 0 {
            return Err(self.malformed(at, "there is no element"));
        }
        self.walk.end(at)?;
        Ok(self.walk.rows())
    }

    fn malformed(&self, at: usize, problem: &str) -> StreamError<E> {
        StreamError::Malformed { at: self.walk.place(at), problem: problem.into() }
    }

    fn outside(&self, at: usize) -> StreamError<E> {
        self.malformed(at, "text outside of the outermost element")
    }

    fn check_name(&self, name: &str, at: usize) -> Result<(), StreamError<E>> {
        if is_name(name) {
            return Ok(());
        }
        Err(self.malformed(at, &format!("`{name}` is no name")))
    }

    /// Control characters are no part of XML 1.0, however they are written, nor are the two that
    /// Unicode keeps free.
    fn check_characters(&self, text: &str, at: usize) -> Result<(), StreamError<E>> {
        match text.chars().find(|char| is_forbidden(*char)) {
            Some(char) => {
                let problem = format!("the character U+{:04X}, which XML forbids", u32::from(char));
                Err(self.malformed(at, &problem))
            }
            None => Ok(()),
        }
    }
}

fn is_forbidden(char: char) -> bool {
    matches!(char, '\u{FFFE}' | '\u{FFFF}') || u8::try_from(char).is_ok_and(is_control)
}

fn is_control(byte: u8) -> bool {
    byte < b' ' && !matches!(byte, b'\t' | b'\n' | b'\r')
}

fn has_forbidden(bytes: &[u8]) -> bool {
    // without a way out of the inner loop, which the compiler does many bytes at a time
    let controls = |some: &[u8]| some.iter().fold(false, |any, byte| any | is_control(*byte));
    bytes.chunks(1 << 10).any(controls)
        || ["\u{FFFE}", "\u{FFFF}"]
            .iter()
            .any(|kept_free| memchr::memmem::find(bytes, kept_free.as_bytes()).is_some())
}
