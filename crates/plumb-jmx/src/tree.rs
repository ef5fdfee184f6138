//! A test plan as a tree of elements, each with the line on which it begins.
//!
//! XML is read without a document type, without files and without a network; its size, its depth
//! and the number of its elements are limited.

use std::collections::BTreeMap;

use quick_xml::Reader;
use quick_xml::XmlVersion;
use quick_xml::events::{BytesStart, Event};

/// Elements inside each other at most. Plans that people make are far below.
const DEPTH_MAX: usize = 200;
/// Elements of a plan at most.
const NODES_MAX: usize = 1_000_000;

/// An element of XML.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Node {
    pub(super) name: String,
    pub(super) attributes: BTreeMap<String, String>,
    /// The text directly inside.
    pub(super) text: String,
    pub(super) children: Vec<Node>,
    /// From 1.
    pub(super) line: usize,
}

impl Node {
    /// An attribute; absent ones are empty.
    pub(super) fn attribute(&self, name: &str) -> &str {
        self.attributes.get(name).map_or("", String::as_str)
    }
}

/// Reads the tree of `text`.
///
/// # Errors
/// In words, with the line.
pub(super) fn read(text: &str) -> Result<Node, String> {
    let mut growing = Growing::default();
    let mut reader = Reader::from_str(text);
    let mut lines = Lines::new(text);
    loop {
        let at = usize::try_from(reader.buffer_position()).unwrap_or(usize::MAX);
        let line = lines.of(at);
        let wrong = |cause: String| format!("line {line}: {cause}");
        match reader.read_event() {
            Err(cause) => {
                let at = usize::try_from(reader.error_position()).unwrap_or(usize::MAX);
                let line = Lines::new(text).of(at);
                return Err(format!("line {line}: no sound XML: {cause}; save the plan again"));
            }
            Ok(Event::Eof) => break,
            Ok(event) => growing.take(&event, line).map_err(wrong)?,
        }
    }
    growing.whole()
}

/// The tree while it is being read.
#[derive(Default)]
struct Growing {
    open: Vec<Node>,
    root: Option<Node>,
    nodes: usize,
}

impl Growing {
    fn take(&mut self, event: &Event<'_>, line: usize) -> Result<(), String> {
        match event {
            Event::Start(start) => self.begin(start, line)?,
            Event::Empty(start) => {
                self.begin(start, line)?;
                self.end();
            }
            Event::End(_) => self.end(),
            Event::Text(text) => self.say(&text.xml10_content()),
            Event::CData(text) => self.say(&text.xml10_content()),
            Event::GeneralRef(reference) => {
                let found = reference.resolve_char_ref().map_err(|cause| cause.to_string())?;
                match found {
                    Some(c) => self.say(c.encode_utf8(&mut [0; 4])),
                    None => self.say(named(&reference.xml10_content())?),
                }
            }
            Event::DocType(_) => {
                return Err("a document type is not read: take the line <!DOCTYPE out".into());
            }
            Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::Eof => {}
        }
        Ok(())
    }

    fn begin(&mut self, start: &BytesStart<'_>, line: usize) -> Result<(), String> {
        self.nodes += 1;
        if self.nodes > NODES_MAX {
            return Err(format!(
                "more than {NODES_MAX} elements are not read: take the plan apart"
            ));
        }
        if self.open.len() >= DEPTH_MAX {
            return Err(format!("more than {DEPTH_MAX} elements inside each other are not read"));
        }
        if self.root.is_some() {
            return Err("a second element behind the plan; save the plan again".into());
        }
        let mut attributes = BTreeMap::new();
        for attribute in start.attributes() {
            let attribute = attribute.map_err(|cause| cause.to_string())?;
            let value = attribute
                .normalized_value(XmlVersion::Implicit1_0)
                .map_err(|cause| cause.to_string())?;
            attributes.insert(attribute.key.as_ref().to_owned(), value.into_owned());
        }
        let name = start.name().as_ref().to_owned();
        self.open.push(Node { name, attributes, line, ..Node::default() });
        Ok(())
    }

    fn end(&mut self) {
        let Some(node) = self.open.pop() else { return };
        match self.open.last_mut() {
            Some(outer) => outer.children.push(node),
            None => self.root = Some(node),
        }
    }

    fn say(&mut self, text: &str) {
        if let Some(node) = self.open.last_mut() {
            node.text += text;
        }
    }

    fn whole(self) -> Result<Node, String> {
        match (self.open.last(), self.root) {
            (None, Some(root)) => Ok(root),
            (Some(open), _) => Err(format!(
                "line {}: <{}> is not closed: the file is cut off; save the plan again",
                open.line, open.name
            )),
            (None, None) => Err("line 1: there is no element in it; is it a test plan?".into()),
        }
    }
}

/// The five entities that XML knows by itself.
fn named(name: &str) -> Result<&'static str, String> {
    quick_xml::escape::resolve_predefined_entity(name)
        .ok_or_else(|| format!("the entity `&{name};` is not known; write the character itself"))
}

/// Lines of places that only grow.
struct Lines<'a> {
    text: &'a str,
    at: usize,
    line: usize,
}

impl<'a> Lines<'a> {
    fn new(text: &'a str) -> Self {
        Self { text, at: 0, line: 1 }
    }

    /// The line of the byte `at`, which is not before the last one that was asked for.
    fn of(&mut self, at: usize) -> usize {
        let at = at.min(self.text.len()).max(self.at);
        let between = &self.text.as_bytes()[self.at..at];
        self.line += between.iter().filter(|byte| **byte == b'\n').count();
        self.at = at;
        self.line
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn elements_have_their_lines_attributes_and_texts() {
        let root = read("<?xml version=\"1.0\"?>\n<a b='&lt;1&#10;'>\n  <c/>\n<d>x &amp; <![CDATA[<y>]]>&#x41;</d></a>\n").unwrap();
        assert_eq!((root.name.as_str(), root.line, root.attribute("b")), ("a", 2, "<1\n"));
        assert_eq!(root.children[0].line, 3);
        assert_eq!((root.children[1].line, root.children[1].text.as_str()), (4, "x & <y>A"));
        assert_eq!(root.attribute("none"), "");
    }

    #[test]
    fn what_is_not_read_is_refused_with_its_line() {
        for (text, words) in [
            ("<a>\n<b>\n</a>", "line 3: no sound XML"),
            ("\n<!DOCTYPE a [<!ENTITY x SYSTEM \"file:///etc/passwd\">]><a/>", "document type"),
            ("<a>\n&x;</a>", "line 2: the entity `&x;`"),
            ("<a>\n<b>", "line 2: <b> is not closed"),
            ("", "no element"),
            ("<a/>\n<b/>", "line 2: a second element"),
            ("<a b='1' b='2'/>", "line 1"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(words), "{text}: {error}");
        }
        let error = read(&"<a>".repeat(100_000)).unwrap_err();
        assert!(error.contains("inside each other"), "{error}");
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "(\\PC|<a>|</a>|<!--|&|;|<!\\[CDATA\\[|\\]\\]>|'){0,40}") {
            let _ = read(&text);
        }
    }
}
