//! Over the GSS-API library of the system.

use std::sync::{Mutex, PoisonError};

use libgssapi::context::{ClientCtx, CtxFlags, SecurityContext as _};
use libgssapi::credential::{Cred, CredUsage};
use libgssapi::error::Error;
use libgssapi::name::Name;
use libgssapi::oid::{
    GSS_MECH_KRB5, GSS_MECH_SPNEGO, GSS_NT_HOSTBASED_SERVICE, GSS_NT_KRB5_PRINCIPAL,
    GSS_NT_USER_NAME, Oid, OidSet,
};

use crate::{NegotiateError, Who};

/// Who asks for a service. What the library takes long for (the KDC, names) is done by [`Self::ready`].
#[derive(Debug)]
pub struct Initiator {
    who: Who,
    /// As it was asked for: `HTTP@host`, or a principal.
    service: String,
    /// A principal that was named.
    is_principal: bool,
    known: Mutex<Option<Known>>,
}

/// What is known of both sides.
#[derive(Clone, Debug)]
struct Known {
    credentials: Cred,
    /// The principal of the service.
    principal: Vec<u8>,
}

/// One negotiation.
#[derive(Debug)]
pub struct Context {
    inner: ClientCtx,
    service: String,
}

impl Initiator {
    /// `who` asks for the service `HTTP` of `host`, or for the `service` that is named as a principal,
    /// `HTTP/host` or `HTTP/host@REALM`.
    ///
    /// # Errors
    /// None in this program.
    pub fn new(who: Who, host: &str, service: Option<&str>) -> Result<Self, NegotiateError> {
        let (is_principal, known) = (service.is_some(), Mutex::new(None));
        let service = service.map_or_else(|| format!("HTTP@{host}"), str::to_owned);
        Ok(Self { who, service, is_principal, known })
    }

    /// Gets what the negotiations need: who asks, and a ticket for the service. It asks the KDC.
    ///
    /// # Errors
    /// [`NegotiateError::NoTicket`] with what to try.
    pub fn ready(&self) -> Result<(), NegotiateError> {
        self.known().map(drop)
    }

    /// Begins a negotiation: with what is to be sent first.
    ///
    /// # Errors
    /// [`NegotiateError::NoTicket`]: what was at hand may have ended.
    pub fn begin(&self) -> Result<(Context, Vec<u8>), NegotiateError> {
        let known = self.known()?;
        let begun = first(&known.credentials, &known.principal, GSS_MECH_SPNEGO);
        match begun {
            Ok((inner, token)) => Ok((Context { inner, service: self.service.clone() }, token)),
            // SPNEGO knows only that no mechanism is left; Kerberos knows why
            Err(error) => Err(self.no_ticket(match self.probe() {
                Err(kerberos) => kerberos,
                Ok(_) => error,
            })),
        }
    }

    fn known(&self) -> Result<Known, NegotiateError> {
        let mut place = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = &*place {
            return Ok(known.clone());
        }
        let found = self.probe().and_then(|principal| {
            Ok(Known { credentials: self.credentials(GSS_MECH_SPNEGO)?, principal })
        });
        let found = found.map_err(|error| self.no_ticket(error))?;
        Ok(place.insert(found).clone())
    }

    /// Gets a ticket for the service, and says what its principal is.
    fn probe(&self) -> Result<Vec<u8>, Error> {
        let principal = self.principal()?;
        first(&self.credentials(GSS_MECH_KRB5)?, &principal, GSS_MECH_KRB5)?;
        Ok(principal)
    }

    /// The principal of the service; the library may look up the name of the host for it.
    fn principal(&self) -> Result<Vec<u8>, Error> {
        if self.is_principal {
            return Ok(self.service.clone().into_bytes());
        }
        let name = Name::new(self.service.as_bytes(), Some(GSS_NT_HOSTBASED_SERVICE))?;
        Ok(name.canonicalize(Some(GSS_MECH_KRB5))?.display_name()?.to_vec())
    }

    /// Who asks, as `mechanism` wants it.
    fn credentials(&self, mechanism: Oid<'static>) -> Result<Cred, Error> {
        let mechanisms = OidSet::singleton(mechanism)?;
        let usage = CredUsage::Initiate;
        match &self.who {
            Who::Tickets => Cred::acquire(None, None, usage, Some(&mechanisms)),
            Who::Password { user, password } => {
                let name = Name::new(user.as_bytes(), Some(GSS_NT_USER_NAME))?;
                Cred::acquire_with_password(Some(&name), password, None, usage, Some(&mechanisms))
            }
        }
    }

    fn no_ticket(&self, error: Error) -> NegotiateError {
        NegotiateError::NoTicket { service: self.service.clone(), cause: words(error) }
    }
}

/// A context for `principal`, and its first token.
fn first(
    credentials: &Cred,
    principal: &[u8],
    mechanism: Oid<'static>,
) -> Result<(ClientCtx, Vec<u8>), Error> {
    let name = Name::new(principal, Some(GSS_NT_KRB5_PRINCIPAL))?;
    let flags = CtxFlags::GSS_C_MUTUAL_FLAG; // and nothing is delegated
    let mut context = ClientCtx::new(Some(credentials.clone()), name, flags, Some(mechanism));
    let token = context.step(None, None)?;
    Ok((context, token.map(|token| token.to_vec()).unwrap_or_default()))
}

impl Context {
    /// Goes on with what the server sent: with what is to be sent next, if anything is.
    ///
    /// # Errors
    /// [`NegotiateError::NotProved`] when it is not what this server would have sent, or says no.
    pub fn go_on(&mut self, token: &[u8]) -> Result<Option<Vec<u8>>, NegotiateError> {
        let next = self.inner.step(Some(token), None).map_err(|error| {
            NegotiateError::NotProved { service: self.service.clone(), cause: words(error) }
        })?;
        Ok(next.map(|token| token.to_vec()))
    }

    /// Whether both sides have proved who they are.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.inner.is_complete()
    }
}

/// What the library says: the cause, where it knows one beside the kind.
fn words(error: Error) -> String {
    let all = error.to_string();
    let cause = all.split_once(" (").and_then(|(_, rest)| rest.strip_suffix(')'));
    cause.filter(|cause| !cause.is_empty()).unwrap_or(&all).trim().to_owned()
}
