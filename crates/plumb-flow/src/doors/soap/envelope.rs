//! What stands in an envelope: parameters, and the document with the namespaces around it.

use quick_xml::NsReader;
use quick_xml::escape::{escape, resolve_predefined_entity};
use quick_xml::events::{BytesRef, BytesStart, Event};
use quick_xml::name::ResolveResult;

use super::{Call, ENVELOPE, Failure};
use crate::doors::parameters;

/// Reads a well-formed envelope. Its body holds either the element `Request` of `namespace`, with
/// an element for each parameter and the document in `Document`, or just the document.
///
/// # Errors
/// [`Failure`] for what is no envelope of SOAP 1.1.
pub(super) fn read(bytes: &[u8], namespace: &str) -> Result<Call, Failure> {
    let text = std::str::from_utf8(bytes)
        .map_err(|_| Failure::bad_request("the envelope is not UTF-8"))?;
    // a mark of the encoding is no text, and the reader does not count it
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut envelope = Envelope { reader: NsReader::from_str(text), text, around: Vec::new() };
    let start = envelope.next_start()?.ok_or_else(no_envelope)?;
    if !envelope.is(&start, ENVELOPE, "Envelope") {
        return Err(no_envelope());
    }
    envelope.enter(&start);
    while let Some(start) = envelope.next_start()? {
        if envelope.is(&start, ENVELOPE, "Body") {
            envelope.enter(&start);
            return envelope.body(namespace);
        }
        // a header says nothing that is needed here
        envelope.skip(&start)?;
    }
    Err(Failure::bad_request("the envelope has no Body"))
}

fn no_envelope() -> Failure {
    Failure::bad_request(format!("expected the element Envelope of {ENVELOPE}"))
}

struct Envelope<'t> {
    reader: NsReader<&'t [u8]>,
    text: &'t str,
    /// Declarations of namespaces of the elements that are open, outermost first.
    around: Vec<(String, String)>,
}

/// An element that has begun.
struct Started {
    start: BytesStart<'static>,
    /// Where its mark-up begins.
    from: usize,
    is_empty: bool,
}

/// What stands in an element, beside comments and the like.
enum Piece {
    Start(Started),
    Text(String),
    /// The end of the element.
    End,
}

