//! Documents as they come in: of a form that is read here, and well-formed.

use std::convert::Infallible;
use std::sync::OnceLock;

use bytes::Bytes;
use hyper::header::{CONTENT_ENCODING, HeaderValue};
use hyper::{HeaderMap, StatusCode};
use quick_xml::Reader;
use quick_xml::events::Event;
use struson::reader::{JsonReader as _, JsonStreamReader};

use super::parameters::is_forbidden;
use crate::answer::Failure;
use plumb_transaction::MessageFacts;
use plumb_transaction::rows::{
    FieldPath, Late, Position, Row, RowPath, RowPlan, StreamError, rows_of_json, rows_of_xml,
};

/// The form of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Xml,
    Json,
}

impl Form {
    /// What `content_type` says, or, where it says nothing, what `body` looks like.
    ///
    /// # Errors
    /// [`Failure`] with status 415 for anything but XML and JSON in UTF-8.
    pub(super) fn of(content_type: &str, body: &[u8]) -> Result<Self, Failure> {
        let mut words = content_type.split(';').map(str::trim);
        let name = words.next().unwrap_or("").to_ascii_lowercase();
        let charset = words.find_map(|word| {
            let (key, value) = word.split_once('=')?;
            key.trim().eq_ignore_ascii_case("charset").then(|| value.trim().trim_matches('"'))
        });
        let unsupported =
            |problem: String| Err(Failure::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, problem));
        if let Some(charset) = charset
            && !["utf-8", "utf8", "us-ascii"].contains(&&*charset.to_ascii_lowercase())
        {
            return unsupported(format!("the encoding is {charset}, expected UTF-8"));
        }
        match name.as_str() {
            "" => Ok(match unmarked(body).iter().find(|byte| !byte.is_ascii_whitespace()) {
                Some(b'{' | b'[') => Self::Json,
                _ => Self::Xml,
            }),
            "application/xml" | "text/xml" => Ok(Self::Xml),
            "application/json" | "text/json" => Ok(Self::Json),
            other if other.ends_with("+xml") => Ok(Self::Xml),
            other if other.ends_with("+json") => Ok(Self::Json),
            other => {
                let shown: String = other.chars().take(80).collect();
                unsupported(format!(
                    "Content-Type is {shown}, expected application/xml or application/json"
                ))
            }
        }
    }

    pub(super) fn media_type(self) -> &'static str {
        match self {
            Self::Xml => "application/xml",
            Self::Json => "application/json",
        }
    }
}

/// Refuses a body that is coded: what is small may become large, so none is decoded.
///
/// # Errors
/// [`Failure`] with status 415 for any `Content-Encoding` but `identity`.
pub(super) fn refuse_coded(headers: &HeaderMap) -> Result<(), Failure> {
    let is_plain = |value: &HeaderValue| {
        let coded = value.as_bytes().split(|byte| *byte == b',');
        coded
            .map(<[u8]>::trim_ascii)
            .all(|it| it.is_empty() || it.eq_ignore_ascii_case(b"identity"))
    };
    match headers.get_all(CONTENT_ENCODING).iter().find(|value| !is_plain(value)) {
        None => Ok(()),
        Some(value) => {
            let shown: String =
                String::from_utf8_lossy(value.as_bytes()).chars().take(80).collect();
            Err(Failure::new(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                format!(
                    "Content-Encoding is {shown}, and no body is decoded here: send it as it is"
                ),
            ))
        }
    }
}

/// A document that was found to be well-formed.
#[derive(Clone, Debug)]
pub(super) struct Document {
    pub(super) form: Form,
    pub(super) bytes: Bytes,
}

impl Document {
    /// Goes through `bytes` once. No bytes at all are no document, which is well.
    ///
    /// # Errors
    /// [`Failure`] with the place of what is wrong.
    pub(super) fn check(form: Form, bytes: Bytes) -> Result<Self, Failure> {
        if !bytes.is_empty() {
            pass(form, &bytes, whole(), &mut |_| Ok(()))?;
        }
        Ok(Self { form, bytes })
    }

