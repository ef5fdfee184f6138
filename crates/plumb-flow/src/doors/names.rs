//! By which names a server is asked at which nobody has to log on.
//!
//! A page of anybody can have a browser ask this machine: the name of its own server is then made to
//! point here, so that all it asks seems to be asked by a page of this server. The name in `Host` is
//! the one thing that tells.

use std::net::IpAddr;

use hyper::header::HOST;
use hyper::{HeaderMap, StatusCode};
use plumb_engine::Address;
use plumb_serve::Peer;

use crate::answer::Failure;

/// Names of this server, beside all addresses and `localhost`.
#[derive(Clone, Debug)]
pub(super) struct OwnNames(Vec<String>);

impl OwnNames {
    /// Those that the settings name, and those of where it listens.
    pub(super) fn new(names: &[String], listen: &[String]) -> Self {
        let listened = listen.iter().filter_map(|text| match Address::parse(text, 0) {
            Ok(Address::Host { host, .. } | Address::Smc { host, .. }) => Some(host),
            Ok(Address::Udp { .. } | Address::Unix(_)) | Err(_) => None,
        });
        let all = names.iter().cloned().chain(listened);
        Self(all.map(|name| name.to_ascii_lowercase()).collect())
    }

    /// Refuses a request of `peer` that asks for another server by its name. One without a name, or over
    /// a socket file, is of no browser.
    ///
    /// # Errors
    /// [`Failure`] with status 421.
    ///
    /// # Source
    /// RFC 9110, section 7.4; RFC 6761, section 6.3, for `localhost`.
    pub(super) fn check(&self, headers: &HeaderMap, peer: Peer) -> Result<(), Failure> {
        let Some(asked) = headers.get(HOST).filter(|_| peer.address.is_some()) else {
            return Ok(());
        };
        let asked = asked.to_str().unwrap_or("?").to_ascii_lowercase();
        if self.has(&asked) {
            return Ok(());
        }
        let message = format!(
            "`{asked}` is no name of this server, and nobody has to log on: ask it by its address, \
             or write its name into `names` of the settings"
        );
        Err(Failure::new(StatusCode::MISDIRECTED_REQUEST, message))
    }

    fn has(&self, asked: &str) -> bool {
        let Ok(Address::Host { host, .. }) = Address::parse(asked, 0) else { return false };
        let host = host.strip_suffix('.').unwrap_or(&host);
        let local = host == "localhost" || host.ends_with(".localhost");
        local || host.parse::<IpAddr>().is_ok() || self.0.iter().any(|name| name == host)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_was_made_to_point_here_is_refused() {
        let listen = ["127.0.0.1:50000", "Flow.example", "unix:/tmp/evil.example"];
        let names = OwnNames::new(&["erp".to_owned()], &listen.map(String::from));
        let browser = Peer { address: Some([127, 0, 0, 1].into()), tls: false, connection: 0 };
        let of = |host: &str| HeaderMap::from_iter([(HOST, host.parse().unwrap())]);
        let checked =
            |host: &str| names.check(&of(host), browser).map_err(|failure| failure.status);
        for own in [
            "127.0.0.1:50000",
            "127.0.0.1",
            "[::1]:50000",
            "192.0.2.1:8080",
            "localhost",
            "LOCALHOST:50000",
            "localhost.:1",
            "flow.localhost:1",
            "erp",
            "ERP:50000",
            "flow.example:50000",
        ] {
            assert_eq!(checked(own), Ok(()), "{own}");
        }
        for other in [
            "evil.example:50000",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "evil-localhost",
            "erp.evil.example:50000",
            "unix:/tmp/evil.example",
            "",
        ] {
            assert_eq!(checked(other), Err(StatusCode::MISDIRECTED_REQUEST), "{other}");
        }
        assert!(names.check(&HeaderMap::new(), browser).is_ok());
        let file = Peer { address: None, ..browser };
        assert!(names.check(&of("evil.example"), file).is_ok());
    }
}
