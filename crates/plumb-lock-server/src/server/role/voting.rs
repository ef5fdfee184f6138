//! A server among witnesses: it stands where its role allows that, and gives out what they let it.
//!
//! Whether a lock may be given out does not depend on clocks: a replica has it before anybody is
//! told, and a server goes on without one only once a majority keeps that none may take over. Clocks
//! bound how long a primary answers from what it has without hearing of its replica.

use plumb_engine::{ConnectionId, Endpoint};
use plumb_lock_pair::election::{Answer, Election, ElectionPlan, Outcome, Standing};
use plumb_lock_pair::replication::{Primary, State};
use plumb_lock_table::table::{Fault, Rules};
use plumb_measure::Clock;
use plumb_wire::resp;

use super::other::peer_of;
use super::{ReplicationPlan, Role};
use crate::server::connection::{Client, Purpose};
use crate::server::told::Told;
use crate::server::{Event, LockServer};

/// How long it takes until a connection to a witness is tried again, nanoseconds.
const DIAL_AGAIN_NS: u64 = 100_000_000;

/// For how long a replica that answers a ping takes nobody's place, of a `--replica-timeout`.
const fn promised_ns(timeout_ns: u64) -> u64 {
    timeout_ns / 4 * 3
}

/// For how long its primary relies on that, from when it sent the ping: less, because clocks run
/// at different speeds.
pub(in crate::server) const fn trusted_ns(timeout_ns: u64) -> u64 {
    promised_ns(timeout_ns) / 10 * 9
}

/// One witness.
#[derive(Debug, Default)]
struct Seat {
    endpoints: Vec<Endpoint>,
    /// The connection that is made, or stands, and since when, nanoseconds.
    dialled: Option<(usize, u64)>,
    link: Option<ConnectionId>,
    dial_at: u64,
    dials: usize,
    /// What was said of it last, so that it is not said again and again.
    complaint: String,
}

/// What a server has to do with witnesses.
#[derive(Debug)]
pub(in crate::server) struct Voting {
    pub(in crate::server) election: Election,
    seats: Vec<Seat>,
    timeout_ns: u64,
    /// Of a replica: it does not stand before this moment, nanoseconds.
    stands_from: u64,
    won: u64,
}

impl Voting {
    /// `None` where there are no witnesses.
    pub(in crate::server) fn new<R: Rules>(plan: &ReplicationPlan) -> Option<Self> {
        let witnesses = plan.witnesses.len();
        let majority = if R::makes(Fault::ElectedByAnyWitness) { 1 } else { witnesses / 2 + 1 };
        let identity = if plan.identity == 0 { plan.id } else { plan.identity };
        let timeout_ns = plan.timeout_ns;
        let seat =
            |endpoints: &Vec<Endpoint>| Seat { endpoints: endpoints.clone(), ..Seat::default() };
        (witnesses > 0).then(|| Self {
            election: Election::new(ElectionPlan {
                witnesses,
                majority,
                id: plan.id,
                identity,
                patience_ns: timeout_ns / 4,
                again_ns: timeout_ns / 4,
            }),
            seats: plan.witnesses.iter().map(seat).collect(),
            timeout_ns,
            stands_from: 0,
            won: 0,
        })
    }

    /// Witnesses there are, those that are connected, those that keep what this server said last;
    /// the term; how often it was elected.
    pub(in crate::server) fn figures(&self) -> [u64; 5] {
        let reached = self.seats.iter().filter(|seat| seat.link.is_some()).count() as u64;
        let agree = self.election.kept_by() as u64;
        [self.seats.len() as u64, reached, agree, self.election.term(), self.won]
    }

    fn takes_part(&self) -> bool {
        self.election.holds() || self.election.stands()
    }

    fn wake_at(&self, replica_in_sync: bool) -> Option<u64> {
        let seat = |(at, seat): (usize, &Seat)| match (seat.dialled, seat.link) {
            (None, _) => self.takes_part().then_some(seat.dial_at),
            (Some((_, since)), None) => Some(since + self.timeout_ns + 1),
            (Some(_), Some(_)) => match self.election.asked_since(at) {
                Some(since) => Some(since + self.timeout_ns + 1),
                None => self.election.asks_again_at(at),
            },
        };
        let stands = replica_in_sync && !self.election.stands();
        let own = [self.election.wake_at(), stands.then_some(self.stands_from)];
        self.seats.iter().enumerate().filter_map(seat).chain(own.into_iter().flatten()).min()
    }
}

