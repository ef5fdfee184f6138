//! Logging in to PostgreSQL: as whom, and how that is proved.

use std::{fmt, io};

use bytes::BytesMut;
use plumb_wire::postgres::Authentication;
use postgres_protocol::authentication::{
    md5_hash,
    sasl::{ChannelBinding, SCRAM_SHA_256, ScramSha256},
};
use postgres_protocol::message::frontend::{
    password_message, sasl_initial_response, sasl_response,
};

use super::orders::{Orders, written};
use crate::LockError;

/// Who logs in, and where.
#[derive(Clone)]
pub(crate) struct Login {
    user: String,
    database: String,
    password: Option<Vec<u8>>,
    /// What is said on every connection.
    pub(super) orders: Orders,
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { user, database, .. } = self; // the password shows itself nowhere
        f.debug_struct("Login").field("user", user).field("database", database).finish()
    }
}

/// How far a login has come on one connection.
#[derive(Default)]
pub(crate) enum Progress {
    /// Nothing is said.
    #[default]
    Begun,
    /// The server has the next word.
    Asked,
    /// This is to be said next.
    Say(Vec<u8>),
    /// The mechanism goes on; what is to be said next, if anything.
    Proving(Box<ScramSha256>, Option<Vec<u8>>),
    /// The server has proved that it knows the password, too.
    Proved,
}

impl fmt::Debug for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Begun => "begun",
            Self::Asked => "asked",
            Self::Say(_) => "about to say something",
            Self::Proving(..) => "proving",
            Self::Proved => "proved",
        })
    }
}

impl Login {
    /// With what `variable` says of the environment, where `libpq` looks, too.
    ///
    /// # Errors
    /// [`LockError::NoUser`] when nobody is named.
    pub(crate) fn of(
        variable: impl Fn(&str) -> Option<String>,
        password: Option<Vec<u8>>,
    ) -> Result<Self, LockError> {
        let named = |name: &str| variable(name).filter(|value| !value.is_empty());
        let user = named("PGUSER").or_else(|| named("USER")).ok_or(LockError::NoUser)?;
        let database = named("PGDATABASE").unwrap_or_else(|| user.clone());
        let orders = Orders::of(&user, &database).map_err(|_| LockError::NoUser)?;
        Ok(Self { user, database, password, orders })
    }

    /// Appends what is to be said next; false when the server has the next word.
    pub(super) fn say(&self, progress: &mut Progress, out: &mut Vec<u8>) -> bool {
        match std::mem::replace(progress, Progress::Asked) {
            Progress::Begun => out.extend_from_slice(&self.orders.startup),
            Progress::Say(bytes) => out.extend_from_slice(&bytes),
            Progress::Proving(scram, Some(bytes)) => {
                out.extend_from_slice(&bytes);
                *progress = Progress::Proving(scram, None);
            }
            other => {
                *progress = other;
                return false;
            }
        }
        true
    }

    /// Hears a step of the login; true when something is to be said to it.
    ///
    /// # Errors
    /// In words that follow the server's name: what it does, and what to try.
    pub(super) fn hear(
        &self,
        progress: &mut Progress,
        step: &Authentication<'_>,
    ) -> Result<bool, String> {
        match step {
            Authentication::Ok => match progress {
                Progress::Proving(..) => {
                    Err("did not prove that it knows the password: is it the right server?"
                        .to_owned())
                }
                _ => Ok(false),
            },
            Authentication::Md5(salt) => {
                let hash = md5_hash(self.user.as_bytes(), self.password()?, *salt);
                *progress = Progress::Say(message(|out| password_message(hash.as_bytes(), out))?);
                Ok(true)
            }
            Authentication::Sasl(_) if step.offers(SCRAM_SHA_256) => {
                let scram = ScramSha256::new(self.password()?, ChannelBinding::unsupported());
                let first =
                    message(|out| sasl_initial_response(SCRAM_SHA_256, scram.message(), out))?;
                *progress = Progress::Proving(Box::new(scram), Some(first));
                Ok(true)
            }
            Authentication::SaslContinue(said) => {
                let Progress::Proving(scram, next) = progress else {
                    return Err("goes on with a login that was not begun".to_owned());
                };
                scram.update(said).map_err(|error| format!("refuses the login: {error}"))?;
                *next = Some(message(|out| sasl_response(scram.message(), out))?);
                Ok(true)
            }
            Authentication::SaslFinal(said) => {
                let Progress::Proving(scram, _) = progress else {
                    return Err("ends a login that was not begun".to_owned());
                };
                scram.finish(said).map_err(|error| format!("does not know us: {error}"))?;
                *progress = Progress::Proved;
                Ok(false)
            }
            Authentication::Cleartext => Err(
                "wants the password in clear text, which is not sent; put scram-sha-256 into its \
                 pg_hba.conf"
                    .to_owned(),
            ),
            Authentication::Sasl(_) | Authentication::Unknown(_) => Err(
                "asks for a login that is not known here; put scram-sha-256 into its pg_hba.conf"
                    .to_owned(),
            ),
        }
    }

