//! The loop that serves: any number of connections on one thread.

mod admission;
mod dial;
mod lone;
mod patience;
mod room;
#[cfg(test)]
mod tests;
mod together;
mod turn;
mod withheld;

use std::collections::VecDeque;

use plumb_link::Link;
use plumb_measure::{Span, Tick};
use plumb_socket::{Listener, Nagle, Poll, Reception, Stop, Time, Timers, Turns, Wake};

use plumb_wire::cidr::Cidr;

use crate::channel::{Channel, READ_BYTES};
use crate::clock::MonotonicClock;
use crate::service::{ConnectionId, Ended, Service};
use crate::{Endpoint, EngineError};
use lone::Lone;
use patience::Patience;
use together::Replies;
use withheld::Withheld;

/// How long a client may take to read a farewell.
const FAREWELL_NS: u64 = 1_000_000_000;
/// What a server allows its clients.
#[derive(Clone, Debug, PartialEq)]
pub struct ServePlan {
    /// Clients served at once; more are turned away.
    pub max_clients: usize,
    /// A client silent for this long is closed; `None`: never.
    pub idle: Option<Span>,
    /// A message that was begun must go on, and a handshake be complete, within this.
    pub stall: Span,
    /// The server stops when no client has sent anything for this long; `None`: never.
    pub quit_after: Option<Span>,
    /// Bytes held of messages that are not complete and of replies that are not taken, of all clients
    /// together. Beyond it, those are closed that were silent longest. `None`: no limit.
    pub memory: Option<usize>,
    /// Who may connect over IP; empty: everybody who reaches the address.
    pub allow: Vec<Cidr>,
    /// Ask again and again instead of waiting.
    pub spin: bool,
    /// The processor to run on.
    pub pin: Option<usize>,
    /// Whether the kernel may hold back what is sent over TCP.
    pub nagle: Nagle,
    /// What is done about the tick of a processor that idles while the server waits.
    pub tick: Tick,
}

impl ServePlan {
    /// At most `max_clients`, wherever they come from and however long they are silent; what one
    /// began must go on within `stall`.
    #[must_use]
    pub fn new(max_clients: usize, stall: Span) -> Self {
        Self {
            max_clients,
            idle: None,
            stall,
            quit_after: None,
            memory: None,
            allow: Vec::new(),
            spin: false,
            pin: None,
            nagle: Nagle::Off,
            tick: Tick::Free,
        }
    }
}

/// Serves the clients of `listeners` until `stop` is set or the plan says so. `link` makes the
/// link of one connection.
///
/// # Errors
/// When the loop itself cannot go on. What clients do is no error.
pub fn serve<S: Service, L: Link>(
    plan: &ServePlan,
    listeners: &[Listener],
    service: &mut S,
    link: impl Fn() -> L,
    stop: &Stop,
) -> Result<(), EngineError> {
    serve_and_dial(plan, listeners, service, (&link, &|_| link()), stop)
}

/// Makes the link of a connection to an address.
pub type LinkTo<'a, L> = &'a dyn Fn(&Endpoint) -> L;

/// The same for a service that makes connections of its own: `links` are the link of one that was
/// accepted, and of one that was dialled, to this address.
///
/// # Errors
/// When the loop itself cannot go on.
pub fn serve_and_dial<S: Service, L: Link>(
    plan: &ServePlan,
    listeners: &[Listener],
    service: &mut S,
    links: (&dyn Fn() -> L, LinkTo<'_, L>),
    stop: &Stop,
) -> Result<(), EngineError> {
    crate::ThreadContext { cpu: plan.pin, netns: None }.settle()?;
    Serve::new(plan, listeners, service, links, MonotonicClock, stop)?.run()
}

/// One client. What every message touches stands first, in as few lines of the processor's cache as can be.
#[repr(C)]
pub(crate) struct Client<C, L> {
    channel: Channel<L>,
    wake: Wake,
    last_heard: u64,
    shaken: bool,
    /// Everything is said: close once it is sent.
    closing: Option<Ended>,
    /// Not read while what was said before waits to be sent.
    paused: bool,
    /// Some of its replies wait for the service: it is among those that are looked at behind
    /// settling.
    unsettled: bool,
    /// Not served until the service has answered what it asked last.
    waiting: bool,
    /// It was dialled, and does not stand yet.
    connecting: bool,
    /// Whole messages may be among what is kept: they are served before more is read.
    unserved: bool,
    /// Everything that was announced of what it sends was read.
    drained: bool,
    /// Bytes that it had taken of the memory for what is unfinished when it was looked at last.
    taken: usize,
    /// Replies that wait for the service to settle.
    withheld: Withheld,
    /// `None` once the client only reads a farewell.
    conn: Option<C>,
}

#[repr(C, align(64))]
struct Slot<C, L> {
    generation: u32,
    client: Option<Client<C, L>>,
}

/// The state of the loop.
pub(crate) struct Serve<'a, S: Service, L, T> {
    plan: &'a ServePlan,
    reception: Reception<'a>,
    service: &'a mut S,
    link: &'a dyn Fn() -> L,
    link_of_dialled: LinkTo<'a, L>,
    time: T,
    stop: &'a Stop,
    now: u64,
    poll: Poll,
    slots: Vec<Slot<S::Conn, L>>,
    free: Vec<usize>,
    clients: usize,
    /// Those who were let in beyond the limit, the oldest first, and some who have gone.
    beyond: VecDeque<ConnectionId>,
    /// Bytes that all clients take of the memory for what is unfinished.
    taken: usize,
    timers: Timers,
    again: Turns,
    /// Clients whose replies wait for the service to settle.
    unsettled: Vec<usize>,
    buffer: Vec<u8>,
    reply: Vec<u8>,
    replies: Replies,
    last_heard: u64,
    lone: Lone,
    patience: Patience,
}

