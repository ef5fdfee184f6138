//! Sessions of users: what a step rolls into its work process and out again.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use plumb_measure::ByteSize;
use serde::Serialize;

use crate::config::SessionsConfig;

/// The cookie that names a session.
pub(crate) const COOKIE: &str = "sap-contextid";
/// Language and client of somebody whose URL names none.
pub(crate) const LANGUAGE: &str = "en";
/// The client of somebody whose URL names none.
pub(crate) const CLIENT: &str = "000";

/// What a session knows while a work process has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Context {
    /// Who it belongs to.
    pub(crate) user: String,
    /// Steps done, the present one included.
    pub(crate) steps: u64,
    area: Vec<u8>,
}

/// All sessions of the server.
#[derive(Debug)]
pub(crate) struct Sessions {
    limits: SessionsConfig,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    open: HashMap<String, Entry>,
    /// Sessions by age of which no step was done yet, and some of which there was meanwhile.
    unused: VecDeque<String>,
    /// Areas of sessions of one step, as they were before it, for the next.
    areas: Vec<Vec<u8>>,
    figures: SessionFigures,
}

#[derive(Debug)]
struct Entry {
    user: String,
    steps: u64,
    used_ns: u64,
    area: Vec<u8>,
    /// What the session holds as long as it lives; nobody reads it.
    _memory: Vec<u8>,
}

/// How many sessions there are and were.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct SessionFigures {
    /// Sessions that may be open.
    pub(crate) limit: usize,
    /// Sessions that are open, those of a single step included.
    pub(crate) open: usize,
    /// The most that were open.
    pub(crate) open_max: usize,
    /// Sessions opened, those of a single step included.
    pub(crate) opened: u64,
    /// Log-ons refused because of the limit.
    pub(crate) refused: u64,
    /// Sessions that were not used for too long.
    pub(crate) expired: u64,
    /// Sessions without a step that made room for others.
    pub(crate) displaced: u64,
    /// Bytes copied into work processes and back.
    pub(crate) rolled: u64,
}

/// There are as many sessions as there may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0} sessions are open, which is the limit (sessions.max)")]
pub(crate) struct TooMany(usize);

impl Sessions {
    pub(crate) fn new(limits: SessionsConfig) -> Self {
        Self { limits, state: Mutex::default() }
    }

    /// Opens a session that stays, under an unguessable name. Where there are as many as may be, the
    /// one that waits longest for its first step makes room: a client that takes no cookies opens
    /// one with each request, and must not keep others out.
    ///
    /// # Errors
    /// [`TooMany`].
    pub(crate) fn open(&self, user: &str, now_ns: u64) -> Result<String, TooMany> {
        let memory = self.memory(); // written before anybody has to wait for it
        let mut state = self.lock();
        self.expire(&mut state, now_ns);
        self.admit(&mut state)?;
        let name = unguessable();
        let area = self.area();
        let entry = Entry { user: user.into(), steps: 0, used_ns: now_ns, area, _memory: memory };
        state.open.insert(name.clone(), entry);
        state.unused.push_back(name.clone());
        if state.unused.len() > 2 * self.limits.max {
            let State { open, unused, .. } = &mut *state;
            unused.retain(|name| open.get(name).is_some_and(Entry::is_unused));
        }
        Ok(name)
    }

    /// True when the session `name` is open; it counts as used at `now_ns`.
    pub(crate) fn touch(&self, name: &str, now_ns: u64) -> bool {
        let mut state = self.lock();
        self.end_if_idle(&mut state, name, now_ns);
        match state.open.get_mut(name) {
            Some(entry) => {
                entry.used_ns = now_ns;
                true
            }
            None => false,
        }
    }

    /// Rolls the session `name` in.
    pub(crate) fn roll_in(&self, name: &str, now_ns: u64) -> Option<Context> {
        let mut state = self.lock();
        self.end_if_idle(&mut state, name, now_ns);
        let entry = state.open.get_mut(name)?;
        entry.used_ns = now_ns;
        entry.steps += 1;
        let context =
            Context { user: entry.user.clone(), steps: entry.steps, area: entry.area.clone() };
        state.figures.rolled += context.area.len() as u64;
        Some(context)
    }

