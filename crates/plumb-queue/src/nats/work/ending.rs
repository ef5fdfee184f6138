//! How an attempt ended, written down in the streams.

use async_nats::jetstream::message::Acker;

use super::super::super::{Ending, Kept, QueueError, Settled};
use super::super::record::Record;
use super::super::streams::store;
use super::{Pulled, Work, gone};

impl Work {
    /// Writes down how an attempt ended; after an error it is to be done again.
    pub(in super::super) async fn settle(&self, settled: &Settled) -> Result<(), QueueError> {
        let id = settled.id.0;
        // the lock is not held while the server writes
        let pulled = self.inner.lock().await.running.get(&id).cloned();
        let Some(pulled) = pulled else { return Ok(()) };
        let kept = settled.kept.as_ref();
        let again = match &settled.ending {
            Ending::Done => self.done(&pulled, id, kept).await.map(|()| None)?,
            Ending::Dead { error } => self.dead(&pulled, id, error, kept).await.map(|()| None)?,
            Ending::Again { error, after } => {
                self.again(&pulled, id, error, after.ns() / 1_000_000).await?
            }
        };
        let mut inner = self.inner.lock().await;
        if let (Some(pulled), Some(again)) = (inner.running.remove(&id), again) {
            let Record { failures, at_ms: due_ms, for_ms: after_ms, .. } = again;
            let pulled = Pulled { failures, due_ms, after_ms, ..pulled };
            // it is written down: one that does not come back at once does with its lease
            let _ = self.put_by(&mut inner, id, pulled).await;
        }
        Ok(())
    }

    async fn done(&self, pulled: &Pulled, id: u64, kept: Option<&Kept>) -> Result<(), QueueError> {
        if let Some(Kept { trace, retention }) = kept
            && let Some(mut record) = self.record(pulled, id, self.clock.wall_ms()).await?
        {
            record.failures = pulled.failures; // none more
            record.trace = Some(trace.clone());
            record.for_ms = retention.ns() / 1_000_000;
            let subject = self.streams.subject_of("done", id);
            self.streams.publish(subject, record.encode(), None).await?;
        }
        self.end(pulled, id).await
    }

    async fn dead(
        &self,
        pulled: &Pulled,
        id: u64,
        error: &str,
        kept: Option<&Kept>,
    ) -> Result<(), QueueError> {
        let Some(mut record) = self.record(pulled, id, self.clock.wall_ms()).await? else {
            return Ok(());
        };
        record.error = Some(error.to_owned());
        record.trace = kept.map(|kept| kept.trace.clone());
        let subject = self.streams.subject_of("dead", id);
        self.streams.publish(subject, record.encode(), None).await?;
        self.end(pulled, id).await
    }

    /// Writes down when it is due; `None` when it is not there any more.
    async fn again(
        &self,
        pulled: &Pulled,
        id: u64,
        error: &str,
        after_ms: u64,
    ) -> Result<Option<Record>, QueueError> {
        let due_ms = self.clock.wall_ms() + after_ms;
        let Some(mut record) = self.record(pulled, id, due_ms).await? else { return Ok(None) };
        record.message.body = bytes::Bytes::new();
        record.for_ms = after_ms;
        record.error = Some(error.to_owned());
        let subject = self.streams.subject_of("retry", id);
        self.streams.publish(subject, record.encode(), None).await?;
        Ok(Some(record))
    }

    /// What is written down of a message that failed; `None` when it is not there any more.
    async fn record(
        &self,
        pulled: &Pulled,
        id: u64,
        at_ms: u64,
    ) -> Result<Option<Record>, QueueError> {
        let found = match self.streams.waiting.get_raw_message(pulled.sequence).await {
            Ok(found) => found,
            Err(error) if gone(&error) => return Ok(None),
            Err(error) => return Err(store(error)),
        };
        let record = Record::decode(&found.payload);
        let record = record.ok_or_else(|| store("a message is damaged"))?;
        let (failures, sequence) = (pulled.failures + 1, pulled.sequence);
        Ok(Some(Record { id: Some(id), failures, sequence, at_ms, ..record }))
    }

    async fn end(&self, pulled: &Pulled, id: u64) -> Result<(), QueueError> {
        self.acknowledge(&pulled.acker, pulled.sequence, id, pulled.key.clone()).await?;
        if pulled.failures > 0 {
            self.streams.purge("retry", id).await?;
        }
        Ok(())
    }

    /// Has the server forget a message that has ended. One that was killed, and has forgotten that
    /// it gave the message out, leaves an acknowledgement without an answer.
    /// Its idempotency `key` stays known.
    pub(super) async fn acknowledge(
        &self,
        acker: &Acker,
        sequence: u64,
        id: u64,
        key: Option<String>,
    ) -> Result<(), QueueError> {
        self.know_key(id, key).await?;
        match acker.double_ack().await {
            Ok(()) => Ok(()),
            Err(_) => self.streams.remove(sequence).await,
        }
    }

    /// Writes down that the message `id` had the idempotency key of this subject.
    pub(super) async fn know_key(&self, id: u64, key: Option<String>) -> Result<(), QueueError> {
        let Some(subject) = key else { return Ok(()) };
        self.streams.publish(subject, id.to_string().into(), None).await.map(drop)
    }
}
