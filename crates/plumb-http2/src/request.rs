//! A request, encoded once.

use std::sync::Arc;

use crate::hpack;

/// A request as it is sent on any stream.
#[derive(Clone, Debug)]
pub struct Request {
    /// Its header block, which refers to no table that changes.
    pub(crate) block: Vec<u8>,
    pub(crate) body: Option<Arc<[u8]>>,
    /// `HEAD`: the answer has no content, whatever its head announces.
    pub(crate) without_content: bool,
}

/// Why a request cannot be sent over HTTP/2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a request over HTTP/2 cannot have {0}")]
pub struct NoRequest(&'static str);

impl Request {
    /// True of `HEAD`, whose answer has no content.
    #[must_use]
    pub fn is_head(&self) -> bool {
        self.without_content
    }

    /// The request that stands in `bytes` as HTTP/1.1 writes it, to be sent with `scheme`. Its body
    /// has a length; header lines that say what becomes of a connection are left out.
    ///
    /// # Errors
    /// [`NoRequest`] names what has no form in HTTP/2.
    ///
    /// # Source
    /// RFC 9113, section 8.3.1.
    pub fn of_http1(bytes: &[u8], scheme: &str) -> Result<Self, NoRequest> {
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n");
        let end = end.ok_or(NoRequest("a head without an end"))?;
        let mut lines = bytes[..end].split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii_end);
        let mut words = lines.next().unwrap_or_default().split(|byte| *byte == b' ');
        let (Some(method), Some(target)) = (words.next(), words.next()) else {
            return Err(NoRequest("a first line without a method and a path"));
        };
        if !target.starts_with(b"/") && target != b"*" {
            return Err(NoRequest("the whole address in its first line, as a proxy wants it"));
        }
        let mut fields = Vec::new();
        let mut authority = None;
        for line in lines {
            let colon = line.iter().position(|byte| *byte == b':');
            let (name, value) = line.split_at(colon.ok_or(NoRequest("a line without a name"))?);
            let (name, value) = (name.to_ascii_lowercase(), value[1..].trim_ascii());
            match &name[..] {
                b"host" => authority = Some(value),
                b"transfer-encoding" => return Err(NoRequest("a body in chunks")),
                b"connection" | b"proxy-connection" | b"keep-alive" | b"upgrade" | b"te" => {}
                _ => fields.push((name, value)),
            }
        }
        let mut block = Vec::new();
        hpack::encode(b":method", method, false, &mut block);
        hpack::encode(b":scheme", scheme.as_bytes(), false, &mut block);
        if let Some(authority) = authority {
            hpack::encode(b":authority", authority, false, &mut block);
        }
        hpack::encode(b":path", target, false, &mut block);
        for (name, value) in fields {
            hpack::encode(&name, value, is_secret(&name), &mut block);
        }
        let body = &bytes[end + 4..];
        Ok(Self {
            block,
            body: (!body.is_empty()).then(|| body.into()),
            without_content: method == b"HEAD",
        })
    }
}

/// Appends a further field, for [`Client::begin`](crate::Client::begin).
pub fn field(name: &str, value: &[u8], out: &mut Vec<u8>) {
    hpack::encode(name.as_bytes(), value, is_secret(name.as_bytes()), out);
}

fn is_secret(name: &[u8]) -> bool {
    matches!(name, b"authorization" | b"cookie" | b"proxy-authorization")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hpack::Decoder;

    fn fields(block: &[u8]) -> Vec<String> {
        let mut fields = Vec::new();
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        let mut decoder = Decoder::default();
        let take = |name: &[u8], value: &[u8]| fields.push(text(name) + "=" + &text(value));
        decoder.decode(block, take).unwrap();
        fields
    }

    #[test]
    fn lines_become_fields_and_what_is_of_the_connection_is_left_out() {
        let bytes = b"POST /a?b HTTP/1.1\r\nHost: db1:8000\r\nX-A:  b \r\nConnection: close\r\n\
                      Cookie: sid=1\r\nContent-Length: 5\r\n\r\nhello";
        let request = Request::of_http1(bytes, "https").unwrap();
        assert_eq!(
            fields(&request.block),
            [
                ":method=POST",
                ":scheme=https",
                ":authority=db1:8000",
                ":path=/a?b",
                "x-a=b",
                "cookie=sid=1",
                "content-length=5"
            ]
        );
        assert_eq!(
            (request.body.as_deref(), request.without_content),
            (Some(&b"hello"[..]), false)
        );
        let head = Request::of_http1(b"HEAD / HTTP/1.1\r\nHost: a\r\n\r\n", "http").unwrap();
        assert!(head.without_content && head.body.is_none());
    }

    #[test]
    fn what_has_no_form_is_refused() {
        for bytes in [
            &b"GET http://a/b HTTP/1.1\r\n\r\n"[..],
            b"GET / HTTP/1.1\r\n",
            b"GET\r\n\r\n",
            b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            b"GET / HTTP/1.1\r\nnothing\r\n\r\n",
        ] {
            assert!(Request::of_http1(bytes, "http").is_err(), "{}", bytes.escape_ascii());
        }
    }
}
