//! Where the time of an operation went, in words and tables.

pub(crate) mod advice;
mod html;
pub mod stack;
pub mod steps;
mod tables;

use plumb_measure::{
    Account, Attribution, Calls, CannotBeSplit, Estimate, Intermediary, PartKind, PartShare,
    Reading, ResultRecord, RunRecord, Split, counted, show_ns, signed_real,
};

pub(crate) use html::{section, styles};
pub(crate) use tables::{parts, readings, times};

use crate::points::Points;

/// Parts that are told one by one, in this order; what lies before them is told together.
const ONE_BY_ONE: [PartKind; 21] = [
    PartKind::Server,
    PartKind::Wire,
    PartKind::Door,
    PartKind::Thread,
    PartKind::Actions,
    PartKind::Commit,
    PartKind::Flush,
    PartKind::Front,
    PartKind::WorkProcess,
    PartKind::Program,
    PartKind::Lock,
    PartKind::Database,
    PartKind::DatabaseWire,
    PartKind::Called,
    PartKind::Render,
    PartKind::Transfer,
    PartKind::Sending,
    PartKind::Away,
    PartKind::ServerWaking,
    PartKind::ServerSending,
    PartKind::Waking,
];

/// What an operation waits for before anything of it reaches the server.
const BEFORE: [PartKind; 3] = [PartKind::Due, PartKind::Queue, PartKind::Connect];

/// A kind of part as columns and legends name it.
pub(crate) fn name(kind: PartKind) -> &'static str {
    match kind {
        PartKind::Server => "server",
        PartKind::Wire => "wire",
        PartKind::Due => "waiting for a caller",
        PartKind::Queue => "queue of the pool",
        PartKind::Connect => "connecting",
        PartKind::Door => "door",
        PartKind::Thread => "waiting for a thread",
        PartKind::Actions => "actions",
        PartKind::Commit => "commit",
        PartKind::Flush => "flush",
        PartKind::Front => "front",
        PartKind::WorkProcess => "waiting for a work process",
        PartKind::Program => "program load",
        PartKind::Lock => "locks",
        PartKind::Database => "database",
        PartKind::DatabaseWire => "way to the database",
        PartKind::Render => "rendering",
        PartKind::Called => "another server",
        PartKind::Transfer => "transfer",
        PartKind::Sending => "client sending",
        PartKind::Away => "away",
        PartKind::ServerWaking => "server waking",
        PartKind::ServerSending => "server sending",
        PartKind::Waking => "client waking",
        PartKind::Rest => "rest",
    }
}

/// The same where every part is told by the operations themselves: what they leave was not measured.
fn shown(kind: PartKind) -> &'static str {
    if kind == PartKind::Rest { "not measured" } else { name(kind) }
}

/// One sentence a result that was looked into, with the name of the result where there are several.
pub(crate) fn sentences(record: &RunRecord) -> Vec<(String, String)> {
    let points = Points::of(record);
    let several = points.results.len() > 1;
    points
        .results
        .iter()
        .filter_map(|result| {
            let name = if several { points.name(result) } else { String::new() };
            Some((name, sentence(result.attribution.as_ref()?)))
        })
        .collect()
}

/// What the server says of its own time: a sentence a result of the sources that tell it, one for each thing that
/// such a time is of, and one for each thing that another source says of every result alike.
pub(crate) fn told_by_server(record: &RunRecord) -> Vec<String> {
    let points = Points::of(record);
    let several = points.results.len() > 1;
    let looked = points.results.iter().filter_map(|result| {
        let name = if several { format!("{}: ", points.name(result)) } else { String::new() };
        Some((name, &result.attribution.as_ref()?.readings[..]))
    });
    told(&looked.collect::<Vec<_>>())
}

