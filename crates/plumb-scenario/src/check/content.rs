//! What the content of an answer must hold, or must not.

use memchr::memmem::Finder;
use regex::bytes::Regex;

use super::CheckError;
use crate::pattern;

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
    Pattern(Regex),
}

impl Search {
    pub(super) fn text(text: &str) -> Result<Self, CheckError> {
        if text.is_empty() {
            return Err(CheckError::EmptyText);
        }
        Ok(Self::Text(Box::new(Finder::new(text).into_owned())))
    }

    pub(super) fn pattern(pattern: &str) -> Result<Self, CheckError> {
        Ok(Self::Pattern(pattern::compiled(pattern)?))
    }
}

impl ContentCheck {
    pub(super) fn holds(&self, content: &[u8]) -> bool {
        let found = match &self.search {
            Search::Text(finder) => finder.find(content).is_some(),
            Search::Pattern(regex) => regex.is_match(content),
        };
        found == self.wanted
    }

    pub(super) fn words(&self) -> String {
        let (what, sought) = match &self.search {
            Search::Text(finder) => ("hold", String::from_utf8_lossy(finder.needle()).into_owned()),
            Search::Pattern(regex) => ("match", regex.as_str().to_owned()),
        };
        match (self.wanted, what) {
            (true, what) => format!("the content does not {what} `{sought}`"),
            (false, "hold") => format!("the content holds `{sought}`"),
            (false, _) => format!("the content matches `{sought}`"),
        }
    }
}
