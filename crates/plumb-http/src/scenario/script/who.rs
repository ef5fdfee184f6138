//! Who asks, and how that is proved.

use std::path::Path;

use plumb_scenario::file::{Authentication, Scenario};

use super::ScenarioCompiler;
use crate::HttpError;
use crate::credentials::{Credentials, Source};
use crate::proof::{Proof, service_problem};

impl ScenarioCompiler<'_> {
    pub(super) fn authentication(&self, scenario: &Scenario) -> Authentication {
        let file = self.source.file().authentication;
        scenario.authentication.or(file).unwrap_or_default()
    }

    /// Who asks: as the command line says, else the file, else the environment.
    pub(super) fn credentials(
        &self,
        path: Option<&Path>,
    ) -> Result<Option<Credentials>, HttpError> {
        let named = self.overrides.credentials.clone();
        let file = match (named, path) {
            (Some(named), _) => Some(named),
            (None, Some(path)) => Some(self.source.reach().file(path).map_err(|refused| {
                HttpError::Credentials(format!(
                    "{}: cannot take the credentials {}: {refused}",
                    self.source.path().display(),
                    path.display()
                ))
            })?),
            (None, None) => None,
        };
        Source::new(file.as_deref()).at_hand()
    }

    /// What answers challenges to the users of `scenario`, as whom `who` asks.
    ///
    /// # Errors
    /// With the place of the scenario, when nobody can be proved so.
    pub(super) fn proof(
        &self,
        scenario: &Scenario,
        who: Option<&Credentials>,
    ) -> Result<Option<Proof>, HttpError> {
        let wrong = |problem: String| {
            let at = self.source.place_of(scenario);
            Err(self.source.wrong(&at, problem).into())
        };
        match (self.authentication(scenario), who) {
            (Authentication::Basic, _) => Ok(None),
            (Authentication::Digest, Some(who)) => Ok(Some(Proof::Digest(who.clone()))),
            (Authentication::Digest, None) => wrong(
                "authentication = \"digest\" needs who asks: give credentials, or set \
                 PLUMB_HTTP_USER and PLUMB_HTTP_PASSWORD"
                    .into(),
            ),
            (Authentication::Negotiate, who) => {
                let service = scenario.service.as_ref().or(self.source.file().service.as_ref());
                if let Some(service) = service
                    && let Some(problem) = service_problem(service.get_ref())
                {
                    return Err(self.source.wrong(&service.span(), problem).into());
                }
                let service = service.map(|service| service.get_ref().as_str());
                let host = self.origins.base().host();
                match self.overrides.initiators.of(who, host, service) {
                    Ok(initiator) => Ok(Some(Proof::Negotiate(initiator))),
                    Err(error) => wrong(error.to_string()),
                }
            }
        }
    }
}
