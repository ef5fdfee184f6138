//! Which executions a form or a query means.

use crate::answer::Failure;
use crate::route::id;
use plumb_queue::{Filter, State};

/// Executions that are shown unless a query says.
const SHOWN: usize = 50;
/// Executions that are shown at most.
const SHOWN_MAX: usize = 1_000;
/// Executions a second that a drain gives out at most.
const RATE_MAX: u32 = 100_000;

/// What was chosen.
#[derive(Clone, Debug, Default)]
pub(super) struct Chosen {
    pub(super) filter: Filter,
    /// Executions a second that are given out again; `None`: all at once.
    pub(super) rate: Option<u32>,
    /// All that the filter finds are meant, although it says little.
    all: bool,
}

impl Chosen {
    /// Reads `id`, `state`, `transaction`, `before`, `most`, `rate` and `all`.
    ///
    /// # Errors
    /// [`Failure`] for what is none of these, or not what it should be.
    pub(super) fn read(pairs: &[(String, String)]) -> Result<Self, Failure> {
        let mut chosen = Self::default();
        chosen.filter.most = SHOWN;
        for (name, value) in pairs.iter().filter(|(_, value)| !value.is_empty()) {
            let wrong = |expected: &str| {
                let shown: String = value.chars().take(40).collect();
                Failure::bad_request(format!("{name} is `{shown}`, expected {expected}"))
            };
            let an_id = || id(value).ok_or_else(|| wrong("16 hexadecimal digits"));
            let filter = &mut chosen.filter;
            match name.as_str() {
                "id" => filter.id = Some(an_id()?),
                "before" => filter.before = Some(an_id()?),
                "transaction" => filter.transaction = Some(value.clone()),
                "state" if value == "all" => filter.state = None,
                "state" => {
                    let state = state(value);
                    let expected = "waiting, running, done, failed or all";
                    filter.state = Some(state.ok_or_else(|| wrong(expected))?);
                }
                "most" => {
                    let most = value.parse().ok().filter(|most| (1..=SHOWN_MAX).contains(most));
                    filter.most = most.ok_or_else(|| wrong("a number from 1 to 1000"))?;
                }
                "rate" => {
                    let rate = value.parse().ok().filter(|rate| (1..=RATE_MAX).contains(rate));
                    chosen.rate = Some(rate.ok_or_else(|| wrong("a number from 1 to 100000"))?);
                }
                "all" => chosen.all = value == "yes",
                other => {
                    let shown: String = other.chars().take(40).collect();
                    return Err(Failure::bad_request(format!(
                        "`{shown}` is not known: id, state, transaction, before, most, rate, all"
                    )));
                }
            }
        }
        Ok(chosen)
    }

    /// Refuses what would mean everything without having said so.
    ///
    /// # Errors
    /// [`Failure`].
    pub(super) fn is_deliberate(&self) -> Result<(), Failure> {
        let Filter { id, transaction, .. } = &self.filter;
        if self.all || id.is_some() || transaction.is_some() {
            return Ok(());
        }
        Err(Failure::bad_request(
            "this would mean all: name an id or a transaction, or all=yes (--all)",
        ))
    }

    /// The filter without the bound of a page.
    pub(super) fn all(&self) -> Filter {
        Filter { most: usize::MAX, before: None, ..self.filter.clone() }
    }

    /// What was chosen as a query, without what belongs to one page.
    pub(super) fn query(&self) -> String {
        let mut parts = Vec::new();
        if let Some(state) = self.filter.state {
            parts.push(format!("state={}", state_name(state)));
        }
        if let Some(name) = &self.filter.transaction {
            parts.push(format!("transaction={}", plumb_wire::percent::form_encoded(name)));
        }
        parts.join("&")
    }
}

pub(super) fn state_name(state: State) -> &'static str {
    match state {
        State::Waiting => "waiting",
        State::Running => "running",
        State::Done => "done",
        State::Failed => "failed",
    }
}

fn state(name: &str) -> Option<State> {
    let all = [State::Waiting, State::Running, State::Done, State::Failed];
    all.into_iter().find(|state| state_name(*state) == name)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use plumb_queue::ExecutionId;

    fn read(pairs: &[(&str, &str)]) -> Result<Chosen, String> {
        let pairs: Vec<(String, String)> =
            pairs.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
        Chosen::read(&pairs).map_err(|it| it.message)
    }

    #[test]
    fn a_filter_says_which_executions_are_meant() {
        let chosen =
            read(&[("state", "failed"), ("transaction", "a b"), ("rate", "50"), ("before", "")]);
        let chosen = chosen.unwrap();
        assert_eq!(chosen.filter.state, Some(State::Failed));
        assert_eq!(
            (chosen.rate, chosen.query().as_str()),
            (Some(50), "state=failed&transaction=a+b")
        );
        assert_eq!(chosen.all().most, usize::MAX);
        let one = read(&[("id", "00000000000000ff")]).unwrap();
        assert_eq!(one.filter.id, Some(ExecutionId(255)));
        for (name, value, expected) in [
            ("state", "dead", "expected waiting"),
            ("id", "ff", "16 hexadecimal digits"),
            ("rate", "0", "from 1 to 100000"),
            ("most", "1001", "from 1 to 1000"),
            ("other", "1", "is not known"),
        ] {
            assert!(read(&[(name, value)]).unwrap_err().contains(expected), "{name}");
        }
    }

    #[test]
    fn everything_is_meant_only_when_it_is_said() {
        assert!(read(&[("state", "failed")]).unwrap().is_deliberate().is_err());
        assert!(read(&[("state", "failed"), ("all", "yes")]).unwrap().is_deliberate().is_ok());
        assert!(read(&[("transaction", "a")]).unwrap().is_deliberate().is_ok());
    }

    proptest! {
        #[test]
        fn any_filter_is_read_or_refused(name in "id|state|most|rate|before|x", value: String) {
            let _ = read(&[(&name, &value)]);
        }
    }
}
