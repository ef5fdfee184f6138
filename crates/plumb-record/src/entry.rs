//! An exchange as an entry of HAR.

use std::io::Read as _;

use flate2::read::MultiGzDecoder;
use hyper::header::{
    CONTENT_ENCODING, CONTENT_TYPE, COOKIE, HeaderMap, HeaderName, LOCATION, SET_COOKIE,
};
use plumb_engine::clock;
use plumb_scenario::har::{
    Cache, Content, Entry, Pair, Param, PostData, Request, Response, Timings,
};
use plumb_wire::charset::Charset;

use super::exchange::{Answered, Asked, Exchange, Moments, SentBody};
use super::form;
use super::kept::Kept;
use super::secrets::Secrets;

/// Decompressed bytes of a body that are kept for each byte that may be kept of one: a small answer
/// must not become a large one.
const EXPANSION_MAX: u64 = 16;
/// What does not apply, or is not known.
const UNKNOWN: i64 = -1;

/// Writes exchanges down.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Writer {
    pub(crate) secrets: Secrets,
    /// Bytes of a body that are kept at most.
    pub(crate) body_max: u64,
}

impl Writer {
    /// The entry of `exchange`, which is over.
    pub(crate) fn entry(&self, exchange: &Exchange) -> Entry {
        let mut remarks = Vec::new();
        let (request, sent_ns) = exchange
            .sent
            .with(|sent| (self.request(&exchange.asked, sent, &mut remarks), sent.ended));
        let response = match &exchange.answered {
            Some(answered) => self.response(answered, &exchange.received, &mut remarks),
            None => no_answer(),
        };
        let timings = timings(&exchange.moments, sent_ns);
        remarks.extend(exchange.problem.clone());
        Entry {
            pageref: None,
            started_date_time: clock::utc_ms(exchange.started_wall_ns),
            time: total(&timings),
            request,
            response,
            cache: Cache::default(),
            timings,
            resource_type: None,
            from_cache: false,
            connection: exchange.port.map(|port| port.to_string()),
            comment: (!remarks.is_empty()).then(|| remarks.join("; ")),
        }
    }

    fn request(&self, asked: &Asked, sent: &SentBody, remarks: &mut Vec<String>) -> Request {
        let url = self.secrets.url(&asked.url);
        let query = url.split_once('?').map_or("", |(_, query)| query);
        Request {
            method: asked.method.to_string(),
            query_string: form::pairs(query.split('#').next().unwrap_or_default()),
            url,
            http_version: format!("{:?}", asked.version),
            cookies: self.cookies(&asked.headers, &COOKIE),
            headers: self.headers(&asked.headers),
            post_data: self.post_data(&asked.headers, &sent.kept, remarks),
            headers_size: UNKNOWN,
            body_size: signed(sent.kept.length()),
        }
    }

    fn post_data(
        &self,
        headers: &HeaderMap,
        kept: &Kept,
        remarks: &mut Vec<String>,
    ) -> Option<PostData> {
        if kept.length() == 0 {
            return None;
        }
        let mime_type = first(headers, &CONTENT_TYPE);
        let text = match self.text(headers, kept) {
            Ok((text, _)) => self.secrets.body(&mime_type, &text),
            Err(why) => {
                remarks.push(format!("the body of the request is not kept: {why}"));
                String::new()
            }
        };
        let is_form = mime_type.starts_with("application/x-www-form-urlencoded");
        let pairs = if is_form { form::pairs(&text) } else { Vec::new() };
        let param = |Pair { name, value }| Param { name, value, file_name: None };
        let params = pairs.into_iter().map(param).collect();
        Some(PostData { mime_type, text, params })
    }

    fn response(&self, answered: &Answered, kept: &Kept, remarks: &mut Vec<String>) -> Response {
        let headers = &answered.headers;
        let mime_type = first(headers, &CONTENT_TYPE);
        let mut content =
            Content { size: signed(kept.length()), mime_type, text: None, encoding: None };
        if kept.length() > 0 {
            match self.text(headers, kept) {
                Ok((text, size)) => {
                    content.size = signed(size);
                    content.text = Some(self.secrets.body(&content.mime_type, &text));
                }
                Err(why) => remarks.push(format!("the body of the answer is not kept: {why}")),
            }
        }
        Response {
            status: answered.status.as_u16().into(),
            status_text: answered.reason.clone(),
            http_version: format!("{:?}", answered.version),
            cookies: self.cookies(headers, &SET_COOKIE),
            headers: self.headers(headers),
            content,
            redirect_url: self.secrets.url(&first(headers, &LOCATION)),
            headers_size: UNKNOWN,
            body_size: signed(kept.length()),
            transfer_size: None,
            failed: false,
        }
    }

