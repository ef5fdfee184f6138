//! Messages that are a whole transaction each: whoever lends its sessions to many clients keeps the
//! message together, and behind an error the server leaves out the rest of it.

use std::pin::pin;

use futures_util::StreamExt as _;
use tokio_postgres::{Client, SimpleQueryMessage};

use super::NoAnswer;
use crate::answer::Limits;
use crate::database::Access;

/// The column that a reading of the server's clock has, so that it is told from rows of a statement.
const CLOCK_COLUMN: &str = "plumb_reads_the_clock";

/// Ends a transaction that a failed message left open.
pub(crate) const ROLL_BACK: &str = "ROLLBACK";

/// What a transaction of `access` begins with.
pub(crate) fn begin(access: Access) -> &'static str {
    match access {
        Access::ReadOnly => "BEGIN READ ONLY",
        Access::RolledBack => "BEGIN READ WRITE",
    }
}

/// One call: `statement`, which is one statement, in a transaction that is rolled back.
pub(crate) fn call(access: Access, statement: &str) -> String {
    // a line of its own: the statement may end with a comment
    format!("{};\n{statement}\n;{ROLL_BACK}", begin(access))
}

/// The same behind two readings of the server's clock, and before a third.
pub(crate) fn between_readings(access: Access, statement: &str) -> String {
    let clock =
        format!("SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::int8 AS {CLOCK_COLUMN}");
    format!("{clock};{clock};{};{clock}", call(access, statement))
}

/// One call behind the server's own word whether its transaction is read-only.
pub(crate) fn tried(statement: &str) -> String {
    let begin = begin(Access::ReadOnly);
    format!("{begin};SHOW transaction_read_only;\n{statement}\n;{ROLL_BACK}")
}

/// What a transaction in one message brought.
#[derive(Debug, Default)]
pub(crate) struct Brought {
    /// Rows of the statement, and their bytes.
    pub(crate) rows: u64,
    pub(crate) bytes: u64,
    /// Readings of the server's clock, microseconds since 1970.
    pub(crate) clock: Vec<i64>,
    /// Answers that have columns, readings of the clock left out.
    pub(crate) tables: u32,
    /// The first value of the first of them.
    pub(crate) first: Option<String>,
}

/// Sends the message `text` over `client`, and reads all that comes.
///
/// # Errors
/// [`NoAnswer`].
pub(crate) async fn ask(client: &Client, text: &str, limits: Limits) -> Result<Brought, NoAnswer> {
    let mut messages = pin!(client.simple_query_raw(text).await?);
    let mut brought = Brought::default();
    let mut is_clock = false;
    while let Some(message) = messages.next().await {
        let message = message?;
        match message {
            SimpleQueryMessage::RowDescription(columns) => {
                is_clock = columns.len() == 1 && columns[0].name() == CLOCK_COLUMN;
                brought.tables += u32::from(!is_clock);
            }
            SimpleQueryMessage::Row(row) if is_clock => {
                brought.clock.extend(row.get(0).and_then(|it| it.parse::<i64>().ok()));
            }
            SimpleQueryMessage::Row(row) => {
                brought.rows += 1;
                let values = (0..row.len()).filter_map(|column| row.get(column));
                brought.bytes += values.map(|value| value.len() as u64).sum::<u64>();
                if brought.rows == 1 {
                    brought.first = row.get(0).map(str::to_owned);
                }
                limits.check(brought.rows, brought.bytes)?;
            }
            _ => {} // the end of one answer
        }
    }
    Ok(brought)
}

/// One call whose failure leaves no transaction open: whoever lends sessions for single statements ends
/// those that would, before the server's reason comes. The server warns of the end of a transaction that
/// nobody began, so this is not for every call.
pub(crate) fn alone(access: Access, statement: &str) -> String {
    let mode = match access {
        Access::ReadOnly => "READ ONLY",
        Access::RolledBack => "READ WRITE",
    };
    format!("SET TRANSACTION {mode};\n{statement}\n;{ROLL_BACK}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_at_the_end_of_a_statement_ends_before_the_transaction() {
        let text = call(Access::ReadOnly, "SELECT 1 -- one");
        assert_eq!(text, "BEGIN READ ONLY;\nSELECT 1 -- one\n;ROLLBACK");
    }
}
