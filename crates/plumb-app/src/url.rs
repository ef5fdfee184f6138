//! URLs as this server reads them: the segment of the session in a path.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// A path below `/sap`, with its segment taken out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SapPath<'a> {
    /// What stands in the parentheses of `/sap(...)/`; encoded.
    pub(crate) segment: Option<&'a str>,
    /// What follows, from its slash on.
    pub(crate) rest: &'a str,
}

impl<'a> SapPath<'a> {
    /// Reads `path`, which is one below `/sap` or not.
    pub(crate) fn parse(path: &'a str) -> Option<Self> {
        let behind = path.strip_prefix("/sap")?;
        if behind.starts_with('/') {
            return Some(Self { segment: None, rest: behind });
        }
        let (segment, rest) = behind.strip_prefix('(')?.split_once(')')?;
        rest.starts_with('/').then_some(Self { segment: Some(segment), rest })
    }

    /// A value in the segment: `l` for the language, `c` for the client.
    pub(crate) fn value(&self, name: &str) -> Option<String> {
        let decoded = STANDARD.decode(self.segment?).ok()?;
        let decoded = String::from_utf8(decoded).ok()?;
        decoded.split('&').find_map(|pair| {
            let (key, value) = pair.split_once('=')?;
            let plain = value.len() <= 8 && value.bytes().all(|byte| byte.is_ascii_alphanumeric());
            (key == name && plain).then(|| value.to_owned())
        })
    }
}

/// `rest` below `/sap` with a segment for language and client.
pub(crate) fn mangled(language: &str, client: &str, rest: &str) -> String {
    format!("/sap({}){rest}", STANDARD.encode(format!("l={language}&c={client}")))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_segment_is_taken_out_of_a_path() {
        let path = SapPath::parse("/sap(bD1lbiZjPTAwMA==)/bc/bsp/it03/page.htm").unwrap();
        assert_eq!((path.segment, path.rest), (Some("bD1lbiZjPTAwMA=="), "/bc/bsp/it03/page.htm"));
        assert_eq!(path.value("l").as_deref(), Some("en"));
        assert_eq!(path.value("c").as_deref(), Some("000"));
        assert_eq!(path.value("s"), None);
        assert_eq!(SapPath::parse("/sap/bc").unwrap().segment, None);
        for other in ["/sapling/bc", "/sap(bD1l/bc", "/sap(x)bc", "/", "/sap"] {
            assert_eq!(SapPath::parse(other), None, "{other}");
        }
    }

    #[test]
    fn a_mangled_url_is_read_back() {
        assert_eq!(mangled("en", "000", "/bc/x"), "/sap(bD1lbiZjPTAwMA==)/bc/x");
        assert_eq!(SapPath::parse("/sap(!!)/bc").unwrap().value("l"), None);
        let script = format!("/sap({})/bc", STANDARD.encode("l=<script>"));
        assert_eq!(SapPath::parse(&script).unwrap().value("l"), None);
    }

    proptest! {
        #[test]
        fn any_path_is_read_or_refused(text: String) {
            if let Some(path) = SapPath::parse(&text) {
                let _ = path.value("l");
            }
        }
    }
}
