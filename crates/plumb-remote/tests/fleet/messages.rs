//! Every message, altered: it is refused, or it is one that can be worked with.

use std::num::NonZeroU32;
use std::sync::LazyLock;

use plumb_engine::{CrewFigures, Ending, IntervalRecords, LoadResult};
use plumb_measure::{
    Answer, FailureKind, Interval, Moments, Recorder, ResultRecord, Slowest, Transports,
};
use plumb_remote::files::{FileWord, PlanFile};
use plumb_remote::link;
use plumb_remote::message::{Order, Report, SCHEMA, read, written};
use plumb_remote::{Assembly, Hello, Part, RunOrder};
use proptest::prelude::*;

fn recorder() -> Recorder {
    let mut recorder = Recorder::new(1);
    for last in [900, 40_000, 41_000, 7_000_000] {
        let moments = Moments { due: 0, sent: 5, first: 10, last };
        recorder.record(0, moments, Answer { code: Some(200), ..Answer::ok(7) });
    }
    recorder.record(
        0,
        Moments { due: 0, sent: 1, first: 1, last: 1 },
        Answer::failed(FailureKind::TimedOut),
    );
    recorder.lag.record(3);
    recorder
}

/// Each report, as a line; made once.
fn reports() -> &'static [String] {
    static LINES: LazyLock<Vec<String>> = LazyLock::new(|| {
        let line = |report| written(report).expect("a report can be written");
        all_reports().iter().map(line).collect()
    });
    &LINES
}

fn all_reports() -> Vec<Report> {
    let figures = Interval { start_ns: 5, duration_ns: 9, ..Interval::default() };
    let records = IntervalRecords {
        began_ns: 3,
        figures,
        recorder: recorder(),
        drivers: vec![(0, 7)],
        users: 2,
    };
    let outcome = LoadResult {
        recorder: recorder(),
        crews: vec![CrewFigures::default()],
        protocols: Vec::new(),
        intervals: vec![figures],
        ending: Ending::Complete,
        began_ns: 3,
        duration_ns: 9,
        connections: 1,
        warm_up_operations: 0,
        cpu_ns: 4,
        transports: Transports::default(),
        slowest: Slowest::default(),
        tcp: None,
        told_names: Vec::new(),
        handshake_complaint: None,
    };
    let hello = Hello {
        schema: SCHEMA.into(),
        name: "r1".into(),
        version: "1".into(),
        host: "h".into(),
        kernel: "k".into(),
        cpus: 2,
        labels: std::collections::BTreeMap::from([("site".into(), "x".into())]),
    };
    let (run, load) = (1, 1);
    vec![
        Report::Hello(hello),
        Report::Clock { sent_ns: 1, here_ns: 2 },
        Report::Ready { run, load },
        Report::Began { run, load, transport: None },
        Report::Interval { run, load, records: Box::new(records) },
        Report::Loaded { run, load, started_ns: Some(3), outcome: Box::new(outcome) },
        Report::Result { run, load, result: Box::new(ResultRecord::default()) },
        Report::Done { run, outcome: Err("none".into()) },
        Report::Alive,
    ]
}

fn orders() -> Vec<String> {
    all_orders().iter().map(|order| written(order).expect("an order can be written")).collect()
}

fn all_orders() -> [Order; 7] {
    let part = Part { number: NonZeroU32::MIN, of: NonZeroU32::MIN };
    [
        Order::Clock { sent_ns: 7 },
        Order::Run(RunOrder {
            run: 1,
            words: vec!["net".into(), "ping".into()],
            part,
            files: vec![PlanFile { path: "0/s.toml".into(), digest: "ab".into() }],
            file_words: vec![FileWord { word: "s.toml".into(), path: "0/s.toml".into() }],
            alone: false,
            folder: None,
        }),
        Order::File { digest: "ab".into(), content: "YQ==".into() },
        Order::Connect { run: 1, load: 1 },
        Order::Open { run: 1, load: 1, at_wall_ns: u64::MAX },
        Order::Stop { run: 1 },
        Order::Alive,
    ]
}

