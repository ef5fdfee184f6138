//! One request to a transaction manager.

use std::io::{self, Read as _, Write as _};

use plumb_engine::Stop;
use plumb_engine::tls::TrustOptions;
use plumb_measure::Span;
use plumb_serve::accounts::authorization;
use plumb_serve::link::{Encryption, Links};
use plumb_wire::http::{Scheme, Url};
use serde_json::Value;

use crate::FlowError;

/// Where else it may be said who asks.
pub(crate) const WHO_ASKS: &str = "name --user and --password-file";

/// An answer takes no longer than this.
const PATIENCE: Span = Span::from_ms(60_000);
/// Bytes of an answer at most.
const ANSWER_MAX: usize = 64 << 20;

/// Whom to ask, and who asks.
#[derive(Clone)]
pub(crate) struct Client {
    host: String,
    /// `None`: nothing is encrypted.
    encryption: Option<Encryption>,
    authorization: Option<String>,
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // and no secret
        f.debug_struct("Client").field("host", &self.host).finish_non_exhaustive()
    }
}

impl Client {
    /// The server at `url`, whom `trust` says how to believe; `secret` is the password of `user`, or
    /// without one a token.
    ///
    /// # Errors
    /// [`FlowError::Plan`] for a URL that is none or holds a password, [`FlowError::Engine`] for a
    /// certificate that does not serve, or is of no use without TLS.
    pub(crate) fn new(
        url: &str,
        trust: &TrustOptions,
        user: Option<&str>,
        secret: Option<&str>,
    ) -> Result<Self, FlowError> {
        let parsed =
            Url::parse(url).map_err(|error| FlowError::Plan(error.with_credentials(WHO_ASKS)))?;
        let encryption = match parsed.scheme() {
            Scheme::Http if trust.unused().is_err() => {
                return Err(FlowError::Plan(format!(
                    "--ca, --cert, --key, --server-name and --tls-resume mean nothing without TLS: \
                     write https:// instead of {url}, or leave them out"
                )));
            }
            Scheme::Http => None,
            Scheme::Https => Some(Encryption::new(trust, parsed.host())?),
        };
        let authorization = match (user, secret) {
            (Some(user), Some(secret)) => Some(authorization(user, secret)),
            (None, Some(token)) => Some(format!("Bearer {token}")),
            (_, None) => None,
        };
        Ok(Self { host: parsed.host_and_port(), encryption, authorization })
    }

    /// Looks at `target`, or posts `form` there, unless `stop` is asked before the answer has come.
    ///
    /// # Errors
    /// [`FlowError`] when there is no server, or it refuses; with what it said.
    pub(crate) fn ask(
        &self,
        target: &str,
        form: Option<&str>,
        stop: &Stop,
    ) -> Result<Value, FlowError> {
        let broken = |error: io::Error| {
            FlowError::Plan(format!(
                "{} does not answer as a transaction manager: {error}",
                self.host
            ))
        };
        let (client, request) = (self.clone(), self.request(target, form));
        let exchanged = stop.unless_asked(move || client.exchange(&request))?;
        let answer = exchanged.map_err(broken)?;
        let (status, body) = parse(&answer).map_err(broken)?;
        let document: Option<Value> = serde_json::from_slice(body).ok();
        match (status, document) {
            (200, Some(document)) => Ok(document),
            (status, document) => {
                let said = document.as_ref().and_then(|it| it["error"]["message"].as_str());
                let said = said.unwrap_or("it says nothing more");
                Err(FlowError::Plan(format!("{} answers {status}: {said}", self.host)))
            }
        }
    }

