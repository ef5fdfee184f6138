//! The ways in which values are found in an answer.

use std::borrow::Cow;

use memchr::memmem::Finder;
use plumb_wire::expression::FindError;
use plumb_wire::http::RawHead;
use plumb_wire::{jsonpath, xpath};
use regex::bytes::Regex;

use super::{ExtractError, LOCATION};
use crate::answer::Answer;
use crate::file;
use crate::pattern::{self, Form};
use crate::placeholder::{Piece, pieces};

/// How values are found.
#[derive(Clone, Debug)]
pub(super) enum Extraction {
    Json(jsonpath::Path),
    Xpath(xpath::Path),
    Pattern(Pattern),
    Between(Box<Between>),
    /// The values of a header; with a pattern: what it matches in them.
    Header(String, Option<Pattern>),
}

#[derive(Clone, Debug)]
pub(super) struct Pattern {
    regex: Regex,
    form: Form,
}

/// An empty text before begins where the content does, an empty one behind ends where it does.
#[derive(Clone, Debug)]
pub(super) struct Between {
    before: Finder<'static>,
    behind: Finder<'static>,
}

impl Extraction {
    /// The way that `extract` names.
    pub(super) fn new(extract: &file::Extract) -> Result<Self, ExtractError> {
        let file::Extract { json, regex, xpath, between, header, template, .. } = extract;
        if template.is_some() && regex.is_none() {
            return Err(ExtractError::TemplateAlone);
        }
        if extract.null.is_some() && json.is_none() {
            return Err(ExtractError::NullAlone);
        }
        match (json, regex, xpath, between, header) {
            (Some(path), None, None, None, None) => {
                let path = jsonpath::Path::parse(&fixed(path)?);
                let path = path.map_err(|cause| ExtractError::Json { cause })?;
                Ok(Self::Json(match &extract.null {
                    Some(null) => path.with_null(null),
                    None => path,
                }))
            }
            (None, None, Some(path), None, None) => {
                let path = xpath::Path::parse(&fixed(path)?);
                Ok(Self::Xpath(path.map_err(|cause| ExtractError::Xpath { cause })?))
            }
            (None, Some(regex), None, None, None) => {
                Ok(Self::Pattern(Pattern::new(regex, template.as_deref())?))
            }
            (None, None, None, Some([before, behind]), None) => {
                let between = Between::new(&fixed(before)?, &fixed(behind)?)?;
                Ok(Self::Between(Box::new(between)))
            }
            (None, regex, None, None, Some(header)) => {
                let regex = regex.as_deref();
                let pattern = regex.map(|regex| Pattern::new(regex, template.as_deref()));
                Ok(Self::Header(header.clone(), pattern.transpose()?))
            }
            _ => Err(ExtractError::NotOneWay),
        }
    }

    /// The first values, at most `most`: what is not taken of them need be no text.
    pub(super) fn find(&self, answer: &Answer<'_>, most: usize) -> Result<Vec<Vec<u8>>, FindError> {
        Ok(match self {
            Self::Json(path) => bytes(path.find(answer.content, most)?),
            Self::Xpath(path) => bytes(path.find(answer.content, most)?),
            Self::Pattern(pattern) => pattern.matches(answer.content).take(most).collect(),
            Self::Between(between) => between.matches(answer.content).take(most).collect(),
            Self::Header(name, pattern) => {
                let (head, pattern) = (RawHead::new(answer.head), pattern.as_ref());
                match name.eq_ignore_ascii_case(LOCATION) {
                    true => of_header(head.locations(), pattern, most),
                    false => of_header(head.values(name).map(Cow::Borrowed), pattern, most),
                }
            }
        })
    }
}

/// `text` with its escaped marks as they are meant; a variable in it would be taken for its letters.
fn fixed(text: &str) -> Result<String, ExtractError> {
    let variable = pieces(text).into_iter().find_map(|piece| match piece {
        Piece::Placeholder(inner) => Some(format!("${{{inner}}}")),
        Piece::Text(_) => None,
    });
    match variable {
        Some(variable) => Err(ExtractError::Variable(variable)),
        None => Ok(text.replace("$${", "${")),
    }
}

fn bytes(texts: Vec<String>) -> Vec<Vec<u8>> {
    texts.into_iter().map(String::into_bytes).collect()
}

/// The first `most` of `values`, or of what `pattern` matches in them.
fn of_header<'a>(
    values: impl Iterator<Item = Cow<'a, str>>,
    pattern: Option<&Pattern>,
    most: usize,
) -> Vec<Vec<u8>> {
    match pattern {
        None => values.map(|value| value.into_owned().into_bytes()).take(most).collect(),
        Some(pattern) => {
            let matches = |value: Cow<'_, str>| -> Vec<Vec<u8>> {
                pattern.matches(value.as_bytes()).take(most).collect()
            };
            values.flat_map(matches).take(most).collect()
        }
    }
}

impl Pattern {
    fn new(regex: &str, template: Option<&str>) -> Result<Self, ExtractError> {
        let regex = pattern::compiled(regex)?;
        let form = match template {
            None => Form::usual(&regex),
            Some(template) => {
                Form::parse(template, &regex).map_err(|group| ExtractError::Group { group })?
            }
        };
        Ok(Self { regex, form })
    }

    fn matches<'a>(&'a self, content: &'a [u8]) -> impl Iterator<Item = Vec<u8>> + 'a {
        self.regex.captures_iter(content).map(|captures| self.form.text(&captures))
    }
}

impl Between {
    fn new(before: &str, behind: &str) -> Result<Self, ExtractError> {
        if before.is_empty() && behind.is_empty() {
            return Err(ExtractError::BetweenNothing);
        }
        let finder = |text| Finder::new(text).into_owned();
        Ok(Self { before: finder(before), behind: finder(behind) })
    }

    fn matches<'a>(&'a self, content: &'a [u8]) -> impl Iterator<Item = Vec<u8>> + 'a {
        let mut rest = Some(content);
        std::iter::from_fn(move || {
            let content = rest.take()?;
            let from = self.before.find(content)? + self.before.needle().len();
            let inner = &content[from..];
            if self.behind.needle().is_empty() {
                return Some(inner.to_vec());
            }
            let to = self.behind.find(inner)?;
            // without a text before it there is one beginning only
            let next = &inner[to + self.behind.needle().len()..];
            rest = Some(next).filter(|_| !self.before.needle().is_empty());
            Some(inner[..to].to_vec())
        })
    }
}
