//! Values as they stand in an answer: escaped for its media type. Texts that stand for bytes.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// The bytes that `text` stands for in base64; spaces and line breaks mean nothing.
///
/// # Source
/// RFC 4648, section 4; line breaks as of RFC 2045, which databases write.
pub(super) fn bytes_of(text: &str) -> Result<Vec<u8>, String> {
    let bare: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let problem = |error| format!("the answer is no base64 ({error}): check what it is made of");
    STANDARD.decode(bare).map_err(problem)
}

/// Writes `text` as it stands in an answer of `media_type`.
pub(super) fn escaped(media_type: &str, text: &str, out: &mut Vec<u8>) {
    let essence = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    if essence.ends_with("json") {
        in_json(text, out);
    } else if essence.ends_with("xml") || essence == "text/html" {
        in_xml(text, out);
    } else {
        out.extend_from_slice(text.as_bytes());
    }
}

/// What stands within the quotes of a JSON text.
fn in_json(text: &str, out: &mut Vec<u8>) {
    for char in text.chars() {
        match char {
            '"' => out.extend_from_slice(b"\\\""),
            '\\' => out.extend_from_slice(b"\\\\"),
            '\n' => out.extend_from_slice(b"\\n"),
            '\r' => out.extend_from_slice(b"\\r"),
            '\t' => out.extend_from_slice(b"\\t"),
            control if control < ' ' => {
                out.extend_from_slice(format!("\\u{:04x}", u32::from(control)).as_bytes());
            }
            other => out.extend_from_slice(other.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
}

/// What stands in an element or an attribute. Characters that XML cannot hold become U+FFFD.
fn in_xml(text: &str, out: &mut Vec<u8>) {
    for char in text.chars() {
        match char {
            '&' => out.extend_from_slice(b"&amp;"),
            '<' => out.extend_from_slice(b"&lt;"),
            '>' => out.extend_from_slice(b"&gt;"),
            '"' => out.extend_from_slice(b"&quot;"),
            '\'' => out.extend_from_slice(b"&apos;"),
            // written as they are they would be read as spaces
            '\t' | '\n' | '\r' => {
                out.extend_from_slice(format!("&#{};", u32::from(char)).as_bytes());
            }
            control if control < ' ' || matches!(control, '\u{FFFE}' | '\u{FFFF}') => {
                out.extend_from_slice("\u{FFFD}".as_bytes());
            }
            other => out.extend_from_slice(other.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn written(media_type: &str, text: &str) -> String {
        let mut out = Vec::new();
        escaped(media_type, text, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn values_are_escaped_for_the_media_type() {
        assert_eq!(written("text/plain", "<\"&"), "<\"&");
        assert_eq!(
            written("application/json; charset=utf-8", "a\"\\\n\u{1}"),
            "a\\\"\\\\\\n\\u0001"
        );
        assert_eq!(written("application/problem+json", "<"), "<");
        assert_eq!(
            written("text/xml", "<a b='\"'>&\n\u{2}"),
            "&lt;a b=&apos;&quot;&apos;&gt;&amp;&#10;\u{FFFD}"
        );
        assert_eq!(written("application/soap+xml", "<"), "&lt;");
    }

    #[test]
    fn bytes_are_read_across_lines_and_what_is_no_base64_is_said() {
        assert_eq!(bytes_of("AAH/\n /w==\r\n").unwrap(), [0, 1, 255, 255]);
        assert!(bytes_of("").unwrap().is_empty());
        for wrong in ["AA", "A-_=", "\\x0001", "AAAA=AAA"] {
            let problem = bytes_of(wrong).unwrap_err();
            assert!(problem.starts_with("the answer is no base64 ("), "{wrong}: {problem}");
        }
    }

    proptest! {
        #[test]
        fn bytes_are_what_they_were(bytes in any::<Vec<u8>>(), text in any::<String>()) {
            prop_assert_eq!(bytes_of(&STANDARD.encode(&bytes)).unwrap(), bytes);
            let _ = bytes_of(&text);
        }

        #[test]
        fn an_xml_value_is_read_back_as_it_was(text in "\\PC{0,40}") {
            let document = format!("<a b=\"{0}\">{0}</a>", written("text/xml", &text));
            let read = roxmltree::Document::parse(&document).unwrap();
            let root = read.root_element();
            prop_assert_eq!(root.text().unwrap_or_default(), &text);
            prop_assert_eq!(root.attribute("b"), Some(text.as_str()));
        }

        #[test]
        fn a_json_value_is_read_back_as_it_was(text in any::<String>()) {
            use struson::reader::{JsonReader as _, JsonStreamReader};
            let document = format!("\"{}\"", written("application/json", &text));
            let mut reader = JsonStreamReader::new(document.as_bytes());
            prop_assert_eq!(reader.next_string().unwrap(), text);
        }
    }
}
