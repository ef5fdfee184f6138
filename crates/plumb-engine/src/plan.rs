//! What a load is: how much, how fast, from how many connections. Checked once; no defaults below.

use std::num::{NonZeroU32, NonZeroUsize};

use plumb_measure::{LoadPart, Rate, Span, Tick, counted};
use plumb_socket::Nagle;
use serde::{Deserialize, Serialize};

use crate::{Endpoint, EngineError};

/// When the next operation of a load begins.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pace {
    /// As soon as the answer is complete.
    AsFast,
    /// A fixed time after the answer is complete.
    Delay(Span),
    /// When it is due at a constant rate, whatever the target does.
    Rate(Rate),
}

/// When a load ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Extent {
    /// After so many operations over all connections.
    Count(u64),
    /// When so much time has passed.
    For(Span),
    /// When every user is done: of scripts that come to an end.
    Users,
}

/// How the loop waits for an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Waiting {
    /// Blocks in the receive.
    Receive,
    /// Blocks until any of many sockets is ready.
    Epoll,
    /// Never blocks: asks again and again.
    Spin,
}

impl Waiting {
    /// In words, for the run record.
    #[must_use]
    pub fn describe(self) -> &'static str {
        match self {
            Self::Receive => "blocking receive",
            Self::Epoll => "epoll",
            Self::Spin => "busy poll",
        }
    }
}

/// One load, complete and consistent. One that was read (serde) is checked when it is run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct LoadPlan {
    /// Which part of a load of several processes it is: rate and count are those of all of them,
    /// connections are its own.
    pub part: LoadPart,
    /// Connections over all threads.
    pub connections: NonZeroUsize,
    /// Threads that drive them, at most one a connection.
    pub threads: NonZeroUsize,
    /// Operations under way on one connection.
    pub depth: NonZeroUsize,
    /// When the next operation begins.
    pub pace: Pace,
    /// When the load ends.
    pub extent: Extent,
    /// Load before the recorded part.
    pub warmup: Span,
    /// A connection must stand within this.
    pub connect_timeout: Span,
    /// An answer must be complete within this.
    pub operation_timeout: Span,
    /// The largest scheduling lag at the 99th percentile that is accepted.
    pub lag_bound: Span,
    /// How the loop waits; see [`LoadPlan::suitable_waiting`].
    pub waiting: Waiting,
    /// The processors the threads run on, one a thread in turn; empty: wherever the kernel puts
    /// them.
    pub pin: Vec<usize>,
    /// The network namespaces that the threads enter, one a thread in turn: names of `ip netns`,
    /// or paths; empty: that of the program.
    pub netns: Vec<String>,
    /// Length of the intervals in which the run is written down.
    pub interval: Span,
    /// Whether the kernel may hold back what is sent over TCP.
    pub nagle: Nagle,
    /// Whether what has come of an answer is acknowledged at once, whatever else is to be sent.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub quick_ack: bool,
    /// What is done about the tick of a processor that idles while the loop waits.
    pub tick: Tick,
    /// Servers that may have taken the place of the target: a connection that has ended, or could
    /// not be made, is made to the next of all of them in turn. The first is made to the target.
    #[serde(skip)]
    pub standbys: Vec<Endpoint>,
    /// One message in so many of each connection is taken apart by time stamps of the kernel; `None`:
    /// no packet is stamped.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub stamps: Option<NonZeroU32>,
}

impl LoadPlan {
    /// One connection that is asked one thing after the other, at once and `count` times in all;
    /// nothing takes longer than `patience`.
    #[must_use]
    pub fn lone(count: u64, patience: Span) -> Self {
        let one = NonZeroUsize::MIN;
        Self {
            part: LoadPart::default(),
            connections: one,
            threads: one,
            depth: one,
            pace: Pace::AsFast,
            extent: Extent::Count(count),
            warmup: Span::from_ns(0),
            connect_timeout: patience,
            operation_timeout: patience,
            lag_bound: patience,
            waiting: Waiting::Receive,
            pin: Vec::new(),
            netns: Vec::new(),
            interval: Span::from_ms(1_000),
            nagle: Nagle::Off,
            quick_ack: false,
            tick: Tick::Free,
            standbys: Vec::new(),
            stamps: None,
        }
    }

