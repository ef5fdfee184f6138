//! The proxy that requests go through.

use plumb_wire::http::{Scheme, Url};

use crate::HttpError;
use crate::credentials::Credentials;
use crate::tunnel::Opening;

const USER: &str = "PLUMB_PROXY_USER";
const PASSWORD: &str = "PLUMB_PROXY_PASSWORD";

/// A proxy, and what it is told of who asks.
#[derive(Clone, Debug)]
pub(crate) struct Proxy {
    url: Url,
    credentials: Option<Credentials>,
}

impl Proxy {
    /// The proxy that `text` names. Who asks stands in the environment, or nowhere.
    ///
    /// # Errors
    /// [`HttpError::Proxy`] when it is not reached over plain HTTP, [`HttpError::Credentials`] when
    /// the environment says half of who asks.
    pub(crate) fn new(text: &str) -> Result<Self, HttpError> {
        let url = Url::parse(text).map_err(HttpError::ProxyUrl)?;
        if url.scheme() != Scheme::Http || url.target() != "/" {
            return Err(HttpError::Proxy { proxy: text.into() });
        }
        Ok(Self { url, credentials: Credentials::from_environment(USER, PASSWORD)? })
    }

    /// Where it is.
    pub(crate) fn url(&self) -> &Url {
        &self.url
    }

    /// The header line that says who asks, with its end; empty when nobody is known.
    pub(crate) fn line(&self) -> String {
        let known = self.credentials.as_ref().map(Credentials::authorization);
        known.map_or(String::new(), |who| format!("Proxy-Authorization: {who}\r\n"))
    }

    /// What asks for a tunnel to the server of `url`.
    pub(crate) fn opening(&self, url: &Url) -> Opening {
        let server = url.host_and_port();
        let agent = concat!("plumb/", env!("CARGO_PKG_VERSION"));
        let line = self.line();
        let request = format!(
            "CONNECT {server} HTTP/1.1\r\nHost: {server}\r\nUser-Agent: {agent}\r\n{line}\r\n"
        );
        Opening { server, request: request.into_bytes(), says_who: self.credentials.is_some() }
    }
}
