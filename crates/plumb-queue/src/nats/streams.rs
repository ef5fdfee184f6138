//! The streams of a queue, what the server says of them, and the steps that change them.

use std::sync::atomic::Ordering;
use std::time::Duration;

use async_nats::jetstream::consumer::{AckPolicy, PullConsumer, pull};
use async_nats::jetstream::context::Context;
use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::stream::{
    Config, DeleteMessageErrorKind, DiscardPolicy, Info, RawMessageErrorKind, RetentionPolicy,
    StorageType, Stream,
};
use bytes::Bytes;
use futures_util::TryStreamExt as _;

use super::super::{Message, QueueError, QueueId, QueueLimits};
use super::record::{Record, token};

/// The server counts keys and retries in memory, so it is not asked for more than this.
const WINDOW_MAX: Duration = Duration::from_secs(24 * 3_600);

/// A runtime that was not heard of for so long is forgotten.
const FORGOTTEN: Duration = Duration::from_secs(24 * 3_600);

/// The streams of one queue.
#[derive(Clone, Debug)]
pub(super) struct Streams {
    context: Context,
    name: String,
    lease: Duration,
    pub(super) waiting: Stream,
    /// When messages that failed are due, one record each.
    pub(super) retries: Stream,
    pub(super) dead: Stream,
    /// What is kept of those that are done.
    pub(super) done: Stream,
    /// Ids of messages that ended, by idempotency key: a server that starts again knows the keys of
    /// those that wait only.
    keys: Stream,
    /// Runtimes that share the queue.
    pub(super) runtimes: Stream,
}

/// A message as a stream has it.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub(super) sequence: u64,
    pub(super) record: Record,
}

impl Streams {
    /// Makes the streams that are not there, and leaves those that are as they are.
    pub(super) async fn open(
        context: Context,
        name: &str,
        limits: QueueLimits,
        lease: Duration,
    ) -> Result<Self, QueueError> {
        let config = |part: &str| Config {
            name: format!("{name}_{}", part.to_uppercase()),
            subjects: vec![format!("{name}.{part}.>")],
            storage: StorageType::File,
            discard: DiscardPolicy::New,
            ..Config::default()
        };
        let window = Duration::from_nanos(limits.idempotency.ns()).min(WINDOW_MAX);
        let waiting = Config {
            retention: RetentionPolicy::WorkQueue,
            max_messages: i64::try_from(limits.messages).unwrap_or(i64::MAX),
            max_bytes: i64::try_from(limits.bytes).unwrap_or(i64::MAX),
            duplicate_window: window,
            ..config("waiting")
        };
        let last = |part| Config {
            max_messages_per_subject: 1,
            discard: DiscardPolicy::Old, // the older record of the same message
            ..config(part)
        };
        let make = async |config: Config| context.get_or_create_stream(config).await.map_err(store);
        Ok(Self {
            waiting: make(waiting).await?,
            retries: make(last("retry")).await?,
            dead: make(last("dead")).await?,
            done: make(last("done")).await?,
            keys: make(Config { max_age: window, ..last("keys") }).await?,
            runtimes: make(Config { max_age: FORGOTTEN, ..last("runtimes") }).await?,
            name: name.to_owned(),
            lease,
            context,
        })
    }

    /// The id of the queue: the nanosecond in which the stream of what waits was made, which counts
    /// anew when it is made anew.
    pub(super) fn id(&self) -> QueueId {
        let made_ns = self.waiting.cached_info().created.unix_timestamp_nanos();
        QueueId(i64::try_from(made_ns).unwrap_or(0))
    }

    /// As somebody does who has the queue made anew.
    #[cfg(test)]
    pub(super) async fn delete_waiting(&self) -> Result<(), QueueError> {
        let name = self.waiting.cached_info().config.name.clone();
        self.context.delete_stream(name).await.map(drop).map_err(store)
    }

    /// The subject of what waits for `transaction`; those of one order key have one of their own.
    pub(super) fn subject(&self, transaction: &str, order_key: Option<&str>) -> String {
        let key = order_key.map_or_else(|| "-".to_owned(), |key| format!("k{}", token(key)));
        format!("{}.waiting.{}.{key}", self.name, token(transaction))
    }

