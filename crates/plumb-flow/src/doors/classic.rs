//! The classic form of a call: everything stands in one query or form.

use bytes::Bytes;
use hyper::StatusCode;

use super::document::{Document, Form};
use super::parameters::{self, Pairs, is_of_log_on, take};
use super::submit::{Keys, Order};
use crate::answer::{Answer, Failure};

/// The media types that a caller may ask for the answer to be called.
const MEDIA_TYPES: [&str; 4] = ["text/xml", "application/xml", "text/plain", "application/json"];

/// A classic call.
#[derive(Debug)]
pub(super) struct ClassicCall {
    pub(super) order: Order,
    /// What the answer is to be called.
    media_type: Option<&'static str>,
}

impl ClassicCall {
    /// Reads one out of the pairs of its query, and the body of its request.
    ///
    /// # Errors
    /// [`Failure`] when it names no transaction, or cannot be understood.
    pub(super) fn read(
        mut pairs: Pairs,
        content_type: &str,
        body: Bytes,
        keys: Keys,
    ) -> Result<Self, Failure> {
        let is_form = content_type
            .split(';')
            .next()
            .is_some_and(|it| it.trim().eq_ignore_ascii_case("application/x-www-form-urlencoded"));
        let mut document = body;
        if is_form {
            let text = std::str::from_utf8(&document)
                .map_err(|_| Failure::bad_request("the form is not UTF-8"))?;
            let form = parameters::form(text)?;
            if let Some((name, _)) = form.iter().find(|(name, _)| is_of_log_on(name)) {
                let text = format!("`{name}` stands in the form: send the header Authorization");
                return Err(Failure::bad_request(text));
            }
            pairs.extend(form);
            document = Bytes::new();
        }
        let name = take(&mut pairs, "Transaction").ok_or_else(|| {
            Failure::bad_request("the call names no transaction: add Transaction=NAME")
        })?;
        // folders of the classic server are not kept: the last part of the path is the name
        let transaction = name.rsplit('/').next().unwrap_or_default().to_owned();
        let mode = parameters::take_mode(&mut pairs)?;
        let media_type = media_type(take(&mut pairs, "Content-Type"))?;
        // one response is all there is, and how long a trace is kept says the transaction
        for ignored in ["OutputParameter", "LogType", "Expiration", "XacuteLoginName"] {
            take(&mut pairs, ignored);
        }
        if let Some(input) = take(&mut pairs, "InputParameter")
            && is_form
            && let Some(text) = take(&mut pairs, &input)
        {
            document = Bytes::from(text);
        }
        let said = if is_form { "" } else { content_type };
        let form = if document.is_empty() { Form::Xml } else { Form::of(said, &document)? };
        let document = Document::check(form, document)?;
        let order = Order { transaction, mode, parameters: pairs, document, keys };
        Ok(Self { order, media_type })
    }

    /// Gives the answer the media type that the caller asked for.
    pub(super) fn named(media_type: Option<&'static str>, answer: Answer) -> Answer {
        match media_type {
            Some(media_type) if answer.status != StatusCode::ACCEPTED => {
                let value = format!("{media_type}; charset=utf-8");
                answer.with(hyper::header::CONTENT_TYPE, &value)
            }
            _ => answer,
        }
    }

    /// The call apart: what is to be done, and what the answer is to be called.
    pub(super) fn into_parts(self) -> (Order, Option<&'static str>) {
        (self.order, self.media_type)
    }
}

fn media_type(asked: Option<String>) -> Result<Option<&'static str>, Failure> {
    let Some(asked) = asked else { return Ok(None) };
    let known = MEDIA_TYPES.iter().find(|it| it.eq_ignore_ascii_case(asked.trim()));
    match known {
        Some(known) => Ok(Some(known)),
        None => {
            Err(Failure::bad_request(format!("Content-Type is none of {}", MEDIA_TYPES.join(", "))))
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use plumb_mutation::mutated;

    fn read(query: &str, content_type: &str, body: &str) -> Result<ClassicCall, String> {
        let pairs = parameters::query(query).map_err(|it| it.message)?;
        ClassicCall::read(pairs, content_type, Bytes::from(body.to_owned()), Keys::default())
            .map_err(|it| it.message)
    }

    #[test]
    fn a_query_names_the_transaction_and_its_parameters() {
        let query = "Transaction=Plant/Orders/components&plant=1000&OutputParameter=*\
            &Content-Type=text/xml&LogType=Debug";
        let (order, media_type) = read(query, "text/xml", "<a/>").unwrap().into_parts();
        assert_eq!(order.transaction, "components");
        assert_eq!(order.parameters, [("plant".to_owned(), "1000".to_owned())]);
        assert_eq!((&order.document.bytes[..], media_type), (&b"<a/>"[..], Some("text/xml")));
    }

    #[test]
    fn a_form_holds_the_document_in_the_field_that_it_names() {
        let form = "Transaction=components&InputParameter=xml&xml=%3Ca%2F%3E&plant=1";
        let kind = "application/x-www-form-urlencoded; charset=UTF-8";
        let (order, _) = read("", kind, form).unwrap().into_parts();
        assert_eq!((&order.document.bytes[..], order.parameters.len()), (&b"<a/>"[..], 1));
        let json = form.replace("%3Ca%2F%3E", "{}");
        assert_eq!(read("", kind, &json).unwrap().order.document.form, Form::Json);
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        for (query, kind, body, expected) in [
            ("plant=1", "", "", "add Transaction=NAME"),
            ("Transaction=a&Content-Type=text/html", "", "", "none of text/xml"),
            ("Transaction=a", "text/xml", "<a>", "line 1"),
            ("Transaction=a", "text/plain", "x", "Content-Type is text/plain"),
            ("Transaction=a&IllumLoginPassword=x", "", "", "stands in the URL"),
            (
                "Transaction=a",
                "application/x-www-form-urlencoded",
                "IllumLoginName=x",
                "stands in the form",
            ),
        ] {
            let said = read(query, kind, body).unwrap_err();
            assert!(said.contains(expected), "{query}: {said}");
        }
    }

    const QUERIES: &[&str] = &[
        "Transaction=Plant/Orders/components&plant=1000&OutputParameter=*&Content-Type=text/xml",
        "Transaction=components&InputParameter=xml&xml=%3Ca%2F%3E&mode=async&plant=%C3%A4+1",
        "Transaction=a&Expiration=1&LogType=Debug&XacuteLoginName=a",
    ];
    const TYPES: &[&str] =
        &["application/x-www-form-urlencoded; charset=UTF-8", "text/xml", "application/json", ""];

    const BODIES: &[&str] = &[QUERIES[1], "<a>1</a>", "{\"a\": 1}"];

    proptest! {
        #[test]
        fn any_call_is_read_or_refused(
            query in mutated(QUERIES),
            content_type in mutated(TYPES),
            body in mutated(BODIES),
        ) {
            let Ok(pairs) = parameters::query(&query) else { return Ok(()) };
            // what belongs to whoever logs on is in none of them
            prop_assert!(pairs.iter().all(|(name, _)| !is_of_log_on(name)));
            let read =
                ClassicCall::read(pairs, &content_type, Bytes::from(body), Keys::default());
            match read {
                Ok(call) => prop_assert!(
                    call.order.parameters.iter().all(|(name, _)| !is_of_log_on(name))
                ),
                Err(failure) => prop_assert!(failure.status.is_client_error(), "{failure:?}"),
            }
        }
    }
}
