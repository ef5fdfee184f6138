//! Users of a scenario as a [`Protocol`]: what each asks for next, and whether the answer was right.

mod complaints;
mod exchange;
mod page;
mod reading;
mod sending;
mod stages;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use plumb_engine::{After, Next, Op, OpEnd, OperationGroup, Protocol, Step as Reading, clock};
use plumb_measure::{Answer, FailureKind, Outcome, ScenarioFigures, ServerTimes, ToldNames};
use plumb_over_http2::AsksAtOnce;
use plumb_scenario::cookies::Jar;
use plumb_scenario::data::OwnLine;
use plumb_scenario::draw::Draw;
use plumb_scenario::generator::Generator;
use plumb_scenario::resources::CONNECTIONS_MAX;
use plumb_scenario::variables::{Slot, Value, Variables};
use plumb_wire::http::Memo;

use super::cursor::Cursor;
use super::program::Step;
use super::resources::add_left_out;
use super::token::TokenState;
use super::user_script::Script;
use crate::digest::DigestSession;
use crate::heard::Heard;
use complaints::Complaints;
use exchange::Exchange;
use page::{Embeds, Page};
use plumb_trace::{Traces, traced_answer, traced_step};
use reading::Wire;
use stages::{Halted, Stage};

pub(crate) use complaints::Complaint;

/// The moment for which cookies are judged: a protocol reads no clock. One that ends at once, by the
/// date of its answer, is deleted, and no other ends before the run does.
const NOW_NS: u64 = 0;

/// The users of one scenario on one thread.
#[derive(Debug)]
pub(crate) struct Player {
    script: Arc<Script>,
    /// What the answers to each step look like.
    seen: Vec<Seen>,
    /// Of each step.
    complaints: Vec<Complaints>,
    /// Keys of log-ons to which a step was answered otherwise than 401.
    accepted: HashSet<u64>,
    complete: Vec<OperationGroup>,
    /// On the clock of the run.
    now_ns: u64,
    counts: Counts,
    heard: Heard,
    traces: Option<Traces>,
    /// Users who may have something to do now that the load is over.
    left: Vec<User>,
    /// Of those who do it: who has not begun.
    returning: Vec<User>,
    /// What was extracted last, for whoever comes after a preparation.
    extracted: Vec<(Slot, Value)>,
    /// Requests that a user may have under way at the same time to one host.
    at_once: usize,
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
    /// Resources of pages that were not asked for, by why.
    left_out: BTreeMap<String, u64>,
}

