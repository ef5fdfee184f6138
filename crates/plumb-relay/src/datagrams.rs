//! A line for datagrams: late, lost, doubled and overtaken, by chance that a seed repeats.

mod chances;

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, HashMap, VecDeque};
use std::net::SocketAddr;
use std::os::fd::AsFd as _;

use plumb_engine::clock::MonotonicClock;
use plumb_engine::{
    Cidr, DatagramSocket, Endpoint, EngineError, Peer, Poll, Stop, ThreadContext, Time, Token,
};
use plumb_measure::statistics::SplitMix64;
use plumb_measure::{Clock as _, Span, Tick};
use rustix::io::ioctl_fionbio;

use chances::Chances;
pub use chances::{DatagramPathPlan, DatagramPathTotals};

/// One that is to be overtaken waits for so long for another, and then goes.
const WAIT_NS: u64 = 100_000_000;
/// A client that was silent for so long may make room for another.
const SILENT_NS: u64 = 10_000_000_000;
/// Datagrams that are on their way; more are lost, as in a router.
const UNDER_WAY_MAX: usize = 65_536;
/// Their bytes together, likewise.
const BYTES_MAX: usize = 256 << 20;
const BUFFER_BYTES: usize = 64 << 10;
/// Datagrams that are taken from one socket at a time: then those that are due leave, however many
/// still wait.
const TAKEN_A_TURN: usize = 64;

/// A whole line for datagrams.
#[derive(Clone, Debug, PartialEq)]
pub struct DatagramRelayPlan {
    /// From the clients to the target.
    pub there: DatagramPathPlan,
    /// From the target to the clients.
    pub back: DatagramPathPlan,
    /// Who may send; empty: everybody who reaches the address.
    pub allow: Vec<Cidr>,
    /// Clients at once; what more of them send is lost.
    pub max_clients: usize,
    /// The line ends after this; `None`: when it is told to stop.
    pub for_time: Option<Span>,
    /// Seed of jitter and of all shares.
    pub seed: u64,
}

/// What became of everything.
#[derive(Debug)]
pub struct DatagramRelayTotals {
    /// Clients that came.
    pub clients: u64,
    /// Datagrams of clients beyond the limit, or of those not allowed.
    pub turned_away: u64,
    /// From the clients to the target.
    pub there: DatagramPathTotals,
    /// From the target to the clients.
    pub back: DatagramPathTotals,
}

/// Passes datagrams that come to `near` on to `target`, and what comes back from there, until `stop`
/// is asked or the plan's time is over.
///
/// # Errors
/// When the loop itself cannot go on. What clients and targets do is no error.
pub fn relay_datagrams(
    plan: &DatagramRelayPlan,
    near: &DatagramSocket,
    target: &Endpoint,
    stop: &Stop,
) -> Result<DatagramRelayTotals, EngineError> {
    ThreadContext::default().settle()?;
    Line::new(plan, near, target, stop)?.run()
}

const THERE: usize = 0;
const BACK: usize = 1;
/// The token of the socket that clients send to; those of clients count from 0.
const NEAR: usize = u32::MAX as usize - 1;

/// A datagram on its way.
struct UnderWay {
    client: usize,
    way: usize,
    bytes: Vec<u8>,
    twice: bool,
    waits: bool,
}

/// One client.
struct Client {
    address: SocketAddr,
    far: DatagramSocket,
    heard_ns: u64,
    /// Those of each direction that wait to be overtaken, and until when.
    waiting: [VecDeque<(u64, UnderWay)>; 2],
}

struct Line<'a> {
    plan: &'a DatagramRelayPlan,
    near: &'a DatagramSocket,
    target: &'a Endpoint,
    stop: &'a Stop,
    time: MonotonicClock,
    poll: Poll,
    /// The tokens of sockets in which more may wait: of that nobody tells again.
    readable: BTreeSet<usize>,
    clients: Vec<Option<Client>>,
    numbers: HashMap<SocketAddr, usize>,
    chances: [Chances; 2],
    /// By when they are due, in the order in which they came.
    queue: BinaryHeap<Reverse<(u64, u64)>>,
    under_way: HashMap<u64, UnderWay>,
    /// Of all of these together.
    bytes_under_way: usize,
    /// How many those may be.
    bytes_max: usize,
    came: u64,
    seen: u64,
    turned_away: u64,
    buffer: Vec<u8>,
}

