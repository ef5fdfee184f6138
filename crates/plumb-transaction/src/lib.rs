//! Transactions: what is done with a message, action by action.
//!
//! A [`Transaction`] is a file of actions, compiled once and [`run`] for each message. Its `repeat`
//! takes rows out of the message in one pass ([`rows`]), a stylesheet makes another document of it
//! ([`xslt`]). What it reaches outside stands behind [`Outside`] and [`UnitOfWork`].

mod accepts;
mod compile;
mod compile_outside;
mod document;
mod failure;
mod file;
mod headers;
mod outside;
mod retry;
pub mod rows;
mod run;
mod run_outside;
pub mod sample;
mod shaping;
mod sql;
mod stylesheets;
mod traced;
mod unreadable;
pub mod xslt;

#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_outside;

use std::sync::Arc;

use plumb_measure::Span;
use plumb_scenario::condition::Condition;
use plumb_scenario::template::Template;
use plumb_scenario::variables::{Names, Slot};

use crate::file::Encoding;
use crate::rows::{Late, RowPlan};
use crate::xslt::Stylesheet;

pub use accepts::{Accepts, MessageFacts};
pub use document::Body;
pub use failure::{Failed, FailureKind};
pub use file::{Mode, Persist};
pub use outside::{
    BackEndAnswer, BackEndRequest, Outside, OutsideError, SessionTimes, SqlAnswer, SqlRequest,
    UnitOfWork, Unreachable, XsltRequest,
};
pub use retry::Retry;
pub use run::{Completed, Request, Trace, Traced, run};

/// A transaction, ready to be done.
#[derive(Clone, Debug)]
pub struct Transaction {
    /// What callers call it: the name of its file.
    pub name: Arc<str>,
    /// What it does, in words.
    pub about: Option<String>,
    /// When a caller is answered, unless the caller says.
    pub mode: Mode,
    /// Which traces are kept.
    pub persist: Persist,
    /// How long.
    pub retention: Span,
    /// From the first action to the last, at most.
    pub time_limit: Span,
    /// When a message that failed is tried again; `None`: as the server says.
    pub retry: Option<Retry>,
    /// Messages that it takes which name no transaction; one of these has to fit.
    pub accepts: Vec<Accepts>,
    parameters: Vec<Parameter>,
    actions: Vec<Action>,
    names: Names,
}

#[derive(Clone, Debug)]
struct Parameter {
    name: Box<str>,
    slot: Slot,
    default: Option<Arc<str>>,
}

/// An action with where it stands.
#[derive(Clone, Debug)]
struct Action {
    /// Its name, or its verb and place: `repeat in line 7`.
    name: Arc<str>,
    verb: Verb,
}

#[derive(Clone, Debug)]
enum Verb {
    Repeat(Box<Repeat>),
    Choose(Vec<Branch>),
    Log(Template),
    Fail(Template),
    Respond(Respond),
    Transaction(Call),
    Xslt(Xslt),
    Sql(Box<Sql>),
    Back(Box<BackEndCall>),
}

#[derive(Clone, Debug)]
struct Repeat {
    rows: RowPlan,
    late: Late,
    /// The variable of each field.
    fields: Vec<Slot>,
    /// `NAME.rows`, for the actions behind it.
    count: Option<Slot>,
    inner: Vec<Action>,
}

#[derive(Clone, Debug)]
struct Branch {
    /// `None`: when no branch before it was taken.
    condition: Option<Condition>,
    inner: Vec<Action>,
}

/// An answer, or a piece of one.
#[derive(Clone, Debug)]
struct Respond {
    status: Option<u16>,
    media_type: Option<Box<str>>,
    body: Template,
    /// It goes on with the answer that is there; this stands between two such pieces.
    append: Option<Box<str>>,
    /// What its text stands for.
    encoding: Option<Encoding>,
}

/// A statement at a data server.
#[derive(Clone, Debug)]
struct Sql {
    /// Its name; empty: the only one.
    server: Box<str>,
    text: Arc<str>,
    values: Vec<Slot>,
    /// Columns of its answer that are used, each with its variable; `changed` among them.
    used: Vec<(Box<str>, Slot)>,
}

/// A request to a back end.
#[derive(Clone, Debug)]
struct BackEndCall {
    back_end: Box<str>,
    method: Box<str>,
    target: Template,
    headers: headers::Headers,
    media_type: Option<Box<str>>,
    /// `None`: the document.
    body: Option<Template>,
    /// The answer becomes the document.
    replaces: bool,
    /// What is used of the answer: `status`, `type` or `body`, each with its variable.
    used: Vec<(Box<str>, Slot)>,
}

