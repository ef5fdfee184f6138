//! Who is told.

use std::fmt;
use std::io::{self, ErrorKind, Read, Write as _};
use std::net::IpAddr;

use plumb_engine::tls::TrustOptions;
use plumb_measure::{Span, counted};
use plumb_serve::link::{Encryption, Links};
use plumb_wire::http::{Ask, Body, Memo, Scheme, Url};

use crate::{Family, Identity, TelemetryError, credentials, otlp, remote_write};

/// A request is answered within this time.
const PATIENCE: Span = Span::from_ms(5_000);
/// Bytes of an answer that are read at most.
const ANSWER_MAX: usize = 64 << 10;
/// Characters of a refusal that are shown.
const SAID_MAX: usize = 160;

/// What a receiver speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceiverKind {
    /// OTLP over HTTP, as protobuf.
    Otlp,
    /// Prometheus remote write 1.0.
    RemoteWrite,
}

impl ReceiverKind {
    /// The option that names one, without its hyphens.
    #[must_use]
    pub fn option(self) -> &'static str {
        match self {
            Self::Otlp => "otlp",
            Self::RemoteWrite => "remote-write",
        }
    }

    /// What the variables of its credentials begin with.
    fn variables(self) -> &'static str {
        match self {
            Self::Otlp => "PLUMB_OTLP",
            Self::RemoteWrite => "PLUMB_REMOTE_WRITE",
        }
    }

    /// Where it listens, unless the URL says so.
    fn path(self) -> &'static str {
        match self {
            Self::Otlp => "/v1/metrics",
            Self::RemoteWrite => "/api/v1/write",
        }
    }

    fn headers(self) -> &'static str {
        match self {
            Self::Otlp => "Content-Type: application/x-protobuf\r\n",
            Self::RemoteWrite => {
                "Content-Type: application/x-protobuf\r\nContent-Encoding: snappy\r\n\
                 X-Prometheus-Remote-Write-Version: 0.1.0\r\n"
            }
        }
    }
}

/// A server that stores figures.
#[derive(Clone)]
pub struct Receiver {
    kind: ReceiverKind,
    url: Url,
    encryption: Option<Encryption>,
    authorization: Option<String>,
    patience: Span,
}

impl fmt::Debug for Receiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // and no secret
        f.debug_struct("Receiver").field("url", &self.shown()).finish_non_exhaustive()
    }
}

impl Receiver {
    /// The receiver of `kind` at `url`. Nobody is asked yet. Credentials come from the environment.
    ///
    /// # Errors
    /// [`TelemetryError`] for what is no URL, or holds a password; for credentials that contradict
    /// each other, or would travel unencrypted to another machine.
    pub fn new(kind: ReceiverKind, url: &str) -> Result<Self, TelemetryError> {
        Self::named(kind, url, |name| std::env::var(name).ok())
    }

