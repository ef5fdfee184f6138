//! Header lines that belong to one connection, and those that a recording must change.

use hyper::header::{
    ACCEPT_ENCODING, CONNECTION, COOKIE, HOST, HeaderMap, HeaderName, HeaderValue, TE, TRAILER,
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
    // the only word of it that means something in HTTP/2: RFC 9113, section 8.2.2
    let trailers = headers.get(TE).filter(|value| *value == "trailers").cloned();
    strip(headers);
    if let Some(protocol) = protocol {
        headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
        headers.insert(UPGRADE, protocol);
    } else if let Some(trailers) = trailers {
        headers.insert(TE, trailers);
    }
    if let Ok(host) = origin.authority().parse() {
        headers.insert(HOST, host);
    }
    readable(headers);
    join_cookies(headers);
}

/// Takes out what only HTTP/2 lets pass from one connection to the next.
pub(crate) fn of_http1(headers: &mut HeaderMap) {
    without(headers, |name| *name == TE);
}

/// Makes one line of the cookies, which in HTTP/2 may come in several.
///
/// # Source
/// RFC 9113, section 8.2.3.
fn join_cookies(headers: &mut HeaderMap) {
    let lines: Vec<&[u8]> = headers.get_all(COOKIE).iter().map(HeaderValue::as_bytes).collect();
    if lines.len() > 1
        && let Ok(joined) = HeaderValue::from_bytes(&lines.join(&b"; "[..]))
    {
        headers.insert(COOKIE, joined);
    }
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
    without(headers, |name| named.contains(name) || OWN.contains(name));
}

/// Takes out the lines whose names are `unwanted`; the others keep their order, which removing them
/// from the map would not.
pub(crate) fn without(headers: &mut HeaderMap, unwanted: impl Fn(&HeaderName) -> bool) {
    let mut wanted = false;
    let mut name = None;
    for (next, value) in std::mem::take(headers) {
        // a further line of the same name comes without it
        if let Some(next) = next {
            wanted = !unwanted(&next);
            name = Some(next);
        }
        if let Some(name) = name.as_ref().filter(|_| wanted) {
            headers.append(name, value);
        }
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

    #[test]
    fn what_stays_keeps_its_order_and_cookies_are_one_line() {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("accept", "*/*"),
            ("te", "trailers"),
            ("cookie", "a=1"),
            ("x-gone", "1"),
            ("cookie", "b=2"),
            ("keep-alive", "1"),
            ("x-last", "1"),
            ("x-last", "2"),
        ] {
            headers.append(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        headers.append(CONNECTION, HeaderValue::from_static("X-Gone"));
        let origin = Origin { scheme: Scheme::Https, host: "erp".into(), port: 443 };
        adapt(&mut headers, &origin, false);
        let order = |headers: &HeaderMap| {
            let lines = headers.iter().map(|(name, value)| format!("{name}={value:?}"));
            lines.collect::<Vec<_>>().join(" ").replace('"', "")
        };
        let expected = "accept=*/* cookie=a=1; b=2 x-last=1 x-last=2 te=trailers host=erp";
        assert_eq!(order(&headers), expected);
        of_http1(&mut headers);
        assert_eq!(order(&headers), expected.replace(" te=trailers", ""));
    }
}
