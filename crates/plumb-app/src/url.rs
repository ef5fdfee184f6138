//! URLs as this server reads them: what the segment in a path says, and the names of pages.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// What a segment says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Segment {
    pub(crate) language: Option<String>,
    pub(crate) client: Option<String>,
}

impl Segment {
    /// What the segment with this `code` says; one that cannot be read says nothing.
    pub(crate) fn of(code: &str) -> Self {
        let decoded = STANDARD.decode(code).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        let mut segment = Self::default();
        for (key, value) in
            decoded.iter().flat_map(|text| text.split('&')).filter_map(|pair| pair.split_once('='))
        {
            if value.len() <= 8 && value.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
                match key {
                    "l" => segment.language = Some(value.into()),
                    "c" => segment.client = Some(value.into()),
                    _ => {}
                }
            }
        }
        segment
    }
}

/// `rest` below `/sap` with a segment for language and client.
pub(crate) fn mangled(language: &str, client: &str, rest: &str) -> String {
    format!("/sap({}){rest}", STANDARD.encode(format!("l={language}&c={client}")))
}

/// True for the name of an image.
pub(crate) fn is_image(name: &str) -> bool {
    name.ends_with(".gif")
}

/// The name of what lies at `below`: its application and its file, in small letters. Paths with
/// and without a name space (`sap/it03/...`) are the same.
pub(crate) fn page_name(below: &str) -> String {
    let below = below.to_ascii_lowercase();
    let below = below.strip_prefix("sap/").unwrap_or(&below);
    if below.contains('/') { below.into() } else { format!("it03/{below}") }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_segment_says_language_and_client() {
        let segment = Segment::of("bD1lbiZjPTAwMA==");
        let (language, client) = (segment.language.as_deref(), segment.client.as_deref());
        assert_eq!((language, client), (Some("en"), Some("000")));
    }

    #[test]
    fn a_mangled_url_is_read_back() {
        assert_eq!(mangled("en", "000", "/bc/x"), "/sap(bD1lbiZjPTAwMA==)/bc/x");
        assert_eq!(Segment::of("!!"), Segment::default());
        assert_eq!(Segment::of(&STANDARD.encode("l=<script>")), Segment::default());
    }

    #[test]
    fn the_paths_in_use_lead_to_the_same_page() {
        for path in ["sap/it03/text1KB.htm", "it03/text1kb.htm", "sap/text1kb.htm"] {
            assert_eq!(page_name(path), "it03/text1kb.htm");
        }
        assert!(is_image(&page_name("sap/it03/image4KB.gif")) && !is_image("it03/text1kb.htm"));
    }

    proptest! {
        #[test]
        fn any_segment_is_read(text: String) {
            let _ = Segment::of(&text);
        }
    }
}
