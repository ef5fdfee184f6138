//! The CSV of Windows' performance logs, as `typeperf` and `relog -f csv` write it.

use plumb_nmon::{Nmon, Options, Row, Series, System, Window};

const FIXTURE: &str = include_str!("../fixtures/perfmon.csv");

fn read(text: &str) -> Nmon {
    plumb_nmon::read(text.as_bytes(), &Options::default()).unwrap()
}

fn row(nmon: &Nmon, counter: &str) -> Row {
    let summary = nmon.recordings[0].summary();
    let found = summary.iter().find(|row| row.counter == counter);
    found.unwrap_or_else(|| panic!("{counter} is not among {summary:#?}")).clone()
}

/// Minimum, average, maximum and missing.
fn figures(row: &Row) -> (f64, f64, f64, u64) {
    let stat = row.stat;
    (stat.min().unwrap(), stat.average().unwrap(), stat.max().unwrap(), stat.missing())
}

fn messages(nmon: &Nmon) -> Vec<String> {
    nmon.troubles.list().iter().map(|it| format!("{it}")).collect()
}

#[test]
fn every_counter_has_its_minimum_average_and_maximum() {
    let nmon = read(FIXTURE);
    assert_eq!(messages(&nmon), [""; 0]);
    let [host] = &nmon.recordings[..] else { panic!("{}", nmon.recordings.len()) };
    assert_eq!((host.facts.host(), host.system()), (Some("SAP01"), System::Windows));
    assert_eq!(host.facts.recorder().as_deref(), Some("perfmon PDH-CSV 4.0"));
    assert_eq!(host.facts.time_zone(), Some("W. Europe Standard Time (UTC+01:00)"));
    let times: Vec<String> =
        host.timeline.stamps().iter().map(|it| it.local().unwrap().to_string()).collect();
    assert_eq!(times.len(), 4);
    assert_eq!(
        (times[0].as_str(), times[3].as_str()),
        ("2026-11-21T02:57:00", "2026-11-21T02:57:45")
    );
    let busy = row(&nmon, "Processor(_Total): % Processor Time");
    assert_eq!(busy.unit, "%");
    let (min, average, max, missing) = figures(&busy);
    assert_eq!((min, max, missing), (6.666, 20.0, 1));
    assert!((average - 40.0 / 3.0).abs() < 1e-9, "{average}");
    let memory = row(&nmon, "Memory: Available MBytes");
    assert_eq!((memory.unit, figures(&memory)), ("MB", (5000.0, 5004.0, 5010.0, 0)));
    let line = row(&nmon, "Network Interface(Intel[R] 82574L  1): Bytes Total/sec");
    assert_eq!((line.unit, figures(&line)), ("B/s", (0.0, 1_048_576.0, 2_097_152.0, 1)));
    assert_eq!(host.summary().len(), 5);
}

#[test]
fn a_part_of_the_time_is_read_and_series_are_kept() {
    let (from, to) = ("02:57:10".parse().ok(), "02:57:30".parse().ok());
    let window = Window { from, to, whole: false };
    let options = Options { window, series: Series::All };
    let nmon = plumb_nmon::read(FIXTURE.as_bytes(), &options).unwrap();
    let busy = row(&nmon, "Processor(_Total): % Processor Time");
    assert_eq!((busy.stat.min(), busy.stat.max()), (Some(13.334), Some(20.0)));
    assert_eq!(nmon.recordings[0].sections[0].columns[0].series, [13.334, 20.0]);
}

#[test]
fn semicolons_decimal_commas_and_bare_values_are_read() {
    let text = "\r\n\"(PDH-CSV 4.0) (Mitteleuropäische Zeit)(-60)\";\"\\\\A\\Prozessor(_Total)\\Prozessorzeit (%)\"\r\n\
                \"11/21/2026 02:57:00.000\";\"12,5\"\r\n11/21/2026 02:57:15.000;7,5\r\n";
    let nmon = read(text);
    let busy = row(&nmon, "Prozessor(_Total): Prozessorzeit (%)");
    assert_eq!((busy.unit, figures(&busy)), ("%", (7.5, 10.0, 12.5, 0)));
    let commas = text.replace(';', ",").replace("\r\n11/21/2026 02:57:15.000,7,5", "");
    let busy = row(&read(&commas), "Prozessor(_Total): Prozessorzeit (%)");
    assert_eq!(figures(&busy), (12.5, 12.5, 12.5, 0));
}