    /// Rolls the session `name` out. Of two steps of one session at once the last one stays.
    pub(crate) fn roll_out(&self, name: &str, context: &Context, now_ns: u64) {
        let mut state = self.lock();
        if let Some(entry) = state.open.get_mut(name) {
            entry.area.copy_from_slice(&context.area);
            entry.used_ns = now_ns;
            state.figures.rolled += context.area.len() as u64;
        }
    }

    /// A session for one step, which [`end_of_step`](Self::end_of_step) ends.
    ///
    /// # Errors
    /// [`TooMany`].
    pub(crate) fn for_one_step(&self, user: String, now_ns: u64) -> Result<Context, TooMany> {
        let mut state = self.lock();
        if state.figures.open >= self.limits.max {
            self.expire(&mut state, now_ns);
        }
        self.admit(&mut state)?;
        let area = state.areas.pop();
        drop(state);
        let area = area.unwrap_or_else(|| self.area());
        Ok(Context { user, steps: 1, area })
    }

    /// Ends a session of one step. There are never more areas than there were such sessions at a time.
    pub(crate) fn end_of_step(&self, context: &mut Context) {
        let mut state = self.lock();
        state.figures.open -= 1;
        state.areas.push(std::mem::take(&mut context.area));
    }

    /// Ends the session `name`, if it is open.
    pub(crate) fn close(&self, name: &str) {
        let mut state = self.lock();
        if state.open.remove(name).is_some() {
            state.figures.open -= 1;
        }
    }

    pub(crate) fn figures(&self) -> SessionFigures {
        SessionFigures { limit: self.limits.max, ..self.lock().figures }
    }

    fn end_if_idle(&self, state: &mut State, name: &str, now_ns: u64) {
        let idle_ns = self.limits.idle.ns();
        if state.open.get(name).is_some_and(|entry| now_ns.saturating_sub(entry.used_ns) > idle_ns)
        {
            state.open.remove(name);
            state.figures.open -= 1;
            state.figures.expired += 1;
        }
    }

    fn admit(&self, state: &mut State) -> Result<(), TooMany> {
        if state.figures.open >= self.limits.max {
            state.displace();
        }
        if state.figures.open >= self.limits.max {
            state.figures.refused += 1;
            return Err(TooMany(self.limits.max));
        }
        state.figures.open += 1;
        state.figures.open_max = state.figures.open_max.max(state.figures.open);
        state.figures.opened += 1;
        Ok(())
    }

    /// Ends what nobody uses any more; only when room is needed, so no step pays for it regularly.
    fn expire(&self, state: &mut State, now_ns: u64) {
        let idle_ns = self.limits.idle.ns();
        let before = state.open.len();
        state.open.retain(|_, entry| now_ns.saturating_sub(entry.used_ns) <= idle_ns);
        let gone = before - state.open.len();
        state.figures.open -= gone;
        state.figures.expired += gone as u64;
    }

    fn area(&self) -> Vec<u8> {
        vec![0; usize::try_from(self.limits.roll_area.bytes()).unwrap_or(usize::MAX)]
    }

