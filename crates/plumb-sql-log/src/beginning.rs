//! What a statement begins with: whether it only asks, or begins, ends or sets what others run in.

use crate::fingerprint::{Language, comment};

/// Begins, ends and settings of transactions and sessions that MariaDB and MySQL have besides: what locks tables ends
/// the transaction, and no rollback unlocks them.
const CONTROL_OF_MYSQL: [&str; 3] = ["LOCK", "UNLOCK", "XA"];
/// Two words that begin what leaves them alone in MariaDB: a setting for one statement, and statements as one.
const NO_CONTROL_OF_MYSQL: [[&str; 2]; 2] = [["SET", "STATEMENT"], ["BEGIN", "NOT"]];
/// Begins, ends and settings of transactions and sessions.
const CONTROL: [&str; 18] = [
    "ABORT",
    "BEGIN",
    "CLOSE",
    "COMMIT",
    "DEALLOCATE",
    "DISCARD",
    "END",
    "FETCH",
    "LISTEN",
    "PREPARE",
    "RELEASE",
    "RESET",
    "ROLLBACK",
    "SAVEPOINT",
    "SET",
    "START",
    "UNLISTEN",
    "USE",
];

/// What statements that only ask begin with.
const ASKING: [&str; 6] = ["SELECT", "WITH", "VALUES", "TABLE", "SHOW", "EXPLAIN"];

/// True when `text` begins as statements do that answer with rows and leave the transaction they run in alone.
/// A procedure, for one, may end it and begin one that writes.
#[must_use]
pub fn only_asks(text: &str, language: Language) -> bool {
    if language == Language::Mysql && names_a_file(text) {
        return false;
    }
    let word = first_word(text, language);
    without_comments(text, language).starts_with('(')
        || ASKING.iter().any(|it| it.eq_ignore_ascii_case(word))
}

/// True when `text` begins, ends or sets transactions and sessions.
#[must_use]
pub fn is_control(text: &str, language: Language) -> bool {
    let is = |word: &str, it: &str| it.eq_ignore_ascii_case(word);
    if language != Language::Mysql {
        let word = first_word(text, language);
        return CONTROL.iter().any(|it| is(word, it));
    }
    let words = || words_that_are_run(text);
    let word = words().next().unwrap_or_default();
    let alone = |two: &[&str; 2]| words().zip(two).filter(|(word, it)| is(word, it)).count() == 2;
    CONTROL.iter().chain(&CONTROL_OF_MYSQL).any(|it| is(word, it))
        && !NO_CONTROL_OF_MYSQL.iter().any(alone)
}

/// The words of a statement of MariaDB and MySQL from its first on, those of a comment that is run
/// (`/*!40101 SET ... */`) among them.
fn words_that_are_run(text: &str) -> impl Iterator<Item = &str> {
    let text = without_comments(text, Language::Mysql);
    let run = ["/*!", "/*M!"].iter().find_map(|mark| text.strip_prefix(mark));
    let text = run.map_or(text, |run| run.trim_start_matches(|c: char| c.is_ascii_digit()));
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

/// The word that `text` begins with, behind comments.
#[must_use]
pub fn first_word(text: &str, language: Language) -> &str {
    let start = without_comments(text, language);
    let end = start.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(start.len());
    &start[..end]
}

/// True when `text` holds a word with which MariaDB and MySQL write rows into a file of the server, which no
/// transaction keeps them from. It counts in quotes and comments, too: what these are depends on settings, and
/// some comments are run.
fn names_a_file(text: &str) -> bool {
    let holds = |word: &[u8]| {
        text.as_bytes().windows(word.len()).any(|part| part.eq_ignore_ascii_case(word))
    };
    holds(b"OUTFILE") || holds(b"DUMPFILE")
}

/// `text` without the spaces and comments that it begins with. Those of PostgreSQL between `/*` and `*/` hold
/// others; those of MariaDB and MySQL that begin with `/*!` or `/*M!` are no comments, but are run. A carriage
/// return ends a comment behind `--` in PostgreSQL only: elsewhere that goes on to the end of the line.
fn without_comments(text: &str, language: Language) -> &str {
    let mut rest = text.trim_start();
    let is_run = |rest: &str| {
        language == Language::Mysql && (rest.starts_with("/*!") || rest.starts_with("/*M!"))
    };
    while let Some(length) = comment(rest, language).filter(|_| !is_run(rest)) {
        rest = rest[length..].trim_start();
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_asks_is_told_by_its_first_word() {
        for text in [
            "select 1",
            "WITH a AS (SELECT 1) SELECT * FROM a",
            " ((values (1)))",
            "-- select\n/* /* a */ call p() */ Table t",
            "show all",
            "explain select 1",
        ] {
            assert!(only_asks(text, Language::Standard), "{text}");
        }
        for text in [
            "call p(1)",
            "/* select */ CALL p(1)",
            "-- select 1",
            "/* select 1",
            "copy (select 1) to stdout",
            "do $$ begin end $$",
            "selectx 1",
            "insert into t values (1) returning a",
            "",
        ] {
            assert!(!only_asks(text, Language::Standard), "{text}");
        }
        let in_mysql = |text| only_asks(text, Language::Mysql);
        assert!(in_mysql("# one\n/* a /* b */ select 1"));
        assert!(!in_mysql("/*!50000 delete from t */") && !in_mysql("/*M! call p() */"));
        for text in [
            "select * from t INTO OUTFILE '/tmp/c.csv'",
            "select a into/**/dumpfile'/tmp/c' from t",
            "with a as (select 1) select * from a into outfile '/tmp/c'",
            "select 1 into /*!50000OutFile '/tmp/c' */",
            "select 1--1 into outfile '/tmp/c'",
        ] {
            assert!(!in_mysql(text), "{text}");
            assert!(only_asks(text, Language::Standard), "a name there: {text}");
        }
    }

    #[test]
    fn what_others_run_in_is_told_by_its_first_word() {
        for text in ["begin", "/* one */ COMMIT", "set a = 1"] {
            assert!(is_control(text, Language::Standard), "{text}");
        }
        assert!(!is_control("select 1", Language::Standard));
        assert!(!is_control("lock table t", Language::Standard), "a rollback unlocks it");
        for text in [
            "lock tables t write",
            "UNLOCK TABLES",
            "xa start 'a'",
            "/*!40101 SET NAMES utf8 */",
            "/*M! begin */",
            "begin",
            "set statement_timeout = 1",
        ] {
            assert!(is_control(text, Language::Mysql), "{text}");
        }
        for text in [
            "set statement max_statement_time=1 for select 1",
            "begin not atomic select 1; end",
            "/*!50000 select 1 */",
            "",
        ] {
            assert!(!is_control(text, Language::Mysql), "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_brings_it_down(text in "[-/*!#a-z\\n é]{0,20}") {
            let _ = only_asks(&text, Language::Standard);
            let _ = only_asks(&text, Language::Mysql);
            let _ = is_control(&text, Language::Mysql);
        }
    }
}
