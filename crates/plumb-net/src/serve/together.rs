//! Clients that were connected at the same time, and what all of them were served together.

use std::collections::BTreeMap;
use std::fmt;

use plumb_measure::{grouped, show_ns};
use plumb_wire::extension::Traffic;

use crate::client::{Client, Rates};

/// How long a group waits, after the last of it went, for clients that are still connected, nanoseconds: most
/// of what begins and ends by hand does so within it.
const WAIT_NS: u64 = 30_000_000_000;
/// Groups that may wait for a client that is still connected; beyond it the oldest waits no longer.
const WAITING_MAX: usize = 1_000;

/// Clients each of which was connected while another one of them was. Times in nanoseconds on the server's
/// clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Together {
    pub(super) clients: u64,
    /// What all of them were served.
    pub(super) served: Traffic,
    /// Clients that came before its end and were still connected when it was told.
    pub(super) still_connected: usize,
    came_first_ns: u64,
    came_last_ns: u64,
    gone_first_ns: u64,
    gone_last_ns: u64,
}

impl Together {
    fn of(client: &Client, served_ns: u64) -> Self {
        let (came_ns, gone_ns) = (client.since_ns, client.since_ns + served_ns);
        Self {
            clients: 1,
            served: client.served(),
            still_connected: 0,
            came_first_ns: came_ns,
            came_last_ns: came_ns,
            gone_first_ns: gone_ns,
            gone_last_ns: gone_ns,
        }
    }

    fn and(self, other: Self) -> Self {
        let mut served = self.served;
        served.add(other.served);
        Self {
            clients: self.clients + other.clients,
            served,
            still_connected: 0,
            came_first_ns: self.came_first_ns.min(other.came_first_ns),
            came_last_ns: self.came_last_ns.max(other.came_last_ns),
            gone_first_ns: self.gone_first_ns.min(other.gone_first_ns),
            gone_last_ns: self.gone_last_ns.max(other.gone_last_ns),
        }
    }

    /// From the first that came to the last that went.
    pub(super) fn span_ns(&self) -> u64 {
        self.gone_last_ns.saturating_sub(self.came_first_ns)
    }

    /// Of that, the time in which all of them were connected.
    pub(super) fn at_once_ns(&self) -> u64 {
        self.gone_first_ns.saturating_sub(self.came_last_ns)
    }

    /// Whether it waits no longer at `now_ns`, whoever is connected.
    fn has_waited(&self, now_ns: u64) -> bool {
        self.gone_last_ns.saturating_add(WAIT_NS) <= now_ns
    }

    /// Over the whole span: never more than what was carried.
    pub(super) fn rates(&self) -> Option<Rates> {
        Rates::of(self.served, self.span_ns())
    }
}

impl fmt::Display for Together {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (clients, span) = (grouped(self.clients), show_ns(self.span_ns()));
        write!(f, "{clients} clients together for {span} from the first to the last, ")?;
        match self.at_once_ns() {
            0 => f.write_str("never all at once")?,
            ns => write!(f, "all at once for {}", show_ns(ns))?,
        }
        if let Some(rates) = self.rates() {
            write!(f, ": {rates} over the whole time")?;
        }
        match self.still_connected as u64 {
            0 => Ok(()),
            more => write!(f, "; {} more still connected", grouped(more)),
        }
    }
}

/// Who is connected, and the groups of those that are gone. A group is told when nobody is connected any more
/// who came before its end, and at the latest [`WAIT_NS`] after it.
#[derive(Debug, Default)]
pub(super) struct Gatherings {
    /// When each client came that is connected, by its number.
    present: BTreeMap<u64, u64>,
    /// In the order in which they ended.
    waiting: Vec<Together>,
    /// The end of the latest group that was told while a client was still connected who came before it.
    told_until_ns: u64,
}

impl Gatherings {
    /// A client came: the groups that have waited long enough.
    pub(super) fn came(&mut self, client: &Client) -> Vec<Together> {
        self.present.insert(client.handle, client.since_ns);
        self.due(client.since_ns)
    }

    /// A client went after so many nanoseconds: the groups that wait no longer.
    /// Only a client that has rates of its own belongs to one.
    pub(super) fn gone(&mut self, client: &Client, served_ns: u64) -> Vec<Together> {
        let now_ns = client.since_ns + served_ns;
        self.present.remove(&client.handle);
        if client.rates(served_ns).is_some() {
            self.join(Together::of(client, served_ns));
        }
        self.due(now_ns)
    }

