//! What is asked: a trivial statement, one of the size of everyday dialogs, and the user's own.

#[cfg(feature = "odbc")]
pub(crate) mod odbc;

use plumb_db_login::Product;
use plumb_sql_log::beginning;
use plumb_sql_log::fingerprint::Language;
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
        beginning::only_asks(&self.text, language_of(self.product))
    }

    /// True when it begins, ends or sets what others run in.
    pub(crate) fn is_control(&self) -> bool {
        beginning::is_control(&self.text, language_of(self.product))
    }

    /// True when it may end the transaction that is put around it, within the same message. Others than SQL
    /// Server take no second statement there.
    pub(crate) fn may_end_transaction(&self) -> bool {
        self.product == Product::Mssql && plumb_sql::tds::query::may_end_transaction(&self.text)
    }

    /// The word that it begins with, behind comments.
    pub(crate) fn first_word(&self) -> &str {
        beginning::first_word(&self.text, language_of(self.product))
    }
}

/// Whose rules of quotes and comments statements of `product` follow.
pub(crate) fn language_of(product: Product) -> Language {
    match product {
        Product::Mysql => Language::Mysql,
        Product::Mssql => Language::TransactSql,
        _ => Language::Standard,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_semicolon_at_the_end_is_no_part_of_a_statement() {
        assert_eq!(Statement::own(" SELECT 2 ;\n", Product::Postgres).text, "SELECT 2");
    }

    #[test]
    fn parameters_are_written_into_the_statement() {
        for (product, mark) in [(Product::Postgres, '$'), (Product::Mysql, '?')] {
            let sized = Statement::sized(product);
            assert!(sized.text.contains(mark) && !sized.text.contains(&*PARAMETER));
            assert!(!sized.inline.contains(mark) && sized.inline.contains(&*PARAMETER));
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
