//! The checkup of a landscape in its three forms, whatever stands in it.

use plumb_checkup::{
    Checkup, CheckupLayer, CheckupOutcome, CheckupPart, LeftOutLayer, Middle, PartRole,
};
use plumb_diagnostics::checkup::{html, markdown, terminal};
use plumb_measure::{
    Away, Finding, FindingKind, HostFacts, PairDifference, PairRecord, Program, RoundTripMeans,
    Scope, Status, Validity,
};

fn part(layer: CheckupLayer, server: &str, operation: &str, how: &str) -> CheckupPart {
    CheckupPart {
        layer,
        server: server.into(),
        operation: operation.into(),
        how: how.into(),
        role: PartRole::Yardstick,
        users: 1,
        connections: None,
        expected_ns: 2_000_000_000,
        words: vec!["net".into(), "ping".into()],
        outcome: None,
    }
}

fn takes(part: CheckupPart, us: u64) -> CheckupPart {
    let ns = us * 1_000;
    let outcome = CheckupOutcome {
        folder: Some(format!("parts/{us}")),
        host: Some("::1".into()),
        validity: Validity::of([]),
        operations: 1_000,
        throughput_per_s: 1e6 / 7.0,
        median: Some(Middle { ns, low_ns: ns - 200, high_ns: ns + 200, intervals: 20 }),
        p99_ns: Some(3 * ns),
        ..CheckupOutcome::default()
    };
    CheckupPart { outcome: Some(outcome), ..part }
}

fn judged(parts: Vec<CheckupPart>) -> Checkup {
    let plumb = Program { version: "0.0.0".into() };
    let mut checkup = Checkup::begun(plumb, "2026-11-21T08:30:48Z".into(), parts);
    checkup.status = Status::Complete;
    checkup.command = vec!["plumb".into(), "checkup".into()];
    checkup.target = "this machine".into();
    checkup.host = Some(HostFacts {
        name: "erp1".into(),
        kernel: "Linux 6.12.0 x86_64".into(),
        cpus: 2,
        placement: "not pinned".into(),
        clock: "CLOCK_MONOTONIC".into(),
        clock_read_ns: 20,
        facts: [("cpu model".into(), "some processor".into())].into(),
    });
    checkup.judge();
    checkup
}

#[test]
fn a_raised_limit_of_foreign_load_stands_beside_every_verdict() {
    let mut list =
        takes(part(CheckupLayer::Pages, "application server", "a flight list", "one user"), 1_900);
    let outcome = list.outcome.as_mut().expect("one");
    outcome.foreign_pct = Some(90.0);
    outcome.validity.foreign_limit = Some(plumb_measure::ForeignLimit {
        share: "100%".parse().expect("a share"),
        source: plumb_measure::LimitSource::Environment,
    });
    let checkup = judged(vec![list]);
    let words = "limit of foreign load raised to 100 %, others took up to 90.0 %.";
    for text in [terminal(&checkup, 80), markdown(&checkup), html(&checkup)] {
        let line = text.replace(['\n', '\u{a0}'], " ");
        assert!(line.contains(words), "{text}");
        assert!(line.contains("VALID, limit raised to 100 %"), "{text}");
    }
}

/// A landscape in which something of every kind happened.
fn landscape() -> Checkup {
    let mut list =
        takes(part(CheckupLayer::Pages, "application server", "a flight list", "one user"), 1_900);
    if let Some(outcome) = &mut list.outcome {
        outcome.mean_ns = Some(2_000_000);
        outcome.told_ns =
            [("render".to_owned(), 1_300_000), ("database".to_owned(), 480_000)].into();
    }
    let mut pair = CheckupPart {
        role: PartRole::Beside,
        ..takes(part(CheckupLayer::Pages, "application server", "a page", "in turn"), 300)
    };
    if let Some(outcome) = &mut pair.outcome {
        let last = PairDifference {
            ns: 210_400.0,
            low_ns: Some(205_000.0),
            high_ns: Some(215_000.0),
            level: Some(0.96),
        };
        outcome.pair = Some(PairRecord {
            dynamic: "http://h/page".into(),
            fixed: "http://h/image".into(),
            method: "in turn".into(),
            blocks: 20,
            first_byte: None,
            last_byte: Some(last),
        });
    }
    let mut stream = part(CheckupLayer::Network, "network", "a stream", "to the server");
    stream.role = PartRole::WhereOffered;
    stream.outcome = Some(CheckupOutcome {
        not_offered: true,
        ..CheckupOutcome::none("::1 is no plumb server".into())
    });
    let mut locks = takes(part(CheckupLayer::Locks, "lock server", "a lock request", "one"), 45);
    if let Some(outcome) = &mut locks.outcome {
        outcome.validity = Validity::of([Finding {
            kind: FindingKind::ForeignLoad,
            scope: Scope::Everything,
            text: "others took 40 % of the processors".into(),
        }]);
    }
    let mut database = part(CheckupLayer::Database, "database db1", "a statement", "one");
    database.outcome = Some(CheckupOutcome::none("cannot connect to db1: refused".into()));
    let network = takes(part(CheckupLayer::Network, "network", "a round trip", "1000 B"), 21);
    judged(vec![network, stream, locks, list, pair, database])
}

