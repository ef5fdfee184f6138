//! The password that clients name: from a file, or from the environment.

use std::path::Path;

use plumb_wire::resp;
use plumb_wire::secret::first_line;

use crate::ServerError;

/// The first line of the file, or of `variable`; `None` where there is neither.
///
/// # Errors
/// [`ServerError::PasswordFile`], or [`ServerError::NoPassword`] when the line is empty.
pub(crate) fn read(file: Option<&Path>, variable: &str) -> Result<Option<Vec<u8>>, ServerError> {
    let text = match file {
        Some(path) => {
            let cause =
                |cause| ServerError::PasswordFile { path: path.display().to_string(), cause };
            Some(std::fs::read_to_string(path).map_err(cause)?)
        }
        None => std::env::var(variable).ok(),
    };
    let first = text.map(|text| first_line(&text).as_bytes().to_vec());
    if first.as_ref().is_some_and(Vec::is_empty) {
        return Err(ServerError::NoPassword);
    }
    Ok(first)
}

/// How a client makes itself known.
#[derive(Clone, PartialEq, Eq)]
pub struct Login {
    /// As whom; `None`: as whoever has the password.
    pub user: Option<String>,
    /// The password.
    pub password: Vec<u8>,
}

impl std::fmt::Debug for Login {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Login").field("user", &self.user).finish_non_exhaustive() // no password
    }
}

impl Login {
    /// The variable of the environment that holds the password of a lock server where no file is named.
    pub const VARIABLE: &str = "PLUMB_LOCK_PASSWORD";

    /// What is read of `file` or `variable`, as `user`; `None` where there is no password.
    ///
    /// # Errors
    /// [`ServerError::PasswordFile`], [`ServerError::NoPassword`] when the line is empty, and
    /// [`ServerError::NoPasswordOf`] for a user without one.
    pub fn read(
        user: Option<&str>,
        file: Option<&Path>,
        variable: &str,
    ) -> Result<Option<Self>, ServerError> {
        let user = user.map(str::to_owned);
        match (read(file, variable)?, user) {
            (Some(password), user) => Ok(Some(Self { user, password })),
            (None, Some(user)) => Err(ServerError::NoPasswordOf(user)),
            (None, None) => Ok(None),
        }
    }

    /// Appends the command that says so.
    pub fn push(&self, out: &mut Vec<u8>) {
        match &self.user {
            Some(user) => resp::push_command(out, &[b"AUTH", user.as_bytes(), &self.password]),
            None => resp::push_command(out, &[b"AUTH", &self.password]),
        }
    }
}