impl<'a> Line<'a> {
    fn new(
        plan: &'a DatagramRelayPlan,
        near: &'a DatagramSocket,
        target: &'a Endpoint,
        stop: &'a Stop,
    ) -> Result<Self, EngineError> {
        let poll =
            Poll::new(stop, Tick::Free).map_err(EngineError::system("create an epoll set"))?;
        ioctl_fionbio(near, true)
            .map_err(std::io::Error::from)
            .and_then(|()| poll.add_connection(near.as_fd(), Token { index: NEAR, generation: 0 }))
            .map_err(EngineError::system("wait for datagrams"))?;
        let mut seeds = SplitMix64::new(plan.seed);
        let chances = [plan.there, plan.back].map(|path| Chances::new(path, seeds.next_u64()));
        Ok(Self {
            plan,
            near,
            target,
            stop,
            time: MonotonicClock,
            poll,
            readable: BTreeSet::new(),
            clients: Vec::new(),
            numbers: HashMap::new(),
            chances,
            queue: BinaryHeap::new(),
            under_way: HashMap::new(),
            bytes_under_way: 0,
            bytes_max: BYTES_MAX,
            came: 0,
            seen: 0,
            turned_away: 0,
            buffer: vec![0; BUFFER_BYTES],
        })
    }

    fn run(mut self) -> Result<DatagramRelayTotals, EngineError> {
        let until = self.plan.for_time.map(|time| self.time.now_ns() + time.ns());
        loop {
            let now = self.time.now_ns();
            if self.stop.asked() || until.is_some_and(|until| now >= until) {
                break;
            }
            self.release(now);
            let due = self.queue.peek().map(|Reverse((due, _))| *due);
            let waiting = self.clients.iter().flatten().flat_map(|client| &client.waiting);
            let waiting = waiting.filter_map(|waiting| waiting.front().map(|(until, _)| *until));
            let at_once = (!self.readable.is_empty()).then_some(0);
            let deadline = waiting.chain(due).chain(until).chain(at_once).min();
            self.time
                .wait(&mut self.poll, now, deadline)
                .map_err(EngineError::system("wait for datagrams"))?;
            self.readable.extend((0..self.poll.found()).map(|at| self.poll.ready(at).token.index));
            self.hear();
        }
        let [there, back] = self.chances.map(|chances| chances.totals);
        Ok(DatagramRelayTotals { clients: self.seen, turned_away: self.turned_away, there, back })
    }

    /// Takes some of what waits in each socket.
    fn hear(&mut self) {
        for socket in std::mem::take(&mut self.readable) {
            let more = match socket {
                NEAR => self.hear_clients(),
                client => self.hear_target(client),
            };
            if more {
                self.readable.insert(socket);
            }
        }
    }

    /// Takes some of what clients have sent; true when there may be more.
    fn hear_clients(&mut self) -> bool {
        for _ in 0..TAKEN_A_TURN {
            // an error is that of an answer that could not be delivered
            let Ok(Some((bytes, from))) = self.near.receive_from(&mut self.buffer) else {
                return false;
            };
            let now = self.time.now_ns();
            match self.client(from, now) {
                Some(client) => self.take(client, THERE, bytes, now),
                None => self.turned_away += 1,
            }
        }
        true
    }

    /// Takes some of what the target has sent to a client; true when there may be more.
    fn hear_target(&mut self, client: usize) -> bool {
        for _ in 0..TAKEN_A_TURN {
            let Some(Some(Client { far, .. })) = self.clients.get(client) else { return false };
            match far.receive(&mut self.buffer) {
                Ok(Some(bytes)) => {
                    let now = self.time.now_ns();
                    self.take(client, BACK, bytes, now);
                }
                Ok(None) => return false,
                Err(_) => {} // nobody listens there, which was this once told
            }
        }
        true
    }

