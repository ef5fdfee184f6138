//! What is asked: a trivial statement, one of the size of everyday dialogs, and the user's own.

#[cfg(feature = "odbc")]
pub(crate) mod odbc;

use plumb_db_login::Product;
use std::str::FromStr;
use std::sync::LazyLock;

/// Text sent with the sized statement: with the rest of the message 300 to 500 bytes go out.
const PARAMETER_BYTES: usize = 350;
static PARAMETER: LazyLock<String> = LazyLock::new(|| "x".repeat(PARAMETER_BYTES));
/// Rows of its answer: 1 to 1.5 kB come back.
static ROWS: i32 = 10;

/// Which statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Which {
    /// `SELECT 1`.
    Trivial,
    /// A prepared statement with parameters; some 400 bytes out, some 1.2 kB back.
    Sized,
    /// The user's own.
    Own,
}

impl Which {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Trivial => "trivial",
            Self::Sized => "sized",
            Self::Own => "own",
        }
    }

    /// In a sentence.
    pub(crate) fn named(self) -> String {
        format!("the {} statement", self.name())
    }
}

impl FromStr for Which {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        [Self::Trivial, Self::Sized, Self::Own]
            .into_iter()
            .find(|which| which.name() == text)
            .ok_or_else(|| "expected trivial, sized or own".into())
    }
}

/// Over what it is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Over {
    /// One connection that is kept, and one caller.
    Kept,
    /// A pool that several callers share.
    Pool,
    /// A new connection for every call, and one caller.
    Connect,
}

impl Over {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Kept => "kept",
            Self::Pool => "pool",
            Self::Connect => "connect",
        }
    }
}

impl FromStr for Over {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        [Self::Kept, Self::Pool, Self::Connect]
            .into_iter()
            .find(|over| over.name() == text)
            .ok_or_else(|| "expected kept, pool or connect".into())
    }
}

