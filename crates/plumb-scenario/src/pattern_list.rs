//! Patterns of addresses, for steps that are to be left out.

/// Patterns: a text that an address holds or, with `*` for anything, what the whole of it is like.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Patterns(Vec<String>);

impl Patterns {
    /// These patterns.
    pub fn new(patterns: &[String]) -> Self {
        Self(patterns.to_vec())
    }

    /// True when one of them fits `text`.
    pub fn has(&self, text: &str) -> bool {
        self.0.iter().any(|pattern| fits(pattern, text))
    }
}

fn fits(pattern: &str, text: &str) -> bool {
    if pattern.contains('*') { is_like(pattern, text) } else { text.contains(pattern) }
}

/// True when the whole of `text` is like `pattern`, in which `*` stands for anything.
pub(crate) fn is_like(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(last) = parts.next_back() else { return text == pattern };
    let Some(mut rest) = text.strip_prefix(first) else {
        return false;
    };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_looked_for_and_a_star_stands_for_anything() {
        for (pattern, text, fit) in [
            (".gif", "/img/a.gif?x", true),
            (".gif", "/img/a.png", false),
            ("*.gif", "/img/a.gif", true),
            ("*.gif", "/img/a.gif?x", false),
            ("/img/*", "/img/a.gif", true),
            ("/img/*", "/x/img/a.gif", false),
            ("/a*b*c", "/a1b2c", true),
            ("/a*b*c", "/ac", false),
            ("/ab*ba", "/aba", false),
            ("*", "", true),
        ] {
            assert_eq!(fits(pattern, text), fit, "{pattern} {text}");
        }
    }
}
