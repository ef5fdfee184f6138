//! The bytes of a request, made once.

use plumb_trace::behind_the_first_line;
use plumb_wire::http::{Ask, Scheme, Url};
use plumb_wire::secret::{MASK, in_header};

use crate::HttpError;
use crate::proxy::Proxy;

/// What every request has beside its URL.
#[derive(Clone, Debug)]
pub struct Request {
    method: String,
    /// Complete header lines.
    lines: String,
    body: Option<Vec<u8>>,
    /// A proxy wants the URL written whole, and to know who asks. It sees nothing of https.
    proxy: Option<Proxy>,
}

impl Request {
    /// A request with `method`, further header lines `Name: value`, and a body.
    ///
    /// # Errors
    /// [`HttpError::Method`], [`HttpError::Header`] or [`HttpError::HeaderNotYours`].
    pub fn new(method: &str, headers: &[String], body: Option<Vec<u8>>) -> Result<Self, HttpError> {
        let sound = !method.is_empty() && method.bytes().all(|byte| byte.is_ascii_uppercase());
        if !sound || method == "CONNECT" {
            return Err(HttpError::Method { method: method.into() });
        }
        let mut lines = String::new();
        let mut agent = true;
        let mut accept = true;
        for header in headers {
            let (name, value) = split(header)?;
            agent &= !name.eq_ignore_ascii_case("user-agent");
            accept &= !name.eq_ignore_ascii_case("accept");
            lines += &format!("{name}: {value}\r\n");
        }
        if agent {
            lines += concat!("User-Agent: plumb/", env!("CARGO_PKG_VERSION"), "\r\n");
        }
        if accept {
            lines += "Accept: */*\r\n";
        }
        Ok(Self { method: method.into(), lines, body, proxy: None })
    }

    /// The same request, whose connection is closed after the answer.
    #[must_use]
    pub fn closing(mut self) -> Self {
        self.lines += "Connection: close\r\n";
        self
    }

    /// The same request through a proxy.
    #[must_use]
    pub(crate) fn through(mut self, proxy: Option<&Proxy>) -> Self {
        self.proxy = proxy.cloned();
        self
    }

    /// The method.
    pub(crate) fn method(&self) -> &str {
        &self.method
    }

    /// True when asking twice does no more than asking once.
    pub(crate) fn only_reads(&self) -> bool {
        matches!(self.method.as_str(), "GET" | "HEAD" | "OPTIONS")
    }

    /// What decides whether a body comes back.
    #[must_use]
    pub fn ask(&self) -> Ask {
        if self.method == "HEAD" { Ask::Head } else { Ask::Content }
    }

    /// The bytes that ask for `url`, with `secrets` as further header lines: the value of
    /// `Authorization` and that of `Cookie`.
    #[must_use]
    pub fn bytes(&self, url: &Url, authorization: Option<&str>, cookies: Option<&str>) -> Vec<u8> {
        let seen_by = self.proxy.as_ref().filter(|_| url.scheme() == Scheme::Http);
        let target = if seen_by.is_some() { url.to_string() } else { url.target().to_owned() };
        let mut head =
            format!("{} {target} HTTP/1.1\r\nHost: {}\r\n", self.method, url.authority());
        head += &self.lines;
        head += &seen_by.map(Proxy::line).unwrap_or_default();
        for (name, value) in [("Authorization", authorization), ("Cookie", cookies)] {
            if let Some(value) = value {
                head += &format!("{name}: {value}\r\n");
            }
        }
        match &self.body {
            Some(body) => head += &format!("Content-Length: {}\r\n", body.len()),
            None if usually_has_content(&self.method) => head += NO_CONTENT,
            None => {}
        }
        head += "\r\n";
        let mut bytes = head.into_bytes();
        bytes.extend(self.body.iter().flatten());
        bytes
    }
}

/// Puts a header line into the request of `out` that begins at `begins`.
pub(crate) fn insert_line(name: &str, value: &str, begins: usize, out: &mut Vec<u8>) {
    let at = begins + behind_the_first_line(&out[begins..]);
    let rest = out.split_off(at);
    out.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
    out.extend_from_slice(&rest);
}

/// The header line of a request without content whose method usually has some: a server may wait
/// for the length, or refuse with 411.
///
/// # Source
/// RFC 9110, section 8.6.
pub(crate) const NO_CONTENT: &str = "Content-Length: 0\r\n";

/// True for methods whose requests usually have content.
pub(crate) fn usually_has_content(method: &str) -> bool {
    matches!(method, "POST" | "PUT" | "PATCH")
}

