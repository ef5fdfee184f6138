//! How much processor time others may take before the figures are not valid.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Share;

/// The share of all processors that others, or the hypervisor, may take.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ForeignLimit {
    /// Its value.
    pub share: Share,
    /// Who said so.
    pub source: LimitSource,
}

/// Where a limit comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LimitSource {
    /// Nobody said anything.
    #[default]
    Default,
    /// The option on the command line.
    Option,
    /// The environment variable.
    Environment,
    /// The options file.
    OptionsFile,
}

impl ForeignLimit {
    /// The limit where nobody says anything.
    pub const DEFAULT: Share = Share::percent(5);

    /// True when it lies above the one where nobody says anything.
    #[must_use]
    pub fn is_raised(self) -> bool {
        self.share.of_one() > Self::DEFAULT.of_one()
    }

    /// True when others may take everything, so that nothing is left to check.
    #[must_use]
    pub fn accepts_all(self) -> bool {
        self.share.of_one() >= 1.0
    }

    /// Percent of all processors.
    #[must_use]
    pub fn percent(self) -> f64 {
        100.0 * self.share.of_one()
    }
}

impl Default for ForeignLimit {
    fn default() -> Self {
        Self { share: Self::DEFAULT, source: LimitSource::Default }
    }
}

impl fmt::Display for ForeignLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.share.to_string().replace('%', " %"))
    }
}

impl LimitSource {
    /// Every source.
    pub const ALL: [Self; 4] = [Self::Default, Self::Option, Self::Environment, Self::OptionsFile];

    /// Its name, as the record has it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Option => "option",
            Self::Environment => "environment",
            Self::OptionsFile => "options-file",
        }
    }

    /// Its name in a sentence that begins with "set by".
    #[must_use]
    pub fn setter(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Option => "--foreign-limit",
            Self::Environment => "the environment, PLUMB_FOREIGN_LIMIT",
            Self::OptionsFile => "the options file",
        }
    }
}

impl std::str::FromStr for LimitSource {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|source| source.name() == text);
        found.ok_or_else(|| format!("expected one of {}", Self::ALL.map(Self::name).join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(text: &str) -> ForeignLimit {
        ForeignLimit { share: text.parse().unwrap(), source: LimitSource::Option }
    }

    #[test]
    fn a_limit_is_raised_above_the_default() {
        assert_eq!(
            ["1%", "5%", "5.5%", "100%"].map(|it| limit(it).is_raised()),
            [false, false, true, true]
        );
        assert_eq!(["99%", "100%"].map(|it| limit(it).accepts_all()), [false, true]);
        assert_eq!(limit("5.5%").to_string(), "5.5 %");
    }

    #[test]
    fn sources_are_read_as_they_are_written() {
        for source in LimitSource::ALL {
            assert_eq!(source.name().parse(), Ok(source));
            let json = serde_json::to_string(&source).unwrap();
            assert_eq!(json, format!("\"{}\"", source.name()));
        }
        assert!("elsewhere".parse::<LimitSource>().is_err());
    }
}
