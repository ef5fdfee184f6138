//! Servers that do no more for more users: a pool of theirs is full, or their processors are busy.
//!
//! The knee of a closed load: with more users the rate stays as it is, and everybody waits longer.
//! What is full, the server's report of its waits tells; without one, how busy the processors are.

use super::quota::is_the_limit;
use super::sentence::{capitalised, named, uncapitalised};
use super::told::queue;
use super::{Evidence, one_a_server, transfer};
use crate::finding::{CheckupFinding, CheckupRemark, FaultCost, FaultKind};
use crate::{CheckupLayer, CheckupOutcome, CheckupPart, Middle};
use plumb_measure::{Calls, ForeignLimit, PartKind, is_whole_time, real, show_count, show_ns};

/// Less waiting than this nobody notices.
const WAIT_MIN_NS: u64 = 1_000_000;
/// A user who makes the others wait less is served quickly enough, if one after the other.
const WAIT_A_USER_MIN_NS: u64 = 250_000;
/// With so many users, a server that carries this share of them at once or more is not full.
const CARRIED_MAX: f64 = 0.7;
/// The rate may still grow by this share of what the users grow by.
const GROWTH_MAX: f64 = 0.3;
/// Processors are all busy from here, percent; they idle up to the next. Up to the last they idle so
/// much that what is waited for is surely none of them.
const BUSY_PCT: f64 = 90.0;
const IDLE_PCT: f64 = 80.0;
const IDLE_MUCH_PCT: f64 = 60.0;
/// Waits that make up this share of what was added are the reason; below the other they are not.
const WAITS_ARE: f64 = 0.5;
const WAITS_ARE_NOT: f64 = 0.2;
/// What to look at where a line may be full.
const LINE_NEXT: &str = "Compare with the rate of plumb net stream: is the line full, or a limiter on it, or the \
                         processors at its ends?";

/// Findings of full servers; remarks about this machine, where its processors were the limit.
pub(super) fn judged(evidence: &Evidence<'_>) -> (Vec<CheckupFinding>, Vec<CheckupRemark>) {
    let (mut findings, mut busy, mut untold) = (Vec::new(), Vec::new(), Vec::new());
    for (part, first) in evidence.yardsticks().filter(|(part, _)| part.users == 1) {
        let Some(knee) = Knee::of(evidence, part, first) else { continue };
        match knee.limit() {
            Limit::Nobody => {}
            Limit::ThisMachine => busy.push(knee),
            Limit::Untold => untold.push(knee),
            limit => findings.push(knee.finding(limit)),
        }
    }
    let who = evidence.checkup.who_asks();
    let remarks = remark(&who, &busy).into_iter().chain(untold.iter().filter_map(Knee::untold));
    (one_a_server(&findings), remarks.collect())
}

/// One operation by one user and by many.
struct Knee<'a> {
    part: &'a CheckupPart,
    first: &'a CheckupOutcome,
    last: &'a CheckupOutcome,
    /// Users that ask at once, or the connections that they share: who waits for one of these waits for
    /// this tool.
    many: u64,
    /// Users behind these.
    users: u64,
    /// Of the time that the server was asked.
    medians: [Middle; 2],
}

/// What does not grow.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Limit {
    /// Everything grows.
    Nobody,
    /// A pool of the server: processors idle, or the server reports the wait.
    Pool,
    /// Something that the statements of a database wait for: processors idle.
    Statements,
    /// Something the server waits for itself.
    Behind,
    /// The line, or whoever writes the answers: their transfer takes longer.
    Transfer,
    /// The processors of the machine that asks and serves.
    ThisMachine,
    /// Its processors are busy, but others keep them so.
    Untold,
    /// Those of the server's machine.
    FarMachine,
    /// One of these.
    Unknown,
}

