//! HTTP/1.1, the client's half: URLs, and the responses of a server as they come in.
//!
//! A response is read in two steps. [`Memo::read`] finds the head and says how its body is framed;
//! [`Body::take`] then walks through the body, which is counted and not kept. [`RawHead`] shows
//! the header lines to whoever needs more than the framing: a redirect ([`Url::join`]), a
//! challenge ([`basic_realm`]), cookies ([`SetCookie`]), times the server tells of itself ([`told`]).
//! How long a server of ours had a request stands in lines of our own ([`StampedRequest`]).
//!
//! # Source
//! RFC 9110 and RFC 9112; RFC 3986 for URLs, RFC 6265 for cookies, RFC 7617 for Basic, RFC 7616 for Digest.

mod batch;
mod body;
mod challenge;
mod date;
mod digest;
mod head;
mod memo;
mod set_cookie;
mod stamp;
mod timing;
mod url;

pub use batch::{BatchError, batch_statuses};
pub use body::{Body, BodyError, Taken};
pub use challenge::{basic_realm, negotiate_token};
pub use date::cookie_date;
pub use digest::{DigestAlgorithm, DigestChallenge, NoDigest};
pub use head::{Ask, Framing, HEAD_BYTES_MAX, Head, HeadError, RawHead, ends_idle_connection};
pub use memo::Memo;
pub use set_cookie::{SetCookie, path_matches};
pub use stamp::{ASK_HEADER, MessageName, StampedRequest, TOLD_HEADER};
pub use timing::{Told, add_below, parent_line, told};
pub use url::{Scheme, Url, UrlError};
