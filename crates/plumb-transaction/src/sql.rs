//! The text of a statement: variables become parameters that are bound, never text.

use std::ops::Range;

/// Words that begin what would break the transaction of a unit of work, or outlive it.
const REFUSED: [&str; 20] = [
    "abort",
    "analyze",
    "begin",
    "commit",
    "copy",
    "discard",
    "end",
    "listen",
    "notify",
    "pragma",
    "prepare",
    "release",
    "reset",
    "rollback",
    "savepoint",
    "set",
    "start",
    "unlisten",
    "vacuum",
    "attach",
];

/// A statement with its variables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SqlText {
    /// With `$1`, `$2`, ... in the places of the variables.
    pub(super) text: String,
    /// The variable of each place, in their order, with where it stands.
    pub(super) names: Vec<(String, Range<usize>)>,
}

/// What is wrong with a statement, and where: bytes from the start of its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SqlProblem {
    pub(super) at: usize,
    pub(super) problem: String,
}

/// What a section of a statement is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Section<'a> {
    /// Copied as it is: quoted texts and names, comments.
    Closed(&'a str),
    Plain(&'a str),
}

impl SqlText {
    /// Reads the text of a statement.
    pub(super) fn parse(text: &str) -> Result<Self, SqlProblem> {
        let mut read = Self { text: String::with_capacity(text.len()), names: Vec::new() };
        let mut at = 0;
        while at < text.len() {
            let section = next(&text[at..]);
            match section {
                Section::Closed(closed) => {
                    if let Some(inside) = variable_in(closed) {
                        let problem = "a variable in quotes or a comment stays text: write ${NAME} \
                            without quotes, its value is bound";
                        return Err(SqlProblem { at: at + inside, problem: problem.into() });
                    }
                    read.text.push_str(closed);
                    at += closed.len();
                }
                Section::Plain(plain) => {
                    read.plain(plain, at)?;
                    at += plain.len();
                }
            }
        }
        read.judged()
    }

    /// A section without quotes and comments.
    fn plain(&mut self, text: &str, start: usize) -> Result<(), SqlProblem> {
        let mut at = 0;
        while let Some(found) = text[at..].find('$') {
            let dollar = at + found;
            self.text.push_str(&text[at..dollar]);
            let rest = &text[dollar..];
            let wrong = |problem: &str| SqlProblem { at: start + dollar, problem: problem.into() };
            if rest.starts_with("$${") {
                return Err(wrong("`$${` is no text of a statement"));
            }
            let Some(inner) = rest.strip_prefix("${") else {
                if rest[1..].starts_with(|it: char| it.is_ascii_digit()) {
                    return Err(wrong("write ${NAME}: places such as $1 are made of it"));
                }
                self.text.push('$');
                at = dollar + 1;
                continue;
            };
            let end = inner.find('}').ok_or_else(|| wrong("`${` without `}`"))?;
            let name = &inner[..end];
            if name.contains(':') {
                return Err(wrong("a value is bound as it is: leave out what stands behind `:`"));
            }
            let past = dollar + 2 + end + 1;
            self.names.push((name.to_owned(), start + dollar..start + past));
            self.text.push_str(&format!("${}", self.names.len()));
            at = past;
        }
        self.text.push_str(&text[at..]);
        Ok(())
    }

    fn judged(self) -> Result<Self, SqlProblem> {
        let word = first_word(&self.text).to_ascii_lowercase();
        if word.is_empty() {
            return Err(SqlProblem { at: 0, problem: "a statement is missing".into() });
        }
        if REFUSED.contains(&word.as_str()) {
            let problem = format!(
                "{} is no statement of a transaction here: what a message does is committed at its \
                 end, and its session serves others",
                word.to_ascii_uppercase()
            );
            return Err(SqlProblem { at: 0, problem });
        }
        Ok(self)
    }
}

/// The section at the start of `text`, which is not empty.
fn next(text: &str) -> Section<'_> {
    let closing = |close: &str, from: usize| {
        let end = text[from..].find(close).map_or(text.len(), |at| from + at + close.len());
        Section::Closed(&text[..end])
    };
    match text.as_bytes() {
        [b'\'', ..] => closing("'", 1),
        [b'"', ..] => closing("\"", 1),
        [b'-', b'-', ..] => closing("\n", 2),
        [b'/', b'*', ..] => closing("*/", 2),
        [b'$', ..] if tag(text).is_some() => {
            let tag = tag(text).unwrap_or_default();
            closing(tag, tag.len())
        }
        _ => {
            let end = text.char_indices().skip(1).find(|(at, _)| begins_closed(&text[*at..]));
            Section::Plain(&text[..end.map_or(text.len(), |(at, _)| at)])
        }
    }
}

