//! The words in which changes are asked for.

use plumb_measure::Span;
use serde::Serialize;

use super::{USERS_MAX, WhatIfError};
use crate::landscape::{Element, Landscape, Servers, Station};
use crate::simulation::{Bursts, Sessions};

/// The delay that a longer way over the network adds.
const NETWORK: &str = "net";

/// One change.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    /// A resource has so many places.
    Places(String, u32),
    /// A station takes so long, seconds.
    Service(String, f64),
    /// A station takes so many times as long.
    Times(String, f64),
    /// The network adds this to every operation, seconds.
    Network(f64),
    /// Users think so long, seconds.
    Think(f64),
    /// So many users.
    Users(u32),
    /// In the place of users, so many operations begin a second, whatever is under way.
    Arrivals(f64),
    /// An operation is given up after so long, seconds.
    TimeOut(f64),
    /// Tries after the first, where an operation was given up or turned away.
    Retries(u32),
    /// Mean wait before each of them, seconds.
    BackOff(f64),
    /// So many may wait for a place of a pool; more are turned away.
    Queue(String, u32),
    /// Sessions that may be open, and operations of each.
    Sessions(Sessions),
    /// Times at which more is asked.
    Burst(Bursts),
}

/// Reads changes: `work-processes=40, net.rtt=2ms, database.service/2, timeout=5s, retries=2`.
///
/// # Errors
/// [`WhatIfError::Change`].
pub fn changes(text: &str) -> Result<Vec<Change>, WhatIfError> {
    text.split(',').map(|part| change(part.trim())).collect()
}

fn change(text: &str) -> Result<Change, WhatIfError> {
    read(text).ok_or_else(|| WhatIfError::Change(text.into()))
}

fn read(text: &str) -> Option<Change> {
    if let Some((name, by)) = text.split_once(".service/") {
        return Some(Change::Times(named(name)?, 1.0 / positive(by)?));
    }
    if let Some((name, by)) = text.split_once(".service*") {
        return Some(Change::Times(named(name)?, positive(by)?));
    }
    let (key, value) = text.split_once('=')?;
    let value = value.trim();
    let whole = || value.parse::<u32>().ok();
    match key.trim() {
        "net.rtt" => Some(Change::Network(seconds(value)?)),
        "think" => Some(Change::Think(seconds(value)?)),
        "users" => whole().filter(|it| (1..=USERS_MAX).contains(it)).map(Change::Users),
        "arrivals" => Some(Change::Arrivals(positive(value.strip_suffix("/s")?)?)),
        "timeout" => seconds(value).filter(|it| *it > 0.0).map(Change::TimeOut),
        "retries" => whole().filter(|it| *it <= RETRIES_MAX).map(Change::Retries),
        "back-off" => Some(Change::BackOff(seconds(value)?)),
        "sessions" => sessions(value).map(Change::Sessions),
        "burst" => burst(value).map(Change::Burst),
        key => {
            if let Some(name) = key.strip_suffix(".queue") {
                return Some(Change::Queue(named(name)?, whole()?));
            }
            match key.strip_suffix(".service") {
                Some(name) => Some(Change::Service(named(name)?, seconds(value)?)),
                None => Some(Change::Places(named(key)?, whole().filter(|it| *it > 0)?)),
            }
        }
    }
}

/// Tries after the first at most.
const RETRIES_MAX: u32 = 100;

fn positive(text: &str) -> Option<f64> {
    text.trim().parse().ok().filter(|it: &f64| it.is_finite() && *it > 0.0)
}

/// `100/20`: at most 100 open at once, of 20 operations each.
fn sessions(text: &str) -> Option<Sessions> {
    let (most, operations) = text.split_once('/')?;
    let number = |text: &str| text.trim().parse().ok().filter(|it: &u32| *it > 0);
    Some(Sessions { most: number(most)?, operations: number(operations)? })
}

/// `3*10s/60s`: three times as much for 10 s, with 60 s between.
fn burst(text: &str) -> Option<Bursts> {
    let (factor, times) = text.split_once('*')?;
    let (on, off) = times.split_once('/')?;
    let long = |text: &str| seconds(text.trim()).filter(|it| *it > 0.0);
    Some(Bursts { factor: positive(factor)?, on_s: long(on)?, off_s: long(off)? })
}

fn named(name: &str) -> Option<String> {
    let name = name.trim();
    (!name.is_empty()).then(|| name.to_owned())
}

#[expect(clippy::cast_precision_loss, reason = "a year in nanoseconds is known to a microsecond")]
fn seconds(text: &str) -> Option<f64> {
    text.parse::<Span>().ok().map(|span| span.ns() as f64 / 1e9)
}