    /// The whole answer to `request`, up to the end of its connection.
    fn exchange(&self, request: &str) -> io::Result<Vec<u8>> {
        let links = Links::new(self.host.clone(), PATIENCE, 1);
        let links = match self.encryption.clone() {
            Some(encryption) => links.encrypted(encryption),
            None => links,
        };
        let mut link = links.take().ok_or(io::ErrorKind::NotConnected)?;
        link.ask_fresh(PATIENCE, |connection| {
            connection.get_mut().write_all(request.as_bytes())?;
            let (mut answer, mut part) = (Vec::new(), [0; 16 << 10]);
            // a server may keep the connection although nobody asked it to
            while !is_whole(&answer) && answer.len() < ANSWER_MAX {
                match connection.read(&mut part) {
                    Ok(0) => break,
                    Ok(count) => answer.extend_from_slice(&part[..count]),
                    // whoever is to stop hears of the signal elsewhere
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) => return Err(error),
                }
            }
            Ok(answer)
        })
    }

    fn request(&self, target: &str, form: Option<&str>) -> String {
        let method = if form.is_some() { "POST" } else { "GET" };
        let mut request = format!(
            "{method} {target} HTTP/1.1\r\nHost: {}\r\nAccept: application/json\r\n\
             Connection: close\r\n",
            self.host
        );
        if let Some(words) = &self.authorization {
            request += &format!("Authorization: {words}\r\n");
        }
        if let Some(form) = form {
            request += &format!(
                "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n",
                form.len()
            );
        }
        format!("{request}\r\n{}", form.unwrap_or(""))
    }
}

/// True once an answer that tells its length has come.
fn is_whole(answer: &[u8]) -> bool {
    let end = answer.windows(4).position(|it| it == b"\r\n\r\n");
    let head = end.and_then(|end| Some((end, std::str::from_utf8(&answer[..end]).ok()?)));
    head.and_then(|(end, head)| Some((end, length(head)?)))
        .is_some_and(|(end, length)| answer.len() >= end + 4 + length)
}

/// What a head says of the length of its body, bytes.
fn length(head: &str) -> Option<usize> {
    head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
    })
}

/// Status and body of an answer.
fn parse(answer: &[u8]) -> io::Result<(u16, &[u8])> {
    let odd = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what.to_owned());
    let end = answer.windows(4).position(|it| it == b"\r\n\r\n");
    let end = end.ok_or_else(|| odd("its answer has no end"))?;
    let head = std::str::from_utf8(&answer[..end]).map_err(|_| odd("it speaks no HTTP"))?;
    let status = head.strip_prefix("HTTP/1.").and_then(|rest| rest.split(' ').nth(1));
    let status = status.and_then(|digits| digits.get(..3)?.parse().ok());
    let status = status.ok_or_else(|| odd("it speaks no HTTP"))?;
    let body = &answer[end + 4..];
    match length(head) {
        Some(length) if length != body.len() => Err(odd("its answer is cut")),
        _ => Ok((status, body)),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_url_says_whom_to_ask() {
        let trust = TrustOptions::default();
        let client = Client::new("http://erp:50000", &trust, Some("anna"), Some("secret")).unwrap();
        let request = client.request("/manager/drop", Some("id=1"));
        assert!(request.starts_with("POST /manager/drop HTTP/1.1\r\nHost: erp:50000\r\n"));
        assert!(request.ends_with("Content-Length: 4\r\n\r\nid=1"));
        assert!(
            request.contains("Authorization: Basic ") && !format!("{client:?}").contains("Bas")
        );
        assert!(Client::new("erp", &trust, None, None).is_err());
        let trust = TrustOptions { ca: Some("none.pem".into()), ..trust };
        for (url, expected) in [
            ("http://erp:50000", "write https:// instead of http://erp:50000"),
            ("https://erp", "none.pem"),
        ] {
            let said = Client::new(url, &trust, None, None).unwrap_err().to_string();
            assert!(said.contains(expected), "{said}");
        }
    }

    #[test]
    fn an_answer_is_whole_or_an_error() {
        let answer = b"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\n{}";
        assert_eq!(parse(answer).unwrap(), (404, &b"{}"[..]));
        assert!(parse(&answer[..answer.len() - 1]).is_err());
        assert!(parse(b"hello\r\n\r\n").is_err());
    }

    proptest! {
        #[test]
        fn any_answer_is_read_or_refused(bytes: Vec<u8>) {
            let _ = parse(&bytes);
        }
    }
}