/// Name and value of a header line that may be sent.
pub(crate) fn split(line: &str) -> Result<(&str, &str), HttpError> {
    // the rest of a line that is none may be a secret
    let start = || line.split([' ', ':']).next().unwrap_or_default().escape_default().to_string();
    let wrong = || HttpError::Header { start: start() };
    let (name, value) = line.split_once(':').ok_or_else(wrong)?;
    let value = value.trim();
    if !is_token(name) || value.contains(|c: char| c.is_control()) {
        return Err(wrong());
    }
    let remedy = match name.to_ascii_lowercase().as_str() {
        "proxy-authorization" => {
            "a secret on the command line stands in histories and records; give \
             PLUMB_PROXY_USER and PLUMB_PROXY_PASSWORD in the environment"
        }
        "authorization" => {
            "a secret on the command line stands in histories and records; give \
             PLUMB_HTTP_USER and PLUMB_HTTP_PASSWORD in the environment, or --credentials FILE"
        }
        "cookie" => {
            "a session on the command line stands in histories and records; cookies that the \
             server gives while a URL is resolved are sent by themselves"
        }
        "content-length" | "transfer-encoding" => "the body says it; give --body FILE",
        "host" => "the URL says it",
        "connection" => "write --close for a new connection a request",
        "expect" => "the body is sent at once",
        lower if in_header(lower, value).iter().any(|found| &value[found.at.clone()] == MASK) => {
            "records and printed options mask its value; give the secret itself"
        }
        _ => return Ok((name, value)),
    };
    Err(HttpError::HeaderNotYours { name: name.into(), remedy })
}

/// True for what the name of a header is made of.
pub(crate) fn is_token(name: &str) -> bool {
    let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !name.is_empty() && name.bytes().all(token)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url() -> Url {
        Url::parse("http://db1:8000/a?b").unwrap()
    }

    fn text(request: &Request, authorization: Option<&str>) -> String {
        String::from_utf8(request.bytes(&url(), authorization, Some("sid=1"))).unwrap()
    }

    #[test]
    fn a_request_is_what_the_standard_says() {
        let headers = ["X-A:  b ".to_owned(), "Accept: text/html".to_owned()];
        let request = Request::new("POST", &headers, Some(b"hello".to_vec())).unwrap();
        let version = env!("CARGO_PKG_VERSION");
        assert_eq!(
            text(&request.clone().closing(), Some("Basic eA==")),
            format!(
                "POST /a?b HTTP/1.1\r\nHost: db1:8000\r\nX-A: b\r\nAccept: text/html\r\n\
                 User-Agent: plumb/{version}\r\nConnection: close\r\nAuthorization: Basic eA==\r\n\
                 Cookie: sid=1\r\nContent-Length: 5\r\n\r\nhello"
            )
        );
        let empty = Request::new("PUT", &[], None).unwrap();
        assert!(text(&empty, None).ends_with("\r\nContent-Length: 0\r\n\r\n"));
        let get = Request::new("GET", &[], None).unwrap();
        assert!(!text(&get, None).contains("Content-Length"));
        let proxied = request.through(Some(&Proxy::new("http://gate:3128").unwrap()));
        assert!(text(&proxied, None).starts_with("POST http://db1:8000/a?b HTTP/1.1\r\n"));
        let hidden = proxied.bytes(&Url::parse("https://db1/a?b").unwrap(), None, None);
        assert!(hidden.starts_with(b"POST /a?b HTTP/1.1\r\nHost: db1\r\n"));
    }

    #[test]
    fn secrets_and_the_clients_own_lines_are_refused() {
        for line in [
            "Authorization: Bearer s3cret",
            "cookie: sid=s3cret",
            "Host: x",
            "Connection: close",
            "X-Api-Key: MASKED",
        ] {
            let error = Request::new("GET", &[line.to_owned()], None).unwrap_err();
            assert!(matches!(error, HttpError::HeaderNotYours { .. }), "{error}");
            assert!(!error.to_string().contains("s3cret"), "{error}");
        }
        for line in ["no colon", ": x", "a b: c", "x: a\r\nEvil: b", "Authorization s3cret"] {
            let error = Request::new("GET", &[line.to_owned()], None).unwrap_err();
            assert!(matches!(error, HttpError::Header { .. }), "{error}");
            assert!(!error.to_string().contains("s3cret"), "{error}");
        }
        for method in ["", "get", "GET /", "CONNECT"] {
            assert!(Request::new(method, &[], None).is_err(), "{method}");
        }
    }
}