    /// The subject of what is known of one message, `part` is retry, dead or done, or of a runtime.
    pub(super) fn subject_of(&self, part: &str, id: impl std::fmt::Display) -> String {
        format!("{}.{part}.{id}", self.name)
    }

    /// The subject of a message's idempotency key, where it has one.
    pub(super) fn subject_of_key(&self, message: &Message) -> Option<String> {
        let key = message.idempotency_key.as_ref()?;
        Some(format!("{}.keys.{}.{}", self.name, token(&message.transaction), token(key)))
    }

    /// The id of the message that ended and had the idempotency key of `subject`.
    pub(super) async fn ended(&self, subject: &str) -> Result<Option<u64>, QueueError> {
        let found = Self::next(&self.keys, subject, 1).await?;
        let id = |(_, id): (u64, Bytes)| std::str::from_utf8(&id).ok()?.parse().ok();
        Ok(found.and_then(id))
    }

    /// Puts `payload` into the stream of `subject`, and waits until the server says that it has it:
    /// its sequence, and whether `message_id` had come before.
    pub(super) async fn publish(
        &self,
        subject: String,
        payload: Bytes,
        message_id: Option<&str>,
    ) -> Result<(u64, bool), QueueError> {
        let mut message = PublishMessage::build().payload(payload);
        if let Some(id) = message_id {
            message = message.message_id(id);
        }
        let sent = self.context.send_publish(subject, message).await.map_err(store)?;
        let taken = sent.await.map_err(|error| {
            use std::error::Error as _;
            // the server's own words are behind "publish failed"
            let cause = error.source().map_or_else(|| error.to_string(), ToString::to_string);
            QueueError::Store(cause)
        })?;
        Ok((taken.sequence, taken.duplicate))
    }

    /// Who gives out the messages of `transaction`; all runtimes have one in common.
    pub(super) async fn consumer(&self, transaction: &str) -> Result<PullConsumer, QueueError> {
        let name = token(transaction);
        let config = pull::Config {
            durable_name: Some(name.clone()),
            filter_subject: format!("{}.waiting.{name}.>", self.name),
            ack_policy: AckPolicy::Explicit,
            ack_wait: self.lease,
            max_ack_pending: -1,
            ..pull::Config::default()
        };
        // one that is there gets the lease of this runtime
        self.waiting.create_consumer(config).await.map_err(store)
    }

    /// Names of the consumers there are, those of other runtimes among them.
    pub(super) async fn consumers(&self) -> Result<Vec<String>, QueueError> {
        self.waiting.consumer_names().try_collect().await.map_err(store)
    }

    /// All records of `stream` whose subject is `subject`, up to `most`.
    pub(super) async fn all(
        stream: &Stream,
        subject: &str,
        most: usize,
    ) -> Result<Vec<Found>, QueueError> {
        Self::all_from(stream, subject, 1, most).await
    }

    /// The same, from a sequence on.
    pub(super) async fn all_from(
        stream: &Stream,
        subject: &str,
        mut from: u64,
        most: usize,
    ) -> Result<Vec<Found>, QueueError> {
        let mut found = Vec::new();
        while found.len() < most {
            let Some((sequence, payload)) = Self::next(stream, subject, from).await? else { break };
            from = sequence + 1;
            found.extend(Record::decode(&payload).map(|record| Found { sequence, record }));
        }
        Ok(found)
    }

    /// What all records of `stream` hold whose subject is `subject`.
    pub(super) async fn payloads(stream: &Stream, subject: &str) -> Result<Vec<Bytes>, QueueError> {
        let (mut payloads, mut from) = (Vec::new(), 1);
        while let Some((sequence, payload)) = Self::next(stream, subject, from).await? {
            from = sequence + 1;
            payloads.push(payload);
        }
        Ok(payloads)
    }

