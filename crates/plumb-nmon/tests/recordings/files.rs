//! Files of nmon on Linux and AIX, whole, damaged and put together.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use plumb_nmon::{BusyRule, Nmon, Options, ReadError, Recording, Series, System, TroubleKind};

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

fn text(name: &str) -> String {
    std::fs::read_to_string(path(name)).unwrap()
}

fn read(text: impl AsRef<[u8]>) -> Nmon {
    plumb_nmon::read(text.as_ref(), &Options::default()).unwrap()
}

fn only(nmon: &Nmon) -> &Recording {
    let [recording] = &nmon.recordings[..] else { panic!("{}", nmon.recordings.len()) };
    recording
}

fn messages(nmon: &Nmon) -> Vec<String> {
    nmon.troubles.list().iter().map(ToString::to_string).collect()
}

fn kinds(nmon: &Nmon) -> Vec<&TroubleKind> {
    nmon.troubles.list().iter().map(|trouble| &trouble.kind).collect()
}

fn near(value: Option<f64>, expected: f64) {
    assert!(
        value.is_some_and(|value| (value - expected).abs() < 1e-6),
        "{value:?}, not {expected}"
    );
}

#[test]
fn a_file_of_nmon_16_on_linux() {
    let nmon = plumb_nmon::open(&path("linux-16n.nmon"), &Options::default()).unwrap();
    let host = only(&nmon);
    assert!(nmon.troubles.is_empty(), "{:#?}", messages(&nmon));
    assert_eq!((host.facts.host(), host.system()), (Some("host01"), System::Linux));
    assert_eq!(host.facts.recorder().as_deref(), Some("nmon 16n"));
    assert_eq!(host.facts.get("steal"), Some("1"));
    assert_eq!(host.timeline.stamps().len(), 5);
    assert_eq!(host.timeline.duration_s(), 5.0);
    assert_eq!(host.timeline.stamps()[0].local().unwrap().to_string(), "2026-11-21T10:37:51");

    let busy = host.cores_busy().unwrap();
    assert_eq!(busy.rule, BusyRule::NotIdleNorStolen);
    near(busy.stat.max(), 0.446 * 2.0);
    // of the last 31.3 % others had half a percent
    near(Some(busy.cpu_s()), (44.6 + 12.3 + 2.0 + 1.5 + 30.8) / 100.0 * 2.0);

    let unknown = host.column("MEM", "hightotal").unwrap().stat;
    assert_eq!((unknown.count(), unknown.missing()), (0, 5), "-0.0 is missing");
    let unknown = host.column("PROC", "syscall").unwrap().stat;
    assert_eq!((unknown.count(), unknown.missing()), (0, 5), "-1.0 is missing");
    let switches = host.column("PROC", "pswitch").unwrap().stat;
    assert_eq!((switches.count(), switches.missing()), (4, 1), "no rate in the first snapshot");
    let busy = host.column("CPU_ALL", "Busy").unwrap().stat;
    assert_eq!((busy.count(), busy.missing()), (0, 5), "empty is missing");
    near(host.column("NET", "lo-read-KB/s").unwrap().stat.max(), 697_848.1);

    let network = host.network().unwrap();
    assert_eq!(network.counted, ["eth0"]);
    assert_eq!(network.left_out, ["lo", "ifb0", "ifb1"]);
    let commands: Vec<&str> = host.processes.iter().map(|one| one.command.as_str()).collect();
    assert!(commands.contains(&"sockperf"), "{commands:?}");
    assert_eq!(host.documents[0].name, "/etc/release");
    assert!(host.doubts.list().is_empty(), "{:#?}", host.doubts);
}

#[test]
fn what_the_hypervisor_took_is_not_busy_here() {
    let row = "CPU_ALL,T0001,20,10,5,15,50,,4\n";
    let file = |columns: &str, row: &str| {
        read(format!(
            "AAA,OS,Linux\nAAA,cpus,4\nAAA,interval,60\nCPU_ALL,CPU Total h,{columns}\n\
             ZZZZ,T0001,10:00:00,01-MAY-2026\n{row}"
        ))
    };
    let told = file("User%,Sys%,Wait%,Idle%,Steal%,Busy,CPUs", row);
    let busy = only(&told).cores_busy().unwrap();
    assert_eq!(busy.rule, BusyRule::NotIdleNorStolen);
    near(busy.stat.max(), 0.30 * 4.0);
    let rows = only(&told).summary();
    let share = rows.iter().find(|row| row.counter == "Processor busy").unwrap();
    assert_eq!(share.source, "CPU_ALL: 100 - Idle% - Wait% - Steal%");
    near(share.stat.average(), 30.0);
    let untold = file("User%,Sys%,Wait%,Idle%,Busy,CPUs", "CPU_ALL,T0001,20,10,5,65,,4\n");
    let busy = only(&untold).cores_busy().unwrap();
    assert_eq!(busy.rule, BusyRule::NotIdle);
    near(busy.stat.max(), 0.30 * 4.0);
}