/// The same of readings behind the name of their result.
fn told(results: &[(String, &[Reading])]) -> Vec<String> {
    let times = results.iter().filter_map(|(name, readings)| {
        let time = |reading: &Reading| {
            let executions = counted(reading.count, "execution");
            Some(format!("{} {} ({executions})", reading.source, show_ns(reading.mean_ns?)))
        };
        let times: Vec<String> = readings.iter().filter_map(time).collect();
        (!times.is_empty()).then(|| format!("{name}{}", times.join(", ")))
    });
    let mut of: Vec<String> = Vec::new();
    for reading in results.iter().flat_map(|(_, readings)| *readings) {
        let said = format!("{} tells {}", reading.source, reading.about);
        if reading.mean_ns.is_some() && !of.contains(&said) {
            of.push(said);
        }
    }
    let alike = |reading: &&Reading| results.iter().all(|(_, all)| all.contains(reading));
    let first = results.first().map_or(&[][..], |(_, readings)| readings);
    let others = first.iter().filter(|it| it.mean_ns.is_none()).filter(alike);
    times.chain(of).chain(others.map(|it| format!("{}: {}", it.source, it.about))).collect()
}

/// The answer on what a record is judged by: of a kept connection where there is one, and of the
/// statement that does most. `None` where no result tells, or nothing was looked into.
pub(crate) fn headline(record: &RunRecord) -> Option<String> {
    const OVER: [&str; 2] = ["kept", "pool"];
    const STATEMENTS: [&str; 2] = ["own", "sized"];
    let points = Points::of(record);
    let place = |result: &ResultRecord, label: &str, known: &[&str]| {
        let value = result.labels.get(label).map(String::as_str);
        known.iter().position(|it| Some(*it) == value).unwrap_or(known.len())
    };
    let told = points.results.iter().filter_map(|result| {
        let attribution = result.attribution.as_ref()?;
        Some((*result, attribution, attribution.account().ok()?))
    });
    let (result, attribution, account) = told.min_by_key(|(result, ..)| {
        (place(result, "over", &OVER), place(result, "statement", &STATEMENTS))
    })?;
    let answer = answer(attribution, &account);
    if points.results.len() == 1 {
        return Some(answer);
    }
    Some(format!("{} ({}).", answer.trim_end_matches('.'), points.name(result)))
}

/// What stands behind the shares of an answer.
const SHARES: &str = ", shares with their 95 % intervals";

/// The answer, then the figures behind it.
fn sentence(attribution: &Attribution) -> String {
    let calls = counted(attribution.client.count, "call");
    let looks = if attribution.observed == 0 { "" } else { " and of every look" };
    let of_a_runtime = attribution.parts.iter().any(|part| part.kind.is_of_a_runtime());
    let (question, looked) = match of_a_runtime {
        true => ("The runtime or the way to it?", "told with every answer".to_owned()),
        false if attribution.observed == 0 => {
            ("Network or database?", "the server's own time is not told".to_owned())
        }
        false => (
            "Network or database?",
            format!("looked into {}", counted(attribution.observed, "time")),
        ),
    };
    match attribution.account() {
        Ok(account) => {
            let known = account.split.all().any(|share| share.interval().is_some());
            let shares = if known { SHARES } else { "" };
            let (means, slowest) = match account.of {
                Calls::All => (format!("means of {calls}{shares}"), String::new()),
                Calls::Faster => (
                    format!("means of the faster nine tenths of {calls}{looks}{shares}"),
                    slowest_tenth(attribution),
                ),
            };
            let (answer, figures) = (answer(attribution, &account), figures(&account.split));
            format!("{question} {answer} {figures} ({means}; {looked}).{slowest}")
        }
        Err(reason) => {
            let measured = attribution.parts.iter().filter(|part| part.kind != PartKind::Rest);
            let parts: Vec<String> =
                measured.map(|part| format!("{} {}", name(part.kind), spread(part.time))).collect();
            format!(
                "{question} It cannot be split: {reason}. At the client {}; measured \
                 beside it: {} (means of {calls}; {looked}).{}",
                spread(attribution.client),
                parts.join(", "),
                server_at_most(attribution, reason)
            )
        }
    }
}