fn begins_closed(text: &str) -> bool {
    text.starts_with(['\'', '"'])
        || text.starts_with("--")
        || text.starts_with("/*")
        || tag(text).is_some()
}

/// The tag of a text in dollars, `$$` or `$name$`, at the start of `text`.
fn tag(text: &str) -> Option<&str> {
    let inner = text.strip_prefix('$')?;
    let end = inner.find('$')?;
    let name = &inner[..end];
    let is_name = name.chars().all(|it| it.is_alphanumeric() || it == '_')
        && !name.starts_with(|it: char| it.is_ascii_digit());
    // `$${` is an escape elsewhere, and refused here
    (is_name && !inner[end + 1..].starts_with('{')).then(|| &text[..end + 2])
}

/// Where a variable stands in a section that is copied.
fn variable_in(closed: &str) -> Option<usize> {
    let at = closed.find("${")?;
    closed[at..].contains('}').then_some(at)
}

/// The first word behind white space, comments and brackets.
fn first_word(text: &str) -> &str {
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches(|it: char| it.is_whitespace() || it == '(' || it == ';');
        match rest.as_bytes() {
            [b'-', b'-', ..] | [b'/', b'*', ..] => match next(rest) {
                Section::Closed(comment) => rest = &rest[comment.len()..],
                Section::Plain(_) => return "",
            },
            _ => break,
        }
    }
    let end = rest.find(|it: char| !it.is_ascii_alphabetic()).unwrap_or(rest.len());
    &rest[..end]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> (String, Vec<String>) {
        let read = SqlText::parse(text).unwrap();
        (read.text, read.names.into_iter().map(|(name, _)| name).collect())
    }

    fn refused(text: &str) -> SqlProblem {
        SqlText::parse(text).unwrap_err()
    }

    #[test]
    fn variables_become_places() {
        let (text, names) = read("INSERT INTO t(a, b) VALUES (${x}, ${y.z}, ${x})");
        assert_eq!(text, "INSERT INTO t(a, b) VALUES ($1, $2, $3)");
        assert_eq!(names, ["x", "y.z", "x"]);
        let (text, names) = read("SELECT 'it''s $5', \"a$b\" -- $1\n, $$ 'x $2 $$ WHERE a=${a}");
        assert_eq!(text, "SELECT 'it''s $5', \"a$b\" -- $1\n, $$ 'x $2 $$ WHERE a=$1");
        assert_eq!(names, ["a"]);
        let (text, _) = read("SELECT $t$ ' $t$ || ${a} /* it's */ || ${b}");
        assert_eq!(text, "SELECT $t$ ' $t$ || $1 /* it's */ || $2");
    }

    #[test]
    fn what_would_not_be_bound_is_refused_with_its_place() {
        assert_eq!(refused("SELECT '${a}'").at, 8);
        assert!(refused("SELECT '${a}'").problem.contains("without quotes"));
        assert!(refused("SELECT \"${a}\"").problem.contains("without quotes"));
        assert!(refused("SELECT 1 -- ${a}").problem.contains("comment"));
        assert!(refused("SELECT $1").problem.contains("write ${NAME}"));
        assert!(refused("SELECT ${a:url}").problem.contains("leave out"));
        assert!(refused("SELECT ${a").problem.contains("without `}`"));
        assert!(refused("SELECT $${a}").problem.contains("no text of a statement"));
        assert!(refused(" -- nothing\n").problem.contains("missing"));
        for text in ["COMMIT", " -- x\n rollback", "/* */SET x = 1", "(Begin)", ";end"] {
            assert!(refused(text).problem.contains("is no statement"), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "(\\PC|\\$|'|\"|\\$\\{a\\}|--|/\\*|\\*/|\\$\\$|\n){0,30}") {
            if let Ok(read) = SqlText::parse(&format!("SELECT {text}")) {
                for number in 1..=read.names.len() {
                    let place = format!("${number}");
                    prop_assert!(read.text.contains(&place), "{}", read.text);
                }
                let names = read.names.iter().all(|(name, _)| !name.contains('}'));
                prop_assert!(names, "{:?}", read.names);
            }
        }
    }
}