impl Envelope<'_> {
    fn body(&mut self, namespace: &str) -> Result<Call, Failure> {
        let Some(first) = self.next_start()? else {
            return Err(Failure::bad_request("the Body of the envelope is empty"));
        };
        if !self.is(&first, namespace, "Request") {
            return Ok(Call { document: self.element(&first)?, ..Call::default() });
        }
        self.enter(&first);
        let mut call = Call::default();
        if first.is_empty {
            return Ok(call);
        }
        while let Some(child) = self.next_start()? {
            let name = child.start.local_name().into_inner().to_owned();
            if name == "Document" {
                let declared = self.around.len();
                self.enter(&child);
                if !child.is_empty
                    && let Some(inner) = self.next_of_document()?
                {
                    call.document = self.element(&inner)?;
                    if self.next_of_document()?.is_some() {
                        let text = "Document holds more than one element";
                        return Err(Failure::bad_request(text));
                    }
                }
                self.around.truncate(declared);
            } else {
                parameters::has_room(&call.parameters)?;
                let value = self.value(&child)?;
                call.parameters.push((name, value));
            }
        }
        Ok(call)
    }

    /// The next element that begins; `None` at the end of the one around it.
    fn next_start(&mut self) -> Result<Option<Started>, Failure> {
        loop {
            match self.next()? {
                Piece::Start(started) => return Ok(Some(started)),
                Piece::Text(_) => {}
                Piece::End => return Ok(None),
            }
        }
    }

    /// The same in `Document`, where text would be lost.
    fn next_of_document(&mut self) -> Result<Option<Started>, Failure> {
        loop {
            match self.next()? {
                Piece::Start(started) => return Ok(Some(started)),
                Piece::Text(text) if text.trim().is_empty() => {}
                Piece::Text(_) => {
                    let problem = "Document holds text, expected an element: write the document \
                                   as it is, without CDATA and with its `<` as such";
                    return Err(Failure::bad_request(problem));
                }
                Piece::End => return Ok(None),
            }
        }
    }

    fn next(&mut self) -> Result<Piece, Failure> {
        loop {
            let from = self.position();
            let event = self.reader.read_event().map_err(|error| broken(&error))?;
            let (start, is_empty) = match event {
                Event::Start(start) => (start.into_owned(), false),
                Event::Empty(start) => (start.into_owned(), true),
                Event::Text(text) => return Ok(Piece::Text(text.xml10_content().into_owned())),
                Event::CData(text) => return Ok(Piece::Text(text.xml10_content().into_owned())),
                Event::GeneralRef(name) => return Ok(Piece::Text(resolved(&name)?)),
                Event::End(_) | Event::Eof => return Ok(Piece::End),
                Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_) => continue,
            };
            return Ok(Piece::Start(Started { start, from, is_empty }));
        }
    }

    fn position(&self) -> usize {
        usize::try_from(self.reader.buffer_position()).unwrap_or(usize::MAX).min(self.text.len())
    }

    fn is(&self, started: &Started, namespace: &str, name: &str) -> bool {
        let (resolved, local) = self.reader.resolver().resolve_element(started.start.name());
        let bound = matches!(resolved, ResolveResult::Bound(it) if it.into_inner() == namespace);
        bound && local.into_inner() == name
    }

    /// Notes the namespaces that an element declares, for what is taken out of it.
    fn enter(&mut self, started: &Started) {
        for attribute in started.start.attributes().flatten() {
            let name = attribute.key.into_inner();
            if name == "xmlns" || name.starts_with("xmlns:") {
                self.around.push((name.to_owned(), attribute.value.clone().into_owned()));
            }
        }
    }

    fn skip(&mut self, started: &Started) -> Result<(), Failure> {
        if !started.is_empty {
            let name = started.start.to_end().into_owned();
            self.reader.read_to_end(name.name()).map_err(|error| broken(&error))?;
        }
        Ok(())
    }

    /// A whole element as a document of its own, with the namespaces that were declared around it.
    fn element(&mut self, started: &Started) -> Result<Vec<u8>, Failure> {
        self.skip(started)?;
        let end = self.position();
        let own: Vec<&str> =
            started.start.attributes().flatten().map(|it| it.key.into_inner()).collect();
        let name = started.start.name().into_inner();
        let behind_name = started.from + 1 + name.len();
        let mut document = format!("<{name}");
        for (number, (declared, value)) in self.around.iter().enumerate() {
            let again = self.around[number + 1..].iter().any(|(later, _)| later == declared);
            if !again && !own.contains(&declared.as_str()) {
                // as it stood there, escaped already but for the other kind of quotes
                let value = value.replace('"', "&quot;");
                document += &format!(" {declared}=\"{value}\"");
            }
        }
        let rest = self.text.get(behind_name..end).unwrap_or_default();
        document += rest;
        Ok(document.into_bytes())
    }

    /// The text of an element without others in it.
    fn value(&mut self, started: &Started) -> Result<String, Failure> {
        if started.is_empty {
            return Ok(String::new());
        }
        let mut value = String::new();
        loop {
            match self.next()? {
                Piece::Text(text) => value += &text,
                Piece::End => return Ok(value),
                Piece::Start(_) => {
                    let name = started.start.local_name();
                    return Err(Failure::bad_request(format!(
                        "the parameter {} holds elements, expected text",
                        escape(name.into_inner())
                    )));
                }
            }
        }
    }
}

/// The character that a reference stands for.
fn resolved(name: &BytesRef<'_>) -> Result<String, Failure> {
    let char = name.resolve_char_ref().map_err(|error| broken(&error))?;
    let text = char.map(String::from);
    let text = text.or_else(|| resolve_predefined_entity(name).map(str::to_owned));
    text.ok_or_else(|| Failure::bad_request(format!("`&{};` is not defined", &**name)))
}

