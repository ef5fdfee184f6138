//! OTLP/HTTP on loopback: exporters send their spans here.

use std::io::Read as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use bytes::Bytes;
use flate2::read::MultiGzDecoder;
use hyper::body::Incoming;
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderValue};
use hyper::{Method, Response, StatusCode};
use plumb_engine::{Listener, Stop};
use plumb_measure::Span as Time;
use plumb_serve::settings::kib;
use plumb_serve::{Body, ConnectionLimits, Counters, HttpServer, HttpService, Peer, Request};

use crate::otlp::{read_json, read_protobuf};
use crate::store::SpanStore;
use crate::{TraceError, error::OtlpError};

/// Bytes of a request, and of what it is when it is unpacked.
const BODY_KIB_MAX: u64 = 16 << 10;
const UNPACKED_MAX: u64 = 64 << 20;
/// Exporters connected at once.
const CONNECTIONS_MAX: usize = 64;
const HEAD_KIB_MAX: u64 = 16;
/// A request must be there within this.
const PATIENCE: Time = Time::from_ms(10_000);
/// An exporter keeps its connection from one batch to the next.
const KEEP_ALIVE: Time = Time::from_ms(120_000);
/// What is under way at the end has this long.
const FAREWELL: Time = Time::from_ms(200);

/// A server of OTLP/HTTP, while it lives.
#[derive(Debug)]
pub(crate) struct Receiver {
    heard: Arc<Mutex<Heard>>,
    stop: Arc<Stop>,
    thread: Option<JoinHandle<()>>,
    address: String,
}

#[derive(Debug)]
struct Heard {
    store: SpanStore,
    /// What was wrong with the first request that could not be read.
    complaint: Option<String>,
}

impl Receiver {
    /// Listens on `port` of 127.0.0.1; 0 takes any that is free.
    ///
    /// # Errors
    /// [`TraceError::Port`].
    pub(crate) fn listen(port: u16) -> Result<Self, TraceError> {
        let failed =
            |cause: &dyn std::fmt::Display| TraceError::Port { port, cause: cause.to_string() };
        let listeners = Listener::bind_all(&[format!("127.0.0.1:{port}")], port)
            .map_err(|cause| failed(&cause))?;
        let address = listeners.first().map(Listener::local).unwrap_or_default();
        let heard = Arc::new(Mutex::new(Heard { store: SpanStore::new(0), complaint: None }));
        let site = Site {
            heard: Arc::clone(&heard),
            counters: Counters::default(),
            limits: ConnectionLimits {
                allow: Vec::new(),
                connections: CONNECTIONS_MAX,
                header_size: kib(HEAD_KIB_MAX),
                keep_alive: KEEP_ALIVE,
                stall: PATIENCE,
            },
        };
        let server = HttpServer::new(site, None, 1, FAREWELL).map_err(|cause| failed(&cause))?;
        let stop = Arc::new(Stop::new().map_err(|cause| failed(&cause))?);
        let ends = Arc::clone(&stop);
        // it ends when it is told to; who sends then is refused by the kernel
        let thread = std::thread::spawn(move || drop(server.run(listeners, &ends)));
        Ok(Self { heard, stop, thread: Some(thread), address })
    }

    /// Where it listens: HOST:PORT.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// From now on spans of `run` are kept, and none else.
    pub(crate) fn begin(&self, run: u64) {
        lock(&self.heard).store = SpanStore::new(run);
    }

    /// What `look` sees in the spans so far.
    pub(crate) fn look<T>(&self, look: impl FnOnce(&SpanStore) -> T) -> T {
        look(&lock(&self.heard).store)
    }

    /// The spans so far; none are kept any more.
    pub(crate) fn take(&self) -> SpanStore {
        std::mem::replace(&mut lock(&self.heard).store, SpanStore::new(0))
    }

    /// What was wrong with the first request that could not be read, once.
    pub(crate) fn complaint(&self) -> Option<String> {
        lock(&self.heard).complaint.take()
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.stop.ask();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join(); // what came stands
        }
    }
}

fn lock(heard: &Mutex<Heard>) -> MutexGuard<'_, Heard> {
    heard.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Site {
    heard: Arc<Mutex<Heard>>,
    counters: Counters,
    limits: ConnectionLimits,
}

