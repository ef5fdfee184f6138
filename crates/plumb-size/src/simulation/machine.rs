//! The loop that takes event by event.

mod ending;
mod thinking;

use plumb_measure::statistics::SplitMix64;

use self::ending::nothing;
use self::thinking::Crowd;
use super::calendar::{Calendar, Event};
use super::draw::Draw;
use super::flow::{Flow, Move};
use super::places::Entry;
use super::tally::Tally;
use super::{Load, Plan, Simulated, SimulationError, USERS_MAX};

/// No user: whoever asked has given up.
const NOBODY: u32 = u32::MAX;
/// Events of one day of the calendar, about.
const EVENTS_A_DAY: f64 = 32.0;
/// Generations are counted in 28 bits.
const GENERATION: u32 = 0x0fff_ffff;

/// What happens; the code of an event is kind, generation and number.
#[derive(Clone, Copy)]
enum Kind {
    Thought = 0,
    Served = 1,
    SharedDone = 2,
    TimeOut = 3,
    Arrival = 4,
    Burst = 5,
    Batch = 6,
    Retry = 7,
}

fn code(kind: Kind, generation: u32, number: u32) -> u64 {
    ((kind as u64) << 60) | (u64::from(generation & GENERATION) << 32) | u64::from(number)
}

/// One try of an operation, under way.
#[derive(Clone, Copy, Debug)]
struct Try {
    first_s: f64, // when the first try of the operation began
    user: u32,
    generation: u32,
    at: u32,     // the move that is under way or next
    before: u32, // tries of the operation before it
}

/// Whoever asks; of an open load, one operation. Most users think: what a try needs stands with the
/// try, so that nobody is looked up who has no session and waits for no other try.
#[derive(Clone, Copy, Debug)]
struct User {
    first_s: f64, // while it waits for another try
    tries: u32,   // and how many it has made
    session: u32, // operations left in it
}

pub(super) struct Machine<'a> {
    plan: &'a Plan,
    flow: Flow,
    calendar: Calendar,
    random: SplitMix64,
    now_s: f64,
    think: Draw,
    users: Vec<User>,
    free_users: Vec<u32>,
    tries: Vec<Try>,
    free_tries: Vec<u32>,
    ready: Vec<u32>, // tries that go on now
    crowd: Crowd,
    bursting: bool,
    arrivals: u32, // generation of the next arrival
    tally: Tally,
    recording: bool,
    batches: usize,
    open_sessions: u32,
    found: Simulated,
}

impl<'a> Machine<'a> {
    pub(super) fn new(plan: &'a Plan) -> Self {
        let think = match plan.load {
            Load::Closed { think_s, variation, .. } => Draw::of(think_s, variation),
            Load::Open { .. } => Draw::of(0.0, 0.0),
        };
        Self {
            plan,
            flow: Flow::of(&plan.landscape),
            calendar: Calendar::new(day_s(plan)),
            random: SplitMix64::new(plan.seed),
            now_s: 0.0,
            think,
            users: Vec::new(),
            free_users: Vec::new(),
            tries: Vec::new(),
            free_tries: Vec::new(),
            ready: Vec::new(),
            crowd: Crowd::default(),
            bursting: false,
            arrivals: 0,
            tally: Tally::new(plan.for_s),
            recording: false,
            batches: 0,
            open_sessions: 0,
            found: nothing(),
        }
    }

    pub(super) fn run(mut self) -> Result<Simulated, SimulationError> {
        self.begin();
        while let Some(event) = self.calendar.next() {
            self.now_s = event.at_s;
            self.found.events += 1;
            if self.happens(event.code) {
                break;
            }
            if self.tries.len() > USERS_MAX as usize {
                return Err(SimulationError::Overloaded);
            }
        }
        Ok(self.ended())
    }

    fn begin(&mut self) {
        self.after(self.plan.warm_up_s, code(Kind::Batch, 0, 0));
        if let Some(bursts) = self.plan.bursts {
            let quiet_s = Draw::of(bursts.off_s, 1.0).next(&mut self.random);
            self.after(quiet_s, code(Kind::Burst, 0, 0));
        }
        match self.plan.load {
            Load::Open { .. } => self.next_arrival(),
            Load::Closed { users, think_s, variation } => {
                let asleep = User { first_s: 0.0, tries: 0, session: 0 };
                self.users = vec![asleep; users as usize];
                self.first_thoughts(users, think_s, variation);
            }
        }
    }

    /// Takes one event; true at the end of the recorded time.
    fn happens(&mut self, code: u64) -> bool {
        let number = (code & 0xffff_ffff) as u32;
        let generation = (code >> 32) as u32 & GENERATION;
        match code >> 60 {
            0 => self.has_thought(number, generation),
            1 => self.served(number),
            2 => self.shared_done(number as usize, generation),
            3 => self.timed_out(number, generation),
            4 => self.arrives(generation),
            5 => self.burst(),
            6 => return self.batch_ends(),
            _ => self.tries_again(number),
        }
        self.go_on();
        false
    }

