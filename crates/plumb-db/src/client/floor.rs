//! What a driver costs, against a server in this process that answers at once with bytes that are ready.

use std::sync::Arc;

use plumb_engine::clock::MonotonicClock;
use plumb_measure::{Clock as _, Distribution, Floor, Histogram, Span, Tick};

use crate::DbError;
use crate::answer::Limits;
use crate::database::{Connection, Database};
use crate::drive::{block_on, runtime};
use crate::statement::Statement;

/// Calls that the floor is taken from, unless somebody asks for others.
pub(crate) const CALLS: u64 = 10_000;
/// For each of them.
pub(crate) const PATIENCE: Span = Span::from_ms(10_000);
/// The most that their answers hold.
pub(crate) const LIMITS: Limits = Limits { rows: 1, bytes: 1 << 10 };

/// What the driver of `D` costs in so many calls; `None` when its null server was not understood.
///
/// # Errors
/// When sockets cannot be made.
pub(crate) fn floor<D: Database>(calls: u64) -> Result<Option<Floor>, DbError> {
    let passes = Arc::default();
    // its server is in the same thread, so that it never waits
    let times = block_on(&runtime(&passes, Tick::Free)?, D::null_times(calls))?;
    let service_ns = times.as_ref().and_then(Distribution::of);
    Ok(service_ns.map(|service_ns| Floor { method: D::null_method(), service_ns }))
}

/// Calls before `calls` that are not recorded.
pub(crate) fn warm_up(calls: u64) -> u64 {
    calls / 20
}

/// The times of so many calls of `statement` over `connection`; `None` when one has no answer.
pub(crate) async fn times(
    connection: &mut impl Connection,
    statement: &Statement,
    calls: u64,
) -> Option<Histogram> {
    let mut times = Histogram::new();
    let warm_up = warm_up(calls);
    for call in 0..calls.saturating_add(warm_up) {
        let began_ns = MonotonicClock.now_ns();
        let answer = connection.ask(statement).await.ok()?;
        if call >= warm_up {
            times.record(answer.last_ns.saturating_sub(began_ns));
        }
    }
    Some(times)
}

#[cfg(test)]
mod tests {
    use crate::database::Database;
    use crate::hana::Hana;
    use crate::mssql::Mssql;
    use crate::mysql::Mysql;
    use crate::postgres::Postgres;

    fn is_understood<D: Database>(name: &str) {
        let floor = super::floor::<D>(300).unwrap().unwrap();
        assert_eq!(floor.service_ns.count, 300);
        assert!(floor.method.contains(name), "{}", floor.method);
    }

    #[test]
    fn the_null_servers_are_understood() {
        is_understood::<Postgres>("tokio-postgres");
        is_understood::<Mysql>("MySQL");
        is_understood::<Mssql>("SQL Server");
        is_understood::<Hana>("SAP HANA");
    }
}
