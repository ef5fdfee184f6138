//! The checkup of a landscape in its three forms, whatever stands in it.

use plumb_measure::{
    CHECKUP_SCHEMA, Checkup, CheckupLayer, CheckupOutcome, CheckupPart, CheckupVerdict, Finding,
    FindingKind, HostFacts, LeftOutLayer, Middle, PairDifference, PairRecord, PartRole, Program,
    Scope, Status, Validity,
};
use plumb_report::checkup::{html, markdown, terminal};

fn part(layer: CheckupLayer, server: &str, operation: &str, how: &str) -> CheckupPart {
    CheckupPart {
        layer,
        server: server.into(),
        operation: operation.into(),
        how: how.into(),
        role: PartRole::Yardstick,
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
    let mut checkup = Checkup {
        schema: CHECKUP_SCHEMA.into(),
        plumb: Program { version: "0.0.0".into() },
        started: "2026-11-21T08:30:48Z".into(),
        status: Status::Complete,
        command: vec!["plumb".into(), "checkup".into()],
        target: "this machine".into(),
        host: Some(HostFacts {
            name: "erp1".into(),
            kernel: "Linux 6.12.0 x86_64".into(),
            cpus: 2,
            placement: "not pinned".into(),
            clock: "CLOCK_MONOTONIC".into(),
            clock_read_ns: 20,
            facts: [("cpu model".into(), "some processor".into())].into(),
        }),
        parts,
        left_out: Vec::new(),
        troubles: Vec::new(),
        idle: None,
        verdict: CheckupVerdict::default(),
    };
    checkup.judge();
    checkup
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

#[test]
fn the_slowest_layer_comes_first_and_every_layer_has_a_table() {
    let text = terminal(&landscape(), 80);
    let start = "The application server is the slowest layer: a flight list takes 1.90 ms at the\n\
                 median, of which the round trip to its host is 21.0 us; by the server's own\n";
    assert!(text.starts_with(start), "{text}");
    let said = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let rest = "by the server's own account render is 65 % of the mean, database 24 %. A round trip \
                takes 21.0 us. The lock server is not judged: others took 40 % of the processors. \
                The database db1 could not be measured: cannot connect to db1: refused. network";
    assert!(said.contains(rest), "{said}");
    for said in [
        "network                                                                    VALID\n",
        "application server                                                       SLOWEST\n",
        "lock server                                                            NOT VALID\n",
        "database db1                                                        NOT MEASURED\n",
        "a flight list, one user  1.90 ms  5.70 ms  143 k/s  valid\n",
        "a stream, to the server        -        -        -  not offered\n",
        "adds           1.88 ms (+- 283 ns) to a flight list: its median less that of a\n",
        "its account    means, of a mean of 2.00 ms: database 480 us (24 %), render",
        "processing     210 us (205 us to 215 us) longer than http://h/image\n",
        "invalid        a lock request, one: others took 40 % of the processors\n",
    ] {
        assert!(text.contains(said), "{said}\n{text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn the_page_links_every_run_and_loads_nothing() {
    let page = html(&landscape());
    for folder in ["parts/21", "parts/45", "parts/1900", "parts/300"] {
        assert!(page.contains(&format!("href=\"{folder}/report.html\"")), "{folder}: {page}");
    }
    assert!(!page.contains("<script") && !page.contains("src="), "{page}");
    assert!(page.contains("erp1") && page.contains("some processor"), "{page}");
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
    let page = html(&judged(vec![
        takes(part(CheckupLayer::Network, "network", "a round trip", "1000 B"), 21),
        takes(part(CheckupLayer::Locks, "lock server", "a lock request", "one"), 19),
    ]));
    assert!(page.contains("<dd class=\"value\">-2.00\u{a0}µs</dd>"), "{page}");
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
    assert!(text.starts_with("The application server is the slowest layer: a\n"), "{text}");
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
    assert!(text.lines().take(3).any(|line| line.ends_with("the port right?")), "{text}");
}
