//! Regular expressions over the bytes of answers.

use regex::bytes::{Captures, Regex, RegexBuilder};

use crate::placeholder::{Piece, pieces};

/// Bytes that a compiled expression, and its working memory in each thread, may take.
const COMPILED_BYTES_MAX: usize = 1 << 20;

/// Why a text is no regular expression.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the regular expression `{pattern}` is not understood: {problem}")]
pub struct PatternError {
    /// As written.
    pub pattern: String,
    /// What is wrong.
    pub problem: String,
}

/// Compiles `pattern`. Classes such as `\d` and `\w`, and the flag `i`, mean ASCII; `.` is any
/// byte but a line feed, so that content in any encoding can be searched.
///
/// # Errors
/// [`PatternError`], also for one that becomes too large.
pub(crate) fn compiled(pattern: &str) -> Result<Regex, PatternError> {
    if let Some(variable) = variable_in(pattern) {
        let problem = format!(
            "`${{{variable}}}` is a variable, and none stands in a regular expression; the letters are \
             written `\\$\\{{`"
        );
        return Err(PatternError { pattern: pattern.into(), problem });
    }
    let mut builder = RegexBuilder::new(pattern);
    builder.unicode(false).size_limit(COMPILED_BYTES_MAX).dfa_size_limit(COMPILED_BYTES_MAX);
    builder.build().map_err(|error| {
        // the library shows the pattern with a mark below it, on lines of their own
        let words = error.to_string();
        let problem = words.lines().last().unwrap_or_default();
        let problem = problem.strip_prefix("error: ").unwrap_or(problem);
        PatternError { pattern: pattern.into(), problem: problem.into() }
    })
}

/// The first variable or call in `pattern`, which would be taken for its letters: `${3}` for the end of
/// the text three times. A dollar behind a backslash is a letter.
fn variable_in(pattern: &str) -> Option<&str> {
    let mut before = "";
    for piece in pieces(pattern) {
        match piece {
            Piece::Text(text) => before = text,
            Piece::Placeholder(inner) => {
                let marks = before.len() - before.trim_end_matches('\\').len();
                let repeats = inner.contains(',') && !inner.contains('(');
                let is_named = inner.starts_with(|c: char| c.is_alphanumeric() || c == '_');
                if is_named && !repeats && marks.is_multiple_of(2) {
                    return Some(inner);
                }
                before = "";
            }
        }
    }
    None
}

/// What becomes of a match: texts and groups in turn, written `$1$-$2$`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Form {
    parts: Vec<PatternPart>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum PatternPart {
    Text(String),
    Group(usize),
}

impl Form {
    /// The first group, or the whole match when there is none.
    pub(crate) fn usual(regex: &Regex) -> Self {
        Self { parts: vec![PatternPart::Group(usize::from(regex.captures_len() > 1))] }
    }

    /// Reads a form.
    ///
    /// # Errors
    /// The number of a group that `regex` does not have.
    pub(crate) fn parse(text: &str, regex: &Regex) -> Result<Self, usize> {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some((before, group, behind)) = next_group(rest) {
            if group >= regex.captures_len() {
                return Err(group);
            }
            parts.extend([PatternPart::Text(before.into()), PatternPart::Group(group)]);
            rest = behind;
        }
        parts.push(PatternPart::Text(rest.into()));
        Ok(Self { parts })
    }

    /// The bytes of one match; a group that took no part is empty.
    pub(crate) fn text(&self, captures: &Captures<'_>) -> Vec<u8> {
        let mut text = Vec::new();
        for part in &self.parts {
            match part {
                PatternPart::Text(literal) => text.extend_from_slice(literal.as_bytes()),
                PatternPart::Group(group) => {
                    let bytes = captures.get(*group).map(|found| found.as_bytes());
                    text.extend_from_slice(bytes.unwrap_or_default());
                }
            }
        }
        text
    }
}

/// The text before the first `$NUMBER$`, the number, and the text behind it.
fn next_group(text: &str) -> Option<(&str, usize, &str)> {
    let mut from = 0;
    while let Some(at) = text[from..].find('$').map(|at| from + at) {
        let behind = &text[at + 1..];
        let digits = behind.find(|char: char| !char.is_ascii_digit()).unwrap_or(behind.len());
        if behind[digits..].starts_with('$')
            && let Ok(group) = behind[..digits].parse()
        {
            return Some((&text[..at], group, &behind[digits + 1..]));
        }
        from = at + 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_mean_ascii_and_any_bytes_are_searched() {
        let regex = compiled(r"(?i)id=(\d+)").unwrap();
        assert!(regex.is_match(b"\xff\xfeID=7") && !regex.is_match("id=٣".as_bytes()));
        assert!(compiled("é.").unwrap().is_match("né!".as_bytes()));
    }

    #[test]
    fn what_is_not_understood_is_said_in_one_line() {
        for pattern in ["(", "a{5000}{5000}", "(?<=a)b", r"\1"] {
            let error = compiled(pattern).unwrap_err().to_string();
            assert!(error.contains(pattern) && !error.contains('\n'), "{error}");
        }
    }

    #[test]
    fn a_variable_is_refused_and_letters_like_one_are_not() {
        for pattern in ["id=${id}", "${3}", "a(${sha1(x)})", r"\\${n:url}", "${b c}"] {
            let error = compiled(pattern).unwrap_err().to_string();
            assert!(error.contains("is a variable"), "{error}");
        }
        for (pattern, text) in
            [("[${}]+", "${}"), (r"^\${2}$", "$$"), (r"\$\{id\}", "${id}"), ("[^${]+[}]", "a}")]
        {
            assert!(compiled(pattern).unwrap().is_match(text.as_bytes()), "{pattern}");
        }
    }

    #[test]
    fn a_match_takes_its_form() {
        let regex = compiled(r"(\w+)-(\d+)?").unwrap();
        let captures = regex.captures(b"see LH-400").unwrap();
        let form = |text| {
            Form::parse(text, &regex).map(|form| String::from_utf8(form.text(&captures)).unwrap())
        };
        assert_eq!(form("$1$"), Ok("LH".into()));
        assert_eq!(form("$2$/$1$ $0$"), Ok("400/LH LH-400".into()));
        assert_eq!(form("$1 $x$ $$ $1$$"), Ok("$1 $x$ $$ LH$".into()));
        assert_eq!(form("$3$"), Err(3));
        assert_eq!(form(""), Ok(String::new()));
        assert_eq!(Form::usual(&regex).text(&captures), b"LH");
        let captures = regex.captures(b"LH-").unwrap();
        assert_eq!(Form::parse("[$2$]", &regex).unwrap().text(&captures), b"[]");
        let plain = compiled("L.").unwrap();
        assert_eq!(Form::usual(&plain).text(&plain.captures(b"LH").unwrap()), b"LH");
    }
}