/// Makes a change to a landscape; those of the load leave it as it is.
pub(super) fn apply(landscape: &mut Landscape, change: &Change) -> Result<(), WhatIfError> {
    let unknown = |landscape: &Landscape, asked: &str| {
        let known = names(&landscape.elements).join(", ");
        Err(WhatIfError::Unknown { asked: asked.into(), known })
    };
    match change {
        Change::Places(name, places) => {
            if !landscape.resize(name, *places) {
                return unknown(landscape, name);
            }
        }
        Change::Service(name, service_s) => match landscape.station_mut(name) {
            Some(station) => station.service_s = *service_s,
            None => return unknown(landscape, name),
        },
        Change::Times(name, factor) => match landscape.station_mut(name) {
            Some(station) => station.service_s *= factor,
            None => return unknown(landscape, name),
        },
        Change::Network(service_s) => {
            let station = Station {
                name: NETWORK.into(),
                servers: Servers::Delay,
                service_s: *service_s,
                variation: 0.0,
                background: 0.0,
            };
            landscape.elements.insert(0, Element::Station(station));
        }
        Change::Queue(name, most) => match landscape.pool_mut(name) {
            Some(pool) => pool.queue = Some(*most),
            None => return unknown(landscape, name),
        },
        Change::Think(_)
        | Change::Users(_)
        | Change::Arrivals(_)
        | Change::TimeOut(_)
        | Change::Retries(_)
        | Change::BackOff(_)
        | Change::Sessions(_)
        | Change::Burst(_) => {}
    }
    Ok(())
}

fn names(elements: &[Element]) -> Vec<String> {
    let inside = |element: &Element| match element {
        Element::Pool(pool) => names(&pool.inside),
        Element::Station(_) => Vec::new(),
    };
    elements.iter().flat_map(|it| std::iter::once(it.name().to_owned()).chain(inside(it))).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn changes_are_read_as_they_are_written() {
        let read = changes("work-processes=40, cores=16,net.rtt=2ms, db.service/2").unwrap();
        let expected = [
            Change::Places("work-processes".into(), 40),
            Change::Places("cores".into(), 16),
            Change::Network(0.002),
            Change::Times("db".into(), 0.5),
        ];
        assert_eq!(read, expected);
        let read = changes("db.service=10ms,think=5s,users=100,x.service*1.5").unwrap();
        assert_eq!(read[0], Change::Service("db".into(), 0.01));
        assert_eq!(read[1..3], [Change::Think(5.0), Change::Users(100)]);
        let read = changes("arrivals=200/s,timeout=5s,retries=2,back-off=1s,wp.queue=100").unwrap();
        let expected = [
            Change::Arrivals(200.0),
            Change::TimeOut(5.0),
            Change::Retries(2),
            Change::BackOff(1.0),
            Change::Queue("wp".into(), 100),
        ];
        assert_eq!(read, expected);
        let bursts = Bursts { factor: 3.0, on_s: 10.0, off_s: 60.0 };
        let sessions = Sessions { most: 100, operations: 20 };
        let read = changes("burst=3*10s/60s, sessions=100/20").unwrap();
        assert_eq!(read, [Change::Burst(bursts), Change::Sessions(sessions)]);
    }

    #[test]
    fn what_is_no_change_is_refused() {
        for text in [
            "",
            "cores",
            "cores=0",
            "cores=-1",
            "db.service/0",
            "=3",
            "think=5x",
            "users=0",
            "users=2000000",
            "arrivals=200",
            "arrivals=0/s",
            "timeout=0s",
            "retries=-1",
            "retries=1000",
            "burst=3*10s",
            "sessions=100",
            "sessions=0/3",
            ".queue=5",
        ] {
            assert_eq!(changes(text), Err(WhatIfError::Change(text.into())), "{text}");
        }
    }

    #[test]
    fn an_element_that_is_not_there_is_said_with_those_that_are() {
        let station = Station {
            name: "cores".into(),
            servers: Servers::Shared(2),
            service_s: 0.1,
            variation: 1.0,
            background: 0.0,
        };
        let mut landscape = Landscape { elements: vec![Element::Station(station)] };
        let error = apply(&mut landscape, &Change::Places("core".into(), 3)).unwrap_err();
        assert_eq!(error.to_string(), "there is no `core` in this landscape; there are: cores");
    }

    proptest! {
        #[test]
        fn no_text_breaks_the_reader(text in ".{0,60}") {
            let _ = changes(&text);
        }
    }
}