    /// Checks what no single option can know.
    ///
    /// # Errors
    /// [`EngineError::Plan`] names the options and what to write instead.
    pub fn check(&self) -> Result<(), EngineError> {
        let wrong = |text: String| Err(EngineError::Plan(text));
        if self.threads > self.connections {
            return wrong(format!(
                "{} for {}: a thread needs at least one; write fewer --threads or more --connections",
                counted(self.threads.get() as u64, "thread"),
                counted(self.connections.get() as u64, "connection")
            ));
        }
        let suitable = Self::suitable_waiting(self.connections, self.depth, self.pace);
        if self.waiting == Waiting::Receive && suitable != Waiting::Receive {
            return wrong(
                "a blocking receive serves one connection at depth 1 without a pace".into(),
            );
        }
        if self.waiting == Waiting::Spin && self.tick == Tick::Held {
            return wrong(
                "--spin never waits, so there is no tick to hold: leave --spin or --hold-tick out"
                    .into(),
            );
        }
        if self.stamps.is_some() && self.depth.get() > 1 {
            return wrong(
                "--timestamps takes apart one message at a time, and with --depth above 1 several share \
                 a packet: leave one of the two out"
                    .into(),
            );
        }
        if self.extent == Extent::Count(0) {
            return wrong("a count of 0 measures nothing: write --count 1 or more".into());
        }
        if let Extent::For(time) = self.extent
            && time.ns() == 0
        {
            return wrong("a time of 0 measures nothing: write for example --for 10s".into());
        }
        for (name, span) in [
            ("--interval", self.interval),
            ("--timeout", self.operation_timeout),
            ("--connect-timeout", self.connect_timeout),
        ] {
            if span.ns() == 0 {
                return wrong(format!("{name} 0s would end before it begins: write 1s or more"));
            }
        }
        Ok(())
    }

    /// The same, and what cannot be done over `endpoint`.
    ///
    /// # Errors
    /// As [`check`](Self::check).
    pub(crate) fn check_over(&self, endpoint: &Endpoint) -> Result<(), EngineError> {
        if self.quick_ack && matches!(endpoint, Endpoint::Udp(_) | Endpoint::Unix(_)) {
            let problem = "--quick-ack is of TCP, and nothing is acknowledged here: leave it out";
            return Err(EngineError::Plan(problem.into()));
        }
        self.check()
    }

    /// True when work is due at times of its own.
    #[must_use]
    pub fn open(&self) -> bool {
        matches!(self.pace, Pace::Rate(_))
    }

    /// How long it takes, its warm-up included; `None` where that is up to the target.
    #[must_use]
    pub fn takes(&self) -> Option<Span> {
        match self.extent {
            Extent::For(time) => Some(Span::from_ns(self.warmup.ns().saturating_add(time.ns()))),
            Extent::Count(_) | Extent::Users => None,
        }
    }

    /// How long `plans` take one after the other; `None` where that of one is up to the target.
    #[must_use]
    pub fn takes_all(plans: impl IntoIterator<Item = Self>) -> Option<Span> {
        let mut plans = plans.into_iter();
        let all = plans.try_fold(0_u64, |sum, plan| Some(sum.saturating_add(plan.takes()?.ns())));
        all.map(Span::from_ns)
    }

    /// How a loop waits best when it need not spin. One connection with one operation under way
    /// and nothing else to wait for blocks in its receive, as a plain program would.
    #[must_use]
    pub fn suitable_waiting(connections: NonZeroUsize, depth: NonZeroUsize, pace: Pace) -> Waiting {
        let one = NonZeroUsize::MIN;
        if connections == one && depth == one && pace == Pace::AsFast {
            Waiting::Receive
        } else {
            Waiting::Epoll
        }
    }

    /// The part of thread `index`: an even share of connections, rate and count.
    #[must_use]
    pub fn share(&self, index: usize) -> Share {
        let (threads, total) = (self.threads.get(), self.connections.get());
        let of_thread = |index: usize| total / threads + usize::from(index < total % threads);
        Share {
            part: self.part,
            connections: of_thread(index),
            first_user: (0..index).map(of_thread).sum(),
            index: self.part.number(index as u64),
            of: self.part.number(threads as u64) - self.part.number(0),
        }
    }
}

