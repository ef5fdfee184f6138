//! OTLP as protobuf: the fields that are needed, the others are passed over.

use prost::Message;

use super::{DATABASES, SERVICE, clock, parent_id, span_id, trace_id};
use crate::attributes::{KeyValue, Resource};
use crate::error::OtlpError;
use crate::span::{Span, SpanKind, SpanPart};

#[derive(Clone, PartialEq, Message)]
struct Request {
    #[prost(message, repeated, tag = "1")]
    resource_spans: Vec<ResourceSpans>,
}

#[derive(Clone, PartialEq, Message)]
struct ResourceSpans {
    #[prost(message, optional, tag = "1")]
    resource: Option<Resource>,
    #[prost(message, repeated, tag = "2")]
    scope_spans: Vec<ScopeSpans>,
}

#[derive(Clone, PartialEq, Message)]
struct ScopeSpans {
    #[prost(message, repeated, tag = "2")]
    spans: Vec<WrittenSpan>,
}

#[derive(Clone, PartialEq, Message)]
struct WrittenSpan {
    #[prost(bytes = "vec", tag = "1")]
    trace_id: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    span_id: Vec<u8>,
    #[prost(bytes = "vec", tag = "4")]
    parent_span_id: Vec<u8>,
    #[prost(int32, tag = "6")]
    kind: i32,
    #[prost(fixed64, tag = "7")]
    start_time_unix_nano: u64,
    #[prost(fixed64, tag = "8")]
    end_time_unix_nano: u64,
    #[prost(message, repeated, tag = "9")]
    attributes: Vec<KeyValue>,
}

/// Gives every span of `bytes`, one request, to `take`.
///
/// # Errors
/// What is no request; spans that came before it have been taken.
pub(crate) fn read(bytes: &[u8], mut take: impl FnMut(Span)) -> Result<(), OtlpError> {
    let request = Request::decode(bytes)?;
    for of_resource in &request.resource_spans {
        let attributes = of_resource.resource.as_ref().map_or(&[][..], |it| &it.attributes);
        let service = text_of(attributes, SERVICE).unwrap_or_default();
        let clock = clock(attributes.iter().map(|it| (it.key.as_str(), format!("{:?}", it.value))));
        for span in of_resource.scope_spans.iter().flat_map(|scope| &scope.spans) {
            take(span.read(service, clock)?);
        }
    }
    Ok(())
}

fn text_of<'a>(attributes: &'a [KeyValue], key: &str) -> Option<&'a str> {
    attributes.iter().find(|it| it.key == key)?.value.as_ref()?.string_value.as_deref()
}

impl WrittenSpan {
    fn read(&self, service: &str, clock: u64) -> Result<Span, OtlpError> {
        let database = DATABASES.iter().find_map(|key| text_of(&self.attributes, key));
        let kind = SpanKind::of_number(self.kind.into());
        Ok(Span {
            trace: trace_id(&self.trace_id)?,
            id: span_id(&self.span_id, "span_id")?,
            parent: parent_id(&self.parent_span_id)?,
            clock,
            kind,
            part: SpanPart::new(service, kind, database),
            start_ns: self.start_time_unix_nano,
            end_ns: self.end_time_unix_nano.max(self.start_time_unix_nano),
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::attributes::text;

    fn request() -> Vec<u8> {
        let span = WrittenSpan {
            trace_id: vec![7; 16],
            span_id: vec![8; 8],
            parent_span_id: Vec::new(),
            kind: 3,
            start_time_unix_nano: 50,
            end_time_unix_nano: 90,
            attributes: vec![text("db.system.name", "mysql")],
        };
        let resource = Resource { attributes: vec![text("service.name", "orders")] };
        let scope = ScopeSpans { spans: vec![span] };
        let of_resource = ResourceSpans { resource: Some(resource), scope_spans: vec![scope] };
        Request { resource_spans: vec![of_resource] }.encode_to_vec()
    }

    #[test]
    fn a_request_is_read() {
        let mut found = Vec::new();
        read(&request(), |span| found.push(span)).unwrap();
        let [span] = &found[..] else { panic!("{found:?}") };
        assert_eq!((span.start_ns, span.end_ns, span.parent), (50, 90, None));
        assert_eq!(span.part.name(), "orders client mysql");
        assert!(read(b"resourceSpans", |_| ()).is_err());
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(
            bytes in proptest::collection::vec(any::<u8>(), 0..300),
            at in 0_usize..200,
            byte: u8,
        ) {
            let _ = read(&bytes, |_| ());
            let mut bent = request();
            let at = at.min(bent.len() - 1);
            bent[at] = byte;
            let _ = read(&bent, |span| assert!(span.end_ns >= span.start_ns));
            let _ = read(&bent[..at], |_| ());
        }
    }
}