    /// The number of the client at `from`, if there is room for it.
    fn client(&mut self, from: SocketAddr, now: u64) -> Option<usize> {
        if !Peer::Ip(from).is_among(&self.plan.allow) {
            return None;
        }
        if let Some(number) = self.numbers.get(&from) {
            if let Some(Some(client)) = self.clients.get_mut(*number) {
                client.heard_ns = now;
            }
            return Some(*number);
        }
        if self.numbers.len() >= self.plan.max_clients {
            self.forget_silent(now);
        }
        if self.numbers.len() >= self.plan.max_clients {
            return None;
        }
        let far = DatagramSocket::connect(self.target).ok()?;
        ioctl_fionbio(&far, true).ok()?;
        let free = self.clients.iter().position(Option::is_none);
        let number = free.unwrap_or(self.clients.len());
        self.poll.add_connection(far.as_fd(), Token { index: number, generation: 0 }).ok()?;
        let client = Client { address: from, far, heard_ns: now, waiting: Default::default() };
        match self.clients.get_mut(number) {
            Some(place) => *place = Some(client),
            None => self.clients.push(Some(client)),
        }
        self.numbers.insert(from, number);
        self.seen += 1;
        Some(number)
    }

    /// Forgets those that were silent, with nothing of theirs on its way.
    fn forget_silent(&mut self, now: u64) {
        let busy: Vec<usize> = self.under_way.values().map(|it| it.client).collect();
        for (number, place) in self.clients.iter_mut().enumerate() {
            let Some(client) = place else { continue };
            let silent = now.saturating_sub(client.heard_ns) >= SILENT_NS;
            if silent && !busy.contains(&number) {
                self.numbers.remove(&client.address);
                *place = None;
            }
        }
    }

    /// A datagram came, whose `bytes` are in the buffer.
    fn take(&mut self, client: usize, way: usize, bytes: usize, now: u64) {
        let chances = &mut self.chances[way];
        let Some(drawn) = chances.draw(bytes as u64) else { return };
        let has_room = self.bytes_under_way + bytes <= self.bytes_max;
        if self.under_way.len() >= UNDER_WAY_MAX || !has_room {
            chances.totals.overflowed += 1;
            return;
        }
        let due = chances.send_off(&drawn, bytes as u64, now);
        self.bytes_under_way += bytes;
        let (twice, waits, bytes) = (drawn.twice, drawn.waits, self.buffer[..bytes].to_vec());
        self.under_way.insert(self.came, UnderWay { client, way, bytes, twice, waits });
        self.queue.push(Reverse((due, self.came)));
        self.came += 1;
    }

    /// Lets everything go that is due at `now`.
    fn release(&mut self, now: u64) {
        while let Some(Reverse((due, number))) = self.queue.peek().copied()
            && due <= now
        {
            self.queue.pop();
            let Some(it) = self.under_way.remove(&number) else { continue };
            self.bytes_under_way -= it.bytes.len();
            self.chances[it.way].totals.path.late.record(now - due);
            let (client, way) = (it.client, it.way);
            let Some(Some(place)) = self.clients.get_mut(client) else { continue };
            if it.waits {
                place.waiting[way].push_back((now + WAIT_NS, it));
                continue;
            }
            let waited = std::mem::take(&mut place.waiting[way]);
            self.send(&it);
            for (_, overtaken) in waited {
                self.chances[way].totals.overtaken += 1;
                self.send(&overtaken);
            }
        }
        for client in 0..self.clients.len() {
            for way in [THERE, BACK] {
                while let Some(Some(place)) = self.clients.get_mut(client)
                    && place.waiting[way].front().is_some_and(|(until, _)| *until <= now)
                    && let Some((_, it)) = place.waiting[way].pop_front()
                {
                    self.send(&it); // nobody came to overtake it
                }
            }
        }
    }

