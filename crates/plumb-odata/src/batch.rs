//! `$batch`: several requests in one, read as they come in.
//!
//! # Source
//! OData Version 2.0, Batch Processing; RFC 2046, section 5.1; RFC 9112 for the requests within.

use std::mem;

use hyper::header::{ACCEPT, HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, StatusCode, Uri};

use crate::change_set::{self, Change};
use crate::multipart::{boundary, printable};
use crate::refusal::Refusal;
use crate::sap_path::SapPath;
use crate::service::Service;

/// Requests in one.
const PARTS_MAX: usize = 100;
/// Bytes of a line outside the body of a request within.
const LINE_MAX: usize = 8 << 10;
/// Bytes of all changes of a batch.
const CHANGES_MAX: usize = 1 << 20;
/// Header lines of a request within, and of the part around it.
const HEADERS_MAX: usize = 64;
/// Headers that belong to the connection, or to the batch as a whole: who asks is said there.
const OF_THE_WHOLE: [&str; 9] = [
    "authorization",
    "connection",
    "content-length",
    "cookie",
    "expect",
    "host",
    "te",
    "transfer-encoding",
    "upgrade",
];

/// A part of a batch.
#[derive(Debug)]
pub struct Part {
    /// The `Content-ID` of the part, which its answer repeats.
    pub name: Option<String>,
    /// What it asks, or why that cannot be told.
    pub asks: Result<Asks, Refusal>,
    /// The headers of the request within, those that belong to the batch left out.
    pub headers: HeaderMap,
}

/// What a part of a batch asks.
#[derive(Debug)]
pub enum Asks {
    /// To read: path and query from the root of the server.
    Read(Uri),
    /// To change, all or nothing.
    Changes(Vec<Change>),
}

/// Reads a batch as it comes in, and keeps nothing of it but the heads of its requests, and its changes.
#[derive(Debug)]
pub struct Parser {
    service: Service,
    /// `--` and the boundary.
    delimiter: Vec<u8>,
    line: Vec<u8>,
    place: Section,
    /// The part that is being read.
    current: Current,
    parts: Vec<Part>,
    /// Bytes of changes that were kept.
    kept: usize,
}

/// What the next line belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Section {
    /// Before the first part.
    Preamble,
    /// The headers of a part.
    Head,
    /// The request within, from its first line on.
    Request,
    /// The headers of that.
    Headers,
    /// What follows them, until the next part.
    Rest,
    /// A set of changes.
    Changes,
    /// Behind the last part.
    Epilogue,
}

#[derive(Debug, Default)]
struct Current {
    content_type: String,
    name: Option<String>,
    headers: usize,
    uri: Option<Uri>,
    fields: HeaderMap,
    wrong: Option<Refusal>,
    /// A set of changes, and where its last line begins.
    changes: Option<Vec<u8>>,
    line_at: usize,
}

impl Parser {
    /// A reader of a batch for `service` with this header `Content-Type`.
    ///
    /// # Errors
    /// [`Refusal`] when that names no boundary.
    pub fn new(service: Service, content_type: &str) -> Result<Self, Refusal> {
        let boundary = boundary(content_type).ok_or_else(|| {
            Refusal::bad_request("a batch has the type multipart/mixed with a boundary")
        })?;
        Ok(Self {
            service,
            delimiter: format!("--{boundary}").into_bytes(),
            line: Vec::new(),
            place: Section::Preamble,
            current: Current::default(),
            parts: Vec::new(),
            kept: 0,
        })
    }

