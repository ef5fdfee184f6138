//! What was received in each interval of streams, by the clock of whoever received it.

use std::collections::{BTreeMap, BTreeSet};

use plumb_measure::{Clock, Portion, StreamInterval};

/// Bytes at a moment of the clock of whoever counted them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    pub(crate) at_ns: u64,
    pub(crate) bytes: u64,
    /// Datagrams that are known as lost.
    pub(crate) lost: Option<u64>,
}

/// What both sides have received until a moment.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Look {
    pub(crate) here: Option<Seen>,
    pub(crate) there: Option<Seen>,
}

/// Where the intervals of streams begin: at multiples of their length, so that those of several
/// clients lie beside each other. One who asks the other side is answered later, which may take
/// longer than an interval: then the interval ends at a later multiple.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Boundaries {
    /// Start and end of the streams, nanoseconds on the monotonic clock.
    pub(crate) began_ns: u64,
    pub(crate) until_ns: u64,
    pub(crate) every_ns: u64,
}

impl Boundaries {
    /// The last one at `now_ns`, nanoseconds after the start.
    fn last_at(&self, now_ns: u64) -> u64 {
        let since_ns = now_ns.saturating_sub(self.began_ns);
        since_ns - since_ns % self.every_ns.max(1)
    }

    /// The one nearest to `since_ns` after the start.
    fn nearest(&self, since_ns: u64) -> u64 {
        let every_ns = self.every_ns.max(1);
        since_ns.saturating_add(every_ns / 2) / every_ns * every_ns
    }

    /// The next one behind `now_ns`, on the monotonic clock; `None` once the streams are over.
    fn next_after(&self, now_ns: u64) -> Option<u64> {
        let next_ns = self.began_ns + self.last_at(now_ns) + self.every_ns.max(1);
        (now_ns < self.until_ns).then(|| next_ns.min(self.until_ns))
    }
}

/// Looks at each boundary, `here` and `there`, until the streams end, all is `over` before, or whoever
/// waits until the next one says that it is enough.
pub(crate) fn watch(
    boundaries: &Boundaries,
    clock: &impl Clock,
    mut wait: impl FnMut(u64) -> bool,
    (here, mut there): (impl Fn() -> Option<Seen>, impl FnMut() -> Option<Seen>),
    over: impl Fn() -> bool,
) -> Intervals {
    let mut start_ns = boundaries.last_at(clock.now_ns());
    let mut intervals = Intervals::from(Look { here: here(), there: there() });
    while let Some(next_ns) = boundaries.next_after(clock.now_ns()) {
        if wait(next_ns) {
            break;
        }
        let asked_ns = boundaries.last_at(clock.now_ns());
        let mut look = Look { here: here(), there: there() };
        let answered_ns = boundaries.last_at(clock.now_ns());
        // of a late answer only the other side's clock tells whether it counted late or told it late
        let counted_ns = intervals.lasted_ns(look.there).map_or(asked_ns, |ns| start_ns + ns);
        let end_ns = match look.here {
            // what came here is known of both moments, and of none between them
            Some(_) if counted_ns.abs_diff(answered_ns) < counted_ns.abs_diff(asked_ns) => {
                look.here = here();
                answered_ns
            }
            Some(_) => asked_ns,
            None => boundaries.nearest(counted_ns).clamp(asked_ns, answered_ns),
        };
        intervals.note(start_ns, look);
        start_ns = end_ns;
        if over() {
            break; // nobody carries anything any more
        }
    }
    intervals
}

/// The intervals of several clients as those of one. A boundary that one of them has not, while its
/// streams went on, is none.
pub(crate) fn together(lists: &[&[StreamInterval]]) -> Vec<StreamInterval> {
    let starts: BTreeSet<u64> =
        lists.iter().flat_map(|list| list.iter().map(|interval| interval.start_ns)).collect();
    let mut all: BTreeMap<u64, StreamInterval> = starts
        .into_iter()
        .filter(|start_ns| lists.iter().all(|list| divides(list, *start_ns)))
        .map(|start_ns| (start_ns, StreamInterval { start_ns, ..StreamInterval::default() }))
        .collect();
    for list in lists {
        let mut own: BTreeMap<u64, StreamInterval> = BTreeMap::new();
        for interval in *list {
            let Some((start_ns, _)) = all.range(..=interval.start_ns).next_back() else { continue };
            let one = own.entry(*start_ns).or_default();
            let following = |one: u64, next: u64| one + next;
            one.to_server = sum(one.to_server, interval.to_server, following);
            one.from_server = sum(one.from_server, interval.from_server, following);
        }
        for (start_ns, one) in own {
            let Some(sums) = all.get_mut(&start_ns) else { continue };
            sums.to_server = sum(sums.to_server, one.to_server, u64::max);
            sums.from_server = sum(sums.from_server, one.from_server, u64::max);
        }
    }
    all.into_values().collect()
}