/// The two forms of OTLP/HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Json,
    Protobuf,
}

impl Form {
    fn of(content_type: &str) -> Option<Self> {
        let kind = content_type.split(';').next().unwrap_or_default().trim();
        [Self::Json, Self::Protobuf].into_iter().find(|it| kind.eq_ignore_ascii_case(it.text()))
    }

    fn text(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Protobuf => "application/x-protobuf",
        }
    }
}

/// A request that is not taken.
struct Refused {
    status: StatusCode,
    text: String,
}

impl HttpService for Site {
    async fn answer(&self, request: hyper::Request<Incoming>, peer: Peer) -> Response<Body> {
        self.counters.requests();
        let size = kib(BODY_KIB_MAX);
        let taken = match Request::read(request, peer, size, PATIENCE).await {
            Ok(request) => self.take(&request),
            Err(error) => Err(Refused { status: StatusCode::BAD_REQUEST, text: error.to_string() }),
        };
        match taken {
            // an ExportTraceServiceResponse without a word: all was taken
            Ok(Form::Json) => answer(StatusCode::OK, Form::Json.text(), "{}".into()),
            Ok(Form::Protobuf) => answer(StatusCode::OK, Form::Protobuf.text(), String::new()),
            Err(Refused { status, text }) => {
                let complaint = format!("a request was answered with {}: {text}", status.as_u16());
                lock(&self.heard).complaint.get_or_insert(complaint);
                answer(status, "text/plain; charset=utf-8", text + "\n")
            }
        }
    }

    fn is_urgent(&self, _: &hyper::Request<Incoming>) -> bool {
        false
    }

    fn limits(&self) -> &ConnectionLimits {
        &self.limits
    }

    fn counters(&self) -> &Counters {
        &self.counters
    }

    fn tell(&self, event: String) {
        lock(&self.heard).complaint.get_or_insert(event);
    }
}

impl Site {
    fn take(&self, request: &Request) -> Result<Form, Refused> {
        let refused = |status, text: &str| Err(Refused { status, text: text.into() });
        if request.path() != "/v1/traces" {
            return refused(StatusCode::NOT_FOUND, "only traces are taken: POST /v1/traces");
        }
        if request.method() != Method::POST {
            return refused(StatusCode::METHOD_NOT_ALLOWED, "traces are sent with POST");
        }
        let Some(form) = Form::of(request.header("content-type")) else {
            let text = "the Content-Type of OTLP is application/json or application/x-protobuf";
            return refused(StatusCode::UNSUPPORTED_MEDIA_TYPE, text);
        };
        let coding = request.header("content-encoding").to_ascii_lowercase();
        let unpacked;
        let bytes: &[u8] = match coding.as_str() {
            "" | "identity" => &request.body,
            "gzip" => {
                unpacked = unpack(&request.body)?;
                &unpacked
            }
            _ => {
                let text = "only gzip is unpacked";
                return refused(StatusCode::UNSUPPORTED_MEDIA_TYPE, text);
            }
        };
        self.read(form, bytes)
            .map_err(|it| Refused { status: StatusCode::BAD_REQUEST, text: it.to_string() })?;
        Ok(form)
    }

    fn read(&self, form: Form, bytes: &[u8]) -> Result<(), OtlpError> {
        // a request is taken as a whole or not at all
        let mut spans = Vec::new();
        match form {
            Form::Json => read_json(bytes, |span| spans.push(span)),
            Form::Protobuf => read_protobuf(bytes, |span| spans.push(span)),
        }?;
        let store = &mut lock(&self.heard).store;
        spans.into_iter().for_each(|span| store.take(span));
        Ok(())
    }
}

fn unpack(bytes: &[u8]) -> Result<Vec<u8>, Refused> {
    let mut unpacked = Vec::new();
    let read = MultiGzDecoder::new(bytes).take(UNPACKED_MAX + 1).read_to_end(&mut unpacked);
    match read {
        Ok(length) if length as u64 <= UNPACKED_MAX => Ok(unpacked),
        Ok(_) => {
            let text = format!("unpacked it is longer than {} MiB", UNPACKED_MAX >> 20);
            Err(Refused { status: StatusCode::PAYLOAD_TOO_LARGE, text })
        }
        Err(cause) => {
            let text = format!("the gzip of the body is broken: {cause}");
            Err(Refused { status: StatusCode::BAD_REQUEST, text })
        }
    }
}

