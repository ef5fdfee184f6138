//! A scenario as it is written: the keys of the TOML file, nothing checked that one key alone
//! cannot know. Importers make it, the load reads it.

mod access;
mod answer;
mod content;

use std::collections::BTreeMap;
use std::path::PathBuf;

use plumb_measure::{Rate, RateOrNone, Span};
use serde::{Deserialize, Serialize};
use toml::Spanned;

use crate::csv::Quotes;
pub use crate::redirects::Redirects;
pub use crate::resources::Resources;
pub use access::{Authentication, Certificate, Resolve, Token};
pub use answer::{Check, Extract, Pick};
pub use content::{Operation, Part};

/// Names and values in the order of the names.
pub type Pairs = BTreeMap<String, String>;

/// A whole file.
///
/// Paths, headers and bodies are templates: `${NAME}` stands for a variable of the user,
/// of the scenario, or of the file; `$${` for the characters `${`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ScenarioFile {
    /// What it is, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The server, `http://HOST[:PORT]` or `https://HOST[:PORT]`: paths of steps belong to it.
    /// The command line may name another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base: Option<Spanned<String>>,
    /// Further servers that steps and redirects may lead to, each `http://HOST[:PORT]` or
    /// `https://HOST[:PORT]`; whatever leads elsewhere is refused.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<Spanned<String>>,
    /// Where randomness begins; drawn and recorded when it is absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// How long all scenarios last, unless they end by themselves.
    #[serde(rename = "for", skip_serializing_if = "Option::is_none")]
    pub length: Option<Span>,
    /// Load before the recorded part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warmup: Option<Span>,
    /// An answer must be complete within this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Span>,
    /// A connection must stand within this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connect_timeout: Option<Span>,
    /// Which of the addresses of a name connections go to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolve: Option<Resolve>,
    /// Each request has a connection of its own.
    #[serde(default, skip_serializing_if = "is_false")]
    pub close: bool,
    /// Redirects that each request follows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redirects: Option<Redirects>,
    /// Headers of every request.
    #[serde(default, skip_serializing_if = "Pairs::is_empty")]
    pub headers: Pairs,
    /// Variables of every scenario: templates, whose values are made once, before the load.
    #[serde(default, skip_serializing_if = "Pairs::is_empty")]
    pub variables: Pairs,
    /// A file of one line `USER:PASSWORD` that only its owner may read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credentials: Option<PathBuf>,
    /// How a server is told who asks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authentication: Option<Authentication>,
    /// The principal of the server that tickets are for, `HTTP/HOST` or `HTTP/HOST@REALM`; absent: that
    /// of the host of `base`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service: Option<Spanned<String>>,
    /// What decides the exit code, such as `list p95 < 200ms` or `failures < 0.1%`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub thresholds: Vec<Spanned<String>>,
    /// Steps that are done once, before the load, by nobody in particular: what they extract every
    /// user knows. They are not recorded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prepare: Vec<Step>,
    /// Steps that are done once when the load is over, however it ended, by nobody in particular. They
    /// are recorded apart.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub finish: Vec<Step>,
    /// The `finish` steps begin within this after the load; absent: 10 s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finish_timeout: Option<Span>,
    /// What users do, at least one.
    pub scenario: Vec<Scenario>,
}

impl ScenarioFile {
    /// True when every scenario comes to an end by what the file says.
    #[must_use]
    pub fn says_length(&self) -> bool {
        let ends =
            |it: &Scenario| it.length.is_some() || it.iterations.is_some() || !it.stages.is_empty();
        self.length.is_some() || self.scenario.iter().all(ends)
    }
}

