//! Statements without their values: what a load of many statements is counted under, and what is written
//! down of them, as values may be secrets.

/// Whose rules of quotes and comments a statement follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// Standard SQL, with the quotes of PostgreSQL.
    Standard,
    /// That of MariaDB and MySQL.
    Mysql,
    /// That of SQL Server, in which double quotes hold names or values, by a setting: they are taken for values.
    TransactSql,
}

/// Characters of a statement that are kept.
const LENGTH_MAX: usize = 300;

/// `text` without comments and values: each value is `?`, lists of values are one, and so are spaces.
/// A statement that is longer than that is cut. What is a value is told by the language of `language`: in that
/// of MariaDB and MySQL a backslash keeps a quote from ending one, and double quotes hold values, too.
#[must_use]
pub fn of(text: &str, language: Language) -> String {
    let mut out = Normalized::default();
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        let length = if let Some(length) = comment(rest, language) {
            out.space();
            length
        } else if let Some(length) = quoted(rest, out.tail(), language) {
            out.value();
            length
        } else if next == '[' && language == Language::TransactSql {
            let length = behind(rest, ']', 1, false);
            out.push(&rest[..length]);
            length
        } else if next == '"' || next == '`' {
            let length = behind(rest, next, next.len_utf8(), false);
            out.push(&rest[..length]);
            length
        } else if next.is_ascii_digit() && !out.tail().is_some_and(is_of_name) {
            out.value();
            number(rest, language)
        } else if next == '$' && rest[1..].starts_with(|it: char| it.is_ascii_digit()) {
            out.value();
            1 + rest[1..].find(|it: char| !it.is_ascii_digit()).unwrap_or(rest.len() - 1)
        } else if next.is_whitespace() {
            out.space();
            next.len_utf8()
        } else {
            out.push(&rest[..next.len_utf8()]);
            next.len_utf8()
        };
        rest = &rest[length..];
        if out.text.len() > 4 * LENGTH_MAX {
            break;
        }
    }
    out.finish()
}

/// True when `text` holds a statement behind the end of another, by the rules of `language`.
#[must_use]
pub fn holds_several(text: &str, language: Language) -> bool {
    let (mut rest, mut before, mut begun, mut ended) = (text, None, false, false);
    while let Some(next) = rest.chars().next() {
        let length = if let Some(length) = comment(rest, language) {
            length
        } else if next.is_whitespace() || next == ';' {
            ended |= begun && next == ';';
            next.len_utf8()
        } else if ended {
            return true;
        } else if let Some(length) = quoted(rest, before, language) {
            length
        } else if next == '"' || next == '`' {
            behind(rest, next, next.len_utf8(), false)
        } else if next == '[' && language == Language::TransactSql {
            behind(rest, ']', 1, false)
        } else {
            next.len_utf8()
        };
        begun |= !next.is_whitespace();
        before = rest[..length].chars().next_back();
        rest = &rest[length..];
    }
    false
}

/// Bytes of the number that `rest` begins with. From PostgreSQL 16 on digits are grouped by underscores; in
/// the language of MariaDB and MySQL a name goes on there.
fn number(rest: &str, language: Language) -> usize {
    let groups = language == Language::Standard;
    let is_of_number = |it: char| it.is_ascii_alphanumeric() || it == '.' || (groups && it == '_');
    rest.find(|it| !is_of_number(it)).unwrap_or(rest.len())
}

fn is_of_name(it: char) -> bool {
    it.is_alphanumeric() || it == '_'
}

/// Bytes of the comment that `rest` begins with. But for those of MariaDB and MySQL, comments between `/*` and
/// `*/` hold others; a line ends with a carriage return as well in PostgreSQL.
pub(crate) fn comment(rest: &str, language: Language) -> Option<usize> {
    let is_mysql = language == Language::Mysql;
    if rest.starts_with("--") || (is_mysql && rest.starts_with('#')) {
        let ends = |it| it == '\n' || (it == '\r' && language == Language::Standard);
        return Some(rest.find(ends).unwrap_or(rest.len()));
    }
    if !rest.starts_with("/*") {
        return None;
    }
    let (mut depth, mut at) = (0_usize, 0);
    while let Some(mark) = rest.as_bytes().get(at..at + 2) {
        match mark {
            b"/*" if depth == 0 || !is_mysql => depth += 1,
            b"*/" => depth -= 1,
            _ => {
                at += 1;
                continue;
            }
        }
        at += 2;
        if depth == 0 {
            return Some(at);
        }
    }
    Some(rest.len())
}

/// Bytes of the text in quotes that `rest` begins with: `'...'`, `E'...'` and `$tag$...$tag$`. `before` is
/// what stands before it.
fn quoted(rest: &str, before: Option<char>, language: Language) -> Option<usize> {
    let is_name = before.is_some_and(is_of_name);
    let is_standard = language == Language::Standard;
    let is_quote = |it: &char| *it == '\'' || (!is_standard && *it == '"');
    if let Some(quote) = rest.chars().next().filter(is_quote) {
        return Some(behind(rest, quote, 1, language == Language::Mysql));
    }
    if !is_standard {
        return None;
    }
    if !is_name && (rest.starts_with("E'") || rest.starts_with("e'")) {
        return Some(behind(rest, '\'', 2, true));
    }
    let inner = rest.strip_prefix('$').filter(|_| !is_name)?;
    let tag = &inner[..inner.find('$')?];
    let is_tag = !tag.starts_with(|it: char| it.is_ascii_digit()) && tag.chars().all(is_of_name);
    let mark = is_tag.then(|| format!("${tag}$"))?;
    let body = mark.len();
    Some(rest[body..].find(&mark).map_or(rest.len(), |at| body + at + mark.len()))
}

