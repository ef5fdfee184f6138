//! Requests: what a step sends, and what its answer must be.

use std::fs::File;
use std::io::{self, Read as _};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use plumb_scenario::check::{Checker, usual_status};
use plumb_scenario::extract::Extractor;
use plumb_scenario::file::{self, Redirects};
use plumb_scenario::template::Template;
use plumb_scenario::variables::Slot;
use plumb_scenario::{OutOfReach, ScenarioError, masked, place_of};
use plumb_wire::secret::is_secret;

use super::headers::{header_problem, last_of_each};
use super::parts::content_type;
use super::{Compiler, Manner, Row, number};
use crate::scenario::content::Content;
use crate::scenario::program::{Instruction, Program, Step};
use crate::scenario::request_template::{GoesTo, HeaderLine, RequestTemplate};

/// Steps of all scenarios together.
const STEPS_MAX: usize = 10_000;
/// Bytes of a file that a request carries.
const BODY_BYTES_MAX: u64 = 64 << 20;

impl Compiler<'_> {
    /// Appends a request.
    pub(super) fn request(
        &mut self,
        step: &file::Step,
        target: &toml::Spanned<String>,
        manner: &Manner<'_>,
        program: &mut Program,
    ) -> Result<(), ScenarioError> {
        let at = target.span();
        if self.steps.len() == STEPS_MAX {
            return Err(self.source.wrong(&at, format!("more than {STEPS_MAX} steps")));
        }
        let method = self.method(step)?;
        let request_template = self.request_template(step, target, method, manner)?;
        self.used.extend(request_template.slots().map(|slot| (slot, at.clone())));
        let name = match &step.name {
            Some(name) => name.get_ref().clone(),
            None => format!("{method} {}", masked::target(target.get_ref())),
        };
        let checks = step.check.as_ref();
        let mut check = checks.map(|check| check.get_ref().clone()).unwrap_or_default();
        check.status.get_or_insert_with(|| usual_status(step).into());
        let checker = Checker::new(&file::Check { within: None, ..check.clone() }, &mut self.names);
        let operations = step.batch.iter().map(|it| it.get_ref().answers()).sum();
        let checker = checker.and_then(|checker| checker.of_batch(operations, &check));
        let checker = checker.map_err(|error| {
            let at = checks.map_or(at.clone(), toml::Spanned::span);
            self.source.wrong(&at, format!("check: {error}"))
        })?;
        let in_check = checks.map_or(at.clone(), toml::Spanned::span);
        self.used.extend(checker.slots().map(|slot| (slot, in_check.clone())));
        let mut extracts = Vec::new();
        for extract in &step.extract {
            let extractor = Extractor::new(extract.get_ref(), &mut self.names)
                .map_err(|error| self.source.wrong(&extract.span(), format!("extract: {error}")))?;
            extracts.push(extractor);
        }
        let row = self.row(Row { scenario: manner.scenario.into(), name: name.clone() });
        // whoever takes the address of a redirect follows it
        let takes_location = extracts.iter().any(Extractor::takes_location);
        let redirects = step.redirects.unwrap_or(manner.redirects);
        let redirects = if takes_location { Redirects::NONE } else { redirects }.most();
        let of_users = !manner.scenario.starts_with('\0');
        let led_on = redirects > 0 || manner.challenged;
        if led_on && of_users && !self.redirected.iter().any(|(known, _)| *known == row) {
            self.redirected.push((row, manner.challenged));
        }
        program.push(Instruction::Request(number(self.steps.len())));
        self.steps.push(Step {
            name,
            place: self.source.line(&at),
            row,
            request_template,
            redirects,
            hop_rows: None,
            checker,
            within_ns: check.within.map_or(u64::MAX, plumb_measure::Span::ns),
            extracts,
            resources: None,
        });
        Ok(())
    }

    /// The number of a row; steps of one name share theirs.
    fn row(&mut self, row: Row) -> u16 {
        let known = self.rows.iter().position(|known| *known == row);
        number(known.unwrap_or_else(|| {
            self.rows.push(row);
            self.rows.len() - 1
        }))
    }

    fn method<'s>(&self, step: &'s file::Step) -> Result<&'s str, ScenarioError> {
        let Some(method) = &step.method else { return Ok(usual_method(step)) };
        let text = method.get_ref();
        let sound = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_uppercase());
        if !sound || text == "CONNECT" {
            let problem =
                format!("`{text}` is no method that can be measured; write for example POST");
            return Err(self.source.wrong(&method.span(), problem));
        }
        Ok(text)
    }

    fn request_template(
        &mut self,
        step: &file::Step,
        target: &toml::Spanned<String>,
        method: &str,
        manner: &Manner<'_>,
    ) -> Result<RequestTemplate, ScenarioError> {
        let at = target.span();
        let path = self.template(target.get_ref(), &at)?;
        let content = self.content(step)?;
        let headers = self.headers(step, manner, &at)?;
        RequestTemplate::new(method, path, headers, content, self.origins)
            .map_err(|unsent| self.source.wrong(&at, unsent.words(&self.names)))
    }

    fn content(&mut self, step: &file::Step) -> Result<Content, ScenarioError> {
        let named = [
            step.body.is_some(),
            step.body_file.is_some(),
            !step.parts.is_empty(),
            !step.batch.is_empty(),
        ];
        if named.into_iter().filter(|named| *named).count() > 1 {
            let problem = "body, body-file, parts and batch: a request has one of them";
            return Err(self.source.wrong(&place_of(step), problem));
        }
        match (&step.body, &step.body_file) {
            (None, None) => self.parts(step),
            (Some(text), None) => Ok(Content::Text(self.template(text.get_ref(), &text.span())?)),
            (_, Some(file)) => {
                let bytes = self.bytes_of(file.get_ref()).map_err(|cause| {
                    let problem = format!("cannot read {}: {cause}", file.get_ref().display());
                    self.source.wrong(&file.span(), problem)
                })?;
                Ok(Content::Bytes(Arc::from(bytes)))
            }
        }
    }

    /// The content of a file that a step names.
    pub(super) fn bytes_of(&self, path: &Path) -> Result<Vec<u8>, OutOfReach> {
        let real = self.source.reach().file(path)?;
        let mut bytes = Vec::new();
        let read = File::open(real)?.take(BODY_BYTES_MAX + 1).read_to_end(&mut bytes)?;
        match read as u64 > BODY_BYTES_MAX {
            true => Err(io::Error::from(io::ErrorKind::FileTooLarge).into()),
            false => Ok(bytes),
        }
    }

    /// The header lines of a step. Of one name the last is sent: the file's, the scenario's, its
    /// own, the command line's.
    fn headers(
        &mut self,
        step: &file::Step,
        manner: &Manner<'_>,
        at: &Range<usize>,
    ) -> Result<Vec<HeaderLine>, ScenarioError> {
        let mut lines: Vec<HeaderLine> = Vec::new();
        let scenario = manner.headers.iter().copied();
        let levels = [manner.file].into_iter().chain(scenario).chain([&step.headers, manner.told]);
        for (name, value) in last_of_each(levels) {
            if let Some(problem) = header_problem(name) {
                return Err(self.source.wrong(at, format!("header `{name}`: {problem}")));
            }
            let own = step.headers.keys().any(|known| known.eq_ignore_ascii_case(name));
            let goes_to = match is_secret(name) {
                true if own => GoesTo::First,
                true => GoesTo::Base,
                false => GoesTo::Any,
            };
            let value = self.template(value, at)?;
            lines.push(HeaderLine { name: name.into(), value, goes_to });
        }
        if let Some(kind) = content_type(step) {
            lines.retain(|line| !line.name.eq_ignore_ascii_case("content-type"));
            let value = self.template(&kind, at)?;
            lines.push(HeaderLine { name: "Content-Type".into(), value, goes_to: GoesTo::Any });
        }
        if manner.close && !lines.iter().any(|line| line.name.eq_ignore_ascii_case("connection")) {
            let value = self.template("close", at)?;
            lines.push(HeaderLine { name: "Connection".into(), value, goes_to: GoesTo::Any });
        }
        let named = lines.iter().any(|line| line.name.eq_ignore_ascii_case("authorization"));
        if let (Some(authorization), false) = (manner.authorization, named) {
            let value = self.template(authorization, at)?;
            lines.push(HeaderLine { name: "Authorization".into(), value, goes_to: GoesTo::Base });
        }
        Ok(lines)
    }

    /// The variables that a step sets, each with its template.
    pub(super) fn values(
        &mut self,
        step: &file::Step,
    ) -> Result<Box<[(Slot, Template)]>, ScenarioError> {
        let at = place_of(step);
        let mut values = Vec::new();
        for (name, text) in &step.set {
            let slot = self.slot(Some(name), &at)?;
            let template = Template::parse(text, &mut self.names)
                .map_err(|error| self.source.wrong(&at, format!("set.{name}: {error}")))?;
            self.used.extend(template.slots().map(|slot| (slot, at.clone())));
            values.push((slot, template));
        }
        Ok(values.into())
    }

    pub(super) fn template(
        &mut self,
        text: &str,
        at: &Range<usize>,
    ) -> Result<Template, ScenarioError> {
        Template::parse(text, &mut self.names)
            .map_err(|error| self.source.wrong(at, error.to_string()))
    }
}

/// The method of a step that names none.
pub(crate) fn usual_method(step: &file::Step) -> &'static str {
    let in_parts = !step.parts.is_empty() || !step.batch.is_empty();
    if step.body.is_some() || step.body_file.is_some() || in_parts { "POST" } else { "GET" }
}