/// Users that do the same.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Scenario {
    /// In labels and reports.
    pub name: String,
    /// Closed load: users at once (or at most, where `rate` is given).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub users: Option<Spanned<u64>>,
    /// Open load: scripts that begin in a second, whatever the server does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Spanned<Rate>>,
    /// How the beginnings of an open load are spread.
    #[serde(default, skip_serializing_if = "Arrivals::is_default")]
    pub arrivals: Arrivals,
    /// Nothing happens before this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start: Option<Span>,
    /// Users begin evenly over this time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ramp: Option<Span>,
    /// Numbers of users (or rates) that follow each other; they replace `users`, `ramp` and `for`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stages: Vec<Spanned<Stage>>,
    /// How often each user does the script; absent: until the time is over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub iterations: Option<Spanned<u64>>,
    /// How long it lasts; absent: as the file says.
    #[serde(rename = "for", skip_serializing_if = "Option::is_none")]
    pub length: Option<Span>,
    /// Think time after each step that has none of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub think: Option<Spanned<Think>>,
    /// Time from the end of a script to its next beginning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pause: Option<Spanned<Think>>,
    /// What becomes of cookies.
    #[serde(default, skip_serializing_if = "Cookies::is_default")]
    pub cookies: Cookies,
    /// What a user does after a step that failed.
    #[serde(default, skip_serializing_if = "OnFailure::is_default")]
    pub on_failure: OnFailure,
    /// Redirects that each request of these users follows; absent: as the file says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redirects: Option<Redirects>,
    /// Headers of every request of these users.
    #[serde(default, skip_serializing_if = "Pairs::is_empty")]
    pub headers: Pairs,
    /// Variables of these users, in place of those of the file with the same names.
    #[serde(default, skip_serializing_if = "Pairs::is_empty")]
    pub variables: Pairs,
    /// A file of one line `USER:PASSWORD` that only its owner may read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credentials: Option<PathBuf>,
    /// How a server is told who asks; absent: as the file says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authentication: Option<Authentication>,
    /// The principal that tickets are for; absent: as the file says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service: Option<Spanned<String>>,
    /// The certificate that each user shows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certificate: Option<Spanned<Certificate>>,
    /// Files whose lines give variables.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub data: Vec<Data>,
    /// A token that each user gets before its first request, and again before it ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token: Option<Token>,
    /// Steps that each user does once, before the first script, with the lines of data of that.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub login: Vec<Step>,
    /// Steps that each user that began does once when the load is over, however it ended: a log-off.
    /// They are recorded apart.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub finish: Vec<Step>,
    /// The script, at least one step.
    pub step: Vec<Step>,
}

/// A part of a load that changes.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Stage {
    /// How long it takes.
    pub over: Span,
    /// Users at its end, reached evenly; where the stage before ended with as many, they stay.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub users: Option<u64>,
    /// The rate at its end, reached evenly; `0/s` is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<RateOrNone>,
}

/// How the beginnings of an open load are spread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Arrivals {
    /// At even distances.
    #[default]
    Fixed,
    /// Independent of each other (exponential distances).
    Poisson,
}

/// What becomes of the cookies of a user.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cookies {
    /// Kept as long as the user lives.
    #[default]
    Keep,
    /// Forgotten between two scripts.
    Clear,
    /// Neither kept nor sent.
    Off,
}

/// What a user does after a step that failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnFailure {
    /// The next step.
    #[default]
    Continue,
    /// The script from its beginning.
    Restart,
    /// Nothing more.
    Stop,
}

/// A think time: `"10s"`, `{ uniform = ["5s", "15s"] }`, `{ exponential = "10s", max = "60s" }` or
/// `{ normal = "10s", deviation = "2s" }`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Think {
    /// Always the same.
    Fixed(Span),
    /// Evenly between two times.
    Uniform(Span, Span),
    /// Exponential with this mean, cut at the second.
    Exponential(Span, Option<Span>),
    /// Normal with this mean and standard deviation, never below zero.
    Normal(Span, Span),
}

/// A file whose lines give variables.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Data {
    /// CSV as of RFC 4180; relative to the scenario file.
    pub file: Spanned<PathBuf>,
    /// The variables; absent: the first line names them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    /// One character between cells.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delimiter: Option<char>,
    /// What double quotes are.
    #[serde(default, skip_serializing_if = "Quotes::is_default")]
    pub quotes: Quotes,
    /// A line may have further cells, behind those with a name: they are passed over.
    #[serde(default, skip_serializing_if = "is_false")]
    pub ignore_further: bool,
    /// When a user takes the next line.
    #[serde(default, skip_serializing_if = "Take::is_default")]
    pub take: Take,
    /// What happens behind the last line.
    #[serde(default, skip_serializing_if = "AtEnd::is_default")]
    pub at_end: AtEnd,
}

/// When a user takes the next line of a data file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Take {
    /// Before each script, the login of the first counted in; all users share the lines.
    #[default]
    EachScript,
    /// Once, when the user begins; all users share the lines.
    EachUser,
    /// Before each script; every user has all lines for itself.
    OwnLines,
    /// Once, when the user begins: the line with its number. The first line is that of the first user,
    /// whoever begins first.
    ByUser,
}

