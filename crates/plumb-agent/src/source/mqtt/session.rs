//! What the client of version 5 is told that it remembers of its session: nothing.
//!
//! An agent only receives. What the broker sent and was not acknowledged it sends again, and nothing of
//! ours is under way; so a session that only the broker remembers is whole. The client takes one up
//! only with a store, and does not subscribe in it without.

use std::pin::Pin;

use mqtt5::{PersistedAckMode, PersistedSession, SessionStore, SessionStoreError, SessionStoreKey};

/// The version of the checkpoints that the client reads.
const FORMAT_VERSION: u16 = 1;

/// A store of sessions in which nothing was sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct NothingSent;

type Stored<'a, T> = Pin<Box<dyn Future<Output = Result<T, SessionStoreError>> + Send + 'a>>;

impl SessionStore for NothingSent {
    fn load<'a>(&'a self, key: &'a SessionStoreKey) -> Stored<'a, Option<PersistedSession>> {
        let session = PersistedSession {
            format_version: FORMAT_VERSION,
            client_id: key.client_id().to_owned(),
            clean_start: false,
            session_expiry_interval: Some(u32::MAX),
            outgoing_inflight_upper_limit: None,
            ack_mode: PersistedAckMode::Manual,
            last_pkid: 0,
            last_puback: 0,
            replay: Vec::new(),
            incoming_qos2: Vec::new(),
        };
        Box::pin(async move { Ok(Some(session)) })
    }

    fn save<'a>(&'a self, _: &'a SessionStoreKey, _: &'a PersistedSession) -> Stored<'a, ()> {
        Box::pin(async { Ok(()) })
    }

    fn clear<'a>(&'a self, _: &'a SessionStoreKey) -> Stored<'a, ()> {
        Box::pin(async { Ok(()) })
    }
}
