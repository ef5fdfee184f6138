//! The documents of the compact twin: the same members in JSON and in XML, and dummy members that
//! make them as long as wanted.

use plumb_odata::json;
use plumb_odata::xml::{Sink as _, Stream};

use crate::answer::{Answer, Failure, JSON};

const XML: &str = "application/xml; charset=utf-8";
/// Most bytes to which dummy members fill an answer up.
const BYTES_MAX: usize = 64 << 10;
/// What stands in a dummy member.
const DUMMY: &str = "0123456789abcdefghijklmnopqrstuv";

/// How an answer is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Markup {
    Json,
    Xml,
}

/// What a request wants its answer to look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Form {
    pub(super) markup: Markup,
    /// Dummy members are added until an answer about one flight has so many bytes; 0: none.
    pub(super) bytes: usize,
}

impl Form {
    /// The form that `query` asks for: `format=json` or `xml`, `bytes=N`.
    ///
    /// # Errors
    /// [`Failure`] for another format, or a size that is none.
    pub(super) fn of(query: &str) -> Result<Self, Failure> {
        let mut form = Self { markup: Markup::Json, bytes: 0 };
        for (name, value) in query.split('&').filter_map(|option| option.split_once('=')) {
            match name {
                "format" => form.markup = markup(value)?,
                "bytes" => form.bytes = bytes(value)?,
                _ => {}
            }
        }
        Ok(form)
    }
}

fn markup(value: &str) -> Result<Markup, Failure> {
    match value {
        "json" => Ok(Markup::Json),
        "xml" => Ok(Markup::Xml),
        other => Err(Failure::bad_request(format!("`{other}` is no format: write json or xml"))),
    }
}

fn bytes(value: &str) -> Result<usize, Failure> {
    let wrong = || format!("`{value}` is no size in bytes: write 0 to {BYTES_MAX}");
    let bytes = value.parse().ok().filter(|bytes| *bytes <= BYTES_MAX);
    bytes.ok_or_else(|| Failure::bad_request(wrong()))
}

/// A document that is written member by member.
pub(super) struct Document(Writing);

enum Writing {
    Json(String),
    Xml(Stream),
}

impl Document {
    /// An empty one with room for `bytes`.
    pub(super) fn new(markup: Markup, bytes: usize) -> Self {
        Self(match markup {
            Markup::Json => Writing::Json(String::with_capacity(bytes)),
            Markup::Xml => Writing::Xml(Stream::new()),
        })
    }

    /// A list begins that is the whole document.
    pub(super) fn list(&mut self, name: &str) {
        match &mut self.0 {
            Writing::Json(out) => out.push('['),
            Writing::Xml(out) => out.open(name, &[]),
        }
    }

    /// It ends.
    pub(super) fn end_of_list(&mut self, name: &str) {
        match &mut self.0 {
            Writing::Json(out) => out.push(']'),
            Writing::Xml(out) => out.close(name),
        }
    }

    /// An object begins that has no name in JSON: an item of a list, or the whole document.
    pub(super) fn item(&mut self, name: &str) {
        match &mut self.0 {
            Writing::Json(out) => {
                separate(out);
                out.push('{');
            }
            Writing::Xml(out) => out.open(name, &[]),
        }
    }

    /// A member with members of its own begins.
    pub(super) fn open(&mut self, name: &str) {
        match &mut self.0 {
            Writing::Json(out) => {
                member(out, name);
                out.push('{');
            }
            Writing::Xml(out) => out.open(name, &[]),
        }
    }

    /// It ends, or an item does.
    pub(super) fn close(&mut self, name: &str) {
        match &mut self.0 {
            Writing::Json(out) => out.push('}'),
            Writing::Xml(out) => out.close(name),
        }
    }

    /// A member that is text.
    pub(super) fn text(&mut self, name: &str, value: &str) {
        match &mut self.0 {
            Writing::Json(out) => {
                member(out, name);
                json::text(out, value);
            }
            Writing::Xml(out) => out.leaf(name, &[], value),
        }
    }

    /// A member that is a number, in its digits.
    pub(super) fn number(&mut self, name: &str, digits: &str) {
        match &mut self.0 {
            Writing::Json(out) => {
                member(out, name);
                out.push_str(digits);
            }
            Writing::Xml(out) => out.leaf(name, &[], digits),
        }
    }

    /// Adds dummy members until the document will have at least `bytes` bytes when `last`, the only
    /// member that is open, is closed.
    pub(super) fn fill_up(&mut self, last: &str, bytes: usize) {
        let end = match self.0 {
            Writing::Json(_) => 1,
            Writing::Xml(_) => last.len() + 3,
        };
        let mut count = 0;
        while self.len() + end < bytes {
            count += 1;
            self.text(&format!("dummy{count}"), DUMMY);
        }
    }

    fn len(&self) -> usize {
        match &self.0 {
            Writing::Json(out) => out.len(),
            Writing::Xml(out) => out.written(),
        }
    }

    /// The answer that it is.
    pub(super) fn answer(self) -> Answer {
        match self.0 {
            Writing::Json(out) => Answer::new(JSON, out),
            Writing::Xml(out) => Answer::new(XML, out.into_bytes()),
        }
    }
}

/// The name of a member, and what parts it from the one before.
fn member(out: &mut String, name: &str) {
    separate(out);
    json::text(out, name);
    out.push(':');
}

fn separate(out: &mut String) {
    if !out.is_empty() && !out.ends_with(['{', '[']) {
        out.push(',');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(markup: Markup, bytes: usize) -> String {
        let mut out = Document::new(markup, 100);
        out.item("flight");
        out.open("data");
        out.text("from", "A{[\"<b>");
        out.number("seats", "7");
        out.close("data");
        out.text("end", "x");
        out.fill_up("flight", bytes);
        out.close("flight");
        String::from_utf8(out.answer().body.to_vec()).unwrap()
    }

    #[test]
    fn both_forms_hold_the_same_members() {
        let json = r#"{"data":{"from":"A{[\"<b>","seats":7},"end":"x"}"#;
        assert_eq!(written(Markup::Json, 0), json);
        let xml = "<flight><data><from>A{[&quot;&lt;b&gt;</from><seats>7</seats></data>\
                   <end>x</end></flight>";
        assert!(written(Markup::Xml, 0).ends_with(xml), "{}", written(Markup::Xml, 0));
    }

    #[test]
    fn dummy_members_fill_up_to_the_size_and_no_further_than_one_member() {
        for (markup, member) in [(Markup::Json, 50), (Markup::Xml, 60)] {
            for bytes in [200, 2_421, 9_000] {
                let length = written(markup, bytes).len();
                assert!((bytes..bytes + member).contains(&length), "{markup:?} {bytes}: {length}");
            }
        }
        let filled: serde_json::Value =
            serde_json::from_str(&written(Markup::Json, 500)).expect("JSON");
        assert_eq!(filled["dummy1"], DUMMY);
    }

    #[test]
    fn a_form_that_is_none_is_refused_with_what_to_write() {
        let asked = |query: &str| Form::of(query).map_err(|failure| failure.message);
        assert_eq!(asked("a=b&format=xml&bytes=9"), Ok(Form { markup: Markup::Xml, bytes: 9 }));
        for (query, said) in [
            ("format=yaml", "`yaml` is no format: write json or xml"),
            ("bytes=-1", "`-1` is no size in bytes: write 0 to 65536"),
            ("bytes=65537", "`65537` is no size in bytes: write 0 to 65536"),
        ] {
            assert_eq!(asked(query), Err(said.into()));
        }
    }
}
