//! An answer taken apart: tables, rows, errors, and how it ended.
//!
//! # Source
//! MS-TDS, 2.2.7, packet data token stream definition.

use crate::{Bytes, Refusal};

use super::types::{self, Length};
use super::wire::{Texts as _, told};

/// The part of an answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Token<'a> {
    /// The server lets the client in: its name, and its version.
    LogOn {
        /// The server as it names itself.
        program: String,
        /// Major, minor, and the build in two bytes.
        version: [u8; 4],
    },
    /// It refuses.
    Error(Refusal),
    /// A table begins.
    Table,
    /// A row of it.
    Row {
        /// Its values, `None` for null.
        values: Vec<Option<&'a [u8]>>,
        /// Its bytes.
        bytes: usize,
    },
    /// A statement has ended.
    Done,
    /// What was given up has ended.
    GivenUp,
}

/// Errors of this class and those above end the session.
const FATAL: u8 = 20;
/// A statement that ended because it was given up.
const ATTENTION: u16 = 0x20;

/// Takes the tokens of an answer one by one; those that say nothing of interest are passed over.
#[derive(Debug)]
pub struct Tokens<'a> {
    bytes: Bytes<'a>,
    columns: Vec<Length>,
}

impl<'a> Tokens<'a> {
    /// Those of an answer.
    pub fn of(payload: &'a [u8]) -> Self {
        Self { bytes: Bytes(payload), columns: Vec::new() }
    }

    /// The next one; `Ok(None)` at the end.
    ///
    /// # Errors
    /// [`NotUnderstood`].
    pub fn take(&mut self) -> Result<Option<Token<'a>>, NotUnderstood> {
        while let Some(kind) = self.bytes.byte() {
            if let Some(token) = self.token(kind).ok_or(NotUnderstood)? {
                return Ok(Some(token));
            }
        }
        Ok(None)
    }

    /// The token of this kind, or none where it says nothing; `None` where it cannot be understood.
    fn token(&mut self, kind: u8) -> Option<Option<Token<'a>>> {
        let bytes = &mut self.bytes;
        Some(match kind {
            0xad => {
                let mut it = counted(bytes)?;
                it.take(5)?; // interface, version of the protocol
                let program = told(it.short_text()?).trim_end_matches('\0').to_owned();
                let version = it.take(4)?.try_into().ok()?;
                Some(Token::LogOn { program, version })
            }
            0xaa => {
                let mut it = counted(bytes)?;
                let number = it.u32()?.cast_signed();
                it.byte()?;
                let is_fatal = it.byte()? >= FATAL;
                Some(Token::Error(Refusal { number, is_fatal, message: told(it.text()?) }))
            }
            // information, what changed, order, names of tables and columns, a token of the system
            0xab | 0xe3 | 0xa9 | 0xa4 | 0xa5 | 0xed => {
                counted(bytes)?;
                None
            }
            0xe4 | 0xee => {
                let length = bytes.u32()?;
                bytes.take(usize::try_from(length).ok()?)?;
                None
            }
            0x79 => {
                bytes.u32()?;
                None
            }
            0xac => {
                bytes.u16()?;
                bytes.short_text()?;
                bytes.take(7)?;
                let length = types::type_of(bytes)?;
                types::value(bytes, length)?;
                None
            }
            0xae => {
                while bytes.byte()? != 0xff {
                    let length = bytes.u32()?;
                    bytes.take(usize::try_from(length).ok()?)?;
                }
                None
            }
            0x81 => {
                self.columns = types::columns(bytes)?;
                Some(Token::Table)
            }
            0xd1 | 0xd2 => {
                let before = bytes.0.len();
                let values = types::row(bytes, &self.columns, kind == 0xd2)?;
                Some(Token::Row { values, bytes: before - bytes.0.len() })
            }
            0xfd..=0xff => {
                let status = bytes.u16()?;
                bytes.take(10)?; // which statement, rows
                Some(if status & ATTENTION != 0 { Token::GivenUp } else { Token::Done })
            }
            _ => return None,
        })
    }
}

/// What came is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotUnderstood;

/// The bytes of a token that tells how many they are.
fn counted<'a>(bytes: &mut Bytes<'a>) -> Option<Bytes<'a>> {
    let length = bytes.u16()?;
    bytes.take(length.into()).map(Bytes)
}
