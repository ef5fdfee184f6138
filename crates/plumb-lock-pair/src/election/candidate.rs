//! A server's side: has it a majority of the witnesses?

use super::register::{Answer, Ballot, Register, Request};

/// What an election is told once.
#[derive(Clone, Copy, Debug)]
pub struct ElectionPlan {
    /// How many witnesses there are; an odd number.
    pub witnesses: usize,
    /// How many of them decide: more than half.
    pub majority: usize,
    /// A number that no other server and no other start has; not 0.
    pub id: u64,
    /// A number that this server keeps over a restart, as long as it keeps every lock; not 0.
    pub identity: u64,
    /// A ballot without a majority is over after so long, nanoseconds.
    pub patience_ns: u64,
    /// What is kept is said again so often, nanoseconds: so its holder learns who took its place.
    pub again_ns: u64,
}

/// Why a server may give locks out, if the witnesses agree.
#[derive(Clone, Copy, Debug, Default)]
pub struct Standing {
    /// The epoch of what it has.
    pub epoch: u64,
    /// The epoch under which it would give locks out.
    pub next_epoch: u64,
    /// It was started as a primary: where nothing was ever kept, it is one.
    pub first: bool,
    /// It has everything that it ever told anybody.
    pub whole: bool,
    /// It is a replica that is in sync.
    pub in_sync: bool,
    /// Somebody has decided that it gives locks out, whoever did before.
    pub forced: bool,
}

/// What has come of an election.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// A majority keeps that this server gives locks out.
    Won(Register),
    /// A majority keeps that another one does, or that something is missing here.
    Lost(Register),
}

/// One witness, as a server sees it.
#[derive(Clone, Copy, Debug, Default)]
struct Seat {
    /// What it was asked and has not answered.
    asked: Option<Request>,
    /// When that was, nanoseconds.
    asked_at: u64,
    /// It promised to the ballot that runs, and kept this before.
    promised: Option<Register>,
    /// What it kept last of what this server said.
    kept: (Ballot, u64),
    /// What it refused last.
    refused: Option<Request>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// This server does not stand.
    Rests,
    /// Promises are asked for.
    Asks,
    /// A majority has promised; it is told who gives locks out.
    Keeps,
    /// A majority keeps it.
    Holds,
    /// The last ballot came to nothing: another one begins then.
    Pauses(u64),
}

/// An election among witnesses, for one server.
#[derive(Debug)]
pub struct Election {
    plan: ElectionPlan,
    seats: Vec<Seat>,
    phase: Phase,
    standing: Standing,
    ballot: Ballot,
    began: u64,
    /// The highest term that was heard of.
    top: u64,
    own: Register,
    /// A majority has kept this server at some time, and none was heard to keep another.
    held: bool,
    /// Somebody may keep something of this server that is not decided.
    sealed: bool,
    /// Replicas of which a majority may keep that they may take over.
    exposed: Vec<u64>,
    /// Ballots so far.
    ballots: u64,
}

impl Election {
    /// One in which the server does not stand yet.
    #[must_use]
    pub fn new(plan: ElectionPlan) -> Self {
        Self {
            seats: vec![Seat::default(); plan.witnesses],
            plan,
            phase: Phase::Rests,
            standing: Standing::default(),
            ballot: Ballot::default(),
            began: 0,
            top: 0,
            own: Register::default(),
            held: false,
            sealed: false,
            exposed: Vec::new(),
            ballots: 0,
        }
    }

    /// What it was told.
    #[must_use]
    pub fn plan(&self) -> &ElectionPlan {
        &self.plan
    }

