//! Whether somebody waits for a step at a screen.

use hyper::HeaderMap;
use plumb_odata::SapPath;

use crate::config::DispatcherConfig;

/// The kind of a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Priority {
    /// Somebody waits for it.
    #[default]
    Dialog,
    /// Nobody does: a machine has asked, and asks for nothing else meanwhile.
    Background,
}

impl Priority {
    /// That of a request with this `path` and these `headers`: background where the settings name the
    /// path, or where the request has the urgency 7 of RFC 9218, which is for work in the background.
    pub(crate) fn of(config: &DispatcherConfig, path: &str, headers: &HeaderMap) -> Self {
        if urgency(headers) == Some(7) || config.background.iter().any(|it| leads(path, it)) {
            return Self::Background;
        }
        Self::Dialog
    }
}

/// True when `path` begins with `prefix`, whatever stands in the segment behind `/sap`.
fn leads(path: &str, prefix: &str) -> bool {
    if path.starts_with(prefix) {
        return true;
    }
    let (Some(path), Some(prefix)) = (SapPath::parse(path), SapPath::parse(prefix)) else {
        return false;
    };
    path.segment.is_some() && path.rest.starts_with(prefix.rest)
}

/// The urgency in the header `Priority`, 0 to 7.
///
/// # Source
/// RFC 9218, section 4.1; RFC 8941 for dictionaries: the last member of a name counts.
fn urgency(headers: &HeaderMap) -> Option<u8> {
    let lines = headers.get_all("priority").iter().filter_map(|line| line.to_str().ok());
    let members = lines.flat_map(|line| line.split(','));
    let mut values = members.filter_map(|member| member.trim().strip_prefix("u="));
    let value = values.next_back()?.split(';').next()?.trim();
    value.parse().ok().filter(|urgency| *urgency <= 7)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn headers(lines: &[&str]) -> HeaderMap {
        lines
            .iter()
            .map(|line| (hyper::header::HeaderName::from_static("priority"), line.parse().unwrap()))
            .collect()
    }

    #[test]
    fn the_urgency_of_work_in_the_background_is_seven() {
        let config = DispatcherConfig::default();
        let of = |lines: &[&str]| Priority::of(&config, "/sap/bc/x", &headers(lines));
        for background in [&["u=7"][..], &["i, u=7"], &["u=1", "u=7;x=1"]] {
            assert_eq!(of(background), Priority::Background, "{background:?}");
        }
        for dialog in [&[][..], &["u=6"], &["u=7, u=3"], &["u=77"], &["i"], &["u"], &["U=7"]] {
            assert_eq!(of(dialog), Priority::Dialog, "{dialog:?}");
        }
    }

    #[test]
    fn paths_that_the_settings_name_are_background() {
        let background = vec!["/sap/bc/production/".to_owned(), "/rest/".to_owned()];
        let config = DispatcherConfig { background, ..DispatcherConfig::default() };
        let of = |path| Priority::of(&config, path, &HeaderMap::new());
        for path in ["/sap/bc/production/x", "/sap(bD1lbg==)/bc/production/x", "/rest/flights"] {
            assert_eq!(of(path), Priority::Background, "{path}");
        }
        for path in ["/sap/bc/productions", "/sap/bc/sd/x", "/", "/sap(x)/rest/y"] {
            assert_eq!(of(path), Priority::Dialog, "{path}");
        }
    }

    proptest! {
        #[test]
        fn any_header_is_read(bytes in prop::collection::vec(0x20_u8..0x7f, 0..30)) {
            let mut headers = HeaderMap::new();
            headers.insert("priority", hyper::header::HeaderValue::from_bytes(&bytes).unwrap());
            prop_assert!(urgency(&headers).is_none_or(|urgency| urgency <= 7));
        }
    }
}
