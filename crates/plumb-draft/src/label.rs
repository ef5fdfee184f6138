//! Names of rows: readable, and each once.

use std::collections::BTreeSet;

/// Characters of a name at most; the end of a path says more than its beginning.
const CHARS_MAX: usize = 60;

/// Gives out names.
#[derive(Debug, Default)]
pub struct Labels {
    given: BTreeSet<String>,
}

impl Labels {
    /// `wanted`, or where it was given before, with a number behind it.
    pub fn unique(&mut self, wanted: &str) -> String {
        let wanted = shortened(wanted);
        let numbered = (2_u64..).map(|number| format!("{wanted} {number}"));
        let mut candidates = std::iter::once(wanted.clone()).chain(numbered);
        let name = candidates.find(|name| !self.given.contains(name)).unwrap_or_default();
        self.given.insert(name.clone());
        name
    }

    /// A name for a request that has none: its path without the query, behind a method other
    /// than GET.
    pub fn of_request(&mut self, method: &str, target: &str) -> String {
        let path = target.split('?').next().unwrap_or_default();
        match method {
            "GET" => self.unique(path),
            _ => self.unique(&format!("{method} {path}")),
        }
    }
}

fn shortened(name: &str) -> String {
    let name: String = name.trim().chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let count = name.chars().count();
    if count <= CHARS_MAX {
        return if name.is_empty() { "request".into() } else { name };
    }
    let end: String = name.chars().skip(count - CHARS_MAX + 3).collect();
    format!("...{end}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_readable_and_short() {
        let mut labels = Labels::default();
        assert_eq!(labels.of_request("GET", "/list?x=1"), "/list");
        assert_eq!(labels.of_request("POST", "/list"), "POST /list");
        assert_eq!(labels.of_request("GET", "/list?x=2"), "/list 2");
        assert_eq!(labels.unique("/list 2"), "/list 2 2");
        assert_eq!(labels.unique("\n"), "request");
        let long = labels.unique(&format!("/{}/end", "x".repeat(200)));
        assert!(long.starts_with("...") && long.ends_with("/end"), "{long}");
        assert_eq!(long.chars().count(), CHARS_MAX);
    }
}
