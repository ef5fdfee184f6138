//! The file of a transaction becomes actions; what is wrong is told with its place.

use std::ops::Range;
use std::sync::Arc;

use plumb_measure::Span;
use plumb_scenario::condition::Condition;
use plumb_scenario::template::Template;
use plumb_scenario::variables::{Names, Slot};
use plumb_wire::document::{self, Wrong};
use toml::Spanned;

use super::accepts::Accepts;
use super::file::{ActionFile, BranchFile, ParameterFile, TransactionFile};
use super::retry::Retry;
use super::{Action, Branch, Call, Parameter, Repeat, Respond, Transaction, Verb, Xslt};
use crate::rows::{FieldPath, Late, RowPath, RowPlan};
use crate::xslt::is_below;

/// Actions in each other at most.
const DEPTH_MAX: usize = 32;
/// How long traces are kept unless the file says.
const RETENTION: Span = Span::from_ms(6 * 3_600 * 1_000);
/// From the first action to the last unless the file says.
const TIME_LIMIT: Span = Span::from_ms(60 * 1_000);

impl Transaction {
    /// Reads the transaction `name` from the text of its file.
    ///
    /// # Errors
    /// [`Wrong`] with the place and what to write instead.
    pub fn parse(name: &str, text: &str) -> Result<Self, Wrong> {
        let file: TransactionFile = document::read(text)?;
        let (known, answering) = (Vec::new(), Vec::new());
        let mut compiler = Compiler { text, names: Names::default(), known, answering };
        let retry = file.retry.as_ref().map(|it| compiler.retry(it)).transpose()?;
        let accepts = file.accepts.iter().map(|it| compiler.accepts(it));
        let accepts = accepts.collect::<Result<_, _>>()?;
        let mut parameters = Vec::new();
        for (parameter, given) in &file.parameters {
            parameters.push(compiler.parameter(parameter, given)?);
        }
        let mut actions = compiler.actions(&file.action, 0)?;
        if actions.is_empty() {
            return Err(Wrong::at(text, &(0..0), "a transaction has one [[action]] at least"));
        }
        compiler.use_answers(&mut actions);
        Ok(Self {
            name: name.into(),
            about: file.about,
            mode: file.mode,
            persist: file.persist,
            retention: file.retention.unwrap_or(RETENTION),
            time_limit: file.time_limit.unwrap_or(TIME_LIMIT),
            retry,
            accepts,
            parameters,
            actions,
            names: compiler.names,
        })
    }
}

/// An action with a name, whose answer gives values to variables `NAME.…`.
#[derive(Clone, Debug)]
pub(super) struct Answering {
    /// With the point.
    pub(super) prefix: String,
    /// What may stand behind it; `None`: any column.
    pub(super) known: Option<&'static [&'static str]>,
}

pub(super) struct Compiler<'t> {
    pub(super) text: &'t str,
    pub(super) names: Names,
    /// Variables that have a value where the compiler stands.
    pub(super) known: Vec<Slot>,
    /// Actions whose answers can be used where the compiler stands.
    pub(super) answering: Vec<Answering>,
}

