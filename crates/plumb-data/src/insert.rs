//! `INSERT` statements of one row each, done as one of several rows: what a database does for a
//! statement, such as planning it, is done once.
//!
//! Only a row of bound values and plain constants may share its statement: a function or a query could
//! see the rows beside it differently than rows before it.

use plumb_serve::database::Statement;

/// Rows of a statement at most.
const ROWS_MAX: usize = 64;
/// Values of a statement at most; the protocol of `PostgreSQL` ends at 65,535.
const VALUES_MAX: usize = 16_384;

/// A statement that inserts one row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct RowInsert<'a> {
    /// Up to `VALUES`.
    head: &'a str,
    /// What stands in the brackets.
    row: &'a str,
    /// Behind them: nothing, or `ON CONFLICT DO NOTHING`.
    tail: &'a str,
}

/// Whether `text` inserts one row of bound values and constants, and nothing else.
pub(super) fn inserts_row(text: &str) -> bool {
    RowInsert::of(text).is_some_and(|insert| insert.tail.is_empty())
}

/// `statements`, with neighbours of the same text in one; how many each of the result stands for.
pub(super) fn joined(statements: &[Statement]) -> (Vec<Statement>, Vec<usize>) {
    let (mut done, mut counts) = (Vec::new(), Vec::new());
    let mut rest = statements;
    while let Some(first) = rest.first() {
        let alike = rest.iter().take_while(|it| it.text == first.text).take(ROWS_MAX).count();
        let fits = VALUES_MAX / first.values.len().max(1);
        // few sizes, so that few statements are prepared
        let size = 1 << alike.min(fits).max(1).ilog2();
        let insert = if size > 1 { RowInsert::of(&first.text) } else { None };
        let size = if insert.is_some() { size } else { 1 };
        let (some, others) = rest.split_at(size);
        done.push(match insert {
            Some(insert) => Statement {
                text: insert.of_rows(size, first.values.len()).into(),
                values: some.iter().flat_map(|it| it.values.iter().cloned()).collect(),
            },
            None => first.clone(),
        });
        counts.push(size);
        rest = others;
    }
    (done, counts)
}

