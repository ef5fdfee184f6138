//! Where the time of a call went: parts whose means add up, and what stands out.

use std::collections::BTreeMap;

use plumb_measure::{
    Account, Advice, Attribution, BatchMeans, Calls, CannotBeSplit, Distribution, Estimate,
    FasterCalls, Histogram, Intermediary, PartKind, PartShare, Reading, ResultRecord, Series,
    TimePart, real, rounded, show_ns, signed_real,
};

use crate::database::Methods;
use crate::ledger::Observations;
use crate::statement::{Over, Statement};

/// What is known of one result.
#[derive(Debug)]
pub(crate) struct Known<'a> {
    pub(crate) statement: &'a Statement,
    pub(crate) over: Over,
    pub(crate) methods: Methods,
    /// Round trips that a log-on takes at least, without those of TLS.
    pub(crate) log_on_trips: u32,
    /// What is peculiar about how the server was reached.
    pub(crate) peculiar: Option<Advice>,
    /// What it was reached through, where the server's own words tell.
    pub(crate) intermediary: Option<Intermediary>,
    pub(crate) pool: usize,
    pub(crate) callers: usize,
    /// Response times of the calls that were not looked into, and their batches.
    pub(crate) response: &'a Histogram,
    pub(crate) batches: Option<BatchMeans>,
    pub(crate) found: &'a Observations,
    pub(crate) observed: u64,
    /// Calls could be looked into.
    pub(crate) looks: bool,
    pub(crate) handshake: Option<&'a Histogram>,
    /// The shortest message there and back of the run so far, nanoseconds.
    pub(crate) shortest_ns: u64,
    pub(crate) echo: Option<&'a Histogram>,
    pub(crate) tls: Option<&'a Histogram>,
    pub(crate) floor_ns: Option<u64>,
    pub(crate) readings: Vec<Reading>,
    /// True when work was due at times of its own.
    pub(crate) open: bool,
}

/// How the rest is found out.
const REST: &str = "what the other parts leave: the driver, and what was not measured";

/// Attributes the time; `None` when no call was answered or, of two kinds of looks, not both were taken.
pub(crate) fn attribute(known: Known<'_>) -> Option<Attribution> {
    let found = known.found;
    let unseen = found.wire.times.is_empty() || found.statement.times.is_empty();
    if known.response.is_empty() || (known.looks && unseen) {
        return None;
    }
    let attribution = Attribution {
        subject: known.statement.text.clone(),
        client: Estimate::of(known.response, known.batches.as_ref()),
        parts: parts(&known, Series::estimate),
        observed: known.observed,
        times: times(&known),
        intermediary: known.intermediary.or_else(|| nearer(&known).map(|_| Intermediary::Unknown)),
        ..Attribution::default()
    };
    let mut attribution = attribution.settled(REST).or_of_the_faster(|| {
        let parts = parts(&known, Series::faster);
        FasterCalls::of(known.response, known.batches.as_ref(), parts, REST)
    });
    attribution.advice = advice(&known, &attribution);
    attribution.readings = known.readings;
    Some(attribution)
}

/// What the server takes for the statement, as its clock says of the calls that were looked into.
fn statement(found: &Observations, known_as: fn(&Series) -> Estimate) -> Estimate {
    known_as(&found.statement).less(&[known_as(&found.empty)])
}

/// Has that in the round trips of `record`, whose messages are calls.
pub(crate) fn take_apart(record: &mut ResultRecord, found: &Observations, methods: Methods) {
    let Some(trip) = record.round_trip.take() else { return };
    record.round_trip = Some(match found.statement.times.is_empty() {
        false => trip.with_server(statement(found, Series::estimate), methods.server),
        true => trip,
    });
}

