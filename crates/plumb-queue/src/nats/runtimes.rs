//! Which runtimes share the queue: each writes down now and then that it is there.

use std::hash::{BuildHasher as _, RandomState};

use bytes::Bytes;
use serde_json::{Value, json};

use super::super::{Presence, QueueError, Runtime};
use super::streams::Streams;

/// What a runtime says of itself.
#[derive(Clone, Debug)]
pub(super) struct Sign {
    subject: String,
    number: u64,
    host: String,
    began_ms: u64,
}

impl Sign {
    /// The runtime is there from now on.
    pub(super) async fn enter(streams: &Streams, now_ms: u64) -> Result<Self, QueueError> {
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        // two that begin at the same time have records of their own
        let name = RandomState::new().hash_one(now_ms);
        let subject = streams.subject_of("runtimes", name);
        let mut sign = Self { subject, number: 0, host, began_ms: now_ms };
        // nobody else has the place in the stream that its first sign took
        sign.number = sign.put(streams, now_ms, 0).await?;
        sign.put(streams, now_ms, 0).await?;
        Ok(sign)
    }

    /// It is still there, with so many messages under way.
    pub(super) async fn put(
        &self,
        streams: &Streams,
        now_ms: u64,
        running: usize,
    ) -> Result<u64, QueueError> {
        let Self { number, host, began_ms, .. } = self;
        let sign = json!({
            "number": number, "host": host, "process": std::process::id(),
            "began_ms": began_ms, "seen_ms": now_ms, "running": running,
        });
        let payload = Bytes::from(sign.to_string());
        streams.publish(self.subject.clone(), payload, None).await.map(|(sequence, _)| sequence)
    }

    /// It ends.
    pub(super) async fn leave(&self, streams: &Streams) -> Result<(), QueueError> {
        Streams::forget(&streams.runtimes, &self.subject).await
    }

    /// All of them, as this one sees them.
    pub(super) async fn all(
        &self,
        streams: &Streams,
        now_ms: u64,
        lease_ms: u64,
    ) -> Result<Vec<Runtime>, QueueError> {
        let signs = Streams::payloads(&streams.runtimes, &streams.every("runtimes")).await?;
        let mut all: Vec<Runtime> =
            signs.iter().filter_map(|payload| self.runtime(payload, now_ms, lease_ms)).collect();
        all.sort_by_key(|runtime| runtime.number);
        Ok(all)
    }

    /// One of them; `None` for what is no sign, or the first of a runtime that has not gone on.
    fn runtime(&self, payload: &[u8], now_ms: u64, lease_ms: u64) -> Option<Runtime> {
        let sign: Value = serde_json::from_slice(payload).ok()?;
        let figure = |key: &str| sign.get(key)?.as_u64();
        let number = figure("number").filter(|number| *number > 0)?;
        let seen_ms = figure("seen_ms")?;
        let presence = match number {
            own if own == self.number => Presence::Own,
            _ if seen_ms.saturating_add(lease_ms) < now_ms => Presence::Lost,
            _ => Presence::Heard,
        };
        Some(Runtime {
            number,
            host: sign.get("host")?.as_str()?.to_owned(),
            process: figure("process")?,
            began_ms: figure("began_ms")?,
            seen_ms,
            running: figure("running")?,
            presence,
        })
    }
}
