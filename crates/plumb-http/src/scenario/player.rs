//! Users of a scenario as a [`Protocol`]: what each asks for next, and whether the answer was right.

mod exchange;
mod reading;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use plumb_engine::{After, Next, Op, OpEnd, OperationGroup, Protocol, Step as Reading, clock};
use plumb_measure::{Answer, FailureKind, Outcome, ScenarioFigures, ServerTimes, ToldNames};
use plumb_scenario::cookies::{Jar, Site};
use plumb_scenario::data::{Lines, OwnLine};
use plumb_scenario::draw::Draw;
use plumb_scenario::file::{Cookies, OnFailure, Take, Think};
use plumb_scenario::generator::Generator;
use plumb_scenario::variables::{Common, Names, Slot, Value, Variables};
use plumb_wire::http::Memo;

use super::cursor::{Around, Cursor, Halt, SharedTurns};
use super::origin::Origins;
use super::program::{Program, Step};
use crate::heard::Heard;
use exchange::Exchange;
use plumb_trace::{Traces, insert_parent, traced_answer, traced_step};
use reading::Wire;

/// The moment for which cookies are judged: a protocol reads no clock. One that ends at once is
/// deleted, and no other ends before the run does.
const NOW_NS: u64 = 0;

/// What all users of a scenario have in common.
#[derive(Debug)]
pub(crate) struct Script {
    pub(crate) name: String,
    pub(crate) steps: Arc<[Step]>,
    pub(crate) names: Arc<Names>,
    pub(crate) origins: Arc<Origins>,
    pub(crate) login: Program,
    pub(crate) program: Program,
    pub(crate) common: Arc<Common>,
    pub(crate) data: Vec<(String, Lines)>,
    pub(crate) shared: SharedTurns,
    pub(crate) iterations: Option<u64>,
    pub(crate) pause: Option<Think>,
    pub(crate) cookies: Cookies,
    pub(crate) sites: Arc<[Site]>,
    pub(crate) on_failure: OnFailure,
    pub(crate) seed: u64,
    pub(crate) body_bytes_max: u64,
    /// It is done once, for what it extracts.
    pub(crate) prepares: bool,
}

/// The users of one scenario on one thread.
#[derive(Debug)]
pub(crate) struct Player {
    script: Arc<Script>,
    /// What the answers to each step look like.
    seen: Vec<Seen>,
    /// The first complaint about each step.
    complaints: Vec<Option<String>>,
    complete: Vec<OperationGroup>,
    counts: Counts,
    heard: Heard,
    traces: Option<Traces>,
    /// What was extracted last, for whoever comes after a preparation.
    extracted: Vec<(Slot, Value)>,
    /// Buffers that go round.
    spare: Vec<u8>,
    content: Vec<u8>,
}

#[derive(Debug)]
struct Seen {
    memo: Memo,
    /// Heads that had been parsed when it was looked for cookies, and whether there were any.
    cookies: (u64, bool),
    /// The same of times that the server told.
    told: (u64, ServerTimes),
}

#[derive(Debug, Default)]
struct Counts {
    begun: u64,
    scripts: u64,
    broken: u64,
    empty: u64,
    ended: BTreeMap<String, u64>,
}

/// A user: outlives its connections.
#[derive(Debug)]
pub(crate) struct User {
    variables: Variables,
    jar: Jar,
    exchange: Exchange,
    draw: Draw,
    cursor: Cursor,
    stage: Stage,
    /// Scripts that it has ended.
    scripts: u64,
    /// It has asked for something in this script.
    asked: bool,
    /// It has what belongs to its next script: the lines that its login took.
    provided: bool,
    own_lines: Vec<OwnLine>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    New,
    Login,
    /// Before a script.
    Between,
    Script,
    /// Behind a script, in the pause before the next.
    Pausing,
    Done,
}

