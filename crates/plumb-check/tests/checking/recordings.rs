//! Recordings of hosts with figures that cannot be true, each rule broken and kept.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should end")]

use std::path::Path;

use plumb_check::{Disagreement, Report};
use plumb_nmon::Options;

/// Two processors over three snapshots, ten seconds each; the lines are numbered from 1.
const GOOD: &str = "\
AAA,progname,nmon
AAA,host,h
AAA,OS,Linux
AAA,cpus,2
CPU001,CPU 1 h,User%,Sys%,Wait%,Idle%,Steal%
CPU002,CPU 2 h,User%,Sys%,Wait%,Idle%,Steal%
CPU_ALL,CPU Total h,User%,Sys%,Wait%,Idle%,Steal%,Busy,CPUs
MEM,Memory MB h,memtotal,swaptotal,memfree,swapfree,cached
DISKBUSY,Disk %Busy h,sda,sdb
JFSFILE,JFS Filespace %Used h,/,/home
ZZZZ,T0001,10:00:00,01-MAY-2026
CPU001,T0001,40.0,10.0,0.0,50.0,0.0
CPU002,T0001,20.0,10.0,0.0,70.0,0.0
CPU_ALL,T0001,30.0,10.0,0.0,60.0,0.0,,2
MEM,T0001,1000.0,200.0,300.0,200.0,400.0
DISKBUSY,T0001,99.0,104.0
JFSFILE,T0001,55.0,100.0
ZZZZ,T0002,10:00:10,01-MAY-2026
CPU001,T0002,40.0,10.0,0.0,50.0,0.0
CPU002,T0002,20.0,10.0,0.0,69.8,0.0
CPU_ALL,T0002,30.4,10.0,0.0,59.6,0.0,,2
MEM,T0002,1000.0,200.0,1000.1,200.0,400.0
DISKBUSY,T0002,9.0,10.0
JFSFILE,T0002,55.0,100.0
ZZZZ,T0003,10:00:20,01-MAY-2026
CPU001,T0003,40.0,10.0,0.0,50.0,0.0
CPU002,T0003,20.0,10.0,0.0,70.0,0.0
CPU_ALL,T0003,30.0,10.0,0.0,60.0,0.0,,2
MEM,T0003,1000.0,200.0,300.0,200.0,400.0
DISKBUSY,T0003,9.0,10.0
JFSFILE,T0003,55.0,100.0
";

fn report(text: &str) -> Report {
    let file = plumb_nmon::read(text.as_bytes(), &Options::default()).unwrap();
    let reports = plumb_check::of_file(&file);
    let [report] = reports.as_slice() else { panic!("{reports:#?}") };
    report.clone()
}

/// A recording of the crate that reads them.
fn recorded(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../plumb-nmon/tests/fixtures");
    std::fs::read_to_string(path.join(name)).unwrap()
}

/// What is found when `from` is replaced by `to`, wherever it stands.
fn with(from: &str, to: &str) -> Vec<String> {
    assert!(GOOD.contains(from), "{from}");
    report(&GOOD.replace(from, to)).findings().iter().map(ToString::to_string).collect()
}

#[test]
fn a_recording_that_is_right_raises_no_alarm() {
    let report = report(GOOD);
    assert!(report.findings().is_empty(), "{report:#?}");
    // 3 snapshots: shares of 3 sections, 5 singles, 15 shares of processors, 4 more, 3 of memory
    assert_eq!(report.checks(), 3 * (3 + 5 + 15 + 4 + 3) + 1);
}

#[test]
fn each_rule_is_checked_in_every_snapshot_and_named_with_its_own_line() {
    let broken: [(&str, &str, &[&str]); 5] = [
        (
            // neither is the extreme of its column
            "CPU_ALL,T0002,30.4,10.0,0.0,59.6",
            "CPU_ALL,T0002,30.0,10.5,0.0,60.0",
            &[
                "line 21 (CPU_ALL of T0002), User% + Sys% + Wait% + Idle% + Steal%: 100.5, expected \
               99.75 to 100.25 from parts of 100",
            ],
        ),
        (
            "CPU001,T0003,40.0,10.0,0.0,50.0",
            "CPU001,T0003,60.0,10.0,0.0,30.0",
            &[
                "line 28 (CPU_ALL of T0003), User%: 30, expected 39.4 to 40.6 from the mean of the \
                 single processors",
                "line 28 (CPU_ALL of T0003), Idle%: 60, expected 49.4 to 50.6 from the mean of the \
                 single processors",
            ],
        ),
        (
            "MEM,T0002,1000.0,200.0,1000.1",
            "MEM,T0002,1000.0,200.0,1000.2",
            &["line 22 (MEM of T0002), memfree: 1000.2, expected at most 1000.1 from memtotal"],
        ),
        (
            "MEM,T0003,1000.0,200.0,300.0,200.0",
            "MEM,T0003,1000.0,200.0,300.0,250.0",
            &["line 29 (MEM of T0003), swapfree: 250, expected at most 200.1 from swaptotal"],
        ),
        (
            "DISKBUSY,T0001,99.0,104.0",
            "DISKBUSY,T0001,99.0,105.1",
            &[
                "line 16 (DISKBUSY of T0001), sdb: 105.1, expected at most 105 from a share of 100 %",
            ],
        ),
    ];
    for (from, to, expected) in broken {
        assert_eq!(with(from, to), expected, "{to}");
    }
    let both = GOOD
        .replace("JFSFILE,T0001,55.0,100.0", "JFSFILE,T0001,130.0,100.0")
        .replace("JFSFILE,T0003,55.0,100.0", "JFSFILE,T0003,120.0,101.0");
    let found: Vec<(u64, String)> =
        report(&both).findings().iter().map(|it| (it.line, it.column.clone())).collect();
    assert_eq!(found, [(17, "/".into()), (31, "/".into()), (31, "/home".into())]);
}

