//! How a user proves who asks, once a server wants to know.

use std::sync::{Arc, Mutex, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use plumb_negotiate::{Context, Initiator, NegotiateError, Who};
use plumb_wire::http::{RawHead, negotiate_token};

use crate::credentials::Credentials;

/// What answers challenges.
#[derive(Clone, Debug)]
pub(crate) enum Proof {
    /// A password that is never sent.
    Digest(Credentials),
    /// A ticket.
    Negotiate(Arc<Initiator>),
}

/// Everybody who asks with tickets, each once: the KDC is asked when a load begins, and not again for
/// each time that its scenario is compiled.
#[derive(Debug, Default)]
pub(crate) struct Initiators(Mutex<Vec<(Asked, Arc<Initiator>)>>);

#[derive(Debug, PartialEq, Eq)]
struct Asked {
    who: Who,
    host: String,
    service: Option<String>,
}

impl Initiators {
    /// Who asks `host`, or the `service` that is named instead: whoever has a ticket unless somebody is
    /// named.
    ///
    /// # Errors
    /// [`NegotiateError`] when nobody can ask so.
    pub(crate) fn of(
        &self,
        named: Option<&Credentials>,
        host: &str,
        service: Option<&str>,
    ) -> Result<Arc<Initiator>, NegotiateError> {
        let who = named.map_or(Who::Tickets, |named| {
            let (user, password) = named.user_and_password();
            Who::Password { user: user.into(), password: password.into() }
        });
        let asked = Asked { who, host: host.into(), service: service.map(Into::into) };
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, known)) = all.iter().find(|(known, _)| *known == asked) {
            return Ok(Arc::clone(known));
        }
        let initiator = Arc::new(Initiator::new(asked.who.clone(), host, service)?);
        all.push((asked, Arc::clone(&initiator)));
        Ok(initiator)
    }

    /// Gets what all of them need, and asks KDCs for it.
    ///
    /// # Errors
    /// [`NegotiateError`] of the first that cannot have it.
    pub(crate) fn ready(&self) -> Result<(), NegotiateError> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter().try_for_each(|(_, initiator)| initiator.ready())
    }
}

/// Why `service` is no principal.
pub(crate) fn service_problem(service: &str) -> Option<String> {
    let sound = service.split_once('/').is_some_and(|(kind, host)| {
        !kind.is_empty() && !host.is_empty() && !service.contains(|c: char| c.is_control())
    });
    (!sound).then(|| format!("service `{service}`: write HTTP/HOST or HTTP/HOST@REALM"))
}

/// Which requests of a client carry a ticket.
#[derive(Clone, Debug)]
pub(crate) struct Negotiating {
    pub(crate) initiator: Arc<Initiator>,
    /// All of them, or the first of each connection.
    pub(crate) each: bool,
}

/// The proof of one request.
#[derive(Debug)]
pub(crate) struct Negotiation {
    context: Context,
    /// What is to be sent next.
    token: Option<Vec<u8>>,
}

impl Negotiation {
    /// Begins one.
    pub(crate) fn begin(initiator: &Initiator) -> Result<Self, NegotiateError> {
        let (context, token) = initiator.begin()?;
        Ok(Self { context, token: Some(token) })
    }

    /// The value of the `Authorization` line of the next request, once.
    pub(crate) fn take(&mut self) -> Option<String> {
        self.token.take().map(|token| format!("Negotiate {}", STANDARD.encode(token)))
    }

    /// The answer to the challenge with `head`, in the place of `before`, the one that was answered
    /// last.
    ///
    /// # Errors
    /// In words, why there is none.
    pub(crate) fn answer(
        before: Option<Self>,
        initiator: &Initiator,
        head: &[u8],
    ) -> Result<Self, String> {
        let token = token(head)?.ok_or("the server offers no Negotiate")?;
        let Some(mut before) = before else {
            return Self::begin(initiator).map_err(|error| error.to_string());
        };
        let next = match &token[..] {
            [] => None,
            token => before.context.go_on(token).map_err(said_no)?,
        };
        match next {
            Some(token) => Ok(Self { token: Some(token), ..before }),
            None => {
                Err("the server does not accept the ticket (Negotiate): is its keytab that of \
                         the service, and its clock right?"
                    .into())
            }
        }
    }

    /// Whether the answer with `head` proves who the server is.
    ///
    /// # Errors
    /// In words, why it does not.
    pub(crate) fn proved(mut self, head: &[u8]) -> Result<(), String> {
        if let Some(token) = token(head)?.filter(|token| !token.is_empty()) {
            self.context.go_on(&token).map_err(|error| error.to_string())?;
        }
        match self.context.is_complete() {
            true => Ok(()),
            false => {
                Err("the server did not prove who it is (Negotiate): its answer has no token \
                          that completes the negotiation"
                    .into())
            }
        }
    }
}

/// What is said of a token that came with a challenge.
fn said_no(error: NegotiateError) -> String {
    match error {
        NegotiateError::NotProved { service, cause } => {
            NegotiateError::NotAccepted { service, cause }.to_string()
        }
        other => other.to_string(),
    }
}

/// What the server sent for the negotiation: empty when it begins one, `None` without any.
fn token(head: &[u8]) -> Result<Option<Vec<u8>>, String> {
    let value = RawHead::new(head).values("www-authenticate").find_map(negotiate_token);
    let decoded = value.map(|value| STANDARD.decode(value)).transpose();
    decoded.map_err(|_| "the server sent a token that is no Base64 (Negotiate)".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_read_from_a_head() {
        let head = |value: &str| format!("HTTP/1.1 401 Who\r\nWWW-Authenticate: {value}\r\n\r\n");
        assert_eq!(token(head("Negotiate").as_bytes()), Ok(Some(Vec::new())));
        assert_eq!(token(head("Negotiate AQI=").as_bytes()), Ok(Some(vec![1, 2])));
        assert_eq!(token(head("Basic realm=x").as_bytes()), Ok(None));
        assert!(token(head("Negotiate A").as_bytes()).is_err());
    }
}
