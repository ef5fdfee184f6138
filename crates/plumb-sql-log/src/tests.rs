use std::io::Read as _;

use super::*;
use crate::Logged;
use crate::message::civil_us;
use proptest::prelude::*;

fn all(text: &str, format: LogFormat) -> Result<Vec<Logged>, String> {
    let bytes = io::Cursor::new(text.as_bytes().to_vec());
    let entries = records_of(bytes, format);
    entries
        .filter_map(|entry| match entry {
            Ok(Entry::Statement(logged)) => Some(Ok(logged)),
            Ok(Entry::Other | Entry::Translated) => None,
            Err(error) => Some(Err(error)),
        })
        .collect()
}

/// A line of csvlog as PostgreSQL 15 writes them.
fn csv(time: &str, message: &str, detail: &str) -> String {
    let quoted = |text: &str| match text {
        "" => String::new(),
        text => format!("\"{}\"", text.replace('"', "\"\"")),
    };
    format!(
        "{time},\"me\",\"erp\",77,\"[local]\",6743.4d,3,\"SELECT\",2026-11-24 05:42:00 UTC,3/4,0,LOG,\
         00000,{},{},,,,,,,,\"app\",\"client backend\",,0\n",
        quoted(message),
        quoted(detail)
    )
}

const TIME: &str = "2026-11-24 05:42:15.123 UTC";

#[test]
fn a_statement_of_csvlog_began_before_it_was_logged() {
    let log = [
        csv(TIME, "duration: 23.500 ms  statement: SELECT \"a\"\nFROM t", ""),
        csv(TIME, "connection received: host=[local]", ""),
        csv(TIME, "duration: 0.010 ms  parse <unnamed>: SELECT $1", ""),
        csv(
            TIME,
            "duration: 1.000 ms  execute s1/C_2: SELECT $1, $2",
            "parameters: $1 = 'it''s, $2', $2 = NULL",
        ),
        csv(TIME, "duration: 3.000 ms", ""),
        csv("2026-11-24 05:42:16.123 UTC", "statement: SELECT 2", ""),
    ];
    let found = all(&log.concat(), LogFormat::Csvlog).unwrap();
    assert_eq!(found.len(), 3);
    assert_eq!(found[0].text, "SELECT \"a\"\nFROM t");
    assert_eq!(
        (found[0].logged_us - found[0].at_us, found[0].session.as_str()),
        (23_500, "6743.4d")
    );
    assert_eq!(found[1].parameters, [Some("it's, $2".into()), None]);
    assert_eq!(found[2].at_us - found[0].logged_us, 1_000_000);
    // the first has two lines
    assert_eq!([0, 1, 2].map(|at| found[at].line), [1, 5, 7]);
}

#[test]
fn jsonlog_says_the_same() {
    let line = r#"{"timestamp":"2026-11-24 05:42:15.123 UTC","user":"me","pid":7,"session_id":"a.1","message":"duration: 2.000 ms  execute <unnamed>: SELECT $1","detail":"Parameters: $1 = '7'"}"#;
    let found = all(&format!("{line}\n"), LogFormat::Jsonlog).unwrap();
    let at_us = civil_us(TIME).unwrap().0 - 2_000;
    let expected = Logged {
        line: 1,
        at_us,
        logged_us: at_us + 2_000,
        session: "a.1".into(),
        text: "SELECT $1".into(),
        parameters: vec![Some("7".into())],
    };
    assert_eq!(found, [expected]);
}

#[test]
fn a_log_in_another_language_is_recognised() {
    let kinds = |log: &str, format| -> Vec<Entry> {
        let entries = records_of(io::Cursor::new(log.as_bytes().to_vec()), format);
        entries.collect::<Result<_, _>>().unwrap()
    };
    for message in [
        "Dauer: 0.123 ms  Anweisung: SELECT 1",
        "durée : 0.123 ms, instruction : SELECT 1",
        "期間: 0.123 ミリ秒 文: SELECT 1",
        "执行时间：0.123 毫秒 语句：SELECT 1",
        "Anweisung: select 1",
        "Ausführen <unnamed>: SELECT $1",
        "Ausführen S_1/C_2: SELECT $1",
        "instruction : SELECT 1",
        "czas trwania: 0.123 ms",
    ] {
        let log = csv(TIME, message, "");
        assert_eq!(kinds(&log, LogFormat::Csvlog), [Entry::Translated], "{message}");
        let json = serde_json::json!({
            "timestamp": TIME, "error_severity": "LOG", "message": message,
        });
        assert_eq!(kinds(&format!("{json}\n"), LogFormat::Jsonlog), [Entry::Translated]);
    }
    for (severity, expected) in
        [("СООБЩЕНИЕ", Entry::Translated), ("LOGG", Entry::Translated), ("DEBUG1", Entry::Other)]
    {
        let line = csv(TIME, "...", "").replace(",LOG,", &format!(",{severity},"));
        assert_eq!(kinds(&line, LogFormat::Csvlog), [expected], "{severity}");
    }
    for message in [
        "duration: 3.000 ms",
        "duration: 0.010 ms  parse <unnamed>: SELECT $1",
        "execute fetch from s1: SELECT 1",
        "temporary file: path \"base/1.0\", size 3",
        "checkpoint complete: wrote 3 buffers (0.0%); write=0.201 s",
        "AUDIT: SESSION,1,1,READ,SELECT,,,SELECT 1,<none>",
        "cron job 1 starting: SELECT refresh()",
        "received replication command: SELECT pg_catalog.set_config('search_path', '', false);",
        "Running query: SELECT 1",
        "step 3: 0.123 ms",
        "refresh took: 0.123 s",
    ] {
        assert_eq!(kinds(&csv(TIME, message, ""), LogFormat::Csvlog), [Entry::Other], "{message}");
    }
}

