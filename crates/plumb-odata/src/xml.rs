//! XML as it is written: straight away, or as a tree that is written at the end.

use std::borrow::Cow;
use std::fmt;

use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesEnd, BytesStart, BytesText, Event};

/// Whoever takes a document, part by part.
pub trait Sink {
    /// An element begins.
    fn open(&mut self, name: &str, attributes: &[(&str, &str)]);
    /// Text inside the element.
    fn text(&mut self, text: &str);
    /// The element ends.
    fn close(&mut self, name: &str);

    /// An element with nothing but text.
    fn leaf(&mut self, name: &str, attributes: &[(&str, &str)], text: &str) {
        self.open(name, attributes);
        self.text(text);
        self.close(name);
    }

    /// An element with nothing in it.
    fn empty(&mut self, name: &str, attributes: &[(&str, &str)]) {
        self.open(name, attributes);
        self.close(name);
    }
}

/// Writes as it is told.
pub struct Stream {
    writer: Writer<Vec<u8>>,
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stream").field("written", &self.written()).finish_non_exhaustive()
    }
}

impl Default for Stream {
    fn default() -> Self {
        Self::new()
    }
}

impl Stream {
    /// A document that has begun: its declaration is written.
    #[must_use]
    pub fn new() -> Self {
        let mut stream = Self { writer: Writer::new(Vec::with_capacity(4096)) };
        stream.write(Event::Decl(BytesDecl::new("1.0", Some("utf-8"), None)));
        stream
    }

    /// The document.
    #[must_use]
    pub fn into_bytes(self) -> Vec<u8> {
        self.writer.into_inner()
    }

    /// Bytes that were written.
    #[must_use]
    pub fn written(&self) -> usize {
        self.writer.get_ref().len()
    }

    fn write(&mut self, event: Event<'_>) {
        // memory takes everything
        let _ = self.writer.write_event(event);
    }
}

impl Sink for Stream {
    fn open(&mut self, name: &str, attributes: &[(&str, &str)]) {
        let mut start = BytesStart::new(name);
        for (name, value) in attributes {
            start.push_attribute((*name, allowed(value).as_ref()));
        }
        self.write(Event::Start(start));
    }

    fn text(&mut self, text: &str) {
        self.write(Event::Text(BytesText::new(&allowed(text))));
    }

    fn close(&mut self, name: &str) {
        self.write(Event::End(BytesEnd::new(name)));
    }
}

/// `text` with a sign of replacement for each character that no document may hold, escaped or not.
///
/// # Source
/// XML 1.0, production 2.
fn allowed(text: &str) -> Cow<'_, str> {
    let banned = |letter: char| {
        (letter < ' ' && !"\t\n\r".contains(letter)) || "\u{fffe}\u{ffff}".contains(letter)
    };
    if text.contains(banned) { text.replace(banned, "\u{fffd}").into() } else { text.into() }
}

/// A tree of everything that was told, written in one go: the way of the older library.
#[derive(Debug, Default)]
pub struct Dom {
    root: Vec<Node>,
    open: Vec<Element>,
}

#[derive(Debug)]
enum Node {
    Element(Element),
    Text(String),
}

#[derive(Debug)]
struct Element {
    name: String,
    attributes: Vec<(String, String)>,
    children: Vec<Node>,
}

impl Dom {
    /// The document.
    #[must_use]
    pub fn into_bytes(self) -> Vec<u8> {
        let mut stream = Stream::new();
        for node in &self.root {
            node.write(&mut stream);
        }
        stream.into_bytes()
    }

    fn add(&mut self, node: Node) {
        match self.open.last_mut() {
            Some(element) => element.children.push(node),
            None => self.root.push(node),
        }
    }
}

impl Sink for Dom {
    fn open(&mut self, name: &str, attributes: &[(&str, &str)]) {
        let attributes = attributes.iter().map(|(name, value)| ((*name).into(), (*value).into()));
        let (name, attributes) = (name.into(), attributes.collect());
        self.open.push(Element { name, attributes, children: Vec::new() });
    }

    fn text(&mut self, text: &str) {
        self.add(Node::Text(text.into()));
    }

    fn close(&mut self, _name: &str) {
        if let Some(element) = self.open.pop() {
            self.add(Node::Element(element));
        }
    }
}

impl Node {
    fn write(&self, stream: &mut Stream) {
        match self {
            Self::Text(text) => stream.text(text),
            Self::Element(element) => {
                let attributes: Vec<(&str, &str)> = element
                    .attributes
                    .iter()
                    .map(|(name, value)| (name.as_str(), value.as_str()))
                    .collect();
                stream.open(&element.name, &attributes);
                element.children.iter().for_each(|child| child.write(stream));
                stream.close(&element.name);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tell(sink: &mut impl Sink) {
        sink.open("a", &[("href", "?x=1&y='2'\"")]);
        sink.leaf("b", &[], "1 < 2 & 3");
        sink.empty("c", &[]);
        sink.close("a");
    }

    #[test]
    fn what_no_document_may_hold_is_replaced() {
        let mut stream = Stream::new();
        stream.open("a", &[("b", "\u{1}x")]);
        stream.text("1\0\t2\u{1f}\u{ffff}");
        stream.close("a");
        let text = String::from_utf8(stream.into_bytes()).unwrap();
        assert!(text.ends_with("<a b=\"\u{fffd}x\">1\u{fffd}\t2\u{fffd}\u{fffd}</a>"), "{text}");
    }

    #[test]
    fn both_ways_write_the_same_and_escape_everything() {
        let (mut stream, mut dom) = (Stream::new(), Dom::default());
        tell(&mut stream);
        tell(&mut dom);
        let text = String::from_utf8(stream.into_bytes()).unwrap();
        assert_eq!(text.as_bytes(), dom.into_bytes());
        assert!(text.contains("1 &lt; 2 &amp; 3"), "{text}");
        assert!(text.contains("x=1&amp;y=&apos;2&apos;&quot;"), "{text}");
    }
}
