//! Contents of several parts: forms with files, and batches of OData.

use std::ops::Range;
use std::sync::Arc;

use plumb_scenario::ScenarioError;
use plumb_scenario::file::{Operation, Part, Step};
use plumb_scenario::template::Template;
use toml::Spanned;

use super::{Compiler, header_problem};
use crate::scenario::content::{Content, Piece};

/// What stands between the parts of a form, and of a batch; no content holds it by chance.
const BOUNDARY: &str = "plumb-part-7MA4YWxkTrZu0gW";
const CHANGES: &str = "plumb-change-set-7MA4YWxkTrZu0gW";
/// Parts of one content.
const PARTS_MAX: usize = 1_000;

/// The content type of what the parts of `step` make; `None` where it has none.
pub(super) fn content_type(step: &Step) -> Option<String> {
    let kind = match (step.parts.is_empty(), step.batch.is_empty()) {
        (false, _) => "form-data",
        (true, false) => "mixed",
        (true, true) => return None,
    };
    Some(format!("multipart/{kind}; boundary={BOUNDARY}"))
}

impl Compiler<'_> {
    /// The content that the parts of a step make.
    pub(super) fn parts(&mut self, step: &Step) -> Result<Content, ScenarioError> {
        let (first, count) = match (&step.parts[..], &step.batch[..]) {
            ([part, ..], []) => (part.span(), step.parts.len()),
            ([], [operation, ..]) => {
                (operation.span(), step.batch.iter().map(|it| it.get_ref().answers()).sum())
            }
            _ => return Ok(Content::Nothing),
        };
        if count > PARTS_MAX {
            return Err(self.source.wrong(&first, format!("more than {PARTS_MAX} parts")));
        }
        let own = step.headers.keys().any(|name| name.eq_ignore_ascii_case("content-type"));
        if own {
            let problem = "the content type is that of the parts: leave the header out";
            return Err(self.source.wrong(&first, problem));
        }
        let mut pieces = Vec::new();
        for part in &step.parts {
            self.part(part, &mut pieces)?;
        }
        for operation in &step.batch {
            self.operation(operation.get_ref(), &operation.span(), BOUNDARY, &mut pieces)?;
        }
        self.text(&format!("--{BOUNDARY}--\r\n"), &first, &mut pieces)?;
        Ok(Content::Pieces(pieces.into()))
    }

    /// A part of a form.
    ///
    /// # Source
    /// RFC 7578; how names are written in quotation marks: the HTML standard, "multipart/form-data".
    fn part(&mut self, part: &Spanned<Part>, pieces: &mut Vec<Piece>) -> Result<(), ScenarioError> {
        let at = part.span();
        let Part { name, value, file, file_name, content_type } = part.get_ref();
        let mut head = format!(
            "--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"{}\"",
            in_quotes(name).replace("${", "$${")
        );
        if let Some(kind) = content_type.as_ref().filter(|kind| kind.contains(char::is_control)) {
            let problem = format!("`{}` is no content type", kind.escape_debug());
            return Err(self.source.wrong(&at, problem));
        }
        match (value, file) {
            (Some(value), None) if file_name.is_none() => {
                if let Some(kind) = content_type {
                    head += &format!("\r\nContent-Type: {kind}");
                }
                self.text(&format!("{head}\r\n\r\n"), &at, pieces)?;
                self.text(value, &at, pieces)?;
            }
            (None, Some(file)) => {
                let own = file.get_ref().file_name().unwrap_or_default().to_string_lossy();
                let own = own.replace("${", "$${");
                let name = in_quotes(file_name.as_ref().unwrap_or(&own));
                let kind = content_type.as_deref().unwrap_or("application/octet-stream");
                head += &format!("; filename=\"{name}\"\r\nContent-Type: {kind}\r\n\r\n");
                self.text(&head, &at, pieces)?;
                let bytes = self.bytes_of(file.get_ref()).map_err(|cause| {
                    let problem = format!("cannot read {}: {cause}", file.get_ref().display());
                    self.source.wrong(&file.span(), problem)
                })?;
                pieces.push(Piece::Bytes(Arc::from(bytes)));
            }
            _ => {
                let problem = "a part has a value or a file, and a file-name only with a file";
                return Err(self.source.wrong(&at, problem));
            }
        }
        self.text("\r\n", &at, pieces)
    }

    /// An operation of a batch, or a change set.
    fn operation(
        &mut self,
        operation: &Operation,
        at: &Range<usize>,
        boundary: &str,
        pieces: &mut Vec<Piece>,
    ) -> Result<(), ScenarioError> {
        let Operation { get, path, method, headers, body, changeset } = operation;
        let asks = get.is_some() || path.is_some();
        if !changeset.is_empty() {
            let alone = !asks && method.is_none() && headers.is_empty() && body.is_none();
            let flat = boundary == BOUNDARY;
            let changes = |it: &Operation| it.get.is_none();
            if !(alone && flat && changeset.iter().all(changes)) {
                let problem =
                    "a change set holds operations that change something, and nothing else";
                return Err(self.source.wrong(at, problem));
            }
            let head = format!(
                "--{boundary}\r\nContent-Type: multipart/mixed; boundary={CHANGES}\r\n\r\n"
            );
            self.text(&head, at, pieces)?;
            for operation in changeset {
                self.operation(operation, at, CHANGES, pieces)?;
            }
            return self.text(&format!("--{CHANGES}--\r\n"), at, pieces);
        }
        let (method, target) = match (get, path, method) {
            (Some(target), None, None) if body.is_none() => ("GET", target),
            (None, Some(target), method) => (method.as_deref().unwrap_or("POST"), target),
            _ => {
                let problem = "an operation has get, or path with a method and a body";
                return Err(self.source.wrong(at, problem));
            }
        };
        if method.is_empty() || !method.bytes().all(|byte| byte.is_ascii_uppercase()) {
            return Err(self.source.wrong(at, format!("`{method}` is no method")));
        }
        let mut text = format!(
            "--{boundary}\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n"
        );
        if boundary == CHANGES {
            text += &format!(
                "Content-ID: {}\r\n",
                1 + pieces.iter().filter(|it| it.is_counted()).count()
            );
        }
        text += &format!("\r\n{method} {target} HTTP/1.1\r\n");
        for (name, value) in headers {
            if let Some(problem) = header_problem(name) {
                return Err(self.source.wrong(at, format!("header `{name}`: {problem}")));
            }
            text += &format!("{name}: {value}\r\n");
        }
        let body = body.as_deref().unwrap_or_default();
        if method == "GET" {
            return self.text(&format!("{text}\r\n\r\n"), at, pieces);
        }
        self.text(&text, at, pieces)?;
        pieces.push(Piece::Counted(self.template(body, at)?));
        self.text("\r\n", at, pieces)
    }

    /// Appends a template.
    fn text(
        &mut self,
        text: &str,
        at: &Range<usize>,
        pieces: &mut Vec<Piece>,
    ) -> Result<(), ScenarioError> {
        let template: Template = self.template(text, at)?;
        pieces.push(Piece::Text(template));
        Ok(())
    }
}

fn in_quotes(name: &str) -> String {
    name.replace('"', "%22").replace('\r', "%0D").replace('\n', "%0A")
}