#[test]
fn the_summary_names_its_rows_for_people() {
    let nmon = read(text("small.nmon"));
    assert!(nmon.troubles.is_empty(), "{:#?}", messages(&nmon));
    let rows = only(&nmon).summary();
    let row = |counter: &str| rows.iter().find(|row| row.counter == counter).unwrap();
    assert_eq!(row("Processor busy").stat.average(), Some(20.0));
    assert_eq!(row("Cores busy").source, "(100 - Idle% - Wait% - Steal%) / 100 x CPUs (Linux)");
    let received = row("Network received");
    assert_eq!(received.unit, "KB/s");
    assert_eq!(received.stat.min().zip(received.stat.max()), Some((10.0, 50.0)));
    assert_eq!(row("RDMA received").stat.average(), Some(123.0));
    assert_eq!(only(&nmon).network().unwrap().read_bytes(), 150.0 * 1024.0);
    assert_eq!(only(&nmon).disks().unwrap().write_bytes(), 25.0 * 1024.0);
}

#[test]
fn a_shared_partition_counts_processors_by_its_own_column() {
    let nmon = plumb_nmon::open(&path("aix-shared.nmon"), &Options::default()).unwrap();
    let host = only(&nmon);
    assert_eq!((host.system(), host.facts.cpus()), (System::Aix, Some(8)));
    let busy = host.cores_busy().unwrap();
    assert_eq!(busy.rule, BusyRule::SharedPartition);
    near(busy.stat.average(), (0.872 + 0.7 + 0.428) / 3.0);
    near(Some(busy.cpu_s()), 2.0 * 60.0);
    // the header has one column more than the rows
    let pool = host.column("LPAR", "Pool_id").unwrap().stat;
    assert_eq!((pool.count(), pool.missing()), (0, 3));
    near(host.column("LPAR", "Folded").unwrap().stat.max(), 0.0);
    assert!(host.column("PCPU_ALL", "Entitled Capacity").is_some(), "titles are trimmed");
    assert_eq!(host.column("DISKBUSY", "hdisk1").unwrap().stat.missing(), 1, "NaNQ");
    assert_eq!(host.column("JFSFILE", "/oracle/T1234").unwrap().stat.count(), 3);
    assert_eq!(host.processes[0].command, "disp+work");
    near(Some(host.processes[0].cpu_s), 0.452 * 60.0);
    let steps: Vec<String> = messages(&nmon);
    assert!(steps.iter().any(|text| text.contains("-3600 s: daylight saving")), "{steps:#?}");
    assert!(steps.iter().any(|text| text.contains("LPAR has 21 columns")), "{steps:#?}");
    assert!(steps.iter().any(|text| text.contains("4 snapshots are announced")), "{steps:#?}");
    assert_eq!(steps.len(), 3, "{steps:#?}");
    assert!(host.doubts.list().is_empty(), "{:#?}", host.doubts);
}

#[test]
fn a_partition_of_its_own_counts_user_and_system_time() {
    let dedicated = text("aix-shared.nmon")
        .replace(",10.91,10.91,1,0,", ",10.91,10.91,0,0,")
        .replace(",8.75,8.75,1,0,", ",8.75,8.75,0,0,")
        .replace(",5.35,5.35,1,0,", ",5.35,5.35,0,0,");
    let nmon = read(dedicated);
    let busy = only(&nmon).cores_busy().unwrap();
    assert_eq!(busy.rule, BusyRule::Dedicated);
    near(busy.stat.max(), 0.9 * 4.0);
}

#[test]
fn semicolons_come_with_decimal_commas() {
    let nmon = plumb_nmon::open(&path("aix-locale.nmon"), &Options::default()).unwrap();
    assert!(nmon.troubles.is_empty(), "{:#?}", messages(&nmon));
    let host = only(&nmon);
    assert_eq!((host.facts.host(), host.facts.cpus()), (Some("aix02"), Some(4)));
    near(host.column("CPU_ALL", "User%").unwrap().stat.average(), 30.5);
    near(host.column("MEM", "Real free(MB)").unwrap().stat.min(), 4000.5);
    assert_eq!(host.cores_busy().unwrap().rule, BusyRule::Dedicated);
}

