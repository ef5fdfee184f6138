//! HAR 1.2 as it is written: what browsers and recording proxies save. Keys that nothing here
//! needs are passed over when one is read; `comment` and `_` keys of others among them.

mod lenient;

use serde::{Deserialize, Serialize};

/// The whole file.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Har {
    /// Its only member.
    pub log: Log,
}

/// All that was seen.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Log {
    /// `1.2`.
    pub version: String,
    /// Who wrote it.
    pub creator: Creator,
    /// Pages, where the writer knows them.
    #[serde(default, deserialize_with = "lenient::list")]
    pub pages: Vec<Page>,
    /// Requests with their answers, in any order.
    #[serde(deserialize_with = "lenient::list")]
    pub entries: Vec<Entry>,
}

/// Who wrote the file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct Creator {
    /// The program.
    pub name: String,
    /// Its version.
    pub version: String,
}

/// A page that caused requests.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Page {
    /// ISO 8601.
    pub started_date_time: String,
    /// What entries refer to.
    pub id: String,
    /// Its title or address.
    #[serde(default, deserialize_with = "lenient::or_usual")]
    pub title: String,
    /// Moments of the page; nothing of them is needed.
    #[serde(default, deserialize_with = "lenient::or_usual")]
    pub page_timings: PageTimings,
}

/// Moments of a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct PageTimings {}

/// A request and its answer.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    /// The page that caused it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pageref: Option<String>,
    /// ISO 8601 with its zone.
    pub started_date_time: String,
    /// Milliseconds from the beginning to the last byte; 0 where the writer did not say.
    #[serde(default, deserialize_with = "lenient::or_usual")]
    pub time: f64,
    /// What was asked.
    pub request: Request,
    /// What was answered.
    pub response: Response,
    /// Nothing of it is needed.
    #[serde(default, deserialize_with = "lenient::or_usual")]
    pub cache: Cache,
    /// The parts of `time`.
    #[serde(default, deserialize_with = "lenient::or_usual")]
    pub timings: Timings,
    /// What names the connection to the server: of requests that share it, it is the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connection: Option<String>,
    /// What it is to the page, as Chromium and what is built on it tell.
    #[serde(default, rename = "_resourceType", skip_serializing_if = "Option::is_none")]
    pub resource_type: Option<String>,
    /// True where the writer says that the answer came out of a cache of the browser, as Chromium does
    /// (`memory`, `disk`).
    #[serde(
        default,
        rename = "_fromCache",
        deserialize_with = "lenient::is_said",
        skip_serializing_if = "std::ops::Not::not"
    )]
    pub from_cache: bool,
    /// What is to be said of it: why it has no answer, why a body was not kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
}

/// What a cache held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct Cache {}

/// A name and a value: a header, a cookie, a part of a query.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct Pair {
    /// As it was sent.
    pub name: String,
    /// As it was sent, or masked.
    #[serde(default, deserialize_with = "lenient::or_usual")]
    pub value: String,
}

/// What was asked.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Request {
    /// `GET` and the like.
    pub method: String,
    /// With scheme, host and query.
    pub url: String,
    /// `HTTP/1.1` and the like.
    #[serde(default, deserialize_with = "lenient::or_usual")]
    pub http_version: String,
    /// Sent cookies.
    #[serde(default, deserialize_with = "lenient::pairs")]
    pub cookies: Vec<Pair>,
    /// Sent headers.
    #[serde(default, deserialize_with = "lenient::pairs")]
    pub headers: Vec<Pair>,
    /// The query, decoded.
    #[serde(default, deserialize_with = "lenient::pairs")]
    pub query_string: Vec<Pair>,
    /// The body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub post_data: Option<PostData>,
    /// Bytes of the head, -1 when not known.
    #[serde(default)]
    pub headers_size: i64,
    /// Bytes of the body, -1 when not known.
    #[serde(default)]
    pub body_size: i64,
}

