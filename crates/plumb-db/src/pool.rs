//! A pool of connections: whoever comes first is served first.

use std::cell::RefCell;

use tokio::sync::{Semaphore, SemaphorePermit};

use crate::exchange::Exchange;

/// Connections that callers share, one at a time each.
#[derive(Debug)]
pub(crate) struct Pool {
    free: Semaphore,
    idle: RefCell<Vec<Exchange>>,
}

/// The right to one of the connections; given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Turn<'a> {
    pool: &'a Pool,
    /// The connection; `None` once it was found broken.
    pub(crate) exchange: Option<Exchange>,
    _permit: SemaphorePermit<'a>,
}

impl Pool {
    /// A pool of `connections`.
    pub(crate) fn of(connections: Vec<Exchange>) -> Self {
        Self { free: Semaphore::new(connections.len()), idle: RefCell::new(connections) }
    }

    /// Waits for a connection; `None` once the pool was closed. The one used last is taken, as
    /// pools do. A connection that broke and was not replaced is an empty turn.
    pub(crate) async fn turn(&self) -> Option<Turn<'_>> {
        let permit = self.free.acquire().await.ok()?;
        let exchange = self.idle.borrow_mut().pop();
        Some(Turn { pool: self, exchange, _permit: permit })
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        if let Some(exchange) = self.exchange.take() {
            self.pool.idle.borrow_mut().push(exchange);
        }
    }
}