    /// Memory of a session, every page written so that the system has to give it.
    fn memory(&self) -> Vec<u8> {
        let bytes = self.limits.memory.map_or(0, ByteSize::bytes);
        vec![1; usize::try_from(bytes).unwrap_or(usize::MAX)]
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Entry {
    fn is_unused(&self) -> bool {
        self.steps == 0
    }
}

impl State {
    /// Ends the oldest session that has done no step yet.
    fn displace(&mut self) {
        while let Some(name) = self.unused.pop_front() {
            if self.open.get(&name).is_some_and(Entry::is_unused) {
                self.open.remove(&name);
                self.figures.open -= 1;
                self.figures.displaced += 1;
                return;
            }
        }
    }
}

/// 128 random bits in letters.
pub(crate) fn unguessable() -> String {
    let mut bits = [0; 16];
    let filled = rustix::rand::getrandom(&mut bits, rustix::rand::GetRandomFlags::empty());
    assert_eq!(filled, Ok(bits.len()), "the kernel always has 16 random bytes");
    bits.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use plumb_measure::Span;

    use super::*;

    fn sessions(max: usize) -> Sessions {
        let idle = Span::from_ns(100);
        Sessions::new(SessionsConfig {
            max,
            idle,
            roll_area: ByteSize::new(1000).unwrap(),
            memory: None,
        })
    }

    #[test]
    fn what_was_rolled_out_is_rolled_in() {
        let sessions = sessions(2);
        let name = sessions.open("anna", 0).unwrap();
        let context = sessions.roll_in(&name, 1).unwrap();
        assert_eq!((context.user.as_str(), context.steps), ("anna", 1));
        sessions.roll_out(&name, &context, 2);
        assert_eq!(sessions.roll_in(&name, 3).unwrap().steps, 2);
        assert_eq!(sessions.figures().rolled, 3000);
        assert!(sessions.roll_in("guess", 3).is_none());
    }

    /// A session of `user` that has done a step.
    fn used(sessions: &Sessions, user: &str, now_ns: u64) -> Result<String, TooMany> {
        let name = sessions.open(user, now_ns)?;
        sessions.roll_in(&name, now_ns).unwrap();
        Ok(name)
    }

    #[test]
    fn the_limit_counts_sessions_of_one_step_too() {
        let sessions = sessions(2);
        used(&sessions, "anna", 0).unwrap();
        let mut context = sessions.for_one_step("ben".into(), 0).unwrap();
        assert!(sessions.open("carl", 0).unwrap_err().to_string().contains("2 sessions"));
        sessions.end_of_step(&mut context);
        sessions.open("carl", 0).unwrap();
        let figures = sessions.figures();
        assert_eq!((figures.open, figures.open_max, figures.refused), (2, 2, 1));
    }

    #[test]
    fn a_session_that_is_not_used_makes_room() {
        let sessions = sessions(1);
        let old = used(&sessions, "anna", 0).unwrap();
        assert!(sessions.open("ben", 100).is_err());
        sessions.open("ben", 101).unwrap();
        assert!(sessions.roll_in(&old, 101).is_none());
        assert_eq!((sessions.figures().open, sessions.figures().expired), (1, 1));
    }

    #[test]
    fn sessions_that_nobody_goes_on_with_keep_nobody_out() {
        let (max, idle) = (3, Span::from_ms(1));
        let roll_area = ByteSize::new(1000).unwrap();
        let sessions = Sessions::new(SessionsConfig { max, idle, roll_area, memory: None });
        let mine = used(&sessions, "anna", 0).unwrap();
        let names: Vec<String> = (1..1_000).map(|now| sessions.open("ben", now).unwrap()).collect();
        let mut context = sessions.for_one_step("carl".into(), 1_000).unwrap();
        sessions.end_of_step(&mut context);
        assert!(sessions.touch(&mine, 50), "one with a step stays");
        assert!(sessions.touch(&names[998], 1_000) && !sessions.touch(&names[997], 1_000));
        let (figures, state) = (sessions.figures(), sessions.lock());
        assert_eq!((figures.open, figures.open_max, figures.refused), (2, 3, 0));
        assert_eq!(figures.displaced, 998);
        assert!(state.unused.len() <= 6, "{}", state.unused.len());
    }

    #[test]
    fn a_session_that_waited_too_long_is_over_even_when_there_is_room() {
        let sessions = sessions(5);
        let name = sessions.open("anna", 0).unwrap();
        assert!(sessions.roll_in(&name, 101).is_none());
        assert_eq!(sessions.figures().open, 0);
    }

    #[test]
    fn a_session_holds_its_memory_until_it_ends() {
        let memory = ByteSize::new(10_000);
        let limits = SessionsConfig { memory, ..sessions(2).limits };
        let sessions = Sessions::new(limits);
        let name = sessions.open("anna", 0).unwrap();
        let held = |sessions: &Sessions| -> usize {
            sessions.lock().open.values().map(|entry| entry._memory.len()).sum()
        };
        assert_eq!(held(&sessions), 10_000);
        sessions.roll_in(&name, 1).unwrap();
        assert_eq!(
            (held(&sessions), sessions.figures().rolled),
            (10_000, 1000),
            "it is not rolled"
        );
        sessions.close(&name);
        assert_eq!(held(&sessions), 0);
    }

    #[test]
    fn a_closed_session_is_over() {
        let sessions = sessions(1);
        let name = sessions.open("anna", 0).unwrap();
        sessions.close(&name);
        sessions.close(&name);
        assert!(sessions.roll_in(&name, 0).is_none());
        assert_eq!(sessions.figures().open, 0);
    }
}
