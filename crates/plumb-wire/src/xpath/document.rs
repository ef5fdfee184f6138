//! An XML document as a list of elements and texts in their order; each knows where its content
//! ends, so nothing is linked.

use std::borrow::Cow;

use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesRef, BytesStart, Event};
use quick_xml::{Reader, XmlVersion};

use super::NameTest;
use crate::expression::{DEPTH_MAX, FindError, text_of};

/// Elements and texts of a document at most.
const NODES_MAX: usize = 1_000_000;
/// Attributes of one element at most.
const ATTRIBUTES_MAX: usize = 256;

/// A document that has been read. Node 0 is the document itself.
pub(super) struct Document<'a> {
    nodes: Vec<Node<'a>>,
}

struct Node<'a> {
    kind: NodeKind<'a>,
    /// The first node behind what is in this one.
    end: usize,
}

enum NodeKind<'a> {
    Document,
    Element(BytesStart<'a>),
    Text(Cow<'a, str>),
}

impl<'a> Document<'a> {
    /// # Errors
    /// [`FindError`] for what is no XML, or beyond the limits.
    pub(super) fn read(document: &'a [u8]) -> Result<Self, FindError> {
        let mut reader = Reader::from_str(text_of(document)?);
        let nodes = vec![Node { kind: NodeKind::Document, end: 1 }];
        let mut building = Building { nodes, open: vec![0], in_text: false };
        loop {
            let event = reader.read_event();
            let at = usize::try_from(reader.buffer_position()).unwrap_or(document.len());
            let event = event.map_err(|error| FindError::malformed(at, error.to_string()))?;
            if !building.take(event).map_err(|refusal| refusal.at(at))? {
                return Ok(Self { nodes: building.nodes });
            }
        }
    }

    /// The nodes directly in node `of`, in order.
    pub(super) fn children(&self, of: usize) -> impl Iterator<Item = usize> + '_ {
        let end = self.nodes[of].end;
        let first = Some(of + 1).filter(|first| *first < end);
        std::iter::successors(first, move |at| Some(self.nodes[*at].end).filter(|next| *next < end))
    }

    /// Every node in `of`, and `of` itself.
    pub(super) fn within(&self, of: usize) -> std::ops::Range<usize> {
        of..self.nodes[of].end
    }

    /// The name of an element as it is written.
    pub(super) fn name(&self, of: usize) -> Option<&str> {
        match &self.nodes[of].kind {
            NodeKind::Element(start) => Some(start.name().into_inner()),
            NodeKind::Document | NodeKind::Text(_) => None,
        }
    }

    pub(super) fn is_text(&self, at: usize) -> bool {
        matches!(self.nodes[at].kind, NodeKind::Text(_))
    }

    /// All text in node `of`.
    pub(super) fn text(&self, of: usize) -> String {
        let texts = self.nodes[self.within(of)].iter().filter_map(|node| match &node.kind {
            NodeKind::Text(text) => Some(text.as_ref()),
            NodeKind::Document | NodeKind::Element(_) => None,
        });
        texts.collect()
    }

    /// The values of the attributes of element `of` whose names fit, in order.
    pub(super) fn attributes(&self, of: usize, test: &NameTest) -> Vec<String> {
        let NodeKind::Element(start) = &self.nodes[of].kind else { return Vec::new() };
        let fitting = start.attributes().flatten().filter(|attribute| {
            let name = attribute.key.into_inner();
            test.fits(name) && name != "xmlns" && !name.starts_with("xmlns:")
        });
        fitting
            .filter_map(|attribute| attribute.normalized_value(XmlVersion::Implicit1_0).ok())
            .map(Cow::into_owned)
            .collect()
    }
}

/// A document that is being read.
struct Building<'a> {
    nodes: Vec<Node<'a>>,
    /// The document and the elements that have begun and not ended, outermost first.
    open: Vec<usize>,
    /// The last node is a text and nothing followed it: text, references and CDATA sections that
    /// follow each other are one.
    in_text: bool,
}

/// Why the next part of a document is refused; the reader knows where.
enum Refusal {
    Because(String),
    Known(FindError),
}

impl Refusal {
    fn at(self, at: usize) -> FindError {
        match self {
            Self::Because(problem) => FindError::malformed(at, problem),
            Self::Known(error) => error,
        }
    }
}

