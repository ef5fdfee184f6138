//! A message goes through a transaction, action by action.

use std::collections::BTreeMap;
use std::sync::Arc;

use plumb_measure::Span;
use plumb_scenario::condition::Undecided;
use plumb_scenario::template::Template;
use plumb_scenario::variables::{Common, Names, Value, Variables};

use super::document::{Body, Document};
use super::failure::{Failed, FailureKind, Trouble};
use super::file::Encoding;
use super::shaping::{bytes_of, escaped};
use super::{
    Action, BackEndAnswer, Branch, Call, Outside, Repeat, Respond, SqlAnswer, Transaction, Verb,
    Xslt, XsltRequest,
};
use crate::rows::{Row, StreamError, rows_of_json, rows_of_xml};

/// Transactions that call each other at most.
const CALLS_MAX: usize = 16;
/// The media type of bytes that nobody named.
const BYTES: &str = "application/octet-stream";
/// Bytes of an answer at most.
const ANSWER_MAX: usize = 16 << 20;

/// What a caller sends.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    /// The document.
    pub body: Body<'a>,
    /// Values of parameters, by name.
    pub parameters: BTreeMap<String, String>,
}

/// The last response of a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Completed {
    /// 200 unless an action says otherwise.
    pub status: u16,
    /// Of the text.
    pub media_type: String,
    /// Empty when no action responds.
    pub text: String,
    /// What the text stands for, when an action says its encoding.
    pub bytes: Option<Vec<u8>>,
}

impl Default for Completed {
    fn default() -> Self {
        let media_type = "text/plain".into();
        Self { status: 200, media_type, text: String::new(), bytes: None }
    }
}

