//! A user and a password, from where nobody else reads them.

use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use plumb_wire::secret::first_line;

use crate::{HttpError, prompt};

const USER: &str = "PLUMB_HTTP_USER";
const PASSWORD: &str = "PLUMB_HTTP_PASSWORD";
/// Bytes of a file of credentials that are read at most.
const FILE_BYTES_MAX: u64 = 4 << 10;

/// What proves who asks. It is never shown, not even for debugging.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Credentials {
    authorization: String,
    user: String,
    password: String,
}

impl std::fmt::Debug for Credentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Credentials(..)")
    }
}

impl Credentials {
    /// The value of an `Authorization` line.
    pub(crate) fn authorization(&self) -> &str {
        &self.authorization
    }

    /// Both, for whoever proves them in another way.
    pub(crate) fn user_and_password(&self) -> (&str, &str) {
        (&self.user, &self.password)
    }

    /// What the variables `user` and `password` of the environment say; `None` when neither is
    /// set.
    pub(crate) fn from_environment(user: &str, password: &str) -> Result<Option<Self>, HttpError> {
        let found = std::env::var(user).ok().filter(|value| !value.is_empty());
        match (found, std::env::var(password).ok()) {
            (Some(who), Some(secret)) => Self::basic(&who, &secret).map(Some),
            (Some(_), None) => Err(half(user, password)),
            (None, Some(_)) => Err(half(password, user)),
            (None, None) => Ok(None),
        }
    }

    pub(crate) fn basic(user: &str, password: &str) -> Result<Self, HttpError> {
        let refused = |text: &str| Err(HttpError::Credentials(text.into()));
        if user.contains(':') {
            return refused("a user with a colon in its name cannot be sent in a Basic answer");
        }
        if [user, password].iter().any(|text| text.contains(|c: char| c.is_control())) {
            return refused("a user or password with control characters cannot be sent");
        }
        let authorization = format!("Basic {}", STANDARD.encode(format!("{user}:{password}")));
        Ok(Self { authorization, user: user.into(), password: password.into() })
    }
}

/// Where credentials may come from.
#[derive(Debug)]
pub(crate) struct Source {
    file: Option<PathBuf>,
}

impl Source {
    /// `file`, else the environment, else the terminal.
    pub(crate) fn new(file: Option<&Path>) -> Self {
        Self { file: file.map(Path::to_path_buf) }
    }

    /// The credentials in the file, if one was named.
    pub(crate) fn in_the_file(&self) -> Result<Option<Credentials>, HttpError> {
        self.file.as_deref().map(from_file).transpose()
    }

    /// The credentials that can be had without asking anybody.
    pub(crate) fn at_hand(&self) -> Result<Option<Credentials>, HttpError> {
        match self.in_the_file()? {
            Some(found) => Ok(Some(found)),
            None => Credentials::from_environment(USER, PASSWORD),
        }
    }

    /// The credentials for `realm` of `host`; `None` when there are none and nobody can be asked.
    pub(crate) fn find(&self, host: &str, realm: &str) -> Result<Option<Credentials>, HttpError> {
        if let Some(found) = self.at_hand()? {
            return Ok(Some(found));
        }
        match prompt::ask(&format!("{host} asks who you are ({realm})")) {
            None => Ok(None),
            Some((user, password)) => Credentials::basic(&user, &password).map(Some),
        }
    }
}

fn half(there: &str, missing: &str) -> HttpError {
    HttpError::Credentials(format!("{there} is set and {missing} is not: set both"))
}

/// One line `USER:PASSWORD` of a file that nobody but its owner can read.
fn from_file(path: &Path) -> Result<Credentials, HttpError> {
    let place = path.display();
    let failed = |cause: std::io::Error| {
        HttpError::Credentials(format!(
            "cannot read the credentials {place}: {cause}; write one line USER:PASSWORD into this \
             file, and make it yours alone (chmod 600)"
        ))
    };
    // what is checked is what is read, whatever the name means a moment later
    let file = File::open(path).map_err(failed)?;
    let mode = file.metadata().map_err(failed)?.mode();
    if mode & 0o077 != 0 {
        return Err(HttpError::Credentials(format!(
            "others may read or change the credentials {place} (mode {:o}): chmod 600 {place}",
            mode & 0o777
        )));
    }
    let mut text = String::new();
    file.take(FILE_BYTES_MAX).read_to_string(&mut text).map_err(failed)?;
    let (user, password) = first_line(&text)
        .split_once(':')
        .ok_or_else(|| HttpError::Credentials(format!("{place} is no line USER:PASSWORD")))?;
    Credentials::basic(user, password)
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn file(text: &str, mode: u32) -> Result<Credentials, HttpError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("who");
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        from_file(&path)
    }

    #[test]
    fn a_file_of_its_owner_is_taken_and_never_shown() {
        let found = file("Aladdin:open sesame\n", 0o600).unwrap();
        assert_eq!(found.authorization(), "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
        assert_eq!(format!("{found:?}"), "Credentials(..)");
        assert_eq!(file("\u{feff}Aladdin:open sesame\r\n", 0o600).unwrap(), found);
    }

    #[test]
    fn a_file_that_others_may_read_is_refused() {
        for mode in [0o640, 0o604, 0o622] {
            let error = file("me:secret", mode).unwrap_err().to_string();
            assert!(error.contains("chmod 600") && !error.contains("secret"), "{error}");
        }
    }

    #[test]
    fn what_cannot_be_sent_is_refused_without_repeating_it() {
        for text in ["secret", "", "me:sec\tret"] {
            let error = file(text, 0o600).unwrap_err().to_string();
            assert!(!error.contains("sec\tret") && !error.contains("secret"), "{error}");
        }
        assert!(Credentials::basic("a:b", "c").is_err());
    }
}
