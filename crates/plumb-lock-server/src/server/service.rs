//! What the loop that serves asks of the server.

use std::io;

use plumb_engine::{ConnectionId, Ended, Endpoint, Peer, Served, Service, StampWish, TurnedAway};
use plumb_lock_table::table::{Fault, Rules};
use plumb_measure::{Clock, Residence};
use plumb_wire::resp;

use super::beyond::RESERVE;
use super::connection::{Client, Purpose, Waits};
use super::mark::Mark;
use super::role::Role;
use super::words::Command;
use super::{After, Event, LockServer};

/// Commands and rows behind which everybody is served one command a turn.
const WORK_A_TURN: u64 = 2_000;
/// Owners that end at once when their connection does.
const OWNERS_AT_ONCE: usize = 64;

impl<C: Clock, R: Rules> Service for LockServer<'_, C, R> {
    type Conn = usize;

    const SETTLES: bool = true;
    const WAITS: bool = true;
    const DIALS: bool = true;
    const STAMPS: bool = true;

    fn together(&self) -> bool {
        true
    }

    fn stamps(&self, conn: &usize) -> StampWish {
        let stamps = self.clients[*conn].as_ref().and_then(|client| client.stamps.as_ref());
        stamps.map_or(StampWish::Nothing, |stamps| stamps.0.wish())
    }

    fn stamped(&mut self, conn: &mut usize, residence: Residence) {
        let client = self.clients[*conn].as_mut();
        if let Some(stamps) = client.and_then(|client| client.stamps.as_mut()) {
            stamps.0.left(residence);
        }
    }

    fn open(&mut self, peer: &Peer) -> Result<usize, Vec<u8>> {
        self.connections_so_far += 1;
        Ok(self.seat(Client::new(self.connections_so_far, peer.clone())))
    }

    const RESERVE: usize = RESERVE;

    fn open_beyond(&mut self, peer: &Peer) -> Result<usize, Vec<u8>> {
        Ok(self.seat_beyond(peer))
    }

    fn makes_room(&self, conn: &usize) -> bool {
        self.is_still_beyond(*conn)
    }

    fn accepted(&mut self, conn: &mut usize, connection_id: ConnectionId) {
        if let Some(client) = &mut self.clients[*conn] {
            client.connection_id = Some(connection_id);
        }
    }

    fn serve(&mut self, conn: &mut usize, bytes: &[u8], out: &mut Vec<u8>) -> Served {
        self.replicated.shows = false;
        let Some(client) = &mut self.clients[*conn] else {
            return heard(None, bytes);
        };
        if client.closes {
            return heard(None, bytes);
        }
        if R::makes(Fault::ForgetsBehindCutCommand) {
            client.shown_in = 0;
        }
        match client.purpose {
            Purpose::Client => {}
            Purpose::Replica => return heard(self.hear_replica(*conn, bytes), bytes),
            Purpose::Primary { .. } | Purpose::Herald { .. } | Purpose::Witness { .. } => {
                return heard(self.hear_other(*conn, bytes, out), bytes);
            }
        }
        let mut words = std::mem::take(&mut self.words);
        let mut served = Served::default();
        let (mut commands, mut answered) = (0, true);
        self.looked = false;
        let piece = self.piece_of(bytes);
        while !self.looked {
            let rest = &bytes[served.consumed..];
            match resp::command(rest, &self.plan.limits, &mut words) {
                Ok(None) => break,
                Ok(Some(taken)) => {
                    served.consumed += taken;
                    if words.is_empty() {
                        continue;
                    }
                    let command = Command { bytes: rest, words: &words };
                    commands += 1;
                    match self.obey(*conn, command, out) {
                        After::Stream => break,
                        After::Next => {
                            self.looked |=
                                served.consumed >= piece || self.work_of_turn() > WORK_A_TURN;
                        }
                        After::Wait => {
                            let owner = self.table.owner(command.get(1));
                            self.keep_waiting(*conn, owner, &rest[..taken]);
                            answered = false;
                            break;
                        }
                        After::Page => {
                            served = self.page(*conn, (rest, served.consumed - taken), out);
                            break;
                        }
                        After::Close => {
                            served.close = true;
                            break;
                        }
                    }
                }
                Err(malformed) => {
                    resp::push_error(out, format!("ERR {malformed}").as_bytes());
                    if let Some(client) = &self.clients[*conn] {
                        (self.tell)(Event::Malformed(&client.peer, malformed));
                    }
                    served.close = true;
                    break;
                }
            }
        }
        self.words = words;
        self.answered_with_locks(*conn);
        self.count_commands(*conn, commands, answered, out);
        served
    }

    fn waits(&self, conn: &usize) -> bool {
        self.clients[*conn].as_ref().is_some_and(|client| client.waits != Waits::No)
    }

    fn yields(&self, _: &usize) -> bool {
        self.looked
    }

    fn unsettled(&self) -> bool {
        self.notes.unsettled(&self.table) || self.has_to_keep()
    }

    fn mark(&self, conn: &usize) -> u64 {
        self.mark_of(*conn).0
    }

    fn may_tell(&self, conn: &usize, mark: u64) -> bool {
        self.may_be_told(*conn, Mark(mark))
    }

    fn waited_for(&self) -> Option<ConnectionId> {
        match self.replicated.role {
            Role::Primary(_) => self.replicated.link,
            Role::Replica(_) | Role::Fenced { .. } | Role::Witness(_) => None,
        }
    }

    fn push(&mut self, out: &mut Vec<u8>) -> Option<ConnectionId> {
        self.leave_silent_primary();
        self.push_to_replica(out).or_else(|| self.push_to_witness(out))
    }

    fn drop_next(&mut self) -> Option<ConnectionId> {
        self.replicated.drops.pop()
    }

    fn dial(&mut self) -> Option<(Endpoint, usize)> {
        self.dial_other().or_else(|| self.dial_witness())
    }

    fn connected(&mut self, conn: &mut usize, out: &mut Vec<u8>) {
        self.greet_other(*conn, out);
    }

    fn not_connected(&mut self, conn: &mut usize, error: &io::Error) {
        if let Some(Purpose::Witness { at, .. }) =
            self.clients[*conn].as_ref().map(|client| client.purpose)
        {
            self.complain_of_witness(at, &format!("cannot be reached: {error}"));
        } else if self.replicated.promotions == 0 {
            self.complain(&format!("cannot be reached: {error}"));
        }
    }

    fn wake_at(&self) -> Option<u64> {
        if self.has_more_to_do() || self.channels.has_more_to_say() {
            return Some(0);
        }
        let replication = self.replication_wakes_at();
        let election = self.election_wakes_at();
        let own = [self.waiters.wake_at(), self.lives.next(), self.notes.wake_at()];
        let times = own.into_iter().chain([replication, election]);
        times.flatten().min()
    }

    fn due(&mut self, now: u64) {
        self.now = now;
        self.look_at_wall_clock();
        self.pass_election();
        self.care();
    }

    fn late_reply(&mut self, out: &mut Vec<u8>) -> Option<ConnectionId> {
        let answered = self.answer_next(out);
        if answered.is_none() {
            self.tried = 0;
        }
        answered
    }

    fn message(&mut self, out: &mut Vec<u8>) -> Option<ConnectionId> {
        self.say_next(out)
    }

    fn settle(&mut self) -> io::Result<()> {
        self.end_turn();
        self.keep_witness()?;
        self.notes.settle(self.now, &self.table)?;
        self.settle_replication();
        Ok(())
    }

    fn unsecured(&mut self, conn: &mut usize, error: &io::Error) {
        match self.clients[*conn].as_ref().map(|client| client.purpose) {
            Some(Purpose::Client | Purpose::Replica) => {
                if let Some(client) = &self.clients[*conn] {
                    (self.tell)(Event::Unsecured(&client.peer, error));
                }
            }
            Some(_) => self.complain_of(*conn, &error.to_string()),
            None => {}
        }
    }

    fn close(&mut self, conn: usize, why: Ended) {
        self.give_search_up(conn); // while it is known who it was
        let Some(client) = self.clients[conn].take() else {
            return;
        };
        self.free.push(conn);
        match client.purpose {
            Purpose::Client => {}
            Purpose::Replica => return self.replica_left(client.connection_id),
            other => return self.other_left(conn, client.connection_id, other),
        }
        self.channels.forget(conn, &client.channels);
        if let Some(seat) = client.seat {
            self.waiters.answered(seat);
        }
        if why == Ended::Stopped {
            return; // the journal and the replica keep its owners, which have some grace then
        }
        if client.owners.len() > OWNERS_AT_ONCE {
            self.left.push(client.owners);
            return;
        }
        client.owners.into_iter().for_each(|id| self.end_with_connection(id));
    }

    fn turn_away(&mut self, peer: &Peer, why: TurnedAway) -> Vec<u8> {
        (self.tell)(Event::TurnedAway(peer, why));
        let mut farewell = Vec::new();
        resp::push_error(&mut farewell, format!("ERR {why}").as_bytes());
        farewell
    }

    fn cannot_accept(&mut self, error: &io::Error) {
        (self.tell)(Event::CannotAccept(error));
    }
}

/// What was heard of another server: so many bytes, or something behind which it is closed.
fn heard(taken: Option<usize>, bytes: &[u8]) -> Served {
    Served { consumed: taken.unwrap_or(bytes.len()), close: taken.is_none(), ..Served::default() }
}