    fn headers(&self, headers: &HeaderMap) -> Vec<Pair> {
        let pair = |(name, value): (&HeaderName, &hyper::header::HeaderValue)| Pair {
            name: name.as_str().into(),
            value: self.secrets.header(name.as_str(), &String::from_utf8_lossy(value.as_bytes())),
        };
        headers.iter().map(pair).collect()
    }

    /// The cookies that lines of `name` hold: all of a `Cookie`, the first pair of a `Set-Cookie`.
    fn cookies(&self, headers: &HeaderMap, name: &HeaderName) -> Vec<Pair> {
        let mut cookies = Vec::new();
        for value in headers.get_all(name) {
            let line =
                self.secrets.header(name.as_str(), &String::from_utf8_lossy(value.as_bytes()));
            let most = if *name == SET_COOKIE { 1 } else { usize::MAX };
            for cookie in line.split(';').take(most) {
                let (name, value) = cookie.trim().split_once('=').unwrap_or((cookie.trim(), ""));
                cookies.push(Pair { name: name.into(), value: value.into() });
            }
        }
        cookies
    }

    /// The text of a body, and its decompressed length in bytes.
    ///
    /// # Errors
    /// Why there is none.
    fn text(&self, headers: &HeaderMap, kept: &Kept) -> Result<(String, u64), String> {
        let mime = first(headers, &CONTENT_TYPE).to_ascii_lowercase();
        if !is_text(&mime) {
            return Err(format!("`{}` is no text", mime.split(';').next().unwrap_or_default()));
        }
        let bytes = kept.bytes()?;
        let encoding = first(headers, &CONTENT_ENCODING).to_ascii_lowercase();
        let bytes = match encoding.as_str() {
            "" | "identity" => bytes.to_vec(),
            "gzip" | "x-gzip" => self.decompressed(bytes)?,
            other => return Err(format!("it is encoded as {other}")),
        };
        let size = bytes.len() as u64;
        match String::from_utf8(bytes) {
            Ok(text) => Ok((text, size)),
            Err(error) => {
                let charset = Charset::of(&mime).ok_or("it is no UTF-8")?;
                Ok((charset.text(error.as_bytes()), size))
            }
        }
    }

    fn decompressed(&self, bytes: &[u8]) -> Result<Vec<u8>, String> {
        let most = self.body_max.saturating_mul(EXPANSION_MAX);
        let mut whole = Vec::new();
        let read = MultiGzDecoder::new(bytes).take(most.saturating_add(1)).read_to_end(&mut whole);
        match read {
            Ok(_) if whole.len() as u64 <= most => Ok(whole),
            Ok(_) => Err("decompressed it is longer than 16 times --keep-body".into()),
            Err(error) => Err(format!("it cannot be decompressed: {error}")),
        }
    }
}

/// True for content that is written as text. What has no type, and what scripts load, is.
fn is_text(mime: &str) -> bool {
    let text =
        ["text/", "json", "xml", "javascript", "ecmascript", "urlencoded", "multipart/form-data"];
    mime.is_empty() || text.iter().any(|part| mime.contains(part))
}

/// The answer of a server that gave none.
fn no_answer() -> Response {
    Response { headers_size: UNKNOWN, body_size: UNKNOWN, ..Response::default() }
}

fn first(headers: &HeaderMap, name: &HeaderName) -> String {
    let value = headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()));
    value.unwrap_or_default().into_owned()
}