impl<'a> Knee<'a> {
    /// The knee of the operation of `part`, which one user asks for; `None` where more is done for
    /// more users, or nobody waits for it.
    fn of(
        evidence: &Evidence<'a>,
        part: &'a CheckupPart,
        first: &'a CheckupOutcome,
    ) -> Option<Self> {
        let same = |other: &CheckupPart| {
            other.layer == part.layer
                && other.server == part.server
                && other.operation == part.operation
        };
        let mut ladder: Vec<(u64, u64, &CheckupOutcome)> = evidence
            .timed()
            .filter(|(other, it)| same(other) && it.pair.is_none() && it.bits_per_s.is_none())
            .map(|(other, outcome)| (other.at_once(), other.users, outcome))
            .collect();
        ladder.sort_by_key(|(many, ..)| *many);
        let [.., (before, _, lower), (many, users, last)] = ladder[..] else { return None };
        let medians = [first.median?, last.over_connection.or(last.median)?];
        let waits = medians[1].low_ns.saturating_sub(medians[0].high_ns);
        let waited = waits >= WAIT_MIN_NS && waits / many.max(2) >= WAIT_A_USER_MIN_NS;
        let carried = last.throughput_per_s / first.throughput_per_s;
        let more = real(many) / real(before.max(1)) - 1.0;
        let grown = last.throughput_per_s / lower.throughput_per_s - 1.0;
        let flat = carried <= CARRIED_MAX * real(many) && grown <= GROWTH_MAX * more;
        (many > 1 && waited && flat).then_some(Self { part, first, last, many, users, medians })
    }

    fn limit(&self) -> Limit {
        let busy = self.busy();
        let idle = busy.is_some_and(|pct| pct <= IDLE_PCT);
        let idle_much = busy.is_some_and(|pct| pct <= IDLE_MUCH_PCT);
        match self.waits() {
            _ if is_the_limit(self.last) => Limit::Nobody, // which is said of the quota
            Some(share) if share >= WAITS_ARE => Limit::Pool,
            _ if busy.is_some_and(|pct| pct >= BUSY_PCT) => match self.last.server_is_here {
                true if self.is_kept_busy_by_others() => Limit::Untold,
                true => Limit::ThisMachine,
                false => Limit::FarMachine,
            },
            _ if transfer::grown(self.first, self.last).is_some() => Limit::Transfer,
            None if idle && self.is_of_a_database() => Limit::Statements,
            None if idle => Limit::Pool,
            Some(share) if idle_much && share <= WAITS_ARE_NOT => Limit::Behind,
            _ if busy.is_none() => Limit::Unknown,
            _ => Limit::Nobody, // neither a queue nor processors that are surely free or busy
        }
    }

    /// How busy the machine of the server was with most users, percent.
    fn busy(&self) -> Option<f64> {
        match self.last.server_is_here {
            true => self.last.busy_pct,
            false => self.last.far_busy_pct,
        }
    }

    /// The same in words, with what others took where they are known and took more than is usual: `100 %
    /// busy, 98 % by others`.
    fn said_busy(&self) -> Option<String> {
        let usual = 100.0 * ForeignLimit::DEFAULT.of_one();
        let here = self.last.foreign_pct.filter(|_| self.last.server_is_here);
        let by = here.filter(|pct| *pct > usual);
        let by = by.map_or_else(String::new, |pct| format!(", {pct:.0} % by others"));
        Some(format!("{:.0} % busy{by}", self.busy()?))
    }

    /// True where the machine that asks and serves would have idle processors without its other programs.
    fn is_kept_busy_by_others(&self) -> bool {
        let others = self.last.foreign_pct.unwrap_or(0.0);
        self.last.server_is_here
            && self.last.busy_pct.is_some_and(|pct| pct >= BUSY_PCT && pct - others <= IDLE_PCT)
    }

    /// That others kept the processors busy, so that nobody knows what is full.
    fn untold(&self) -> Option<CheckupRemark> {
        let text = format!(
            "with many users the processors were {}: {}. Measure again when these rest",
            self.said_busy()?,
            uncapitalised(&self.described()),
        );
        let untold = format!("whether the {} is full", self.part.server);
        Some(CheckupRemark { name: "processors".into(), text, untold: Some(untold) })
    }

    /// The share of what was added that the server itself calls a wait; `None` where it tells of no
    /// waits.
    fn waits(&self) -> Option<f64> {
        let added = self.last.mean_ns?.checked_sub(self.first.mean_ns?).filter(|ns| *ns > 0)?;
        let waited = queue(self.last)?.saturating_sub(queue(self.first)?);
        Some(real(waited) / real(added))
    }