    /// The groups of several clients that wait no longer at `now_ns`.
    pub(super) fn due(&mut self, now_ns: u64) -> Vec<Together> {
        // clients are numbered as they come
        let oldest_ns = self.present.first_key_value().map_or(u64::MAX, |(_, since_ns)| *since_ns);
        let over = self
            .waiting
            .partition_point(|group| group.gone_last_ns <= oldest_ns || group.has_waited(now_ns));
        let crowded = self.waiting.len().saturating_sub(WAITING_MAX);
        let ended = self.waiting.drain(..over.max(crowded));
        let mut ended: Vec<Together> = ended.filter(|group| group.clients > 1).collect();
        for group in &mut ended {
            let came_before = |since_ns: &&u64| **since_ns < group.gone_last_ns;
            group.still_connected = self.present.values().take_while(came_before).count();
            if group.still_connected > 0 {
                self.told_until_ns = self.told_until_ns.max(group.gone_last_ns);
            }
        }
        ended
    }

    /// Puts `one` that is gone together with those that it met. Who met several groups that did not meet
    /// each other belongs to none of them, whether they wait or were told: each stays a figure of its own.
    fn join(&mut self, one: Together) {
        let met_told = |group: &Together| group.came_first_ns < self.told_until_ns;
        let met = |group: &Together| {
            group.gone_last_ns > one.came_first_ns && met_told(group) == met_told(&one)
        };
        if self.waiting.iter().filter(|group| group.clients > 1 && met(group)).count() > 1 {
            return;
        }
        let joined = |group: &mut Together| met(group) && !group.has_waited(one.gone_last_ns);
        let group = self.waiting.extract_if(.., joined).fold(one, Together::and);
        self.waiting.push(group);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A client that came at this moment.
    fn client(handle: u64, came_ms: u64) -> Client {
        Client { since_ns: came_ms * 1_000_000, ..Client::echoed(handle) }
    }

    /// What is told at each end of clients that come and go at these milliseconds.
    fn told(clients: &[(u64, u64)]) -> Vec<(u64, String)> {
        let mut events: Vec<(u64, bool, u64)> = Vec::new();
        for (at, &(came_ms, gone_ms)) in (1..).zip(clients) {
            events.extend([(came_ms, false, at), (gone_ms, true, at)]);
        }
        events.sort_unstable();
        let (mut gatherings, mut all) = (Gatherings::default(), Vec::new());
        for (ms, goes, handle) in events {
            let (came_ms, gone_ms) = clients[usize::try_from(handle).unwrap() - 1];
            let client = client(handle, came_ms);
            if goes {
                let ended = gatherings.gone(&client, (gone_ms - came_ms) * 1_000_000);
                all.extend(ended.iter().map(|group| (ms, group.to_string())));
            } else {
                let ended = gatherings.came(&client);
                all.extend(ended.iter().map(|group| (ms, group.to_string())));
            }
        }
        all
    }

    #[test]
    fn the_sum_is_told_when_the_last_goes_and_is_over_the_whole_time() {
        let line = "4 clients together for 2.00 s from the first to the last, all at once for 1.00 s: \
                    2000.0 messages/s, 16.0 Mbit/s in, 16.0 Mbit/s out over the whole time";
        assert_eq!(
            told(&[(0, 1_700), (100, 1_500), (400, 1_600), (500, 2_000)]),
            [(2_000, line.into())]
        );
    }

    #[test]
    fn clients_of_which_no_two_met_are_no_group_and_a_chain_is_one() {
        assert_eq!(told(&[(0, 1_000), (1_000, 2_000), (2_500, 3_000)]), []);
        let chain = told(&[(0, 1_000), (900, 2_000), (1_900, 3_000), (4_000, 5_000)]);
        assert_eq!(chain.len(), 1);
        assert_eq!(chain[0].0, 3_000);
        let said = "3 clients together for 3.00 s from the first to the last, never all at once: ";
        assert!(chain[0].1.starts_with(said), "{chain:?}");
    }

    #[test]
    fn a_group_waits_for_whoever_came_before_its_end_and_takes_him_in_if_he_is_one_of_it() {
        // the first is connected all the time: two groups at first, one at last
        let all = told(&[(0, 9_000), (1_000, 2_000), (1_500, 2_500), (5_000, 6_000)]);
        assert_eq!(all.len(), 1);
        assert!(
            all[0].0 == 9_000 && all[0].1.starts_with("4 clients together for 9.00 s"),
            "{all:?}"
        );
        // one that is sent nothing belongs to none, and what he was there for stands apart
        let mut gatherings = Gatherings::default();
        let mut quiet = client(1, 0);
        quiet.messages = 0;
        gatherings.came(&quiet);
        for (handle, came_ms) in [(2, 1_000), (3, 1_500), (4, 5_000), (5, 5_500)] {
            let client = client(handle, came_ms);
            gatherings.came(&client);
            assert_eq!(gatherings.gone(&client, 1_000_000_000), []);
        }
        let ended = gatherings.gone(&quiet, 9_000_000_000);
        assert_eq!(ended.iter().map(|group| group.clients).collect::<Vec<_>>(), [2, 2]);
    }

    #[test]
    fn a_client_that_stays_keeps_no_group_back_and_joins_none_that_he_outlasted() {
        // the first is connected all the time; two groups of two come and go meanwhile
        let all =
            [(0, 100_000), (1_000, 2_000), (1_000, 3_000), (50_000, 52_000), (50_000, 53_000)];
        let told = told(&all);
        let [(first_ms, first), (second_ms, second)] = &told[..] else { panic!("{told:?}") };
        // the first is told at the next event after half a minute
        assert_eq!((*first_ms, *second_ms), (50_000, 100_000));
        assert!(first.starts_with("2 clients together for 2.00 s "), "{first}");
        assert!(first.ends_with(": 1000.0 messages/s, 8.00 Mbit/s in, 8.00 Mbit/s out over the whole time; 1 more still connected"), "{first}");
        assert!(second.starts_with("2 clients together for 3.00 s "), "{second}");
        assert!(second.ends_with(" over the whole time"), "{second}");
    }

    #[test]
    fn who_met_two_groups_that_did_not_meet_belongs_to_neither() {
        let all = [(0, 9_000), (1_000, 2_000), (1_500, 2_500), (5_000, 6_000), (5_500, 7_000)];
        let told = told(&all);
        assert_eq!(told.len(), 2, "{told:?}");
        for (ms, line) in &told {
            assert_eq!(*ms, 9_000);
            assert!(line.starts_with("2 clients together for "), "{line}");
        }
    }

    #[test]
    fn those_that_were_still_connected_when_a_group_was_told_are_one_of_their_own() {
        let all = [(0, 1_000), (0, 2_000), (0, 60_000), (100, 61_000), (40_000, 62_000)];
        let told = told(&all);
        let [(_, first), (_, second)] = &told[..] else { panic!("{told:?}") };
        assert!(first.ends_with("; 2 more still connected"), "{first}");
        // who came after the first group had ended did not meet it, and has no other to be with
        assert!(second.starts_with("2 clients together for 61.0 s "), "{second}");
    }

    #[test]
    fn a_group_is_due_half_a_minute_after_its_end_and_one_alone_is_none() {
        let mut gatherings = Gatherings::default();
        for (handle, came_ms) in [(1, 0), (2, 0), (3, 500)] {
            assert_eq!(gatherings.came(&client(handle, came_ms)), []);
        }
        for (handle, came_ms) in [(2, 0), (3, 500)] {
            assert_eq!(gatherings.gone(&client(handle, came_ms), 1_000_000_000), []);
        }
        let due_ns = 1_500_000_000 + WAIT_NS;
        assert_eq!(gatherings.due(due_ns - 1), []);
        let due = gatherings.due(due_ns);
        assert_eq!(
            due.iter().map(|group| (group.clients, group.still_connected)).collect::<Vec<_>>(),
            [(2, 1)]
        );
        assert_eq!(gatherings.due(u64::MAX), []);
        let late = client(4, 100_000);
        assert_eq!(gatherings.came(&late), []);
        assert_eq!(gatherings.gone(&late, 1_000_000_000), []);
        assert_eq!(gatherings.due(u64::MAX), []);
        assert_eq!(gatherings.waiting, [], "one alone waits no longer, either");
    }

    #[test]
    fn what_waits_is_bounded() {
        let mut gatherings = Gatherings::default();
        gatherings.came(&client(1, 0));
        for handle in 2..3 * WAITING_MAX as u64 {
            let client = client(handle, handle);
            gatherings.came(&client);
            gatherings.gone(&client, 1_000_000);
            assert!(gatherings.waiting.len() <= WAITING_MAX);
        }
        assert_eq!((gatherings.waiting.len(), gatherings.present.len()), (WAITING_MAX, 1));
    }
}
