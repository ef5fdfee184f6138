//! Header lines that belong to one connection, and those that a recording must change.

use hyper::header::{
    ACCEPT_ENCODING, CONNECTION, HOST, HeaderMap, HeaderName, HeaderValue, TE, TRAILER,
    TRANSFER_ENCODING, UPGRADE,
};

use super::upstream::Origin;

/// What a proxy passes on to nobody.
///
/// # Source
/// RFC 9110, section 7.6.1.
const OWN: [HeaderName; 8] = [
    CONNECTION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    HeaderName::from_static("proxy-authorization"),
    TE,
    TRAILER,
    TRANSFER_ENCODING,
    UPGRADE,
];

/// Makes the headers of a request those of one that goes to `origin`; with `upgrades` it goes on
/// asking for another protocol.
pub(crate) fn adapt(headers: &mut HeaderMap, origin: &Origin, upgrades: bool) {
    let protocol = headers.get(UPGRADE).cloned().filter(|_| upgrades);
    strip(headers);
    if let Some(protocol) = protocol {
        headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
        headers.insert(UPGRADE, protocol);
    }
    if let Ok(host) = origin.authority().parse() {
        headers.insert(HOST, host);
    }
    readable(headers);
}

/// Asks for no compression that the recording could not undo.
fn readable(headers: &mut HeaderMap) {
    let Some(asked) = headers.get(ACCEPT_ENCODING) else { return };
    let gzip = asked.to_str().is_ok_and(|codings| {
        codings.split(',').any(|coding| {
            let mut parts = coding.split(';').map(str::trim);
            let named = parts.next().is_some_and(|name| name.eq_ignore_ascii_case("gzip"));
            named && !parts.any(|weight| ["q=0", "q=0.0", "q=0.00", "q=0.000"].contains(&weight))
        })
    });
    let coding = HeaderValue::from_static(if gzip { "gzip" } else { "identity" });
    headers.insert(ACCEPT_ENCODING, coding);
}

/// Takes out what belongs to one connection.
pub(crate) fn strip(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = words(headers).filter_map(|word| word.parse().ok()).collect();
    for name in named.iter().chain(&OWN) {
        headers.remove(name);
    }
}

/// True when a request asks for another protocol on its connection.
pub(crate) fn asks_for_upgrade(headers: &HeaderMap) -> bool {
    headers.contains_key(UPGRADE) && words(headers).any(|word| word.eq_ignore_ascii_case("upgrade"))
}

/// The words of the `Connection` lines.
fn words(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let lines = headers.get_all(CONNECTION).iter().filter_map(|line| line.to_str().ok());
    lines.flat_map(|line| line.split(',').map(str::trim))
}

#[cfg(test)]
mod tests {
    use plumb_wire::http::Scheme;

    use super::*;

    fn adapted(lines: &[(&'static str, &'static str)]) -> Vec<(String, String)> {
        let pair = |(name, value): &(&'static str, &'static str)| {
            (HeaderName::from_static(name), HeaderValue::from_static(value))
        };
        let mut headers: HeaderMap = lines.iter().map(pair).collect();
        let upgrades = asks_for_upgrade(&headers);
        let origin = Origin { scheme: Scheme::Http, host: "erp".into(), port: 8000 };
        adapt(&mut headers, &origin, upgrades);
        let text = |value: &HeaderValue| value.to_str().unwrap().to_owned();
        let mut lines: Vec<_> =
            headers.iter().map(|(name, value)| (name.to_string(), text(value))).collect();
        lines.sort();
        lines
    }

    fn lines(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn what_belongs_to_one_connection_stays_there() {
        let asked = [
            ("host", "other"),
            ("connection", "close, X-Mine"),
            ("x-mine", "1"),
            ("x-yours", "2"),
            ("proxy-authorization", "Basic x"),
            ("proxy-connection", "keep-alive"),
            ("upgrade", "h2c"),
        ];
        assert_eq!(adapted(&asked), lines(&[("host", "erp:8000"), ("x-yours", "2")]));
    }

    #[test]
    fn a_request_for_another_protocol_goes_on_asking() {
        let asked = [("connection", "keep-alive, Upgrade"), ("upgrade", "websocket")];
        let expected = [("connection", "Upgrade"), ("host", "erp:8000"), ("upgrade", "websocket")];
        assert_eq!(adapted(&asked), lines(&expected));
    }

    #[test]
    fn only_compression_that_can_be_undone_is_asked_for() {
        for (asked, expected) in [
            ("gzip, deflate, br, zstd", "gzip"),
            ("br;q=1.0, GZIP;q=0.5", "gzip"),
            ("br", "identity"),
            ("gzip; q=0", "identity"),
        ] {
            let lines = adapted(&[("accept-encoding", asked)]);
            assert_eq!(lines[0], ("accept-encoding".to_owned(), expected.to_owned()), "{asked}");
        }
        assert!(adapted(&[("accept", "*/*")]).iter().all(|(name, _)| name != "accept-encoding"));
    }
}