impl Player {
    /// Users that follow `script`, who number what servers tell by `names`; each request belongs to one
    /// of `traces`.
    pub(crate) fn new(script: Arc<Script>, names: ToldNames, traces: Option<Traces>) -> Self {
        let seen = |step: &Step| Seen {
            memo: Memo::new(step.request_template.ask()),
            cookies: (0, false),
            told: (0, ServerTimes::default()),
        };
        Self {
            seen: script.steps.iter().map(seen).collect(),
            complaints: vec![None; script.steps.len()],
            complete: Vec::new(),
            counts: Counts::default(),
            heard: Heard::with(names),
            traces,
            extracted: Vec::new(),
            spare: Vec::new(),
            content: Vec::new(),
            script,
        }
    }

    /// The script.
    pub(crate) fn script(&self) -> &Script {
        &self.script
    }

    /// What is said of wrong answers, the first of each step, with its place.
    pub(crate) fn complaints(&self) -> impl Iterator<Item = &str> {
        self.complaints.iter().flatten().map(String::as_str)
    }

    /// What the users extracted, the last value of each variable.
    pub(crate) fn extracted(&self) -> &[(Slot, Value)] {
        &self.extracted
    }

    /// Times that servers told but that were not kept, because there were too many.
    pub(crate) fn untold(&self) -> u64 {
        self.heard.untold()
    }

    /// Adds what became of these users.
    pub(crate) fn add_to(&self, figures: &mut ScenarioFigures) {
        figures.begun += self.counts.begun;
        figures.scripts += self.counts.scripts;
        figures.broken += self.counts.broken;
        figures.empty += self.counts.empty;
        for (why, users) in &self.counts.ended {
            *figures.ended.entry(why.clone()).or_default() += users;
        }
    }

    /// The variables of user number `n` before its first step.
    fn variables(&self, n: u64) -> Variables {
        let Script { common, names, seed, .. } = &*self.script;
        match names.uses_values() {
            // a time of day that a request carries; nothing is timed by it
            true => {
                let generator = Generator::of_user(*seed, n, clock::wall_ns);
                Variables::with(Arc::clone(common), generator)
            }
            false => Variables::new(Arc::clone(common)),
        }
    }