impl<'a, S: Service, L: Link, T: Time> Serve<'a, S, L, T> {
    pub(crate) fn new(
        plan: &'a ServePlan,
        listeners: &'a [Listener],
        service: &'a mut S,
        (link, link_of_dialled): (&'a dyn Fn() -> L, LinkTo<'a, L>),
        time: T,
        stop: &'a Stop,
    ) -> Result<Self, EngineError> {
        let poll =
            Poll::new(stop, plan.tick).map_err(EngineError::system("create an epoll set"))?;
        let reception = Reception::new(listeners, &poll)
            .map_err(EngineError::system("wait for connections"))?;
        Ok(Self {
            plan,
            reception,
            service,
            link,
            link_of_dialled,
            now: time.now_ns(),
            last_heard: time.now_ns(),
            time,
            stop,
            poll,
            slots: Vec::new(),
            free: Vec::new(),
            clients: 0,
            beyond: VecDeque::new(),
            taken: 0,
            timers: Timers::default(),
            again: Turns::default(),
            unsettled: Vec::new(),
            buffer: Vec::with_capacity(READ_BYTES),
            reply: Vec::new(),
            replies: Replies::default(),
            lone: Lone::default(),
            patience: Patience::default(),
        })
    }

    pub(crate) fn run(mut self) -> Result<(), EngineError> {
        while !self.stop.asked() && !self.quit_now() {
            self.pass()?;
        }
        for index in 0..self.slots.len() {
            self.close(index, Ended::Stopped);
        }
        Ok(())
    }

    fn quit_now(&self) -> bool {
        self.quit_at().is_some_and(|at| self.now >= at)
    }

    fn quit_at(&self) -> Option<u64> {
        self.plan.quit_after.map(|after| self.last_heard + after.ns())
    }

    fn pass(&mut self) -> Result<(), EngineError> {
        let owes = S::SETTLES && !self.unsettled.is_empty();
        if self.lone.client.is_none() || self.hear_the_only_one() {
            self.look_around()?;
        }
        if S::WAITS {
            self.answer_late();
            if owes {
                self.hear_waited_for_again();
            }
            self.push();
        }
        if S::SETTLES && (S::WAITS || !self.unsettled.is_empty()) {
            self.settle().map_err(EngineError::system("keep what was served"))?;
        }
        if S::WAITS {
            self.drop_those_named();
        }
        if S::DIALS {
            self.dial();
        }
        self.on_time();
        Ok(())
    }

    /// Serves everybody who is ready; waits for somebody unless the only client is being heard.
    fn look_around(&mut self) -> Result<(), EngineError> {
        self.wait().map_err(EngineError::system("wait for sockets"))?;
        self.now = self.time.now_ns();
        if S::WAITS {
            self.service.due(self.now);
        }
        let heard = if S::SETTLES { self.hear_waited_for_if_announced() } else { None };
        self.replies.gather(if self.service.together() { self.poll.found() } else { 0 });
        for at in 0..self.poll.found() {
            let ready = self.poll.ready(at);
            match Reception::listener(ready.token) {
                Some(listener) => self.accept(listener),
                None if heard == Some(ready.token) => {}
                None => self.on_ready(ready),
            }
        }
        for _ in 0..self.again.len() {
            if let Some(index) = self.again.pop() {
                self.read(index);
            }
        }
        self.send_gathered();
        self.replies.gather(0);
        self.watch_for_the_only_one();
        Ok(())
    }

    /// When something must be done even if the sockets stay silent.
    fn deadline(&self) -> Option<u64> {
        if self.plan.spin || !self.again.is_empty() || self.lone.client.is_some() {
            return Some(0);
        }
        let service = if S::WAITS { self.service.wake_at() } else { None };
        [self.timers.next(), self.quit_at(), self.reception.again_at(), service]
            .into_iter()
            .flatten()
            .min()
    }