#[test]
fn a_clock_that_is_turned_neither_repeats_an_hour_nor_leaves_one_out() {
    let since_first_s = |times: &[&str]| {
        let csv: String = times.iter().map(|time| csv(time, "statement: SELECT 1", "")).collect();
        let line = |time: &&str| {
            format!("{{\"timestamp\":\"{time}\",\"message\":\"statement: SELECT 1\"}}\n")
        };
        let json: String = times.iter().map(line).collect();
        let of = |text: &str, format| {
            let found = all(text, format).unwrap();
            found.iter().map(|it| (it.at_us - found[0].at_us) / 1_000_000).collect::<Vec<_>>()
        };
        let seconds = of(&csv, LogFormat::Csvlog);
        assert_eq!(seconds, of(&json, LogFormat::Jsonlog));
        seconds
    };
    let autumn = [
        "2026-10-25 02:10:00.000 CEST",
        "2026-10-25 02:59:59.000 CEST",
        "2026-10-25 02:00:01.000 CET",
        // two processes wrote at the same time
        "2026-10-25 02:59:59.000 CEST",
        "2026-10-25 03:10:00.000 CET",
    ];
    assert_eq!(since_first_s(&autumn), [0, 2_999, 3_001, 2_999, 7_200]);
    let both = [
        "2026-03-29 01:59:59.000 CET",
        "2026-03-29 03:00:01.000 CEST",
        "2026-10-25 02:59:59.000 CEST",
        "2026-10-25 02:00:01.000 CET",
    ];
    let summer_s = 210 * 86_400;
    assert_eq!(since_first_s(&both), [0, 2, summer_s, summer_s + 2]);
    // the names say it, whatever the silence was
    let quiet = ["2026-10-24 22:00:00.000 CEST", "2026-10-25 06:00:00.000 CET"];
    assert_eq!(since_first_s(&quiet), [0, 9 * 3_600]);
    let two_hours = ["2026-10-25 01:45:00.000 CEST", "2026-10-25 02:56:00.000 CET"];
    assert_eq!(since_first_s(&two_hours), [0, 7_860]);
    let hourly = ["2026-10-25 02:30:00.100 CEST", "2026-10-25 02:30:00.200 CET"];
    assert_eq!(since_first_s(&hourly), [0, 3_600]);
    let west = ["2026-03-08 01:59:00.000 PST", "2026-03-08 05:00:00.000 PDT"];
    assert_eq!(since_first_s(&west), [0, 7_260]);
    let south = ["2026-04-04 20:00:00.000 -03", "2026-04-05 01:10:00.000 -04"];
    assert_eq!(since_first_s(&south), [0, 22_200]);
    // of other names nobody can tell where nothing was logged for long
    let moved = ["2026-07-01 12:00:00.000 CEST", "2026-07-01 19:00:00.000 UTC"];
    assert_eq!(since_first_s(&moved), [0, 7 * 3_600]);
    let moved = ["2026-07-01 12:00:00.000 CEST", "2026-07-01 10:00:07.000 UTC"];
    assert_eq!(since_first_s(&moved), [0, 7]);
}

#[test]
fn lines_between_statements_say_that_a_clock_was_turned() {
    let log = [
        csv("2026-07-01 12:00:00.000 CEST", "statement: SELECT 1", ""),
        csv("2026-07-01 16:00:00.000 CEST", "checkpoint starting: time", ""),
        csv("2026-07-01 14:04:00.000 UTC", "checkpoint starting: time", ""),
        csv("noon", "checkpoint starting: time", ""),
        csv("2026-07-01 19:00:00.000 UTC", "statement: SELECT 1", ""),
    ];
    let found = all(&log.concat(), LogFormat::Csvlog).unwrap();
    assert_eq!((found[1].at_us - found[0].at_us) / 1_000_000, 9 * 3_600);
}

