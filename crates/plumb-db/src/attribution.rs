//! Where the time of a call went: parts whose means add up, and what stands out.

use std::collections::BTreeMap;

use plumb_measure::{
    Account, Advice, Attribution, BatchMeans, Calls, CannotBeSplit, Distribution, Estimate,
    FasterCalls, Histogram, PartKind, PartShare, Reading, Series, TimePart, show_ns,
};

use crate::ledger::Observations;
use crate::statement::{Over, Statement};

/// What is known of one result.
#[derive(Debug)]
pub(crate) struct Known<'a> {
    pub(crate) statement: &'a Statement,
    pub(crate) over: Over,
    pub(crate) pool: usize,
    pub(crate) callers: usize,
    /// Response times of the calls that were not looked into, and their batches.
    pub(crate) response: &'a Histogram,
    pub(crate) batches: Option<BatchMeans>,
    pub(crate) found: &'a Observations,
    pub(crate) observed: u64,
    pub(crate) handshake: Option<&'a Histogram>,
    pub(crate) echo: Option<&'a Histogram>,
    pub(crate) tls: Option<&'a Histogram>,
    pub(crate) floor_ns: Option<u64>,
    pub(crate) readings: Vec<Reading>,
    /// True when work was due at times of its own.
    pub(crate) open: bool,
}

/// How the rest is found out.
const REST: &str = "what the other parts leave: the driver, and whatever nobody measured";

/// Attributes the time; `None` when no call was answered or not both looks were taken.
pub(crate) fn attribute(known: Known<'_>) -> Option<Attribution> {
    let found = known.found;
    let unseen = found.wire.times.is_empty() || found.statement.times.is_empty();
    if known.response.is_empty() || unseen {
        return None;
    }
    let attribution = Attribution {
        subject: known.statement.text.clone(),
        client: Estimate::of(known.response, known.batches.as_ref()),
        parts: parts(&known, Series::estimate),
        cannot_be_split: None,
        faster: None,
        observed: known.observed,
        times: times(&known),
        readings: Vec::new(),
        advice: Vec::new(),
    };
    let mut attribution = attribution.settled(REST).or_of_the_faster(|| {
        let parts = parts(&known, Series::faster);
        FasterCalls::of(known.response, known.batches.as_ref(), parts, REST)
    });
    attribution.advice = advice(&known, &attribution);
    attribution.readings = known.readings;
    Some(attribution)
}

/// The parts that were measured, each with what `known_as` makes of its times.
fn parts(known: &Known<'_>, known_as: fn(&Series) -> Estimate) -> Vec<TimePart> {
    let found = known.found;
    let mut parts = vec![
        TimePart {
            kind: PartKind::Server,
            time: known_as(&found.statement).less(&[known_as(&found.empty)]),
            how: "between two readings of the server's clock, sent at once with the statement in \
                  between, less two readings with a message in between that asks for no work (Sync)"
                .into(),
        },
        TimePart {
            kind: PartKind::Wire,
            time: known_as(&found.wire),
            how: "a message that asks for no work (Sync), there and back in the place of a call"
                .into(),
        },
    ];
    let mut add = |wanted: bool, kind, series: &Series, how: &str| {
        if wanted {
            parts.push(TimePart { kind, time: known_as(series), how: how.into() });
        }
    };
    add(known.open, PartKind::Due, &found.due, "from the due time until a caller began");
    let pooled = known.over == Over::Pool;
    add(pooled, PartKind::Queue, &found.queue, "in the queue for a connection of the pool");
    let connects = known.over == Over::Connect;
    add(connects, PartKind::Connect, &found.connect, "making the connection of the call");
    parts
}

fn times(known: &Known<'_>) -> BTreeMap<String, Distribution> {
    let found = known.found;
    let pooled = known.over == Over::Pool;
    let connects = known.over == Over::Connect;
    let all: [(&str, Option<&Histogram>); 9] = [
        ("wire", Some(&found.wire.times)),
        ("server, with a reading of its clock", Some(&found.statement.times)),
        ("an empty message at the server, with a reading of its clock", Some(&found.empty.times)),
        ("statement and answer", Some(&found.exchange.times)),
        ("queue of the pool", Some(&found.queue.times).filter(|_| pooled)),
        ("making a connection", Some(&found.connect.times).filter(|_| connects)),
        ("login", Some(&found.startup.times).filter(|_| connects)),
        ("TCP handshake", known.handshake),
        ("echo server", known.echo),
    ];
    all.into_iter()
        .filter_map(|(name, times)| Some((name.to_owned(), Distribution::of(times?)?)))
        .collect()
}

