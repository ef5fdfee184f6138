//! The content of a request: made once as far as it is the same for everybody.

use std::io::Write as _;
use std::sync::Arc;

use plumb_scenario::template::{Missing, Template};
use plumb_scenario::variables::{Slot, Variables};

use crate::request::{NO_CONTENT, usually_has_content};

/// The content of a request.
#[derive(Clone, Debug)]
pub(crate) enum Content {
    /// None.
    Nothing,
    /// A template.
    Text(Template),
    /// As it stands in a file.
    Bytes(Arc<[u8]>),
    /// Pieces, one behind the other.
    Pieces(Box<[Piece]>),
}

/// A piece of a content.
#[derive(Clone, Debug)]
pub(crate) enum Piece {
    /// A template.
    Text(Template),
    /// A template behind the header line that says how long it is, and an empty line.
    Counted(Template),
    /// As it stands in a file.
    Bytes(Arc<[u8]>),
}

impl Content {
    /// The variables it needs.
    pub(crate) fn slots(&self) -> Box<dyn Iterator<Item = Slot> + '_> {
        match self {
            Self::Text(template) => template.slots(),
            Self::Pieces(pieces) => Box::new(pieces.iter().flat_map(|piece| match piece {
                Piece::Text(template) | Piece::Counted(template) => template.slots(),
                Piece::Bytes(_) => Box::new(std::iter::empty()),
            })),
            Self::Nothing | Self::Bytes(_) => Box::new(std::iter::empty()),
        }
    }

    /// Appends the end of the head of a request with `method`, and the content; `spare` is written
    /// over.
    ///
    /// # Errors
    /// [`Missing`]; what was appended is then to be thrown away.
    pub(crate) fn write(
        &self,
        method: &str,
        variables: &Variables,
        (out, spare): (&mut Vec<u8>, &mut Vec<u8>),
    ) -> Result<(), Missing> {
        let content: &[u8] = match self {
            Self::Nothing => {
                if usually_has_content(method) {
                    out.extend_from_slice(NO_CONTENT.as_bytes());
                }
                out.extend_from_slice(b"\r\n");
                return Ok(());
            }
            Self::Bytes(bytes) => bytes,
            Self::Text(template) => {
                spare.clear();
                template.write(variables, spare)?;
                spare
            }
            Self::Pieces(pieces) => {
                spare.clear();
                pieces.iter().try_for_each(|piece| piece.write(variables, spare))?;
                spare
            }
        };
        counted(content.len(), out);
        out.extend_from_slice(content);
        Ok(())
    }
}

impl Piece {
    /// True for one whose length stands before it.
    pub(crate) fn is_counted(&self) -> bool {
        matches!(self, Self::Counted(_))
    }

    fn write(&self, variables: &Variables, out: &mut Vec<u8>) -> Result<(), Missing> {
        match self {
            Self::Text(template) => template.write(variables, out)?,
            Self::Counted(template) => {
                let mut text = Vec::new();
                template.write(variables, &mut text)?;
                counted(text.len(), out);
                out.extend_from_slice(&text);
            }
            Self::Bytes(bytes) => out.extend_from_slice(bytes),
        }
        Ok(())
    }
}

/// Appends the header line of a length and the empty line behind a head.
fn counted(bytes: usize, out: &mut Vec<u8>) {
    let _ = write!(out, "Content-Length: {bytes}\r\n\r\n"); // a vector takes it all
}