#[test]
fn an_old_file_goes_on_after_midnight() {
    let nmon = plumb_nmon::open(&path("linux-13g.nmon"), &Options::default()).unwrap();
    assert!(nmon.troubles.is_empty(), "{:#?}", messages(&nmon));
    let host = only(&nmon);
    assert_eq!(host.timeline.duration_s(), 30.0);
    assert_eq!(host.timeline.stamps()[2].local().unwrap().to_string(), "2012-01-01T00:00:10");
    near(host.cores_busy().map(|busy| busy.cpu_s()), 0.4 * 30.0);
    assert_eq!(host.section("NET").unwrap().columns.len(), 4, "a comma at the end is no column");
}

/// All figures of a recording, to compare two readings.
fn figures(host: &Recording) -> Vec<String> {
    let mut list: Vec<String> =
        host.sections
            .iter()
            .flat_map(|section| {
                section.columns.iter().map(move |column| {
                    format!("{} {} {:?}", section.name, column.name, column.stat)
                })
            })
            .collect();
    list.sort();
    list
}

#[test]
fn the_order_of_lines_their_ends_and_compression_change_nothing() {
    for name in ["linux-16n.nmon", "linux-13g.nmon", "small.nmon"] {
        let plain = text(name);
        let expected = figures(only(&read(&plain)));

        let mut lines: Vec<&str> = plain.lines().collect();
        lines.sort_unstable();
        let sorted = read(lines.join("\n") + "\n");
        assert_eq!(figures(only(&sorted)), expected, "{name} sorted");
        let busy = |nmon: &Nmon| only(nmon).cores_busy().map(|busy| busy.stat);
        assert_eq!(
            busy(&sorted).map(|stat| stat.max()),
            busy(&read(&plain)).map(|stat| stat.max())
        );

        let crlf = read(plain.replace('\n', "\r\n"));
        assert_eq!(figures(only(&crlf)), expected, "{name} with CRLF");
        assert_eq!(messages(&crlf), messages(&read(&plain)));

        let late: Vec<&str> = plain.lines().filter(|line| line.starts_with("ZZZZ")).collect();
        let mut moved: Vec<&str> = plain.lines().filter(|line| !line.starts_with("ZZZZ")).collect();
        moved.extend(late);
        assert_eq!(figures(only(&read(moved.join("\n") + "\n"))), expected, "{name} ZZZZ last");

        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        packer.write_all(plain.as_bytes()).unwrap();
        let packed = packer.finish().unwrap();
        assert_eq!(figures(only(&read(&packed))), expected, "{name} compressed");
        let cut = plumb_nmon::read(&packed[..packed.len() * 3 / 4], &Options::default()).unwrap();
        let text = messages(&cut).join("\n");
        assert!(text.contains("compressed data"), "{name}: {text}");
    }
}

#[test]
fn a_header_may_come_late() {
    let plain = text("small.nmon");
    let header = plain.lines().find(|line| line.starts_with("NET,Network")).unwrap();
    let without = plain.replacen(&format!("{header}\n"), "", 1);
    let late = read(format!("{without}{header}\n"));
    assert_eq!(figures(only(&late)), figures(only(&read(&plain))));

    let none = read(&without);
    assert!(kinds(&none).contains(&&TroubleKind::DataWithoutHeader("NET".into())));
    near(only(&none).column("NET", "column 2").unwrap().stat.max(), 50.0);
}

#[test]
fn two_files_in_one_are_two_recordings() {
    let both = read(text("linux-16n.nmon") + &text("small.nmon"));
    let hosts: Vec<_> = both.recordings.iter().map(|one| one.facts.host().unwrap()).collect();
    assert_eq!(hosts, ["host01", "plumb01"]);
    assert_eq!(figures(&both.recordings[1]), figures(only(&read(text("small.nmon")))));
    assert_eq!(kinds(&both), [&TroubleKind::AnotherRecording("plumb01".into())]);

    let (one, other) = (text("linux-16n.nmon"), text("small.nmon"));
    let mut lines: Vec<&str> = one.lines().chain(other.lines()).collect();
    lines.sort_unstable();
    let mixed = read(lines.join("\n") + "\n");
    let hosts = TroubleKind::HostsMixed("host01".into(), "plumb01".into());
    assert!(kinds(&mixed).contains(&&hosts), "{:#?}", messages(&mixed));
}

