//! What proves who sends: from a file or the environment, never from the command line.

use plumb_serve::accounts::authorization;

use super::options::{LogOnOptions, MessageLoadOptions};
use crate::FlowError;
use crate::verbs::{Client, secret};

const PASSWORD: &str = "PLUMB_FLOW_PASSWORD";
const TOKEN: &str = "PLUMB_FLOW_TOKEN";

/// A name and a secret, or a secret alone.
#[derive(Clone, Default)]
pub(super) struct LogOn {
    pub(super) user: Option<String>,
    secret: Option<String>,
}

impl std::fmt::Debug for LogOn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LogOn").field("user", &self.user).finish_non_exhaustive()
    }
}

impl LogOn {
    /// As `options` say; `environment` is asked for what they leave out.
    ///
    /// # Errors
    /// [`FlowError`] for a file that cannot be read, a user without a password, or what cannot be
    /// sent.
    pub(super) fn of(
        options: &LogOnOptions,
        environment: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, FlowError> {
        let variable = if options.user.is_some() { PASSWORD } else { TOKEN };
        let secret = match &options.password_file {
            Some(path) => Some(secret(path)?),
            None => environment(variable).filter(|text| !text.is_empty()),
        };
        let refused = |text: String| Err(FlowError::Plan(text));
        if let (Some(user), None) = (&options.user, &secret) {
            return refused(format!(
                "there is no password for {user}: write it into the first line of a file and name \
                 that with --password-file, or set {PASSWORD}"
            ));
        }
        let texts = || options.user.iter().chain(&secret);
        if texts().any(|text| text.chars().any(char::is_control)) {
            return refused(
                "a name, password or token with control characters cannot be sent".into(),
            );
        }
        if options.password_file.is_some() && secret.as_ref().is_some_and(String::is_empty) {
            return refused("the first line of --password-file is empty".into());
        }
        Ok(Self { user: options.user.clone(), secret })
    }

    /// The transaction manager of the server that `options` name, asked by whoever sends.
    ///
    /// # Errors
    /// As [`Client::new`].
    pub(super) fn manager(&self, options: &MessageLoadOptions) -> Result<Client, FlowError> {
        let (user, secret) = (self.user.as_deref(), self.secret.as_deref());
        Client::new(&options.url, &options.measurement.trust, user, secret)
    }

    /// The value of an `Authorization` line; `None` when nobody logs on.
    pub(super) fn authorization(&self) -> Option<String> {
        match (&self.user, &self.secret) {
            (Some(user), Some(secret)) => Some(authorization(user, secret)),
            (None, Some(token)) => Some(format!("Bearer {token}")),
            (_, None) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(user: Option<&str>, set: &[(&str, &str)]) -> Result<LogOn, FlowError> {
        let options = LogOnOptions { user: user.map(Into::into), password_file: None };
        let value = |name: &str| set.iter().find(|(it, _)| *it == name).map(|(_, v)| (*v).into());
        LogOn::of(&options, value)
    }

    #[test]
    fn a_password_belongs_to_a_user_and_a_token_to_nobody() {
        let both = [(PASSWORD, "secret"), (TOKEN, "0123456789abcdef")];
        let anna = of(Some("anna"), &both).unwrap();
        assert!(anna.authorization().unwrap().starts_with("Basic "));
        let token = of(None, &both).unwrap();
        assert_eq!(token.authorization().unwrap(), "Bearer 0123456789abcdef");
        assert_eq!(of(None, &[]).unwrap().authorization(), None);
        assert!(!format!("{anna:?}{token:?}").contains("cdef"));
    }

    #[test]
    fn what_cannot_prove_anything_is_refused_without_its_secret() {
        let said = of(Some("anna"), &[]).unwrap_err().to_string();
        assert!(said.contains("--password-file") && said.contains(PASSWORD), "{said}");
        let said = of(None, &[(TOKEN, "sec\nret")]).unwrap_err().to_string();
        assert!(!said.contains("ret"), "{said}");
    }
}
