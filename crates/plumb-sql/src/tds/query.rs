//! Whether a batch of T-SQL only asks, as far as its words tell.
//!
//! A batch needs nothing between its statements (`SELECT 1 DROP TABLE t` is two), so its first word alone says
//! little. But whatever changes something begins with a word that is reserved: as a name it stands in brackets
//! or quotes.

/// Words of statements that change data, definitions, rights, transactions or the server, that run others
/// (`EXEC`), or that hand text to another server, which may do any of it.
///
/// # Source
/// Transact-SQL, reserved keywords.
const OTHERS: [&str; 53] = [
    "ADD",
    "ALTER",
    "BACKUP",
    "BEGIN",
    "BULK",
    "CHECKPOINT",
    "COMMIT",
    "CONVERSATION",
    "CREATE",
    "DBCC",
    "DECLARE",
    "DELETE",
    "DENY",
    "DROP",
    "DUMP",
    "EXEC",
    "EXECUTE",
    "GOTO",
    "GRANT",
    "IF",
    "INSERT",
    "INTO",
    "KILL",
    "LOAD",
    "MERGE",
    "OPEN",
    "OPENDATASOURCE",
    "OPENQUERY",
    "OPENROWSET",
    "PRINT",
    "RAISERROR",
    "RECEIVE",
    "RECONFIGURE",
    "RENAME",
    "RESTORE",
    "RETURN",
    "REVERT",
    "REVOKE",
    "ROLLBACK",
    "SAVE",
    "SET",
    "SETUSER",
    "SHUTDOWN",
    "TRAN",
    "TRANSACTION",
    "TRIGGER",
    "TRUNCATE",
    "UPDATE",
    "UPDATETEXT",
    "USE",
    "WAITFOR",
    "WHILE",
    "WRITETEXT",
];

/// Words that end the transaction that a batch runs in.
const ENDS: [&str; 2] = ["COMMIT", "ROLLBACK"];

/// True when `text` holds a word outside of quotes that ends the transaction it runs in, or when that cannot be
/// told. What a procedure does is not seen.
#[must_use]
pub fn may_end_transaction(text: &str) -> bool {
    let ends = |word: &&str| ENDS.iter().any(|end| word.eq_ignore_ascii_case(end));
    words(text).is_none_or(|words| words.iter().any(ends))
}

/// True when `text` begins with `SELECT` or `WITH`, holds no word outside of quotes that something else than
/// a query needs, and draws no number of a sequence. What cannot be told does not only ask.
///
/// Functions that a query calls are not seen: those of T-SQL cannot write, those of the CLR can.
#[must_use]
pub fn only_asks(text: &str) -> bool {
    let Some(words) = words(text) else { return false };
    let is = |word: &str, wanted: &str| word.eq_ignore_ascii_case(wanted);
    let begins = words.first().is_some_and(|it| is(it, "SELECT") || is(it, "WITH"));
    let draws = words.windows(2).any(|it| is(it[0], "NEXT") && is(it[1], "VALUE"));
    begins && !draws && !words.iter().any(|word| OTHERS.iter().any(|other| is(word, other)))
}

/// The words of `text` outside of quotes and comments, without the `$` that some begin with; `None` where one
/// of these has no end, where characters stand that lines may end with for others, or where letters stand
/// behind a number: the language ends that with its digits, and a word begins there (`1delete` is two).
fn words(text: &str) -> Option<Vec<&str>> {
    let (mut rest, mut found) = (text, Vec::new());
    while let Some(next) = rest.chars().next() {
        let length = match next {
            '\'' | '"' => quoted(rest, next)?,
            '[' => quoted(rest, ']')?,
            '-' if rest.starts_with("--") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => commented(rest)?,
            '\r' if !rest.starts_with("\r\n") => return None,
            '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}' => return None,
            it if is_of_word(it) => {
                let length = rest.find(|it| !is_of_word(it)).unwrap_or(rest.len());
                let word = rest[..length].trim_start_matches('$');
                if word.starts_with(char::is_numeric) && !is_number(word) {
                    return None;
                }
                found.push(word);
                length
            }
            it => it.len_utf8(),
        };
        let taken = &rest[..length];
        let ends_a_line =
            |it: char| matches!(it, '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}');
        if next == '-' && taken.trim_end_matches('\r').contains(ends_a_line) {
            return None;
        }
        rest = &rest[length..];
    }
    Some(found)
}

fn is_of_word(it: char) -> bool {
    it.is_alphanumeric() || matches!(it, '_' | '@' | '#' | '$')
}