    /// Takes the next `bytes` of the batch.
    ///
    /// # Errors
    /// [`Refusal`] when they cannot belong to one.
    pub fn take(&mut self, bytes: &[u8]) -> Result<(), Refusal> {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let room = LINE_MAX.saturating_sub(self.line.len());
            let skipped = matches!(
                self.place,
                Section::Preamble | Section::Rest | Section::Changes | Section::Epilogue
            );
            if self.place == Section::Changes {
                self.keep_changes(piece)?;
            }
            if piece.len() > room && !skipped {
                return Err(malformed(&format!("a line is longer than {LINE_MAX} bytes")));
            }
            // of what is skipped, so much is kept as tells a delimiter
            self.line.extend(&piece[..piece.len().min(room)]);
            if piece.ends_with(b"\n") {
                self.end_of_line()?;
            }
        }
        Ok(())
    }

    /// Keeps the next bytes of a set of changes.
    fn keep_changes(&mut self, piece: &[u8]) -> Result<(), Refusal> {
        self.kept += piece.len();
        if self.kept > CHANGES_MAX {
            return Err(malformed(&format!("its changes have more than {CHANGES_MAX} bytes")));
        }
        self.current.changes.get_or_insert_default().extend(piece);
        Ok(())
    }

    /// The parts, once all has come in.
    ///
    /// # Errors
    /// [`Refusal`] when something is missing.
    pub fn finish(mut self) -> Result<Vec<Part>, Refusal> {
        if !self.line.is_empty() {
            self.end_of_line()?;
        }
        match (self.place, self.parts.is_empty()) {
            (Section::Epilogue, false) => Ok(self.parts),
            (Section::Epilogue, true) => Err(malformed("nothing stands in it")),
            _ => Err(malformed("its last boundary is missing")),
        }
    }

    fn end_of_line(&mut self) -> Result<(), Refusal> {
        let line = mem::take(&mut self.line);
        let line = line.trim_ascii_end();
        if self.place != Section::Epilogue
            && let Some(behind) = line.strip_prefix(self.delimiter.as_slice())
            && (behind.is_empty() || behind == b"--")
        {
            return self.next_part(!behind.is_empty());
        }
        match self.place {
            // the first one of a set of changes says in which form its refusal is understood
            Section::Rest if self.current.wrong.is_some() => self.accept(line),
            Section::Preamble | Section::Rest | Section::Epilogue => {}
            Section::Changes => {
                self.current.line_at = self.current.changes.as_ref().map_or(0, Vec::len);
            }
            Section::Head => return self.head(line),
            Section::Request if line.is_empty() => {} // as clients put before it
            Section::Request => {
                match request_line(self.service, line) {
                    Ok(uri) => self.current.uri = Some(uri),
                    Err(refusal) => self.current.wrong = Some(refusal),
                }
                self.place = Section::Headers;
            }
            Section::Headers if line.is_empty() => self.place = Section::Rest,
            Section::Headers => self.header(line),
        }
        Ok(())
    }

    fn next_part(&mut self, last: bool) -> Result<(), Refusal> {
        match self.place {
            Section::Preamble => {}
            Section::Head => return Err(malformed("a part has no empty line")),
            _ => self.keep()?,
        }
        self.place = if last { Section::Epilogue } else { Section::Head };
        Ok(())
    }

    /// Keeps the part that has been read.
    fn keep(&mut self) -> Result<(), Refusal> {
        if self.parts.len() == PARTS_MAX {
            return Err(malformed(&format!("it has more than {PARTS_MAX} parts")));
        }
        let Current { content_type, name, uri, fields, wrong, changes, line_at, .. } =
            mem::take(&mut self.current);
        let asks = match (wrong, uri, changes) {
            (Some(wrong), ..) => Err(wrong),
            (None, Some(uri), _) => Ok(Asks::Read(uri)),
            (None, None, Some(changes)) => {
                change_set::parse(&content_type, &changes[..line_at]).map(Asks::Changes)
            }
            (None, None, None) => Err(Refusal::bad_request("a part holds no request")),
        };
        self.parts.push(Part { name, asks, headers: fields });
        Ok(())
    }

    /// A header line of a part, or the empty line behind them.
    fn head(&mut self, line: &[u8]) -> Result<(), Refusal> {
        if line.is_empty() {
            let kind = self.current.content_type.split(';').next().unwrap_or("").trim();
            self.place = match kind.to_ascii_lowercase().as_str() {
                "application/http" => Section::Request,
                "multipart/mixed" if self.service != Service::Compatibility => Section::Changes,
                "multipart/mixed" => {
                    let text = "a set of changes is refused: the compatibility mode only reads";
                    self.current.wrong = Some(Refusal::new(StatusCode::NOT_IMPLEMENTED, text));
                    Section::Rest
                }
                _ => return Err(malformed("a part is no application/http")),
            };
            return Ok(());
        }
        self.current.headers += 1;
        if self.current.headers > HEADERS_MAX {
            return Err(malformed(&format!("a part has more than {HEADERS_MAX} header lines")));
        }
        let line = String::from_utf8_lossy(line);
        let Some((name, value)) = line.split_once(':') else { return Ok(()) };
        match name.trim().to_ascii_lowercase().as_str() {
            "content-type" => self.current.content_type = value.trim().to_owned(),
            "content-id" => self.current.name = printable(value.trim()),
            _ => {}
        }
        Ok(())
    }

    fn accept(&mut self, line: &[u8]) {
        let Some((name, value)) = line.split_at_checked(7) else { return };
        if name.eq_ignore_ascii_case(b"accept:")
            && !self.current.fields.contains_key(ACCEPT)
            && let Ok(value) = HeaderValue::from_bytes(value.trim_ascii())
        {
            self.current.fields.insert(ACCEPT, value);
        }
    }

    /// A header line of a request within.
    fn header(&mut self, line: &[u8]) {
        let current = &mut self.current;
        let read = || {
            let at = line.iter().position(|byte| *byte == b':')?;
            let name = HeaderName::from_bytes(line[..at].trim_ascii()).ok()?;
            Some((name, HeaderValue::from_bytes(line[at + 1..].trim_ascii()).ok()?))
        };
        match read() {
            Some((name, _)) if OF_THE_WHOLE.contains(&name.as_str()) => {}
            Some((name, value)) if current.fields.len() < HEADERS_MAX => {
                current.fields.append(name, value);
            }
            Some(_) => {
                let text = format!("a request has more than {HEADERS_MAX} header lines");
                current.wrong = Some(Refusal::bad_request(text));
            }
            None => {
                let text = format!("`{}` is no header", String::from_utf8_lossy(line));
                current.wrong = Some(Refusal::bad_request(text));
            }
        }
    }
}