/// The parts of the time. A request's body may still be sent while its answer comes, so the send
/// ends with the answer at the latest.
fn timings(moments: &Moments, sent_ns: Option<u64>) -> Timings {
    let part = Timings { blocked: -1.0, dns: -1.0, connect: -1.0, ssl: -1.0, ..Timings::default() };
    let Some(connected) = moments.connected else {
        // all that happened was trying to connect
        return Timings { blocked: ms(moments.ended - moments.started), ..part };
    };
    let way_ns = moments
        .way
        .map_or(0, |way| way.dns_ns.unwrap_or(0) + way.connect_ns + way.tls_ns.unwrap_or(0));
    let answered = moments.answered.unwrap_or(moments.ended);
    let sent = sent_ns.unwrap_or(answered).clamp(connected, answered);
    let mut timings = Timings {
        blocked: ms((connected - moments.started).saturating_sub(way_ns)),
        send: ms(sent - connected),
        wait: ms(answered - sent),
        receive: ms(moments.ended - answered),
        ..part
    };
    if let Some(way) = moments.way {
        timings.dns = way.dns_ns.map_or(-1.0, ms);
        timings.connect = ms(way.connect_ns + way.tls_ns.unwrap_or(0));
        timings.ssl = way.tls_ns.map_or(-1.0, ms);
    }
    timings
}

/// The sum of the parts that apply; `ssl` lies within `connect`.
fn total(timings: &Timings) -> f64 {
    let Timings { blocked, dns, connect, ssl: _, send, wait, receive } = *timings;
    let sum: f64 =
        [blocked, dns, connect, send, wait, receive].iter().filter(|part| **part > 0.0).sum();
    (sum * 1e6).round() / 1e6
}

/// Milliseconds.
#[expect(
    clippy::cast_precision_loss,
    reason = "a time stays far below 2^53 ns, which are 104 days"
)]
fn ms(ns: u64) -> f64 {
    ns as f64 / 1e6
}