/// A landscape with nothing wrong, but for a list that one work process makes for ten users.
fn faulty() -> Checkup {
    let mut parts = vec![
        takes(part(CheckupLayer::Network, "network", "a round trip", "1000 B"), 21),
        takes(part(CheckupLayer::Locks, "lock server", "a lock request", "one"), 45),
    ];
    for users in [1_u32, 10] {
        let how = format!("{users} users");
        let mut list = takes(
            part(CheckupLayer::Pages, "application server", "a flight list", &how),
            5_500 * u64::from(users),
        );
        list.users = users.into();
        if let Some(outcome) = &mut list.outcome {
            outcome.mean_ns = outcome.median.map(|median| median.ns);
            outcome.throughput_per_s = 181.8;
            let queue_ns = 5_500_000 * u64::from(users - 1);
            outcome.told_ns = [("queue".into(), queue_ns), ("render".into(), 5_400_000)].into();
        }
        if users > 1 {
            list.role = PartRole::Beside;
        }
        parts.push(list);
    }
    judged(parts)
}

#[test]
fn a_fault_comes_first_with_its_cost_and_what_to_do_next() {
    let text = terminal(&faulty(), 80);
    let start = "The application server is full: it serves one at a time. A flight list takes\n\
                 55.0 ms with 10 users and 5.50 ms with one, at 182/s and 182/s; of 55.0 ms at\n";
    assert!(text.starts_with(start), "{text}");
    for said in [
        "1 full pool    application server: 49.5 ms of the 55.0 ms that a flight list\n",
        "next           Raise the number of its work processes, threads or connections",
        "application server                                                         FAULT\n",
        "lock server                                                                VALID\n",
    ] {
        assert!(text.contains(said), "{said}\n{text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert!(markdown(&faulty()).contains("\n1. **full pool, application server: 49.5 ms of"));
    let page = html(&faulty());
    assert!(page.contains("<h3>full pool: application server</h3>"), "{page}");
    assert!(page.contains("style=\"width: 90.0%\""), "{page}");
}

#[test]
fn what_spoils_the_figures_comes_first_and_every_layer_has_a_table() {
    let text = terminal(&landscape(), 80);
    let said = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "The database db1 could not be measured: cannot connect to db1: refused. One more fault was \
         found. Not finished: the lock server and the database db1 are not judged. Known so far: a \
         flight list takes 1.90 ms, a round trip 21.0 us.",
        "2 foreign load This machine is busy with other work: others took 40 % of the \
         processors. The figures of 1 of 4 measurements may not be used.",
    ] {
        assert!(said.contains(part), "{part}\n{said}");
    }
    for said in [
        "network                                                                    VALID\n",
        "application server                                                         VALID\n",
        "lock server                                                            NOT VALID\n",
        "database db1                                                        NOT MEASURED\n",
        "a flight list, one user  1.90 ms  5.70 ms  143 k/s  valid\n",
        "a stream, to the server        -        -        -  not offered\n",
        "adds           1.88 ms (+- 283 ns) to a flight list: its median less that of a\n",
        "its account    means, of a mean of 2.00 ms: database 480 us (24 %), render",
        "processing     210 us (205 us to 215 us) longer than http://h/image\n",
    ] {
        assert!(text.contains(said), "{said}\n{text}");
    }
    assert_eq!(said.matches("others took 40 %").count(), 1, "a busy machine is said once: {said}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn why_a_server_with_valid_figures_is_not_judged_stands_below_its_table() {
    let mut few = takes(part(CheckupLayer::Locks, "lock server", "a lock request", "one"), 45);
    few.outcome.as_mut().unwrap().operations = 3;
    let few = judged(vec![few]);
    let why = "of a lock request there are 3: too few for a median; give more time (--for)";
    let text = terminal(&few, 120);
    assert!(text.contains(&format!("\nnot judged     {why}\n")), "{text}");
    assert!(markdown(&few).contains(&format!("- not judged: {why}")), "{}", markdown(&few));
    let page = html(&few);
    let told = page.split("class=\"sentence\"").nth(1).and_then(|it| it.split_once("</p>"));
    assert_eq!(
        told.map(|(_, rest)| rest.matches("too few for a median").count()),
        Some(1),
        "{page}"
    );
    // who met others is told so by its finding
    let text = terminal(&landscape(), 120);
    assert!(!text.contains("\nnot judged "), "{text}");
}

#[test]
fn a_round_trip_taken_apart_says_whose_mean_it_is_and_what_the_stamps_cost() {
    let mut trip = takes(part(CheckupLayer::Network, "network", "a round trip", "1000 B"), 22);
    trip.outcome.as_mut().unwrap().round_trip = Some(RoundTripMeans {
        sending_ns: 4_000,
        waking_ns: 15_000,
        away: Away::Untold { away_ns: 10_700 },
        stamp_costs_ns: Some(6_210),
    });
    let checkup = judged(vec![trip]);
    for form in
        [terminal(&checkup, 1_000), markdown(&checkup), html(&checkup).replace("\u{a0}µs", " us")]
    {
        for said in [
            "19.0 us of 29.7 us, the mean of the round trips with time stamps, are spent",
            "At the median a stamped message takes 6.21 us longer than all do.",
        ] {
            assert!(form.contains(said), "{said}\n{form}");
        }
    }
}

#[test]
fn pages_whose_difference_may_be_zero_are_not_told_apart() {
    let mut checkup = landscape();
    let pair = checkup.parts[4].outcome.as_mut().and_then(|it| it.pair.as_mut()).unwrap();
    pair.last_byte.as_mut().unwrap().low_ns = Some(-1_000.0);
    let text = terminal(&checkup, 80);
    let said = "not told apart from http://h/image: 210 us (-1.00 us to 215 us)\n";
    assert!(text.contains(said), "{text}");
}

#[test]
fn the_page_links_every_run_and_loads_nothing() {
    let page = html(&landscape());
    for folder in ["parts/21", "parts/45", "parts/1900", "parts/300"] {
        assert!(page.contains(&format!("href=\"{folder}/report.html\"")), "{folder}: {page}");
    }
    assert!(page.matches("<script").count() == 1 && !page.contains("src="), "{page}");
    assert!(page.contains("erp1") && page.contains("some processor"), "{page}");
}

/// The values of an attribute of all elements of a class, percent.
fn percents(page: &str, class: &str, attribute: &str) -> Vec<f64> {
    let elements = page.split('<').filter(|it| it.contains(&format!("class=\"{class}\"")));
    let values =
        elements.filter_map(|it| it.split_once(&format!(" {attribute}=\""))?.1.split_once('%'));
    values.map(|(value, _)| value.parse().expect("a figure")).collect()
}

#[test]
fn every_measurement_stands_on_one_logarithmic_axis() {
    let page = html(&judged(vec![
        takes(part(CheckupLayer::Network, "network", "a round trip", "1000 B"), 20),
        takes(part(CheckupLayer::Locks, "lock server", "a lock request", "one"), 200),
        takes(part(CheckupLayer::Pages, "application server", "a page", "one"), 2_000),
    ]));
    // from the median to p99 is the same factor in each row, so it is the same width
    let (near, far) = (percents(&page, "reach", "x1"), percents(&page, "reach", "x2"));
    assert_eq!((near.len(), far.len()), (3, 3), "{page}");
    for (near_at, far_at) in near.iter().zip(&far) {
        assert!((far_at - near_at - (far[0] - near[0])).abs() < 0.02, "{near:?} {far:?}");
    }
    // the slowest comes first, and tens of times apart are as far apart
    assert!(near[0] > near[1] && near[1] > near[2], "{near:?}");
    assert!((near[0] - near[1] - (near[1] - near[2])).abs() < 0.02, "{near:?}");
}

#[test]
fn what_may_not_be_used_is_drawn_and_marked() {
    let mut checkup = landscape();
    for part in &mut checkup.parts {
        if let Some(outcome) = part.outcome.as_mut().filter(|it| it.error.is_none()) {
            outcome.validity = Validity::of([Finding {
                kind: FindingKind::ForeignLoad,
                scope: Scope::Everything,
                text: "others took 40 % of the processors".into(),
            }]);
        }
    }
    checkup.judge();
    let page = html(&checkup);
    assert_eq!(page.matches("class=\"reach\"").count(), 4, "{page}");
    assert_eq!(page.matches("<tr class=\"doubt\">").count(), 4, "{page}");
    assert!(page.contains("not offered") && page.contains("not measured"), "{page}");
}

#[test]
fn what_the_machine_did_meanwhile_stands_beside_the_figures() {
    let mut busy = takes(part(CheckupLayer::Network, "network", "a round trip", "1000 B"), 21);
    if let Some(outcome) = &mut busy.outcome {
        outcome.busy_pct = Some(43.6);
    }
    let calm = takes(part(CheckupLayer::Network, "network", "a round trip", "300 B"), 21);
    let text = markdown(&judged(vec![busy, calm]));
    assert!(text.contains("| machine busy | verdict |\n"), "{text}");
    assert!(text.contains("1000 B | 21.0 us | 63.0 us | 143 k/s | 44 % | valid |\n"), "{text}");
    assert!(text.contains("300 B | 21.0 us | 63.0 us | 143 k/s | - | valid |\n"), "{text}");
}

#[test]
fn a_layer_that_adds_nothing_is_not_said_to_take_no_time() {
    let mut checkup = judged(vec![
        takes(part(CheckupLayer::Network, "network", "a round trip", "1000 B"), 21),
        takes(part(CheckupLayer::Locks, "lock server", "a lock request", "one"), 19),
    ]);
    let page = html(&checkup);
    let less = ">what it adds cannot be told: a lock request takes 2.00\u{a0}µs less than a round trip to \
                the same host, 21.0\u{a0}µs, which carries more or goes another way<";
    assert!(page.contains(less), "{page}");
    assert!(!page.contains("adds -"), "{page}");
    // as near to nothing as loopback leaves it
    let locks = checkup.verdict.layers.iter_mut().find(|it| it.layer == CheckupLayer::Locks);
    let own = locks.expect("it is judged").own.as_mut().expect("it is known");
    (own.ns, own.low_ns, own.high_ns) = (-1_090, -2_000, 500);
    for form in [terminal(&checkup, 120), markdown(&checkup), html(&checkup)] {
        let form = form.replace('\u{a0}', " ");
        assert!(form.contains("no more than 500 ns, if anything"), "{form}");
        assert!(!form.contains("-1.09"), "{form}");
    }
}

#[test]
fn what_is_left_out_or_missed_is_said_in_every_form() {
    let mut checkup = landscape();
    checkup.status = Status::Interrupted;
    let why = "locks: no lock server is named";
    checkup.left_out = vec![LeftOutLayer { layer: CheckupLayer::Locks, why: why.into() }];
    checkup.troubles = vec!["no recorder answers at h:1".into()];
    for form in [terminal(&checkup, 120), markdown(&checkup), html(&checkup)] {
        assert!(form.contains(why) && form.contains("no recorder answers at h:1"), "{form}");
        assert!(form.contains("The checkup was interrupted before its end."), "{form}");
    }
}

#[test]
fn names_cannot_steer_a_terminal_or_become_markup() {
    let name = "\u{1b}[31m<b>|x";
    let wild = takes(part(CheckupLayer::Pages, name, name, name), 9);
    let checkup = Checkup { target: name.into(), ..judged(vec![wild]) };
    assert!(!terminal(&checkup, 80).contains('\u{1b}'));
    assert!(!html(&checkup).contains("<b>"));
    assert!(!markdown(&checkup).contains("[31m<b>"));
}

#[test]
fn a_narrow_terminal_gets_narrow_paragraphs() {
    let text = terminal(&landscape(), 50);
    assert!(text.starts_with("The database db1 could not be measured: cannot\n"), "{text}");
}

#[test]
fn a_server_that_is_not_there_is_complained_of_once() {
    let error = "cannot connect to h:1: is the server started, and is the port right?";
    let failed = |how: &str| CheckupPart {
        outcome: Some(CheckupOutcome::none(error.into())),
        ..part(CheckupLayer::Locks, "lock server h:1", "a lock request", how)
    };
    let text = terminal(&judged(vec![failed("one"), failed("many")]), 120);
    assert_eq!(text.matches("not measured   a lock request").count(), 1, "{text}");
    assert!(text.contains("and is the port right? Not\n"), "{text}");
}
