//! The form of a message: changes of tags as XML or JSON.

use std::io::Write as _;

use plumb_engine::clock::utc_ms;
use serde::Deserialize;

use crate::change::{Change, TagValue, is_carried};

/// As what a message is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// `<TagChanges><Change>...`.
    #[default]
    Xml,
    /// `{"changes": [{...}]}`.
    Json,
}

impl Form {
    /// For the header line `Content-Type`.
    #[must_use]
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Xml => "application/xml",
            Self::Json => "application/json",
        }
    }

    /// Appends one change, whose number is `sequence`, to the changes of a message.
    pub(crate) fn append(self, out: &mut Vec<u8>, sequence: u64, change: &Change) {
        let time = utc_ms(change.time_ms.saturating_mul(1_000_000));
        let quality = change.quality.name();
        match self {
            Self::Xml => {
                put(out, format_args!("<Change><Sequence>{sequence}</Sequence><Tag>"));
                xml_text(out, &change.tag);
                out.extend_from_slice(b"</Tag><Value>");
                match &change.value {
                    TagValue::Text(text) => xml_text(out, text),
                    value => put(out, format_args!("{value}")),
                }
                let end = format_args!("</Value><Time>{time}</Time><Quality>{quality}</Quality>");
                put(out, end);
                out.extend_from_slice(b"</Change>");
            }
            Self::Json => {
                if !out.is_empty() {
                    out.push(b',');
                }
                put(out, format_args!("{{\"sequence\":{sequence},\"tag\":"));
                json_text(out, &change.tag);
                out.extend_from_slice(b",\"value\":");
                match &change.value {
                    TagValue::Text(text) => json_text(out, text),
                    value => put(out, format_args!("{value}")),
                }
                put(out, format_args!(",\"time\":\"{time}\",\"quality\":\"{quality}\"}}"));
            }
        }
    }

    /// A message of `changes` that were appended, the numbers of the first and the last of them
    /// being `numbers`.
    pub(crate) fn message(self, agent: &str, numbers: (u64, u64), changes: &[u8]) -> Vec<u8> {
        let (first, last) = numbers;
        let mut out = Vec::with_capacity(changes.len() + agent.len() + 80);
        match self {
            Self::Xml => {
                out.extend_from_slice(b"<TagChanges><Agent>");
                xml_text(&mut out, agent);
                put(&mut out, format_args!("</Agent><First>{first}</First><Last>{last}</Last>"));
                out.extend_from_slice(changes);
                out.extend_from_slice(b"</TagChanges>");
            }
            Self::Json => {
                out.extend_from_slice(b"{\"agent\":");
                json_text(&mut out, agent);
                put(&mut out, format_args!(",\"first\":{first},\"last\":{last},\"changes\":["));
                out.extend_from_slice(changes);
                out.extend_from_slice(b"]}");
            }
        }
        out
    }
}

fn put(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    let _ = out.write_fmt(text); // a Vec takes everything
}

/// Text between tags. Sources bring no characters that XML does not know; here they become U+FFFD.
fn xml_text(out: &mut Vec<u8>, text: &str) {
    for char in text.chars() {
        match char {
            '<' => out.extend_from_slice(b"&lt;"),
            '>' => out.extend_from_slice(b"&gt;"),
            '&' => out.extend_from_slice(b"&amp;"),
            // a parser would make a newline of it
            '\r' => out.extend_from_slice(b"&#13;"),
            char if is_carried(char) => {
                out.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes());
            }
            _ => out.extend_from_slice("\u{fffd}".as_bytes()),
        }
    }
}

/// A text of JSON, of the same characters.
fn json_text(out: &mut Vec<u8>, text: &str) {
    let clean = |char: char| if is_carried(char) { char } else { '\u{fffd}' };
    let text: String = text.chars().map(clean).collect();
    let _ = serde_json::to_writer(out, &text); // a Vec takes everything
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::change::{Position, Quality};

    fn change(tag: &str, value: TagValue) -> Change {
        let quality = Quality::Good;
        Change {
            tag: tag.into(),
            value,
            time_ms: 1_300_634_013_999,
            quality,
            after: Position::default(),
        }
    }

    fn written(form: Form, changes: &[Change]) -> String {
        let mut body = Vec::new();
        for (number, change) in (7..).zip(changes) {
            form.append(&mut body, number, change);
        }
        let last = 6 + changes.len() as u64;
        String::from_utf8(form.message("line-1", (7, last), &body)).unwrap()
    }

    #[test]
    fn changes_are_written_in_both_forms() {
        let changes = [change("a", TagValue::Number(21.5)), change("b", TagValue::read("<on>"))];
        assert_eq!(
            written(Form::Xml, &changes),
            "<TagChanges><Agent>line-1</Agent><First>7</First><Last>8</Last>\
             <Change><Sequence>7</Sequence><Tag>a</Tag><Value>21.5</Value>\
             <Time>2011-03-20T15:13:33.999Z</Time><Quality>good</Quality></Change>\
             <Change><Sequence>8</Sequence><Tag>b</Tag><Value>&lt;on&gt;</Value>\
             <Time>2011-03-20T15:13:33.999Z</Time><Quality>good</Quality></Change></TagChanges>"
        );
        assert_eq!(
            written(Form::Json, &changes),
            "{\"agent\":\"line-1\",\"first\":7,\"last\":8,\"changes\":[\
             {\"sequence\":7,\"tag\":\"a\",\"value\":21.5,\"time\":\"2011-03-20T15:13:33.999Z\",\
             \"quality\":\"good\"},\
             {\"sequence\":8,\"tag\":\"b\",\"value\":\"<on>\",\"time\":\"2011-03-20T15:13:33.999Z\",\
             \"quality\":\"good\"}]}"
        );
    }

    proptest! {
        #[test]
        fn any_text_is_a_document_that_others_read(tag in any::<String>(), text in any::<String>()) {
            let changes = [change(&tag, TagValue::Text(text.as_str().into()))];
            let json: serde_json::Value = serde_json::from_str(&written(Form::Json, &changes)).unwrap();
            prop_assert!(json["changes"][0]["value"].is_string());
            let xml = written(Form::Xml, &changes);
            let document = roxmltree::Document::parse(&xml).unwrap();
            let value = document.descendants().find(|node| node.has_tag_name("Value")).unwrap();
            if text.chars().all(|char| !char.is_control() && char < '\u{fffe}') {
                prop_assert_eq!(value.text().unwrap_or_default(), text.as_str());
                prop_assert_eq!(json["changes"][0]["value"].as_str(), Some(text.as_str()));
            }
        }
    }
}