fn broken(error: &quick_xml::Error) -> Failure {
    Failure::bad_request(format!("the envelope cannot be read: {error}"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use plumb_mutation::mutated;

    const OF: &str = "urn:plumb:flow:t";

    fn body(inner: &str) -> String {
        format!(
            "<?xml version=\"1.0\"?>\n<e:Envelope xmlns:e=\"{ENVELOPE}\" xmlns:d=\"urn:d\">\
             <e:Header><x>1</x></e:Header><e:Body>{inner}</e:Body></e:Envelope>"
        )
    }

    #[test]
    fn parameters_and_the_document_are_taken_out() {
        let text = body(&format!(
            "<Request xmlns=\"{OF}\"><plant>10 &lt; 20 &#65;</plant><shift/>\
             <Document><d:ORDER a=\"1\"><NO>7</NO></d:ORDER></Document></Request>"
        ));
        let call = read(text.as_bytes(), OF).unwrap();
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(call.parameters, [pair("plant", "10 < 20 A"), pair("shift", "")]);
        let document = std::str::from_utf8(&call.document).unwrap();
        let tree = roxmltree::Document::parse(document).unwrap();
        assert!(tree.root_element().has_tag_name(("urn:d", "ORDER")), "{document}");
        // an element without a prefix stays in the namespace that was declared around it
        assert!(tree.root_element().children().all(|it| it.has_tag_name((OF, "NO"))));
        assert_eq!(tree.root_element().attribute("a"), Some("1"));
    }

    #[test]
    fn a_value_is_all_text_of_its_element_whatever_form_it_has() {
        let values = "<a><![CDATA[1 < 2]]></a><b>1<!-- of two -->0&amp;<![CDATA[&]]>&#x41;\r\n</b>";
        let text = body(&format!("<Request xmlns=\"{OF}\">{values}</Request>"));
        let call = read(text.as_bytes(), OF).unwrap();
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(call.parameters, [pair("a", "1 < 2"), pair("b", "10&&A\n")]);
        let document = "<Document>\n<!-- x --> <ORDER/> <?x?></Document>";
        let text = body(&format!("<Request xmlns=\"{OF}\">{document}</Request>"));
        assert!(read(text.as_bytes(), OF).unwrap().document.starts_with(b"<ORDER"));
    }

    #[test]
    fn no_more_parameters_are_kept_than_any_call_has() {
        let of = |count: usize| {
            let text = body(&format!("<Request xmlns=\"{OF}\">{}</Request>", "<a/>".repeat(count)));
            read(text.as_bytes(), OF)
        };
        let most = parameters::PARAMETERS_MAX;
        assert_eq!(of(most).unwrap().parameters.len(), most);
        assert!(of(most + 1).unwrap_err().message.contains("more than 1000 parameters"));
    }

    #[test]
    fn a_body_may_be_the_document_itself() {
        let call = read(body("<ORDER><NO>7</NO></ORDER>").as_bytes(), OF).unwrap();
        assert!(call.parameters.is_empty());
        assert!(call.document.ends_with(b"<NO>7</NO></ORDER>"));
        let call = read(body("<d:ORDER/>").as_bytes(), OF).unwrap();
        assert!(roxmltree::Document::parse(std::str::from_utf8(&call.document).unwrap()).is_ok());
    }

    #[test]
    fn what_is_no_envelope_is_refused() {
        for (text, expected) in [
            ("<a/>".to_owned(), "expected the element Envelope"),
            (format!("<Envelope xmlns=\"{ENVELOPE}\"/>"), "no Body"),
            (body(""), "is empty"),
            (
                body(&format!("<Request xmlns=\"{OF}\"><plant><b/></plant></Request>")),
                "expected text",
            ),
            (
                body(&format!("<Request xmlns=\"{OF}\"><Document><a/><b/></Document></Request>")),
                "more than one element",
            ),
            (
                body(&format!(
                    "<Request xmlns=\"{OF}\"><Document><![CDATA[<ORDER/>]]></Document></Request>"
                )),
                "Document holds text",
            ),
            (
                body(&format!("<Request xmlns=\"{OF}\"><Document>&lt;a/></Document></Request>")),
                "Document holds text",
            ),
        ] {
            let said = read(text.as_bytes(), OF).unwrap_err().message;
            assert!(said.contains(expected), "{text}: {said}");
        }
    }

    #[test]
    fn an_envelope_behind_a_mark_of_its_encoding_is_cut_at_the_same_places() {
        for text in CALLS {
            let plain = read(text.as_bytes(), OF).unwrap();
            let marked = read(format!("\u{feff}{text}").as_bytes(), OF).unwrap();
            assert_eq!(marked.document, plain.document);
            assert!(marked.document.starts_with(b"<"), "{text}");
        }
    }

    const CALLS: &[&str] = &[
        "<s:Envelope xmlns:s=\"http://schemas.xmlsoap.org/soap/envelope/\"><s:Header/><s:Body>\n\
         <Request xmlns=\"urn:plumb:flow:components\"><plant>1000</plant><Document><ORDER n='1'>\
         <ITEM/></ORDER></Document></Request></s:Body></s:Envelope>",
        "<s:Envelope xmlns:s=\"http://schemas.xmlsoap.org/soap/envelope/\"><s:Body><ORDER/></s:Body>\
         </s:Envelope>",
    ];

    proptest! {
        #[test]
        fn an_envelope_that_is_nearly_right_is_read_or_refused(text in mutated(CALLS)) {
            let keys = super::super::Keys::default();
            let read = super::super::read("components", "text/xml", text.into(), keys);
            match read {
                // what is passed on is a document again
                Ok(order) => {
                    let passed = super::super::Document::check(
                        super::super::Form::Xml,
                        order.document.bytes,
                    );
                    prop_assert!(passed.is_ok(), "{passed:?}");
                }
                Err(failure) => prop_assert!(failure.status.is_client_error(), "{failure:?}"),
            }
        }

        #[test]
        fn any_envelope_is_read_or_refused(text: String) {
            let _ = read(text.as_bytes(), OF);
            let _ = read(body(&text).as_bytes(), OF);
            let _ = read(body(&format!("<Request xmlns=\"{OF}\">{text}</Request>")).as_bytes(), OF);
        }
    }
}
