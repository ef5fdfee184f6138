//! What the users of one scenario would do.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use plumb_scenario::file::{
    AtEnd, Cookies, OnFailure, Pairs, Scenario, ScenarioFile, Step, Take, Think,
};
use plumb_scenario::masked;
use serde::Serialize;

use super::super::ScenarioLoad;
use super::amount::Amount;
use super::step::{ShownStep, View};
use crate::HttpError;
use crate::credentials::Source;
use crate::scenario::compile::bare;
use crate::scenario::user_script::Script;

/// The script of a scenario, with what belongs to its users.
#[derive(Clone, Debug, Serialize)]
pub(super) struct ShownScript {
    pub(super) name: String,
    pub(super) cookies: Cookies,
    pub(super) on_failure: OnFailure,
    /// Where the credentials come from: a file, or `environment`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) credentials: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) data: Vec<ShownData>,
    pub(super) variables: Vec<ShownVariable>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) pause: Option<Think>,
    /// How often each user does it, at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) iterations: Option<u64>,
    /// What a script comes to.
    pub(super) script: Amount,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) token: Vec<ShownStep>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) login: Vec<ShownStep>,
    pub(super) steps: Vec<ShownStep>,
    /// What each user does when the load is over.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) finish: Vec<ShownStep>,
}

/// A data file.
#[derive(Clone, Debug, Serialize)]
pub(super) struct ShownData {
    pub(super) file: PathBuf,
    pub(super) lines: u64,
    pub(super) names: Vec<String>,
    pub(super) take: Take,
    pub(super) at_end: AtEnd,
}

/// A variable, and what gives it a value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(super) struct ShownVariable {
    pub(super) name: String,
    /// Of one that is written down; masked where it is secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) value: Option<String>,
    /// `variables`, a data file, or a step in words.
    pub(super) from: String,
}

impl ShownScript {
    /// The scenario that is `written`, which stands without secrets in `masked` as `shown`.
    pub(super) fn of(
        load: &ScenarioLoad,
        masked: &ScenarioFile,
        (script, written, shown): (&Script, &Scenario, &Scenario),
    ) -> Result<Self, HttpError> {
        let file = load.source.file();
        let data = data(script, written);
        let prepared = set_by(&file.prepare);
        let given = given(masked, shown, &all_of(&file.variables, &written.variables));
        let mut constants = given.clone();
        let of_token = |it: &Scenario| it.token.as_ref().map_or(Vec::new(), |it| it.step.clone());
        let (of_token, shown_token) = (of_token(written), of_token(shown));
        let all = [&written.login, &written.step, &written.finish, &of_token];
        let changing = all.into_iter().flat_map(|steps| set_by(steps));
        let from_data = data.iter().flat_map(|data| data.names.iter().map(String::as_str));
        for name in changing.chain(prepared).chain(from_data) {
            constants.remove(name);
        }
        constants.retain(|_, value| !value.contains("${")); // they are made when the load begins
        let view = View {
            source: &load.source,
            exclude: &load.overrides.exclude,
            headers: [&masked.headers, &shown.headers],
            told: &masked::headers(&load.overrides.headers),
            think: written.think.as_ref().map(|think| *think.get_ref()),
            constants: &constants,
        };
        let token = view.steps(&of_token, &shown_token);
        let finish = view.steps(&written.finish, &shown.finish);
        let login = view.steps(&written.login, &shown.login);
        let steps = view.steps(&written.step, &shown.step);
        let pause = written.pause.as_ref().map(|pause| *pause.get_ref());
        let credentials = written.credentials.as_deref().or(file.credentials.as_deref());
        let mut variables = variables(&given, &data, token.iter().chain(&login).chain(&steps));
        variables.extend(from_preparation(&file.prepare));
        variables.sort();
        variables.dedup();
        Ok(Self {
            name: written.name.clone(),
            cookies: written.cookies,
            on_failure: written.on_failure,
            credentials: whence(load.overrides.credentials.as_deref().or(credentials))?,
            data,
            variables,
            pause,
            iterations: written.iterations.as_ref().map(|most| *most.get_ref()),
            script: Amount::of(&steps, pause, &constants),
            token,
            login,
            steps,
            finish,
        })
    }
}

/// The variables that stand in the file, without secrets. One that is empty is no secret: somebody
/// has to fill it in.
fn given(
    masked: &ScenarioFile,
    shown: &Scenario,
    written: &BTreeMap<String, String>,
) -> BTreeMap<String, String> {
    let mut given = all_of(&masked.variables, &shown.variables);
    for (name, value) in &mut given {
        if written.get(name).is_some_and(String::is_empty) {
            value.clear();
        }
    }
    given
}

/// The variables of a file and of one of its scenarios, whose own count.
fn all_of(file: &Pairs, scenario: &Pairs) -> BTreeMap<String, String> {
    file.iter().chain(scenario).map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// The variables that `steps` set, and the steps in them.
pub(super) fn set_by(steps: &[Step]) -> BTreeSet<&str> {
    let mut names = BTreeSet::new();
    for step in steps {
        names.extend(step.extract.iter().map(|extract| extract.get_ref().name.as_str()));
        names.extend(step.set.keys().map(String::as_str));
        names.extend(step.variable.as_ref().map(|variable| bare(variable.get_ref())));
        names.append(&mut set_by(&step.step));
    }
    names
}

fn data(script: &Script, scenario: &Scenario) -> Vec<ShownData> {
    let both = scenario.data.iter().zip(&script.data);
    both.map(|(data, (_, lines))| ShownData {
        file: data.file.get_ref().clone(),
        lines: lines.count(),
        names: lines.slots().map(|slot| script.names.name(slot).to_owned()).collect(),
        take: data.take,
        at_end: data.at_end,
    })
    .collect()
}

/// Where the credentials come from that every request carries.
fn whence(file: Option<&Path>) -> Result<Option<String>, HttpError> {
    Ok(match file {
        Some(path) => Some(path.display().to_string()),
        None => Source::new(None).at_hand()?.map(|_| "environment".into()),
    })
}

fn variables<'a>(
    given: &BTreeMap<String, String>,
    data: &[ShownData],
    steps: impl Iterator<Item = &'a ShownStep>,
) -> Vec<ShownVariable> {
    let of = |name: &str, from: String| ShownVariable { name: name.into(), value: None, from };
    let written = given.iter().map(|(name, value)| ShownVariable {
        value: Some(value.clone()),
        ..of(name, "variables".into())
    });
    let lines = data.iter().flat_map(|data| {
        data.names.iter().map(|name| of(name, format!("{}", data.file.display())))
    });
    let set = steps.flat_map(ShownStep::all).flat_map(|shown| {
        let step = &shown.step;
        let named = step.name.as_ref().map_or("", |name| name.get_ref());
        let found = step.extract.iter().map(|extract| extract.get_ref().name.as_str());
        let found = found.map(|name| of(name, format!("step {named}"))).collect::<Vec<_>>();
        let turn = step.variable.as_ref().zip(step.each.as_ref());
        let turn = turn
            .map(|(name, list)| of(bare(name.get_ref()), format!("each {}", bare(list.get_ref()))));
        let given = step.set.keys().map(|name| of(name, "set".into())).collect::<Vec<_>>();
        found.into_iter().chain(turn).chain(given)
    });
    written.chain(lines).chain(set).collect()
}

fn from_preparation(steps: &[Step]) -> impl Iterator<Item = ShownVariable> {
    set_by(steps).into_iter().map(|name| ShownVariable {
        name: name.into(),
        value: None,
        from: "prepare".into(),
    })
}