/// True when no interval of `list` goes on over `start_ns`.
fn divides(list: &[StreamInterval], start_ns: u64) -> bool {
    let (Some(first), Some(last)) = (list.first(), list.last()) else { return true };
    let ways = [last.to_server, last.from_server];
    let lasts_ns = ways.iter().flatten().map(|portion| portion.duration_ns).max().unwrap_or(0);
    start_ns < first.start_ns
        || start_ns >= last.start_ns + lasts_ns
        || list.iter().any(|interval| interval.start_ns == start_ns)
}

/// Two portions as one, of which nothing may be known; `time` makes one length of theirs.
fn sum(
    one: Option<Portion>,
    other: Option<Portion>,
    time: impl Fn(u64, u64) -> u64,
) -> Option<Portion> {
    let (Some(one), Some(other)) = (one, other) else { return one.or(other) };
    Some(Portion {
        bytes: one.bytes + other.bytes,
        duration_ns: time(one.duration_ns, other.duration_ns),
        lost: match (one.lost, other.lost) {
            (Some(one), Some(other)) => Some(one.saturating_add(other)),
            (known, None) | (None, known) => known,
        },
    })
}

/// What was received in each interval so far.
#[derive(Debug, Default)]
pub(crate) struct Intervals {
    pub(crate) list: Vec<StreamInterval>,
    last: Look,
}

impl Intervals {
    /// From this look on.
    pub(crate) fn from(last: Look) -> Self {
        Self { list: Vec::new(), last }
    }

    /// How long after the last look the other side counted, by its clock.
    fn lasted_ns(&self, there: Option<Seen>) -> Option<u64> {
        Some(there?.at_ns.saturating_sub(self.last.there?.at_ns))
    }

