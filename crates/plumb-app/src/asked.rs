//! A request on its way through the server: what came in, and where it leads.

use plumb_serve::Request;

use crate::answer::Failure;
use crate::priority::Priority;
use crate::route::{ErrorForm, Route};

/// A request whose path was read, once.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) request: Request,
    pub(crate) route: Route,
    /// The form of an answer that says what went wrong.
    pub(crate) errors: ErrorForm,
    pub(crate) priority: Priority,
    /// When it was whole, on the monotonic clock.
    pub(crate) arrived_ns: u64,
}

/// Where a target leads, before its request is whole.
#[derive(Debug)]
pub(crate) struct Target {
    pub(crate) route: Route,
    pub(crate) errors: ErrorForm,
    /// Why nobody needs to look at it.
    pub(crate) wrong: Option<Failure>,
}

impl Target {
    /// Where a request with this head leads.
    pub(crate) fn of(uri: &hyper::Uri, headers: &hyper::HeaderMap) -> Self {
        let (path, query) = (uri.path(), uri.query().unwrap_or(""));
        let route = Route::of(path);
        let errors = ErrorForm::of(&route, headers, query);
        let wrong = control_character(path).or_else(|| control_character(query));
        let wrong = wrong.map(|code| {
            Failure::bad_request(format!(
                "the URL holds the control character U+{code:04X}: leave it out"
            ))
        });
        Self { route, errors, wrong }
    }
}

/// The first control character of ASCII that `text` holds in its percent signs; as itself none may
/// stand in a URL.
fn control_character(text: &str) -> Option<u32> {
    text.split('%').skip(1).find_map(|behind| {
        let code = u32::from_str_radix(behind.get(..2)?, 16).ok()?;
        (code < 0x20 || code == 0x7f).then_some(code)
    })
}

#[cfg(test)]
pub(crate) mod testing {
    use bytes::Bytes;
    use hyper::Method;
    use plumb_serve::Peer;

    use super::*;

    impl Asked {
        /// A request of nobody in particular on this machine.
        pub(crate) fn new(method: Method, uri: &str) -> Self {
            let head = hyper::Request::builder().method(method).uri(uri).body(()).unwrap();
            let (head, ()) = head.into_parts();
            let Target { route, errors, .. } = Target::of(&head.uri, &head.headers);
            let peer = Peer { address: None, tls: false, connection: 0 };
            let request = Request { head, body: Bytes::new(), peer };
            Self { request, route, errors, priority: Priority::Dialog, arrived_ns: 0 }
        }
    }

    #[test]
    fn control_characters_are_found_in_path_and_query() {
        let wrong = |uri: &str| {
            let uri: hyper::Uri = uri.parse().unwrap();
            Target::of(&uri, &hyper::HeaderMap::new()).wrong.map(|failure| failure.message)
        };
        for (uri, code) in [
            ("/rest/flights/A%00/0017/20110601", "U+0000"),
            ("/sap/bc/sd/orders?customer=C%0a1", "U+000A"),
            ("/status?x=%7F", "U+007F"),
        ] {
            assert!(wrong(uri).unwrap().contains(code), "{uri}");
        }
        for uri in ["/rest/flights/A%20B", "/a?b=%C3%A4%25", "/a%zz", "/a%"] {
            assert_eq!(wrong(uri), None, "{uri}");
        }
    }
}
