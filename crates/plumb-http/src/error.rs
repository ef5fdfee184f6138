//! Why the HTTP layer did not run.

use std::path::PathBuf;

use plumb_engine::EngineError;
use plumb_scenario::ScenarioError;
use plumb_trace::TraceError;
use plumb_wire::http::UrlError;

/// Where else it may be said who asks a server.
pub(crate) const WHO_ASKS: &str =
    "give PLUMB_HTTP_USER and PLUMB_HTTP_PASSWORD in the environment, or --credentials FILE";

/// Why there is no measurement. Each message says what to try; none holds a password.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// The engine could not begin.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A URL cannot be asked for.
    #[error("{}", .0.with_credentials(WHO_ASKS))]
    Url(#[from] UrlError),
    /// The URL of a proxy cannot be used.
    #[error(
        "{}",
        .0.with_credentials("give PLUMB_PROXY_USER and PLUMB_PROXY_PASSWORD in the environment")
    )]
    ProxyUrl(UrlError),
    /// A proxy that is not reached over plain HTTP.
    #[error("{proxy}: a proxy is reached over http; write --proxy http://HOST:PORT")]
    Proxy {
        /// As given.
        proxy: String,
    },
    /// URLs of different servers in one load.
    #[error(
        "{first} and {other} lead to different servers: one load goes to one server; measure them \
         one after another, or compare them with plumb ab"
    )]
    Origins {
        /// The first URL, resolved.
        first: String,
        /// Another one, resolved.
        other: String,
    },
    /// Too many URLs.
    #[error("{count} URLs are more than the {most} that one load takes; name fewer")]
    TooManyUrls {
        /// As many as were named.
        count: usize,
        /// As many as may be.
        most: usize,
    },
    /// What HTTP/2 cannot be asked for.
    #[error("--http 2: {problem}")]
    Http2 {
        /// In words, with what to write.
        problem: &'static str,
    },
    /// A request that has no form in HTTP/2.
    #[error("--http 2: {0}")]
    Http2Request(#[from] plumb_http2::NoRequest),
    /// Streams under way on one connection of HTTP/1.1.
    #[error(
        "--streams {streams}: HTTP/1.1 has one request after the other on a connection; give --http 2 \
         as well, or raise --connections"
    )]
    Streams {
        /// As asked for.
        streams: usize,
    },
    /// Operations under way on one connection.
    #[error(
        "--depth {depth}: requests are not sent before the last answer came; leave it out, and raise \
         --connections, or give --http 2 --streams {depth}"
    )]
    Depth {
        /// As asked for.
        depth: usize,
    },
    /// A header line that cannot be sent.
    #[error("what begins with `{start}` is no header line; write --header 'Name: value'")]
    Header {
        /// Its first word.
        start: String,
    },
    /// A header line that carries a secret, or that belongs to the client.
    #[error("--header {name}: {remedy}")]
    HeaderNotYours {
        /// Its name.
        name: String,
        /// What to do instead.
        remedy: &'static str,
    },
    /// No method.
    #[error("`{method}` is no method that can be measured; write for example --method POST")]
    Method {
        /// As given.
        method: String,
    },
    /// The content of the requests cannot be read.
    #[error("cannot read the body {}: {cause}", path.display())]
    Body {
        /// The file.
        path: PathBuf,
        /// What happened.
        cause: std::io::Error,
    },
    /// Credentials cannot be taken.
    #[error("{0}")]
    Credentials(String),
    /// Nobody can prove who asks.
    #[error(transparent)]
    Negotiate(#[from] plumb_negotiate::NegotiateError),
    /// A URL did not answer at all.
    #[error("{url} {complaint}")]
    NoAnswer {
        /// The URL.
        url: String,
        /// What happened, with what to try.
        complaint: String,
    },
    /// A server of TLS may answer plain HTTP so; no page does.
    #[error(
        "{url} answers 400: is that a TLS port? Then write https://; if 400 is the right answer, \
         give --expect-status 400"
    )]
    BadRequest {
        /// The URL.
        url: String,
    },
    /// A server that will not let in whoever the given credentials prove: no answer would be one of the page.
    #[error(
        "{url} answers {status} to {who}: nothing was measured; check who asks (each further attempt \
         with a wrong password may lock the user), or, if {status} is the right answer, give \
         --expect-status {status}"
    )]
    NotLetIn {
        /// The URL.
        url: String,
        /// 401 or 403.
        status: u16,
        /// Who asked, and how it was proved.
        who: String,
    },
    /// A URL leads on without end.
    #[error("{url} redirects more than {most} times, the last time to {last}")]
    Redirects {
        /// The URL.
        url: String,
        /// Redirects that are followed.
        most: usize,
        /// Where the last one led.
        last: String,
    },
    /// A redirect that cannot be followed.
    #[error("{url} answers {status} and leads nowhere: {cause}")]
    Astray {
        /// The URL that redirects.
        url: String,
        /// Its status.
        status: u16,
        /// What is wrong with where it leads.
        cause: String,
    },
    /// The file of single operations cannot be written.
    #[error("cannot write {}: {cause}; name a new file with --jtl", path.display())]
    Jtl {
        /// The file.
        path: PathBuf,
        /// What happened.
        cause: std::io::Error,
    },
    /// A scenario cannot be read, or something in it is wrong.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// The server of a scenario.
    #[error("{problem}")]
    Base {
        /// In words, with what to write.
        problem: String,
    },
    /// What is done once before a load failed.
    #[error("the preparation failed: {complaint}")]
    Preparation {
        /// The first step that failed, and why.
        complaint: String,
    },
    /// Spans cannot be read or received.
    #[error(transparent)]
    Traces(#[from] TraceError),
    /// No verb was named.
    #[error("name a verb: ping or load")]
    NoVerb,
}
