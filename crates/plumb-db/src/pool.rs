//! A pool of connections: whoever comes first is served first.

use std::cell::RefCell;

use tokio::sync::{Semaphore, SemaphorePermit};

/// Connections that callers share, one at a time each.
#[derive(Debug)]
pub(crate) struct Pool<C> {
    free: Semaphore,
    idle: RefCell<Vec<C>>,
}

/// The right to one of the connections; given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Turn<'a, C> {
    pool: &'a Pool<C>,
    /// The connection; `None` once it was found broken.
    pub(crate) connection: Option<C>,
    _permit: SemaphorePermit<'a>,
}

impl<C> Pool<C> {
    /// A pool of `connections`.
    pub(crate) fn of(connections: Vec<C>) -> Self {
        Self { free: Semaphore::new(connections.len()), idle: RefCell::new(connections) }
    }

    /// Waits for a connection; `None` once the pool was closed. The one used last is taken, as
    /// pools do. A connection that broke and was not replaced is an empty turn.
    pub(crate) async fn turn(&self) -> Option<Turn<'_, C>> {
        let permit = self.free.acquire().await.ok()?;
        let connection = self.idle.borrow_mut().pop();
        Some(Turn { pool: self, connection, _permit: permit })
    }
}

impl<C> Drop for Turn<'_, C> {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take() {
            self.pool.idle.borrow_mut().push(connection);
        }
    }
}
