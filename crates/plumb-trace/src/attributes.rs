//! What OTLP says of a resource or a point: names with values, as protobuf.
//!
//! # Source
//! `opentelemetry/proto/common/v1/common.proto` and `resource/v1/resource.proto`, version 1.

use prost::Message;

/// What tells, by its attributes.
#[derive(Clone, PartialEq, Message)]
pub struct Resource {
    /// Its attributes.
    #[prost(message, repeated, tag = "1")]
    pub attributes: Vec<KeyValue>,
}

/// An attribute.
#[derive(Clone, PartialEq, Message)]
pub struct KeyValue {
    /// Its name.
    #[prost(string, tag = "1")]
    pub key: String,
    /// Its value.
    #[prost(message, optional, tag = "2")]
    pub value: Option<AnyValue>,
}

/// What a value may be that tells one resource from another.
#[derive(Clone, PartialEq, Message)]
pub struct AnyValue {
    /// A text.
    #[prost(string, optional, tag = "1")]
    pub string_value: Option<String>,
    /// True or false.
    #[prost(bool, optional, tag = "2")]
    pub bool_value: Option<bool>,
    /// A whole number.
    #[prost(int64, optional, tag = "3")]
    pub int_value: Option<i64>,
}

/// The attribute `key` whose value is the text `value`.
#[must_use]
pub fn text(key: &str, value: &str) -> KeyValue {
    let value = AnyValue { string_value: Some(value.into()), ..AnyValue::default() };
    KeyValue { key: key.into(), value: Some(value) }
}
