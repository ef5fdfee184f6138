//! A scenario while it is being made: the file with what is said beside its keys.

use std::collections::BTreeMap;

use plumb_scenario::file::{Pairs, ScenarioFile, Step};

use crate::login::Login;
use crate::note::Notes;

/// Comments by the place of what they stand above: `base`, `variables.NAME`, `scenario.0`,
/// `scenario.0.step.2.step.0`.
pub type Remarks = BTreeMap<String, Vec<String>>;

/// What an importer makes.
#[derive(Debug, Default)]
pub struct Draft {
    /// The scenario.
    pub file: ScenarioFile,
    /// What is said above its keys and tables.
    pub remarks: Remarks,
    /// What is said of the whole file.
    pub head: Vec<String>,
    /// What was not carried over.
    pub notes: Notes,
    /// Who asks, where the file said it. It is never written into the scenario.
    pub login: Option<Login>,
    /// A data file that goes with the scenario.
    pub data: Option<DataFile>,
    /// The scenarios whose users it is, by number; none: all of them.
    pub login_of: Vec<usize>,
}

/// A data file that is written beside the scenario.
#[derive(Clone, Debug)]
pub struct DataFile {
    /// CSV.
    pub text: String,
}

impl DataFile {
    /// What it is called in a draft, until the scenario has a name.
    pub const PLACE: &str = "data.csv";
}

impl Draft {
    /// Says `text` above the key or table at `place`.
    pub fn remark(&mut self, place: impl Into<String>, text: impl Into<String>) {
        self.remarks.entry(place.into()).or_default().push(text.into());
    }
}

/// A step with what is said above it.
#[derive(Clone, Debug, Default)]
pub struct DraftStep {
    /// What is said above it.
    pub remarks: Vec<String>,
    /// Without its steps.
    pub step: Step,
    /// The steps inside it.
    pub steps: Vec<DraftStep>,
}

impl DraftStep {
    /// `steps`, done as `step` says.
    #[must_use]
    pub fn around(step: Step, steps: Vec<DraftStep>) -> Self {
        Self { remarks: Vec::new(), step, steps }
    }
}

/// Takes the headers that every request of `steps` sends with the same value out of each, where
/// there are several requests.
pub fn shared_headers<'a>(steps: impl Iterator<Item = &'a mut DraftStep>) -> Pairs {
    let mut all = Vec::new();
    gather(steps, &mut all);
    let [first, others @ ..] = &all[..] else { return Pairs::new() };
    if others.is_empty() {
        return Pairs::new();
    }
    let everywhere = |(name, value): &(&String, &String)| {
        others.iter().all(|headers| headers.get(*name) == Some(*value))
    };
    let own = first.iter().filter(everywhere);
    let common: Pairs = own.map(|(name, value)| (name.clone(), value.clone())).collect();
    for headers in all {
        headers.retain(|name, _| !common.contains_key(name));
    }
    common
}

/// The headers of every request among `steps` and below.
fn gather<'a>(steps: impl Iterator<Item = &'a mut DraftStep>, all: &mut Vec<&'a mut Pairs>) {
    for draft in steps {
        if draft.step.get.is_some() || draft.step.path.is_some() {
            all.push(&mut draft.step.headers);
        }
        gather(Box::new(draft.steps.iter_mut()) as Box<dyn Iterator<Item = _>>, all);
    }
}

/// The steps of the table `at`, whose remarks go to `remarks`.
pub fn laid_out(steps: Vec<DraftStep>, at: &str, remarks: &mut Remarks) -> Vec<Step> {
    let numbered = steps.into_iter().enumerate();
    numbered
        .map(|(number, draft)| {
            let place = format!("{at}.step.{number}");
            if !draft.remarks.is_empty() {
                remarks.insert(place.clone(), draft.remarks);
            }
            Step { step: laid_out(draft.steps, &place, remarks), ..draft.step }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(headers: &[(&str, &str)]) -> DraftStep {
        let headers = headers.iter().map(|(name, value)| ((*name).into(), (*value).into()));
        let step = Step {
            get: Some(plumb_scenario::file::placed("/".into())),
            headers: headers.collect(),
            ..Step::default()
        };
        DraftStep::around(step, Vec::new())
    }

    #[test]
    fn headers_that_are_everywhere_are_said_once() {
        let inner = request(&[("A", "1"), ("B", "2")]);
        let mut steps =
            [DraftStep::around(Step::default(), vec![inner]), request(&[("A", "1"), ("B", "3")])];
        let common = shared_headers(steps.iter_mut());
        assert_eq!(common, Pairs::from([("A".into(), "1".into())]));
        assert_eq!(steps[0].steps[0].step.headers.len(), 1);
        assert_eq!(steps[1].step.headers, Pairs::from([("B".into(), "3".into())]));
        let mut alone = [request(&[("A", "1")])];
        assert_eq!(shared_headers(alone.iter_mut()), Pairs::new());
        assert_eq!(alone[0].step.headers.len(), 1);
    }
}