/// A body that was sent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PostData {
    /// Its type.
    #[serde(default, deserialize_with = "lenient::or_usual")]
    pub mime_type: String,
    /// Its text.
    #[serde(default, deserialize_with = "lenient::or_usual")]
    pub text: String,
    /// The fields of a form, decoded.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "lenient::list")]
    pub params: Vec<Param>,
}

/// Stands for a value of which nobody knows how it was sent.
pub const LOST: &str = "\u{fffd}";

/// A field of a form.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Param {
    /// As it was sent.
    pub name: String,
    /// As it was sent, or masked; of a file mostly absent. [`LOST`] where something else than a text is
    /// written.
    #[serde(default, deserialize_with = "lenient::field")]
    pub value: String,
    /// What a file was called that was sent in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_name: Option<String>,
}

/// What was answered.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Response {
    /// The code; 0 or -1 when no answer came.
    pub status: i64,
    /// The words behind it.
    #[serde(default, deserialize_with = "lenient::or_usual")]
    pub status_text: String,
    /// `HTTP/1.1` and the like.
    #[serde(default, deserialize_with = "lenient::or_usual")]
    pub http_version: String,
    /// Cookies that were set.
    #[serde(default, deserialize_with = "lenient::pairs")]
    pub cookies: Vec<Pair>,
    /// Received headers.
    #[serde(default, deserialize_with = "lenient::pairs")]
    pub headers: Vec<Pair>,
    /// The body.
    #[serde(default, deserialize_with = "lenient::or_usual")]
    pub content: Content,
    /// Where to look instead.
    #[serde(default, rename = "redirectURL", deserialize_with = "lenient::or_usual")]
    pub redirect_url: String,
    /// Bytes of the head, -1 when not known.
    #[serde(default)]
    pub headers_size: i64,
    /// Bytes of the body as received, -1 when not known.
    #[serde(default)]
    pub body_size: i64,
    /// Bytes of head and body that came over the network, as Chromium and what is built on it tell: 0
    /// where nothing did.
    #[serde(
        default,
        rename = "_transferSize",
        deserialize_with = "lenient::integer",
        skip_serializing_if = "Option::is_none"
    )]
    pub transfer_size: Option<i64>,
    /// True where the writer says what went wrong, as Chromium does of an answer that the page was not
    /// given (`net::ERR_FAILED`).
    #[serde(
        default,
        rename = "_error",
        deserialize_with = "lenient::is_said",
        skip_serializing_if = "std::ops::Not::not"
    )]
    pub failed: bool,
}

/// A body that was received.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Content {
    /// Bytes after decompression.
    #[serde(default)]
    pub size: i64,
    /// Its type.
    #[serde(default, deserialize_with = "lenient::or_usual")]
    pub mime_type: String,
    /// Its text, where the writer kept it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// `base64`, where the text is that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encoding: Option<String>,
}

/// The parts of the time of an entry, in milliseconds; -1 where a part does not apply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, Serialize)]
pub struct Timings {
    /// Waiting for a connection.
    #[serde(default = "does_not_apply")]
    pub blocked: f64,
    /// Resolving the name.
    #[serde(default = "does_not_apply")]
    pub dns: f64,
    /// Connecting, with `ssl`.
    #[serde(default = "does_not_apply")]
    pub connect: f64,
    /// The handshake of TLS, contained in `connect`.
    #[serde(default = "does_not_apply")]
    pub ssl: f64,
    /// Sending the request.
    #[serde(default, deserialize_with = "lenient::or_usual")]
    pub send: f64,
    /// From the request to the first byte.
    #[serde(default, deserialize_with = "lenient::or_usual")]
    pub wait: f64,
    /// From the first byte to the last.
    #[serde(default, deserialize_with = "lenient::or_usual")]
    pub receive: f64,
}

fn does_not_apply() -> f64 {
    -1.0
}