/// What happens behind the last line of a data file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum AtEnd {
    /// It begins again.
    #[default]
    Again,
    /// The user is done; the record counts it.
    Stop,
}

/// A request, a loop, or a group: exactly one of `get`, `path`, `each`, `repeat`, `while`, `group`,
/// `parallel`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Step {
    /// The row that records it; absent: method and path as written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<Spanned<String>>,
    /// The path of a GET, or an address of a server that the file names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub get: Option<Spanned<String>>,
    /// The path, where there is a method.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<Spanned<String>>,
    /// The method of `path`; absent: GET, with a body POST.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<Spanned<String>>,
    /// Redirects that it follows; absent: as the scenario says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redirects: Option<Redirects>,
    /// What the page embeds is asked for behind it, as a browser does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resources: Option<Spanned<Resources>>,
    /// Headers of this request.
    #[serde(default, skip_serializing_if = "Pairs::is_empty")]
    pub headers: Pairs,
    /// The body, a template.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<Spanned<String>>,
    /// A file that holds the body, sent as it is; relative to the scenario file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body_file: Option<Spanned<PathBuf>>,
    /// The parts of a form that is sent, files among them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Spanned<Part>>,
    /// The operations that are sent together, as a batch of OData.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub batch: Vec<Spanned<Operation>>,
    /// What the answer must be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub check: Option<Spanned<Check>>,
    /// What is taken from the answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extract: Vec<Spanned<Extract>>,
    /// Think time after the step; of a loop: after each turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub think: Option<Spanned<Think>>,
    /// The share of turns in which the step is done, such as `20%`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub share: Option<Spanned<String>>,
    /// The step is done only when this template has become `true`, or a comparison such as
    /// `${count} != 0` holds.
    #[serde(rename = "if", skip_serializing_if = "Option::is_none")]
    pub condition: Option<Spanned<String>>,
    /// A list: the steps are done once for each of its values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub each: Option<Spanned<String>>,
    /// The variable that holds the value of the turn.
    #[serde(rename = "as", skip_serializing_if = "Option::is_none")]
    pub variable: Option<Spanned<String>>,
    /// Turns at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub most: Option<Spanned<u64>>,
    /// Variables that the user is given before the step, each a template; of a loop: before its first
    /// turn.
    #[serde(default, skip_serializing_if = "Pairs::is_empty")]
    pub set: Pairs,
    /// The steps are done so many times.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repeat: Option<Spanned<u64>>,
    /// The steps are done as long as this holds, which is asked before each turn.
    #[serde(rename = "while", skip_serializing_if = "Option::is_none")]
    pub holds: Option<Spanned<String>>,
    /// The steps are timed as one, under this name (from the first byte sent to the last received,
    /// think times left out).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<Spanned<String>>,
    /// The steps within, all of them requests, are asked for at the same time, over up to six connections
    /// to each host (over HTTP/2 as streams of one), and timed as one under this name: from the first byte
    /// sent to the last received of the last of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parallel: Option<Spanned<String>>,
    /// Whose turns share one list: all users together do each value once.
    #[serde(default, skip_serializing_if = "Turns::is_default")]
    pub turns: Turns,
    /// The steps of a loop or a group.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub step: Vec<Step>,
}

impl Data {
    /// True where a user that has done script after script is done behind its last line.
    #[must_use]
    pub fn ends_users(&self) -> bool {
        self.at_end == AtEnd::Stop && matches!(self.take, Take::EachScript | Take::OwnLines)
    }
}

impl Step {
    /// `parts` that are asked for at the same time, as a browser asks for what a page embeds.
    #[must_use]
    pub fn at_once(name: impl Into<String>, parts: Vec<Self>) -> Self {
        Self { parallel: Some(placed(name.into())), step: parts, ..Self::default() }
    }
}

/// Who does the turns of a list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Turns {
    /// Every user all of them.
    #[default]
    Own,
    /// All users together, each value once: a list that `prepare` extracted.
    Shared,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde asks")]
fn is_false(flag: &bool) -> bool {
    !*flag
}

macro_rules! left_out_when_default {
    ($($kind:ty),*) => {$(
        impl $kind {
            fn is_default(&self) -> bool {
                *self == Self::default()
            }
        }
    )*};
}

left_out_when_default!(Arrivals, Cookies, OnFailure, Quotes, Take, AtEnd, Turns, Pick);

/// A value that stands in no file yet.
#[must_use]
pub fn placed<T>(value: T) -> Spanned<T> {
    Spanned::new(0..0, value)
}
