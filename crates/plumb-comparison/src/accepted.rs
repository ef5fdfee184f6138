//! Foreign load beyond the usual limit, which somebody accepted.

use plumb_measure::{ForeignLimit, RunRecord};
use serde::{Deserialize, Serialize};

/// The limit of foreign load that was raised for the runs of a comparison, and what others took.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct AcceptedLoad {
    /// The widest limit of a run that counts.
    pub limit: ForeignLimit,
    /// The most that others took of all processors in one of the runs that count, percent; absent where
    /// that is not known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub most_pct: Option<f64>,
}

impl AcceptedLoad {
    /// Of the runs that count; `None` where no limit was raised.
    #[must_use]
    pub fn of<'a>(runs: impl IntoIterator<Item = &'a RunRecord>) -> Option<Self> {
        let mut widest: Option<Self> = None;
        let mut most_pct: Option<f64> = None;
        for run in runs {
            let shares = run.results.iter().filter_map(|it| it.host.as_ref()?.foreign_pct);
            most_pct = shares.chain(most_pct).reduce(f64::max);
            let limit = run.validity.foreign_limit.filter(|limit| limit.is_raised());
            let is_wider = |limit: &ForeignLimit| {
                widest.is_none_or(|widest| widest.limit.percent() < limit.percent())
            };
            if let Some(limit) = limit.filter(is_wider) {
                widest = Some(Self { limit, most_pct: None });
            }
        }
        widest.map(|widest| Self { most_pct, ..widest })
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
        match self.most_pct {
            Some(most) => format!("others took up to {most:.1} %"),
            None => "what others took is not known".into(),
        }
    }
}