    fn named(
        kind: ReceiverKind,
        url: &str,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, TelemetryError> {
        let option = kind.option();
        let parsed = Url::parse(url).map_err(|cause| TelemetryError::Url {
            option,
            url: plumb_wire::secret::masked(url, &plumb_wire::secret::in_commands(url)),
            variables: kind.variables(),
            cause,
        })?;
        let parsed = match parsed.target() {
            "/" => parsed.join(kind.path()).unwrap_or(parsed),
            _ => parsed,
        };
        let authorization = credentials::header(kind.variables(), variable)
            .map_err(|problem| TelemetryError::Credentials { option, problem })?;
        let encryption = match parsed.scheme() {
            Scheme::Https => Some(
                Encryption::new(&TrustOptions::default(), parsed.host())
                    .map_err(|cause| TelemetryError::Tls { option, cause: Box::new(cause) })?,
            ),
            Scheme::Http => None,
        };
        if authorization.is_some() && encryption.is_none() && !is_here(parsed.host()) {
            let problem = format!(
                "the credentials in {}_... would travel to {} unencrypted: write https://",
                kind.variables(),
                parsed.host()
            );
            return Err(TelemetryError::Credentials { option, problem });
        }
        Ok(Self { kind, url: parsed, encryption, authorization, patience: PATIENCE })
    }

    /// The same, which gives a request no more than `patience`.
    #[cfg(test)]
    pub(crate) fn impatient(self, patience: Span) -> Self {
        Self { patience, ..self }
    }

    /// What it speaks.
    #[must_use]
    pub fn kind(&self) -> ReceiverKind {
        self.kind
    }

    /// How long a request may take.
    pub(crate) fn patience(&self) -> Span {
        self.patience
    }

    /// Its URL, without secrets.
    #[must_use]
    pub fn shown(&self) -> String {
        self.url.masked()
    }

    /// The way to it, over which nothing was sent yet.
    pub(crate) fn links(&self) -> Links {
        let links = Links::new(self.url.host_and_port(), self.patience, 1);
        match self.encryption.clone() {
            Some(encryption) => links.encrypted(encryption),
            None => links,
        }
    }

    /// Tells it `families` at `now_ns` of a run that began at `start_ns`, nanoseconds since 1970.
    ///
    /// # Errors
    /// When it does not answer in time, or refuses, with what it said.
    pub(crate) fn tell(
        &self,
        links: &Links,
        families: &[Family],
        identity: &Identity,
        (start_ns, now_ns): (u64, u64),
    ) -> io::Result<()> {
        let body = match self.kind {
            ReceiverKind::Otlp => otlp::encode(families, identity, (start_ns, now_ns)),
            ReceiverKind::RemoteWrite => remote_write::encode(families, identity, now_ns),
        };
        let head = self.head(body.len());
        let mut link = links.take().ok_or(io::ErrorKind::NotConnected)?;
        let answer = link.ask_fresh(self.patience, |connection| {
            connection.get_mut().write_all(head.as_bytes())?;
            connection.get_mut().write_all(&body)?;
            read(connection, self.kind)
        });
        link.discard();
        judge(&answer?, self.kind)
    }

    fn head(&self, length: usize) -> String {
        let mut head = format!(
            "POST {} HTTP/1.1\r\nHost: {}\r\nUser-Agent: plumb\r\nConnection: close\r\n\
             Content-Length: {length}\r\n{}",
            self.url.target(),
            self.url.authority(),
            self.kind.headers(),
        );
        if let Some(words) = &self.authorization {
            head += &format!("Authorization: {words}\r\n");
        }
        head + "\r\n"
    }
}

/// True for a name or number of this machine.
fn is_here(host: &str) -> bool {
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// Reads an answer to its end, as far as it tells where that is. Where a success says that everything
/// was taken its head is enough, and what else has a head is judged by what came of it: servers close a
/// connection without a word of TLS, or keep it.
fn read(connection: &mut impl Read, kind: ReceiverKind) -> io::Result<Vec<u8>> {
    let (mut answer, mut piece) = (Vec::new(), [0; 4 << 10]);
    let mut memo = Memo::new(Ask::Content);
    loop {
        let head = memo.read(&answer).ok().flatten();
        let complete = head.is_some_and(|(head, length)| {
            let body = Body::new(head.framing).take(&answer[length..]);
            let says_all = kind == ReceiverKind::RemoteWrite && (200..300).contains(&head.status);
            says_all || body.is_ok_and(|taken| taken.complete)
        });
        if complete || answer.len() >= ANSWER_MAX {
            return Ok(answer);
        }
        match connection.read(&mut piece) {
            Ok(0) => return Ok(answer),
            Ok(count) => answer.extend_from_slice(&piece[..count]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) if head.is_some() => return Ok(answer),
            Err(error) => return Err(error),
        }
    }
}

/// Whether an answer says that everything was taken.
fn judge(answer: &[u8], kind: ReceiverKind) -> io::Result<()> {
    let text = String::from_utf8_lossy(answer);
    let status = text.strip_prefix("HTTP/1.").and_then(|rest| rest.get(2..5)?.parse::<u16>().ok());
    let said = |what: String, words: &str| {
        let words: String =
            words.chars().map(|c| if c.is_control() { ' ' } else { c }).take(SAID_MAX).collect();
        Err(io::Error::other(format!("{what}: {}", words.trim()).trim_end_matches(": ").to_owned()))
    };
    match status {
        Some(200..=299) if kind == ReceiverKind::Otlp => match otlp::rejected(&content(answer)) {
            Some((points, why)) => {
                said(format!("it rejects {}", counted(points, "data point")), &why)
            }
            None => Ok(()),
        },
        Some(200..=299) => Ok(()),
        Some(status) => {
            let body = text.split_once("\r\n\r\n").map_or("", |(_, body)| body);
            said(format!("it answers {status}"), body)
        }
        None => Err(io::Error::other("it does not answer as HTTP")),
    }
}

/// The content of an answer, without its framing.
fn content(answer: &[u8]) -> Vec<u8> {
    let mut content = Vec::new();
    if let Ok(Some((head, length))) = Memo::new(Ask::Content).read(answer) {
        let keep = |bytes: &[u8]| content.extend_from_slice(bytes);
        let _ = Body::new(head.framing).take_with(&answer[length..], keep); // as far as it can be read
    }
    content
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn receiver(url: &str, token: Option<&str>) -> Result<Receiver, TelemetryError> {
        let token = token.map(str::to_owned);
        Receiver::named(ReceiverKind::Otlp, url, |name| {
            token.clone().filter(|_| name == "PLUMB_OTLP_TOKEN")
        })
    }

    #[test]
    fn a_url_that_holds_a_password_is_told_the_variables_of_its_receiver() {
        for (kind, variables) in [
            (ReceiverKind::Otlp, "PLUMB_OTLP_USER and PLUMB_OTLP_PASSWORD"),
            (ReceiverKind::RemoteWrite, "PLUMB_REMOTE_WRITE_USER and PLUMB_REMOTE_WRITE_PASSWORD"),
        ] {
            let refused = Receiver::named(kind, "http://u:s3cret@127.0.0.1/", |_| None);
            let said = refused.unwrap_err().to_string();
            assert!(said.contains(variables) && !said.contains("s3cret"), "{said}");
            assert!(!said.contains("PLUMB_HTTP"), "{said}");
        }
    }

    #[test]
    fn a_url_without_a_path_means_the_usual_one() {
        let target = |url| receiver(url, None).expect("a receiver").url.target().to_owned();
        assert_eq!(target("http://127.0.0.1:4318"), "/v1/metrics");
        assert_eq!(target("http://127.0.0.1:4318/otlp/v1/metrics"), "/otlp/v1/metrics");
        let receiver = receiver("http://127.0.0.1:4318", Some("abc")).expect("a receiver");
        let head = receiver.head(7);
        assert!(head.contains("\r\nAuthorization: Bearer abc\r\n"), "{head}");
        assert!(head.contains("\r\nContent-Length: 7\r\n"), "{head}");
        assert!(!format!("{receiver:?}").contains("abc"));
    }

    #[test]
    fn what_cannot_be_used_is_refused() {
        for (url, token, said) in [
            ("collector:4318", None, "--otlp collector:4318: "),
            ("http://a:b@collector:4318", None, "--otlp "),
            ("http://collector:4318", Some("abc"), "write https://"),
        ] {
            let refused = receiver(url, token).expect_err("it cannot be used").to_string();
            assert!(refused.contains(said) && !refused.contains("a:b"), "{refused}");
        }
    }

    #[test]
    fn an_answer_that_is_there_counts_however_its_connection_ends() {
        /// Brings `0`, and then fails.
        struct Broken<'a>(&'a [u8], ErrorKind);
        impl Read for Broken<'_> {
            fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
                match self.0.read(&mut bytes[..7])? {
                    0 => Err(self.1.into()),
                    count => Ok(count),
                }
            }
        }
        // closed without a word, and kept until patience is over
        for end in [ErrorKind::UnexpectedEof, ErrorKind::TimedOut] {
            for (answer, most) in [
                ("HTTP/1.1 204 No Content\r\n\r\n", 0),
                ("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}", 2),
                ("HTTP/1.1 400 Bad\r\nContent-Length: 2\r\n\r\nno", 0),
                ("HTTP/1.1 400 Bad\r\n\r\nno", 0),
                ("HTTP/1.1 400 Bad\r\nContent-Length: 9\r\n\r\nno", 0),
            ] {
                let kind = ReceiverKind::RemoteWrite;
                let read = read(&mut Broken(answer.as_bytes(), end), kind).expect("an answer");
                assert!(answer.len() - read.len() <= most, "{answer}");
            }
            for cut in ["", "HTTP/1.1 204 No Content\r\n"] {
                let kind = ReceiverKind::RemoteWrite;
                let failed = read(&mut Broken(cut.as_bytes(), end), kind).expect_err("none");
                assert_eq!(failed.kind(), end, "{cut}");
            }
        }
    }

    #[test]
    fn only_a_success_is_one() {
        let judge = |answer: &[u8]| judge(answer, ReceiverKind::RemoteWrite);
        assert!(judge(b"HTTP/1.1 204 No Content\r\n\r\n").is_ok());
        let said = |answer: &[u8]| judge(answer).expect_err("a refusal").to_string();
        assert_eq!(said(b"HTTP/1.1 404 Not Found\r\n\r\n"), "it answers 404");
        assert_eq!(
            said(b"HTTP/1.1 400 Bad\r\nA: b\r\n\r\nout of\norder"),
            "it answers 400: out of order"
        );
        assert_eq!(said(b"SSH-2.0"), "it does not answer as HTTP");
    }

    #[test]
    fn a_success_that_rejects_points_is_a_refusal_by_otlp() {
        let outcome = |head: &str, body: &[u8], kind| {
            let whole = [b"HTTP/1.1 200 OK\r\n", head.as_bytes(), b"\r\n", body].concat();
            let answer = read(&mut &whole[..], kind).expect("an answer");
            judge(&answer, kind).map_err(|error| error.to_string())
        };
        let otlp = |head: &str, body: &[u8]| outcome(head, body, ReceiverKind::Otlp);
        let five = b"\x0a\x06\x08\x05\x12\x02no";
        let said = Err("it rejects 5 data points: no".to_owned());
        assert_eq!(otlp("Content-Length: 8\r\n", five), said);
        assert_eq!(otlp("", five), said, "up to the end of the connection");
        let chunks = b"3\r\n\x0a\x06\x08\r\n5\r\n\x05\x12\x02no\r\n0\r\n\r\n";
        assert_eq!(otlp("Transfer-Encoding: chunked\r\n", chunks), said);
        let one = b"\x0a\x04\x08\x01\x12\x00";
        assert_eq!(otlp("", one), Err("it rejects 1 data point".to_owned()));
        // a warning rejects nothing, and what is none of this form says nothing
        for taken in [&b"\x0a\x04\x12\x02no"[..], b"\x0a\x02\x08\x00", b"", b"{}", b"\x0a\x06\x08"]
        {
            assert_eq!(otlp("", taken), Ok(()), "{taken:?}");
        }
        assert_eq!(outcome("", five, ReceiverKind::RemoteWrite), Ok(()));
    }

    proptest! {
        #[test]
        fn any_answer_is_judged(bytes: Vec<u8>) {
            let _ = (judge(&bytes, ReceiverKind::RemoteWrite), judge(&bytes, ReceiverKind::Otlp));
            let mut answer = b"HTTP/1.1 200 OK\r\n\r\n".to_vec();
            answer.extend(bytes);
            let _ = judge(&answer, ReceiverKind::Otlp);
        }
    }
}