#[test]
fn a_file_that_is_cut_anywhere_is_read_up_to_there() {
    let plain = text("small.nmon");
    let first_row = plain.find("ZZZZ").unwrap();
    for end in (first_row + 40..plain.len() - 1).step_by(7) {
        let nmon = read(&plain.as_bytes()[..end]);
        let said = kinds(&nmon)
            .iter()
            .any(|kind| matches!(kind, TroubleKind::Truncated(_) | TroubleKind::EndedEarly { .. }));
        assert!(said, "cut at {end}: {:#?}", messages(&nmon));
        let wrong = only(&nmon).column("CPU001", "Idle%").unwrap().stat;
        assert!(wrong.min().is_none_or(|idle| idle == 85.0), "a half figure was taken: {wrong:?}");
    }
}

#[test]
fn garbage_is_named_and_passed_over() {
    let plain = text("small.nmon");
    let mut lines: Vec<&str> = plain.lines().collect();
    lines.insert(40, "\u{0}\u{1}binary\u{2}");
    lines.insert(45, "some words, and more");
    lines.insert(50, "CPU_ALL,T0001,x,5.0,0.0,80.0,0.0,,2");
    lines.push("ERROR,T0005, could not read the disks");
    let nmon = read(lines.join("\n") + "\n");
    let text = messages(&nmon).join("\n");
    for expected in
        ["line 41: not a line of nmon", "line 46: not a line", "CPU_ALL: \"x\"", "nmon reported"]
    {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    assert_eq!(only(&nmon).column("NET", "eth0-read-KB/s").unwrap().stat.count(), 5);
}

#[test]
fn a_header_with_letters_of_iso_8859_1_names_its_columns() {
    let rows = "ZZZZ,T0001,10:00:00,01-MAY-2026\nJFSFILE,T0001,40.0,50.0\n";
    let text = [
        &b"AAA,progname,topas_nmon\nJFSFILE,JFS Filespace %Used db1,/usr,/daten/b\xfcro\n"[..],
        rows.as_bytes(),
    ];
    let nmon = read(text.concat());
    assert!(nmon.troubles.is_empty(), "{:#?}", messages(&nmon));
    let used = |column: &str| only(&nmon).column("JFSFILE", column).unwrap().stat.average();
    assert_eq!((used("/usr"), used("/daten/büro")), (Some(40.0), Some(50.0)));
}

/// Nobody writes into the pipe: whoever opened it would wait for ever.
#[test]
fn a_pipe_is_refused_as_a_file_is_read_twice() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("db1.nmon");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    let error = plumb_nmon::open(&pipe, &Options::default()).unwrap_err().to_string();
    assert!(error.contains("it is read twice"), "{error}");
}

#[test]
fn a_snapshot_number_has_up_to_sixteen_digits() {
    let plain = text("small.nmon").replace("T000", "T123456789012345");
    let nmon = read(&plain);
    assert!(nmon.troubles.is_empty(), "{:#?}", messages(&nmon));
    assert_eq!(only(&nmon).timeline.stamps()[0].id, 1_234_567_890_123_451);
}

#[test]
fn unequal_intervals_weigh_by_their_length() {
    let text = "AAA,progname,nmon\nAAA,OS,Linux\nAAA,cpus,1\n\
                X,Title,a\n\
                ZZZZ,T0001,10:00:00,01-MAY-2026\nX,T0001,0\n\
                ZZZZ,T0002,10:00:01,01-MAY-2026\nX,T0002,0\n\
                ZZZZ,T0003,10:00:02,01-MAY-2026\nX,T0003,0\n\
                ZZZZ,T0004,10:00:09,01-MAY-2026\nX,T0004,10\n";
    let nmon = read(text);
    let stat = only(&nmon).column("X", "a").unwrap().stat;
    assert_eq!((stat.mean(), stat.average()), (Some(2.5), Some(7.0)));
    assert_eq!(stat.integral(), 70.0);
}