    /// The same, and what a message is that names no transaction.
    ///
    /// # Errors
    /// As [`check`](Self::check).
    pub(super) fn check_message(form: Form, bytes: Bytes) -> Result<(Self, MessageFacts), Failure> {
        let element = match form {
            Form::Xml => first_element(&bytes),
            Form::Json => first_member(&bytes),
        };
        let mut facts = MessageFacts { element: element.unwrap_or_default(), ..Default::default() };
        let control = control_record(&facts.element);
        let mut take = |row: Row<'_>| {
            if facts.idoc.is_none() && facts.message.is_none() {
                let text = |at: usize| row.values.get(at).copied().flatten().map(str::to_owned);
                (facts.idoc, facts.message) = (text(0), text(1));
            }
            Ok(())
        };
        pass(form, &bytes, control.as_ref().unwrap_or(whole()), &mut take)?;
        Ok((Self { form, bytes }, facts))
    }
}

/// One pass over a document.
fn pass(
    form: Form,
    bytes: &[u8],
    plan: &RowPlan,
    sink: &mut dyn FnMut(Row<'_>) -> Result<(), Infallible>,
) -> Result<(), Failure> {
    let passed = match form {
        Form::Xml => rows_of_xml(bytes, plan, Late::Refuse, sink),
        Form::Json => rows_of_json(bytes, plan, Late::Refuse, sink),
    };
    passed.map_err(|error| failure(&error))?;
    let forbidden = if form == Form::Json { forbidden_in(bytes) } else { None };
    match forbidden {
        Some((code, at)) => {
            let message = format!("{at}: the character U+{code:04X}: leave it out");
            Err(Failure { at: Some(at), ..Failure::bad_request(message) })
        }
        None => Ok(()),
    }
}

/// Nothing is taken of a document: it is gone through.
fn whole() -> &'static RowPlan {
    static WHOLE: OnceLock<RowPlan> = OnceLock::new();
    WHOLE.get_or_init(|| {
        let plan = "/".parse().ok().and_then(|path: RowPath| RowPlan::new(&path, []).ok());
        plan.unwrap_or_else(|| unreachable!("the path of the document itself is one"))
    })
}

/// The control record of an IDoc whose outermost element is `element`.
fn control_record(element: &str) -> Option<RowPlan> {
    let rows: RowPath = format!("/{element}/IDOC/EDI_DC40").parse().ok()?;
    let field = |name: &str| name.parse::<FieldPath>().ok();
    RowPlan::new(&rows, [("idoc", field("IDOCTYP")?), ("message", field("MESTYP")?)]).ok()
}

/// The local name of the first element; what is wrong is found later.
fn first_element(bytes: &[u8]) -> Option<String> {
    let mut reader = Reader::from_reader(bytes);
    loop {
        match reader.read_event().ok()? {
            Event::Start(start) | Event::Empty(start) => {
                return Some(start.local_name().into_inner().to_owned());
            }
            Event::Eof => return None,
            _ => {}
        }
    }
}

/// A document without the byte order mark that may stand in front of it.
fn unmarked(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes)
}

/// The name of the first member of the document; what is wrong is found later.
fn first_member(bytes: &[u8]) -> Option<String> {
    let mut reader = JsonStreamReader::new(unmarked(bytes));
    reader.begin_object().ok()?;
    if !reader.has_next().ok()? {
        return None;
    }
    reader.next_name_owned().ok()
}

/// A character of a sound JSON document that XML does not know, and its place. Control characters stand
/// there with a backslash.
fn forbidden_in(json: &[u8]) -> Option<(u32, Position)> {
    let plain = ['\u{fffe}', '\u{ffff}'].into_iter().find_map(|char| {
        let at = memchr::memmem::find(json, char.encode_utf8(&mut [0; 4]).as_bytes())?;
        Some((u32::from(char), Position::of(json, at)))
    });
    plain.or_else(|| escaped_in(json))
}

fn escaped_in(json: &[u8]) -> Option<(u32, Position)> {
    let mut at = 0;
    while let Some(found) = memchr::memchr(b'\\', json.get(at..)?) {
        let start = at + found;
        let code = match json.get(start + 1)? {
            b'b' => Some(8),
            b'f' => Some(12),
            b'u' => {
                let digits = std::str::from_utf8(json.get(start + 2..start + 6)?).ok()?;
                u32::from_str_radix(digits, 16).ok()
            }
            _ => None,
        };
        let code = code.filter(|code| char::from_u32(*code).is_some_and(is_forbidden));
        if let Some(code) = code {
            return Some((code, Position::of(json, start)));
        }
        at = start + 2;
    }
    None
}

