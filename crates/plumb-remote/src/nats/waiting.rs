//! A remote that waits for controllers in a NATS server.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::Duration;

use async_nats::{Client, Subscriber};
use futures_util::StreamExt as _;

use super::presence::Presence;
use super::{Nats, NatsError, NatsReader, NatsWriter, SUBJECT, taking};
use crate::message::{Hello, written};

/// The longest name of a conversation, bytes.
const SESSION_MAX: usize = 64;

impl Nats {
    /// Waits for controllers as the remote `hello`.
    ///
    /// # Errors
    /// [`NatsError::Refused`].
    pub fn wait(self, hello: Hello) -> Result<Waiting, NatsError> {
        let who = self.subscribe(format!("{SUBJECT}.who"))?;
        let take = self.subscribe(taking(&hello.name))?;
        let (sender, sessions) = mpsc::channel();
        let sessions = Sessions { busy: Arc::default(), accepted: sessions, at_work: false };
        let busy = Arc::clone(&sessions.busy);
        self.threads.spawn(answer(self.client.clone(), hello, (who, take), busy, sender));
        Ok(Waiting { nats: self, sessions })
    }
}

/// A remote that waits for controllers.
#[derive(Debug)]
pub struct Waiting {
    nats: Nats,
    sessions: Sessions,
}

impl Waiting {
    /// The next controller that takes this remote, within `patience`: what it says, and what is said
    /// to it. The one before is over.
    ///
    /// # Errors
    /// [`NatsError::Refused`].
    pub fn next(
        &mut self,
        patience: Duration,
    ) -> Result<Option<(NatsReader, NatsWriter)>, NatsError> {
        match self.sessions.next(patience) {
            Ok(session) => {
                self.nats.streams(&format!("{session}.to"), &format!("{session}.back")).map(Some)
            }
            Err(mpsc::RecvTimeoutError::Timeout) => Ok(None),
            Err(mpsc::RecvTimeoutError::Disconnected) => Err(self.nats.refused("it has gone")),
        }
    }
}

/// The conversations of a remote, one after the other.
#[derive(Debug)]
struct Sessions {
    /// From when a controller was told that the remote comes until the remote has done with it.
    busy: Arc<AtomicBool>,
    /// Conversations to which the remote said that it comes.
    accepted: Receiver<String>,
    /// One of them has been given out.
    at_work: bool,
}

impl Sessions {
    /// The next, within `patience`; the one before is over.
    fn next(&mut self, patience: Duration) -> Result<String, mpsc::RecvTimeoutError> {
        // one that was accepted meanwhile keeps the remote busy
        if std::mem::take(&mut self.at_work) {
            self.busy.store(false, Ordering::SeqCst);
        }
        let session = self.accepted.recv_timeout(patience)?;
        self.at_work = true;
        Ok(session)
    }
}

/// Says who is there, and comes when it is free.
async fn answer(
    client: Client,
    hello: Hello,
    (mut who, mut take): (Subscriber, Subscriber),
    busy: Arc<AtomicBool>,
    sessions: Sender<String>,
) {
    loop {
        let (inbox, answer) = tokio::select! {
            Some(call) = who.next() => {
                let presence = Presence { hello: hello.clone(), busy: busy.load(Ordering::SeqCst) };
                (call.reply, written(&presence).unwrap_or_default())
            }
            Some(call) = take.next() => {
                let session = String::from_utf8_lossy(&call.payload).into_owned();
                let plain = (1..=SESSION_MAX).contains(&session.len())
                    && session.bytes().all(|byte| byte.is_ascii_alphanumeric());
                let answer = if !plain {
                    "that names no conversation"
                } else if busy.swap(true, Ordering::SeqCst) {
                    "it works for another controller"
                } else if sessions.send(session).is_err() {
                    break;
                } else {
                    ""
                };
                (call.reply, answer.to_owned())
            }
            else => break,
        };
        if let Some(inbox) = inbox {
            let _ = client.publish(inbox, answer.into()).await; // who asked may be gone
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_remote_that_was_taken_between_two_looks_stays_busy() {
        let (accept, accepted) = mpsc::channel();
        let mut sessions = Sessions { busy: Arc::default(), accepted, at_work: false };
        let busy = Arc::clone(&sessions.busy);
        let is_busy = || busy.load(Ordering::SeqCst);
        assert!(sessions.next(Duration::ZERO).is_err() && !is_busy());
        // as the answer to a controller that takes it
        busy.store(true, Ordering::SeqCst);
        accept.send("one".to_owned()).unwrap();
        assert_eq!(sessions.next(Duration::ZERO).as_deref(), Ok("one"));
        assert!(is_busy());
        assert!(sessions.next(Duration::ZERO).is_err() && !is_busy(), "that one is over");
    }
}