impl<'a> Building<'a> {
    /// Takes the next part; false when it was the end.
    fn take(&mut self, event: Event<'a>) -> Result<bool, Refusal> {
        self.in_text &= matches!(event, Event::Text(_) | Event::CData(_) | Event::GeneralRef(_));
        match event {
            Event::Start(start) => self.begin(start)?,
            Event::Empty(start) => {
                self.begin(start)?;
                self.end();
            }
            Event::End(_) => self.end(),
            Event::Text(text) => self.text(text.xml10_content())?,
            Event::CData(text) => self.text(text.xml10_content())?,
            Event::GeneralRef(reference) => self.text(Cow::Owned(resolved(&reference)?))?,
            Event::DocType(_) => return Err(Refusal::Known(FindError::Doctype)),
            Event::Comment(_) | Event::Decl(_) | Event::PI(_) => {}
            Event::Eof => return self.finish().map(|()| false),
        }
        Ok(true)
    }

    fn begin(&mut self, start: BytesStart<'a>) -> Result<(), Refusal> {
        if self.open.len() > DEPTH_MAX {
            return Err(Refusal::Known(FindError::TooDeep));
        }
        if self.open.len() == 1 && self.nodes.len() > 1 {
            return Err(Refusal::Because("a second element beside the outermost".into()));
        }
        check_attributes(&start)?;
        self.open.push(self.nodes.len());
        self.push(NodeKind::Element(start))
    }

    fn end(&mut self) {
        // the reader has checked that every end has its beginning; the document stays open
        if self.open.len() > 1
            && let Some(at) = self.open.pop()
        {
            self.nodes[at].end = self.nodes.len();
        }
    }

    fn text(&mut self, more: Cow<'a, str>) -> Result<(), Refusal> {
        if self.open.len() == 1 {
            let blank = more.chars().all(|char| char.is_ascii_whitespace());
            let why = || Refusal::Because("text outside of the outermost element".into());
            return if blank { Ok(()) } else { Err(why()) };
        }
        if self.in_text
            && let Some(Node { kind: NodeKind::Text(text), .. }) = self.nodes.last_mut()
        {
            text.to_mut().push_str(&more);
            return Ok(());
        }
        if more.is_empty() {
            return Ok(());
        }
        self.push(NodeKind::Text(more))?;
        self.in_text = true;
        Ok(())
    }

    fn push(&mut self, kind: NodeKind<'a>) -> Result<(), Refusal> {
        if self.nodes.len() == NODES_MAX {
            return Err(Refusal::Known(FindError::TooLarge { most: NODES_MAX }));
        }
        let end = self.nodes.len() + 1;
        self.nodes.push(Node { kind, end });
        Ok(())
    }

    fn finish(&mut self) -> Result<(), Refusal> {
        if self.open.len() > 1 {
            return Err(Refusal::Because("the document ends within an element".into()));
        }
        if self.nodes.len() == 1 {
            return Err(Refusal::Because("there is no element".into()));
        }
        self.nodes[0].end = self.nodes.len();
        Ok(())
    }
}

fn check_attributes(start: &BytesStart<'_>) -> Result<(), Refusal> {
    for (number, attribute) in start.attributes().enumerate() {
        if number == ATTRIBUTES_MAX {
            return Err(Refusal::Because(format!("more than {ATTRIBUTES_MAX} attributes")));
        }
        let attribute = attribute.map_err(|error| Refusal::Because(error.to_string()))?;
        attribute
            .normalized_value(XmlVersion::Implicit1_0)
            .map_err(|error| Refusal::Because(error.to_string()))?;
    }
    Ok(())
}

/// The text of a reference: one of the five of XML, or a character.
fn resolved(reference: &BytesRef<'_>) -> Result<String, Refusal> {
    let character =
        reference.resolve_char_ref().map_err(|error| Refusal::Because(error.to_string()))?;
    match character {
        Some(char) if char >= ' ' || "\t\n\r".contains(char) => Ok(char.into()),
        Some(_) => Err(Refusal::Because("a character that XML does not allow".into())),
        None => resolve_predefined_entity(reference)
            .map(str::to_owned)
            .ok_or_else(|| Refusal::Because(format!("the entity &{};", &**reference))),
    }
}
