//! Where `${...}` begins and ends in a text, whatever stands in it.

/// A piece of a text that is a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    /// As it is written, marks that are escaped (`$${`) included.
    Text(&'a str),
    /// What is written between `${` and `}`.
    Placeholder(&'a str),
}

impl Piece<'_> {
    /// The bytes of it as it is written, marks included.
    #[must_use]
    pub fn bytes(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Placeholder(inner) => inner.len() + "${}".len(),
        }
    }
}

/// The pieces of `text`; what a placeholder without an end begins is text.
pub fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let (mut from, mut at) = (0, 0);
    while let Some(found) = text[at..].find("${") {
        let dollar = at + found;
        let begin = dollar + 2;
        if text[at..dollar].ends_with('$') {
            at = begin;
            continue;
        }
        let Some(end) = end_of(&text[begin..]) else { break };
        if from < dollar {
            pieces.push(Piece::Text(&text[from..dollar]));
        }
        pieces.push(Piece::Placeholder(&text[begin..begin + end]));
        at = begin + end + 1;
        from = at;
    }
    if from < text.len() {
        pieces.push(Piece::Text(&text[from..]));
    }
    pieces
}

/// The arguments of the call that stands in a placeholder, and its name; `None` for a variable.
#[must_use]
pub fn call_of(inner: &str) -> Option<(&str, Vec<&str>)> {
    let (name, behind) = inner.split_once('(')?;
    let (inside, _) = behind.rsplit_once(')')?;
    Some((name, arguments(inside)))
}

/// Where the placeholder ends whose inside `text` begins with: the byte of its `}`. Braces within
/// the arguments of a call, and within quotes there, belong to it.
pub(crate) fn end_of(text: &str) -> Option<usize> {
    let first = text.find('}')?;
    if !text[..first].contains('(') {
        return Some(first);
    }
    let mut nested = Nested::default();
    text.char_indices()
        .find(|(at, c)| nested.is_outside(*c, &text[..*at]) && *c == '}')
        .map(|(at, _)| at)
}

/// Tells what stands outside of quotes, parentheses and inner placeholders.
#[derive(Clone, Debug, Default)]
pub(crate) struct Nested {
    quote: Option<char>,
    parentheses: usize,
    braces: usize,
}

impl Nested {
    /// True when `c`, behind `before`, stands outside of all of them.
    pub(crate) fn is_outside(&mut self, c: char, before: &str) -> bool {
        match (self.quote, c) {
            (Some(mark), _) => {
                if c == mark {
                    self.quote = None;
                }
                return false;
            }
            // a quote within a text belongs to it
            (None, '"' | '\'')
                if before.trim_end().ends_with(['(', ',']) || before.trim().is_empty() =>
            {
                self.quote = Some(c);
                return false;
            }
            _ => {}
        }
        match c {
            '{' if before.ends_with('$') => self.braces += 1,
            '}' if self.braces > 0 => {
                self.braces -= 1;
                return false;
            }
            '(' if self.braces == 0 => self.parentheses += 1,
            ')' if self.braces == 0 && self.parentheses > 0 => {
                self.parentheses -= 1;
                return false;
            }
            _ => {}
        }
        self.braces == 0 && self.parentheses == 0
    }
}

/// The arguments between the parentheses of a call: separated by commas, without the blanks and
/// the quotes around them.
pub(crate) fn arguments(text: &str) -> Vec<&str> {
    if text.trim().is_empty() {
        return Vec::new();
    }
    let (mut nested, mut from, mut all) = (Nested::default(), 0, Vec::new());
    for (at, c) in text.char_indices() {
        if nested.is_outside(c, &text[..at]) && c == ',' {
            all.push(unquoted(&text[from..at]));
            from = at + 1;
        }
    }
    all.push(unquoted(&text[from..]));
    all
}

fn unquoted(argument: &str) -> &str {
    let argument = argument.trim();
    let inner = ['"', '\''].iter().find_map(|mark| {
        argument.strip_prefix(*mark)?.strip_suffix(*mark).filter(|inner| !inner.contains(*mark))
    });
    inner.unwrap_or(argument)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn placeholders_end_where_they_should() {
        use Piece::{Placeholder as P, Text as T};
        for (text, expected) in [
            ("", vec![]),
            ("a${b}c", vec![T("a"), P("b"), T("c")]),
            ("$${a}${b:url}", vec![T("$${a}"), P("b:url")]),
            ("${f('}')}x", vec![P("f('}')"), T("x")]),
            ("${f(${a}, ${g(\")\")})}", vec![P("f(${a}, ${g(\")\")})")]),
            ("${md5(it's)}'", vec![P("md5(it's)"), T("'")]),
            ("${open", vec![T("${open")]),
            ("a${f(x}", vec![T("a${f(x}")]),
        ] {
            assert_eq!(pieces(text), expected, "{text}");
        }
    }

    #[test]
    fn arguments_stand_between_commas() {
        for (text, expected) in [
            ("", vec![]),
            (" 1 , 2", vec!["1", "2"]),
            ("'a, b', \"it's\", ", vec!["a, b", "it's", ""]),
            ("${f(1, 2)}, (a, b), it's", vec!["${f(1, 2)}", "(a, b)", "it's"]),
            ("'${f(1)}', ''", vec!["${f(1)}", ""]),
        ] {
            assert_eq!(arguments(text), expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn pieces_make_up_the_text(text in "(\\PC|\\$\\{|\\}|\\(|\\)|'|\"|,|\\$){0,40}") {
            let written: String = pieces(&text)
                .into_iter()
                .map(|piece| match piece {
                    Piece::Text(text) => text.to_owned(),
                    Piece::Placeholder(inner) => format!("${{{inner}}}"),
                })
                .collect();
            prop_assert_eq!(written, text.clone());
            let _ = arguments(&text);
        }
    }
}