/// The part of a load that one thread drives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    part: LoadPart,
    pub(crate) connections: usize,
    first_user: usize,
    /// The number of the thread among those of all processes, and how many there are.
    pub(crate) index: u64,
    pub(crate) of: u64,
}

impl Share {
    /// This thread's part of `total` operations.
    #[must_use]
    pub fn count(self, total: u64) -> u64 {
        total / self.of + u64::from(self.index < total % self.of)
    }

    /// The extent of this thread's part of a load.
    #[must_use]
    pub fn extent(self, whole: Extent) -> Extent {
        match whole {
            Extent::Count(total) => Extent::Count(self.count(total)),
            Extent::For(_) | Extent::Users => whole,
        }
    }

    /// The number of this thread's connection `index` among those of all processes.
    pub(crate) fn user(self, index: usize) -> u64 {
        self.part.number((self.first_user + index) as u64)
    }

    /// The number of this thread's user `index` when users are dealt to the threads in turn, so
    /// that those who begin first are on all of them.
    pub(crate) fn dealt(self, index: usize) -> u64 {
        self.index + index as u64 * self.of
    }

    /// This thread's part of a rate: per second, and the delay of its first operation, so that
    /// the threads together are as even as one.
    #[must_use]
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a handful of threads; a fraction of one interval"
    )]
    pub fn rate(self, rate: Rate) -> (f64, u64) {
        let offset_ns = self.index as f64 * 1e9 / rate.per_s();
        (rate.per_s() / self.of as f64, offset_ns as u64)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::str::FromStr as _;

    use super::*;

    /// One connection, as fast as possible, 100 operations.
    pub(crate) fn plan() -> LoadPlan {
        LoadPlan {
            lag_bound: Span::from_ms(1),
            waiting: Waiting::Epoll,
            ..LoadPlan::lone(100, Span::from_ms(5_000))
        }
    }

    #[test]
    fn shares_add_up_to_the_whole() {
        let mut plan = plan();
        plan.connections = NonZeroUsize::new(10).unwrap();
        plan.threads = NonZeroUsize::new(4).unwrap();
        let shares: Vec<Share> = (0..4).map(|index| plan.share(index)).collect();
        assert_eq!(shares.iter().map(|share| share.connections).collect::<Vec<_>>(), [3, 3, 2, 2]);
        assert_eq!(shares.iter().map(|share| share.first_user).collect::<Vec<_>>(), [0, 3, 6, 8]);
        assert_eq!(shares.iter().map(|share| share.count(103)).sum::<u64>(), 103);
    }

    #[test]
    fn processes_share_a_load_as_threads_do() {
        let of = |connections: usize, threads: usize, part: LoadPart| {
            let mut plan = LoadPlan { part, ..plan() };
            plan.connections = NonZeroUsize::new(connections).unwrap();
            plan.threads = NonZeroUsize::new(threads).unwrap();
            (0..threads).map(|index| plan.share(index)).collect::<Vec<Share>>()
        };
        let parts = [(4, "1/3"), (3, "2/3"), (3, "3/3")]; // of ten connections
        let shares: Vec<Share> =
            parts.iter().flat_map(|(own, part)| of(*own, 2, part.parse().unwrap())).collect();
        assert_eq!(shares.iter().map(|share| share.count(103)).sum::<u64>(), 103);
        let numbers = |number: fn(Share, usize) -> u64| {
            let of = |share: &Share| {
                let share = *share;
                (0..share.connections).map(move |at| number(share, at))
            };
            let mut all: Vec<u64> = shares.iter().flat_map(of).collect();
            all.sort_unstable();
            all
        };
        assert_eq!(numbers(Share::user), (0..10).collect::<Vec<u64>>());
        assert_eq!(numbers(Share::dealt), (0..10).collect::<Vec<u64>>());
        let rate = Rate::from_str("1000").unwrap();
        let mut firsts: Vec<u64> = shares.iter().map(|share| share.rate(rate).1).collect();
        firsts.sort_unstable();
        assert_eq!(firsts, [0, 1, 2, 3, 4, 5].map(|n| n * 1_000_000));
        assert!(shares.iter().all(|share| (share.rate(rate).0 - 1_000.0 / 6.0).abs() < 1e-9));
    }

    #[test]
    fn threads_without_a_connection_are_refused() {
        let mut plan = plan();
        plan.threads = NonZeroUsize::new(2).unwrap();
        assert!(plan.check().unwrap_err().to_string().contains("2 threads for 1 connection: "));
    }

    #[test]
    fn a_tick_is_left_alone_unless_asked_for_and_not_held_by_a_loop_that_never_waits() {
        assert_eq!(LoadPlan::lone(1, Span::from_ms(1)).tick, Tick::Free);
        let held = LoadPlan { tick: Tick::Held, ..plan() };
        assert!(held.check().is_ok());
        let spins = LoadPlan { waiting: Waiting::Spin, ..held };
        assert!(spins.check().unwrap_err().to_string().contains("leave --spin or --hold-tick out"));
    }

    #[test]
    fn acknowledgements_are_of_tcp() {
        let quick = LoadPlan { quick_ack: true, ..plan() };
        let peer = "127.0.0.1:1".parse().unwrap();
        assert!(quick.check_over(&Endpoint::Tcp(peer)).is_ok());
        let others = [Endpoint::Udp(peer), Endpoint::Unix("echo".into())];
        assert!(others.iter().all(|it| plan().check_over(it).is_ok()));
        assert!(others.iter().all(|it| quick.check_over(it).is_err()));
    }

    #[test]
    fn a_plan_is_read_back_as_it_was_written() {
        let odd = LoadPlan {
            pace: Pace::Rate(Rate::from_str("1234.567").unwrap()),
            extent: Extent::For(Span::from_ns(1_234_567_891)),
            warmup: Span::from_ns(0),
            pin: vec![3, 1],
            netns: vec!["a b".into()],
            nagle: Nagle::On,
            quick_ack: true,
            tick: Tick::Held,
            ..plan()
        };
        let delayed = LoadPlan { pace: Pace::Delay(Span::from_ms(1)), ..plan() };
        for plan in [plan(), odd, delayed] {
            let text = serde_json::to_string(&plan).unwrap();
            assert_eq!(serde_json::from_str::<LoadPlan>(&text).unwrap(), plan);
        }
        let text = serde_json::to_string(&plan()).unwrap();
        let more = text.replacen('{', r#"{"burst":1,"#, 1);
        let refused = serde_json::from_str::<LoadPlan>(&more).unwrap_err().to_string();
        assert!(refused.contains("burst"), "{refused}");
        let none = text.replace(r#""connections":1"#, r#""connections":0"#);
        assert!(serde_json::from_str::<LoadPlan>(&none).is_err());
    }

    #[test]
    fn plans_take_their_times_together_unless_one_ends_with_its_work() {
        let timed = LoadPlan {
            extent: Extent::For(Span::from_ms(300)),
            warmup: Span::from_ms(200),
            ..plan()
        };
        assert_eq!(timed.takes(), Some(Span::from_ms(500)));
        assert_eq!(LoadPlan::takes_all([timed.clone(), timed.clone()]), Some(Span::from_ms(1_000)));
        assert_eq!(LoadPlan::takes_all([timed, plan()]), None);
        assert_eq!(LoadPlan::takes_all([]), Some(Span::from_ns(0)));
    }

    #[test]
    fn only_a_single_conversation_blocks_in_its_receive() {
        let (one, two) = (NonZeroUsize::MIN, NonZeroUsize::new(2).unwrap());
        let delay = Pace::Delay(Span::from_ms(1));
        assert_eq!(LoadPlan::suitable_waiting(one, one, Pace::AsFast), Waiting::Receive);
        assert_eq!(LoadPlan::suitable_waiting(two, one, Pace::AsFast), Waiting::Epoll);
        assert_eq!(LoadPlan::suitable_waiting(one, two, Pace::AsFast), Waiting::Epoll);
        assert_eq!(LoadPlan::suitable_waiting(one, one, delay), Waiting::Epoll);
    }
}
