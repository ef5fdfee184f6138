//! OTLP JSON: numbers of traces and spans as hex digits, large numbers as text.

use serde::Deserialize;
use serde_json::Value;

use super::{DATABASES, SERVICE, clock, parent_id, span_id, trace_id};
use crate::error::OtlpError;
use crate::span::{Span, SpanKind, SpanPart};

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Request {
    // without it the text is something else
    resource_spans: Vec<ResourceSpans>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
struct ResourceSpans {
    resource: Resource,
    scope_spans: Vec<ScopeSpans>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Resource {
    attributes: Vec<KeyValue>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ScopeSpans {
    spans: Vec<WrittenSpan>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WrittenSpan {
    trace_id: String,
    span_id: String,
    parent_span_id: String,
    kind: Value,
    start_time_unix_nano: Value,
    end_time_unix_nano: Value,
    attributes: Vec<KeyValue>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct KeyValue {
    key: String,
    value: Value,
}

/// Gives every span of `text`, one request or nothing, to `take`.
///
/// # Errors
/// What is no request; spans that came before it have been taken.
pub(crate) fn read(text: &[u8], mut take: impl FnMut(Span)) -> Result<(), OtlpError> {
    let request: Request = serde_json::from_slice(text)?;
    for of_resource in &request.resource_spans {
        let attributes = &of_resource.resource.attributes;
        let service = text_of(attributes, SERVICE).unwrap_or_default();
        let clock = clock(attributes.iter().map(|it| (it.key.as_str(), it.value.to_string())));
        for span in of_resource.scope_spans.iter().flat_map(|scope| &scope.spans) {
            take(span.read(service, clock)?);
        }
    }
    Ok(())
}

fn text_of<'a>(attributes: &'a [KeyValue], key: &str) -> Option<&'a str> {
    let found = attributes.iter().find(|it| it.key == key)?;
    found.value.get("stringValue")?.as_str()
}

impl WrittenSpan {
    fn read(&self, service: &str, clock: u64) -> Result<Span, OtlpError> {
        let database = DATABASES.iter().find_map(|key| text_of(&self.attributes, key));
        let kind = kind(&self.kind);
        let trace = trace_id(&hex(&self.trace_id))?;
        let id = span_id(&hex(&self.span_id), "spanId")?;
        let parent = parent_id(&hex(&self.parent_span_id))?;
        let start_ns = nanoseconds(&self.start_time_unix_nano, "startTimeUnixNano")?;
        let end_ns = nanoseconds(&self.end_time_unix_nano, "endTimeUnixNano")?;
        Ok(Span {
            trace,
            id,
            parent,
            clock,
            kind,
            part: SpanPart::new(service, kind, database),
            start_ns,
            end_ns: end_ns.max(start_ns),
        })
    }
}

/// A number, or the name of it.
fn kind(written: &Value) -> SpanKind {
    const NAMES: [&str; 6] = [
        "SPAN_KIND_UNSPECIFIED",
        "SPAN_KIND_INTERNAL",
        "SPAN_KIND_SERVER",
        "SPAN_KIND_CLIENT",
        "SPAN_KIND_PRODUCER",
        "SPAN_KIND_CONSUMER",
    ];
    let by_name = || NAMES.iter().position(|name| written.as_str() == Some(name));
    let number = written.as_i64().or_else(|| i64::try_from(by_name()?).ok());
    SpanKind::of_number(number.unwrap_or(0))
}

fn nanoseconds(written: &Value, name: &'static str) -> Result<u64, OtlpError> {
    let number = written.as_u64().or_else(|| written.as_str()?.parse().ok());
    number.ok_or(OtlpError::Time { name })
}

/// The bytes that hex digits stand for; what is none of them makes a length that no number has.
fn hex(text: &str) -> Vec<u8> {
    const WRONG: Vec<u8> = Vec::new();
    // a long text is none; it is not looked through
    if text.len() > 32 || !text.len().is_multiple_of(2) {
        return vec![1];
    }
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|it| u8::try_from(it).ok());
    let pair = |pair: &[u8]| Some(digit(pair[0])? << 4 | digit(pair[1])?);
    let bytes: Option<Vec<u8>> = text.as_bytes().chunks_exact(2).map(pair).collect();
    bytes.unwrap_or_else(|| if text.is_empty() { WRONG } else { vec![1] })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ONE: &str = r#"{"resourceSpans":[{"resource":{"attributes":[
        {"key":"service.name","value":{"stringValue":"orders"}}]},
        "scopeSpans":[{"scope":{"name":"x"},"spans":[{"traceId":"5b8efff798038103d269b633813fc60c",
        "spanId":"eee19b7ec3c1b174","parentSpanId":"eee19b7ec3c1b173","name":"SELECT","kind":3,
        "startTimeUnixNano":"1544712660000000000","endTimeUnixNano":"1544712661000000000",
        "attributes":[{"key":"db.system","value":{"stringValue":"postgresql"}},
        {"key":"n","value":{"intValue":"7"}}]}]}]}]}"#;

    fn spans(text: &str) -> Result<Vec<Span>, OtlpError> {
        let mut found = Vec::new();
        read(text.as_bytes(), |span| found.push(span)).map(|()| found)
    }

    #[test]
    fn a_request_as_the_collector_writes_it_is_read() {
        let found = spans(ONE).unwrap();
        let [span] = &found[..] else { panic!("{found:?}") };
        assert_eq!(span.trace.to_string(), "5b8efff798038103d269b633813fc60c");
        assert_eq!(span.part.name(), "orders client postgresql");
        assert_eq!(span.end_ns - span.start_ns, 1_000_000_000);
        assert_eq!(span.parent, Some(crate::SpanId(*b"\xee\xe1\x9b\x7e\xc3\xc1\xb1\x73")));
        let named = ONE.replace(r#""kind":3"#, r#""kind":"SPAN_KIND_SERVER""#);
        assert_eq!(spans(&named).unwrap()[0].kind, SpanKind::Server);
        let numbers = ONE.replace("\"1544712660000000000\"", "1544712660000000000");
        assert_eq!(spans(&numbers).unwrap(), found);
        let root = ONE.replace("eee19b7ec3c1b173", "");
        assert_eq!(spans(&root).unwrap()[0].parent, None);
    }

    #[test]
    fn other_resources_have_other_clocks() {
        let other = ONE.replace("orders", "stock");
        assert_ne!(spans(ONE).unwrap()[0].clock, spans(&other).unwrap()[0].clock);
        assert_eq!(spans(ONE).unwrap()[0].clock, spans(ONE).unwrap()[0].clock);
    }

    #[test]
    fn what_is_no_request_is_refused_with_what_is_wrong() {
        for (from, to, word) in [
            ("5b8efff798038103d269b633813fc60c", "5b8e", "traceId"),
            ("5b8efff798038103d269b633813fc60c", "00000000000000000000000000000000", "traceId"),
            ("eee19b7ec3c1b174", "eee19b7ec3c1b17€", "spanId"),
            ("eee19b7ec3c1b173", "ee", "parentSpanId"),
            ("\"1544712660000000000\"", "\"yesterday\"", "startTimeUnixNano"),
            ("\"1544712661000000000\"", "-1", "endTimeUnixNano"),
            ("resourceSpans", "resourceLogs", "resourceSpans"),
            ("}]}]}]}]}", "}]}]}]}", "line"),
        ] {
            let error = spans(&ONE.replace(from, to)).unwrap_err().to_string();
            assert!(error.contains(word), "{word}: {error}");
        }
        assert!(spans(&"[".repeat(100_000)).is_err());
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in ".{0,200}", at in 0_usize..700, byte: u8) {
            let _ = spans(&text);
            let mut bytes = ONE.as_bytes().to_vec();
            let at = at.min(bytes.len() - 1);
            bytes[at] = byte;
            let _ = read(&bytes, |span| assert!(span.end_ns >= span.start_ns));
        }
    }
}