    fn after(&mut self, delay_s: f64, code: u64) {
        self.calendar.add(Event { at_s: self.now_s + delay_s, code });
    }

    fn next_arrival(&mut self) {
        let Load::Open { rate_per_s } = self.plan.load else { return };
        let mean_s = 1.0 / (rate_per_s * self.urgency());
        let wait_s = Draw::of(mean_s, 1.0).next(&mut self.random);
        self.after(wait_s, code(Kind::Arrival, self.arrivals, 0));
    }

    /// How many times as much is asked now.
    fn urgency(&self) -> f64 {
        self.plan.bursts.filter(|_| self.bursting).map_or(1.0, |bursts| bursts.factor)
    }

    fn burst(&mut self) {
        let Some(bursts) = self.plan.bursts else { return };
        self.bursting = !self.bursting;
        let mean_s = if self.bursting { bursts.on_s } else { bursts.off_s };
        let length_s = Draw::of(mean_s, 1.0).next(&mut self.random);
        self.after(length_s, code(Kind::Burst, 0, 0));
        // neither arrivals nor thoughts have a memory: the next one is drawn anew at the new rate
        self.arrivals = self.arrivals.wrapping_add(1) & GENERATION;
        self.next_arrival();
        self.next_thought();
    }

    fn arrives(&mut self, generation: u32) {
        if generation != self.arrivals {
            return;
        }
        self.next_arrival();
        let new = User { first_s: self.now_s, tries: 0, session: 0 };
        let user = take_place(&mut self.users, &mut self.free_users, new);
        self.begins_try(user, self.now_s, 0);
    }

    fn tries_again(&mut self, user: u32) {
        let User { first_s, tries, .. } = self.users[user as usize];
        self.begins_try(user, first_s, tries);
    }

    /// A try of the operation that was first tried at `first_s`, `before` times so far.
    fn begins_try(&mut self, user: u32, first_s: f64, before: u32) {
        let number = match self.free_tries.pop() {
            Some(number) => number,
            None => {
                self.tries.push(Try { first_s, user, generation: 0, at: 0, before });
                index(self.tries.len() - 1)
            }
        };
        let it = &mut self.tries[number as usize];
        (it.first_s, it.user, it.at, it.before) = (first_s, user, 0, before);
        let generation = it.generation;
        if let Some(time_out_s) = self.plan.patience.time_out_s {
            self.after(time_out_s, code(Kind::TimeOut, generation, number));
        }
        self.ready.push(number);
    }

    /// Leads every try that is ready to where it waits or is served.
    fn go_on(&mut self) {
        while let Some(number) = self.ready.pop() {
            self.moves(number);
        }
    }

    fn moves(&mut self, number: u32) {
        loop {
            let at = self.tries[number as usize].at as usize;
            match self.flow.moves.get(at).copied() {
                None => return self.done(number),
                Some(Move::Delay(delay)) => {
                    let delay_s = self.flow.delays[delay].next(&mut self.random);
                    return self.after(delay_s, code(Kind::Served, 0, number));
                }
                Some(Move::Queue(queue)) => {
                    if self.flow.queues[queue].enter(self.now_s, number) == Entry::Served {
                        self.serves(queue, number);
                    }
                    return;
                }
                Some(Move::Shared(shared)) => {
                    let work_s = self.flow.shared[shared].draw.next(&mut self.random);
                    let end_s = self.flow.shared[shared].enter(self.now_s, number, work_s);
                    return self.appoint(shared, end_s);
                }
                Some(Move::Hold(pool)) => match self.flow.pools[pool].enter(self.now_s, number) {
                    Entry::Served => self.tries[number as usize].at += 1,
                    Entry::Waits => return,
                    Entry::TurnedAway => return self.turned_away(number),
                },
                Some(Move::Release(pool)) => {
                    self.release(pool);
                    self.tries[number as usize].at += 1;
                }
            }
        }
    }

    fn release(&mut self, pool: usize) {
        if let Some(next) = self.flow.pools[pool].leave(self.now_s) {
            self.tries[next as usize].at += 1;
            self.ready.push(next);
        }
    }

    fn serves(&mut self, queue: usize, number: u32) {
        let service_s = self.flow.queues[queue].draw.next(&mut self.random);
        self.after(service_s, code(Kind::Served, 0, number));
    }