fn signed(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::GzEncoder;
    use hyper::{Method, StatusCode, Version};

    use super::*;
    use crate::exchange::{ConnectTimes, Sent};
    use crate::kept::Room;

    const MASKING: Writer = Writer { secrets: Secrets::Masked, body_max: 1_000 };

    fn kept(bytes: &[u8]) -> Kept {
        let mut kept = Kept::new(&Room::default(), 1_000);
        kept.push(bytes);
        kept
    }

    fn headers(lines: &[(&'static str, &str)]) -> HeaderMap {
        let pair = |(name, value): &(&'static str, &str)| {
            (HeaderName::from_static(name), value.parse().unwrap())
        };
        lines.iter().map(pair).collect()
    }

    fn exchange(sent: &[u8], answer: &[u8], lines: &[(&'static str, &str)]) -> Exchange {
        let asked = Asked {
            method: Method::POST,
            url: "http://erp:8000/in?token=7&a=b%20c".into(),
            version: Version::HTTP_11,
            headers: headers(&[
                ("content-type", "application/x-www-form-urlencoded"),
                ("cookie", "sid=77; theme=dark"),
            ]),
        };
        let mut exchange = Exchange::begin(asked, Sent::new(kept(sent)), kept(answer));
        exchange.answered = Some(Answered {
            status: StatusCode::FOUND,
            reason: "Found".into(),
            version: Version::HTTP_11,
            headers: headers(lines),
        });
        exchange
    }

    #[test]
    fn an_entry_says_what_passed_and_masks_what_is_secret() {
        let lines = [
            ("content-type", "text/html; charset=utf-8"),
            ("location", "/home?sid=9"),
            ("set-cookie", "sid=9; Path=/"),
        ];
        let exchange = exchange(b"user=demo&password=geheim", b"hello", &lines);
        let entry = MASKING.entry(&exchange);
        assert_eq!(entry.request.url, "http://erp:8000/in?token=MASKED&a=b%20c");
        let pair = |name: &str, value: &str| Pair { name: name.into(), value: value.into() };
        assert_eq!(entry.request.query_string, [pair("token", "MASKED"), pair("a", "b c")]);
        assert_eq!(entry.request.cookies, [pair("sid", "MASKED"), pair("theme", "MASKED")]);
        let post = entry.request.post_data.unwrap();
        assert_eq!(post.text, "user=demo&password=MASKED");
        let fields = post.params.iter().map(|param| (param.name.as_str(), param.value.as_str()));
        assert_eq!(fields.collect::<Vec<_>>(), [("user", "demo"), ("password", "MASKED")]);
        assert_eq!(entry.request.body_size, 25);
        assert_eq!(
            (entry.response.status, entry.response.redirect_url.as_str()),
            (302, "/home?sid=MASKED")
        );
        assert_eq!(entry.response.cookies, [pair("sid", "MASKED")]);
        assert_eq!(entry.response.content.text.as_deref(), Some("hello"));
        assert_eq!(entry.comment, None);
        let text = serde_json::to_string(&MASKING.entry(&exchange)).unwrap();
        assert_eq!(serde_json::from_str::<Entry>(&text).unwrap(), MASKING.entry(&exchange));
        let open = Writer { secrets: Secrets::Kept, ..MASKING }.entry(&exchange);
        assert!(serde_json::to_string(&open).unwrap().contains("geheim"));
    }

    #[test]
    fn a_compressed_answer_is_written_as_text() {
        // a member for each half
        let member = |text: &str| {
            let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
            encoder.write_all(text.as_bytes()).unwrap();
            encoder.finish().unwrap()
        };
        let gzip = [member("gr"), member("ün")].concat();
        let lines = [("content-type", "text/plain"), ("content-encoding", "gzip")];
        let entry = MASKING.entry(&exchange(b"", &gzip, &lines));
        assert_eq!(entry.response.content.text.as_deref(), Some("grün"));
        assert_eq!(entry.response.content.size, 5);
        assert_eq!(entry.response.body_size, signed(gzip.len() as u64));
        let zeros = GzEncoder::new(Vec::new(), Compression::best());
        let bomb = {
            let mut zeros = zeros;
            zeros.write_all(&vec![b'0'; 100_000]).unwrap();
            zeros.finish().unwrap()
        };
        let entry = MASKING.entry(&exchange(b"", &bomb, &lines));
        assert!(entry.comment.unwrap().contains("longer than 16 times"), "a bomb");
    }

    #[test]
    fn what_is_not_kept_is_said() {
        for (lines, said) in [
            ([("content-type", "image/png"), ("x", "")], "`image/png` is no text"),
            ([("content-type", "text/html"), ("content-encoding", "br")], "encoded as br"),
            (
                [("content-type", "text/html"), ("content-encoding", "gzip")],
                "cannot be decompressed",
            ),
            ([("content-type", "text/html"), ("x", "")], "no UTF-8"),
        ] {
            let entry = MASKING.entry(&exchange(b"", b"\xff\xfe", &lines));
            assert_eq!(entry.response.content.text, None);
            assert_eq!(entry.response.body_size, 2);
            let comment = entry.comment.unwrap();
            assert!(comment.contains(said), "{comment}");
        }
        for (mime, bytes) in [
            ("text/html; charset=ISO-8859-1", b"gr\xfcn \x805"),
            ("text/html; charset=ISO-8859-15", b"gr\xfcn \xa45"),
        ] {
            let entry = MASKING.entry(&exchange(b"", bytes, &[("content-type", mime), ("x", "")]));
            assert_eq!(entry.response.content.text.as_deref(), Some("grün €5"));
        }
    }

    #[test]
    fn the_parts_of_the_time_add_up() {
        let ms = 1_000_000;
        let moments = Moments {
            started: 0,
            way: Some(ConnectTimes { dns_ns: Some(ms), connect_ns: 2 * ms, tls_ns: Some(3 * ms) }),
            connected: Some(7 * ms),
            answered: Some(20 * ms),
            ended: 25 * ms,
        };
        let parts = timings(&moments, Some(9 * ms));
        assert_eq!(
            parts,
            Timings {
                blocked: 1.0,
                dns: 1.0,
                connect: 5.0,
                ssl: 3.0,
                send: 2.0,
                wait: 11.0,
                receive: 5.0
            }
        );
        assert!((total(&parts) - 25.0).abs() < 1e-9);
        let reused = Moments { way: None, connected: Some(0), ..moments };
        let parts = timings(&reused, Some(30 * ms)); // the body went on behind the answer
        assert_eq!((parts.connect, parts.send, parts.wait), (-1.0, 20.0, 0.0));
        let failed = Moments { way: None, connected: None, answered: None, ..moments };
        assert!((total(&timings(&failed, None)) - 25.0).abs() < 1e-9);
    }
}