/// True for digits, those of a hexadecimal number behind `0x`, and those with an exponent.
fn is_number(word: &str) -> bool {
    let is_decimal = |text: &str| text.bytes().all(|it| it.is_ascii_digit());
    if let Some(digits) = word.strip_prefix("0x").or_else(|| word.strip_prefix("0X")) {
        return digits.bytes().all(|it| it.is_ascii_hexdigit());
    }
    let (digits, exponent) = word.split_once(['e', 'E']).unwrap_or((word, ""));
    is_decimal(digits) && is_decimal(exponent)
}

/// Bytes up to behind the `quote` that ends what begins with one byte; two of them are one that is meant.
fn quoted(rest: &str, quote: char) -> Option<usize> {
    let mut at = 1;
    loop {
        at += rest[at..].find(quote)? + 1;
        if !rest[at..].starts_with(quote) {
            return Some(at);
        }
        at += 1;
    }
}

/// Bytes of the comment that `rest` begins with; comments hold comments.
fn commented(rest: &str) -> Option<usize> {
    let (mut depth, mut at) = (0_usize, 0);
    loop {
        let next = at + rest[at..].find(['/', '*'])?;
        at = next + 2;
        match rest.as_bytes().get(next..at)? {
            b"/*" => depth += 1,
            b"*/" => depth -= 1,
            _ => at = next + 1,
        }
        if depth == 0 {
            return Some(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn queries_only_ask() {
        for text in [
            "select 1",
            " -- why\r\n/* a /* b */ delete */ SELECT a FROM t WHERE b = 'it''s; delete from t'",
            "with a as (select [update], \"delete\", [a]]drop] from t) select * from a option (recompile)",
            "select top 5 a from t order by a offset 5 rows fetch next 5 rows only",
            "select updated, #t.inserted, @delete from #t; select 2",
            "select value from next",
            "select 0x1add, 1e5, 1.5e-3, .5, $1, $1.5, $rowguid from t where a1 = 2",
        ] {
            assert!(only_asks(text), "{text}");
        }
    }

    #[test]
    fn what_may_do_more_does_not() {
        for text in [
            "",
            "exec p",
            "p",
            "select 1 delete from t",
            "select 1;drop table t",
            "select a into t2 from t",
            "select [a] delete from t",
            "select 'a' /* ' */ delete from t",
            "select 1 -- a\ndelete from t",
            "select 1 -- a\rdelete from t",
            "select 1\rdelete from t",
            "select next value for s",
            "select * from openquery(other, 'delete from t')",
            "select 1 disable trigger a on b",
            "with a as (select 1 as b) insert t select b from a",
            "select 'not ended",
            "select 1 /* not ended",
            "select [not ended",
            "set nocount on select 1",
            "select 1delete from t",
            "select 1commit select 1delete from t",
            "select 1.5delete from t",
            "select 1.delete from t",
            "select 1edelete from t",
            "select 1e5delete from t",
            "select 0x1Fdrop table t",
            "select $1delete from t",
            "select $delete from t",
        ] {
            assert!(!only_asks(text), "{text}");
        }
    }

    #[test]
    fn what_may_end_the_transaction_around_it_is_seen() {
        for text in [
            "update t set a = 1; COMMIT",
            "update t set a = 1 commit tran",
            "IF @@TRANCOUNT > 0 COMMIT TRAN",
            "rollback; delete from t",
            "update t set a = 1commit",
            "update t set a = 'not ended",
            "select 1 -- a\rcommit",
        ] {
            assert!(may_end_transaction(text), "{text}");
        }
        for text in [
            "update t set [commit] = 'rollback' -- commit",
            "insert into committed select @commit",
            "begin tran update t set a = 1",
        ] {
            assert!(!may_end_transaction(text), "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_brings_it_down(text in "[-/*'\"\\[\\]a-zé \r\n]{0,40}") {
            let _ = only_asks(&text);
        }

        #[test]
        fn what_stands_behind_a_query_is_seen(query in "(select|with) [-+a-c0-9'\"\\[\\]/* ]{0,20}") {
            // whatever is quoted ends, or the text is not one that only asks
            let text = format!("{query} delete from t");
            let inside = words(&text).is_some_and(|words| words.contains(&"delete"));
            prop_assert!(inside || !only_asks(&text) || hides(&query));
        }
    }

    /// True when a quote or comment of `query` swallows what follows it.
    fn hides(query: &str) -> bool {
        words(query).is_none() || query.contains("--")
    }
}
