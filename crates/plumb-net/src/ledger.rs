//! Who was served what: the table of a server, kept when its clients are gone.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use plumb_measure::show_ns;
use plumb_wire::extension::{ClientTotals, Totals, Traffic};

use crate::account;

/// Clients that are kept one by one; of earlier ones the sum is.
const ROWS_MAX: usize = 1_000;

/// The clients of a server, those that are gone one by one.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    kept: Arc<Mutex<Kept>>,
}

#[derive(Debug, Default)]
struct Kept {
    clients: u64,
    gone: u64,
    served: Traffic,
    rows: VecDeque<ClientTotals>,
}

impl Ledger {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        // counts stay counts, whatever became of the thread that added to them
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A client came.
    pub(crate) fn came(&self) {
        self.kept().clients += 1;
    }

    /// Something was served.
    pub(crate) fn served(&self, traffic: Traffic) {
        self.kept().served.add(traffic);
    }

    /// A client is gone; what it was served was [told](Self::served) before.
    pub(crate) fn gone(&self, row: ClientTotals) {
        let mut kept = self.kept();
        kept.gone += 1;
        if kept.rows.len() == ROWS_MAX {
            kept.rows.pop_front();
        }
        kept.rows.push_back(row);
    }

    /// Everything served so far, and what that cost.
    #[must_use]
    pub fn totals(&self) -> Totals {
        let kept = self.kept();
        Totals {
            cpu: account::of_process(),
            clients: kept.clients,
            gone: kept.gone,
            served: kept.served,
            rows: kept.rows.iter().cloned().collect(),
        }
    }
}

/// Clients that the table of a log shows.
const SHOWN_MAX: usize = 32;

/// The latest clients and the sum of all as lines of a table, for the log of a server; empty when
/// nothing was served.
///
/// With `t` the time that a client was connected, a rate is the payload of both directions in kB of
/// 1,024 bytes / t, and avg is t / messages.
pub(crate) fn table(totals: &Totals) -> Vec<String> {
    let served: Vec<&ClientTotals> =
        totals.rows.iter().filter(|row| row.served != Traffic::default()).collect();
    if served.is_empty() {
        return Vec::new();
    }
    let mut shown = served[served.len().saturating_sub(SHOWN_MAX)..].to_vec();
    shown.sort_by_key(|row| row.handle);
    let head = ["client", "from", "messages", "replies", "kB/s", "avg"].map(str::to_owned);
    let mut rows = vec![head];
    rows.extend(shown.iter().map(|row| of_client(row)));
    let sum = totals.served;
    let [messages, replies] = [sum.messages_in, sum.messages_out].map(|n| n.to_string());
    // rates of different times have no sum
    let clients = format!("{} clients", totals.clients);
    rows.push(["all".into(), clients, messages, replies, String::new(), String::new()]);
    aligned(&rows)
}

fn of_client(row: &ClientTotals) -> [String; 6] {
    let avg = row.connected_ns.checked_div(row.served.messages_in);
    [
        row.handle.to_string(),
        row.peer.clone(),
        row.served.messages_in.to_string(),
        row.served.messages_out.to_string(),
        decimal(kb_per_s(row)),
        avg.map_or_else(|| "-".into(), show_ns),
    ]
}

#[expect(clippy::cast_precision_loss, reason = "a rate is a float")]
fn kb_per_s(row: &ClientTotals) -> f64 {
    let bytes = row.served.bytes_in + row.served.bytes_out;
    bytes as f64 / 1024.0 * 1e9 / row.connected_ns.max(1) as f64
}

fn decimal(value: f64) -> String {
    format!("{value:.1}")
}

/// Lines in which the first two columns stand on the left, the others on the right.
fn aligned(rows: &[[String; 6]]) -> Vec<String> {
    let width = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or(0);
    let widths: [usize; 6] = std::array::from_fn(width);
    let line = |row: &[String; 6]| {
        let cells = row.iter().zip(widths).enumerate().map(|(column, (cell, width))| {
            if column < 2 { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
        });
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_shows_each_client_and_the_sum() {
        let served = Traffic {
            messages_in: 1_000,
            bytes_in: 50_000_000,
            messages_out: 1_000,
            bytes_out: 50_000_000,
        };
        let of = |handle, peer: &str| ClientTotals {
            handle,
            served,
            connected_ns: 1_904_083_000,
            peer: peer.into(),
        };
        let mut sum = served;
        sum.add(served);
        let totals = Totals {
            clients: 2,
            gone: 2,
            served: sum,
            rows: vec![of(2, "unix"), of(1, "10.1.2.3:40000")],
            ..Totals::default()
        };
        assert_eq!(
            table(&totals),
            [
                "client  from            messages  replies     kB/s      avg",
                "1       10.1.2.3:40000      1000     1000  51287.8  1.90 ms",
                "2       unix                1000     1000  51287.8  1.90 ms",
                "all     2 clients           2000     2000",
            ]
        );
        assert!(table(&Totals::default()).is_empty());
    }

    fn row(handle: u64) -> ClientTotals {
        let served = Traffic { messages_in: 1, bytes_in: 10, messages_out: 2, bytes_out: 30 };
        ClientTotals { handle, served, ..ClientTotals::default() }
    }

    #[test]
    fn the_sum_is_of_all_and_the_rows_are_the_latest() {
        let ledger = Ledger::default();
        for handle in 1..=1_500 {
            ledger.came();
            ledger.served(row(handle).served);
            ledger.gone(row(handle));
        }
        ledger.came();
        let totals = ledger.totals();
        assert_eq!((totals.clients, totals.gone, totals.rows.len()), (1_501, 1_500, ROWS_MAX));
        assert_eq!(totals.served.messages_out, 2 * 1_500);
        assert_eq!(totals.rows.last().map(|row| row.handle), Some(1_500));
        assert_eq!(totals.rows.first().map(|row| row.handle), Some(501));
    }
}
