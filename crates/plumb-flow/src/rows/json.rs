//! Rows of a JSON document: members are elements, and each item of a list is an element of the name
//! that the list has.

use std::io::Read;

use struson::reader::{
    JsonReader, JsonReaderPosition, JsonStreamReader, ReaderError, ReaderSettings, ValueType,
};

use super::plan::RowPlan;
use super::position::Position;
use super::row::Row;
use super::walk::{DEPTH_MAX, VALUE_MAX, Walk};
use super::{Late, StreamError};

/// Gives `sink` the rows of the JSON document that `source` yields; their number. Numbers keep the
/// digits they are written with; `null` is a field that is not there. A path of rows without a step
/// stands for the document, or for each item where the document is a list.
///
/// # Errors
/// As [`super::rows_of_xml`].
pub fn rows_of_json<R: Read, E>(
    source: R,
    plan: &RowPlan,
    late: Late,
    sink: impl FnMut(Row<'_>) -> Result<(), E>,
) -> Result<u64, StreamError<E>> {
    let settings = ReaderSettings {
        track_path: false,
        max_nesting_depth: Some(u32::try_from(DEPTH_MAX).unwrap_or(u32::MAX)),
        ..ReaderSettings::default()
    };
    let mut document = Document {
        reader: JsonStreamReader::new_custom(source, settings),
        walk: Walk::new(plan, late, sink),
    };
    document.root()?;
    let Document { reader, walk } = document;
    let at = position(&reader);
    reader.consume_trailing_whitespace().map_err(|error| unreadable(error, at))?;
    Ok(walk.rows())
}

struct Document<'p, R: Read, S> {
    reader: JsonStreamReader<R>,
    walk: Walk<'p, S>,
}

impl<R: Read, S, E> Document<'_, R, S>
where
    S: FnMut(Row<'_>) -> Result<(), E>,
{
    fn root(&mut self) -> Result<(), StreamError<E>> {
        if self.asked(JsonStreamReader::peek)? != ValueType::Array {
            return self.item(None);
        }
        self.asked(JsonStreamReader::begin_array)?;
        while self.asked(JsonStreamReader::has_next)? {
            self.item(None)?;
        }
        self.asked(JsonStreamReader::end_array)
    }

    /// One element: what the reader stands before, as `name` or as the document.
    fn item(&mut self, name: Option<&str>) -> Result<(), StreamError<E>> {
        let at = position(&self.reader);
        match name {
            Some(name) => self.walk.element(name, at)?,
            None => self.walk.begin(at),
        }
        match self.asked(JsonStreamReader::peek)? {
            ValueType::Object => self.object()?,
            ValueType::Array => {
                let problem = "a list in a list: its items have no name".into();
                return Err(StreamError::Malformed { at, problem });
            }
            ValueType::String => self.scalar(|reader| reader.next_str())?,
            ValueType::Number => self.scalar(|reader| reader.next_number_as_str())?,
            ValueType::Boolean => {
                let truth = self.asked(JsonStreamReader::next_bool)?;
                self.walk.text(if truth { "true" } else { "false" }, at)?;
            }
            ValueType::Null => self.asked(JsonStreamReader::next_null)?,
        }
        let at = position(&self.reader);
        self.walk.end(at)
    }

    fn object(&mut self) -> Result<(), StreamError<E>> {
        self.asked(JsonStreamReader::begin_object)?;
        while self.asked(JsonStreamReader::has_next)? {
            let name = self.asked(JsonStreamReader::next_name_owned)?;
            self.member(&name)?;
        }
        self.asked(JsonStreamReader::end_object)
    }

    fn member(&mut self, name: &str) -> Result<(), StreamError<E>> {
        match self.asked(JsonStreamReader::peek)? {
            ValueType::Array => {
                self.asked(JsonStreamReader::begin_array)?;
                while self.asked(JsonStreamReader::has_next)? {
                    self.item(Some(name))?;
                }
                self.asked(JsonStreamReader::end_array)
            }
            ValueType::Null => self.asked(JsonStreamReader::next_null),
            ValueType::Object | ValueType::String | ValueType::Number | ValueType::Boolean => {
                self.item(Some(name))
            }
        }
    }

    /// Text or a number, where its field wants it.
    fn scalar(
        &mut self,
        read: impl FnOnce(&mut JsonStreamReader<R>) -> Result<&str, ReaderError>,
    ) -> Result<(), StreamError<E>> {
        let at = position(&self.reader);
        let text = read(&mut self.reader).map_err(|error| unreadable(error, at))?;
        if text.len() > VALUE_MAX {
            return Err(StreamError::ValueTooLong { at, most: VALUE_MAX });
        }
        self.walk.text(text, at)
    }

    fn asked<T>(
        &mut self,
        ask: impl FnOnce(&mut JsonStreamReader<R>) -> Result<T, ReaderError>,
    ) -> Result<T, StreamError<E>> {
        let at = position(&self.reader);
        ask(&mut self.reader).map_err(|error| unreadable(error, at))
    }
}

fn position<R: Read>(reader: &JsonStreamReader<R>) -> Position {
    place(&reader.current_position(false))
}

fn place(at: &JsonReaderPosition) -> Position {
    let at = at.line_pos;
    at.map_or(Position::START, |at| Position { line: at.line + 1, column: at.column + 1 })
}

fn unreadable<E>(error: ReaderError, at: Position) -> StreamError<E> {
    match error {
        ReaderError::IoError { error, .. } => StreamError::Read { at, error },
        ReaderError::MaxNestingDepthExceeded { .. } => StreamError::TooDeep { at, most: DEPTH_MAX },
        ReaderError::SyntaxError(error) => StreamError::Malformed {
            at: place(&error.location),
            problem: format!("not JSON: {}", error.kind),
        },
        other => StreamError::Malformed { at, problem: other.to_string() },
    }
}