/// What relog writes of a German Windows: a byte a letter, blanks before the second sample, a column for the
/// comment of the data collector set, figures with all their digits.
#[test]
fn a_header_of_another_language_and_code_page_is_read() {
    let text = "\"(PDH-CSV 4.0) (Central European Standard Time)(-60)\",\
        \"\\\\SAP01\\Speicher\\Verf\u{fc}gbare MB\",\"\\\\SAP01\\Prozessor(_Total)\\Prozessorzeit (%)\",\
        \"\\\\SAP01\\Physikalischer Datentr\u{e4}ger(0 C: D:)\\Durchschnittl. Warteschlangenl\u{e4}nge\",\
        \"Nachtlauf\"\r\n\
        \"11/21/2026 02:57:00.000\",\" \",\"\",\" \",\" \"\r\n\
        \"11/21/2026 02:57:15.000\",\"15963.45\",\"2.9999999999999998\",\"9.9999999999999995e-007\",\" \"\r\n\
        \"11/21/2026 02:57:30.000\",\"15767\",\"-1.#IND000000000000\",\"1.#QNAN0\",\" \"\r\n";
    let bytes: Vec<u8> = text.chars().map(|letter| u8::try_from(letter).unwrap()).collect();
    let with_mark = [b"\xef\xbb\xbf", text.as_bytes()].concat();
    for bytes in [bytes, with_mark] {
        let nmon = plumb_nmon::read(&bytes[..], &Options::default()).unwrap();
        assert_eq!(messages(&nmon), [""; 0]);
        let memory = row(&nmon, "Speicher: Verf\u{fc}gbare MB");
        assert_eq!((memory.unit, figures(&memory)), ("MB", (15_767.0, 15_865.225, 15_963.45, 1)));
        let busy = row(&nmon, "Prozessor(_Total): Prozessorzeit (%)");
        assert_eq!((busy.stat.max(), busy.stat.missing()), (Some(3.0), 2));
        let queue = row(
            &nmon,
            "Physikalischer Datentr\u{e4}ger(0 C: D:): Durchschnittl. Warteschlangenl\u{e4}nge",
        );
        assert_eq!((queue.stat.max(), queue.stat.missing()), (Some(1e-6), 2));
        assert_eq!(nmon.recordings[0].summary().len(), 3, "the comment is no counter");
    }
}

#[test]
fn another_header_begins_another_recording_and_another_host_keeps_its_name() {
    let two = [FIXTURE, "\r\n", &FIXTURE.replace("SAP01\\Processor", "SAP02\\Processor")].concat();
    let nmon = read(&two);
    assert_eq!(nmon.recordings.len(), 2);
    assert_eq!(nmon.recordings[1].timeline.stamps().len(), 4);
    let of_second = nmon.recordings[1].summary();
    assert_eq!(nmon.recordings[1].facts.host(), Some("SAP02"));
    assert_eq!(of_second[0].counter, "Processor(_Total): % Processor Time");
    assert_eq!(of_second[1].counter, "\\\\SAP01\\Memory: Available MBytes");
}

#[test]
fn what_is_wrong_with_a_line_is_said_with_its_number_and_the_rest_is_read() {
    let whole = "\"11/21/2026 02:58:00.000\",\"1\",\"2\",\"3\",\"4\",\"5\"";
    for (line, said) in [
        (
            whole.replace("\"1\"", "\"much\""),
            "\\\\SAP01\\Processor(_Total)\\% Processor Time: \"much\" is not a figure",
        ),
        (whole.replace("\"1\"", "\"-7\""), "\"-7\" is not a figure and counts as missing"),
        (
            whole.replace(",\"5\"", ""),
            "the row has 5 columns in its header and 4 in a row; the rest counts",
        ),
        (
            whole.replace("\"5\"", "\"5\",\"6\""),
            "the row has 5 columns in its header and 6 in a row",
        ),
        (whole.replace("11/21", "21/11"), "a time"),
        ("The command completed successfully.".into(), "a time"),
    ] {
        let nmon = read(&format!("{FIXTURE}\r\n{line}\r\n"));
        let [trouble] = nmon.troubles.list() else { panic!("{line}: {:?}", messages(&nmon)) };
        assert_eq!(trouble.line, 6, "{line}");
        assert!(trouble.to_string().contains(said), "{line}: {trouble}");
        assert_eq!(row(&nmon, "Memory: Available MBytes").stat.max(), Some(5010.0), "{line}");
    }
}

