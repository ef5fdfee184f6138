//! The nmon reader under arbitrary bytes: the committed corpus, the corpus mutated, and noise.
//!
//! `PLUMB_FUZZ_CASES` sets the number of cases of each property.

#[path = "../../../plumb-wire/tests/cases/mod.rs"]
mod cases;
#[path = "../../../plumb-wire/tests/cases/corpus.rs"]
mod corpus;

use cases::cases;
use corpus::files_of;
use plumb_nmon::{Nmon, Options, ReadError, Series};
use proptest::prelude::*;

/// Where recordings lie that are read as they are, and changed.
const RECORDINGS: [&str; 2] = ["corpus", "fixtures"];

/// Reads, and asks for everything that can be asked.
fn judge(bytes: &[u8]) -> Option<Nmon> {
    let nmon = match plumb_nmon::read(bytes, &Options { series: Series::All, ..Options::default() })
    {
        Ok(nmon) => nmon,
        Err(ReadError::NotNmon { .. } | ReadError::Perfmon(_)) => return None,
        Err(error) => panic!("{error}"),
    };
    let lines = bytes.len() as u64 + 1;
    for trouble in nmon.troubles.list() {
        assert!(!trouble.to_string().is_empty());
    }
    assert!(nmon.troubles.list().len() < 20 * 25, "messages are bounded");
    for host in &nmon.recordings {
        assert!(host.line <= lines);
        let _ = host.facts.recorder();
        for row in host.summary() {
            let [min, average, max] = [row.stat.min(), row.stat.average(), row.stat.max()];
            let ordered = min <= average && average <= max;
            assert!(ordered, "{}: {min:?} {average:?} {max:?}", row.counter);
        }
        for section in &host.sections {
            for column in &section.columns {
                let stat = column.stat;
                assert!(stat.count() + stat.missing() <= section.rows, "{}", section.name);
                assert!(stat.min().is_none_or(|min| min >= 0.0 && min.is_finite()));
            }
        }
        let _ = (host.cores_busy(), host.network(), host.disks(), host.rdma());
        assert!(host.doubts.list().len() <= 1_000, "doubts are bounded");
    }
    Some(nmon)
}

#[test]
fn the_corpus_reads_as_it_is_meant() {
    let read: Vec<(String, Option<Nmon>)> =
        files_of(&RECORDINGS).into_iter().map(|(name, bytes)| (name, judge(&bytes))).collect();
    let of = |name: &str| read.iter().find(|(other, _)| other == name).unwrap().1.as_ref();
    assert!(read.len() >= 15, "{}", read.len());
    for none in ["empty", "prose", "gzip-of-nothing"] {
        assert!(of(none).is_none(), "{none}");
    }
    let messages = |name: &str| {
        let troubles = &of(name).unwrap().troubles;
        troubles.list().iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    };
    for (name, expected) in [
        ("no-header", "no header"),
        ("no-time", "no time"),
        ("clock-set-back", "the clock jumped"),
        ("same-snapshot-twice", "has two times"),
        ("huge-numbers", "is not a figure"),
        ("cut-in-a-time", "cut off"),
        ("header-only", "no figures"),
        ("wide-row", "in a row"),
    ] {
        let text = messages(name);
        assert!(text.contains(expected), "{name}: {text}");
    }
}

proptest! {
    #![proptest_config(cases(1_500))]

    #[test]
    fn noise_is_read_without_harm(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        judge(&bytes);
    }

    #[test]
    fn lines_of_any_cells_are_read_without_harm(
        lines in prop::collection::vec(
            prop::collection::vec(
                prop::sample::select(vec![
                    "AAA", "progname", "host", "BBBP", "ZZZZ", "CPU_ALL", "LPAR", "NET", "TOP", "VM",
                    "PROC", "DISKREAD", "DISKREAD1", "T0001", "T0002", "T9999999999999999", "T0000",
                    "User%", "Sys%", "Wait%", "Idle%", "CPUs", "PhysicalCPUs", "pswpin", "pswpout",
                    "+PID", "%CPU", "Command", "eth0-read-KB/s", "10:00:00", "23:59:59",
                    "01-JAN-2026", "31-DEC-9999", "29-FEB-2026", "interval", "4294967295", "0", "1",
                    "1.5", "-1.0", "-0.0", "-7", "nan", "1e308", "x", "", "é",
                ]),
                1..9,
            ),
            0..30,
        ),
        separator in prop::sample::select(vec![",", ";"]),
    ) {
        let text: Vec<String> = lines.iter().map(|cells| cells.join(separator)).collect();
        judge(text.join("\n").as_bytes());
    }

    #[test]
    fn logs_of_windows_of_any_cells_are_read_without_harm(
        lines in prop::collection::vec(
            prop::collection::vec(
                prop::sample::select(vec![
                    "(PDH-CSV 4.0) (W. Europe Standard Time)(-60)", "(PDH-CSV", "(PDH-TSV 4.0)",
                    r"\\A\Processor(_Total)\% Processor Time", r"\\A\Memory\Available MBytes",
                    r"\\B\Memory\Pages/sec", r"\\A\X(a,b)\c", r"\\A", r"\", "é",
                    "11/21/2026 02:57:54.123", "12/31/9999 23:59:59.999", "02/29/2026 00:00:00",
                    "0/0/0 0", "1", "1,5", "-1", "-7", "nan", "1e308", " ", "", "a\"\"b", "\"",
                ]),
                0..7,
            ),
            0..20,
        ),
        separator in prop::sample::select(vec!["\",\"", "\";\"", ",", "\"\t\""]),
    ) {
        let rows = lines.iter().map(|cells| format!("\"{}\"", cells.join(separator)));
        let header = "\"(PDH-CSV 4.0) (UTC)(0)\",\"\\\\A\\Memory\\Pages/sec\"".to_owned();
        let text: Vec<String> = std::iter::once(header).chain(rows).collect();
        judge(text[1..].join("\n").as_bytes());
        judge(text.join("\r\n").as_bytes());
    }

    #[test]
    fn the_corpus_changed_anywhere_is_read_without_harm(
        which in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..8),
        moved in any::<(prop::sample::Index, prop::sample::Index)>(),
        cut in any::<prop::sample::Index>(),
    ) {
        let files = files_of(&RECORDINGS);
        let mut bytes = which.get(&files).1.clone();
        bytes.push(b'\n');
        for (place, byte) in changes {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        // a line at another place
        let mut lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
        let line = lines.remove(moved.0.index(lines.len()));
        lines.insert(moved.1.index(lines.len() + 1), line);
        let mut bytes = lines.join(&b'\n');
        bytes.truncate(cut.index(bytes.len().max(1)) + 1);
        judge(&bytes);
    }
}
