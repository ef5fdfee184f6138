//! Foreign load beyond the usual limit, which somebody accepted.

use plumb_measure::{ForeignLimit, RunRecord};
use serde::{Deserialize, Serialize};

/// The limit of foreign load that was raised for the runs of a comparison, and what others took.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct AcceptedLoad {
    /// The widest limit of a run that counts.
    pub limit: ForeignLimit,
    /// The most that others took of all processors in one of the runs that count, percent; absent where
    /// that is known of none whose limit was raised.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub most_pct: Option<f64>,
    /// Of how much of the runs whose limit was raised that is known.
    #[serde(skip_serializing_if = "Known::is_all", default)]
    pub known: Known,
}

/// Of how much of the runs whose limit was raised it is known what others took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Known {
    /// Of every result.
    #[default]
    All,
    /// Of some results, or of none.
    Part,
    /// Of none here: remote machines drove the load, and each of them watched itself.
    ByRemotes,
}

impl Known {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands out references")]
    fn is_all(&self) -> bool {
        *self == Self::All
    }
}

impl AcceptedLoad {
    /// Of the runs that count; `None` where no limit was raised.
    #[must_use]
    pub fn of<'a>(runs: impl IntoIterator<Item = &'a RunRecord>) -> Option<Self> {
        let mut widest: Option<Self> = None;
        let mut most_pct: Option<f64> = None;
        let (mut told, mut untold, mut of_remotes) = (false, false, false);
        for run in runs {
            let shares = || run.results.iter().map(|it| it.host.as_ref()?.foreign_pct);
            most_pct = shares().flatten().chain(most_pct).reduce(f64::max);
            let limit = run.validity.foreign_limit.filter(|limit| limit.is_raised());
            if limit.is_some() {
                told |= shares().any(|it| it.is_some());
                untold |= shares().any(|it| it.is_none());
                of_remotes |= run.plan.options.contains_key("remotes");
            }
            let is_wider = |limit: &ForeignLimit| {
                widest.is_none_or(|widest| widest.limit.percent() < limit.percent())
            };
            if let Some(limit) = limit.filter(is_wider) {
                widest = Some(Self { limit, most_pct: None, known: Known::All });
            }
        }
        let known = match (told, untold) {
            (_, false) => Known::All,
            (false, true) if of_remotes => Known::ByRemotes,
            (_, true) => Known::Part,
        };
        // what others took under the usual limit tells nothing of those that were raised
        widest.map(|widest| Self { most_pct: most_pct.filter(|_| told), known, ..widest })
    }

    /// What stands beside a verdict: `limit of foreign load raised to 100 %, others took up to 84.0 %`.
    #[must_use]
    pub fn words(&self) -> String {
        format!("limit of foreign load raised to {}, {}", self.limit, self.took())
    }

    /// The same with who raised it, for a list of circumstances.
    #[must_use]
    pub fn circumstance(&self) -> String {
        format!(
            "limit raised from {} to {} ({}), {}",
            ForeignLimit::default(),
            self.limit,
            self.limit.source.setter(),
            self.took()
        )
    }

    fn took(&self) -> String {
        match (self.most_pct, self.known) {
            (Some(most), Known::All) => format!("others took up to {most:.1} %"),
            (Some(most), _) => format!("others took up to {most:.1} % where that is known"),
            (None, Known::ByRemotes) => {
                "what others took is in the record of each remote (remotes/NAME.json)".into()
            }
            (None, _) => "what others took is not known".into(),
        }
    }
}
