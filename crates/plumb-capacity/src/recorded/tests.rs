use std::fmt::Write as _;

use tempfile::{TempDir, tempdir};

use super::*;

/// A recording of nmon with these facts and sections, whose snapshots are of so many seconds after ten
/// and have these rows.
fn recording(head: &str, snapshots: impl Iterator<Item = (u32, String)>) -> (TempDir, PathBuf) {
    let mut text = format!("AAA,progname,nmon\nAAA,host,box\nAAA,interval,10\n{head}\n");
    for (number, (s, rows)) in (1..).zip(snapshots) {
        let at = format!("{:02}:{:02}:{:02}", 10 + s / 3_600, s / 60 % 60, s % 60);
        writeln!(text, "ZZZZ,T{number:04},{at},22-NOV-2026").unwrap();
        for row in rows.lines() {
            let (section, figures) = row.split_once(',').unwrap();
            writeln!(text, "{section},T{number:04},{figures}").unwrap();
        }
    }
    let folder = tempdir().unwrap();
    let file = folder.path().join("box.nmon");
    std::fs::write(&file, text).unwrap();
    (folder, file)
}

const CPU_ALL: &str = "CPU_ALL,CPU Total box,User%,Sys%,Wait%,Idle%,Steal%,Busy,CPUs";
const SHARED: &str = "LPAR,Shared CPU LPAR Stats box,PhysicalCPU,capped,shared_processor_mode,\
                      partition_entitled_capacity,partition_active_processors";

fn opened(head: &str, rows: &str) -> anyhow::Result<u32> {
    let snapshots = (1..6).map(|at| (at * 10, rows.to_owned()));
    let (_folder, file) = recording(head, snapshots);
    Recorded::open(&file, None, None).map(|it| it.cores)
}

#[test]
fn processors_are_counted_as_those_that_are_busy() {
    let busy = "CPU_ALL,40,10,0,50,0,,32";
    let plain = format!("AAA,OS,Linux\nAAA,cpus,32\n{CPU_ALL}");
    assert_eq!(opened(&plain, busy).unwrap(), 32);
    // four virtual processors of eight threads each
    let power = format!("AAA,OS,Linux\nAAA,cpus,4,32\n{CPU_ALL}");
    assert_eq!(opened(&power, busy).unwrap(), 32, "threads are busy, threads there are");
    let shared = format!("{power}\n{SHARED}");
    let of = |lpar: &str| opened(&shared, &format!("{busy}\nLPAR,{lpar}"));
    assert_eq!(of("2.1,0,1,1.5,4").unwrap(), 4);
    let untold = format!("{power}\nLPAR,Shared CPU LPAR Stats box,PhysicalCPU");
    assert_eq!(opened(&untold, &format!("{busy}\nLPAR,2.1")).unwrap(), 4);
    let capped = of("1.4,1,1,1.5,4").unwrap_err().to_string();
    assert!(capped.contains("capped at 1.5 processors"), "{capped}");
    assert_eq!(of("1.4,1,1,4,4").unwrap(), 4, "it is entitled to all that it has");
    let aix = "AAA,AIX,7.2\nAAA,cpus,64,32\n\
               CPU_ALL,CPU Total box,User%,Sys%,Wait%,Idle%,Busy,PhysicalCPUs\n\
               LPAR,Logical Partition box,PhysicalCPU,virtualCPUs,logicalCPUs,entitled,SharedCPU,Capped";
    let of = |lpar: &str| opened(aix, &format!("CPU_ALL,40,10,0,50,,8\nLPAR,{lpar}"));
    assert_eq!(of("2.1,8,64,1.5,1,0").unwrap(), 8);
    assert_eq!(of("2.1,8,64,1.5,0,0").unwrap(), 8, "its own processors");
    let unknown = "AAA,AIX,7.2\nAAA,cpus,64,32\n\
                   CPU_ALL,CPU Total box,User%,Sys%,Wait%,Idle%,Busy,PhysicalCPUs\n\
                   LPAR,Logical Partition box,PhysicalCPU";
    let unknown = opened(unknown, "CPU_ALL,40,10,0,50,,8\nLPAR,2.1").unwrap_err().to_string();
    assert!(unknown.contains("processors, not threads") && unknown.contains("--cores N"));
}