/// Bytes up to behind the `quote` that ends what begins at `from`; two of them are one that is meant.
fn behind(rest: &str, quote: char, from: usize, escapes: bool) -> usize {
    let mut chars = rest[from..].char_indices().peekable();
    while let Some((at, next)) = chars.next() {
        if escapes && next == '\\' {
            chars.next();
        } else if next == quote {
            match chars.peek() {
                Some((_, doubled)) if *doubled == quote => {
                    chars.next();
                }
                _ => return from + at + next.len_utf8(),
            }
        }
    }
    rest.len()
}

/// A statement as it is put together.
#[derive(Debug, Default)]
struct Normalized {
    text: String,
    spaced: bool,
}

impl Normalized {
    /// The last character, if nothing stands between it and the next.
    fn tail(&self) -> Option<char> {
        self.text.chars().next_back().filter(|_| !self.spaced)
    }

    fn space(&mut self) {
        self.spaced = !self.text.is_empty();
    }

    fn push(&mut self, text: &str) {
        if std::mem::take(&mut self.spaced) {
            self.text.push(' ');
        }
        self.text += text;
    }

    /// A value, or one more of a list of them.
    fn value(&mut self) {
        let list = self.text.trim_end_matches([',', ' ']);
        if list.ends_with("?") && list.len() < self.text.len() {
            self.text.truncate(list.len());
            self.spaced = false;
            return;
        }
        self.push("?");
    }

    fn finish(mut self) -> String {
        while self.text.ends_with([';', ' ']) {
            self.text.pop();
        }
        if let Some((at, _)) = self.text.char_indices().nth(LENGTH_MAX) {
            self.text.truncate(at);
            self.text += "...";
        }
        self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn values_and_comments_go_and_names_stay() {
        for (text, expected) in [
            ("SELECT  1 -- one\n FROM t1;", "SELECT ? FROM t1"),
            ("select * from t where a='it''s' and b = $1", "select * from t where a=? and b = ?"),
            ("select a from t where id in (1, 2 ,'x')", "select a from t where id in (?)"),
            ("values (1,2),(3,4)", "values (?),(?)"),
            ("/* sesame */select e'a\\'sesame', E'x', 1.5e3", "select ?"),
            ("select $tag$ sesame $$ $tag$ as \"Col 1\", `b 2`", "select ? as \"Col 1\", `b 2`"),
            ("insert into t values (-5, 0x1F, null)", "insert into t values (-?, null)"),
            ("select 'sesame", "select ?"),
            ("select 1_234_567, 0x_1F, 1_0.5_0, t_1", "select ?, t_1"),
            ("/* /* */ it's */ select 'sesame'", "select ?"),
            ("select 1 /* a /* b */ sesame */ + 2", "select ? + ?"),
            ("select 1 -- it's\r, 'sesame\n sesame'", "select ?"),
        ] {
            let found = of(text, Language::Standard);
            assert_eq!(found, expected, "{text}");
            assert!(!found.contains("sesame"));
        }
        assert_eq!(of(&"a".repeat(400), Language::Mysql).len(), LENGTH_MAX + 3);
        let text = "select \"sesame\", 'it\\'s sesame' from `a b` where a = 1 # sesame\n or b = 2";
        assert_eq!(of(text, Language::Mysql), "select ? from `a b` where a = ? or b = ?");
        let text =
            "select [it's], [a]]'b 2] from t where a = N'sesame\\' and b = \"sesame\" and c = $5";
        let kept = "select [it's], [a]]'b 2] from t where a = N? and b = ? and c = ?";
        assert_eq!(of(text, Language::TransactSql), kept);
        let nested = "select 1 /* /* */ it's */ + 'sesame'";
        assert_eq!(of(nested, Language::TransactSql), "select ? + ?");
        let flat = "select a /* /* */ + 'sesame' from 2024_sales /* 'sesame";
        assert_eq!(of(flat, Language::Mysql), "select a + ? from ?_sales");
    }

    #[test]
    fn a_semicolon_ends_a_statement_where_it_is_none_of_a_value() {
        let several = |text| holds_several(text, Language::Standard);
        for text in ["select 1; select 2", "select 1;\n-- why\nselect 2;", "select $$;$$;x"] {
            assert!(several(text), "{text}");
        }
        for text in [
            "select 1",
            "select 1; ",
            "select 1;; -- select 2",
            "-- first; then\nselect ';' || E'\\';' as \";\" /* ; */",
            "select $a$ ; $$ $a$",
        ] {
            assert!(!several(text), "{text}");
        }
        assert!(holds_several("select '\\'; select '1", Language::Standard));
        assert!(!holds_several("select '\\'; select '", Language::Mysql));
        assert!(!holds_several("select `a;b`, \"it;s\" # ;x", Language::Mysql));
        assert!(!holds_several("select [a;b] from t", Language::TransactSql));
    }

    proptest! {
        #[test]
        fn no_statement_brings_it_down(text in "[-a-z0-9_'\"`$/*\\\\,;() \n\u{e9}]{0,60}") {
            let _ = (of(&text, Language::Standard), of(&text, Language::Mysql));
            let _ = of(&text, Language::TransactSql);
        }

        #[test]
        fn what_stands_in_quotes_is_never_kept(value in "[a-z]{8}", before in "[ =(,a-z]{0,9}") {
            let text = format!("select x{before}'{value}' from t");
            for language in [Language::Standard, Language::Mysql, Language::TransactSql] {
                let kept = of(&text, language);
                prop_assert!(!kept.contains(&value), "{}", kept);
            }
        }
    }
}
