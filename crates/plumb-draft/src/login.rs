//! Who logs on, as a file of others says.

use plumb_scenario::file::Authentication;

/// A user and a password. They are never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Login {
    /// The user; nobody where a ticket says who asks.
    pub user: String,
    /// The password.
    pub password: String,
    /// How the server is told.
    pub by: Authentication,
}

impl Login {
    /// Whoever has a ticket.
    #[must_use]
    pub fn by_ticket() -> Self {
        let by = Authentication::Negotiate;
        Self { user: String::new(), password: String::new(), by }
    }

    /// Somebody with a password whom the file does not name, as it masks both.
    #[must_use]
    pub fn hidden() -> Self {
        let by = Authentication::Basic;
        Self { user: String::new(), password: String::new(), by }
    }

    /// True of somebody whom the file does not name.
    #[must_use]
    pub fn is_hidden(&self) -> bool {
        *self == Self::hidden()
    }

    /// A user with a password, as one line `USER:PASSWORD` can hold them; `None` for others.
    #[must_use]
    pub fn new(user: &str, password: &str) -> Option<Self> {
        let sound = !user.is_empty() && !user.contains(':');
        let plain = ![user, password].iter().any(|text| text.contains(char::is_control));
        (sound && plain).then(|| Self {
            user: user.into(),
            password: password.into(),
            by: Authentication::Basic,
        })
    }
}

impl std::fmt::Debug for Login {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Login(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_login_is_one_line_and_never_shown() {
        let login = Login::new("me", "open: sesame").unwrap();
        assert!(
            !login.is_hidden() && !Login::by_ticket().is_hidden() && Login::hidden().is_hidden()
        );
        assert_eq!(format!("{login:?}"), "Login(..)");
        for (user, password) in [("", "a"), ("a:b", "c"), ("a", "b\nc")] {
            assert_eq!(Login::new(user, password), None);
        }
    }
}