    /// A delay is over, or a server has done its work.
    fn served(&mut self, number: u32) {
        let at = self.tries[number as usize].at as usize;
        if let Some(Move::Queue(queue)) = self.flow.moves.get(at).copied()
            && let Some(next) = self.flow.queues[queue].leave(self.now_s)
        {
            self.serves(queue, next);
        }
        self.tries[number as usize].at += 1;
        self.ready.push(number);
    }

    fn appoint(&mut self, shared: usize, end_s: Option<f64>) {
        if let Some(end_s) = end_s {
            let appointment = self.flow.shared[shared].appointment;
            let code = code(Kind::SharedDone, appointment, index(shared));
            self.calendar.add(Event { at_s: end_s.max(self.now_s), code });
        }
    }

    fn shared_done(&mut self, shared: usize, appointment: u32) {
        if self.flow.shared[shared].appointment != appointment {
            self.found.events -= 1; // nothing happened
            return;
        }
        if let Some((number, end_s)) = self.flow.shared[shared].leave(self.now_s) {
            self.appoint(shared, end_s);
            self.tries[number as usize].at += 1;
            self.ready.push(number);
        }
    }

    fn done(&mut self, number: u32) {
        let Try { user, first_s, .. } = self.tries[number as usize];
        self.forgets(number);
        if user == NOBODY {
            return;
        }
        if self.recording {
            self.tally.take(self.now_s - first_s);
        }
        self.next_operation(user);
    }

    fn forgets(&mut self, number: u32) {
        let it = &mut self.tries[number as usize];
        it.generation = it.generation.wrapping_add(1) & GENERATION;
        it.user = NOBODY;
        self.free_tries.push(number);
    }

    /// The operation of a user is over, done or failed.
    fn next_operation(&mut self, user: u32) {
        if matches!(self.plan.load, Load::Open { .. }) {
            return self.free_users.push(user);
        }
        if self.plan.sessions.is_some() {
            let left = &mut self.users[user as usize].session;
            *left -= 1;
            if *left == 0 {
                self.open_sessions -= 1;
            }
        }
        self.thinks(user);
    }

    /// There was no room in the queue of a pool: what is held is given back.
    fn turned_away(&mut self, number: u32) {
        let it = self.tries[number as usize];
        let mut held = Vec::new();
        for step in &self.flow.moves[..it.at as usize] {
            match step {
                Move::Hold(pool) => held.push(*pool),
                Move::Release(_) => drop(held.pop()),
                Move::Delay(_) | Move::Queue(_) | Move::Shared(_) => {}
            }
        }
        while let Some(pool) = held.pop() {
            self.release(pool);
        }
        self.forgets(number);
        if it.user != NOBODY {
            self.found.turned_away += u64::from(self.recording);
            self.fails(it);
        }
    }

    fn timed_out(&mut self, number: u32, generation: u32) {
        let it = &mut self.tries[number as usize];
        if it.generation != generation || it.user == NOBODY {
            self.found.events -= 1; // it was done before
            return;
        }
        let failed = *it;
        it.user = NOBODY; // the landscape goes on with it
        self.found.timed_out += u64::from(self.recording);
        self.fails(failed);
    }

    /// A try has failed, whose user is somebody.
    fn fails(&mut self, failed: Try) {
        let (patience, user) = (self.plan.patience, failed.user);
        if failed.before < patience.retries {
            let it = &mut self.users[user as usize];
            (it.first_s, it.tries) = (failed.first_s, failed.before + 1);
            self.found.retried += u64::from(self.recording);
            let wait_s = Draw::of(patience.back_off_s, 1.0).next(&mut self.random);
            return self.after(wait_s, code(Kind::Retry, 0, user));
        }
        self.found.failed += u64::from(self.recording);
        self.next_operation(user);
    }
}

/// A day of the calendar that has a few events, in a year that holds most think times.
fn day_s(plan: &Plan) -> f64 {
    let moves = 2.0 + f64::from(index(plan.landscape.resources().len()));
    let full = plan.landscape.bottleneck().map_or(f64::INFINITY, |it| it.rate_max_per_s());
    let (rate_per_s, span_s) = match plan.load {
        Load::Closed { users, think_s, .. } => {
            (f64::from(users) / (think_s + plan.landscape.alone_s()), 5.0 * think_s)
        }
        Load::Open { rate_per_s } => (rate_per_s, 0.0),
    };
    (EVENTS_A_DAY / (rate_per_s.min(full) * moves)).max(span_s / 65_536.0)
}

fn take_place<T>(all: &mut Vec<T>, free: &mut Vec<u32>, new: T) -> u32 {
    match free.pop() {
        Some(place) => {
            all[place as usize] = new;
            place
        }
        None => {
            all.push(new);
            index(all.len() - 1)
        }
    }
}

#[expect(clippy::cast_possible_truncation, reason = "a few million places at most")]
fn index(place: usize) -> u32 {
    place as u32
}