#[test]
fn what_clock_ticks_or_missing_lines_leave_open_is_no_finding() {
    // half a point is what ten seconds of clock ticks leave open
    assert!(
        with("CPU_ALL,T0003,30.0,10.0,0.0,60.0", "CPU_ALL,T0003,30.5,10.0,0.0,59.5").is_empty()
    );
    let line = "CPU002,T0003,20.0,10.0,0.0,70.0,0.0\n";
    assert!(with(line, "").is_empty(), "of a processor without a line nothing is known");
}

#[test]
fn each_snapshot_has_a_whole_of_its_own() {
    // memory that is taken away
    let found = with("MEM,T0003,1000.0,200.0,300.0", "MEM,T0003,250.0,200.0,300.0");
    assert_eq!(found.len(), 2, "free and cached: {found:#?}");
}

#[test]
fn one_processor_adds_up_as_well_unless_it_was_off() {
    let found = with("CPU002,T0001,20.0,10.0,0.0,70.0", "CPU002,T0001,20.0,10.0,0.0,71.0");
    assert_eq!(found.len(), 1, "{found:#?}");
    assert!(found[0].starts_with("line 13 (CPU002 of T0001), User% + Sys%"), "{found:#?}");
    let off = GOOD.replace("CPU002,T0001,20.0,10.0,0.0,70.0", "CPU002,T0001,0.0,0.0,0.0,0.0");
    let kinds: Vec<Disagreement> = report(&off).findings().iter().map(|it| it.kind).collect();
    assert!(kinds.is_empty(), "{:#?}", report(&off));
}

#[test]
fn lines_in_any_order_are_put_together_by_their_snapshots() {
    let mut lines: Vec<&str> = GOOD.lines().collect();
    lines.sort_unstable();
    let sorted = lines.join("\n") + "\n";
    assert!(report(&sorted).findings().is_empty(), "{:#?}", report(&sorted));
    let wrong =
        sorted.replace("CPU001,T0003,40.0,10.0,0.0,50.0", "CPU001,T0003,60.0,10.0,0.0,30.0");
    assert_eq!(report(&wrong).findings().len(), 2);
}

#[test]
fn more_processors_than_there_are_cannot_be_busy() {
    let text = GOOD.replace("AAA,cpus,2", "AAA,cpus,1").replace(",,2\n", ",,1\n");
    assert!(report(&text).findings().is_empty());
    let text =
        text.replace("CPU_ALL,T0002,30.4,10.0,0.0,59.6,0.0,,1", "CPU_ALL,T0002,1,1,0,-5,0,,1");
    assert!(report(&text).findings().is_empty(), "a figure below zero is none");
}

#[test]
fn recordings_of_linux_and_aix_that_are_right_raise_no_alarm() {
    for name in ["linux-16n.nmon", "aix-shared.nmon"] {
        let report = report(&recorded(name));
        assert!(report.findings().is_empty() && report.checks() > 5, "{name}: {report:#?}");
    }
}

#[test]
fn figures_that_cannot_be_true_are_found_in_a_recording() {
    let wrong = recorded("small.nmon")
        .replace("CPU_ALL,T0003,15.0,5.0,0.0,80.0", "CPU_ALL,T0003,15.0,5.0,0.0,72.0")
        .replace("JFSFILE,T0002,5.2", "JFSFILE,T0002,520.0");
    let report = report(&wrong);
    let rows: Vec<&str> = report.findings().iter().map(|found| found.row.as_str()).collect();
    let all = "CPU_ALL of T0003"; // its sum, and its idle time beside that of its processors
    assert_eq!(rows, ["JFSFILE of T0002", all, all], "{report:#?}");
}

#[test]
fn processors_that_are_switched_on_meanwhile_may_be_busy() {
    let with = |cpus: u32| {
        let text = format!(
            "AAA,host,h\nAAA,OS,Linux\nAAA,cpus,2\n\
             CPU_ALL,CPU Total,User%,Sys%,Wait%,Idle%,Steal%,Busy,CPUs\n\
             ZZZZ,T0001,10:00:00,01-MAY-2026\nCPU_ALL,T0001,90,0,0,10,0,,2\n\
             ZZZZ,T0002,10:00:01,01-MAY-2026\nCPU_ALL,T0002,90,0,0,10,0,,{cpus}\n"
        );
        report(&text).findings().len()
    };
    assert_eq!((with(2), with(4)), (0, 0), "3.6 of 4 may be busy");
}

#[test]
fn lines_of_two_hosts_in_one_recording_are_a_finding() {
    let one = recorded("small.nmon");
    assert!(report(&one).findings().is_empty());
    let mixed = report(&one.replacen("AAA,user,root", "AAA,host,other", 1));
    let found: Vec<String> = mixed.findings().iter().map(ToString::to_string).collect();
    assert_eq!(
        found,
        ["line 8 (AAA), host: other, expected plumb01 from one host a recording; likely files of \
          two hosts were put together line by line"]
    );
}
