//! Servers and whole measurements on remotes, followed until they end.

use plumb_engine::Stop;

use super::{FAREWELL_NS, Fleet, LOOK_EVERY, State};
use crate::RemoteError;
use crate::message::Report;

impl Fleet {
    /// Follows a server that each has started, until all have ended or `stop` is asked; `said` hears
    /// what they say.
    ///
    /// # Errors
    /// [`RemoteError::Refused`] when one could not be started, or is lost.
    pub fn follow(
        &mut self,
        stop: &Stop,
        mut said: impl FnMut(&str, &str),
    ) -> Result<(), RemoteError> {
        let mut stopped_ns = None;
        while self.remotes.iter().any(|remote| matches!(remote.state, State::There)) {
            if stop.asked() && stopped_ns.is_none() {
                stopped_ns = Some(self.post.now_ns());
                self.stop_all();
            }
            if stopped_ns.is_some_and(|since_ns| self.post.now_ns() > since_ns + FAREWELL_NS) {
                self.lose_all("it did not stop");
            }
            if let Some((at, Report::Said { line, .. })) = self.hear(LOOK_EVERY) {
                said(&self.remotes[at].hello.name, &line);
            }
        }
        self.remotes.iter().try_for_each(|remote| match &remote.state {
            State::Lost(why) => {
                let (name, why) = (remote.hello.name.clone(), why.clone());
                Err(RemoteError::Refused { name, why })
            }
            State::There | State::Done(_) => Ok(()),
        })
    }
}