    fn send(&mut self, it: &UnderWay) {
        let Some(Some(client)) = self.clients.get(it.client) else { return };
        let totals = &mut self.chances[it.way].totals;
        totals.doubled += u64::from(it.twice);
        for _ in 0..1 + u64::from(it.twice) {
            // one that cannot be sent is lost, and seen by nobody
            let sent = match it.way {
                THERE => client.far.send(&it.bytes),
                _ => self.near.send_to(&it.bytes, client.address),
            };
            totals.path.sent += if sent.is_ok() { it.bytes.len() as u64 } else { 0 };
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;

    use plumb_measure::BitRate;

    use super::*;
    use crate::PathPlan;

    const SENT: usize = 5 * TAKEN_A_TURN / 2;

    fn plan(rate: Option<BitRate>) -> DatagramRelayPlan {
        let straight = PathPlan { delay_ns: 0, jitter_ns: 0, rate };
        let path = DatagramPathPlan { path: straight, lose: None, double: None, overtake: None };
        DatagramRelayPlan {
            there: path,
            back: path,
            allow: Vec::new(),
            max_clients: 1,
            for_time: None,
            seed: 1,
        }
    }

    #[test]
    fn what_finds_no_room_takes_up_nothing_of_the_rate() {
        const BYTES: usize = 1_000;
        const EACH_NS: u64 = 8_000; // 1,000 bytes at 1 Gbit/s
        let plan = plan(Some("1Gbit".parse().unwrap()));
        let near = DatagramSocket::bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let far = UdpSocket::bind("127.0.0.1:0").unwrap();
        let target = Endpoint::Udp(far.local_addr().unwrap());
        let stop = Stop::new().unwrap();
        let mut line = Line::new(&plan, &near, &target, &stop).unwrap();
        let client = line.client("127.0.0.1:9".parse().unwrap(), 0).unwrap();
        for _ in 0..2 * UNDER_WAY_MAX {
            line.take(client, THERE, BYTES, 0);
        }
        let chances = &line.chances[THERE];
        assert_eq!(chances.totals.overflowed, UNDER_WAY_MAX as u64);
        assert_eq!(line.bytes_under_way, UNDER_WAY_MAX * BYTES);
        let last_ns = EACH_NS * UNDER_WAY_MAX as u64;
        line.release(last_ns);
        assert_eq!(line.bytes_under_way, 0);
        line.take(client, THERE, BYTES, last_ns);
        assert_eq!(line.queue.peek(), Some(&Reverse((last_ns + EACH_NS, line.came - 1))));
    }

    #[test]
    fn what_is_under_way_is_bounded_in_bytes() {
        let plan = plan(Some("1Gbit".parse().unwrap()));
        let near = DatagramSocket::bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let far = UdpSocket::bind("127.0.0.1:0").unwrap();
        let target = Endpoint::Udp(far.local_addr().unwrap());
        let stop = Stop::new().unwrap();
        let mut line = Line::new(&plan, &near, &target, &stop).unwrap();
        let client = line.client("127.0.0.1:9".parse().unwrap(), 0).unwrap();
        assert_eq!(line.bytes_max, BYTES_MAX);
        line.bytes_max = 4 * BUFFER_BYTES;
        (0..5).for_each(|_| line.take(client, THERE, BUFFER_BYTES, 0));
        assert_eq!(line.chances[THERE].totals.overflowed, 1);
        assert_eq!(line.bytes_under_way, 4 * BUFFER_BYTES);
    }

    #[test]
    fn what_is_due_leaves_while_more_waits() {
        let plan = plan(None);
        let near = DatagramSocket::bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let local = near.local();
        let target = UdpSocket::bind("127.0.0.1:0").unwrap();
        let far = Endpoint::Udp(target.local_addr().unwrap());
        let stop = Stop::new().unwrap();
        let mut line = Line::new(&plan, &near, &far, &stop).unwrap();
        let client = UdpSocket::bind("127.0.0.1:0").unwrap();
        client.connect(local.strip_prefix("udp:").unwrap()).unwrap();
        for number in 0..SENT {
            client.send(&number.to_be_bytes()).unwrap();
        }
        line.readable.insert(NEAR);
        line.hear();
        assert_eq!(line.under_way.len(), TAKEN_A_TURN);
        assert!(line.readable.contains(&NEAR), "nobody tells that more waits");
        line.release(line.time.now_ns());
        let mut buffer = [0; 8];
        for number in 0..TAKEN_A_TURN {
            target.recv(&mut buffer).unwrap();
            assert_eq!(usize::from_be_bytes(buffer), number);
        }
        line.hear();
        line.hear();
        assert_eq!(line.under_way.len(), SENT - TAKEN_A_TURN);
        assert!(line.readable.is_empty());
    }
}