/// Whoever looks on.
pub trait Trace {
    /// An action did something; `depth` actions are around it.
    fn traced(&mut self, depth: usize, action: &str, what: Traced<'_>);

    /// Asked before each action and at each row: a text ends the execution, as its time limit does.
    fn interrupted(&mut self) -> Option<String> {
        None
    }

    /// An action that stands in no other one begins.
    fn begins(&mut self) {}

    /// The action that began last is done.
    fn ended(&mut self, action: &Arc<str>) {
        let _ = action;
    }

    /// How long the execution may still take; `None`: as long as it likes.
    fn time_left(&self) -> Option<Span> {
        None
    }

    /// Whether answers of statements are looked at that the transaction does not use.
    fn wants_answers(&self) -> bool {
        false
    }
}

/// What an action did.
#[derive(Clone, Copy, Debug)]
pub enum Traced<'a> {
    /// A row of a `repeat`: names and values.
    Row(&'a [(&'a str, Option<&'a str>)]),
    /// A `repeat` has ended after so many rows.
    Rows(u64),
    /// The branch that was taken, from 1; `None`: no condition holds.
    Branch(Option<usize>),
    /// A line for the log.
    Log(&'a str),
    /// A response was set.
    Response(&'a Completed),
    /// A transaction was called.
    Called(&'a str),
    /// The document was replaced by one of so many bytes.
    Transformed(usize),
    /// A statement is done, now or later.
    Statement {
        /// Its text, with `$1`, `$2`, ... for its values.
        text: &'a str,
        /// Names and values.
        values: &'a [(&'a str, Option<&'a str>)],
    },
    /// What a statement brought.
    Answer(&'a SqlAnswer),
    /// What a back end answered.
    BackEnd {
        /// What was asked for.
        target: &'a str,
        /// What came.
        answer: &'a BackEndAnswer,
    },
}

/// Does `transaction` with `request`; `find` gives the transactions that it calls, and `outside` is
/// where its actions reach out. What they did there is not committed in here.
///
/// # Errors
/// [`Failed`] for what an action could not do.
pub fn run<'t>(
    transaction: &'t Transaction,
    request: &Request<'_>,
    find: &dyn Fn(&str) -> Option<&'t Transaction>,
    outside: &mut dyn Outside,
    trace: &mut dyn Trace,
) -> Result<Completed, Failed> {
    let mut execution = Execution {
        document: Document::Given(request.body),
        find,
        outside,
        trace,
        completed: Completed::default(),
        pieces: 0,
        absent: "".into(),
        under_way: Vec::new(),
        calls: 0,
        patience: transaction.time_limit,
    };
    let done = execution.transaction(transaction, &request.parameters);
    done.map_err(|trouble| trouble.within(execution.under_way))?;
    Ok(execution.completed)
}

pub(super) struct Execution<'a, 't> {
    pub(super) document: Document<'a>,
    find: &'a dyn Fn(&str) -> Option<&'t Transaction>,
    pub(super) outside: &'a mut dyn Outside,
    pub(super) trace: &'a mut dyn Trace,
    completed: Completed,
    /// Pieces that the answer consists of, behind its beginning.
    pieces: u64,
    /// What a variable holds that is there without a value: an empty text that is told from others
    /// by its place in memory.
    absent: Arc<str>,
    under_way: Vec<Arc<str>>,
    calls: usize,
    /// The shortest time limit of the transactions that are under way.
    patience: Span,
}

impl<'t> Execution<'_, 't> {
    fn transaction(
        &mut self,
        transaction: &'t Transaction,
        given: &BTreeMap<String, String>,
    ) -> Result<(), Trouble> {
        if let Some(unknown) = given
            .keys()
            .find(|name| transaction.parameters.iter().all(|parameter| *parameter.name != ***name))
        {
            return Err(format!("{} has no parameter `{unknown}`", transaction.name).into());
        }
        let mut variables = Variables::new(Common::default().share());
        for parameter in &transaction.parameters {
            let text = given.get(&*parameter.name).map(String::as_str);
            let Some(text) = text.or(parameter.default.as_deref()) else {
                return Err(format!(
                    "{} needs the parameter `{}`",
                    transaction.name, parameter.name
                )
                .into());
            };
            variables.set(parameter.slot, Value::text(text));
        }
        self.patience = self.patience.min(transaction.time_limit);
        self.actions(&transaction.actions, &transaction.names, &mut variables)
    }

    fn actions(
        &mut self,
        actions: &'t [Action],
        names: &'t Names,
        variables: &mut Variables,
    ) -> Result<(), Trouble> {
        for action in actions {
            self.go_on()?;
            let outermost = self.under_way.is_empty();
            if outermost {
                self.trace.begins();
            }
            self.under_way.push(Arc::clone(&action.name));
            let done = self.action(action, names, variables);
            if outermost {
                self.trace.ended(&action.name);
            }
            done?;
            self.under_way.pop();
        }
        Ok(())
    }

    fn action(
        &mut self,
        action: &'t Action,
        names: &'t Names,
        variables: &mut Variables,
    ) -> Result<(), Trouble> {
        match &action.verb {
            Verb::Repeat(repeat) => self.repeat(repeat, names, variables),
            Verb::Choose(branches) => self.choose(branches, names, variables),
            Verb::Log(text) => {
                let text = written(text, names, variables)?;
                self.traced(Traced::Log(&text));
                Ok(())
            }
            Verb::Fail(text) => Err(written(text, names, variables)?.into()),
            Verb::Respond(respond) => self.respond(respond, names, variables),
            Verb::Transaction(call) => self.call(call, names, variables),
            Verb::Xslt(xslt) => self.transform(xslt),
            Verb::Sql(sql) => self.sql(sql, names, variables),
            Verb::Back(call) => self.back_end(call, names, variables),
        }
    }

    /// Whether there is time left.
    fn go_on(&mut self) -> Result<(), Trouble> {
        match self.trace.interrupted() {
            Some(problem) => Err(Trouble { kind: FailureKind::TimeLimit, problem }),
            None => Ok(()),
        }
    }

    /// How long an action outside may take.
    pub(super) fn time_left(&self) -> Span {
        self.trace.time_left().map_or(self.patience, |left| left.min(self.patience))
    }

    pub(super) fn traced(&mut self, what: Traced<'_>) {
        let depth = self.under_way.len().saturating_sub(1);
        if let Some(action) = self.under_way.last() {
            self.trace.traced(depth, &Arc::clone(action), what);
        }
    }

    fn repeat(
        &mut self,
        repeat: &'t Repeat,
        names: &'t Names,
        variables: &mut Variables,
    ) -> Result<(), Trouble> {
        let document = self.document.clone();
        // a field hides what is called the same around the repeat
        let around: Vec<Option<Value>> =
            repeat.fields.iter().map(|slot| variables.get(*slot).cloned()).collect();
        let mut each = |row: Row<'_>| -> Result<(), Trouble> {
            self.go_on()?;
            let named: Vec<_> = repeat.rows.names().zip(row.values.iter().copied()).collect();
            self.traced(Traced::Row(&named));
            for (slot, value) in repeat.fields.iter().zip(row.values) {
                variables.set(*slot, self.value_of(*value));
            }
            let done = self.actions(&repeat.inner, names, variables);
            done.map_err(|trouble| trouble.in_row(row.position()))
        };
        let rows = match document.body() {
            Body::Xml(bytes) => rows_of_xml(bytes, &repeat.rows, repeat.late, &mut each),
            Body::Json(bytes) => rows_of_json(bytes, &repeat.rows, repeat.late, &mut each),
        };
        for (slot, value) in repeat.fields.iter().zip(around) {
            match value {
                Some(value) => variables.set(*slot, value),
                None => variables.unset(*slot),
            }
        }
        let rows = rows.map_err(|error| match error {
            StreamError::Sink(trouble) => trouble,
            other => other.to_string().into(),
        })?;
        if let Some(count) = repeat.count {
            variables.set(count, Value::text(&rows.to_string()));
        }
        self.traced(Traced::Rows(rows));
        Ok(())
    }

    fn choose(
        &mut self,
        branches: &'t [Branch],
        names: &'t Names,
        variables: &mut Variables,
    ) -> Result<(), Trouble> {
        for (at, branch) in branches.iter().enumerate() {
            let holds = match &branch.condition {
                Some(condition) => condition
                    .holds(variables)
                    .map_err(|undecided: Undecided| undecided.words(names))?,
                None => true,
            };
            if holds {
                self.traced(Traced::Branch(Some(at + 1)));
                return self.actions(&branch.inner, names, variables);
            }
        }
        self.traced(Traced::Branch(None));
        Ok(())
    }

    fn respond(
        &mut self,
        respond: &Respond,
        names: &Names,
        variables: &Variables,
    ) -> Result<(), Trouble> {
        let appends = respond.append.as_deref();
        if appends.is_none() {
            self.completed = Completed::default();
            self.pieces = 0;
        }
        if let Some(status) = respond.status {
            self.completed.status = status;
        }
        if let Some(media_type) = &respond.media_type {
            self.completed.media_type = media_type.to_string();
        } else if respond.encoding.is_some() {
            self.completed.media_type = BYTES.into();
        }
        let between = appends.filter(|_| self.pieces > 0).unwrap_or_default();
        self.pieces += u64::from(appends.is_some());
        // the piece alone: what is there already is not gone through again for each
        let mut piece = Vec::new();
        // base64 is the same in every type, which is that of the bytes
        let kind = if respond.encoding.is_some() { BYTES } else { &self.completed.media_type };
        let body = &respond.body;
        body.write_with(variables, |text, out| escaped(kind, text, out), &mut piece)
            .map_err(|missing| missing.words(names))?;
        if self.completed.text.len() + between.len() + piece.len() > ANSWER_MAX {
            return Err(format!("the answer has more than {ANSWER_MAX} bytes").into());
        }
        let piece = String::from_utf8(piece).map_err(|error| error.to_string())?;
        if self.completed.text.is_empty() && between.is_empty() {
            self.completed.text = piece;
        } else {
            self.completed.text.push_str(between);
            self.completed.text.push_str(&piece);
        }
        self.completed.bytes = match respond.encoding {
            Some(Encoding::Base64) => Some(bytes_of(&self.completed.text)?),
            None => None,
        };
        let completed = &self.completed;
        let depth = self.under_way.len().saturating_sub(1);
        if let Some(action) = self.under_way.last() {
            self.trace.traced(depth, action, Traced::Response(completed));
        }
        Ok(())
    }

    /// A value that may be absent.
    pub(super) fn value_of(&self, text: Option<&str>) -> Value {
        text.map_or_else(|| Value::Text(Arc::clone(&self.absent)), Value::text)
    }

    /// The text of a variable; `None` for one that is absent.
    pub(super) fn text_of<'v>(&self, value: Option<&'v Value>) -> Option<&'v str> {
        match value {
            Some(Value::Text(text)) if !Arc::ptr_eq(text, &self.absent) => Some(text),
            _ => None,
        }
    }