#[test]
fn what_is_written_is_read() {
    for order in all_orders() {
        let line = written(&order).expect("an order can be written");
        assert!(line.ends_with('\n') && line.lines().count() == 1, "{line}");
        assert_eq!(read::<Order>(&line).expect("it was written"), order);
    }
    for (report, line) in all_reports().into_iter().zip(reports()) {
        assert_eq!(read::<Report>(line).expect("it was written"), report);
    }
}

/// One change: where, and what.
fn changes() -> impl Strategy<Value = Vec<(prop::sample::Index, Change)>> {
    let change = prop_oneof![
        any::<u8>().prop_map(Change::Set),
        (0x20_u8..0x7f).prop_map(Change::Set),
        Just(Change::Remove),
        (1_usize..40).prop_map(Change::Repeat),
        Just(Change::Cut),
        Just(Change::Number("18446744073709551615")),
        Just(Change::Number("-1")),
        Just(Change::Number("1e300")),
    ];
    prop::collection::vec((any::<prop::sample::Index>(), change), 1..4)
}

#[derive(Clone, Copy, Debug)]
enum Change {
    Set(u8),
    Remove,
    Repeat(usize),
    Cut,
    /// In the place of the next number.
    Number(&'static str),
}

fn altered(line: &str, changes: &[(prop::sample::Index, Change)]) -> Vec<u8> {
    let mut bytes = line.as_bytes().to_vec();
    for (at, change) in changes {
        if bytes.is_empty() {
            break;
        }
        let at = at.index(bytes.len());
        match *change {
            Change::Set(byte) => bytes[at] = byte,
            Change::Remove => drop(bytes.remove(at)),
            Change::Repeat(count) => {
                let again = bytes[at..bytes.len().min(at + count)].to_vec();
                bytes.splice(at..at, again);
            }
            Change::Cut => bytes.truncate(at),
            Change::Number(number) => {
                let Some(first) = bytes[at..]
                    .windows(2)
                    .position(|two| two[0] == b':' && two[1].is_ascii_digit())
                else {
                    continue;
                };
                let first = at + first + 1;
                let digits = bytes[first..].iter().take_while(|it| it.is_ascii_digit()).count();
                bytes.splice(first..first + digits, number.bytes());
            }
        }
    }
    bytes
}

/// What a controller does with what it took.
fn work_with(report: Report) {
    match report {
        Report::Interval { records, .. } => {
            let mut all = Assembly::new(2);
            let sound = read::<Report>(&reports()[4]).expect("what was written is read");
            let Report::Interval { records: sound, .. } = sound else {
                unreachable!("the fifth is one")
            };
            let mut complete = all.add(0, *records.clone()).unwrap_or_default();
            complete.extend(all.add(1, *sound).unwrap_or_default());
            complete.extend(all.end(0));
            complete.extend(all.end(1));
            assert!(!complete.is_empty());
        }
        Report::Loaded { outcome, .. } => {
            let mut sum = (*outcome).clone();
            let _ = sum.merge(*outcome); // it is refused, or done
        }
        _ => {}
    }
}

#[test]
fn what_is_not_altered_is_read() {
    for line in reports() {
        work_with(read::<Report>(line).unwrap());
    }
    for line in orders() {
        read::<Order>(&line).unwrap();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn an_altered_report_is_refused_or_can_be_worked_with(
        which in any::<prop::sample::Index>(),
        changes in changes(),
    ) {
        let lines = reports();
        let bytes = altered(&lines[which.index(lines.len())], &changes);
        let mut from = &bytes[..];
        while let Ok(report) = link::next::<Report>(&mut from) {
            work_with(report);
        }
    }

    #[test]
    fn an_altered_order_is_refused_or_bounded(
        which in any::<prop::sample::Index>(),
        changes in changes(),
    ) {
        let lines = orders();
        let bytes = altered(&lines[which.index(lines.len())], &changes);
        let mut from = &bytes[..];
        while let Ok(order) = link::next::<Order>(&mut from) {
            if let Order::Run(order) = order {
                prop_assert!(order.is_bounded());
            }
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let mut from = &bytes[..];
        while link::next::<Report>(&mut from).is_ok() {}
        let mut from = &bytes[..];
        while link::next::<Order>(&mut from).is_ok() {}
    }
}
