//! What a session with `PostgreSQL` is to use, as the URL says.

/// What a session is to use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum SessionTransport {
    /// TCP, or a socket file.
    #[default]
    Driver,
    /// SMC, and nothing else.
    Smc,
}

impl SessionTransport {
    /// Takes the parameter `transport` out of `url`.
    pub(super) fn take(url: &str) -> Result<(String, Self), String> {
        let (place, query) = url.split_once('?').unwrap_or((url, ""));
        let (mut transport, mut others) = (Self::Driver, Vec::new());
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            match pair.split_once('=') {
                Some(("transport", "tcp")) => transport = Self::Driver,
                Some(("transport", "smc")) => transport = Self::Smc,
                Some(("transport", _)) => return Err("transport is none of tcp or smc".into()),
                _ => others.push(pair),
            }
        }
        let separator = if others.is_empty() { "" } else { "?" };
        Ok((format!("{place}{separator}{}", others.join("&")), transport))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_transport_is_taken_out_of_the_url() {
        let take = |url: &str| SessionTransport::take(url).unwrap();
        assert_eq!(take("postgres://db/a"), ("postgres://db/a".into(), SessionTransport::Driver));
        assert_eq!(
            take("postgres://db/a?options=x&transport=smc"),
            ("postgres://db/a?options=x".into(), SessionTransport::Smc)
        );
        assert_eq!(take("postgres://db/a?transport=tcp").1, SessionTransport::Driver);
        assert!(SessionTransport::take("postgres://db/a?transport=").unwrap_err().contains("smc"));
    }
}
