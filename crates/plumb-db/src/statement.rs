//! What is asked: a trivial statement, one of the size of everyday dialogs, and the user's own.

use std::str::FromStr;
use std::sync::LazyLock;

use tokio_postgres::types::{ToSql, Type};

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

/// A parameter with its type.
pub(crate) type Parameter = (&'static (dyn ToSql + Sync), Type);

/// A statement, as it is sent.
#[derive(Clone, Debug)]
pub(crate) struct Statement {
    pub(crate) which: Which,
    pub(crate) text: String,
    pub(crate) parameters: Vec<Parameter>,
}

impl Statement {
    /// `SELECT 1`.
    pub(crate) fn trivial() -> Self {
        Self { which: Which::Trivial, text: "SELECT 1".into(), parameters: Vec::new() }
    }

    /// The statement of everyday size. It reads no table, so it runs on every server.
    pub(crate) fn sized() -> Self {
        Self {
            which: Which::Sized,
            text: "SELECT n, repeat(md5($1), 3) FROM generate_series(1, $2) AS n".into(),
            parameters: vec![(&*PARAMETER, Type::TEXT), (&ROWS, Type::INT4)],
        }
    }

    /// The user's own.
    pub(crate) fn own(text: &str) -> Self {
        let text = text.trim().trim_end_matches(';').trim_end().to_owned();
        Self { which: Which::Own, text, parameters: Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_semicolon_at_the_end_is_no_part_of_a_statement() {
        assert_eq!(Statement::own(" SELECT 2 ;\n").text, "SELECT 2");
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