#[test]
fn series_are_kept_on_request() {
    let series = Series::Of(vec!["NET".into()]);
    let nmon =
        plumb_nmon::read(text("small.nmon").as_bytes(), &Options { series, ..Options::default() })
            .unwrap();
    let host = only(&nmon);
    let received = &host.column("NET", "eth0-read-KB/s").unwrap().series;
    assert_eq!(received, &[10.0, 20.0, 30.0, 40.0, 50.0]);
    assert!(host.column("MEM", "memfree").unwrap().series.is_empty());
    let all = plumb_nmon::read(
        text("linux-16n.nmon").as_bytes(),
        &Options { series: Series::All, ..Options::default() },
    );
    let all = all.unwrap();
    let switches = &only(&all).column("PROC", "pswitch").unwrap().series;
    assert!(switches[0].is_nan() && switches[1] > 0.0, "{switches:?}");
}

#[test]
fn what_is_no_nmon_file_is_refused_with_its_first_line() {
    for text in ["", "hello\n", "Date,Open,Close\n2020,1,2\n", "\u{1}\u{2}"] {
        let error = plumb_nmon::read(text.as_bytes(), &Options::default()).unwrap_err();
        assert!(matches!(error, ReadError::NotNmon { .. }), "{text:?}: {error}");
    }
    let missing = plumb_nmon::open(Path::new("/nowhere/at/all"), &Options::default()).unwrap_err();
    assert!(missing.to_string().starts_with("cannot open /nowhere/at/all"), "{missing}");
}

#[test]
fn disks_of_several_sections_are_counted_once() {
    let text = "AAA,progname,nmon\nAAA,OS,Linux\n\
                DISKREAD,Disk Read KB/s h,sda,sdbx\nDISKREAD1,Disk Read KB/s h,sdbx1,dm-0\n\
                DISKREAD2,Disk Read KB/s h,dm-1,dm-2\nZZZZ,T0001,10:00:01,01-MAY-2026\n\
                DISKREAD,T0001,5,7\nDISKREAD1,T0001,7,5\nDISKREAD2,T0001,4,3\n";
    let nmon = read(text);
    let disks = only(&nmon).disks().unwrap();
    assert_eq!((disks.read.max(), disks.read.count()), (Some(12.0), 1));
    assert_eq!(disks.counted, ["sda", "sdbx"]);
    assert_eq!(disks.left_out, ["sdbx1", "dm-0", "dm-1", "dm-2"]);
}

#[test]
fn a_path_to_a_disk_is_left_out_where_the_disk_counts_itself() {
    let read_with = |disk: u32| {
        read(format!(
            "AAA,progname,nmon\nAAA,OS,Linux\nDISKREAD,Disk Read KB/s h,nvme0c0n1,nvme0n1\n\
             ZZZZ,T0001,10:00:01,01-MAY-2026\nDISKREAD,T0001,5,{disk}\n"
        ))
    };
    for (disk, left_out) in [(5, vec!["nvme0c0n1"]), (0, vec![])] {
        let nmon = read_with(disk);
        let disks = only(&nmon).disks().unwrap();
        assert_eq!(disks.read.max(), Some(5.0), "{disk} at the disk");
        assert_eq!(disks.left_out, left_out, "{disk} at the disk");
    }
}

#[test]
fn a_path_in_another_section_than_its_disk_is_left_out_likewise() {
    for (disk, left_out) in [(5, vec!["nvme0c1n1"]), (0, vec![])] {
        let nmon = read(format!(
            "AAA,progname,nmon\nAAA,OS,Linux\nDISKREAD,Disk Read KB/s h,nvme0n1\n\
             DISKREAD1,Disk Read KB/s h,nvme0c1n1\nZZZZ,T0001,10:00:01,01-MAY-2026\n\
             DISKREAD,T0001,{disk}\nDISKREAD1,T0001,5\n"
        ));
        let disks = only(&nmon).disks().unwrap();
        assert_eq!(disks.read.max(), Some(5.0), "{disk} at the disk");
        assert_eq!(disks.left_out, left_out, "{disk} at the disk");
    }
}

#[test]
fn a_sum_over_sections_lacks_what_one_of_them_lacks() {
    let text = "AAA,progname,nmon\nAAA,OS,Linux\nDISKREAD,Disk Read KB/s h,sda\n\
                DISKREAD1,Disk Read KB/s h,sdb\nZZZZ,T0001,10:00:01,01-MAY-2026\n\
                DISKREAD,T0001,5\nDISKREAD1,T0001,\nZZZZ,T0002,10:00:02,01-MAY-2026\n\
                DISKREAD,T0002,5\nDISKREAD1,T0002,7\n";
    let nmon = read(text);
    let disks = only(&nmon).disks().unwrap();
    assert_eq!((disks.read.min(), disks.read.missing()), (Some(12.0), 1));
}
