//! Actions that reach outside, from their file: statements and calls of back ends.

use std::ops::Range;

use plumb_scenario::variables::Slot;
use plumb_wire::document::Wrong;
use toml::Spanned;

use super::compile::{Answering, Compiler};
use super::file::{ActionFile, Becomes};
use super::sql::SqlText;
use super::{Action, BackEndCall, Sql, Verb};

/// Methods of a call.
const METHODS: [&str; 6] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"];
/// What an answer of a back end has.
const OF_ANSWER: [&str; 3] = ["status", "type", "body"];

impl Compiler<'_> {
    pub(super) fn sql(&mut self, action: &ActionFile, at: &Range<usize>) -> Result<Verb, Wrong> {
        let written = action.sql.as_ref();
        let text = written.map_or("", |text| text.get_ref());
        let read = SqlText::parse(text).map_err(|problem| {
            // the place is exact where the text stands as it is: after its quote
            let within = self.within(at, text, problem.at..problem.at + 1);
            self.wrong(&within, problem.problem)
        })?;
        let mut values = Vec::new();
        for (name, place) in &read.names {
            let within = self.within(at, text, place.clone());
            let slot = self.slot(&Spanned::new(within.clone(), name.clone()))?;
            self.all_known(std::iter::once(slot), &within)?;
            values.push(slot);
        }
        self.answers(action, None);
        let server = action.server.as_ref().map_or("", |server| server.get_ref());
        if let Some(empty) = action.server.as_ref().filter(|it| it.get_ref().is_empty()) {
            return Err(self.wrong(&empty.span(), "a data server has a name"));
        }
        let (server, text) = (server.into(), read.text.into());
        Ok(Verb::Sql(Box::new(Sql { server, text, values, used: Vec::new() })))
    }

    pub(super) fn back_end(
        &mut self,
        action: &ActionFile,
        at: &Range<usize>,
    ) -> Result<Verb, Wrong> {
        let back_end = action.call.as_ref().map_or("", |name| name.get_ref());
        let method = action.method.as_ref().map_or("POST", |method| method.get_ref());
        if let Some(written) = &action.method
            && !METHODS.contains(&method)
        {
            return Err(self.wrong(&written.span(), format!("write one of {}", METHODS.join(", "))));
        }
        let Some(target) = &action.target else {
            return Err(self.wrong(at, "a call needs `target`: a path, `/orders/${order:url}`"));
        };
        if !target.get_ref().starts_with(['/', '$']) {
            return Err(self.wrong(&target.span(), "a target begins with `/`"));
        }
        let bodiless = ["GET", "HEAD", "DELETE"].contains(&method);
        if let Some(body) = action.body.as_ref().filter(|_| bodiless) {
            return Err(self.wrong(&body.span(), format!("{method} sends no body")));
        }
        let target = self.template(target)?;
        let headers = self.headers(&action.headers)?;
        let body = action.body.as_ref().map(|body| self.template(body)).transpose()?;
        self.answers(action, Some(&OF_ANSWER));
        Ok(Verb::Back(Box::new(BackEndCall {
            back_end: back_end.into(),
            method: method.into(),
            target,
            headers,
            media_type: action.media_type.as_ref().map(|it| it.get_ref().as_str().into()),
            body,
            replaces: action.becomes.as_ref().is_some_and(|it| *it.get_ref() == Becomes::Document),
            used: Vec::new(),
        })))
    }

    /// The place of the bytes `of` of `text`, which is written at `at`.
    fn within(&self, at: &Range<usize>, text: &str, of: Range<usize>) -> Range<usize> {
        let written = self.text.get(at.clone()).unwrap_or_default();
        match written.find(text) {
            Some(before) => at.start + before + of.start..at.start + before + of.end,
            None => at.clone(), // with escapes in it
        }
    }

    fn answers(&mut self, action: &ActionFile, known: Option<&'static [&'static str]>) {
        if let Some(name) = &action.name {
            self.answering.push(Answering { prefix: format!("{}.", name.get_ref()), known });
        }
    }

    /// Whether `slot` is of the answer of an action before.
    pub(super) fn is_answer(&self, slot: Slot) -> bool {
        let name = self.names.name(slot);
        self.answering.iter().any(|answering| {
            let rest = name.strip_prefix(&answering.prefix);
            rest.is_some_and(|rest| answering.known.is_none_or(|known| known.contains(&rest)))
        })
    }

    /// Gives each action what is used of its answer, now that all actions have been read.
    pub(super) fn use_answers(&mut self, actions: &mut [Action]) {
        for action in actions {
            let prefix = format!("{}.", action.name);
            match &mut action.verb {
                Verb::Sql(sql) => sql.used = self.used(&prefix),
                Verb::Back(call) => call.used = self.used(&prefix),
                Verb::Repeat(repeat) => self.use_answers(&mut repeat.inner),
                Verb::Choose(branches) => {
                    branches.iter_mut().for_each(|branch| self.use_answers(&mut branch.inner));
                }
                Verb::Log(_)
                | Verb::Fail(_)
                | Verb::Respond(_)
                | Verb::Transaction(_)
                | Verb::Xslt(_) => {}
            }
        }
    }

    fn used(&mut self, prefix: &str) -> Vec<(Box<str>, Slot)> {
        let names: Vec<String> =
            self.names.all().filter(|name| name.starts_with(prefix)).map(str::to_owned).collect();
        let slot = |name: &String| Some((name[prefix.len()..].into(), self.names.slot(name).ok()?));
        names.iter().filter_map(slot).collect()
    }
}