impl<'a> RowInsert<'a> {
    fn of(text: &'a str) -> Option<Self> {
        let first = text.split_ascii_whitespace().next()?;
        if !first.eq_ignore_ascii_case("insert") {
            return None;
        }
        let values = word(text, "values")?;
        let head = text.get(..values.end)?;
        // a head of one table and its columns; what is quoted may hold anything
        if head.contains(['\'', ';', '$']) || word(head, "select").is_some() || holds_comment(head)
        {
            return None;
        }
        let rest = text.get(values.end..)?.trim_start().strip_prefix('(')?;
        let end = row_end(rest)?;
        let (row, tail) = (rest.get(..end)?, rest.get(end + 1..)?.trim());
        let words: Vec<&str> = tail.split_ascii_whitespace().collect();
        let is_plain = match &*words {
            [] => true,
            [on, conflict, r#do, nothing] => [on, conflict, r#do, nothing]
                .iter()
                .zip(["on", "conflict", "do", "nothing"])
                .all(|(word, expected)| word.eq_ignore_ascii_case(expected)),
            _ => false,
        };
        is_plain.then_some(Self { head, row, tail })
    }

    /// The statement for `rows` rows of `values` values each.
    fn of_rows(&self, rows: usize, values: usize) -> String {
        let mut text = String::with_capacity(self.head.len() + rows * (self.row.len() + 8));
        text.push_str(self.head);
        for number in 0..rows {
            text.push_str(if number == 0 { " (" } else { ", (" });
            self.row_into(number * values, &mut text);
            text.push(')');
        }
        if !self.tail.is_empty() {
            text.push(' ');
            text.push_str(self.tail);
        }
        text
    }

    /// The row with its places `before` further on.
    fn row_into(&self, before: usize, text: &mut String) {
        let mut pieces = self.row.split('$');
        text.push_str(pieces.next().unwrap_or_default());
        for piece in pieces {
            let digits = piece.bytes().take_while(u8::is_ascii_digit).count();
            let (number, rest) = piece.split_at(digits);
            let place = before + number.parse::<usize>().unwrap_or(0);
            text.push('$');
            text.push_str(&place.to_string());
            text.push_str(rest);
        }
    }
}

/// Where the brackets end around a row of places, numbers, words such as `NULL`, and casts of them;
/// `None` where anything else stands in them.
fn row_end(text: &str) -> Option<usize> {
    let mut rest = text;
    loop {
        rest = value(rest)?.trim_start();
        match rest.as_bytes().first()? {
            b',' => rest = &rest[1..],
            b')' => return Some(text.len() - rest.len()),
            _ => return None,
        }
    }
}

/// What stands behind the value at the start of `text`.
fn value(text: &str) -> Option<&str> {
    let text = text.trim_start();
    if text.get(..4).is_some_and(|word| word.eq_ignore_ascii_case("cast")) {
        let inner = constant(text[4..].trim_start().strip_prefix('(')?.trim_start())?.trim_start();
        let (word, kind) = inner.split_at_checked(2)?;
        let kind = kind.strip_prefix(|it: char| it.is_ascii_whitespace())?;
        return kind_of(word.eq_ignore_ascii_case("as").then_some(kind)?)?.strip_prefix(')');
    }
    let rest = constant(text)?;
    match rest.trim_start().strip_prefix("::") {
        Some(kind) => kind_of(kind),
        None => Some(rest),
    }
}

/// What stands behind a place, a number or a word for one.
fn constant(text: &str) -> Option<&str> {
    let (length, rest) = match text.strip_prefix('$') {
        Some(place) => (place, place.trim_start_matches(|it: char| it.is_ascii_digit())),
        None if text.starts_with(|it: char| it.is_ascii_alphabetic()) => {
            let rest = text.trim_start_matches(|it: char| it.is_ascii_alphanumeric() || it == '_');
            let word = &text[..text.len() - rest.len()];
            let known = ["null", "default", "true", "false"];
            return known.iter().any(|it| word.eq_ignore_ascii_case(it)).then_some(rest);
        }
        None => {
            let number = text.strip_prefix(['-', '+']).unwrap_or(text);
            (number, number.trim_start_matches(|it: char| it.is_ascii_digit() || it == '.'))
        }
    };
    (rest.len() < length.len()).then_some(rest)
}

/// What stands behind the name of a type, such as `double precision` or `numeric(10, 2)`.
fn kind_of(text: &str) -> Option<&str> {
    let named = text.trim_start();
    let is_part = |it: char| it.is_ascii_alphanumeric() || it == '_' || it == ' ';
    let rest = named.trim_start_matches(is_part);
    if rest.len() == named.len() || !named.starts_with(|it: char| it.is_ascii_alphabetic()) {
        return None;
    }
    let Some(sizes) = rest.strip_prefix('(') else { return Some(rest) };
    let is_size = |it: char| it.is_ascii_digit() || it == ',' || it == ' ';
    sizes.trim_start_matches(is_size).strip_prefix(')')
}

/// The first `wanted` that stands alone as a word.
fn word(text: &str, wanted: &str) -> Option<std::ops::Range<usize>> {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'"' | b'.');
    let bytes = text.as_bytes();
    (0..bytes.len()).find_map(|at| {
        let end = at + wanted.len();
        let here = bytes.get(at..end)?;
        let alone = !at.checked_sub(1).and_then(|it| bytes.get(it)).is_some_and(is_part)
            && !bytes.get(end).is_some_and(is_part);
        (alone && here.eq_ignore_ascii_case(wanted.as_bytes())).then_some(at..end)
    })
}