    fn transform(&mut self, xslt: &Xslt) -> Result<(), Trouble> {
        let Some(stylesheet) = &xslt.stylesheet else {
            return Err(format!("the stylesheet {} was not read", xslt.path).into());
        };
        let body = self.document.body();
        let (document, patience) = (body.bytes(), self.time_left());
        let result = self.outside.transform(&XsltRequest { stylesheet, document, patience })?;
        self.traced(Traced::Transformed(result.len()));
        self.document = made(result);
        Ok(())
    }

    fn call(&mut self, call: &Call, names: &Names, variables: &Variables) -> Result<(), Trouble> {
        let mut given = BTreeMap::new();
        for (name, text) in &call.with {
            given.insert(name.to_string(), written(text, names, variables)?);
        }
        let Some(transaction) = (self.find)(&call.transaction) else {
            return Err(format!("there is no transaction `{}`", call.transaction).into());
        };
        if self.calls == CALLS_MAX {
            return Err(format!("more than {CALLS_MAX} transactions call each other").into());
        }
        self.calls += 1;
        self.traced(Traced::Called(&call.transaction));
        // a document that it makes is its own, and so is its time
        let (document, patience) = (self.document.clone(), self.patience);
        self.transaction(transaction, &given)?;
        (self.document, self.patience) = (document, patience);
        self.calls -= 1;
        Ok(())
    }
}

/// A result that begins as JSON does is JSON, as a message that says nothing of its form.
fn made(result: Vec<u8>) -> Document<'static> {
    match result.iter().find(|byte| !byte.is_ascii_whitespace()) {
        Some(b'{' | b'[') => Document::MadeJson(result.into()),
        _ => Document::MadeXml(result.into()),
    }
}

pub(super) fn written(
    text: &Template,
    names: &Names,
    variables: &Variables,
) -> Result<String, String> {
    let mut out = Vec::new();
    text.write(variables, &mut out).map_err(|missing| missing.words(names))?;
    String::from_utf8(out).map_err(|error| error.to_string())
}
