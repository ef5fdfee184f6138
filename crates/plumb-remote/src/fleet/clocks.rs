//! The clocks of all remotes, asked side by side.

use super::{ANSWER_NS, Fleet, LOOK_EVERY, RemoteError, State};
use crate::message::{Order, Report};
use crate::offset::{ClockExchange, ClockOffset};

/// Questions for each clock.
const QUESTIONS: usize = 8;
/// Remotes that are asked at a time: the answers of more would wait for each other here, and that
/// would count as their round trip.
const ASKED_AT_ONCE: usize = 64;

/// A question that has no answer yet.
#[derive(Debug)]
struct Question {
    remote: usize,
    sent_ns: u64,
    /// When it is given up, on the monotonic clock.
    until_ns: u64,
}

impl Fleet {
    /// Asks every clock several times.
    ///
    /// # Errors
    /// [`RemoteError::Silent`] when one does not answer.
    pub(super) fn ask_clocks(&mut self) -> Result<(), RemoteError> {
        self.remotes.iter_mut().for_each(|remote| remote.exchanges.clear());
        let mut waiting = 0..self.remotes.len();
        let mut asked: Vec<Question> = Vec::new();
        loop {
            while asked.len() < ASKED_AT_ONCE
                && let Some(at) = waiting.next()
            {
                asked.push(self.ask_clock(at));
            }
            if asked.is_empty() {
                break;
            }
            if let Some((at, Report::Clock { sent_ns, here_ns })) = self.hear(LOOK_EVERY)
                && let Some(place) =
                    asked.iter().position(|it| it.remote == at && it.sent_ns == sent_ns)
            {
                asked.swap_remove(place);
                let received_ns = self.post.wall_ns();
                let exchange = ClockExchange { sent_ns, there_ns: here_ns, received_ns };
                self.remotes[at].exchanges.push(exchange);
                if self.remotes[at].exchanges.len() < QUESTIONS {
                    asked.push(self.ask_clock(at));
                }
            }
            let now_ns = self.post.now_ns();
            asked.retain(|it| {
                now_ns < it.until_ns && matches!(self.remotes[it.remote].state, State::There)
            });
        }
        self.date_offsets(self.post.wall_ns())
    }

    /// Says of every offset what it is when the wall clock here shows `at_ns`.
    pub(super) fn date_offsets(&mut self, at_ns: u64) -> Result<(), RemoteError> {
        for remote in &mut self.remotes {
            let offset = ClockOffset::of(remote.exchanges.iter().copied(), at_ns);
            remote.offset = offset.ok_or_else(|| RemoteError::Silent {
                name: remote.hello.name.clone(),
                why: match &remote.state {
                    State::Lost(cause) => cause.clone(),
                    State::There | State::Done(_) => {
                        "it does not say what its clock shows".to_owned()
                    }
                },
            })?;
        }
        Ok(())
    }

    fn ask_clock(&self, remote: usize) -> Question {
        let sent_ns = self.post.wall_ns();
        self.remotes[remote].ask(Order::Clock { sent_ns });
        Question { remote, sent_ns, until_ns: self.post.now_ns() + ANSWER_NS }
    }
}
