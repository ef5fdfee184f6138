//! Rows of a JSON document: members are elements, and each item of a list is an element of the name
//! that the list has.

use std::borrow::Cow;

use struson::reader::{
    JsonReader, JsonReaderPosition, JsonStreamReader, ReaderError, ReaderSettings, ValueType,
};

use super::plan::{NodeId, RowPlan};
use super::row::Row;
use super::walk::{DEPTH_MAX, RowReader, VALUE_MAX};
use super::{Late, StreamError};

const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// What a document is read from.
type Source<'d> = JsonStreamReader<&'d [u8]>;

/// Gives `sink` the rows of the JSON document `bytes`; their number. Numbers keep the digits they are
/// written with; `null` is not there, be it a member or an item of a list. A path of rows without a step stands for the
/// document, or for each item where the document is a list.
///
/// # Errors
/// As [`super::rows_of_xml`].
pub fn rows_of_json<E>(
    bytes: &[u8],
    plan: &RowPlan,
    late: Late,
    sink: impl FnMut(Row<'_>) -> Result<(), E>,
) -> Result<u64, StreamError<E>> {
    // a byte order mark is no part of the document (RFC 8259, section 8.1)
    let bytes = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes);
    let settings = ReaderSettings {
        track_path: false,
        max_nesting_depth: Some(u32::try_from(DEPTH_MAX).unwrap_or(u32::MAX)),
        // they stay texts, as long as any value may be
        restrict_number_values: false,
        ..ReaderSettings::default()
    };
    let mut document = Document {
        reader: JsonStreamReader::new_custom(bytes, settings),
        walk: RowReader::new(bytes, plan, late, sink),
    };
    document.root()?;
    let Document { reader, walk } = document;
    let at = position(&reader);
    reader.consume_trailing_whitespace().map_err(|error| unreadable(error, at, &walk))?;
    Ok(walk.rows())
}

struct Document<'d, 'p, S> {
    reader: Source<'d>,
    walk: RowReader<'d, 'p, S>,
}

impl<'d, S, E> Document<'d, '_, S>
where
    S: FnMut(Row<'_>) -> Result<(), E>,
{
    fn root(&mut self) -> Result<(), StreamError<E>> {
        if self.asked(JsonStreamReader::peek)? != ValueType::Array {
            return self.whole();
        }
        self.asked(JsonStreamReader::begin_array)?;
        while self.asked(JsonStreamReader::has_next)? {
            match self.asked(JsonStreamReader::peek)? {
                ValueType::Null => self.asked(JsonStreamReader::next_null)?,
                _ => self.whole()?,
            }
        }
        self.asked(JsonStreamReader::end_array)
    }

    /// The document, or an item of the list that it is.
    fn whole(&mut self) -> Result<(), StreamError<E>> {
        let at = position(&self.reader);
        self.walk.begin(at);
        self.value(at)
    }

    /// One element, of which the plan knows `child`.
    fn item(&mut self, child: Option<NodeId>) -> Result<(), StreamError<E>> {
        let at = position(&self.reader);
        self.walk.element(child, at)?;
        self.value(at)
    }

    /// What the element that has begun at `at` holds, and its end.
    fn value(&mut self, at: usize) -> Result<(), StreamError<E>> {
        match self.asked(JsonStreamReader::peek)? {
            ValueType::Object => self.object()?,
            ValueType::Array => {
                let problem = "a list in a list: its items have no name".into();
                return Err(StreamError::Malformed { at: self.walk.place(at), problem });
            }
            ValueType::String => self.scalar(|reader| reader.next_str())?,
            ValueType::Number => self.scalar(|reader| reader.next_number_as_str())?,
            ValueType::Boolean => {
                let truth = self.asked(JsonStreamReader::next_bool)?;
                self.walk.text(Cow::Borrowed(if truth { "true" } else { "false" }), at)?;
            }
            ValueType::Null => self.asked(JsonStreamReader::next_null)?,
        }
        let at = position(&self.reader);
        self.walk.end(at)
    }

    fn object(&mut self) -> Result<(), StreamError<E>> {
        self.asked(JsonStreamReader::begin_object)?;
        while self.asked(JsonStreamReader::has_next)? {
            let at = position(&self.reader);
            let child = match self.reader.next_name() {
                Ok(name) => self.walk.child(name),
                Err(error) => return Err(unreadable(error, at, &self.walk)),
            };
            self.member(child)?;
        }
        self.asked(JsonStreamReader::end_object)
    }

    fn member(&mut self, child: Option<NodeId>) -> Result<(), StreamError<E>> {
        match self.asked(JsonStreamReader::peek)? {
            ValueType::Array => {
                self.asked(JsonStreamReader::begin_array)?;
                while self.asked(JsonStreamReader::has_next)? {
                    match self.asked(JsonStreamReader::peek)? {
                        ValueType::Null => self.asked(JsonStreamReader::next_null)?,
                        _ => self.item(child)?,
                    }
                }
                self.asked(JsonStreamReader::end_array)
            }
            ValueType::Null => self.asked(JsonStreamReader::next_null),
            ValueType::Object | ValueType::String | ValueType::Number | ValueType::Boolean => {
                self.item(child)
            }
        }
    }

    /// Text or a number, where its field wants it.
    fn scalar(
        &mut self,
        read: impl for<'r> FnOnce(&'r mut Source<'d>) -> Result<&'r str, ReaderError>,
    ) -> Result<(), StreamError<E>> {
        let at = position(&self.reader);
        let text = match read(&mut self.reader) {
            Ok(text) => text,
            Err(error) => return Err(unreadable(error, at, &self.walk)),
        };
        if text.len() > VALUE_MAX {
            return Err(StreamError::ValueTooLong { at: self.walk.place(at), most: VALUE_MAX });
        }
        if self.walk.wants_text() { self.walk.made(text, at) } else { Ok(()) }
    }

    fn asked<T>(
        &mut self,
        ask: impl FnOnce(&mut Source<'d>) -> Result<T, ReaderError>,
    ) -> Result<T, StreamError<E>> {
        let at = position(&self.reader);
        ask(&mut self.reader).map_err(|error| unreadable(error, at, &self.walk))
    }
}

/// The byte that the reader stands before.
fn position(reader: &Source<'_>) -> usize {
    byte(&reader.current_position(false))
}

fn byte(at: &JsonReaderPosition) -> usize {
    at.data_pos.map_or(0, |at| usize::try_from(at).unwrap_or(usize::MAX))
}

fn unreadable<S, E>(error: ReaderError, at: usize, walk: &RowReader<'_, '_, S>) -> StreamError<E>
where
    S: FnMut(Row<'_>) -> Result<(), E>,
{
    let at = walk.place(match &error {
        ReaderError::SyntaxError(error) => byte(&error.location),
        _ => at,
    });
    match error {
        // the source is memory: what fails is the encoding
        ReaderError::IoError { error, .. } => {
            StreamError::Malformed { at, problem: error.to_string() }
        }
        ReaderError::MaxNestingDepthExceeded { .. } => StreamError::TooDeep { at, most: DEPTH_MAX },
        ReaderError::SyntaxError(error) => {
            StreamError::Malformed { at, problem: format!("not JSON: {}", error.kind) }
        }
        other => StreamError::Malformed { at, problem: other.to_string() },
    }
}