    /// The next record from a sequence on, and its own.
    async fn next(
        stream: &Stream,
        subject: &str,
        from: u64,
    ) -> Result<Option<(u64, Bytes)>, QueueError> {
        match stream.get_first_raw_message_by_subject(subject, from).await {
            Ok(message) => Ok(Some((message.sequence, message.payload))),
            Err(error) if error.kind() == RawMessageErrorKind::NoMessageFound => Ok(None),
            Err(error) => Err(store(error)),
        }
    }

    /// How often the connection to the server was made.
    pub(super) fn connects(&self) -> u64 {
        self.context.client().statistics().connects.load(Ordering::Relaxed)
    }

    /// The last sequence of what may have been given out before, and be known to have failed or
    /// died: 0 where nothing is known of any message.
    pub(super) async fn last_known(&self) -> Result<u64, QueueError> {
        let last = self.waiting.get_info().await.map_err(store)?.state.last_sequence;
        let retries = self.retries.get_info().await.map_err(store)?.state.messages;
        let dead = self.dead.get_info().await.map_err(store)?.state.messages;
        Ok(if retries + dead > 0 { last } else { 0 })
    }

    /// Takes a waiting message out, whoever has it.
    pub(super) async fn remove(&self, sequence: u64) -> Result<(), QueueError> {
        match self.waiting.delete_message(sequence).await {
            Err(error) if matches!(error.kind(), DeleteMessageErrorKind::JetStream(_)) => {
                match self.waiting.get_raw_message(sequence).await {
                    Err(missing) if missing.kind() == RawMessageErrorKind::NoMessageFound => Ok(()),
                    _ => Err(store(error)),
                }
            }
            removed => removed.map(drop).map_err(store),
        }
    }

    /// The first record of `stream` whose subject is `subject`.
    pub(super) async fn first(stream: &Stream, subject: &str) -> Result<Option<Found>, QueueError> {
        Ok(Self::all(stream, subject, 1).await?.pop())
    }

    /// Forgets what is known of the message beside its own record.
    pub(super) async fn purge(&self, part: &str, id: u64) -> Result<(), QueueError> {
        let stream = match part {
            "retry" => &self.retries,
            "dead" => &self.dead,
            _ => &self.done,
        };
        Self::forget(stream, &self.subject_of(part, id)).await
    }

    /// Forgets all records of `subject`.
    pub(super) async fn forget(stream: &Stream, subject: &str) -> Result<(), QueueError> {
        stream.purge().filter(subject).await.map(drop).map_err(store)
    }

    /// Everything below `part`.
    pub(super) fn every(&self, part: &str) -> String {
        format!("{}.{part}.>", self.name)
    }

    /// What is in force, as the server says: one line.
    pub(super) async fn in_force(&self) -> Result<String, QueueError> {
        Ok(said(&self.waiting.get_info().await.map_err(store)?))
    }
}

fn said(info: &Info) -> String {
    let Config { storage, num_replicas, max_messages, max_bytes, max_age, discard, .. } =
        &info.config;
    let storage = match storage {
        StorageType::File => "in files",
        StorageType::Memory => "IN MEMORY: lost when the server ends",
    };
    let discard = match discard {
        DiscardPolicy::New => "refuses new messages when it is full",
        DiscardPolicy::Old => "THROWS THE OLDEST MESSAGES AWAY when it is full",
    };
    let age = if max_age.is_zero() {
        "messages of any age are kept".to_owned()
    } else {
        format!("MESSAGES OLDER THAN {} s ARE THROWN AWAY", max_age.as_secs())
    };
    format!(
        "stream {} is stored {storage}, {num_replicas} time(s), holds at most {max_messages} \
         messages and {max_bytes} bytes, {discard}; {age}; repeated idempotency keys are known \
         for {} s; a client cannot see the server's sync_interval: unless it is \"always\" \
         (the default is 2 minutes), what was accepted can be lost when the server's host fails",
        info.config.name,
        info.config.duplicate_window.as_secs(),
    )
}

/// What went wrong, in the words of the client.
pub(super) fn store(error: impl std::fmt::Display) -> QueueError {
    QueueError::Store(error.to_string())
}