/// A part of this share of the whole stands out.
const LARGE: f64 = 0.25;
/// Handshakes so many times shorter than any message were not answered by the server ...
const ANSWERED_NEARER: u64 = 5;
/// ... when a message takes at least so long.
const WIRE_MIN_NS: u64 = 1_000_000;

/// What stands out, the largest first.
fn advice(known: &Known<'_>, attribution: &Attribution) -> Vec<Advice> {
    let mut found = match attribution.account() {
        Ok(account) => large(known, &account),
        Err(reason) => vec![not_split(reason)],
    };
    found.extend(slowest_tenth(attribution));
    found.extend(nearer(known));
    found.extend(floor(known, attribution.client.mean_ns));
    found
}

/// The parts that are large, the largest first. What stands out by chance is no finding.
fn large(known: &Known<'_>, account: &Account) -> Vec<Advice> {
    let split = &account.split;
    let least = LARGE * real(split.whole.mean_ns);
    let stands_out = |share: &&PartShare<PartKind>| {
        share.share >= LARGE && share.time.low_ns().is_some_and(|low_ns| real(low_ns) >= least)
    };
    let mut large: Vec<_> = split.all().filter(stands_out).collect();
    large.sort_by_key(|share| std::cmp::Reverse(share.time.mean_ns));
    let advice = |share: &PartShare<PartKind>| Advice {
        finding: format!("{}is {}", of_the_time(account, share), share.of.describe()),
        next: next(known, share.of),
    };
    large.into_iter().map(advice).collect()
}

/// How much a part is. Its own time, which may be more than its share of parts that exceed the whole,
/// stands only where they do not.
fn of_the_time(account: &Account, share: &PartShare<PartKind>) -> String {
    let said = format!("{:.0} % of the time{}", 100.0 * share.share, account.of.whose());
    match account.split.excess_ns() {
        0 => format!("{said}, {}, ", show_ns(share.time.mean_ns.unsigned_abs())),
        _ => format!("{said} "),
    }
}

/// What to do where too little is known.
const LONGER: &str = "Measure for longer (--for), on a machine that does nothing else: only few \
    calls are looked into.";

/// What is not told where only the faster nine tenths are.
fn slowest_tenth(attribution: &Attribution) -> Option<Advice> {
    attribution.account().ok().filter(|account| account.of == Calls::Faster)?;
    let (share, reason) = (attribution.slowest_share()?, attribution.cannot_be_split.as_ref()?);
    let percent = 100.0 * share;
    Some(Advice {
        finding: format!(
            "The slowest tenth of the calls takes {percent:.0} % of the time of all, and that is \
             not told apart: of all calls, {reason}"
        ),
        next: LONGER.into(),
    })
}

fn not_split(reason: CannotBeSplit) -> Advice {
    let next = match reason {
        CannotBeSplit::TooFew { .. } | CannotBeSplit::NotKnown { .. } => LONGER,
        CannotBeSplit::LessThanNothing { .. } => {
            "Was the server's clock set meanwhile? Measure again."
        }
        CannotBeSplit::MoreThanTheWhole { .. } => {
            "Calls and looks did not meet the same machine: was it, or the server's, busy with \
             something else for a while? Measure again, and for longer (--for)."
        }
    };
    Advice { finding: format!("The time cannot be split: {reason}"), next: next.into() }
}

fn next(known: &Known<'_>, kind: PartKind) -> String {
    match kind {
        PartKind::Server => "Is this much for the statement? Look at its plan (--explain), at \
            indexes and locks, and at what else the server does (plumb host watch there)."
            .into(),
        PartKind::Wire => "The network, and waking the server's process. Compare with plumb net \
            ping to the same host; fewer statements a dialog help more than faster ones."
            .into(),
        PartKind::Due => "Calls come faster than they are answered: more --callers, or a lower \
            --rate."
            .into(),
        PartKind::Queue => format!(
            "{} callers share a pool of {}. Try a larger --pool, or hold connections for a \
             shorter time; stop where the server's own time begins to rise.",
            known.callers, known.pool
        ),
        PartKind::Connect => connect(known),
        PartKind::Rest => "The driver and the client's machine (is a processor free?), answers \
            larger than the buffers of a socket, a pooler or a proxy that queues. Some 40 ms \
            point to delayed acknowledgements."
            .into(),
    }
}

