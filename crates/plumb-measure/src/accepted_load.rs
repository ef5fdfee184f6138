//! Foreign load beyond the usual limit, which somebody accepted.

use serde::{Deserialize, Serialize};

use crate::{ForeignLimit, ResultRecord, RunRecord};

/// The limit of foreign load that was raised for some runs, and what others took.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct AcceptedLoad {
    /// The widest limit of a run that counts.
    pub limit: ForeignLimit,
    /// The most that others took of all processors in one of the runs whose limit was raised, percent;
    /// absent where that is known of none of them.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub most_pct: Option<f64>,
    /// Of how much of these runs that is known.
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

/// What is known of foreign load during one result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ForeignLook {
    /// What others were allowed to take.
    pub limit: ForeignLimit,
    /// What they took of all processors, percent; `None` where nobody can say.
    pub foreign_pct: Option<f64>,
    /// True where remote machines drove the load, of which each watched itself.
    pub by_remotes: bool,
}

impl ForeignLook {
    /// That of a `result` of `run`, or of a run without any; `None` where no limit was judged.
    #[must_use]
    pub fn of(run: &RunRecord, result: Option<&ResultRecord>) -> Option<Self> {
        let limit = run.validity.foreign_limit?;
        let foreign_pct = result.and_then(|it| it.host.as_ref()?.foreign_pct);
        Some(Self { limit, foreign_pct, by_remotes: run.plan.options.contains_key("remotes") })
    }
}

impl AcceptedLoad {
    /// Of the runs that count; `None` where no limit was raised.
    #[must_use]
    pub fn of<'a>(runs: impl IntoIterator<Item = &'a RunRecord>) -> Option<Self> {
        Self::of_looks(runs.into_iter().flat_map(looks))
    }

    /// The same of single results. Those under the usual limit tell nothing of the others.
    #[must_use]
    pub fn of_looks(looks: impl IntoIterator<Item = ForeignLook>) -> Option<Self> {
        let raised = looks.into_iter().filter(|look| look.limit.is_raised());
        let raised: Vec<ForeignLook> = raised.collect();
        let wider =
            |a: ForeignLimit, b: ForeignLimit| if a.percent() < b.percent() { b } else { a };
        let limit = raised.iter().map(|look| look.limit).reduce(wider)?;
        let most_pct = raised.iter().filter_map(|look| look.foreign_pct).reduce(f64::max);
        let untold: Vec<&ForeignLook> =
            raised.iter().filter(|look| look.foreign_pct.is_none()).collect();
        let known = match &untold[..] {
            [] => Known::All,
            all if most_pct.is_none() && all.iter().all(|look| look.by_remotes) => Known::ByRemotes,
            _ => Known::Part,
        };
        Some(Self { limit, most_pct, known })
    }

    /// What stands beside a verdict: `limit of foreign load raised to 100 %, others took up to 84.0 %`.
    #[must_use]
    pub fn words(&self) -> String {
        format!("limit of foreign load raised to {}, {}", self.limit, self.took())
    }

    /// The sentence `said` with these words at its end.
    #[must_use]
    pub fn beside(&self, said: &str) -> String {
        match said.strip_suffix('.') {
            Some(said) => format!("{said}; {}.", self.words()),
            None => format!("{said}; {}", self.words()),
        }
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

/// What `run` tells: of each result, and of a run without any that it tells nothing.
fn looks(run: &RunRecord) -> Vec<ForeignLook> {
    if run.results.is_empty() {
        return ForeignLook::of(run, None).into_iter().collect();
    }
    run.results.iter().filter_map(|it| ForeignLook::of(run, Some(it))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LimitSource;

    fn look(limit: &str, foreign_pct: Option<f64>, by_remotes: bool) -> ForeignLook {
        let limit = ForeignLimit { share: limit.parse().unwrap(), source: LimitSource::Option };
        ForeignLook { limit, foreign_pct, by_remotes }
    }

    fn took(looks: &[ForeignLook]) -> String {
        let words = AcceptedLoad::of_looks(looks.iter().copied()).unwrap().words();
        words.split_once(", ").unwrap().1.to_owned()
    }

    #[test]
    fn what_others_took_is_told_of_the_runs_whose_limit_was_raised_and_of_no_others() {
        let usual = look("5%", Some(4.9), false);
        let raised = look("100%", Some(3.0), false);
        assert_eq!(took(&[usual, raised]), "others took up to 3.0 %");
        assert!(AcceptedLoad::of_looks([usual]).is_none());
        let (here, remote) = (look("100%", None, false), look("100%", None, true));
        assert_eq!(took(&[usual, here]), "what others took is not known");
        assert_eq!(took(&[raised, here]), "others took up to 3.0 % where that is known");
        let by_remotes = "what others took is in the record of each remote (remotes/NAME.json)";
        assert_eq!(took(&[remote, usual, remote]), by_remotes);
        // of one that was measured here no remote has a record
        assert_eq!(took(&[remote, here]), "what others took is not known");
        assert_eq!(took(&[remote, raised]), "others took up to 3.0 % where that is known");
    }

    #[test]
    fn a_raised_run_without_results_tells_nothing() {
        let run = |results: serde_json::Value| {
            let json = serde_json::json!({"schema": "plumb.run/1", "plumb": {"version": "1"},
                "started": "now", "status": "broken",
                "plan": {"layer": "net", "verb": "ping", "command": [], "options": {},
                    "load": "closed", "seed": 0},
                "host": {"name": "h", "kernel": "k", "cpus": 1, "placement": "p", "clock": "c",
                    "clock_read_ns": 1},
                "target": {"address": "db1"},
                "validity": {"valid": true, "latency_valid": true, "reasons": [],
                    "foreign_limit": {"share": "100%", "source": "option"}},
                "results": results});
            RunRecord::from_json(&json.to_string()).unwrap()
        };
        let none = AcceptedLoad::of([&run(serde_json::json!([]))]).unwrap();
        assert_eq!((none.most_pct, none.known), (None, Known::Part));
        assert!(none.beside("So it is.").ends_with(", what others took is not known."));
    }
}