/// What looks that took longer than calls still say of the server: no more than it took in them. They say
/// nothing where a single part is longer than the call: they were not of such calls.
#[expect(clippy::cast_precision_loss, reason = "nanoseconds of seconds")]
fn server_at_most(attribution: &Attribution, reason: CannotBeSplit) -> String {
    let server = attribution.parts.iter().find(|part| part.kind == PartKind::Server);
    let most_ns = server.and_then(|part| part.time.high_ns());
    let whole_ns = attribution.client.mean_ns;
    let of_such_calls = attribution.parts.iter().all(|part| part.time.mean_ns <= whole_ns);
    match (reason, most_ns) {
        (CannotBeSplit::MoreThanTheWhole { .. }, Some(ns))
            if of_such_calls && (1..whole_ns).contains(&ns) =>
        {
            let share = (100.0 * ns as f64 / whole_ns as f64).ceil();
            format!(" The server's own work is at most {share} % of the time.")
        }
        _ => String::new(),
    }
}

/// What the answer does not say where it is of the faster nine tenths.
fn slowest_tenth(attribution: &Attribution) -> String {
    let share = attribution.slowest_share().map_or_else(String::new, |share| {
        format!(", {} of the time of all calls,", percent(share))
    });
    format!(" The slowest tenth{share} is not told apart.")
}

/// A part with less of the time is not named where none has most of it.
const NAMED: f64 = 0.1;

/// Who has most of the time, as far as the intervals tell.
fn answer(attribution: &Attribution, account: &Account) -> String {
    let Some(most) = account.split.largest().filter(|share| share.is_most()) else {
        return no_part_has_most(account);
    };
    let owner = match most.of {
        PartKind::Server => "The database",
        PartKind::Wire => attribution.intermediary.map_or("The network", Intermediary::owner),
        PartKind::Due | PartKind::Queue => "Neither",
        PartKind::Connect => "Connecting, which takes both",
        PartKind::Door
        | PartKind::Thread
        | PartKind::Actions
        | PartKind::Commit
        | PartKind::Flush => "The runtime",
        PartKind::Front
        | PartKind::WorkProcess
        | PartKind::Program
        | PartKind::Lock
        | PartKind::Render => "The server",
        PartKind::Database => "The database",
        PartKind::DatabaseWire => "The way to the database",
        PartKind::Called => "A server behind it",
        PartKind::Transfer => "The transfer",
        PartKind::Sending | PartKind::Waking => "The client",
        PartKind::Away => "The network or the server",
        PartKind::ServerWaking | PartKind::ServerSending => "The server's machine",
        PartKind::Rest => "It cannot be told",
    };
    let whose = account.of.whose();
    let what = attribution.describe(most.of);
    format!("{owner}: {} of the time{whose} is {what}.", share_of(most))
}

fn no_part_has_most(account: &Account) -> String {
    let (split, whose) = (&account.split, account.of.whose());
    let mut shares: Vec<&PartShare<PartKind>> = split.all().collect();
    shares.sort_by(|one, other| other.share.total_cmp(&one.share));
    // the interval of the time reaches down to zero where that of the share need not
    let estimate =
        |share: &PartShare<PartKind>| format!("{} {}", percent(share.share), name(share.of));
    if shares.iter().all(|share| share.may_be_zero()) {
        let largest = shares.first().map_or_else(String::new, |it| estimate(it));
        return format!(
            "No part{whose} is told apart from zero; the largest estimate is {largest}."
        );
    }
    // the largest stands first, known or not: without it the others seem to be all there is
    let named = shares.iter().enumerate();
    let named: Vec<String> = named
        .filter(|(at, share)| *at == 0 || share.share >= NAMED && !share.may_be_zero())
        .map(|(_, share)| match share.may_be_zero() {
            true => format!("{} (not told apart from zero)", estimate(share)),
            false => format!("{} {}", share_of(share), name(share.of)),
        })
        .collect();
    format!("No part has clearly most of the time{whose}: {}.", named.join(", "))
}

/// A share with its interval, where that is wider than what rounding hides: `93 % (91 to 95)`.
fn share_of(share: &PartShare<PartKind>) -> String {
    let said = percent(share.share);
    match share.interval() {
        Some((low, high)) if percent(low) != said || percent(high) != said => {
            format!("{said} ({:.0} to {:.0})", 100.0 * low, 100.0 * high)
        }
        _ => said,
    }
}

fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}

/// The whole and its parts: `51.2 ms at the client: 3.4 server, 0.1 wire, 47.7 waiting before the
/// server saw it (queue of the pool)`.
fn figures(split: &Split<PartKind>) -> String {
    let scale = Scale::of(split.whole.mean_ns);
    let part = |kind: PartKind| split.parts.iter().find(|share| share.of == kind);
    let mut words: Vec<String> =
        ONE_BY_ONE.into_iter().filter_map(part).map(|share| figure(&scale, share)).collect();
    let before: Vec<&PartShare<PartKind>> = BEFORE.into_iter().filter_map(part).collect();
    if !before.is_empty() {
        let sum = before.iter().map(|share| share.time.mean_ns).sum();
        let each: Vec<String> = match before.as_slice() {
            [only] => vec![name(only.of).into()],
            all => all
                .iter()
                .map(|share| format!("{} {}", scale.figure(share.time.mean_ns), name(share.of)))
                .collect(),
        };
        let figure = scale.figure(sum);
        words.push(format!("{figure} waiting before the server saw it ({})", each.join(", ")));
    }
    words.push(match split.excess_ns() {
        0 => figure(&scale, &split.rest),
        excess => exceeded(&scale, excess, split.rest.time),
    });
    let whole = scale.figure(split.whole.mean_ns);
    format!("{whole} {} at the client: {}", scale.unit, words.join(", "))
}

/// Said where the parts are more than the whole, which their intervals allow.
fn exceeded(scale: &Scale, excess_ns: u64, rest: Estimate) -> String {
    let shown = |ns: u64| scale.figure(i64::try_from(ns).unwrap_or(i64::MAX));
    format!(
        "no rest told apart from zero: the parts exceed the whole by {}, and are known to +-{}",
        shown(excess_ns),
        shown(rest.half_width_ns.unwrap_or(0))
    )
}

/// One part in the unit of the whole; of what may be zero, its bound.
fn figure(scale: &Scale, share: &PartShare<PartKind>) -> String {
    if share.may_be_zero() {
        let most = scale.figure(high_ns(share.time));
        return format!("{} not told apart from zero (at most {most})", name(share.of));
    }
    format!("{} {}", scale.figure(share.time.mean_ns), name(share.of))
}

/// The upper end of an interval, never below zero.
fn high_ns(time: Estimate) -> i64 {
    let half = i64::try_from(time.half_width_ns.unwrap_or(0)).unwrap_or(i64::MAX);
    time.mean_ns.saturating_add(half).max(0)
}

/// A mean with half its interval: `3.40 ms +-12.0 us`.
pub(crate) fn spread(known: Estimate) -> String {
    let sign = if known.mean_ns < 0 { "-" } else { "" };
    let mean = format!("{sign}{}", show_ns(known.mean_ns.unsigned_abs()));
    match known.half_width_ns {
        Some(half) => format!("{mean} +-{}", show_ns(half)),
        None => mean,
    }
}

/// One unit for the whole and its parts, so that they can be added up by eye.
struct Scale {
    unit: &'static str,
    ns: f64,
    decimals: usize,
}

impl Scale {
    fn of(whole_ns: i64) -> Self {
        let (unit, ns) = match whole_ns.unsigned_abs() {
            n if n < 1_000 => ("ns", 1.0),
            n if n < 1_000_000 => ("us", 1e3),
            n if n < 1_000_000_000 => ("ms", 1e6),
            _ => ("s", 1e9),
        };
        let decimals = match signed_real(whole_ns) / ns {
            _ if unit == "ns" => 0,
            value if value < 10.0 => 2,
            _ => 1,
        };
        Self { unit, ns, decimals }
    }

    fn figure(&self, ns: i64) -> String {
        let text = format!("{:.*}", self.decimals, signed_real(ns) / self.ns);
        // nothing is less than nothing
        let nothing = text.bytes().all(|byte| b"-0.".contains(&byte));
        text.strip_prefix('-').filter(|_| nothing).map(str::to_owned).unwrap_or(text)
    }
}

#[cfg(test)]
mod tests;
