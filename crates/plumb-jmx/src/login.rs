//! Who the users of a group are.

use plumb_draft::Login;
use plumb_scenario::file::Authentication;
use plumb_wire::http::Url;

use super::Importer;
use super::element::Element;
use super::request::whole_address;
use super::scope::Scope;

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

    /// Names managers of which JMeter tells the user to a part of `base` alone, where `request` to that
    /// lies outside of it.
    pub(super) fn name_outside(&mut self, request: &Element<'_>, scope: &Scope<'_>) {
        let path = scope.property(request, "HTTPSampler.path").trim();
        let path = whole_address(path).map_or(path, |(_, path)| path);
        // of a path that only the load knows, its beginning
        let beginning = || path.split("${").next().unwrap_or_default().to_owned();
        let path = self.words.known(path).unwrap_or_else(beginning);
        let path = format!("/{}", path.trim_start_matches('/'));
        for manager in &scope.logins {
            for entry in manager.members("AuthManager.auth_list") {
                let url = self.words.known(entry.text("Authorization.url"));
                let url = url.and_then(|url| Url::parse(&url).ok());
                let url = url.filter(|url| self.base.as_ref().is_none_or(|it| url.same_origin(it)));
                if let Some(url) = url.filter(|url| !path.starts_with(url.target())) {
                    let why = format!(
                        "JMeter names its user below {} alone, and here every request to `base` does",
                        url.target()
                    );
                    self.draft.notes.add(manager.place(), manager.what(), why);
                }
            }
        }
    }

    fn entry(&self, entry: &Element<'_>) -> Result<Login, String> {
        let known = |name: &str| {
            let text = entry.text(name);
            self.words.known(text).ok_or_else(|| format!("{name} is not known before the load"))
        };
        let mechanism = entry.text("Authorization.mechanism");
        let by = match mechanism {
            "" | "BASIC" | "BASIC_DIGEST" => Authentication::Basic,
            "DIGEST" => Authentication::Digest,
            "KERBEROS" => Authentication::Negotiate,
            _ => {
                return Err(format!(
                    "{mechanism} is not answered, only Basic, Digest and Kerberos"
                ));
            }
        };
        let url = known("Authorization.url")?;
        if let (Some(base), Ok(url)) = (&self.base, Url::parse(&url))
            && !url.same_origin(base)
        {
            return Err("one of its users is that of another server".into());
        }
        let (user, password) = (known("Authorization.username")?, known("Authorization.password")?);
        if by == Authentication::Negotiate && user.is_empty() {
            return Ok(Login::by_ticket());
        }
        let login = Login::new(&user, &password).ok_or("one of its users cannot be sent")?;
        Ok(Login { by, ..login })
    }
}

#[cfg(test)]
mod tests {
    use plumb_draft::Source;
    use plumb_draft::origin::WantedServers;

    use crate::import;

    use super::*;

    #[test]
    fn a_manager_of_kerberos_names_a_user_or_takes_the_tickets_at_hand() {
        for (user, named) in [("demo", true), ("", false)] {
            let text = format!(
                "<jmeterTestPlan><hashTree><TestPlan testname='p'/><hashTree><ThreadGroup \
                 testname='g'/><hashTree><AuthManager testname='m'><collectionProp \
                 name='AuthManager.auth_list'><elementProp name='' elementType='Authorization'>\
                 <stringProp name='Authorization.url'>http://h/</stringProp><stringProp \
                 name='Authorization.username'>{user}</stringProp><stringProp \
                 name='Authorization.password'>{user}</stringProp><stringProp \
                 name='Authorization.mechanism'>KERBEROS</stringProp></elementProp>\
                 </collectionProp></AuthManager><hashTree/><HTTPSamplerProxy testname='page'>\
                 <stringProp name='HTTPSampler.domain'>h</stringProp></HTTPSamplerProxy><hashTree/>\
                 </hashTree></hashTree></hashTree></jmeterTestPlan>"
            );
            let source = Source { path: "p.jmx".into(), text };
            let draft = import(&source, WantedServers::default());
            let draft = draft.unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(draft.file.authentication, Some(Authentication::Negotiate));
            assert_eq!(draft.login.is_some(), named, "{user}");
        }
    }
}