impl Compiler<'_> {
    pub(super) fn wrong(&self, at: &Range<usize>, problem: impl Into<String>) -> Wrong {
        Wrong::at(self.text, at, problem)
    }

    fn retry(&self, written: &Spanned<Retry>) -> Result<Retry, Wrong> {
        let problem = written.get_ref().problem();
        problem.map_or(Ok(*written.get_ref()), |it| Err(self.wrong(&written.span(), it)))
    }

    fn accepts(&self, written: &Spanned<Accepts>) -> Result<Accepts, Wrong> {
        let problem = written.get_ref().problem();
        problem.map_or(Ok(written.get_ref().clone()), |it| Err(self.wrong(&written.span(), it)))
    }

    pub(super) fn slot(&mut self, name: &Spanned<String>) -> Result<Slot, Wrong> {
        let slot = self.names.slot(name.get_ref());
        slot.map_err(|error| self.wrong(&name.span(), error.to_string()))
    }

    fn parameter(
        &mut self,
        name: &Spanned<String>,
        given: &ParameterFile,
    ) -> Result<Parameter, Wrong> {
        let slot = self.slot(name)?;
        self.known.push(slot);
        let default = match given {
            ParameterFile::Default(text) => Some(text),
            ParameterFile::Table(table) => table.default.as_ref(),
        };
        let default = default.map(|text| Arc::from(text.as_str()));
        Ok(Parameter { name: name.get_ref().as_str().into(), slot, default })
    }

    fn actions(
        &mut self,
        actions: &[Spanned<ActionFile>],
        depth: usize,
    ) -> Result<Vec<Action>, Wrong> {
        if let (DEPTH_MAX, Some(first)) = (depth, actions.first()) {
            return Err(self.wrong(&first.span(), "more than 32 actions in each other"));
        }
        actions.iter().map(|action| self.action(action, depth)).collect()
    }

    fn action(&mut self, written: &Spanned<ActionFile>, depth: usize) -> Result<Action, Wrong> {
        let action = written.get_ref();
        let (word, at) = self.only_verb(written)?;
        self.only_its_keys(word, action)?;
        let line = document::Position::of(self.text, &at).line;
        let name: Arc<str> = match &action.name {
            Some(name) => name.get_ref().as_str().into(),
            None => format!("{word} in line {line}").into(),
        };
        let verb = match word {
            "repeat" => self.repeat(action, depth)?,
            "if" => Verb::Choose(vec![self.branch(&action.condition, &action.inner, depth)?.0]),
            "choose" => {
                self.choose(action.choose.as_ref().map_or(&[], |it| it.get_ref()), depth)?
            }
            "log" => Verb::Log(self.required(&action.log, &at)?),
            "fail" => Verb::Fail(self.required(&action.fail, &at)?),
            "respond" => self.respond(action, &at)?,
            "xslt" => self.xslt(&action.xslt, &at)?,
            "sql" => self.sql(action, &at)?,
            "call" => self.back_end(action, &at)?,
            _ => self.call(action)?,
        };
        Ok(Action { name, verb })
    }

    /// The one verb of an action, and where it stands.
    fn only_verb(
        &self,
        written: &Spanned<ActionFile>,
    ) -> Result<(&'static str, Range<usize>), Wrong> {
        let verbs = verbs_of(written.get_ref());
        match &*verbs {
            [(word, at)] => Ok((word, at.clone())),
            [] => Err(self.wrong(
                &written.span(),
                "an action does one of: repeat, if, choose, log, fail, respond, transaction, xslt, \
                 sql, call",
            )),
            [(first, _), (second, at), ..] => Err(self.wrong(
                at,
                format!("an action does one thing: make `{second}` an [[action]] beside `{first}`"),
            )),
        }
    }

    /// Keys that belong to another verb are refused.
    fn only_its_keys(&self, word: &str, action: &ActionFile) -> Result<(), Wrong> {
        let assigned = action.assign.keys().next().map(Spanned::span);
        let given = action.with.keys().next().map(Spanned::span);
        let headers = action.headers.keys().next().map(Spanned::span);
        let keys: [(&str, &[&str], _); 14] = [
            ("assign", &["repeat"], assigned),
            ("buffer", &["repeat"], action.buffer.as_ref().map(Spanned::span)),
            ("do", &["repeat", "if"], action.inner.first().map(Spanned::span)),
            ("server", &["sql"], action.server.as_ref().map(Spanned::span)),
            ("method", &["call"], action.method.as_ref().map(Spanned::span)),
            ("target", &["call"], action.target.as_ref().map(Spanned::span)),
            ("headers", &["call"], headers),
            ("body", &["call"], action.body.as_ref().map(Spanned::span)),
            ("as", &["call"], action.becomes.as_ref().map(Spanned::span)),
            ("append", &["respond"], action.append.as_ref().map(Spanned::span)),
            ("encoding", &["respond"], action.encoding.as_ref().map(Spanned::span)),
            ("type", &["respond", "call"], action.media_type.as_ref().map(Spanned::span)),
            ("status", &["respond"], action.status.as_ref().map(Spanned::span)),
            ("with", &["transaction"], given),
        ];
        for (key, of, at) in keys {
            if let Some(at) = at
                && !of.contains(&word)
            {
                let problem = format!("`{key}` belongs to {}, not to {word}", of.join(" and "));
                return Err(self.wrong(&at, problem));
            }
        }
        Ok(())
    }

    fn repeat(&mut self, action: &ActionFile, depth: usize) -> Result<Verb, Wrong> {
        let Some(path) = &action.repeat else { return Err(self.wrong(&(0..0), "no path")) };
        let rows: RowPath = path
            .get_ref()
            .parse()
            .map_err(|error: crate::rows::PathError| self.wrong(&path.span(), error.to_string()))?;
        if action.assign.is_empty() {
            return Err(self.wrong(&path.span(), "repeat needs `assign`: NAME = \"PATH\""));
        }
        // in the order of the file, not of the alphabet
        let mut assigned: Vec<_> = action.assign.iter().collect();
        assigned.sort_by_key(|(name, _)| name.span().start);
        let mut fields = Vec::new();
        for (name, path) in &assigned {
            let field: FieldPath =
                path.get_ref().parse().map_err(|error: crate::rows::PathError| {
                    self.wrong(&path.span(), error.to_string())
                })?;
            RowPlan::new(&rows, [("", field.clone())])
                .map_err(|error| self.wrong(&path.span(), error.to_string()))?;
            fields.push((name.get_ref().as_str(), field));
        }
        let plan = RowPlan::new(&rows, fields)
            .map_err(|error| self.wrong(&path.span(), error.to_string()))?;
        let late = action.buffer.as_ref().map_or(Late::Refuse, |size| Late::Hold {
            bytes: usize::try_from(size.get_ref().bytes()).unwrap_or(usize::MAX),
        });
        let outside = self.known.len();
        let answering = self.answering.len();
        let mut slots = Vec::new();
        for (name, _) in &assigned {
            slots.push(self.slot(name)?);
        }
        self.known.extend(&slots);
        let inner = self.actions(&action.inner, depth + 1)?;
        self.known.truncate(outside);
        self.answering.truncate(answering);
        let count = match &action.name {
            Some(name) => {
                let rows = Spanned::new(name.span(), format!("{}.rows", name.get_ref()));
                Some(self.slot(&rows)?)
            }
            None => None,
        };
        self.known.extend(count);
        Ok(Verb::Repeat(Box::new(Repeat { rows: plan, late, fields: slots, count, inner })))
    }

    fn choose(&mut self, branches: &[Spanned<BranchFile>], depth: usize) -> Result<Verb, Wrong> {
        let mut chosen = Vec::new();
        // what every branch gives a value has one where one of them is taken for sure
        let mut of_all: Option<Vec<Slot>> = None;
        for (at, branch) in branches.iter().enumerate() {
            let BranchFile { condition, inner } = branch.get_ref();
            if condition.is_none() && at + 1 < branches.len() {
                let problem = "a branch without `if` is taken always: put it last";
                return Err(self.wrong(&branch.span(), problem));
            }
            let (branch, gives) = self.branch(condition, inner, depth)?;
            match &mut of_all {
                Some(of_all) => of_all.retain(|slot| gives.contains(slot)),
                None => of_all = Some(gives),
            }
            chosen.push(branch);
        }
        if chosen.last().is_some_and(|last| last.condition.is_none()) {
            self.known.extend(of_all.into_iter().flatten());
        }
        Ok(Verb::Choose(chosen))
    }

    /// A branch, and what it gives values if it is taken.
    fn branch(
        &mut self,
        condition: &Option<Spanned<String>>,
        inner: &[Spanned<ActionFile>],
        depth: usize,
    ) -> Result<(Branch, Vec<Slot>), Wrong> {
        let condition = match condition {
            Some(text) => {
                let condition = Condition::parse(text.get_ref(), &mut self.names)
                    .map_err(|error| self.wrong(&text.span(), error.to_string()))?;
                self.all_known(condition.slots(), &text.span())?;
                Some(condition)
            }
            None => None,
        };
        let (known, answering) = (self.known.len(), self.answering.len());
        let inner = self.actions(inner, depth + 1)?;
        let gives = self.known.split_off(known);
        self.answering.truncate(answering);
        Ok((Branch { condition, inner }, gives))
    }

    fn respond(&mut self, action: &ActionFile, at: &Range<usize>) -> Result<Verb, Wrong> {
        let status = action.status.as_ref().map(|status| *status.get_ref());
        if let Some(written) = &action.status
            && !(200..=599).contains(written.get_ref())
        {
            return Err(self.wrong(&written.span(), "a status is 200 to 599"));
        }
        if let (Some(_), Some(append)) = (&action.encoding, &action.append) {
            let problem = "an answer with an `encoding` is given at once: `append` adds to texts";
            return Err(self.wrong(&append.span(), problem));
        }
        let text =
            |it: &Option<Spanned<String>>| it.as_ref().map(|it| it.get_ref().as_str().into());
        Ok(Verb::Respond(Respond {
            status,
            media_type: text(&action.media_type),
            body: self.required(&action.respond, at)?,
            append: text(&action.append),
            encoding: action.encoding.as_ref().map(|it| *it.get_ref()),
        }))
    }

    fn call(&mut self, action: &ActionFile) -> Result<Verb, Wrong> {
        let name = action.transaction.as_ref().map_or("", |name| name.get_ref());
        let mut with = Vec::new();
        for (parameter, text) in &action.with {
            with.push((parameter.get_ref().as_str().into(), self.template(text)?));
        }
        Ok(Verb::Transaction(Call { transaction: name.into(), with }))
    }

    fn xslt(&self, path: &Option<Spanned<String>>, at: &Range<usize>) -> Result<Verb, Wrong> {
        let path = path.as_ref().map_or("", |path| path.get_ref());
        if !is_below(path) {
            let problem = "a stylesheet is a file below the folder of transactions: `order.xsl`";
            return Err(self.wrong(at, problem));
        }
        Ok(Verb::Xslt(Xslt { path: path.into(), stylesheet: None }))
    }

    pub(super) fn required(
        &mut self,
        text: &Option<Spanned<String>>,
        at: &Range<usize>,
    ) -> Result<Template, Wrong> {
        match text {
            Some(text) => self.template(text),
            None => Err(self.wrong(at, "a text is missing")),
        }
    }

    pub(super) fn template(&mut self, text: &Spanned<String>) -> Result<Template, Wrong> {
        let template = Template::parse(text.get_ref(), &mut self.names)
            .map_err(|error| self.wrong(&text.span(), error.to_string()))?;
        self.all_known(template.slots(), &text.span())?;
        Ok(template)
    }

    /// A variable that nothing has given a value is a mistake, found before anything runs.
    pub(super) fn all_known(
        &self,
        slots: impl Iterator<Item = Slot>,
        at: &Range<usize>,
    ) -> Result<(), Wrong> {
        for slot in slots {
            if !self.known.contains(&slot) && !self.is_answer(slot) {
                let name = self.names.name(slot);
                let known = self.known.iter().map(|slot| self.names.name(*slot));
                let meant = document::nearest(name, known);
                let meant = meant.map_or(String::new(), |name| format!("; did you mean `{name}`?"));
                return Err(self.wrong(at, format!("nothing gives `{name}` a value{meant}")));
            }
        }
        Ok(())
    }
}

fn verbs_of(action: &ActionFile) -> Vec<(&'static str, Range<usize>)> {
    let texts = [
        ("repeat", &action.repeat),
        ("if", &action.condition),
        ("log", &action.log),
        ("fail", &action.fail),
        ("respond", &action.respond),
        ("transaction", &action.transaction),
        ("xslt", &action.xslt),
        ("sql", &action.sql),
        ("call", &action.call),
    ];
    let texts = texts.into_iter().filter_map(|(word, text)| Some((word, text.as_ref()?.span())));
    let branches = action.choose.as_ref().map(|branches| ("choose", branches.span()));
    texts.chain(branches).collect()
}