/// A stylesheet that makes another document of the one that there is.
#[derive(Clone, Debug)]
struct Xslt {
    /// Below the folder of transactions.
    path: Box<str>,
    /// `None` until it has been read.
    stylesheet: Option<Arc<Stylesheet>>,
}

#[derive(Clone, Debug)]
struct Call {
    transaction: Box<str>,
    with: Vec<(Box<str>, Template)>,
}

impl Transaction {
    /// The names of its parameters, and whether every caller has to give them.
    pub fn parameters(&self) -> impl Iterator<Item = (&str, bool)> {
        self.parameters.iter().map(|it| (&*it.name, it.default.is_none()))
    }

    /// Transactions that it calls, each with the parameters that it gives.
    #[must_use]
    pub fn calls(&self) -> Vec<(&str, Vec<&str>)> {
        let mut calls = Vec::new();
        collect_calls(&self.actions, &mut calls);
        calls
    }
}

impl Transaction {
    /// Transactions that each execution calls which comes so far: behind no condition, for no row,
    /// and before nothing that ends it.
    pub fn certain_calls(&self) -> impl Iterator<Item = &str> {
        let until_failed = self.actions.iter().take_while(|it| !matches!(it.verb, Verb::Fail(_)));
        until_failed.filter_map(|action| match &action.verb {
            Verb::Transaction(call) => Some(&*call.transaction),
            _ => None,
        })
    }
}

/// What a transaction reaches outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reached<'a> {
    /// A statement at a data server, whose name is empty for the only one.
    Statement {
        /// The data server.
        server: &'a str,
        /// With `$1`, `$2`, ... for its values.
        text: &'a str,
        /// How many those are.
        values: usize,
    },
    /// A back end, by its name.
    BackEnd(&'a str),
}

impl Transaction {
    /// What it reaches outside, each with the action that does.
    #[must_use]
    pub fn reached(&self) -> Vec<(&str, Reached<'_>)> {
        let mut reached = Vec::new();
        collect_reached(&self.actions, &mut reached);
        reached
    }

    /// Whether nothing outside holds it up: it calls nobody, and uses no answer of a statement.
    #[must_use]
    pub fn is_swift(&self) -> bool {
        are_swift(&self.actions)
    }
}

fn are_swift(actions: &[Action]) -> bool {
    actions.iter().all(|action| match &action.verb {
        Verb::Sql(sql) => sql.used.is_empty(),
        Verb::Repeat(repeat) => are_swift(&repeat.inner),
        Verb::Choose(branches) => branches.iter().all(|branch| are_swift(&branch.inner)),
        Verb::Log(_) | Verb::Fail(_) | Verb::Respond(_) => true,
        Verb::Transaction(_) | Verb::Xslt(_) | Verb::Back(_) => false,
    })
}

fn collect_reached<'a>(actions: &'a [Action], reached: &mut Vec<(&'a str, Reached<'a>)>) {
    for action in actions {
        match &action.verb {
            Verb::Sql(sql) => {
                let (server, text, values) = (&sql.server, &sql.text, sql.values.len());
                reached.push((&action.name, Reached::Statement { server, text, values }));
            }
            Verb::Back(call) => reached.push((&action.name, Reached::BackEnd(&call.back_end))),
            Verb::Repeat(repeat) => collect_reached(&repeat.inner, reached),
            Verb::Choose(branches) => {
                branches.iter().for_each(|branch| collect_reached(&branch.inner, reached));
            }
            Verb::Log(_)
            | Verb::Fail(_)
            | Verb::Respond(_)
            | Verb::Transaction(_)
            | Verb::Xslt(_) => {}
        }
    }
}

fn collect_calls<'a>(actions: &'a [Action], calls: &mut Vec<(&'a str, Vec<&'a str>)>) {
    for action in actions {
        match &action.verb {
            Verb::Transaction(call) => {
                calls
                    .push((&call.transaction, call.with.iter().map(|(name, _)| &**name).collect()));
            }
            Verb::Repeat(repeat) => collect_calls(&repeat.inner, calls),
            Verb::Choose(branches) => {
                branches.iter().for_each(|branch| collect_calls(&branch.inner, calls));
            }
            Verb::Log(_)
            | Verb::Fail(_)
            | Verb::Respond(_)
            | Verb::Xslt(_)
            | Verb::Sql(_)
            | Verb::Back(_) => {}
        }
    }
}
