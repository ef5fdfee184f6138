//! Servers and whole measurements on remotes, followed until they end.

use plumb_engine::Stop;

use super::farewell::Farewell;
use super::{Fleet, LOOK_EVERY, State};
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
        let mut farewell = None;
        while self.remotes.iter().any(|remote| matches!(remote.state, State::There)) {
            if stop.asked() && farewell.is_none() {
                farewell = Some(Farewell::of(self));
                self.stop_all();
            }
            if farewell.as_mut().is_some_and(|farewell| farewell.is_over(self)) {
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