fn connect(known: &Known<'_>) -> String {
    let mean = |times: Option<&Histogram>| times.map_or(0.0, Histogram::mean);
    let (whole, tls) = (known.found.connect.times.mean(), mean(known.tls));
    let login = known.found.startup.times.mean();
    let largest = if tls > whole / 2.0 {
        "Most of it is the TLS handshake."
    } else if login > whole / 2.0 {
        "Most of it is the login: starting a process, checking the password."
    } else {
        "It takes several round trips."
    };
    format!("Keep connections, in a pool or in the application. {largest}")
}

/// Somebody on the way who answers handshakes. Even the shortest message takes much longer than a
/// usual handshake: a machine that is busy makes some messages slow, not all.
fn nearer(known: &Known<'_>) -> Option<Advice> {
    let handshake_ns = known.handshake?.quantile(0.5);
    let wire_ns = known.found.wire.times.min();
    let far = wire_ns >= WIRE_MIN_NS && handshake_ns < wire_ns / ANSWERED_NEARER;
    far.then(|| Advice {
        finding: format!(
            "A TCP handshake takes {}, the shortest message to the server and back {}",
            show_ns(handshake_ns),
            show_ns(wire_ns)
        ),
        next: "Something on the way answers for the server: a proxy, a load balancer, a pooler. \
               What lies behind it is in the wire here, and in no ping."
            .into(),
    })
}

/// The driver itself.
fn floor(known: &Known<'_>, whole: i64) -> Option<Advice> {
    let floor_ns = i64::try_from(known.floor_ns?).ok()?;
    (2 * floor_ns >= whole).then(|| Advice {
        finding: format!("The driver itself takes {}", show_ns(floor_ns.unsigned_abs())),
        next: "There is little to find below this: measure with another driver to go further."
            .into(),
    })
}

#[expect(clippy::cast_precision_loss, reason = "nanoseconds of seconds")]
fn real(ns: i64) -> f64 {
    ns as f64
}

#[cfg(test)]
mod tests {
    use plumb_measure::Batches;

    use super::*;

    /// Ten calls of `ns`, in their order.
    fn batches(ns: u64) -> Option<BatchMeans> {
        let mut batches = Batches::default();
        (0..10).for_each(|_| batches.record(ns));
        batches.means()
    }

