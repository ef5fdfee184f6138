//! The certificates that users show.

use std::path::PathBuf;

use plumb_scenario::ScenarioError;
use plumb_scenario::ScenarioSource;
use plumb_scenario::data::Lines;
use plumb_scenario::file::{Scenario, Take};
use plumb_scenario::template::Template;
use plumb_scenario::variables::{Common, Names, Variables};

/// Certificates of all scenarios together: each has a connector of its own in memory.
const CERTIFICATES_MAX: usize = 10_000;

/// The files of a certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CertificateFiles {
    pub(crate) cert: PathBuf,
    pub(crate) key: PathBuf,
}

/// Which certificates the users of a scenario show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Identities {
    /// That of the first user.
    first: u32,
    /// So many; then the first again.
    count: u32,
}

impl Identities {
    /// The identity of user `number`.
    pub(crate) fn of(self, number: usize) -> u32 {
        let turn = number % usize::try_from(self.count).unwrap_or(usize::MAX).max(1);
        self.first + u32::try_from(turn).unwrap_or(0)
    }

    /// Adds the certificates of the users of `scenario` to `all`, of whom identity 1 shows the first;
    /// `None` where they show none.
    ///
    /// # Errors
    /// [`ScenarioError::Wrong`] where they follow from what is not known before a user begins.
    pub(crate) fn of_scenario(
        scenario: &Scenario,
        source: &ScenarioSource,
        names: &mut Names,
        (common, data): (&Common, &[(String, Lines)]),
        all: &mut Vec<CertificateFiles>,
    ) -> Result<Option<Self>, ScenarioError> {
        let Some(written) = &scenario.certificate else { return Ok(None) };
        let (at, written) = (written.span(), written.get_ref());
        let wrong = |problem: String| source.wrong(&at, format!("certificate: {problem}"));
        let mut template =
            |text: &str| Template::parse(text, names).map_err(|error| wrong(error.to_string()));
        let (cert, key) = (template(&written.cert)?, template(&written.key)?);
        let by_user = || data.iter().map(|(_, it)| it).filter(|it| it.take_when() == Take::ByUser);
        let count = by_user().map(Lines::count).max().unwrap_or(1);
        let first = all.len() + 1;
        if count > (CERTIFICATES_MAX - all.len()) as u64 {
            return Err(wrong(format!("more than {CERTIFICATES_MAX} certificates")));
        }
        let mut variables = Variables::new(common.clone().share());
        for number in 0..count {
            by_user().for_each(|lines| lines.set(number, &mut variables));
            let file = |template: &Template| {
                let mut text = Vec::new();
                template.write(&variables, &mut text).map_err(|missing| {
                    let words = missing.words(names);
                    wrong(format!(
                        "{words}: it must be one of `variables`, or of data with take = \"by-user\""
                    ))
                })?;
                let path = PathBuf::from(String::from_utf8_lossy(&text).into_owned());
                source
                    .reach()
                    .file(&path)
                    .map_err(|refused| wrong(format!("cannot take {}: {refused}", path.display())))
            };
            all.push(CertificateFiles { cert: file(&cert)?, key: file(&key)? });
        }
        let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX); // both are bounded
        Ok(Some(Self { first: number(first), count: number(all.len() + 1 - first) }))
    }
}
