//! Files that are written: read back, and held against the rules of those who read them.

use crate::kit::{host, snapshot, written};
use plumb_nmon::{Options, Recording, Writer};

fn read(text: &str) -> Recording {
    let nmon = plumb_nmon::read(text.as_bytes(), &Options::default()).unwrap();
    assert!(nmon.troubles.is_empty(), "{:#?}", nmon.troubles.list());
    nmon.recordings.into_iter().next().unwrap()
}

#[test]
fn what_is_written_is_read_back() {
    let recording = read(&written(3));
    assert_eq!(recording.facts.host(), Some("box01"));
    assert_eq!(recording.facts.interval_s(), Some(10));
    assert_eq!(recording.timeline.duration_s(), 30.0);
    let last = recording.timeline.stamps()[2].local().unwrap();
    assert_eq!(last.to_string(), "2027-01-01T00:00:10");
    let maximum =
        |section: &str, column: &str| recording.column(section, column).unwrap().stat.max();
    assert_eq!(maximum("CPU_ALL", "User%"), Some(30.25));
    assert_eq!(maximum("CPU002", "Idle%"), Some(60.0));
    assert_eq!(maximum("MEM", "memfree"), Some(20_511.94));
    assert_eq!(maximum("VM", "pswpin"), Some(30.0));
    assert_eq!(maximum("PROC", "pswitch"), Some(1735.5));
    assert_eq!(maximum("NET", "eth0-write-KB/s"), Some(5.0));
    assert_eq!(maximum("DISKREAD", "vda"), Some(4.0));
    assert_eq!(maximum("JFSFILE", "/"), Some(5.25));
    assert_eq!(maximum("IBREAD", "mlx5_0-1"), Some(123.0));
    assert_eq!(maximum("SMCR", "fallbacks"), Some(0.0));
    let unknown = recording.column("MEM", "swaptotal").unwrap().stat;
    assert_eq!((unknown.count(), unknown.missing()), (0, 3), "what is unknown is never zero");
    assert_eq!(recording.processes[0].command, "disp+work_1");
    assert_eq!(recording.documents[0].lines, ["PRETTY_NAME=QDebianQ"]);
    let rows = recording.summary();
    let paging = rows.iter().find(|row| row.counter == "Pages swapped").unwrap();
    assert_eq!(paging.stat.max(), Some(3.0), "30 pages in 10 s");
}

/// The lines whose first cell is `section`.
fn lines<'t>(text: &'t str, section: &str) -> Vec<Vec<&'t str>> {
    text.lines()
        .map(|line| line.split(',').collect::<Vec<&str>>())
        .filter(|cells| cells[0] == section)
        .collect()
}

#[test]
fn headers_stand_once_before_all_figures_and_times_before_their_figures() {
    let text = written(3);
    let first = text.lines().position(|line| line.starts_with("ZZZZ")).unwrap();
    let (mut headers, mut time) = (Vec::new(), "");
    for (at, line) in text.lines().enumerate() {
        let cells: Vec<&str> = line.split(',').collect();
        match cells[0] {
            "AAA" | "BBBP" => assert!(at < first, "{line}"),
            "ZZZZ" => time = cells[1],
            "TOP" if at > first => assert_eq!(cells[2], time, "{line}"),
            "TOP" => {}
            section if at > first => {
                assert_eq!(cells[1], time, "{line}");
                assert!(headers.contains(&section), "{line} has no header");
            }
            section => {
                assert!(!headers.contains(&section), "{line} is a second header");
                assert!(cells.iter().all(|title| !title.is_empty()), "{line} has an empty title");
                headers.push(section);
            }
        }
    }
    assert!(headers.contains(&"CPU001") && headers.contains(&"CPU002"), "{headers:?}");
    assert!(lines(&text, "AAA").iter().any(|cells| cells[1..] == ["steal", "1"]));
}

#[test]
fn nmonchart_finds_every_header_by_the_letter_it_looks_for() {
    let text = written(2);
    for (section, letter) in [
        ("CPU_ALL", 'C'),
        ("MEM", 'M'),
        ("PROC", 'P'),
        ("NET", 'N'),
        ("NETPACKET", 'N'),
        ("DISKBUSY", 'D'),
        ("DISKREAD", 'D'),
        ("DISKWRITE", 'D'),
        ("DISKXFER", 'D'),
        ("JFSFILE", 'J'),
    ] {
        let lines = lines(&text, section);
        assert!(lines[0][1].starts_with(letter), "{section}: {:?}", lines[0]);
        assert!(lines[1..].iter().all(|row| row[1].starts_with('T')), "{section}");
        assert!(lines.iter().all(|row| row.len() == lines[0].len()), "{section} is ragged");
    }
    assert!(!text.contains(",T0001,-0.0"));
    let zone: Vec<&str> = text.lines().filter(|line| line.starts_with("ZZZZ")).collect();
    assert_eq!(zone[0], "ZZZZ,T0001,23:59:50,31-DEC-2026");
}

#[test]
fn a_host_or_title_cannot_be_taken_for_a_snapshot_or_break_a_line() {
    let mut named = host(10);
    named.name = "T1000,x".to_owned();
    let mut writer = Writer::new(Vec::new(), named).unwrap();
    writer.snapshot(&snapshot(0)).unwrap();
    let text = String::from_utf8(writer.finish(&[]).unwrap()).unwrap();
    assert_eq!(read(&text).facts.host(), Some("_T1000_x"));
}

#[test]
fn what_comes_later_is_counted_and_what_goes_is_missing() {
    let mut writer = Writer::new(Vec::new(), host(10)).unwrap();
    writer.snapshot(&snapshot(0)).unwrap();
    let mut changed = snapshot(1);
    changed.interfaces[1].name = "eth9".to_owned(); // eth0 is gone, eth9 is new
    writer.snapshot(&changed).unwrap();
    assert_eq!(writer.left_out(), 4);
    let recording = read(&String::from_utf8(writer.finish(&[]).unwrap()).unwrap());
    let received = recording.column("NET", "eth0-read-KB/s").unwrap().stat;
    assert_eq!((received.count(), received.missing()), (1, 1));
    assert!(recording.column("NET", "eth9-read-KB/s").is_none());
}

#[test]
fn more_than_150_disks_stand_in_several_sections() {
    let mut many = snapshot(0);
    let disk = many.disks[0].clone();
    many.disks =
        (0..320).map(|at| plumb_nmon::Disk { name: format!("hd{at}x"), ..disk.clone() }).collect();
    let mut writer = Writer::new(Vec::new(), host(10)).unwrap();
    writer.snapshot(&many).unwrap();
    let recording = read(&String::from_utf8(writer.finish(&[]).unwrap()).unwrap());
    assert_eq!(recording.section("DISKREAD2").unwrap().columns.len(), 20);
    let disks = recording.disks().unwrap();
    assert_eq!((disks.counted.len(), disks.read.max()), (320, Some(320.0 * 4.0)));
}

#[test]
fn an_interval_below_a_second_is_refused() {
    let error = Writer::new(Vec::new(), host(0)).unwrap_err();
    assert!(error.to_string().contains("whole seconds"), "{error}");
}

#[test]
fn a_recording_without_a_snapshot_holds_its_facts() {
    let writer = Writer::new(Vec::new(), host(10)).unwrap();
    let text = String::from_utf8(writer.finish(&[]).unwrap()).unwrap();
    assert!(text.starts_with("AAA,progname,plumb\n"), "{text}");
    assert_eq!(read(&text).sections.len(), 0);
}