    /// Operations that are worked on at once, with most users: as many as there are users, who ask all the
    /// time, times the share of an operation in which it does not wait (Little's law). Where nobody reports
    /// the wait, that is what an operation takes with one user. A rate is no part of it: of a few long
    /// operations it is known to one of them a user.
    fn at_once(&self) -> f64 {
        let users = real(self.users);
        match (self.first.mean_ns, self.last.mean_ns, queue(self.last)) {
            (_, Some(mean), Some(queue)) => {
                users * real(mean.saturating_sub(queue)) / real(mean.max(1))
            }
            (Some(alone), Some(mean), None) => users * real(alone) / real(mean.max(1)),
            _ => self.last.throughput_per_s / self.first.throughput_per_s,
        }
    }

    fn finding(&self, limit: Limit) -> CheckupFinding {
        let kind = match limit {
            Limit::FarMachine => FaultKind::Processors,
            Limit::Pool if !self.is_network() => FaultKind::Pool,
            _ => FaultKind::Saturation,
        };
        let [first, last] = self.medians;
        let cost = FaultCost::of(
            last.ns.saturating_sub(first.ns),
            last.low_ns.saturating_sub(first.high_ns),
            last.high_ns.saturating_sub(first.low_ns),
            last.ns,
        );
        CheckupFinding {
            kind,
            layer: Some(self.part.layer),
            server: self.part.server.clone(),
            operation: Some(self.part.operation.clone()),
            cost: Some(cost),
            ranked_ns: None,
            evidence: format!("The {} {}", self.part.server, self.evidence(limit)),
            next: self.next(limit).into(),
        }
    }

    fn is_network(&self) -> bool {
        self.part.layer == CheckupLayer::Network
    }

    fn is_of_a_database(&self) -> bool {
        self.part.layer == CheckupLayer::Database
    }

    /// How long the server works on an operation by its own clock, with one user and with most, nanoseconds:
    /// means, and which operations they are of; `None` where it was not read of the same.
    fn worked(&self) -> Option<([u64; 2], Calls)> {
        let of = |outcome: &CheckupOutcome| {
            let server = outcome.attributed.get(&PartKind::Server)?;
            Some((server.mean_ns.max(0).unsigned_abs(), outcome.accounted()?.1))
        };
        let ((first, of_first), (last, of_last)) = (of(self.first)?, of(self.last)?);
        (of_first == of_last).then_some(([first, last], of_last))
    }

    /// The share of what was added over a connection that the server's own clock has; `None` where it was
    /// not read.
    fn worked_longer(&self) -> Option<f64> {
        let ([first, last], _) = self.worked()?;
        let added = self.medians[1].ns.saturating_sub(self.medians[0].ns).max(1);
        Some(real(last.saturating_sub(first)) / real(added))
    }

    /// `; by its own clock it has one for 28.2 ms then, and for 7.29 ms over one connection, at the mean`.
    fn clock(&self) -> String {
        self.worked().map_or_else(String::new, |([first, last], of)| {
            format!(
                "; by its own clock it has one for {} then, and for {} over one connection, at the mean{}",
                show_ns(last),
                show_ns(first),
                of.whose()
            )
        })
    }

    fn evidence(&self, limit: Limit) -> String {
        let knee = self.described();
        let busy = self
            .said_busy()
            .map_or_else(String::new, |busy| format!("; its processors were {busy}"));
        // a mean: of the median it would be no part
        let waited =
            queue(self.last).zip(self.last.mean_ns).map_or_else(String::new, |(ns, mean)| {
                format!(
                    "; of {} at the mean the server reports {} as queueing",
                    show_ns(mean),
                    show_ns(ns)
                )
            });
        match limit {
            _ if self.is_network() => {
                format!("carries no more over more connections. {knee}{busy}.")
            }
            Limit::Pool => {
                let served = served(self.at_once());
                format!("is full: it serves {served} at a time. {knee}{waited}{busy}.")
            }
            Limit::Statements => format!(
                "does no more over more connections: it serves {} at a time, while processors idle. \
                 {knee}{}{busy}.",
                served(self.at_once()),
                self.clock(),
            ),
            Limit::FarMachine | Limit::ThisMachine | Limit::Untold => {
                format!("is at the limit of its processors. {knee}{busy}.")
            }
            Limit::Unknown if self.is_of_a_database() => format!(
                "does no more over more connections: statements wait for each other, or its processors are \
                 busy. {knee}{}{busy}.",
                self.clock(),
            ),
            Limit::Behind => format!(
                "waits for something else: no more is done for more users, and the server \
                 reports no queue. {knee}{}{busy}.",
                self.grower()
            ),
            Limit::Transfer => format!(
                "brings no more through for more users: a line, or what writes its answers, is at its limit. \
                 {knee}{}{busy}.",
                transfer::grown(self.first, self.last)
                    .map_or_else(String::new, |it| format!("; {it}")),
            ),
            Limit::Unknown | Limit::Nobody => format!(
                "does no more for more users: a pool of it is full, or its processors are busy. \
                 {knee}{waited}{busy}."
            ),
        }
    }

