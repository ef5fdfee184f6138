//! The way of answers from work processes back to the front.
//!
//! Waking a task of another thread is a write to that thread's event descriptor, each time. So work
//! processes give their answers to one task of the front: it is woken for the first that lies there,
//! and passes on all of them within its own thread.

use std::sync::{Mutex, PoisonError};

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;

use crate::answer::Answer;

/// An answer, and who waits for it.
type Done = (oneshot::Sender<Answer>, Answer);

/// Answers that passed on at once, at most.
const AT_ONCE: usize = 64;

/// Answers on their way. There are never more than requests under way, which the front limits.
#[derive(Debug)]
pub(crate) struct Answers {
    sender: UnboundedSender<Done>,
    coming: Mutex<Option<UnboundedReceiver<Done>>>,
}

impl Answers {
    pub(crate) fn new() -> Self {
        let (sender, coming) = unbounded_channel();
        Self { sender, coming: Mutex::new(Some(coming)) }
    }

    /// Sends `answer` on its way to whoever waits for it.
    pub(crate) fn give(&self, reply: oneshot::Sender<Answer>, answer: Answer) {
        // a front that has ended wants to know nothing
        let _ = self.sender.send((reply, answer));
    }

    /// Passes answers on, on the runtime of whoever waits for them; it ends with that.
    pub(crate) async fn pass_on(&self) {
        let coming = self.coming.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(mut coming) = coming else { return };
        let mut done = Vec::with_capacity(AT_ONCE);
        while coming.recv_many(&mut done, AT_ONCE).await > 0 {
            for (reply, answer) in done.drain(..) {
                // nor does a client that has gone
                let _ = reply.send(answer);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::TEXT;

    #[test]
    fn answers_reach_whoever_waits_for_them() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let answers = Answers::new();
        let waiting: Vec<_> = (0..200)
            .map(|number: u32| {
                let (reply, waits) = oneshot::channel();
                answers.give(reply, Answer::new(TEXT, number.to_string()));
                waits
            })
            .collect();
        let (gone, client) = oneshot::channel();
        drop(client);
        answers.give(gone, Answer::new(TEXT, "for nobody"));
        runtime.block_on(async {
            let all = async {
                for (number, waits) in waiting.into_iter().enumerate() {
                    let body = waits.await.unwrap().body;
                    assert_eq!(body, number.to_string());
                }
            };
            tokio::select! {
                () = answers.pass_on() => panic!("it passes answers on as long as there are any"),
                () = all => {}
            }
        });
    }
}