    /// Notes what was received since the last look, `start_ns` after the start.
    pub(crate) fn note(&mut self, start_ns: u64, now: Look) {
        let portion = |now: Option<Seen>, before: Option<Seen>| {
            let (now, before) = (now?, before?);
            Some(Portion {
                bytes: now.bytes.saturating_sub(before.bytes),
                duration_ns: now.at_ns.saturating_sub(before.at_ns),
                lost: now
                    .lost
                    .zip(before.lost)
                    .map(|(now, before)| now.wrapping_sub(before).cast_signed()),
            })
        };
        let to_server = portion(now.there, self.last.there);
        let from_server = portion(now.here, self.last.here);
        if to_server.is_some() || from_server.is_some() {
            self.list.push(StreamInterval { start_ns, to_server, from_server });
        }
        self.last = now;
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    fn seen(at_ns: u64, bytes: u64) -> Option<Seen> {
        Some(Seen { at_ns, bytes, lost: None })
    }

    #[test]
    fn intervals_are_by_the_clock_of_whoever_received() {
        let mut intervals = Intervals::from(Look { here: seen(10, 0), there: seen(7_000, 5) });
        intervals.note(0, Look { here: seen(110, 50), there: seen(7_101, 25) });
        intervals.note(100, Look { here: seen(210, 50), there: None });
        let part = |bytes, duration_ns| Some(Portion { bytes, duration_ns, lost: None });
        assert_eq!(
            intervals.list,
            [
                StreamInterval {
                    start_ns: 0,
                    to_server: part(20, 101),
                    from_server: part(50, 100)
                },
                StreamInterval { start_ns: 100, to_server: None, from_server: part(0, 100) },
            ]
        );
    }

    /// A clock that stands still between what takes time.
    #[derive(Default)]
    struct Still(Cell<u64>);

    impl Clock for &Still {
        fn now_ns(&self) -> u64 {
            self.0.get()
        }
    }

    /// Starts and lengths, here and there, of the intervals of streams of 1,000 ns, looked at every
    /// 100 ns, and when that was over. The server counts a byte each nanosecond; asked at a time it counts
    /// at the first one, and has answered at the second one, that `answer` says.
    fn watched(answer: impl Fn(u64) -> (u64, u64)) -> (Vec<(u64, u64, u64)>, u64) {
        let clock = Still(Cell::new(5_000));
        let boundaries = Boundaries { began_ns: 5_000, until_ns: 6_000, every_ns: 100 };
        let wait = |until: u64| {
            clock.0.set(clock.0.get().max(until));
            false
        };
        let here = || seen(clock.0.get(), clock.0.get());
        let there = || {
            let (counted, answered) = answer(clock.0.get() - 5_000);
            clock.0.set(5_000 + answered);
            seen(counted, counted)
        };
        let list = watch(&boundaries, &&clock, wait, (here, there), || false).list;
        let lengths = |it: &StreamInterval| {
            Some((it.start_ns, it.from_server?.duration_ns, it.to_server?.duration_ns))
        };
        (list.iter().filter_map(lengths).collect(), clock.0.get() - 5_000)
    }

    #[test]
    fn streams_end_in_time_and_intervals_follow_each_other_however_long_an_answer_takes() {
        let after = |ns| move |asked| (asked + ns / 2, asked + ns);
        let (quick, over_ns) = watched(after(10));
        assert_eq!((quick.len(), over_ns), (10, 1_010));
        assert_eq!((quick[0], quick[9]), ((0, 100, 100), (900, 100, 100)));
        let (slow, over_ns) = watched(after(150));
        assert_eq!(slow, [0, 200, 400, 600, 800].map(|start| (start, 200, 200)));
        assert_eq!(over_ns, 1_150);
        assert_eq!(watched(after(650)), (vec![(0, 700, 700)], 1_350));
    }

    #[test]
    fn an_interval_ends_where_the_server_counted_whether_its_count_or_its_answer_was_late() {
        let stood_still = |asked: u64| match asked {
            200..650 => (650, 655),
            _ => (asked + 2, asked + 5),
        };
        let (list, _) = watched(stood_still);
        assert_eq!(list[..3], [(0, 100, 100), (100, 555, 548), (600, 45, 52)]);
        assert_eq!(list[3], (700, 100, 100));
        let came_late = |asked: u64| match asked {
            200 => (202, 655),
            _ => (asked + 2, asked + 5),
        };
        let (list, _) = watched(came_late);
        assert_eq!(list[..3], [(0, 100, 100), (100, 100, 100), (200, 500, 500)]);
        assert_eq!(list[3], (700, 100, 100));
    }

    #[test]
    fn what_came_here_is_of_its_own_interval_whenever_the_server_counted() {
        let between = |asked: u64| match asked {
            200 => (350, 805),
            _ => (asked + 2, asked + 5),
        };
        let (list, _) = watched(between);
        assert_eq!(list[..3], [(0, 100, 100), (100, 100, 248), (200, 700, 552)]);
        assert_eq!(list[3], (900, 100, 100));
        // a queue each way that fills right after the first look
        let queues = |asked: u64| match asked {
            0 => (2, 5),
            _ => (asked + 150, asked + 300),
        };
        let (list, _) = watched(queues);
        assert_eq!(list, [(0, 100, 248), (100, 400, 400), (500, 400, 400)]);
    }

    #[test]
    fn an_interval_of_several_clients_is_one_that_all_of_them_know() {
        let part = |start_ns, duration_ns, bytes| StreamInterval {
            start_ns,
            to_server: Some(Portion { bytes, duration_ns, lost: Some(1) }),
            from_server: None,
        };
        let near = [part(0, 100, 1), part(100, 101, 2), part(200, 100, 4), part(300, 100, 8)];
        let far = [part(0, 199, 16), part(200, 100, 32)];
        let all = together(&[&near, &far, &[]]);
        let sums = |start_ns, duration_ns, bytes, lost| StreamInterval {
            start_ns,
            to_server: Some(Portion { bytes, duration_ns, lost: Some(lost) }),
            from_server: None,
        };
        assert_eq!(all, [sums(0, 201, 19, 3), sums(200, 100, 36, 2), sums(300, 100, 8, 1)]);
        assert_eq!(together(&[&near]), near);
    }
}
