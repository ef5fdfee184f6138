//! What went wrong, as the protocol writes it.

use plumb_odata::media_type::{JSON, JSON_4, XML};
use plumb_odata::xml::Stream;
use plumb_odata::{Format, Version, atom, json, json4};

use crate::answer::{Answer, Failure};

/// The answer that says what went wrong, as the protocol writes it.
pub(crate) fn failure(failure: &Failure, format: Format) -> Answer {
    let code = format!("PLUMB/{}", failure.status.as_u16());
    let answer = match format {
        Format::Json => failure.answer(JSON, json::error(&code, &failure.message)),
        Format::Json4 => {
            let (name, version) = Version::Four.header();
            let document = json4::error(&code, &failure.message);
            return failure.answer(JSON_4, document).with(name, version);
        }
        Format::Atom => {
            let mut stream = Stream::new();
            atom::error(&mut stream, &code, &failure.message);
            failure.answer(XML, String::from_utf8(stream.into_bytes()).unwrap_or_default())
        }
    };
    answer.with(Version::Two.header().0, "1.0")
}