fn holds_comment(text: &str) -> bool {
    text.contains("--") || text.contains("/*")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn statement(text: &str, values: &[&str]) -> Statement {
        let values = values.iter().map(|value| Some((*value).to_owned())).collect();
        Statement { text: text.into(), values }
    }

    #[test]
    fn neighbours_of_one_text_become_rows_of_one_statement() {
        let text = "INSERT INTO t(a, b, c) VALUES ($1, 7, $2)";
        let rows: Vec<_> =
            (0..5).map(|at| statement(text, &[&format!("a{at}"), &format!("c{at}")])).collect();
        let (done, counts) = joined(&rows);
        assert_eq!(counts, [4, 1], "as many as are prepared for");
        assert_eq!(
            &*done[0].text,
            "INSERT INTO t(a, b, c) VALUES ($1, 7, $2), ($3, 7, $4), ($5, 7, $6), ($7, 7, $8)"
        );
        let values: Vec<_> = done[0].values.iter().flatten().map(String::as_str).collect();
        assert_eq!(values, ["a0", "c0", "a1", "c1", "a2", "c2", "a3", "c3"]);
        assert_eq!(done[1], rows[4]);
    }

    #[test]
    fn the_order_of_statements_stays() {
        let one = statement("INSERT INTO t VALUES ($1)", &["1"]);
        let other = statement("UPDATE t SET a = $1", &["2"]);
        let all = [one.clone(), one.clone(), other.clone(), one.clone(), other.clone(), other];
        let (done, counts) = joined(&all);
        assert_eq!(counts, [2, 1, 1, 1, 1]);
        assert_eq!(done.iter().map(|it| it.values.len()).collect::<Vec<_>>(), [2, 1, 1, 1, 1]);
        let many = vec![one; 200];
        assert_eq!(joined(&many).1, [64, 64, 64, 8]);
        assert_eq!(joined(&[]).1, [0_usize; 0]);
    }

    #[test]
    fn what_could_see_its_neighbours_stands_alone() {
        for text in [
            "INSERT INTO t VALUES ($1)",
            "insert into s.\"T\" (a, b)\n values ( $1 , -1.5 )",
            "INSERT INTO t(a, b) VALUES (NULL, default)",
            "INSERT INTO t VALUES (CAST($1 AS bigint), cast ( $2 as double precision ))",
            "INSERT INTO t VALUES ($1::int, $2 :: numeric(10, 2))",
        ] {
            assert!(inserts_row(text), "{text}");
        }
        let nothing = "INSERT INTO t VALUES ($1) ON CONFLICT DO NOTHING";
        assert!(!inserts_row(nothing) && RowInsert::of(nothing).is_some());
        for text in [
            "INSERT INTO t VALUES ((SELECT max(a) + 1 FROM t))",
            "INSERT INTO t VALUES (f($1))",
            "INSERT INTO t VALUES ($1), ($2)",
            "INSERT INTO t VALUES (CAST(f($1) AS int))",
            "INSERT INTO t VALUES (CAST($1 AS int) + (SELECT 1))",
            "INSERT INTO t VALUES ($1::int + 1)",
            "INSERT INTO t VALUES (CURRENT_USER)",
            "INSERT INTO t VALUES ('$1')",
            "INSERT INTO t VALUES ($1) RETURNING a",
            "INSERT INTO t VALUES ($1) ON CONFLICT (a) DO UPDATE SET b = $2",
            "INSERT INTO t VALUES ($1); DELETE FROM t",
            "INSERT INTO t SELECT $1",
            "INSERT INTO t -- VALUES\n VALUES ($1)",
            "INSERT INTO t /* VALUES (1) */ VALUES ($1)",
            "INSERT INTO t VALUES ($1) -- x",
            "INSERT INTO t DEFAULT VALUES",
            "WITH x AS (SELECT 1) INSERT INTO t VALUES ($1)",
            "UPDATE t SET a = $1",
            "INSERT INTO t VALUES ($)",
            "INSERT INTO t VALUES (é)",
            "INSERT INTO t VALUES (CASTé",
            "INSERT INTO t VALUES (CAST($1 é int))",
            "INSERT INTO t VALUES ()",
            "",
        ] {
            assert_eq!(RowInsert::of(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_value_is_lost(
            lengths in prop::collection::vec((0_usize..3, 1_usize..5), 0..30)
        ) {
            let texts = ["INSERT INTO t VALUES ($1)", "INSERT INTO u(a) VALUES ($1)", "DELETE FROM t WHERE a = $1"];
            let mut all = Vec::new();
            for (text, count) in lengths {
                for _ in 0..count {
                    all.push(statement(texts[text], &[&all.len().to_string()]));
                }
            }
            let (done, counts) = joined(&all);
            prop_assert_eq!(counts.iter().sum::<usize>(), all.len());
            let values: Vec<_> = done.iter().flat_map(|it| it.values.clone()).collect();
            let before: Vec<_> = all.iter().flat_map(|it| it.values.clone()).collect();
            prop_assert_eq!(values, before);
            for one in &done {
                let last = format!("${}", one.values.len());
                prop_assert!(one.text.contains(&last), "{}", one.text);
            }
        }

        #[test]
        fn any_text_is_read(text in "(INSERT|INTO|t|VALUES|\\(|\\)|,|\\$|1|\\$1| |'|--|\"|é){0,20}") {
            if let Some(insert) = RowInsert::of(&text) {
                prop_assert!(insert.of_rows(2, 1).len() > insert.head.len());
            }
        }
    }
}
