//! What a user does one after another: its login, its scripts, and what it finishes with.

use std::sync::Arc;

use plumb_engine::After;
use plumb_measure::FailureKind;
use plumb_scenario::file::{Cookies, OnFailure, Take};
use plumb_scenario::refused::REFUSED;

use super::{Player, User};
use crate::scenario::cursor::{Around, Cursor, Halt};
use crate::scenario::program::{Program, thinks_ahead, thinks_at_end, thinks_behind};

/// Where a user is in what it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    New,
    Login,
    /// Before a script.
    Between,
    Script,
    /// Behind a script, in the pause before the next.
    Pausing,
    /// The same behind a login that failed.
    LoginPausing,
    /// The load is over.
    Finish,
    Done,
}

/// Where a user halts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Halted {
    Request(u16),
    /// At requests that are made at the same time.
    Parallel,
    /// A step that fails without being asked for.
    Undecided(u16),
    Pause(u64),
    Turn,
    Finish,
}

impl From<Halted> for After {
    fn from(halted: Halted) -> Self {
        match halted {
            Halted::Request(_) | Halted::Parallel | Halted::Undecided(_) => Self::Go,
            Halted::Pause(ns) => Self::Pause(ns),
            Halted::Turn => Self::Turn,
            Halted::Finish => Self::Finish,
        }
    }
}

/// True of lines that a user takes once.
fn once(take: Take) -> bool {
    matches!(take, Take::EachUser | Take::ByUser)
}

impl Player {
    /// Goes on to the next request, pause or end.
    pub(super) fn next(&mut self, user: &mut User) -> Halted {
        loop {
            match user.stage {
                Stage::Done => return Halted::Finish,
                Stage::Pausing => {
                    user.stage = Stage::Between;
                    return Halted::Turn;
                }
                Stage::LoginPausing => {
                    user.stage = Stage::Login;
                    return Halted::Turn;
                }
                Stage::New => {
                    self.counts.begun += 1;
                    // a login belongs to the first script: it has the same lines
                    user.provided = !self.script.login.is_empty();
                    let all = user.provided;
                    if self.take_lines(user, |take| all || once(take)) {
                        user.stage = if user.provided { Stage::Login } else { Stage::Between };
                    }
                }
                Stage::Between => {
                    user.asked = false;
                    user.variables.begin_iteration(user.scripts + 1);
                    if std::mem::take(&mut user.provided) {
                        user.stage = Stage::Script; // and the cookies of the login stay
                        continue;
                    }
                    if self.script.cookies == Cookies::Clear {
                        user.jar.clear();
                    }
                    if self.take_lines(user, |take| !once(take)) {
                        user.stage = Stage::Script;
                    }
                }
                _ if user.token.renewing => {
                    if let Some(halted) = self.token_cursor(user) {
                        return halted;
                    }
                }
                Stage::Login | Stage::Script | Stage::Finish => match self.cursor(user) {
                    Halt::Request(_) | Halt::Parallel if self.needs_token(user) => {
                        user.token.cursor = Cursor::default();
                        user.token.renewing = true;
                    }
                    Halt::Request(step) => return Halted::Request(step),
                    Halt::Parallel => {
                        let parallel = user.cursor.parallel(self.program_of(user));
                        if parallel.is_some_and(|it| self.begin_page(user, &it)) {
                            return Halted::Parallel;
                        }
                        user.cursor.pass();
                    }
                    Halt::Undecided(step) => return Halted::Undecided(step),
                    Halt::Pause(ns) => return Halted::Pause(ns),
                    Halt::End => {
                        user.cursor.restart(&mut self.complete);
                        match user.stage {
                            Stage::Login => {
                                user.stage = Stage::Between;
                                continue;
                            }
                            Stage::Finish => {
                                user.stage = Stage::Done;
                                return Halted::Finish;
                            }
                            _ => {}
                        }
                        self.counts.scripts += 1;
                        self.counts.empty += u64::from(!user.asked);
                        return self.script_over(user, Stage::Between, 0);
                    }
                },
            }
        }
    }

    /// What it does now, but for its token.
    fn program_of(&self, user: &User) -> &Program {
        match user.stage {
            Stage::Login => &self.script.login,
            Stage::Finish => &self.script.finish,
            _ => &self.script.program,
        }
    }

    fn needs_token(&self, user: &User) -> bool {
        self.script.token.is_some() && user.token.is_due(self.now_ns)
    }

    /// Goes on with getting the token; `None` when that is over, well or not.
    fn token_cursor(&mut self, user: &mut User) -> Option<Halted> {
        if !user.token.failed {
            match self.cursor(user) {
                Halt::Request(step) => return Some(Halted::Request(step)),
                Halt::Undecided(step) => return Some(Halted::Undecided(step)),
                Halt::Pause(ns) => return Some(Halted::Pause(ns)),
                Halt::Parallel | Halt::End => {} // the compiler lets no others in
            }
            let script = Arc::clone(&self.script);
            let got = script.token.as_ref().map(|token| {
                let state = &mut user.token;
                (token, token.got(state, &user.variables, self.now_ns))
            });
            if let Some((token, Err(text))) = got {
                self.complain(token.last_step(), || {
                    format!("the token lasts `{text}`, which is no number of seconds")
                });
            }
        }
        user.token.renewing = false;
        None
    }