    fn occupy_slot(&mut self, channel: Channel<L>) -> usize {
        let client = Client {
            channel,
            conn: None,
            shaken: false,
            closing: None,
            paused: false,
            unsettled: false,
            withheld: Withheld::default(),
            waiting: false,
            connecting: false,
            unserved: false,
            drained: false,
            last_heard: self.now,
            taken: 0,
            wake: Wake::default(),
        };
        match self.free.pop() {
            Some(index) => {
                self.slots[index].client = Some(client);
                index
            }
            None => {
                self.slots.push(Slot { generation: 0, client: Some(client) });
                self.slots.len() - 1
            }
        }
    }

    fn client(&mut self, index: usize) -> Option<&mut Client<S::Conn, L>> {
        self.slots[index].client.as_mut()
    }

    /// Takes the client out of its slot, which is free then.
    fn vacate(&mut self, index: usize) -> Option<Client<S::Conn, L>> {
        let slot = &mut self.slots[index];
        let client = slot.client.take()?;
        self.taken -= client.taken;
        slot.generation = slot.generation.wrapping_add(1);
        self.free.push(index);
        if self.lone.client == Some(index) {
            self.lone = Lone::default();
        }
        Some(client)
    }

    fn close(&mut self, index: usize, ended: Ended) {
        self.send_gathered();
        let Some(client) = self.vacate(index) else {
            return;
        };
        if let Some(mut conn) = client.conn {
            self.clients -= 1;
            // what came behind an end that we asked for is nobody's loss
            if client.closing.is_none() && client.channel.kept() > 0 {
                self.service.cut_off(&mut conn, client.channel.bytes(&[]));
            }
            self.service.close(conn, client.closing.unwrap_or(ended));
        }
    }

    /// Lets the service go on with a connection by itself.
    fn hand_over(&mut self, index: usize) {
        self.send_gathered();
        let ready = self.client(index).is_some_and(|client| {
            !client.channel.encrypted()
                && client.channel.flush().is_ok()
                && !client.channel.sending()
        });
        if !ready {
            return self.close(index, Ended::Broken);
        }
        let Some(client) = self.vacate(index) else {
            return;
        };
        // a socket that is not in the set needs no removal
        let _ = self.poll.remove(client.channel.socket());
        let (socket, unread) = client.channel.into_parts();
        if let Some(conn) = client.conn {
            self.clients -= 1;
            self.service.hand_over(conn, socket, unread);
        }
    }

    fn on_time(&mut self) {
        while let Some((at, index)) = self.timers.pop(self.now) {
            let now = self.now;
            let Some(client) = self.slots[index].client.as_mut() else {
                continue;
            };
            if !client.wake.fired(at) {
                continue;
            }
            match client.overdue::<S>(self.plan) {
                Some((deadline, ended)) if deadline <= now => self.close(index, ended),
                _ => self.ask_wake(index),
            }
        }
        self.reception.resume(&self.poll, self.now);
    }

    fn ask_wake(&mut self, index: usize) {
        let Some(client) = self.slots[index].client.as_mut() else {
            return;
        };
        if let Some((deadline, _)) = client.overdue::<S>(self.plan) {
            self.timers.ask(&mut client.wake, index, deadline);
        }
    }
}

impl<C, L: Link> Client<C, L> {
    /// Everything that it has sent was served and answered, and nothing of either direction is held.
    fn owes_nothing<S: Service>(&self) -> bool {
        !self.withholds::<S>()
            && self.channel.holds_nothing()
            && self.taken == 0
            && !(self.paused || self.unserved || self.closing.is_some())
    }

    /// Replies to it wait for the service to settle.
    fn withholds<S: Service>(&self) -> bool {
        S::SETTLES && !self.withheld.is_empty()
    }

    /// When, and why, this client is closed if it stays silent.
    fn overdue<S: Service>(&self, plan: &ServePlan) -> Option<(u64, Ended)> {
        if self.withholds::<S>() {
            return None; // it is our turn
        }
        if let Some(ended) = self.closing {
            return Some((self.last_heard + FAREWELL_NS, ended));
        }
        if self.waiting && !self.channel.sending() {
            return None; // here, too
        }
        if !self.shaken || self.channel.kept() > 0 || self.channel.sending() {
            return Some((self.last_heard + plan.stall.ns(), Ended::Stalled));
        }
        plan.idle.map(|idle| (self.last_heard + idle.ns(), Ended::Idle))
    }
}

impl<S: Service, L, T> std::fmt::Debug for Serve<'_, S, L, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Serve").field("clients", &self.clients).finish_non_exhaustive()
    }
}