    /// Ten calls of 50 ms, of which `queue` is in the pool, 40 on the wire and 3 in the server.
    fn known<'a>(
        found: &'a mut Observations,
        response: &'a mut Histogram,
        statement: &'a Statement,
    ) -> Known<'a> {
        const MS: u64 = 1_000_000;
        for _ in 0..10 {
            response.record(50 * MS);
            found.queue.record(5 * MS);
            found.wire.record(40 * MS);
            found.statement.record(3 * MS + 20_000);
            found.empty.record(20_000);
        }
        Known {
            statement,
            over: Over::Pool,
            pool: 1,
            callers: 8,
            response,
            batches: batches(50 * MS),
            found,
            observed: 10,
            handshake: None,
            echo: None,
            tls: None,
            floor_ns: Some(10_000),
            readings: Vec::new(),
            open: false,
        }
    }

    #[test]
    fn the_parts_add_up_to_the_whole() {
        let (mut found, mut response) = (Observations::default(), Histogram::new());
        let statement = Statement::trivial();
        let of = attribute(known(&mut found, &mut response, &statement)).unwrap();
        let parts: Vec<(PartKind, i64)> =
            of.parts.iter().map(|part| (part.kind, part.time.mean_ns / 1_000_000)).collect();
        let expected = [
            (PartKind::Server, 3),
            (PartKind::Wire, 40),
            (PartKind::Queue, 5),
            (PartKind::Rest, 2),
        ];
        assert_eq!(parts, expected);
        let sum: i64 = of.parts.iter().map(|part| part.time.mean_ns).sum();
        assert_eq!(sum, of.client.mean_ns);
    }

    #[test]
    fn what_stands_out_is_named_with_what_to_do() {
        let (mut found, mut response) = (Observations::default(), Histogram::new());
        let statement = Statement::trivial();
        let mut near = Histogram::new();
        near.record(50_000);
        let known =
            Known { handshake: Some(&near), ..known(&mut found, &mut response, &statement) };
        let advice = attribute(known).unwrap().advice;
        assert_eq!(advice.len(), 2, "{advice:?}");
        assert!(advice[0].finding.starts_with("80 % of the time, 40.0 ms"), "{advice:?}");
        assert!(advice[1].next.contains("a proxy"), "{advice:?}");
    }

    #[test]
    fn looks_that_met_another_server_than_the_calls_leave_no_share() {
        let statement = Statement::trivial();
        let (mut found, mut response) = (Observations::default(), Histogram::new());
        let mut known = known(&mut found, &mut response, &statement);
        // calls of 59 us, beside messages of 40 ms
        let mut quick = Histogram::new();
        (0..10).for_each(|_| quick.record(59_000));
        known.response = &quick;
        known.batches = batches(59_000);
        let of = attribute(known).unwrap();
        assert!(of.parts.iter().all(|part| part.kind != PartKind::Rest), "{of:?}");
        let why = of.cannot_be_split.as_deref().unwrap();
        assert!(why.ends_with("add up to more than the whole, 48.0 ms of 59.0 us"), "{why}");
        assert!(of.advice[0].finding.starts_with("The time cannot be split: "), "{of:?}");
        assert!(of.advice.iter().all(|advice| !advice.finding.contains('%')), "{of:?}");
    }

    /// Twenty looks and 600 calls of which one in sixty is gone for `gone` longer.
    fn of_a_busy_machine(gone: u64) -> Attribution {
        const US: u64 = 1_000;
        let statement = Statement::trivial();
        let (mut found, mut response) = (Observations::default(), Histogram::new());
        let mut batches = Batches::default();
        let mut call = |ns| {
            response.record(ns);
            batches.record(ns);
        };
        (0..600).for_each(|at| call(200 * US + at % 7 * US + u64::from(at % 60 == 0) * gone));
        for at in 0..20 {
            let gone = u64::from(at == 11) * gone;
            found.wire.record(120 * US + at % 5 * US + gone);
            found.statement.record(65 * US + at % 3 * US + gone);
            found.empty.record(10 * US + at % 2 * US);
        }
        attribute(Known {
            statement: &statement,
            over: Over::Kept,
            pool: 1,
            callers: 1,
            response: &response,
            batches: batches.means(),
            found: &found,
            observed: 40,
            handshake: None,
            echo: None,
            tls: None,
            floor_ns: None,
            readings: Vec::new(),
            open: false,
        })
        .unwrap()
    }

    #[test]
    fn where_a_few_calls_spoil_the_means_the_faster_nine_tenths_are_told() {
        assert_eq!(of_a_busy_machine(0).faster, None, "all are known");
        let of = of_a_busy_machine(9_000_000);
        assert!(of.cannot_be_split.is_some(), "{of:?}");
        let faster = of.faster.as_ref().unwrap();
        let sum: i64 = faster.parts.iter().map(|part| part.time.mean_ns).sum();
        assert_eq!(sum, faster.client.mean_ns);
        let findings: Vec<&str> = of.advice.iter().map(|it| it.finding.as_str()).collect();
        assert_eq!(findings.len(), 3, "{findings:?}");
        let start = " % of the time of the faster nine tenths of the calls, ";
        assert!(findings[0].contains(start) && findings[1].contains(start), "{findings:?}");
        let slowest = "The slowest tenth of the calls takes 48 % of the time of all, and that is \
                       not told apart: of all calls, the parts are not known well enough";
        assert!(findings[2].starts_with(slowest), "{findings:?}");
    }

    #[test]
    fn nothing_is_attributed_without_a_look() {
        let (found, mut response) = (Observations::default(), Histogram::new());
        response.record(1);
        let statement = Statement::trivial();
        let mut other = Observations::default();
        let mut none = Histogram::new();
        let mut empty = known(&mut other, &mut none, &statement);
        empty.found = &found;
        assert_eq!(attribute(empty), None);
    }
}
