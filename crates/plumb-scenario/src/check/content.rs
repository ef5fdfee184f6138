//! What the content of an answer must hold, or must not.

use memchr::memmem::{self, Finder};
use regex::bytes::Regex;

use super::CheckError;
use crate::pattern;
use crate::template::{Missing, Template};
use crate::variables::{Names, Slot, Variables};

/// One thing that the content must hold, or must not.
#[derive(Clone, Debug)]
pub(super) struct ContentCheck {
    pub(super) wanted: bool,
    pub(super) search: Search,
}

/// What is looked for.
#[derive(Clone, Debug)]
pub(super) enum Search {
    Text(Box<Finder<'static>>),
    /// A text with variables, which each answer may be asked for with other values, and as it is written.
    Template(Template, Box<str>),
    Pattern(Regex),
}

/// Why it is not known whether the content holds a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// The text cannot be made.
    Missing(Missing),
    /// Its variables are empty: every content holds it.
    Empty,
}

impl Unknown {
    pub(super) fn words(self, names: &Names) -> String {
        match self {
            Self::Missing(missing) => missing.words(names),
            Self::Empty => "it is empty, which every content holds".to_owned(),
        }
    }
}

impl Search {
    pub(super) fn text(text: &str, names: &mut Names) -> Result<Self, CheckError> {
        let template = Template::parse(text, names);
        let template =
            template.map_err(|cause| CheckError::Template { text: text.into(), cause })?;
        if template.is_drawn() {
            return Err(CheckError::Drawn(text.into()));
        }
        match template.constant() {
            Some("") => Err(CheckError::EmptyText),
            Some(text) => Ok(Self::Text(Box::new(Finder::new(text).into_owned()))),
            None => Ok(Self::Template(template, text.into())),
        }
    }

    pub(super) fn pattern(pattern: &str) -> Result<Self, CheckError> {
        Ok(Self::Pattern(pattern::compiled(pattern)?))
    }
}

impl ContentCheck {
    /// True when `content` is as it must be.
    ///
    /// # Errors
    /// [`Unknown`] when nobody can tell.
    pub(super) fn holds(&self, content: &[u8], variables: &Variables) -> Result<bool, Unknown> {
        let found = match &self.search {
            Search::Text(finder) => finder.find(content).is_some(),
            Search::Template(template, _) => {
                let mut text = Vec::new();
                template.write(variables, &mut text).map_err(Unknown::Missing)?;
                if text.is_empty() {
                    return Err(Unknown::Empty);
                }
                memmem::find(content, &text).is_some()
            }
            Search::Pattern(regex) => regex.is_match(content),
        };
        Ok(found == self.wanted)
    }

    /// The variables it needs.
    pub(super) fn slots(&self) -> impl Iterator<Item = Slot> {
        let template = match &self.search {
            Search::Template(template, _) => Some(template),
            Search::Text(_) | Search::Pattern(_) => None,
        };
        template.into_iter().flat_map(Template::slots)
    }

    /// What is wrong, with variables as they are written: their values may be secrets.
    pub(super) fn words(&self) -> String {
        let (what, sought) = match &self.search {
            Search::Text(finder) => ("hold", String::from_utf8_lossy(finder.needle()).into_owned()),
            Search::Template(_, written) => ("hold", written.to_string()),
            Search::Pattern(regex) => ("match", regex.as_str().to_owned()),
        };
        match (self.wanted, what) {
            (true, what) => format!("the content does not {what} `{sought}`"),
            (false, "hold") => format!("the content holds `{sought}`"),
            (false, _) => format!("the content matches `{sought}`"),
        }
    }
}
