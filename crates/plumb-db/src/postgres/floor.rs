//! What this driver costs: a server in this process that answers at once with bytes that are ready.

use std::sync::Arc;

use futures_util::StreamExt as _;
use plumb_db_login::Tls;
use plumb_engine::clock::MonotonicClock;
use plumb_measure::{Clock as _, Histogram};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tokio_postgres::config::{Config, SslMode};
use tokio_postgres::{Client, Statement};

use super::conversation::Conversation;
use crate::DbError;
use crate::client::floor;
use crate::stream::Wire;
use plumb_serve::Arrivals;

/// Answers of the null server: frames as the protocol writes them.
const WELCOME: &[u8] = b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I";
const PREPARED: &[u8] = b"1\0\0\0\x04t\0\0\0\x06\0\0\
    T\0\0\0\x21\0\x01?column?\0\0\0\0\0\0\0\0\0\0\x17\0\x04\xff\xff\xff\xff\0\0\
    Z\0\0\0\x05I";
const ANSWER: &[u8] =
    b"2\0\0\0\x04D\0\0\0\x0e\0\x01\0\0\0\x04\0\0\0\x01C\0\0\0\x0dSELECT 1\0Z\0\0\0\x05I";
const READY: &[u8] = b"Z\0\0\0\x05I";

/// The times of so many calls of the null server; `None` when it was not understood.
///
/// # Errors
/// When sockets cannot be made.
pub(super) async fn measure(calls: u64) -> Result<Option<Histogram>, DbError> {
    let (near, far) = UnixStream::pair().map_err(DbError::system("make a pair of sockets"))?;
    tokio::spawn(serve(far));
    let mut config = Config::new();
    config.user("null").ssl_mode(SslMode::Disable);
    let wire = Wire::of_pair(near);
    let arrivals = wire.arrivals();
    let Ok((client, connection)) = config.connect_raw(wire, Tls::unused()?).await else {
        return Ok(None);
    };
    let mut conversation = Conversation::of(connection, Arc::clone(&arrivals));
    Ok(times(&client, &mut conversation, &arrivals, calls).await.ok())
}

async fn times(
    client: &Client,
    conversation: &mut Conversation,
    arrivals: &Arrivals,
    calls: u64,
) -> Result<Histogram, tokio_postgres::Error> {
    let statement = conversation.drive(client.prepare("SELECT 1")).await?;
    let mut times = Histogram::new();
    let warm_up = floor::warm_up(calls);
    for call in 0..calls.saturating_add(warm_up) {
        let began_ns = MonotonicClock.now_ns();
        conversation.drive(ask(client, &statement)).await?;
        if call >= warm_up {
            times.record(arrivals.last_ns().saturating_sub(began_ns));
        }
    }
    Ok(times)
}

/// The statement and its whole answer.
async fn ask(client: &Client, statement: &Statement) -> Result<(), tokio_postgres::Error> {
    let none: [&i32; 0] = [];
    let mut rows = std::pin::pin!(client.query_raw(statement, none).await?);
    while let Some(row) = rows.next().await {
        row?;
    }
    Ok(())
}

/// The null server: one answer for every message that wants one.
async fn serve(mut socket: UnixStream) {
    let mut bytes = Vec::with_capacity(4_096);
    let mut answer = WELCOME; // to the start-up message, which has no letter
    let mut started = false;
    while socket.read_buf(&mut bytes).await.is_ok_and(|read| read > 0) {
        loop {
            let head = usize::from(started);
            let Some(length) = bytes.get(head..head + 4).and_then(|it| it.try_into().ok()) else {
                break;
            };
            let frame =
                head + usize::try_from(u32::from_be_bytes(length)).unwrap_or(usize::MAX - 8);
            if bytes.len() < frame {
                break;
            }
            let wants_answer = match bytes.first() {
                _ if !started => true,
                Some(b'P') => {
                    answer = PREPARED;
                    false
                }
                Some(b'B') => {
                    answer = ANSWER;
                    false
                }
                Some(b'S') => true,
                Some(b'X') => return,
                _ => false,
            };
            bytes.drain(..frame);
            started = true;
            if wants_answer {
                if socket.write_all(answer).await.is_err() {
                    return;
                }
                answer = READY;
            }
        }
    }
}