/// Four processors, all of them busy from the second 1,000 on; nothing was recorded from 700 to 1,010,
/// in which a snapshot stands for the mean.
#[test]
fn a_snapshot_that_began_before_a_step_is_none_of_it() {
    let times = (1..=70).chain(101..=110).map(|at| at * 10);
    let rows = |s: u32| match s {
        ..=700 => "CPU_ALL,2.5,0,0,97.5,0,,4".to_owned(),
        1_010 => "CPU_ALL,5.6,0,0,94.4,0,,4".to_owned(),
        _ => "CPU_ALL,100,0,0,0,0,,4".to_owned(),
    };
    let head = format!("AAA,OS,Linux\nAAA,cpus,4\n{CPU_ALL}");
    let (_folder, file) = recording(&head, times.map(|s| (s, rows(s))));
    let recorded = Recorded::open(&file, Some("UTC".parse().unwrap()), None).unwrap();
    let ten = recorded.ends[0].local_s - 10;
    let (busy, _) = recorded.used((ten + 1_000, ten + 1_060), "60 users").unwrap();
    assert!((busy - 4.0).abs() < 1e-9, "{busy}");
    let few = recorded.used((ten + 1_000, ten + 1_020), "60 users").unwrap_err().to_string();
    assert!(few.contains("has 1 snapshots"), "{few}");
}

/// The hour before summer time ends is shown twice: which snapshots are of a step, no time says.
#[test]
fn a_step_in_the_hour_that_is_shown_twice_is_refused() {
    let head = format!("AAA,OS,Linux\nAAA,cpus,4\n{CPU_ALL}");
    let snapshots =
        (1..=360).chain(1..=30).map(|at| (at * 10, "CPU_ALL,50,0,0,50,0,,4".to_owned()));
    let (_folder, file) = recording(&head, snapshots);
    let recorded = Recorded::open(&file, Some("UTC".parse().unwrap()), None).unwrap();
    let ten = recorded.ends[0].local_s - 10;
    let error = recorded.used((ten + 10, ten + 70), "60 users").unwrap_err().to_string();
    assert!(error.contains("showed the times of the step of 60 users twice"), "{error}");
    // before the turn it began, and ended behind it
    let across = recorded.used((ten + 3_300, ten + 290), "60 users").unwrap_err().to_string();
    assert!(across.contains("showed the times of the step of 60 users twice"), "{across}");
    // no whole second lies within it
    let short = recorded.used((ten + 202, ten + 200), "60 users").unwrap_err().to_string();
    assert!(short.contains("measure each step for longer"), "{short}");
}

#[test]
fn a_step_that_ends_with_the_second_that_is_shown_again_is_refused() {
    let head = format!("AAA,OS,Linux\nAAA,cpus,4\n{CPU_ALL}");
    let snapshots =
        (1..540).chain(180..210).map(|at| (at * 10, "CPU_ALL,50,0,0,50,0,,4".to_owned()));
    let (_folder, file) = recording(&head, snapshots);
    let recorded = Recorded::open(&file, Some("UTC".parse().unwrap()), None).unwrap();
    let ten = recorded.ends[0].local_s - 10;
    let error = recorded.used((ten + 1_770, ten + 1_800), "60 users").unwrap_err().to_string();
    assert!(error.contains("showed the times of the step of 60 users twice"), "{error}");
}

#[test]
fn a_run_may_have_begun_at_the_end_of_its_second() {
    // from 5.9 to 15.9 s of a run that began at 10.0 to 10.9: within both from 16.8 to 25.9
    assert_eq!(whole_seconds(5_900_000_000, 15_900_000_000).unwrap(), (7, 15));
    assert_eq!(whole_seconds(0, 10_000_000_000).unwrap(), (1, 10));
}