/// What a request within reads, from the root of the server.
fn request_line(service: Service, line: &[u8]) -> Result<Uri, Refusal> {
    let line = String::from_utf8_lossy(line);
    let wrong =
        || Refusal::bad_request(format!("`{line}` is no request such as GET NAME HTTP/1.1"));
    let (method, rest) = line.split_once(' ').ok_or_else(wrong)?;
    let (target, version) = rest.rsplit_once(' ').ok_or_else(wrong)?;
    let method: Method = method.parse().map_err(|_| wrong())?;
    if target.is_empty() || !["HTTP/1.1", "HTTP/1.0"].contains(&version) {
        return Err(wrong());
    }
    if method != Method::GET {
        let text = "outside a set of changes only GET is known";
        return Err(Refusal::new(StatusCode::METHOD_NOT_ALLOWED, text));
    }
    // some clients leave the spaces of a filter as they are
    let target = target.trim().replace(' ', "%20");
    let uri: Uri = if target.starts_with('/') || target.contains("://") {
        target.parse().map_err(|_| wrong())?
    } else {
        format!("/sap{}/{target}", service.root()).parse().map_err(|_| wrong())?
    };
    let inside = SapPath::parse(uri.path()).and_then(|path| Service::at(path.rest));
    if inside.is_none_or(|(found, _)| found != service) {
        return Err(Refusal::bad_request(format!("`{target}` is no part of this service")));
    }
    Ok(uri)
}

fn malformed(problem: &str) -> Refusal {
    Refusal::bad_request(format!("the batch is malformed: {problem}"))
}

#[cfg(test)]
mod tests;