/// The value of a parameter.
#[derive(Clone, Debug)]
pub(crate) enum Parameter {
    Text(&'static String),
    Int(&'static i32),
    /// As it was logged.
    Given(Given),
}

/// A value as text, of whatever type the server takes it for; `None` when it is null.
#[derive(Clone, Debug)]
pub(crate) struct Given(pub(crate) Option<String>);

/// A statement, as it is sent.
#[derive(Clone, Debug)]
pub(crate) struct Statement {
    pub(crate) which: Which,
    /// Whose language it is in.
    pub(crate) product: Product,
    pub(crate) text: String,
    pub(crate) parameters: Vec<Parameter>,
    /// The same with its parameters written into it.
    pub(crate) inline: String,
}

impl Statement {
    /// `SELECT 1`.
    pub(crate) fn trivial(product: Product) -> Self {
        let text = match product {
            Product::Postgres | Product::Mysql | Product::Mssql => "SELECT 1",
            Product::Hana => "SELECT 1 FROM DUMMY",
            #[cfg(feature = "odbc")]
            Product::Odbc => return odbc::trivial(""),
        };
        Self::plain(Which::Trivial, text, product)
    }

    /// The statement of everyday size. It reads no table, so it runs on every server.
    pub(crate) fn sized(product: Product) -> Self {
        let (text, number) = (Parameter::Text(&PARAMETER), Parameter::Int(&ROWS));
        let sized = |write: fn(&str, &str) -> String, marks: [&str; 2], parameters| Self {
            which: Which::Sized,
            product,
            text: write(marks[0], marks[1]),
            parameters,
            inline: write(&format!("'{}'", *PARAMETER), &ROWS.to_string()),
        };
        match product {
            #[cfg(feature = "odbc")]
            Product::Odbc => odbc::sized(""),
            Product::Postgres => sized(
                |text, rows| {
                    format!("SELECT n, repeat(md5({text}), 3) FROM generate_series(1, {rows}) AS n")
                },
                ["$1", "$2"],
                vec![text, number],
            ),
            Product::Hana => sized(
                |text, rows| {
                    format!(
                        "SELECT GENERATED_PERIOD_START, LPAD('', 96, \
                         BINTOHEX(HASH_MD5(TO_BINARY({text})))) FROM SERIES_GENERATE_INTEGER(1, 0, \
                         {rows})"
                    )
                },
                ["?", "?"],
                vec![text, number],
            ),
            Product::Mssql => sized(
                |text, rows| {
                    format!(
                        "WITH s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < {rows}) SELECT \
                         n, REPLICATE(CONVERT(varchar(32), HASHBYTES('MD5', {text}), 2), 3) FROM s"
                    )
                },
                ["@P1", "@P2"],
                vec![number, text],
            ),
            Product::Mysql => sized(
                |text, rows| {
                    format!(
                        "WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < \
                         {rows}) SELECT n, REPEAT(MD5({text}), 3) FROM s"
                    )
                },
                ["?", "?"],
                vec![number, text],
            ),
        }
    }

    /// The user's own.
    pub(crate) fn own(text: &str, product: Product) -> Self {
        Self::plain(Which::Own, text.trim().trim_end_matches(';').trim_end(), product)
    }

    /// One that was logged, with the values of its parameters. Those of MariaDB and MySQL have none.
    pub(crate) fn logged(text: &str, values: Vec<Given>, product: Product) -> Self {
        let parameters = values.into_iter().map(Parameter::Given).collect();
        Self { parameters, ..Self::own(text, product) }
    }

    pub(crate) fn plain(which: Which, text: &str, product: Product) -> Self {
        Self { which, product, text: text.into(), parameters: Vec::new(), inline: text.into() }
    }

    /// True when it begins as statements do that answer with rows and leave the transaction they run
    /// in alone. A procedure, for one, may end it and begin one that writes.
    pub(crate) fn only_asks(&self) -> bool {
        if self.product == Product::Mssql {
            // nothing needs to stand between its statements, and no transaction only reads
            return plumb_sql::tds::query::only_asks(&self.text);
        }
        if self.product == Product::Mysql && names_a_file(&self.text) {
            return false;
        }
        let start = without_comments(&self.text, self.product);
        start.starts_with('(')
            || ASKING.iter().any(|word| word.eq_ignore_ascii_case(self.first_word()))
    }

    /// True when it begins, ends or sets what others run in.
    pub(crate) fn is_control(&self) -> bool {
        CONTROL.iter().any(|it| it.eq_ignore_ascii_case(self.first_word()))
    }

    /// True when it may end the transaction that is put around it, within the same message. Others than SQL
    /// Server take no second statement there.
    pub(crate) fn may_end_transaction(&self) -> bool {
        self.product == Product::Mssql && plumb_sql::tds::query::may_end_transaction(&self.text)
    }

    /// The word that it begins with, behind comments.
    pub(crate) fn first_word(&self) -> &str {
        let start = without_comments(&self.text, self.product);
        let end = start.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(start.len());
        &start[..end]
    }
}

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
/// others; those of MariaDB and MySQL that begin with `/*!` or `/*M!` are no comments, but are run.
fn without_comments(text: &str, product: Product) -> &str {
    let is_mysql = product == Product::Mysql;
    let mut rest = text.trim_start();
    loop {
        let line = rest.strip_prefix("--").or_else(|| rest.strip_prefix('#').filter(|_| is_mysql));
        let behind = if let Some(line) = line {
            line.split_once(['\n', '\r']).map_or("", |(_, behind)| behind)
        } else if is_mysql && (rest.starts_with("/*!") || rest.starts_with("/*M!")) {
            return rest;
        } else if let Some(comment) = rest.strip_prefix("/*").filter(|_| is_mysql) {
            comment.split_once("*/").map_or("", |(_, behind)| behind)
        } else if rest.starts_with("/*") {
            behind_comment(rest)
        } else {
            return rest;
        };
        rest = behind.trim_start();
    }
}

/// What stands behind the comment that `text` begins with; nothing when it has no end.
fn behind_comment(text: &str) -> &str {
    let (mut depth, mut at) = (0_u32, 0);
    while let Some(mark) = text.as_bytes().get(at..at + 2) {
        match mark {
            b"/*" => depth += 1,
            b"*/" => depth -= 1,
            _ => {
                at += 1;
                continue;
            }
        }
        at += 2;
        if depth == 0 {
            return &text[at..];
        }
    }
    ""
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_semicolon_at_the_end_is_no_part_of_a_statement() {
        assert_eq!(Statement::own(" SELECT 2 ;\n", Product::Postgres).text, "SELECT 2");
    }

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
            assert!(Statement::own(text, Product::Postgres).only_asks(), "{text}");
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
            assert!(!Statement::own(text, Product::Postgres).only_asks(), "{text}");
        }
        let in_mysql = |text| Statement::own(text, Product::Mysql).only_asks();
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
            assert!(Statement::own(text, Product::Postgres).only_asks(), "a name there: {text}");
        }
    }

    #[test]
    fn parameters_are_written_into_the_statement() {
        for (product, mark) in [(Product::Postgres, '$'), (Product::Mysql, '?')] {
            let sized = Statement::sized(product);
            assert!(sized.text.contains(mark) && !sized.text.contains(&*PARAMETER));
            assert!(!sized.inline.contains(mark) && sized.inline.contains(&*PARAMETER));
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_brings_it_down(text in "[-/*!#a-z\\n é]{0,20}") {
            let _ = Statement::own(&text, Product::Postgres).only_asks();
            let _ = Statement::own(&text, Product::Mysql).only_asks();
        }
    }

    #[test]
    fn names_are_read_as_they_are_written() {
        for which in [Which::Trivial, Which::Sized, Which::Own] {
            assert_eq!(which.name().parse(), Ok(which));
        }
        for over in [Over::Kept, Over::Pool, Over::Connect] {
            assert_eq!(over.name().parse(), Ok(over));
        }
        assert!("all".parse::<Which>().is_err() && "all".parse::<Over>().is_err());
    }
}