    fn cursor(&mut self, user: &mut User) -> Halt {
        let mut undecided = None;
        let script = &*self.script;
        let renewing = script.token.as_ref().filter(|_| user.token.renewing);
        let cursor = if renewing.is_some() { &mut user.token.cursor } else { &mut user.cursor };
        let halt = cursor.go(&mut Around {
            program: match (renewing, user.stage) {
                (Some(token), _) => &token.program,
                (None, Stage::Login) => &script.login,
                (None, Stage::Finish) => &script.finish,
                (None, _) => &script.program,
            },
            variables: &mut user.variables,
            draw: &mut user.draw,
            shared: &script.shared,
            complete: &mut self.complete,
            undecided: &mut undecided,
        });
        if let (Some(undecided), Halt::Undecided(step)) = (undecided, halt) {
            let script = Arc::clone(&self.script);
            self.complain(step, || undecided.words(&script.names));
        }
        halt
    }

    /// A script is over, well or not; the user thinks for `think_ns`, pauses, and goes on with `stage`.
    fn script_over(&mut self, user: &mut User, stage: Stage, think_ns: u64) -> Halted {
        user.scripts += 1;
        if self.script.iterations.is_some_and(|most| user.scripts >= most) {
            user.stage = Stage::Done;
            return Halted::Finish;
        }
        let pause_ns = self.script.pause.map_or(0, |pause| user.draw.think_ns(&pause));
        let ns = think_ns.saturating_add(pause_ns);
        user.stage = match stage {
            _ if ns == 0 => stage,
            Stage::Login => Stage::LoginPausing,
            _ => Stage::Pausing,
        };
        if ns > 0 { Halted::Pause(ns) } else { Halted::Turn }
    }

    /// Takes the next lines of the data files that `wanted` names; false when one ran dry.
    fn take_lines(&mut self, user: &mut User, wanted: impl Fn(Take) -> bool) -> bool {
        let script = &*self.script;
        for ((name, lines), own) in script.data.iter().zip(&mut user.own_lines) {
            if wanted(lines.take_when()) && lines.take(own, &mut user.variables).is_err() {
                *self.counts.ended.entry(format!("{name} ran dry")).or_default() += 1;
                user.stage = Stage::Done;
                return false;
            }
        }
        true
    }

    /// What a user does after a step that failed.
    pub(super) fn failed(&mut self, user: &mut User, kind: FailureKind) -> Option<Halted> {
        if user.refused {
            self.log_off(user, kind);
            return Some(Halted::Finish);
        }
        match self.script.on_failure {
            OnFailure::Continue => None,
            _ if user.stage == Stage::Finish => None,
            OnFailure::Restart => {
                let think_ns = self.think_before_restart(user);
                self.break_off(user, kind);
                (user.token.renewing, user.token.failed) = (false, false);
                let again = if user.stage == Stage::Login { Stage::Login } else { Stage::Between };
                Some(self.script_over(user, again, think_ns))
            }
            OnFailure::Stop => {
                self.break_off(user, kind);
                *self.counts.ended.entry("a step failed".into()).or_default() += 1;
                user.stage = Stage::Done;
                Some(Halted::Finish)
            }
        }
    }

    /// A user whose password was refused does nothing any more.
    pub(super) fn log_off(&mut self, user: &mut User, kind: FailureKind) {
        self.break_off(user, kind);
        user.refused = false;
        *self.counts.ended.entry(REFUSED.to_owned()).or_default() += 1;
        user.stage = Stage::Done;
    }

    /// How long a user thinks after the step that failed: as behind this step, or, where nothing is said
    /// of it, as behind the next one that has a think time, or the last one. A server that refuses
    /// everything would else be asked without a pause.
    fn think_before_restart(&self, user: &mut User) -> u64 {
        let (program, script) = (self.program_of(user), &self.script.program);
        // what waits for a token has not been passed
        let behind = user.cursor.at() + u32::from(user.token.renewing);
        // behind a login comes the script
        let of_script =
            if user.stage == Stage::Login { thinks_ahead(script, 0) } else { Vec::new() };
        let places = [
            thinks_behind(program, behind),
            thinks_ahead(program, behind),
            thinks_at_end(program),
            thinks_at_end(script),
            of_script,
        ];
        let thinks = places.iter().find(|thinks| !thinks.is_empty());
        let each = thinks.into_iter().flatten().map(|think| user.draw.think_ns(think));
        each.fold(0, u64::saturating_add)
    }

    /// Ends a script at a failure, and the groups it is in. The failure is theirs too where it was that
    /// of getting a token.
    fn break_off(&mut self, user: &mut User, kind: FailureKind) {
        if user.token.renewing {
            user.cursor.count(0, true, Some(kind));
        }
        user.cursor.restart(&mut self.complete);
        self.counts.broken += 1;
    }
}