/// The parts that were measured, each with what `known_as` makes of its times.
fn parts(known: &Known<'_>, known_as: fn(&Series) -> Estimate) -> Vec<TimePart> {
    let found = known.found;
    let Methods { server, wire, connect } = known.methods;
    let mut parts = Vec::new();
    if known.looks {
        let time = statement(found, known_as);
        parts.push(TimePart { kind: PartKind::Server, time, how: server.into() });
    }
    let mut add = |wanted: bool, kind, series: &Series, how: &str| {
        if wanted {
            parts.push(TimePart { kind, time: known_as(series), how: how.into() });
        }
    };
    add(known.looks, PartKind::Wire, &found.wire, wire);
    add(!known.looks, PartKind::Away, &found.exchange, server);
    add(known.open, PartKind::Due, &found.due, "from the due time until a caller began");
    let pooled = known.over == Over::Pool;
    add(pooled, PartKind::Queue, &found.queue, "in the queue for a connection of the pool");
    let connects = known.over == Over::Connect;
    add(connects, PartKind::Connect, &found.connect, connect);
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
/// Statements that a page asks which asks too many.
const CHATTY: u64 = 400;
/// Round trips that a log-on takes more where it proves a password (SCRAM).
const PROOF_TRIPS: f64 = 2.0;
/// Handshakes so many times shorter than any message were not answered by the server ...
const ANSWERED_NEARER: u64 = 5;
/// ... when a message takes at least so long ...
const WIRE_MIN_NS: u64 = 1_000_000;
/// ... and there were so many of them: of a few, each may have met a server that was busy.
const MESSAGES_MIN: u64 = 10;

/// What stands out, the largest first.
fn advice(known: &Known<'_>, attribution: &Attribution) -> Vec<Advice> {
    let mut found = match attribution.account() {
        Ok(account) => large(known, attribution, &account),
        Err(reason) => vec![not_split(known, reason)],
    };
    found.extend(slowest_tenth(known, attribution));
    found.extend(nearer(known));
    found.extend(known.peculiar.clone());
    found.extend(floor(known, attribution.client.mean_ns));
    found
}

/// The parts that are large, the largest first. What stands out by chance is no finding.
fn large(known: &Known<'_>, attribution: &Attribution, account: &Account) -> Vec<Advice> {
    let split = &account.split;
    let least = LARGE * signed_real(split.whole.mean_ns);
    let stands_out = |share: &&PartShare<PartKind>| {
        share.share >= LARGE
            && share.time.low_ns().is_some_and(|low_ns| signed_real(low_ns) >= least)
    };
    let mut large: Vec<_> = split.all().filter(stands_out).collect();
    large.sort_by_key(|share| std::cmp::Reverse(share.time.mean_ns));
    let advice = |share: &PartShare<PartKind>| Advice {
        finding: format!("{}is {}", of_the_time(account, share), attribution.describe(share.of)),
        next: match (share.of, attribution.intermediary) {
            (PartKind::Wire, Some(intermediary)) if !is_a_long_way(known) => {
                on_the_way(intermediary).into()
            }
            _ => next(known, share.of),
        },
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
const LONGER: &str = "Measure for longer (--for), on a machine that does nothing else: the parts are \
    known of few calls only.";

/// Calls of so many times the median are long; they make a mean of twice the median or more.
const LONG_CALL: u64 = 100;

/// What to do where the parts are not known.
fn to_know(known: &Known<'_>) -> String {
    let (median_ns, max_ns) = (known.response.quantile(0.5), known.response.max());
    if max_ns / LONG_CALL <= median_ns || known.response.mean() < 2.0 * real(median_ns) {
        return LONGER.into();
    }
    let (max, median) = (show_ns(max_ns), show_ns(median_ns));
    format!(
        "Calls of up to {max}, at a median of {median}, make the mean: the chart over time says when they came. \
         Did they wait for locks (log_lock_waits of PostgreSQL)?"
    )
}

/// What is not told where only the faster nine tenths are.
fn slowest_tenth(known: &Known<'_>, attribution: &Attribution) -> Option<Advice> {
    attribution.account().ok().filter(|account| account.of == Calls::Faster)?;
    let (share, reason) = (attribution.slowest_share()?, attribution.cannot_be_split.as_ref()?);
    let percent = 100.0 * share;
    Some(Advice {
        finding: format!(
            "The slowest tenth of the calls takes {percent:.0} % of the time of all, and that is \
             not told apart: of all calls, {reason}"
        ),
        next: to_know(known),
    })
}

fn not_split(known: &Known<'_>, reason: CannotBeSplit) -> Advice {
    let next = match reason {
        CannotBeSplit::TooFew { .. } | CannotBeSplit::NotKnown { .. } => to_know(known),
        CannotBeSplit::LessThanNothing { .. } => {
            "Was the server's clock set meanwhile? Measure again.".into()
        }
        CannotBeSplit::MoreThanTheWhole { .. } => {
            "Looks took longer than calls: was this machine, or the server's, busy with something else \
             for a while? Measure again. If it stays so, --timestamps takes the calls themselves \
             apart, and what the database counts for the statement (below) is of every call."
                .into()
        }
    };
    Advice { finding: format!("The time cannot be split: {reason}"), next }
}

fn next(known: &Known<'_>, kind: PartKind) -> String {
    match kind {
        PartKind::Server => "Is this much for the statement? Look at its plan (--explain), at \
            indexes and locks, and at what else the server does (plumb host watch there)."
            .into(),
        PartKind::Wire => format!(
            "The network, and waking the server's process. Compare with plumb net ping to the same host. Every \
             statement pays it: a page that asks {CHATTY} one after the other spends {} on the way, so fewer \
             statements help more than faster ones (plumb db replay says who asks one over and over).",
            show_ns(mean_ns(&known.found.wire).saturating_mul(CHATTY))
        ),
        PartKind::Due => "Calls come faster than they are answered: more --callers, or a lower --rate."
            .into(),
        PartKind::Queue => format!(
            "{} callers share a pool of {}. Try a larger --pool, or hold connections for a \
             shorter time; stop where the server's own time begins to rise.",
            known.callers, known.pool
        ),
        PartKind::Connect => connect(known),
        PartKind::Away => {
            "This driver does not tell the server and the way to it apart. Ask the database \
            itself what it does for the statement, and plumb net ping how long the way is."
                .into()
        }
        // the parts of a runtime, of an application server and of packets are none of a statement
        PartKind::Door
        | PartKind::Front
        | PartKind::WorkProcess
        | PartKind::Program
        | PartKind::Lock
        | PartKind::Database
        | PartKind::DatabaseWire
        | PartKind::Called
        | PartKind::Render
        | PartKind::Transfer
        | PartKind::Thread
        | PartKind::Actions
        | PartKind::Commit
        | PartKind::Flush
        | PartKind::Sending
        | PartKind::ServerWaking
        | PartKind::ServerSending
        | PartKind::Waking
        | PartKind::Rest => "The driver and the client's machine (is a processor free?), answers larger than the \
            buffers of a socket, a pooler or a proxy that queues. Some 40 ms point to delayed acknowledgements."
            .into(),
    }
}

fn mean_ns(series: &Series) -> u64 {
    series.estimate().mean_ns.max(0).unsigned_abs()
}

fn connect(known: &Known<'_>) -> String {
    let mean = |times: Option<&Histogram>| times.map_or(0.0, Histogram::mean);
    let (whole, tls) = (known.found.connect.times.mean(), mean(known.tls));
    let wire = known.found.wire.times.mean();
    let login = known.found.startup.times.mean();
    let trips = f64::from(known.log_on_trips);
    let largest = if trips * wire > whole / 2.0 {
        let wire = show_ns(rounded(wire));
        match known.log_on_trips {
            1 => format!("Most of it is the way to the server and back, {wire}."),
            trips => format!("Most of it is the way: {trips} round trips of {wire}, or more."),
        }
    } else if tls > whole / 2.0 {
        "Most of it is the TLS handshake.".into()
    } else if login - (trips + PROOF_TRIPS) * wire > whole / 2.0 {
        "Most of it is the login: starting a process, checking the password.".into()
    } else if login - trips * wire > whole / 2.0 {
        "Most of it is the login: starting a process, checking the password, and the round trips for that."
            .into()
    } else {
        "It takes several round trips.".into()
    };
    format!("Keep connections, in a pool or in the application. {largest}")
}

/// True where a usual handshake takes at least half of a message there and back: it is the network then
/// that takes long, whoever is on the way.
fn is_a_long_way(known: &Known<'_>) -> bool {
    let handshake_ns = known.handshake.map_or(0, |times| times.quantile(0.5));
    handshake_ns.saturating_mul(2) >= mean_ns(&known.found.wire)
}

/// What to look at where the time is that of a way with somebody on it.
fn on_the_way(intermediary: Intermediary) -> &'static str {
    match intermediary {
        Intermediary::Pooler => {
            "Do calls wait there for a connection of the pooler (pgbouncer: cl_waiting of SHOW POOLS)? \
             Then let it lend more of them (default_pool_size), as far as the server takes them. What \
             the same statement takes without the pooler says how much of it is the network."
        }
        Intermediary::Unknown => {
            "Something on the way answers for the server: a proxy, a load balancer, a pooler. What \
             lies behind it is in the wire here, and in no ping: look there whether calls wait for a \
             connection (pgbouncer: SHOW POOLS), or measure from behind it."
        }
    }
}

/// Somebody on the way who answers handshakes. Of many messages even the shortest, of this result and of those
/// before it, takes much longer than a usual handshake: a machine that is busy makes some messages slow, not all.
fn nearer(known: &Known<'_>) -> Option<Advice> {
    let handshake_ns = known.handshake?.quantile(0.5);
    let wire_ns = known.shortest_ns;
    let far = known.found.wire.times.count() >= MESSAGES_MIN
        && wire_ns >= WIRE_MIN_NS
        && handshake_ns < wire_ns / ANSWERED_NEARER;
    far.then(|| Advice {
        finding: format!(
            "A TCP handshake takes {}, the shortest message to the server and back {}",
            show_ns(handshake_ns),
            show_ns(wire_ns)
        ),
        next: on_the_way(known.intermediary.unwrap_or(Intermediary::Unknown)).into(),
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

#[cfg(test)]
mod tests;