    fn password(&self) -> Result<&[u8], String> {
        let missing = "asks for a password; put it into PGPASSWORD, or into the file of \
                       --password-file";
        self.password.as_deref().ok_or_else(|| missing.to_owned())
    }
}

/// A message, in words that follow the server's name where there can be none.
fn message(write: impl FnOnce(&mut BytesMut) -> io::Result<()>) -> Result<Vec<u8>, String> {
    written(write).map_err(|error| format!("asks for what cannot be said: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn login(password: Option<&[u8]>) -> Login {
        let known = |name: &str| (name == "PGUSER").then(|| "me".to_owned());
        Login::of(known, password.map(<[u8]>::to_vec)).unwrap()
    }

    #[test]
    fn the_environment_says_who_it_is() {
        let mut said = Vec::new();
        assert!(login(None).say(&mut Progress::Begun, &mut said));
        assert!(said.windows(17).any(|here| here == b"user\0me\0database\0"), "{said:?}");
        assert!(matches!(Login::of(|_| None, None), Err(LockError::NoUser)));
    }

    #[test]
    fn a_password_is_not_shown() {
        assert!(!format!("{:?}", login(Some(b"sesame"))).contains("sesame"));
    }

    #[test]
    fn md5_is_that_of_password_and_user_and_then_of_that_and_the_salt() {
        let (login, mut progress) = (login(Some(b"hush")), Progress::Asked);
        assert_eq!(login.hear(&mut progress, &Authentication::Md5(*b"salt")), Ok(true));
        let mut said = Vec::new();
        assert!(login.say(&mut progress, &mut said));
        assert_eq!(&said[..8], b"p\0\0\0\x28md5");
        assert!(!login.say(&mut progress, &mut said));
    }

    #[test]
    fn a_server_that_proves_nothing_is_not_believed() {
        let (login, mut progress) = (login(Some(b"hush")), Progress::Asked);
        let offer = Authentication::Sasl(b"SCRAM-SHA-256\0\0");
        assert_eq!(login.hear(&mut progress, &offer), Ok(true));
        let refused = login.hear(&mut progress, &Authentication::Ok).unwrap_err();
        assert!(refused.contains("did not prove"), "{refused}");
        let refused = login.hear(&mut progress, &Authentication::SaslContinue(b"r=other"));
        assert!(refused.unwrap_err().contains("refuses the login"));
    }

    #[test]
    fn what_cannot_be_answered_says_what_to_try() {
        let of = |password, step: &Authentication<'_>| {
            login(password).hear(&mut Progress::Asked, step).unwrap_err()
        };
        assert!(of(None, &Authentication::Md5([0; 4])).contains("PGPASSWORD"));
        assert!(of(Some(b"x"), &Authentication::Cleartext).contains("pg_hba.conf"));
        assert!(of(Some(b"x"), &Authentication::Sasl(b"OTHER\0\0")).contains("pg_hba.conf"));
        assert!(of(Some(b"x"), &Authentication::SaslFinal(b"v=")).contains("not begun"));
    }
}