    /// `A flight list takes 52.7 ms with 10 users and 5.50 ms with one, at 189/s and 182/s`.
    fn described(&self) -> String {
        let [first, last] = self.medians;
        let (with, users) =
            if self.is_of_a_database() { ("over", "connections") } else { ("with", "users") };
        format!(
            "{} takes {} {with} {} {users} and {} {with} one, at {}/s and {}/s",
            capitalised(&named(&self.part.operation)),
            show_ns(last.ns),
            self.many,
            show_ns(first.ns),
            show_count(self.last.throughput_per_s),
            show_count(self.first.throughput_per_s),
        )
    }

    /// The time of the server's account that grew most.
    fn grower(&self) -> String {
        let before = |name: &String| self.first.told_ns.get(name).copied().unwrap_or(0);
        let told = self.last.told_ns.iter().filter(|(name, _)| !is_whole_time(name));
        let grown = told.max_by_key(|(name, ns)| ns.saturating_sub(before(name)));
        grown.map_or_else(String::new, |(name, ns)| {
            format!("; {name} grew from {} to {}", show_ns(before(name)), show_ns(*ns))
        })
    }

    fn next(&self, limit: Limit) -> &'static str {
        match limit {
            _ if self.is_network() => LINE_NEXT,
            Limit::Transfer => LINE_NEXT,
            Limit::Pool if self.is_kept_busy_by_others() => {
                "Raise the number of its work processes, threads or connections (of plumb app \
                 serve: --work-processes), and shorten the step. Measure again when the other programs \
                 rest: without them its processors idle."
            }
            Limit::Pool => {
                "Raise the number of its work processes, threads or connections (of plumb app \
                 serve: --work-processes) while processors idle, and shorten the step; stop where \
                 the rate grows no more."
            }
            Limit::FarMachine | Limit::ThisMachine | Limit::Untold => {
                "Fewer processor seconds an operation, or more processors: a larger pool would only \
                 move the queue."
            }
            Limit::Statements | Limit::Unknown if self.is_of_a_database() => {
                statements_next(self.worked_longer())
            }
            Limit::Behind => {
                "Look at what the server asks itself: its database, its lock server, a disk."
            }
            Limit::Statements | Limit::Unknown | Limit::Nobody => {
                "Watch the processors of its machine meanwhile (plumb host serve there, --far-host \
                 here): if they idle, raise its work processes, threads or connections."
            }
        }
    }
}

/// What to look at where statements wait for each other, and the server's own clock has this share of it.
fn statements_next(worked_longer: Option<f64>) -> &'static str {
    match worked_longer {
        Some(share) if share >= WAITS_ARE => {
            "They wait within the database: for what (wait_event of pg_stat_activity, data_lock_waits of \
             performance_schema)? A lock that each of them takes lets one through at a time; a disk may, too."
        }
        Some(share) if share <= WAITS_ARE_NOT => {
            "They wait before the database: has a pooler or proxy before its port fewer connections to it \
             (pgbouncer: default_pool_size, SHOW POOLS)?"
        }
        _ => {
            "What do they wait for (wait_event of pg_stat_activity, data_lock_waits of performance_schema), \
             and has a pooler or proxy before its port fewer connections to it (pgbouncer: SHOW POOLS)? Its \
             processors tell plumb host serve there, --far-host here."
        }
    }
}

fn served(at_once: f64) -> String {
    if at_once < 1.5 { "one".into() } else { format!("about {at_once:.0}") }
}

/// Where the machine that asks serves, too, its processors are a limit of the measurement.
fn remark(who: &str, busy: &[Knee<'_>]) -> Option<CheckupRemark> {
    let most = busy.iter().max_by_key(|knee| knee.medians[1].ns)?;
    let text = format!(
        "{who} asks and serves, and with many users its processors were the limit ({}): {}. What \
         the {} does on a machine of its own is not known from here",
        most.said_busy()?,
        uncapitalised(&most.described()),
        most.part.server
    );
    Some(CheckupRemark { name: "processors".into(), text, untold: None })
}