    /// Goes on to the next request, pause or end.
    fn next(&mut self, user: &mut User) -> Halted {
        loop {
            match user.stage {
                Stage::Done => return Halted::Finish,
                Stage::Pausing => {
                    user.stage = Stage::Between;
                    return Halted::Turn;
                }
                Stage::New => {
                    self.counts.begun += 1;
                    // a login belongs to the first script: it has the same lines
                    user.provided = !self.script.login.is_empty();
                    let all = user.provided;
                    if self.take_lines(user, |take| all || take == Take::EachUser) {
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
                    if self.take_lines(user, |take| take != Take::EachUser) {
                        user.stage = Stage::Script;
                    }
                }
                Stage::Login | Stage::Script => match self.cursor(user) {
                    Halt::Request(step) => return Halted::Request(step),
                    Halt::Undecided(step) => return Halted::Undecided(step),
                    Halt::Pause(ns) => return Halted::Pause(ns),
                    Halt::End => {
                        user.cursor.restart(&mut self.complete);
                        if user.stage == Stage::Login {
                            user.stage = Stage::Between;
                            continue;
                        }
                        self.counts.scripts += 1;
                        self.counts.empty += u64::from(!user.asked);
                        return self.script_over(user, Stage::Between);
                    }
                },
            }
        }
    }

    fn cursor(&mut self, user: &mut User) -> Halt {
        let mut undecided = None;
        let script = &*self.script;
        let halt = user.cursor.go(&mut Around {
            program: if user.stage == Stage::Login { &script.login } else { &script.program },
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

    /// A script is over, well or not; the user goes on with `stage`.
    fn script_over(&mut self, user: &mut User, stage: Stage) -> Halted {
        user.scripts += 1;
        if self.script.iterations.is_some_and(|most| user.scripts >= most) {
            user.stage = Stage::Done;
            return Halted::Finish;
        }
        user.stage = stage;
        let pause_ns = self.script.pause.map_or(0, |pause| user.draw.think_ns(&pause));
        if pause_ns > 0 && stage == Stage::Between {
            user.stage = Stage::Pausing;
            return Halted::Pause(pause_ns);
        }
        Halted::Turn
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
    fn failed(&mut self, user: &mut User) -> Option<Halted> {
        match self.script.on_failure {
            OnFailure::Continue => None,
            OnFailure::Restart => {
                user.cursor.restart(&mut self.complete);
                self.counts.broken += 1;
                let again = if user.stage == Stage::Login { Stage::Login } else { Stage::Between };
                Some(self.script_over(user, again))
            }
            OnFailure::Stop => {
                user.cursor.restart(&mut self.complete);
                self.counts.broken += 1;
                *self.counts.ended.entry("a step failed".into()).or_default() += 1;
                user.stage = Stage::Done;
                Some(Halted::Finish)
            }
        }
    }

    /// Appends the request of step `number`, or of the redirect behind it.
    fn write(&mut self, user: &mut User, number: u16, out: &mut Vec<u8>) -> Next {
        let begins = out.len();
        let Self { script, spare, .. } = self;
        let step = &script.steps[usize::from(number)];
        let op = Op { label: step.row, tag: number };
        let jar = &user.jar;
        let cookies = |route: u16, target: &str, line: &mut Vec<u8>| {
            script.cookies != Cookies::Off && jar.write(usize::from(route), target, NOW_NS, line)
        };
        let written = step.request_template.write(
            &script.origins,
            user.exchange.pending(),
            &user.variables,
            cookies,
            (out, spare),
        );
        let exchange = &mut user.exchange;
        exchange.tag = number;
        if let Some(chain) = &mut exchange.chain {
            chain.pending = false;
        }
        match written {
            Ok(sent) => {
                exchange.under_way = true;
                exchange.route = sent.route;
                exchange.target.clear();
                exchange.target.push_str(std::str::from_utf8(&out[sent.target]).unwrap_or("/"));
                exchange.trace = self.traces.as_ref().and_then(Traces::next);
                if let Some(trace) = exchange.trace {
                    insert_parent(trace, begins, out);
                }
                match sent.route {
                    0 => Next::Send(op),
                    route => Next::SendOver { route, op, more: false },
                }
            }
            Err(unsent) => {
                let words = unsent.words(&script.names);
                self.complain(number, || words);
                Next::Fail(op, FailureKind::NotSent)
            }
        }
    }

    /// What only the end of an operation tells: that it came too late, or that there was no
    /// connection for it.
    fn judge_end(&mut self, user: &User, end: &mut OpEnd) {
        let within_ns = self.script.steps[usize::from(end.op.tag)].within_ns;
        let took_ns = end.response_ns + user.exchange.before_ns();
        match end.answer.outcome {
            Outcome::Ok if took_ns > within_ns && user.exchange.pending().is_none() => {
                end.answer.outcome = Outcome::Failed(FailureKind::Late);
                self.complain(end.op.tag, || {
                    format!(
                        "the answer took {}, expected at most {}",
                        plumb_measure::show_ns(took_ns),
                        plumb_measure::show_ns(within_ns)
                    )
                });
            }
            Outcome::Failed(
                kind @ (FailureKind::ConnectRefused
                | FailureKind::ConnectTimedOut
                | FailureKind::ConnectFailed
                | FailureKind::HandshakeFailed),
            ) => {
                let server = self.script.origins.name(user.exchange.route);
                self.complain(end.op.tag, || format!("no connection to {server}: {}", kind.name()));
            }
            _ => {}
        }
    }

    fn complain(&mut self, number: u16, words: impl FnOnce() -> String) {
        let (Some(step), Some(complaint)) = (
            self.script.steps.get(usize::from(number)),
            self.complaints.get_mut(usize::from(number)),
        ) else {
            return;
        };
        complaint.get_or_insert_with(|| format!("{} ({}): {}", step.name, step.place, words()));
    }
}

/// Where a user halts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Halted {
    Request(u16),
    /// A step that fails without being asked for.
    Undecided(u16),
    Pause(u64),
    Turn,
    Finish,
}

impl From<Halted> for After {
    fn from(halted: Halted) -> Self {
        match halted {
            Halted::Request(_) | Halted::Undecided(_) => Self::Go,
            Halted::Pause(ns) => Self::Pause(ns),
            Halted::Turn => Self::Turn,
            Halted::Finish => Self::Finish,
        }
    }
}

impl Protocol for Player {
    type User = User;
    type Wire = Wire;

    const SCRIPTED: bool = true;

    fn user(&mut self, n: usize) -> User {
        User {
            variables: self.variables(n as u64),
            jar: Jar::new(Arc::clone(&self.script.sites)),
            exchange: Exchange::default(),
            draw: Draw::of_user(self.script.seed, n as u64),
            cursor: Cursor::default(),
            stage: Stage::New,
            scripts: 0,
            asked: false,
            provided: false,
            own_lines: vec![OwnLine::default(); self.script.data.len()],
        }
    }

    fn encode(&mut self, user: &mut User, _: &mut Wire, out: &mut Vec<u8>) -> Next {
        if user.exchange.under_way {
            return Next::Wait;
        }
        let next = match user.exchange.pending() {
            Some(_) => Halted::Request(user.exchange.tag),
            None => self.next(user),
        };
        let number = match next {
            Halted::Request(number) => number,
            Halted::Undecided(number) => {
                user.asked = true;
                let label = self.script.steps[usize::from(number)].row;
                return Next::Fail(Op { label, tag: number }, FailureKind::NotSent);
            }
            Halted::Pause(ns) => return Next::Pause(ns),
            Halted::Turn => return Next::Turn,
            Halted::Finish => return Next::Finish,
        };
        user.asked = true;
        self.write(user, number, out)
    }

    fn decode(
        &mut self,
        user: &mut User,
        wire: &mut Wire,
        op: Option<Op>,
        bytes: &[u8],
        _: &mut Vec<u8>,
    ) -> Reading {
        let step = self.read(user, wire, op, bytes);
        traced_step(step, user.exchange.trace)
    }

    fn eof(&mut self, user: &mut User, wire: &mut Wire, op: Op) -> Answer {
        let answer = self.end(user, wire, op);
        traced_answer(answer, user.exchange.trace)
    }

    fn settle(&mut self, user: &mut User, end: &mut OpEnd) -> After {
        let tag = usize::from(end.op.tag);
        self.judge_end(user, end);
        let Some((took_ns, counts)) = user.exchange.ended(&self.script.steps[tag], end) else {
            return After::Go; // to where the redirect leads
        };
        let failed = match end.answer.outcome {
            Outcome::Ok => None,
            Outcome::Failed(kind) => Some(kind),
            Outcome::Refused => Some(FailureKind::Refused),
        };
        self.complete.extend(user.exchange.whole(&self.script.steps[tag], failed));
        user.cursor.count(took_ns, counts, failed);
        user.cursor.pass();
        let broken = failed.and_then(|_| self.failed(user));
        broken.unwrap_or_else(|| self.next(user)).into()
    }

    fn resume(&mut self, user: &mut User) -> After {
        if user.exchange.under_way {
            return After::Wait;
        }
        match user.exchange.pending() {
            Some(_) => After::Go,
            None => self.next(user).into(),
        }
    }

    fn complete(&mut self) -> Option<OperationGroup> {
        self.complete.pop()
    }

    fn complaint(&self) -> Option<String> {
        self.complaints().next().map(str::to_owned)
    }
}