impl<C: Clock, R: Rules> LockServer<'_, C, R> {
    /// True when this server may tell clients what is locked, as far as its witnesses go. The clock
    /// is read anew: behind what was done, a moment ago is too early.
    pub(in crate::server) fn is_let(&self) -> bool {
        let (Some(voting), Role::Primary(primary)) =
            (&self.replicated.voting, &self.replicated.role)
        else {
            return true;
        };
        let exposed = voting.election.exposed_to();
        let trusts = || {
            let replica = primary.replica().filter(|id| exposed.iter().all(|it| it == id));
            replica.is_some()
                && primary.answered_ping() > 0
                && self.clock.now_ns() < primary.answered_ping() + trusted_ns(voting.timeout_ns)
        };
        voting.election.holds() && (exposed.is_empty() || trusts())
    }

    /// True where there are no witnesses, or a majority of them has let this server give locks out.
    pub(in crate::server) fn is_elected(&self) -> bool {
        self.replicated.voting.as_ref().is_none_or(|voting| voting.election.holds())
    }

    /// True while witnesses may keep that this server takes another's place, and no majority does.
    pub(in crate::server) fn is_sealed(&self) -> bool {
        self.replicated.voting.as_ref().is_some_and(|voting| voting.election.is_sealed())
    }

    /// What has to do with witnesses in each turn of the loop.
    pub(in crate::server) fn pass_election(&mut self) {
        self.leave_silent_witnesses();
        let (now, next_epoch) = (self.now, self.next_epoch());
        let Some(voting) = &mut self.replicated.voting else {
            return;
        };
        let Voting { election, stands_from, .. } = voting;
        election.pass(now);
        match &mut self.replicated.role {
            Role::Primary(primary) => {
                if !election.holds() && !election.stands() {
                    let epoch = self.plan.epoch;
                    let (first, whole) = (true, true); // whose epoch is another has lost something
                    let standing =
                        Standing { epoch, next_epoch: epoch, first, whole, ..Standing::default() };
                    election.stand(now, standing);
                }
                if let Some(partner) = partner_of(primary) {
                    election.set_partner(partner);
                }
                let waits = primary.state() == State::Suspended && !primary.may_serve();
                primary.permit_going_on(election.holds() && election.exposed_to().is_empty());
                if waits && primary.may_serve() {
                    (self.tell)(Event::Replication(Told::LetAlone));
                }
            }
            Role::Replica(replica) => {
                let ready = replica.in_sync() && !election.stands();
                if ready && now >= *stands_from {
                    let epoch = replica.held();
                    let standing =
                        Standing { epoch, next_epoch, in_sync: true, ..Standing::default() };
                    election.stand(now, standing);
                    (self.tell)(Event::Replication(Told::Stands));
                }
            }
            Role::Fenced { .. } | Role::Witness(_) => {}
        }
    }

    /// Somebody has decided that this server gives locks out: the witnesses are told so.
    pub(in crate::server) fn stand_by_force(&mut self) {
        let (now, epoch) = (self.now, self.plan.epoch);
        if let Some(voting) = &mut self.replicated.voting {
            let standing =
                Standing { epoch, next_epoch: epoch, forced: true, ..Standing::default() };
            voting.election.stand(now, standing);
        }
        self.pass_election();
    }

    /// A replica hears its primary: it does not ask for its place any more.
    ///
    /// # Errors
    /// When only a majority of the witnesses can decide that by now.
    pub(in crate::server) fn follow_on(&mut self) -> Result<(), String> {
        let election = self.replicated.voting.as_mut().map(|voting| &mut voting.election);
        if election.is_some_and(|election| election.stands() && !election.withdraw()) {
            return Err("this server asks the witnesses for its place".into());
        }
        Ok(())
    }

    /// This replica takes nobody's place for a while; true when there are witnesses at all. The
    /// clock is read anew: what is answered may have been sent behind the last reading.
    pub(in crate::server) fn promise(&mut self) -> bool {
        let now = self.clock.now_ns();
        let voting = self.replicated.voting.as_mut();
        voting.map(|it| it.stands_from = now + promised_ns(it.timeout_ns)).is_some()
    }

    /// A connection to a witness, if it is time to make one.
    pub(in crate::server) fn dial_witness(&mut self) -> Option<(Endpoint, usize)> {
        let now = self.now;
        let voting = self.replicated.voting.as_mut().filter(|voting| voting.takes_part())?;
        let due = |seat: &Seat| seat.dialled.is_none() && now >= seat.dial_at;
        let at = voting.seats.iter().position(due)?;
        let seat = &mut voting.seats[at];
        let endpoint = seat.endpoints.get(seat.dials % seat.endpoints.len().max(1))?.clone();
        seat.dials += 1;
        let mut client = Client::new(0, peer_of(&endpoint));
        client.purpose = Purpose::Witness { at, replies: 0 };
        let number = self.seat(client);
        if let Some(voting) = &mut self.replicated.voting {
            voting.seats[at].dialled = Some((number, now));
        }
        Some((endpoint, number))
    }

    pub(in crate::server) fn witness_connected(&mut self, at: usize, id: Option<ConnectionId>) {
        if let Some(voting) = &mut self.replicated.voting {
            voting.seats[at].link = id;
        }
    }

    /// A connection to a witness is gone.
    pub(in crate::server) fn witness_left(&mut self, at: usize) {
        if let Some(voting) = &mut self.replicated.voting {
            let seat = &mut voting.seats[at];
            (seat.link, seat.dialled) = (None, None);
            seat.dial_at = self.now + DIAL_AGAIN_NS;
            voting.election.lost(at);
        }
    }

    /// Says of a witness what was not said of it last.
    pub(in crate::server) fn complain_of_witness(&mut self, at: usize, why: &str) {
        let Some(voting) = &mut self.replicated.voting else {
            return;
        };
        let complaint = &mut voting.seats[at].complaint;
        if complaint != why {
            why.clone_into(complaint);
            (self.tell)(Event::Replication(Told::Witness { number: at + 1, why }));
        }
    }

    /// Leaves witnesses that do not answer in time.
    fn leave_silent_witnesses(&mut self) {
        let Some(voting) = &self.replicated.voting else {
            return;
        };
        let is_late = |since: u64| self.now.saturating_sub(since) > voting.timeout_ns;
        let late = voting.seats.iter().enumerate().filter_map(|(at, seat)| {
            let (client, since) = seat.dialled?;
            let since = match seat.link {
                Some(_) => voting.election.asked_since(at)?,
                None => since,
            };
            is_late(since).then_some((at, client))
        });
        for (at, client) in late.collect::<Vec<_>>() {
            let id = self.clients[client].as_ref().and_then(|client| client.connection_id);
            self.replicated.drops.extend(id);
            self.complain_of_witness(at, "does not answer");
        }
    }

    /// What a witness is asked now.
    pub(in crate::server) fn push_to_witness(&mut self, out: &mut Vec<u8>) -> Option<ConnectionId> {
        let now = self.now;
        let voting = self.replicated.voting.as_mut()?;
        for (at, seat) in voting.seats.iter().enumerate() {
            if let Some(link) = seat.link
                && let Some(request) = voting.election.ask(now, at)
            {
                let words = request.words();
                let words: Vec<&[u8]> = words.iter().map(String::as_bytes).collect();
                resp::push_command(out, &words);
                return Some(link);
            }
        }
        None
    }

    /// A witness answered; false when that is no answer.
    pub(in crate::server) fn hear_witness(&mut self, at: usize, reply: resp::Reply<'_>) -> bool {
        let resp::Reply::Array(items) = reply else {
            return false;
        };
        let words: Option<Vec<&[u8]>> = items
            .map(|item| match item {
                resp::Reply::Bulk(word) => Some(word),
                _ => None,
            })
            .collect();
        let Some(Ok(answer)) = words.map(|words| Answer::read(&words)) else {
            return false;
        };
        let now = self.now;
        let Some(voting) = &mut self.replicated.voting else {
            return false;
        };
        voting.seats[at].complaint.clear();
        let outcome = voting.election.answered(now, at, &answer);
        match outcome {
            None => {}
            Some(Outcome::Won(register)) => {
                voting.won += 1;
                if let Role::Replica(_) = self.replicated.role {
                    self.take_over("a majority of the witnesses", register.epoch);
                }
                self.decide_for(self.plan.epoch);
                (self.tell)(Event::Replication(Told::Elected(register)));
            }
            Some(Outcome::Lost(register)) => {
                // what witnesses keep may have been too old for what is here
                voting.stands_from = now + voting.timeout_ns;
                let gave_out = voting.won > 0;
                let Role::Primary(_) = self.replicated.role else {
                    (self.tell)(Event::Replication(Told::Outvoted(register)));
                    return true;
                };
                self.step_down(register.epoch, None);
                let by = register.epoch;
                let told = if gave_out { Told::Fenced { by } } else { Told::Outvoted(register) };
                (self.tell)(Event::Replication(told));
            }
        }
        self.pass_election();
        true
    }

    /// When something is to be done about witnesses although nobody says anything, nanoseconds.
    pub(in crate::server) fn election_wakes_at(&self) -> Option<u64> {
        let voting = self.replicated.voting.as_ref()?;
        let in_sync = match &self.replicated.role {
            Role::Primary(_) if !voting.takes_part() => return Some(0), // it stands at once
            Role::Replica(replica) => replica.in_sync(),
            Role::Primary(_) | Role::Fenced { .. } | Role::Witness(_) => false,
        };
        voting.wake_at(in_sync)
    }
}

/// Which replica may take over, as witnesses are to keep it; `None`: as it is.
fn partner_of(primary: &Primary) -> Option<u64> {
    match primary.state() {
        State::InSync => primary.replica(),
        State::None | State::Suspended | State::Filling => primary.wants_to_go_on().then_some(0),
        State::Joining => None,
    }
}