fn answer(status: StatusCode, kind: &'static str, text: String) -> Response<Body> {
    let mut answer = Response::new(Body::whole(Bytes::from(text)));
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    if status == StatusCode::METHOD_NOT_ALLOWED {
        answer.headers_mut().insert(ALLOW, HeaderValue::from_static("POST"));
    }
    answer
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::net::TcpStream;

    use flate2::write::GzEncoder;
    use plumb_measure::TraceId;

    use super::*;

    fn span(run: u64) -> String {
        let trace = TraceId::of_run(run, 3).unwrap();
        format!(
            r#"{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{{"traceId":"{trace}","spanId":"00000000000000aa","startTimeUnixNano":"1","endTimeUnixNano":"2"}}]}}]}}]}}"#
        )
    }

    fn post(receiver: &Receiver, lines: &str, body: &[u8]) -> String {
        let mut stream = TcpStream::connect(receiver.address()).unwrap();
        let length = body.len();
        write!(
            stream,
            "POST /v1/traces HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{lines}Content-Length: {length}\r\n\r\n"
        )
        .unwrap();
        let _ = stream.write_all(body); // a refusal may come before the end
        let mut text = String::new();
        let _ = stream.read_to_string(&mut text);
        text
    }

    const JSON: &str = "Content-Type: application/json\r\n";

    #[test]
    fn spans_of_the_run_are_kept_packed_or_not() {
        let receiver = Receiver::listen(0).unwrap();
        receiver.begin(1);
        assert!(post(&receiver, JSON, span(1).as_bytes()).starts_with("HTTP/1.1 200 "));
        assert!(post(&receiver, JSON, span(2).as_bytes()).starts_with("HTTP/1.1 200 "));
        let packed = |bytes: &[u8]| {
            let mut packed = GzEncoder::new(Vec::new(), flate2::Compression::fast());
            packed.write_all(bytes).unwrap();
            packed.finish().unwrap()
        };
        let lines = format!("{JSON}Content-Encoding: gzip\r\n");
        let said = post(&receiver, &lines, &packed(span(1).as_bytes()));
        assert!(said.starts_with("HTTP/1.1 200 ") && said.ends_with("{}"), "{said}");
        let members = span(1).as_bytes().chunks(50).flat_map(packed).collect::<Vec<u8>>();
        let said = post(&receiver, &lines, &members);
        assert!(said.starts_with("HTTP/1.1 200 "), "{said}");
        let store = receiver.take();
        assert_eq!((store.of(TraceId::of_run(1, 3).unwrap()).len(), store.foreign()), (1, 1));
        assert_eq!(receiver.complaint(), None);
    }

    #[test]
    fn what_is_no_otlp_is_refused_and_the_first_refusal_told() {
        let receiver = Receiver::listen(0).unwrap();
        receiver.begin(1);
        let broken = format!("{JSON}Content-Encoding: gzip\r\n");
        let protobuf = "Content-Type: application/x-protobuf\r\n";
        for (lines, body, status) in [
            (JSON, "{", "400"),
            (protobuf, "no protobuf", "400"),
            ("Content-Type: text/plain\r\n", "x", "415"),
            (&broken, "x", "400"),
            ("Content-Type: application/json\r\nContent-Encoding: br\r\n", "x", "415"),
        ] {
            let said = post(&receiver, lines, body.as_bytes());
            assert!(said.starts_with(&format!("HTTP/1.1 {status} ")), "{lines} {said}");
        }
        let complaint = receiver.complaint().unwrap();
        assert!(complaint.starts_with("a request was answered with 400: EOF"), "{complaint}");
        assert!(post(&receiver, JSON, span(1).as_bytes()).starts_with("HTTP/1.1 200 "));
    }

    #[test]
    fn a_port_that_is_taken_is_named() {
        let receiver = Receiver::listen(0).unwrap();
        let port: u16 = receiver.address().rsplit(':').next().unwrap().parse().unwrap();
        let error = Receiver::listen(port).unwrap_err().to_string();
        assert!(error.starts_with(&format!("--otlp-port {port}: ")), "{error}");
    }
}