#[test]
fn the_last_cell_of_a_log_that_is_still_written_is_left_out() {
    let whole = "\"11/21/2026 02:58:00.000\",\"1\",\"2\",\"3\",\"4\",\"5\"";
    let read_up_to =
        |end: &str| read(&format!("{FIXTURE}\r\n{}", whole.split(end).next().unwrap()));
    let busy = |nmon: &Nmon| row(nmon, "Processor(_Total): % Processor Time").stat;
    for (end, count, missing) in
        [("\",\"2", 3, 2), ("1\",\"2", 3, 2), (",\"2\"", 4, 1), (":00.000", 3, 1)]
    {
        let nmon = read_up_to(end);
        let said = messages(&nmon).join("\n");
        let cut = said.contains("the file is cut off: its last line does not end");
        assert_eq!(cut, end != ",\"2\"", "up to {end}: {said}");
        assert_eq!((busy(&nmon).count(), busy(&nmon).missing()), (count, missing), "up to {end}");
        assert_eq!(busy(&nmon).min(), Some(if cut { 6.666 } else { 1.0 }), "up to {end}");
    }
    assert_eq!(messages(&read(&format!("{FIXTURE}\r\n{whole}"))), [""; 0]);
    let bare = whole.replace('"', "");
    assert_eq!(messages(&read(&format!("{FIXTURE}\r\n{bare}"))).len(), 1, "5 may be 50");
}

#[test]
fn a_header_of_every_thread_is_read() {
    let paths: Vec<String> = (0..16_000)
        .map(|at| {
            format!(
                "\"\\\\SAP01\\Thread(disp+work/{at:05}#{at:05})\\Context Switches/sec ({at:05})\""
            )
        })
        .collect();
    let header = format!("\"(PDH-CSV 4.0) (UTC)(0)\",{}", paths.join(","));
    assert!(header.len() > 1 << 20, "{}", header.len());
    let row = format!("\"11/21/2026 02:57:00.000\"{}", ",\"1\"".repeat(paths.len()));
    let nmon = read(&format!("{header}\r\n{row}\r\n"));
    assert_eq!(nmon.recordings[0].facts.host(), Some("SAP01"));
    assert_eq!(nmon.recordings[0].timeline.stamps().len(), 1);
}

#[test]
fn a_file_that_cannot_be_read_is_refused_with_what_to_do() {
    let header = FIXTURE.lines().next().unwrap();
    let wide: Vec<u8> =
        [0xff, 0xfe].into_iter().chain(header.bytes().flat_map(|byte| [byte, 0])).collect();
    for (bytes, said) in [
        (header.as_bytes().to_vec(), "no row with a time behind its header"),
        (format!("{header}\r\nno row\r\n").into_bytes(), "no row with a time behind its header"),
        (b"\"(PDH-CSV 4.0) (UTC)(0)\"\r\n".to_vec(), "its header names no counter: expected"),
        (b"\"(PDH-CSV 4.0)\",\"x\",\"\"\r\n".to_vec(), "its header names no counter"),
        (b"\"(PDH-TSV 4.0) (UTC)(0)\"\t\"\\\\A\\B\\C\"\r\n".to_vec(), "`relog FILE -f csv"),
        (wide, "UTF-16: write it again"),
        (b"\"(PDH\",\"x\"\r\n".to_vec(), "the CSV of `typeperf`"),
    ] {
        let error = plumb_nmon::read(&bytes, &Options::default()).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
}