/// A user: outlives its connections.
#[derive(Debug)]
pub(crate) struct User {
    variables: Variables,
    jar: Jar,
    exchange: Exchange,
    /// What it asks for beside that, at the same time.
    page: Option<Box<Page>>,
    /// What the page that came last embeds.
    embeds: Embeds,
    digest: Option<Box<DigestSession>>,
    token: TokenState,
    /// A server refused its password: it logs on no more.
    refused: bool,
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
    identity: u32,
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
            complaints: vec![Complaints::default(); script.steps.len()],
            accepted: HashSet::new(),
            complete: Vec::new(),
            now_ns: 0,
            counts: Counts::default(),
            heard: Heard::with(names),
            traces,
            left: Vec::new(),
            returning: Vec::new(),
            extracted: Vec::new(),
            at_once: CONNECTIONS_MAX.into(),
            spare: Vec::new(),
            content: Vec::new(),
            script,
        }
    }

    /// The `users` of `script`, who finish now that the load is over.
    pub(crate) fn finishing(script: Arc<Script>, users: Vec<User>) -> Self {
        Self { returning: users, ..Self::new(script, ToldNames::default(), None) }
    }

    /// Takes the users who have something to do now that the load is over.
    pub(crate) fn take_left(&mut self) -> Vec<User> {
        std::mem::take(&mut self.left)
    }

    /// The script.
    pub(crate) fn script(&self) -> &Script {
        &self.script
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
        for (why, resources) in &self.counts.left_out {
            add_left_out(&mut figures.left_out, why, *resources);
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

    /// What only the end of an operation tells: that it came too late, or that there was no
    /// connection for it.
    fn judge_end(&mut self, user: &User, end: &mut OpEnd) {
        let number = user.exchange.step;
        let within_ns = self.script.steps[usize::from(number)].within_ns;
        let took_ns = end.response_ns + user.exchange.before_ns();
        match end.answer.outcome {
            Outcome::Ok if took_ns > within_ns && user.exchange.pending().is_none() => {
                end.answer.outcome = Outcome::Failed(FailureKind::Late);
                self.complain(number, || {
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
                self.complain(number, || format!("no connection to {server}: {}", kind.name()));
            }
            _ => {}
        }
    }
}

impl AsksAtOnce for Player {
    fn ask_at_once(&mut self, most: usize) {
        self.at_once = most;
    }
}

impl Protocol for Player {
    type User = User;
    type Wire = Wire;

    const SCRIPTED: bool = true;

    fn user(&mut self, n: usize) -> User {
        if let Some(user) = self.returning.pop() {
            return User {
                cursor: Cursor::default(),
                exchange: Exchange::default(),
                page: None,
                token: user.token.at_rest(),
                refused: false,
                stage: Stage::Finish,
                ..user
            };
        }
        User {
            variables: self.variables(n as u64),
            jar: Jar::new(Arc::clone(&self.script.sites)),
            exchange: Exchange::default(),
            page: None,
            embeds: Embeds::default(),
            digest: None,
            token: TokenState::default(),
            refused: false,
            draw: Draw::of_user(self.script.seed, n as u64),
            cursor: Cursor::default(),
            stage: Stage::New,
            scripts: 0,
            asked: false,
            provided: false,
            own_lines: self.script.data.iter().map(|(_, lines)| lines.own_line(n)).collect(),
            identity: self.script.identities.map_or(0, |it| it.of(n)),
        }
    }

    fn encode(&mut self, user: &mut User, _: &mut Wire, out: &mut Vec<u8>) -> Next {
        if user.page.is_some() {
            return self.encode_part(user, out);
        }
        if user.exchange.under_way {
            return Next::Wait;
        }
        let next = match user.exchange.pending() {
            Some(_) => Halted::Request(user.exchange.step),
            None => self.next(user),
        };
        let number = match next {
            Halted::Request(number) => number,
            Halted::Parallel => return self.encode_part(user, out),
            Halted::Undecided(number) => {
                user.asked = true;
                user.exchange.step = number;
                let label = self.script.steps[usize::from(number)].row;
                return Next::Fail(Op { label, tag: number }, FailureKind::NotSent);
            }
            Halted::Pause(ns) => return Next::Pause(ns),
            Halted::Turn => return Next::Turn,
            Halted::Finish => return Next::Finish,
        };
        user.asked = true;
        user.exchange.aimed = None;
        match self.write(user, (number, number), out) {
            Next::Fail(..) if user.refused => {
                self.log_off(user, FailureKind::NotSent);
                Next::Finish
            }
            next => next,
        }
    }

    fn decode(
        &mut self,
        user: &mut User,
        wire: &mut Wire,
        op: Option<Op>,
        bytes: &[u8],
        _: &mut Vec<u8>,
    ) -> Reading {
        look_at(user, op);
        let step = self.read(user, wire, op, bytes);
        traced_step(step, user.exchange.trace)
    }

    fn eof(&mut self, user: &mut User, wire: &mut Wire, op: Op) -> Answer {
        look_at(user, Some(op));
        let answer = self.end(user, wire);
        traced_answer(answer, user.exchange.trace)
    }

    fn settle(&mut self, user: &mut User, end: &mut OpEnd) -> After {
        look_at(user, Some(end.op));
        let number = usize::from(user.exchange.step);
        self.judge_end(user, end);
        self.file_complaint(number, end.counts);
        let Some((took_ns, counts)) = user.exchange.ended(&self.script.steps[number], end) else {
            return After::Go; // to where the redirect leads
        };
        let failed = match end.answer.outcome {
            Outcome::Ok => None,
            Outcome::Failed(kind) => Some(kind),
            Outcome::Refused => Some(FailureKind::Refused),
        };
        if failed.is_some() {
            user.embeds = Embeds::default();
        }
        self.complete.extend(user.exchange.whole(&self.script.steps[number], failed));
        let (took_ns, counts, failed) = match user.page {
            None => (took_ns, counts, failed),
            Some(_) => match self.part_ended(user, counts, failed) {
                Some(ended) => ended,
                None => return After::Go,
            },
        };
        if user.token.renewing {
            user.token.cursor.pass();
            user.token.failed |= failed.is_some();
        } else {
            user.cursor.count(took_ns, counts, failed);
            user.cursor.pass();
            user.token.failed = false;
        }
        let broken = failed.and_then(|kind| self.failed(user, kind));
        broken.unwrap_or_else(|| self.next(user)).into()
    }

    fn identity(&self, user: &User) -> u32 {
        user.identity
    }

    fn moment(&mut self, now_ns: u64) {
        self.now_ns = now_ns;
    }

    fn resume(&mut self, user: &mut User) -> After {
        if user.page.is_some() {
            return if self.has_part(user) { After::Go } else { After::Wait };
        }
        if user.exchange.under_way {
            return After::Wait;
        }
        match user.exchange.pending() {
            Some(_) => After::Go,
            None => self.next(user).into(),
        }
    }

    fn leave(&mut self, user: User) {
        if !self.script.finish.is_empty() && user.stage != Stage::New {
            self.left.push(user);
        }
    }

    fn complete(&mut self) -> Option<OperationGroup> {
        self.complete.pop()
    }

    fn complaint(&self) -> Option<String> {
        self.complaints().next().map(|first| first.to_string())
    }
}

/// Of several requests under way, the one of `op` is looked at.
fn look_at(user: &mut User, op: Option<Op>) {
    if let (Some(page), Some(op)) = (&mut user.page, op) {
        page.look_at(&mut user.exchange, op.tag);
    }
}