#[test]
fn plain_lines_hold_seconds_a_session_and_a_statement() {
    let text = "# by hand\n0.250\t7\tSELECT 1,\\n 'a\\\\b\\x'\n\n1.5\terp\tSELECT 2\n";
    let found = all(text, LogFormat::Text).unwrap();
    assert_eq!(found[0].text, "SELECT 1,\n 'a\\b\\x'");
    assert_eq!((found[0].at_us, found[1].at_us), (250_000, 1_500_000));
    assert_eq!(found[1].session, "erp");
    let marked = all(&format!("\u{feff}{text}"), LogFormat::Text).unwrap();
    assert_eq!(marked, found);
    let marked = all("\u{feff}0.5\t7\tSELECT 1\n", LogFormat::Text).unwrap();
    assert_eq!(marked[0].at_us, 500_000);
}

/// Nobody writes into the pipe: whoever opened it would wait for ever.
#[test]
fn a_pipe_is_refused_as_a_log_is_read_twice() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("day.csv");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    let error = LogReader::open(&pipe, LogFormat::Csvlog).unwrap_err().to_string();
    assert!(error.contains("it is read twice"), "{error}");
}

#[test]
fn what_cannot_be_read_says_in_which_line_and_what_was_expected() {
    let whole = csv(TIME, "statement: SELECT 1", "");
    for (text, format, expected) in [
        ("a,b\n".to_owned(), LogFormat::Csvlog, "line 1: 2 columns"),
        (
            format!("{whole}{}", csv("noon", "statement: SELECT 1", "")),
            LogFormat::Csvlog,
            "line 2: `noon`",
        ),
        (csv(TIME, "statement: SELECT $1", "parameters: $1 = 'a"), LogFormat::Csvlog, "has no end"),
        (csv(TIME, "statement: SELECT $1", "parameters: $2 = 'a'"), LogFormat::Csvlog, "`$1 =`"),
        ("{}\n".to_owned(), LogFormat::Jsonlog, "line 1: no line of PostgreSQL's jsonlog"),
        ("0.1\t1\tSELECT 1\n2 SELECT 1\n".to_owned(), LogFormat::Text, "line 2: expected SECONDS"),
        (
            "now\t1\tSELECT 1\n".to_owned(),
            LogFormat::Text,
            "line 1: it does not begin with seconds",
        ),
    ] {
        let error = all(&text, format).unwrap_err();
        assert!(error.contains(expected), "{text}: {error}");
    }
}

#[test]
fn a_record_without_an_end_does_not_fill_the_memory() {
    let endless = io::Cursor::new(b"\"".to_vec()).chain(io::repeat(b'a'));
    let mut records = records::Csv::new(endless);
    let error = records.next().unwrap().unwrap_err();
    assert!(error.contains("longer than"), "{error}");
    assert!(records.next().is_none());
}

#[test]
fn the_name_of_a_file_says_how_it_is_written() {
    let of = |name: &str| LogFormat::of_name(Path::new(name));
    assert_eq!(of("a/postgresql-1.csv"), LogFormat::Csvlog);
    assert_eq!((of("x.json"), of("day")), (LogFormat::Jsonlog, LogFormat::Text));
    assert!("log".parse::<LogFormat>().is_err());
}

/// A file of each format.
const RIGHT: [&str; 3] = [
    "2026-11-24 05:42:15.123 UTC,\"me\",\"erp\",77,\"[local]\",6743.4d,3,\"SELECT\",\
     2026-11-24 05:42:00 UTC,3/4,0,LOG,00000,\"duration: 1.0 ms  execute s: SELECT $1\",\
     \"parameters: $1 = 'a', $2 = NULL\",,,,,,,,\"app\",\"client backend\",,0\n",
    "0.1\t1\tSELECT 1\\n\n0.2\t2\tSELECT 2\n",
    "{\"timestamp\":\"2026-11-24 05:42:15.123 UTC\",\"message\":\"statement: SELECT 1\",\
     \"detail\":\"parameters: $1 = 'a'\"}\n",
];

proptest! {
    #[test]
    fn no_file_brings_it_down(
        text in plumb_mutation::mutated(&RIGHT)
    ) {
        for format in [LogFormat::Csvlog, LogFormat::Jsonlog, LogFormat::Text] {
            let _ = all(&text, format);
        }
    }
}