fn failure(error: &StreamError<Infallible>) -> Failure {
    let at = match error {
        StreamError::Malformed { at, .. }
        | StreamError::Doctype { at }
        | StreamError::Encoding { at, .. }
        | StreamError::TooDeep { at, .. }
        | StreamError::ValueTooLong { at, .. }
        | StreamError::Late { at, .. }
        | StreamError::BufferFull { at, .. } => Some(*at),
        StreamError::Sink(never) => match *never {},
    };
    Failure { at, ..Failure::bad_request(error.to_string()) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use plumb_mutation::mutated;

    #[test]
    fn the_form_is_said_or_seen() {
        for (content_type, body, expected) in [
            ("text/xml; charset=utf-8", "", Form::Xml),
            ("application/IDOC+XML", "", Form::Xml),
            ("application/json;charset=\"UTF-8\"", "", Form::Json),
            ("application/problem+json", "", Form::Json),
            ("", " {}", Form::Json),
            ("", "\u{feff}{}", Form::Json),
            ("", "<a/>", Form::Xml),
        ] {
            assert_eq!(Form::of(content_type, body.as_bytes()), Ok(expected), "{content_type}");
        }
        for wrong in ["text/plain", "text/xml; charset=iso-8859-1", "application/octet-stream"] {
            let failure = Form::of(wrong, b"<a/>").unwrap_err();
            assert_eq!(failure.status, StatusCode::UNSUPPORTED_MEDIA_TYPE, "{wrong}");
        }
    }

    #[test]
    fn a_body_that_is_coded_is_refused() {
        for (values, is_plain) in [
            (&[][..], true),
            (&["identity", "Identity, identity"], true),
            (&["gzip"], false),
            (&["identity", "identity, br"], false),
        ] {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(CONTENT_ENCODING, HeaderValue::from_static(value));
            }
            let refused = refuse_coded(&headers);
            assert_eq!(refused.is_ok(), is_plain, "{values:?}");
            if let Err(failure) = refused {
                assert_eq!(failure.status, StatusCode::UNSUPPORTED_MEDIA_TYPE);
                assert!(failure.message.starts_with("Content-Encoding is "), "{failure:?}");
            }
        }
    }

    #[test]
    fn what_is_not_well_formed_is_refused_with_its_place() {
        for (form, text, line, column) in [
            (Form::Xml, "<a>\n  <b></a>", 2, 6),
            (Form::Xml, "<!DOCTYPE a><a/>", 1, 1),
            (Form::Xml, "<a>&#0;</a>", 1, 4),
            (Form::Json, "{\"a\":\n 1 2}", 2, 4),
            (Form::Json, "{\"a\":\n \"x\\u0000\"}", 2, 4),
            (Form::Json, "{\"a\":\"\\\\\\b\"}", 1, 9),
            (Form::Json, "{\"a\":\"\\uFfFf\"}", 1, 7),
            (Form::Json, "{\"a\":\n\"x\u{fffe}\"}", 2, 3),
        ] {
            let failure = Document::check(form, Bytes::from(text)).unwrap_err();
            assert_eq!(failure.status, StatusCode::BAD_REQUEST);
            assert_eq!(failure.at, Some(Position { line, column }), "{text}: {failure:?}");
        }
        for (form, text) in [
            (Form::Xml, "<a>x</a>"),
            (Form::Json, "{\"a\":\"\\\\u0000 \\n \\u0041\"}"),
            (Form::Json, "[]"),
            (Form::Xml, ""),
        ] {
            assert!(Document::check(form, Bytes::from(text)).is_ok(), "{text}");
        }
    }

    #[test]
    fn a_message_is_known_by_its_element_and_the_types_of_an_idoc() {
        let xml = "<?xml version='1.0'?><!-- x --><p:LOIPRO01 xmlns:p='u'><IDOC BEGIN='1'><EDI_DC40>\
            <IDOCTYP>LOIPRO01</IDOCTYP><MESTYP>LOIPRO</MESTYP></EDI_DC40></IDOC></p:LOIPRO01>";
        let json = "{\"LOIPRO01\":{\"IDOC\":{\"EDI_DC40\":{\"MESTYP\":\"LOIPRO\",\
            \"IDOCTYP\":\"LOIPRO01\"}}}}";
        let marked = format!("\u{feff}{json}");
        for (form, text) in [(Form::Xml, xml), (Form::Json, json), (Form::Json, &marked)] {
            let (_, facts) = Document::check_message(form, Bytes::from(text.to_owned())).unwrap();
            assert_eq!(facts.element, "LOIPRO01");
            assert_eq!(facts.idoc.as_deref(), Some("LOIPRO01"));
            assert_eq!(facts.message.as_deref(), Some("LOIPRO"));
        }
        let (_, facts) = Document::check_message(Form::Xml, Bytes::from("<a/>")).unwrap();
        assert_eq!((facts.element.as_str(), facts.idoc), ("a", None));
        assert!(Document::check_message(Form::Xml, Bytes::new()).is_err());
    }

    const ALL: &[&str] = &[
        "<?xml version=\"1.0\"?>\n<LOIPRO01><IDOC BEGIN=\"1\"><EDI_DC40><IDOCTYP>LOIPRO01</IDOCTYP>\
         <MESTYP>LOIPRO</MESTYP></EDI_DC40>\n<E1AFKOL><!-- a --><AUFNR>42</AUFNR><T><![CDATA[<&]]>\
         </T>\n<a:b xmlns:a='urn:a' a:c=\"&amp;&#x41;\"/></E1AFKOL></IDOC></LOIPRO01>",
        "{\"ORDER\": {\"NO\": 42.50, \"ITEM\": [{\"PART\": \"a\\u00e4\\n\"}, {\"PART\": null}],\n\
         \"OPEN\": true, \"E\": [], \"N\": -1e10}}",
    ];

    proptest! {
        #[test]
        fn what_is_nearly_sound_is_read_or_refused_with_its_place(text in mutated(ALL)) {
            for form in [Form::Xml, Form::Json] {
                let bytes = Bytes::from(text.clone());
                let (one, other) =
                    (Document::check(form, bytes.clone()), Document::check_message(form, bytes));
                // both go through the whole document
                prop_assert_eq!(one.is_ok(), other.is_ok() || text.is_empty());
                if let Err(failure) = one {
                    prop_assert_eq!(failure.status, StatusCode::BAD_REQUEST);
                    prop_assert!(failure.at.is_some_and(|at| at.line >= 1), "{failure:?}");
                }
            }
            // what another reader takes is taken, and what it does not take is not
            let theirs = roxmltree::Document::parse(&text);
            let ours = Document::check(Form::Xml, Bytes::from(text.clone()));
            // the other one takes an empty prefix for none, ends the name of an instruction anywhere, looks at
            // no value of a declaration, and takes numbers that are no character
            let has_empty_prefix = text.contains("<:") || text.contains("</:");
            let is_no_name = ours.as_ref().is_err_and(|it| it.message.contains("an instruction"));
            let is_no_declaration =
                ours.as_ref().is_err_and(|it| it.message.contains("an XML declaration"));
            let is_no_character =
                ours.as_ref().is_err_and(|it| it.message.contains("not a valid codepoint"));
            let is_known = is_no_name || is_no_declaration || is_no_character;
            if theirs.is_ok() && !has_empty_prefix && !is_known {
                prop_assert!(ours.is_ok(), "{text}: {ours:?}");
            }
            let marked = text.strip_prefix('\u{feff}').unwrap_or(&text); // which the other one does not take
            let theirs = serde_json::from_str::<serde_json::Value>(marked);
            let ours = Document::check(Form::Json, Bytes::from(text.clone()));
            // numbers keep their digits here, however many they are
            let refused = theirs.is_err_and(|error| !error.to_string().contains("out of range"));
            if refused && !text.is_empty() {
                prop_assert!(ours.is_err(), "{text}");
            }
        }

        #[test]
        fn any_document_is_read_or_refused(text: String) {
            for form in [Form::Xml, Form::Json] {
                let _ = Document::check(form, Bytes::from(text.clone()));
                let _ = Document::check_message(form, Bytes::from(text.clone()));
                let _ = Document::check_message(form, Bytes::from(format!("<a>{text}")));
                let _ = Document::check_message(form, Bytes::from(format!("{{\"a\":\"{text}\"")));
            }
        }
    }
}