    /// True when this server gives locks out, as far as it knows.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.held
    }

    /// The replicas that may have been chosen without this server's knowing, by their numbers.
    #[must_use]
    pub fn exposed_to(&self) -> &[u64] {
        &self.exposed
    }

    /// True when this server stands, and neither has the part nor gives up.
    #[must_use]
    pub fn stands(&self) -> bool {
        self.phase != Phase::Rests && !self.held
    }

    /// True when something was said of this server that only a majority can decide.
    #[must_use]
    pub fn is_sealed(&self) -> bool {
        self.sealed
    }

    /// The term of what this server has said last.
    #[must_use]
    pub fn term(&self) -> u64 {
        self.own.ballot.term
    }

    /// Witnesses that keep what this server said last.
    #[must_use]
    pub fn kept_by(&self) -> usize {
        let version = self.own.version();
        self.seats.iter().filter(|seat| self.own.holder != 0 && seat.kept == version).count()
    }

    /// This server asks for the part. It goes on asking until that is decided.
    pub fn stand(&mut self, now: u64, standing: Standing) {
        self.standing = standing;
        if self.standing.forced {
            self.held = true;
            self.exposed.clear();
        }
        self.begin(now);
    }

    fn begin(&mut self, now: u64) {
        self.top += 1;
        self.ballots += 1;
        self.ballot = Ballot { term: self.top, candidate: self.plan.id };
        (self.phase, self.began) = (Phase::Asks, now);
        for seat in &mut self.seats {
            seat.promised = None;
        }
    }

    /// This server does not ask any more; true unless something it said is not decided.
    pub fn withdraw(&mut self) -> bool {
        if !self.sealed && !self.held {
            self.phase = Phase::Rests;
        }
        self.phase == Phase::Rests
    }

    /// Says which replica has everything from now on: 0 for none.
    pub fn set_partner(&mut self, partner: u64) {
        if !self.held || self.own.partner == partner {
            return;
        }
        self.own.partner = partner;
        self.own.round += 1;
        if partner != 0 {
            self.exposed.push(partner); // a witness may keep it from now on
        }
    }

    /// Another server gives locks out: this one knows.
    pub fn leave(&mut self) {
        (self.phase, self.held, self.sealed) = (Phase::Rests, false, false);
    }

    /// What a witness is to be asked now, if anything.
    pub fn ask(&mut self, now: u64, witness: usize) -> Option<Request> {
        let again_ns = self.plan.again_ns;
        let (ballot, own, phase) = (self.ballot, self.own, self.phase);
        let seat = self.seats.get_mut(witness).filter(|seat| seat.asked.is_none())?;
        let request = match phase {
            Phase::Asks if seat.promised.is_none() => Request::Claim(ballot),
            Phase::Keeps | Phase::Holds
                if seat.kept != own.version()
                    || phase == Phase::Holds && now >= seat.asked_at + again_ns =>
            {
                Request::Keep(own)
            }
            Phase::Rests | Phase::Asks | Phase::Keeps | Phase::Holds | Phase::Pauses(_) => {
                return None;
            }
        };
        if seat.refused == Some(request) && now < seat.asked_at + again_ns {
            return None;
        }
        (seat.asked, seat.asked_at) = (Some(request), now);
        if let Request::Keep(_) = request {
            self.sealed |= !self.held;
        }
        Some(request)
    }

    /// The connection to a witness is gone, and with it perhaps what it was asked.
    pub fn lost(&mut self, witness: usize) {
        if let Some(seat) = self.seats.get_mut(witness) {
            seat.asked = None;
        }
    }

    /// Since when a witness has not answered, nanoseconds.
    #[must_use]
    pub fn asked_since(&self, witness: usize) -> Option<u64> {
        let seat = self.seats.get(witness)?;
        seat.asked.map(|_| seat.asked_at)
    }

    /// When something is to be done although nobody answers, nanoseconds.
    #[must_use]
    pub fn wake_at(&self) -> Option<u64> {
        match self.phase {
            Phase::Asks | Phase::Keeps => Some(self.began + self.plan.patience_ns),
            Phase::Pauses(until) => Some(until),
            Phase::Rests | Phase::Holds => None,
        }
    }

    /// When a witness is asked again that has answered, nanoseconds.
    #[must_use]
    pub fn asks_again_at(&self, witness: usize) -> Option<u64> {
        let seat = self.seats.get(witness).filter(|seat| seat.asked.is_none())?;
        let again = self.phase == Phase::Holds || seat.refused.is_some();
        (again && self.phase != Phase::Rests).then_some(seat.asked_at + self.plan.again_ns)
    }

    /// Time has passed.
    pub fn pass(&mut self, now: u64) {
        match self.phase {
            Phase::Asks | Phase::Keeps if now >= self.began + self.plan.patience_ns => {
                self.pause(now);
            }
            Phase::Pauses(until) if now >= until => self.begin(now),
            Phase::Rests | Phase::Asks | Phase::Keeps | Phase::Holds | Phase::Pauses(_) => {}
        }
    }

    /// Two that always begin at the same time would never end.
    fn pause(&mut self, now: u64) {
        let drawn = (self.plan.id ^ self.ballots).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        let longest = (self.plan.patience_ns / 4).max(1);
        self.phase = Phase::Pauses(now + 1 + drawn % longest);
    }

    /// What a witness answered; what has come of it, once that is decided.
    pub fn answered(&mut self, now: u64, witness: usize, answer: &Answer) -> Option<Outcome> {
        let seat = self.seats.get_mut(witness)?;
        let request = seat.asked.take()?;
        self.top = self.top.max(answer.promised.term).max(answer.register.ballot.term);
        if !answer.granted {
            seat.refused = Some(request);
        }
        match request {
            Request::Claim(ballot) if ballot == self.ballot && self.phase == Phase::Asks => {
                if answer.granted {
                    seat.promised = Some(answer.register);
                }
                self.judge_promises(now)
            }
            Request::Keep(register) => {
                // what was kept before is not any more, where it is refused now
                seat.kept = if answer.granted { register.version() } else { Default::default() };
                self.judge_kept(now)
            }
            Request::Claim(_) => None,
        }
    }

    /// May this server have the part after one with this register?
    fn may_follow(&self, register: &Register) -> bool {
        let Standing { epoch, first, whole, in_sync, forced, .. } = self.standing;
        let same = register.epoch == epoch;
        let plan = &self.plan;
        forced
            || first && register.holder == 0
            || whole && same && register.holder == plan.identity
            || in_sync && same && register.partner == plan.id
            || self.held && register.holder == plan.identity
            || self.sealed && register.ballot.candidate == plan.id
    }

    fn judge_promises(&mut self, now: u64) -> Option<Outcome> {
        let promised = || self.seats.iter().filter_map(|seat| seat.promised);
        let best = promised().filter(|it| self.may_follow(it)).max_by_key(Register::version);
        if let Some(best) = best {
            // later ones are not decided: a majority has promised not to keep them
            let agree = promised().filter(|it| it.version() <= best.version()).count();
            if agree >= self.plan.majority {
                self.say(now, &best);
                return None;
            }
        }
        let later = promised().filter(|it| best.is_none_or(|best| it.version() > best.version()));
        if later.count() >= self.plan.majority {
            let latest = promised().max_by_key(Register::version)?;
            self.leave();
            return Some(Outcome::Lost(latest));
        }
        let refused = Some(Request::Claim(self.ballot));
        let refusals = self.seats.iter().filter(|seat| seat.refused == refused).count();
        if refusals + self.plan.majority > self.plan.witnesses {
            self.pause(now);
        }
        None
    }

    /// Whoever has a majority of promises says who gives locks out.
    fn say(&mut self, now: u64, best: &Register) {
        let goes_on = self.held && !self.standing.forced;
        let (partner, epoch) = if goes_on {
            (self.own.partner, self.own.epoch)
        } else if self.sealed && best.ballot.candidate == self.plan.id {
            (0, best.epoch)
        } else {
            (0, self.standing.next_epoch)
        };
        let (ballot, holder) = (self.ballot, self.plan.identity);
        self.own = Register { ballot, round: 1, holder, partner, epoch };
        (self.phase, self.began) = (Phase::Keeps, now);
    }

    fn judge_kept(&mut self, now: u64) -> Option<Outcome> {
        if !matches!(self.phase, Phase::Keeps | Phase::Holds) {
            return None;
        }
        if self.kept_by() >= self.plan.majority {
            let won = self.phase == Phase::Keeps;
            let first = won && (!self.held || self.standing.forced);
            (self.phase, self.held, self.sealed, self.standing.forced) =
                (Phase::Holds, true, false, false);
            self.exposed.clear();
            self.exposed.extend(Some(self.own.partner).filter(|partner| *partner != 0));
            return first.then_some(Outcome::Won(self.own));
        }
        let refused = Some(Request::Keep(self.own));
        let refusals = self.seats.iter().filter(|seat| seat.refused == refused).count();
        if refusals + self.plan.majority > self.plan.witnesses {
            // somebody else stands: ask under a higher ballot
            self.pause(now);
        }
        None
    }
}

#[cfg(test)]
mod tests;
