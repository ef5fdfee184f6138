//! A session with `PostgreSQL`.

use std::collections::HashMap;
use std::error::Error;

use postgres::types::private::BytesMut;
use postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};
use postgres::{Client, Config, NoTls, Statement};

use super::{DatabaseError, Row, Value};

/// Statements that stay prepared; beyond them all are prepared anew.
const PREPARED_MAX: usize = 256;

pub(super) struct PostgresSession {
    client: Client,
    prepared: HashMap<String, Statement>,
}

impl std::fmt::Debug for PostgresSession {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PostgresSession").field("prepared", &self.prepared.len()).finish()
    }
}

impl PostgresSession {
    pub(super) fn open(config: &Config) -> Result<Self, DatabaseError> {
        // whatever the reason, nobody can log on now
        let client = config.connect(NoTls).map_err(|error| DatabaseError::Lost(whole(&error)))?;
        Ok(Self { client, prepared: HashMap::new() })
    }

    pub(super) fn rows(
        &mut self,
        statement: &str,
        values: &[Value],
    ) -> Result<Vec<Row>, DatabaseError> {
        let found = self.query(statement, values);
        let found = found.map_err(|error| fault(&error, self.client.is_closed()))?;
        found
            .iter()
            .map(|row| (0..row.len()).map(|column| row.try_get(column)).collect::<Result<Row, _>>())
            .collect::<Result<_, postgres::Error>>()
            .map_err(|error| DatabaseError::Refused(whole(&error)))
    }

    fn query(
        &mut self,
        statement: &str,
        values: &[Value],
    ) -> Result<Vec<postgres::Row>, postgres::Error> {
        if !self.prepared.contains_key(statement) {
            if self.prepared.len() >= PREPARED_MAX {
                self.prepared.clear();
            }
            self.prepared.insert(statement.into(), self.client.prepare(statement)?);
        }
        let values: Vec<&(dyn ToSql + Sync)> =
            values.iter().map(|value| value as &(dyn ToSql + Sync)).collect();
        self.client.query(&self.prepared[statement], &values)
    }

    pub(super) fn batch(&mut self, statements: &str) -> Result<(), DatabaseError> {
        let done = self.client.batch_execute(statements);
        done.map_err(|error| fault(&error, self.client.is_closed()))
    }
}

impl ToSql for Value {
    fn to_sql(
        &self,
        kind: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match self {
            Self::Null => Ok(IsNull::Yes),
            Self::Int(number) if *kind == Type::INT4 => i32::try_from(*number)?.to_sql(kind, out),
            Self::Int(number) => number.to_sql(kind, out),
            Self::Text(text) => text.to_sql(kind, out),
            Self::Bytes(bytes) => bytes.to_sql(kind, out),
        }
    }

    fn accepts(kind: &Type) -> bool {
        [Type::INT4, Type::INT8, Type::TEXT, Type::VARCHAR, Type::BYTEA].contains(kind)
    }

    to_sql_checked!();
}

impl<'a> FromSql<'a> for Value {
    fn from_sql(kind: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        Ok(match *kind {
            Type::INT4 => Self::Int(i32::from_sql(kind, raw)?.into()),
            Type::INT8 => Self::Int(i64::from_sql(kind, raw)?),
            Type::BYTEA => Self::Bytes(raw.to_vec()),
            _ => Self::Text(String::from_sql(kind, raw)?),
        })
    }

    fn from_sql_null(_: &Type) -> Result<Self, Box<dyn Error + Sync + Send>> {
        Ok(Self::Null)
    }

    fn accepts(kind: &Type) -> bool {
        <Self as ToSql>::accepts(kind)
    }
}

fn fault(error: &postgres::Error, closed: bool) -> DatabaseError {
    let class = error.code().map_or("", |code| &code.code()[..2]);
    // 08: connection, 53: no resources, 57: the operator stops it, 40: worth another try
    if closed || error.is_closed() || ["08", "53", "57", "40"].contains(&class) {
        DatabaseError::Lost(whole(error))
    } else {
        DatabaseError::Refused(whole(error))
    }
}

/// The error with everything behind it.
fn whole(error: &postgres::Error) -> String {
    let mut text = error.to_string();
    let mut behind = error.source();
    while let Some(next) = behind {
        text = format!("{text}: {next}");
        behind = next.source();
    }
    text
}
