//! Further connections of users that have several: to other hosts, or several to one.
//!
//! Each is made when its user first asks over it, is kept as long as the server keeps it, and closed
//! when the user leaves. What waits for one fails when it cannot be made.

use std::borrow::Cow;
use std::num::NonZeroUsize;

use plumb_link::Link;
use plumb_measure::FailureKind;
use plumb_socket::Time;

use super::{Drive, script};
use crate::Endpoint;
use crate::conn::{Conn, Phase};
use crate::flight::{Flight, Moment};
use crate::protocol::Protocol;

impl<P: Protocol, L: Link, T: Time> Drive<'_, P, L, T> {
    /// The number of the user of connection `index` among those of this thread.
    pub(super) fn owner(&self, index: usize) -> usize {
        if P::SCRIPTED { self.conns[index].owner } else { index }
    }

    /// The number of the user of connection `index` among all.
    pub(super) fn number(&self, index: usize) -> usize {
        script::number::<P>(self.job.share, self.owner(index))
    }

    /// True when connection `index` is not the one that its user began with.
    pub(super) fn is_aside(&self, index: usize) -> bool {
        P::SCRIPTED && self.conns[index].owner != index
    }

    /// True when user `index` has further connections, or one for several requests: its protocol knows
    /// how many it may have under way.
    pub(super) fn has_others(&self, index: usize) -> bool {
        P::SCRIPTED && (P::MULTIPLEXED || self.conns[index].beside.is_some())
    }

    /// Where connection `index` leads.
    pub(super) fn endpoint(&self, index: usize) -> Cow<'_, Endpoint> {
        let route = usize::from(self.conns[index].route);
        let destination = self.job.routes.get(route);
        let found = destination.and_then(|it| it.of(self.number(index)));
        found.unwrap_or(Cow::Borrowed(self.job.endpoint))
    }

    /// Sends what was encoded over a connection of `user` to `route` that takes it, or over a new one
    /// once it stands.
    pub(super) fn send_over(&mut self, user: usize, route: u16, mut flight: Flight) {
        self.begun += u64::from(flight.counts);
        let index = self.free_over(user, route);
        let open = self.conns[index].open();
        if !open && flight.due == Moment::NONE {
            flight.due = Moment::at(self.now); // what it waits is part of its response time
        }
        self.conns[index].flights.push_back(flight);
        self.in_flight += 1;
        if open {
            let conn = &mut self.conns[index];
            self.protocol.carry(&mut conn.wire, &mut self.requests);
            if P::MULTIPLEXED {
                conn.request.append(&mut self.requests); // others may go with it
            } else {
                self.send(index);
            }
            return;
        }
        self.conns[index].request.append(&mut self.requests);
        if matches!(self.conns[index].phase, Phase::Down { .. }) {
            // an error would be that of a first connection, and that of the user has stood
            let _ = self.connect(index);
        }
    }

    /// Sends what was encoded for the connections of `user` that stand.
    pub(super) fn send_together(&mut self, user: usize) {
        let mut next = Some(user);
        while let Some(at) = next {
            let conn = &mut self.conns[at];
            if conn.open() && !conn.request.is_empty() {
                self.requests.append(&mut conn.request);
                self.send(at);
            }
            next = self.conns[at].beside.map(NonZeroUsize::get);
        }
    }

    /// Connection `index`, which is not that of a user, stands: what waited for it is sent.
    pub(super) fn send_what_waited(&mut self, index: usize) {
        let conn = &mut self.conns[index];
        self.requests.append(&mut conn.request);
        self.protocol.carry(&mut conn.wire, &mut self.requests);
        for flight in conn.flights.latest_mut() {
            flight.sent = Moment::NONE; // what was sent until now opened the connection
        }
        self.send(index);
        if P::MULTIPLEXED {
            self.ask_again(index);
        }
    }

    /// A connection of `user` over `route` that takes a request: one that stands and on which nothing is
    /// under way, or anything if the protocol takes several at a time; then also one that does not stand
    /// yet.
    fn free_over(&mut self, user: usize, route: u16) -> usize {
        let (mut at, mut down) = (user, None);
        let last = loop {
            let conn = &mut self.conns[at];
            let idle = conn.route == route && conn.flights.is_empty();
            let hung_up = conn.phase.channel().is_some_and(|channel| channel.hung_up());
            if P::MULTIPLEXED && conn.route == route && !hung_up {
                let coming = !conn.open() && conn.phase.channel().is_some();
                if coming || conn.open() && self.protocol.takes_more(&conn.wire) {
                    return at;
                }
            }
            if !P::MULTIPLEXED && idle && conn.open() && !hung_up {
                return at;
            }
            // one that hung up is down once its end was read
            if idle && at != user && matches!(conn.phase, Phase::Down { .. }) {
                down = Some(at);
            }
            match conn.beside {
                Some(next) => at = next.get(),
                None => break at,
            }
        };
        if let Some(index) = down {
            return index;
        }
        let index = self.conns.len();
        self.conns.push(Conn::new(user, route));
        self.conns[index].phase = Phase::Down { retry_at: u64::MAX };
        self.conns[last].beside = NonZeroUsize::new(index);
        self.watch.add();
        index
    }

    /// The connection that something waits for cannot be made.
    pub(super) fn fail_waiting(&mut self, index: usize, kind: FailureKind) {
        let conn = &mut self.conns[index];
        conn.request.clear();
        let owner = conn.owner;
        self.in_flight -= conn.flights.len() + conn.unprocessed.len();
        // what opens a connection is due to nobody
        let waiting = conn.flights.iter().filter(|flight| flight.due != Moment::NONE).copied();
        let waiting: Vec<Flight> = waiting.chain(conn.unprocessed.drain(..)).collect();
        conn.flights.clear();
        self.drop_connection(index);
        for flight in waiting {
            self.fail_unsent(owner, flight, kind);
        }
        self.go_on(owner);
    }

    /// Something of `user` has ended on another connection than its own: it goes on.
    pub(super) fn go_on(&mut self, user: usize) {
        match &self.conns[user].phase {
            Phase::Open { .. } => self.ready_for_work(user),
            Phase::Down { .. } => {
                let retry_at = self.now.max(self.needs_none_before(user));
                self.conns[user].phase = Phase::Down { retry_at };
                self.ask_wake(user);
            }
            Phase::Connecting { .. }
            | Phase::Handshaking { .. }
            | Phase::Greeting { .. }
            | Phase::Finished => {}
        }
    }

    /// Closes all connections of `user` but its own.
    pub(super) fn close_others(&mut self, user: usize) {
        let mut next = self.conns[user].beside;
        while let Some(at) = next {
            self.close(at.get());
            let conn = &mut self.conns[at.get()];
            conn.phase = Phase::Down { retry_at: u64::MAX };
            next = conn.beside;
        }
    }
}
