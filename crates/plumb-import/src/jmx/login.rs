//! Who the users of a group are.

use plumb_wire::http::Url;

use super::Importer;
use super::element::Element;
use super::scope::Scope;
use crate::login::Login;

impl Importer {
    /// The one user that the managers in scope name.
    pub(super) fn login(&mut self, scope: &Scope<'_>) -> Option<Login> {
        let mut found: Option<Login> = None;
        for manager in &scope.logins {
            for entry in manager.members("AuthManager.auth_list") {
                match self.entry(&entry) {
                    Ok(login) if found.as_ref().is_some_and(|known| *known != login) => {
                        let why = "it holds several users; a scenario has one file of credentials";
                        self.draft.notes.add(manager.place(), manager.what(), why);
                    }
                    Ok(login) => found = Some(login),
                    Err(why) => self.draft.notes.add(manager.place(), manager.what(), why),
                }
            }
        }
        found
    }

    fn entry(&self, entry: &Element<'_>) -> Result<Login, String> {
        let known = |name: &str| {
            let text = entry.text(name);
            self.words.known(text).ok_or_else(|| format!("{name} is not known before the load"))
        };
        let mechanism = entry.text("Authorization.mechanism");
        if !matches!(mechanism, "" | "BASIC" | "BASIC_DIGEST" | "DIGEST") {
            return Err(format!("{mechanism} is not answered, only Basic and Digest"));
        }
        let url = known("Authorization.url")?;
        if let (Some(base), Ok(url)) = (&self.base, Url::parse(&url))
            && !url.same_origin(base)
        {
            return Err("one of its users is that of another server".into());
        }
        let login =
            Login::new(&known("Authorization.username")?, &known("Authorization.password")?)
                .ok_or("one of its users cannot be sent")?;
        Ok(Login { digest: mechanism == "DIGEST", ..login })
    }
}
