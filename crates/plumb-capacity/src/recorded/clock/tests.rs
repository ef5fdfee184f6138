use super::*;

#[test]
fn offsets_are_read_as_people_write_them() {
    for (text, seconds, said) in
        [("+01:00", 3_600, "UTC+01:00"), ("-05:30", -19_800, "UTC-05:30"), ("UTC", 0, "UTC+00:00")]
    {
        let offset: ClockOffset = text.parse().unwrap();
        assert_eq!((offset.seconds, offset.to_string().as_str()), (seconds, said));
    }
    for text in ["", "1", "+1", "+01", "01:00", "+15:00", "+01:60", "+1:000", "CET", "+é1:00"] {
        assert!(text.parse::<ClockOffset>().is_err(), "{text}");
    }
    assert_eq!(
        in_brackets("W. Europe Standard Time (UTC+01:00)").unwrap().to_string(),
        "UTC+01:00"
    );
    assert_eq!(in_brackets("somewhere"), None);
}

/// As Europe/Berlin has it, whatever is known to the machine that runs this.
fn berlin() -> TimeZone {
    TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap()
}

fn utc_s(text: &str) -> i64 {
    text.parse::<Timestamp>().unwrap().as_second()
}

/// The clock of a recording with these facts and snapshots.
fn clock_of(head: &str, snapshots: &[&str], asked: Option<&str>) -> RecordingClock {
    let mut text = format!("AAA,progname,nmon\nAAA,interval,600\n{head}");
    for (number, at) in (1..).zip(snapshots) {
        text.push_str(&format!("ZZZZ,T{number:04},{at}\nCPU_ALL,T{number:04},1,1,1,97,0,,4\n"));
    }
    let read = plumb_nmon::read(text.as_bytes(), &plumb_nmon::Options::default()).unwrap();
    let recording = &read.recordings[0];
    let ends = recording.timeline.ends().unwrap();
    let asked = asked.map(|it| it.parse().unwrap());
    RecordingClock::of(asked, (recording, read.troubles.list()), ends, berlin()).unwrap()
}

const AUTUMN: [&str; 5] = [
    "02:40:05,25-OCT-2026",
    "02:50:05,25-OCT-2026",
    "02:00:05,25-OCT-2026",
    "02:10:05,25-OCT-2026",
    "03:10:05,25-OCT-2026",
];

#[test]
fn a_clock_of_this_machine_is_turned_where_summer_time_ends() {
    let clock = clock_of("", &AUTUMN, None);
    assert_eq!(
        clock.to_string(),
        "UTC+02:00, later UTC+01:00 (the clock of this machine; the file names none)"
    );
    let shown = |utc: &str| clock.showed_s(utc_s(utc)).unwrap();
    assert_eq!(shown("2026-10-25T00:50:00Z"), utc_s("2026-10-25T02:50:00Z"));
    assert_eq!(shown("2026-10-25T09:00:00Z"), utc_s("2026-10-25T10:00:00Z"));
    let spring = clock_of("", &["01:50:05,29-MAR-2026", "03:00:05,29-MAR-2026"], None);
    assert_eq!(
        spring.showed_s(utc_s("2026-03-29T08:00:00Z")).unwrap(),
        utc_s("2026-03-29T10:00:00Z")
    );
}

#[test]
fn what_a_file_says_of_its_clock_holds_until_it_is_turned() {
    let head = "AAA,timezone,W. Europe Standard Time (UTC+02:00)\n";
    let clock = clock_of(head, &AUTUMN, None);
    assert_eq!(
        clock.showed_s(utc_s("2026-10-24T23:50:00Z")).unwrap(),
        utc_s("2026-10-25T01:50:00Z")
    );
    for behind in ["2026-10-25T01:10:00Z", "2026-10-25T09:00:00Z"] {
        let error = clock.showed_s(utc_s(behind)).unwrap_err().to_string();
        assert!(error.contains("give --recording-clock"), "{error}");
    }
    let asked = clock_of(head, &AUTUMN, Some("+01:00"));
    assert_eq!(
        asked.showed_s(utc_s("2026-10-25T09:00:00Z")).unwrap(),
        utc_s("2026-10-25T10:00:00Z")
    );
}
